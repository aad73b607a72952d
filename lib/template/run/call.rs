//! Calls of macros, methods and functions.

use std::sync::Arc;

use super::Run;
use super::arguments::CallArguments;
use super::object::Object;
use crate::error::{Result, fault};
use crate::globals;
use crate::methods::{self, Safety};
use crate::syntax::{Arguments, Expr, Macro};
use crate::value::{Dict, Value};

impl Run<'_> {
    pub fn given(&mut self, arguments: &Arguments) -> Result<CallArguments> {
        let mut given = CallArguments::default();
        given.list.reserve(arguments.list.len());
        for value in &arguments.list {
            let value = self.evaluate(value)?;
            given.list.push(value);
        }
        for (name, value) in &arguments.named {
            let value = self.evaluate(value)?;
            given.named.push((name.clone(), value));
        }
        if let Some(rest) = &arguments.rest {
            let rest = self.evaluate(rest)?;
            given.list.extend(self.collect(&rest)?);
        }
        if let Some(rest) = &arguments.named_rest {
            let rest = self.evaluate(rest)?;
            let Value::Dict(dict) = &rest else {
                return fault("argument after ** must be a mapping");
            };
            for (key, value) in dict.entries() {
                self.step(1 + given.named.len() / 16)?;
                match key {
                    Value::Text(name) | Value::Markup(name) => {
                        if given.named.iter().any(|(other, _)| other == name) {
                            return fault(format!(
                                "got multiple values for keyword argument '{name}'"
                            ));
                        }
                        given.named.push((name.clone(), value.clone()));
                    }
                    _ => return fault("keywords must be strings"),
                }
            }
        }
        Ok(given)
    }

    /// Evaluates a call; `caller` is the macro of a `{% call %}` block.
    pub fn call_with(&mut self, call: &Expr, caller: Option<Value>) -> Result<Value> {
        let Expr::Call(call) = call else { return fault("expected call") };
        self.line = call.line;
        self.step(1)?;
        // A method is called without making a value of it.
        if let Expr::Attribute(of, name) = &call.function {
            let of = self.evaluate(of)?;
            let is_plain =
                !matches!(of, Value::Object(_) | Value::Undefined(_) | Value::Function(_));
            if is_plain
                && methods::safety(&of, name) == Safety::Safe
                && methods::property(&of, name).is_none()
            {
                let given = self.given(&call.arguments)?;
                return methods::call(self, &of, name, with_caller(given, caller));
            }
            let function = self.attribute(&of, name)?;
            let given = self.given(&call.arguments)?;
            return self.call_value(&function, with_caller(given, caller));
        }
        let function = self.evaluate(&call.function)?;
        let given = self.given(&call.arguments)?;
        self.call_value(&function, with_caller(given, caller))
    }

    pub fn call_value(&mut self, function: &Value, given: CallArguments) -> Result<Value> {
        match function {
            Value::Undefined(missing) => fault(missing.message()),
            Value::Function(function) => globals::call(self, *function, given),
            Value::Method(bound) => {
                if let Value::Object(place) = bound.0 {
                    return self.call_method_of_object(place, &bound.1, given);
                }
                methods::call(self, &bound.0, &bound.1, given)
            }
            Value::Object(place) => {
                let place = *place;
                match self.object_mut(place) {
                    Object::Macro { of, frame } => {
                        let (of, frame) = (of.clone(), *frame);
                        self.call_macro(&of, frame, given)
                    }
                    Object::Loop(_) => {
                        let [over] = given.bind("loop", ["iterable"], 1)?;
                        self.call_loop(place, &over.unwrap_or_default())
                    }
                    _ => fault("an object is not callable"),
                }
            }
            other => fault(format!("'{}' object is not callable", other.type_name())),
        }
    }

    fn call_method_of_object(
        &mut self,
        place: u32,
        name: &str,
        given: CallArguments,
    ) -> Result<Value> {
        match name {
            "cycle" | "changed" if !given.named.is_empty() => {
                fault(format!("{name}() got an unexpected keyword argument"))
            }
            "cycle" => self.cycle(place, given.list),
            "changed" => self.changed(place, given.list),
            _ => fault("not callable"),
        }
    }

    /// Calls a macro; returns its text.
    pub fn call_macro(
        &mut self,
        of: &Arc<Macro>,
        frame: usize,
        mut given: CallArguments,
    ) -> Result<Value> {
        let name = &of.name;
        let count = of.parameters.len();
        self.step(count * (1 + given.named.len() / 16))?;
        let mut values: Vec<Option<Value>> = Vec::with_capacity(count);
        let extra = if given.list.len() > count { given.list.split_off(count) } else { Vec::new() };
        let explicit_caller = of.parameters.iter().any(|(name, _)| **name == *"caller");
        let mut has_caller = given.list.len() == count && explicit_caller;
        values.extend(given.list.drain(..).map(Some));
        let mut take = |name: &str| {
            let place = given.named.iter().position(|(other, _)| **other == *name)?;
            Some(given.named.remove(place).1)
        };
        for (name, _) in &of.parameters[values.len()..] {
            has_caller |= **name == *"caller";
            values.push(take(name));
        }
        let mut caller = None;
        // (A parameter `caller` counts as one where the body uses it.)
        let uses_caller = of.caller.is_some();
        if uses_caller && !has_caller {
            caller = Some(match take("caller") {
                None | Some(Value::None) => Value::Undefined(crate::value::MissingValue {
                    of: crate::value::MissingFrom::Hint,
                    name: "No caller defined".into(),
                }),
                Some(caller) => caller,
            });
        }
        let mut kwargs = None;
        if of.kwargs.is_some() {
            let mut dict = Dict::default();
            for (name, value) in given.named {
                dict.insert(Value::Text(name), value)?;
            }
            kwargs = Some(Value::Dict(Arc::new(dict)));
        } else if let Some((other, _)) = given.named.first() {
            return fault(match &**other {
                "caller" => format!(
                    "macro '{name}' was invoked with two values for the special caller argument. This is most likely a bug."
                ),
                other => format!("macro '{name}' takes no keyword argument '{other}'"),
            });
        }
        if of.varargs.is_none() && !extra.is_empty() {
            return fault(format!("macro '{name}' takes not more than {count} argument(s)"));
        }
        let varargs = Value::tuple_of(extra)?;
        let (text, _) = self.captured(|run| {
            run.in_frame(frame, of.slots, |run| {
                run.enter(&of.loads);
                for ((_, slot), value) in of.parameters.iter().zip(values) {
                    run.set_slot(*slot, value);
                }
                let specials =
                    [(of.caller, caller), (of.kwargs, kwargs), (of.varargs, Some(varargs))];
                for (slot, value) in specials {
                    if let Some(slot) = slot {
                        run.set_slot(slot, value);
                    }
                }
                let without = count - of.defaults.len();
                for (place, (name, slot)) in of.parameters.iter().enumerate() {
                    if run.slot(*slot).is_some() {
                        continue;
                    }
                    let value = match place.checked_sub(without) {
                        Some(default) => run.evaluate(&of.defaults[default])?,
                        None => Value::hint(&format!("parameter '{name}' was not provided")),
                    };
                    run.set_slot(*slot, Some(value));
                }
                run.nodes(&of.body)
            })
        })?;
        Ok(text)
    }
}

fn with_caller(mut given: CallArguments, caller: Option<Value>) -> CallArguments {
    if let Some(caller) = caller {
        given.named.push(("caller".into(), caller));
    }
    given
}
