//! `value.name` looks for an attribute first, `value[key]` for an item, as in jinja2's sandbox.

use std::sync::Arc;

use super::Run;
use super::arguments::index;
use super::object::Object;
use crate::error::{Result, fault, unsupported};
use crate::methods::{self, Safety};
use crate::text::byte_of;
use crate::value::{Function, MissingFrom, MissingValue, Value, View, item_of_range, range_length};

impl Run<'_> {
    /// `value.name`.
    pub fn attribute(&mut self, value: &Value, name: &Arc<str>) -> Result<Value> {
        if let Value::Undefined(missing) = value
            && !methods::is_of_all(name)
        {
            return fault(missing.message());
        }
        if let Some(found) = self.own_attribute(value, name)? {
            return Ok(found);
        }
        if let Value::Dict(dict) = value
            && let Some(found) = dict.get_text(name)
        {
            return Ok(found.clone());
        }
        Ok(Value::Undefined(MissingValue {
            of: MissingFrom::Type(value.kind()),
            name: name.clone(),
        }))
    }

    /// `getattr(value, name)` within the sandbox; none if there is no such attribute.
    pub fn own_attribute(&mut self, value: &Value, name: &Arc<str>) -> Result<Option<Value>> {
        if let Value::Object(place) = value {
            return self.attribute_of_object(*place, name);
        }
        if *value == Value::Function(Function::Blocks)
            && self.program.blocks.iter().any(|block| block.name == *name)
        {
            return unsupported(format!("self.{name}: the text of a block is not supported"));
        }
        match methods::safety(value, name) {
            Safety::Safe => {}
            Safety::Refused => {
                let missing =
                    MissingValue { of: MissingFrom::Unsafe(value.kind()), name: name.clone() };
                return Ok(Some(Value::Undefined(missing)));
            }
            Safety::Absent => return Ok(None),
        }
        if let Some(property) = methods::property(value, name) {
            return Ok(Some(property));
        }
        Ok(Some(Value::Method(Arc::new((value.clone(), name.clone())))))
    }

    fn attribute_of_object(&mut self, place: u32, name: &Arc<str>) -> Result<Option<Value>> {
        self.step(self.objects[place as usize].size() / 16)?;
        Ok(match &self.objects[place as usize] {
            Object::Namespace(attributes) => attributes
                .iter()
                .find(|(other, _)| other.as_text() == Some(name))
                .map(|(_, value)| value.clone()),
            Object::Loop(_) => return self.loop_attribute(place, name),
            Object::Macro { of, .. } => match &**name {
                "name" => Some(Value::Text(of.name.clone())),
                "arguments" => {
                    let names = of.parameters.iter().map(|(name, _)| Value::Text(name.clone()));
                    Some(Value::tuple_of(names.collect())?)
                }
                "caller" => Some(Value::Bool(of.caller.is_some())),
                "catch_kwargs" => Some(Value::Bool(of.kwargs.is_some())),
                "catch_varargs" => Some(Value::Bool(of.varargs.is_some())),
                _ => None,
            },
            _ => None,
        })
    }

    /// `value[key]`.
    pub fn item(&mut self, value: &Value, key: &Value) -> Result<Value> {
        if value.as_text().is_some() {
            self.spoil(value);
        }
        if let Some(found) = self.own_item(value, key)? {
            return Ok(found);
        }
        if let Value::Undefined(missing) = value {
            return fault(missing.message());
        }
        let name: Arc<str> = match key {
            Value::Text(name) | Value::Markup(name) => {
                if let Some(found) = self.own_attribute(value, name)? {
                    return Ok(found);
                }
                name.clone()
            }
            key => {
                let name = self.repr(key).unwrap_or_default().into();
                return Ok(Value::Undefined(MissingValue {
                    of: MissingFrom::Element(value.kind()),
                    name,
                }));
            }
        };
        Ok(Value::Undefined(MissingValue { of: MissingFrom::Type(value.kind()), name }))
    }

    /// `value[key]` in Python; none where that is an error.
    fn own_item(&mut self, value: &Value, key: &Value) -> Result<Option<Value>> {
        if let Value::Dict(dict) = value {
            self.step(dict.steps(key))?;
            return Ok(dict.get(key).unwrap_or(None).cloned());
        }
        if let Some(text) = value.as_text() {
            self.look_through(text)?;
        }
        let at = match key {
            Value::Int(at) => *at,
            Value::Bool(at) => i64::from(*at),
            _ => return Ok(None),
        };
        let place = |length: usize| {
            let at = if at < 0 { at.checked_add(length as i64)? } else { at };
            usize::try_from(at).ok().filter(|at| *at < length)
        };
        Ok(match value {
            Value::List(items) | Value::Tuple(items) => match usize::try_from(at) {
                Ok(at) => items.at(at).cloned(),
                Err(_) => place(items.len()).map(|at| items[at].clone()),
            },
            Value::Text(text) | Value::Markup(text) => place(value.length()?).and_then(|at| {
                let c = text[byte_of(text, at)..].chars().next()?;
                Some(Value::text(c.encode_utf8(&mut [0; 4])))
            }),
            Value::Range(range) => {
                place(range_length(range)).map(|at| Value::Int(item_of_range(range, at)))
            }
            _ => None,
        })
    }

    /// `value[start:stop:step]`.
    pub fn slice(&mut self, value: &Value, parts: [Option<Value>; 3]) -> Result<Value> {
        if value.as_text().is_some() {
            self.spoil(value);
        }
        if let Value::Undefined(missing) = value {
            return fault(missing.message());
        }
        let is_sliced = matches!(
            value,
            Value::List(_) | Value::Tuple(_) | Value::Text(_) | Value::Markup(_) | Value::Range(_)
        );
        if !is_sliced {
            return match value {
                Value::Dict(_) => fault("unhashable type: 'slice'"),
                other => fault(format!("'{}' object is not subscriptable", other.type_name())),
            };
        }
        let number = |value: &Option<Value>| match value {
            None | Some(Value::None) => Ok(None),
            Some(value @ (Value::Int(_) | Value::Bool(_) | Value::Big(_))) => {
                index(value).map(Some)
            }
            Some(Value::Undefined(missing)) => fault(missing.message()),
            Some(_) => fault("slice indices must be integers or None or have an __index__ method"),
        };
        let [start, stop, step] = [number(&parts[0])?, number(&parts[1])?, number(&parts[2])?];
        let step = step.unwrap_or(1);
        if step == 0 {
            return fault("slice step cannot be zero");
        }
        if let (Value::List(items), None, 1) = (value, stop, step)
            && let Ok(start) = usize::try_from(start.unwrap_or(0))
            && let Some(rest) = items.rest(start)
        {
            return Ok(Value::List(Arc::new(rest)));
        }
        let length = value.length()?;
        if !matches!(value, Value::Range(_)) {
            self.step(length / 16)?;
        }
        let count = length as i64;
        let (low, high) = if step > 0 { (0, count) } else { (-1, count - 1) };
        let bound = |at: Option<i64>, default: i64| match at {
            None => default,
            Some(at) if at < 0 => at.saturating_add(count).max(low),
            Some(at) => at.min(high),
        };
        let start = bound(start, if step > 0 { low } else { high });
        let stop = bound(stop, if step > 0 { high } else { low });
        let places = |mut at: i64| {
            let mut places = Vec::new();
            while if step > 0 { at < stop } else { at > stop } {
                places.push(at as usize);
                match at.checked_add(step) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            places
        };
        match value {
            Value::Text(text) | Value::Markup(text) => {
                let part: String = if step == 1 {
                    let begin = byte_of(text, start as usize);
                    let end = byte_of(text, stop.max(start) as usize);
                    text[begin..end].into()
                } else {
                    let characters: Vec<char> = text.chars().collect();
                    places(start).into_iter().map(|at| characters[at]).collect()
                };
                let part = self.text(part)?;
                Ok(if matches!(value, Value::Markup(_)) { methods::marked(part) } else { part })
            }
            Value::List(items) => {
                let part = places(start).into_iter().map(|at| items[at].clone()).collect();
                self.list(part)
            }
            Value::Tuple(items) => {
                let part = places(start).into_iter().map(|at| items[at].clone()).collect();
                Value::tuple_of(part)
            }
            Value::Range(range) => {
                let [first, _, by] = **range;
                let at = |place: i64| first.saturating_add(by.saturating_mul(place));
                Ok(Value::Range(Arc::new([at(start), at(stop), by.saturating_mul(step)])))
            }
            _ => fault("not subscriptable"),
        }
    }

    /// `len(value)`.
    pub fn length(&mut self, value: &Value) -> Result<usize> {
        match value {
            Value::Object(place) if matches!(self.objects[*place as usize], Object::Loop(_)) => {
                self.length_of_loop(*place)
            }
            other => {
                if let Some(text) = other.as_text() {
                    self.look_through(text)?;
                }
                other.length()
            }
        }
    }

    /// The items of `reversed(value)`; none where Python has no reverse.
    pub fn reversed(&mut self, value: &Value) -> Result<Option<Vec<Value>>> {
        match value {
            Value::Undefined(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Text(_)
            | Value::Markup(_)
            | Value::Dict(_)
            | Value::Range(_)
            | Value::View(View::Keys | View::Values | View::Items, _) => {
                let mut items = self.collect(value)?;
                items.reverse();
                Ok(Some(items))
            }
            _ => Ok(None),
        }
    }
}
