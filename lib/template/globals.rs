//! The functions that every chat template has.

use std::sync::Arc;

use crate::error::{Error, Result, fault, unsupported, unused};
use crate::run::Run;
use crate::run::arguments::{CallArguments, index};
use crate::run::object::{Object, check_attribute};
use crate::value::{Dict, Function, Value, range_length};

/// Maximum number of items of a `range` in jinja2's sandbox.
const MOST_OF_RANGE: usize = 100_000;

/// The global function with this name.
pub fn find(name: &str) -> Option<Value> {
    Some(Value::Function(match name {
        "range" => Function::Range,
        "dict" => Function::Dict,
        "namespace" => Function::Namespace,
        "cycler" => Function::Unused("cycler"),
        "joiner" => Function::Unused("joiner"),
        "raise_exception" => Function::RaiseException,
        "strftime_now" => Function::StrftimeNow,
        "lipsum" => Function::Unused("lipsum"),
        "self" => Function::Blocks,
        _ => return None,
    }))
}

pub fn call(run: &mut Run<'_>, function: Function, given: CallArguments) -> Result<Value> {
    match function {
        Function::Range => range(given),
        Function::Dict => Ok(Value::Dict(Arc::new(dict(run, given)?))),
        Function::DictFromKeys => from_keys(run, given),
        Function::Namespace => {
            let dict = dict(run, given)?;
            for (name, _) in dict.entries() {
                name.as_text().map_or(Ok(()), check_attribute)?;
            }
            run.object(Object::Namespace(dict.entries().to_vec()))
        }
        Function::RaiseException => {
            let [message] = given.bind("raise_exception", ["message"], 1)?;
            let message = run.printed(&message.unwrap_or_default())?;
            Err(Box::new(Error::Raised(message)))
        }
        Function::StrftimeNow => {
            let [format] = given.bind("strftime_now", ["format"], 1)?;
            let format = format.unwrap_or_default();
            let format = crate::run::arguments::text(&format)?;
            match run.date() {
                Some(date) => {
                    let text = date.strftime(format)?;
                    run.text(text)
                }
                None => unsupported("the template asks for the date, which is not given"),
            }
        }
        Function::Unused(name) => unused(name),
        Function::Blocks => fault("'TemplateReference' object is not callable"),
    }
}

fn range(given: CallArguments) -> Result<Value> {
    let [first, second, step] = given.positional("range", 1)?;
    let number = |value: Option<Value>, default: i64| match value {
        Some(value @ Value::Float(_)) => {
            fault(format!("'{}' object cannot be interpreted as an integer", value.type_name()))
        }
        Some(value) => index(&value),
        None => Ok(default),
    };
    let range = match second {
        None => [0, number(first, 0)?, 1],
        second => [number(first, 0)?, number(second, 0)?, number(step, 1)?],
    };
    if range[2] == 0 {
        return fault("range() arg 3 must not be zero");
    }
    if range_length(&range) > MOST_OF_RANGE {
        return fault("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    }
    Ok(Value::Range(Arc::new(range)))
}

/// `dict(of, **named)`.
fn dict(run: &mut Run<'_>, given: CallArguments) -> Result<Dict> {
    let mut dict = Dict::default();
    if given.list.len() > 1 {
        return fault(format!("dict expected at most 1 argument, got {}", given.list.len()));
    }
    match given.list.into_iter().next() {
        None => {}
        Some(Value::Undefined(missing)) => return fault(missing.message()),
        Some(Value::Dict(other)) => dict = (*other).clone(),
        Some(pairs) => {
            let mut source = run.iter(&pairs)?;
            while let Some(pair) = run.next(&mut source)? {
                run.step(1)?;
                let mut pair = run.collect(&pair)?.into_iter();
                match (pair.next(), pair.next(), pair.next()) {
                    (Some(key), Some(value), None) => {
                        run.step(dict.steps(&key))?;
                        dict.insert(key, value)?;
                    }
                    _ => {
                        return fault("dictionary update sequence element has not the length 2");
                    }
                }
            }
        }
    }
    for (name, value) in given.named {
        dict.insert(Value::Text(name), value)?;
    }
    run.charge(dict.len() * 64)?;
    Ok(dict)
}

/// `dict.fromkeys(keys, value)`.
pub fn from_keys(run: &mut Run<'_>, given: CallArguments) -> Result<Value> {
    let [keys, value] = given.positional("fromkeys", 1)?;
    let value = value.unwrap_or_default();
    let mut dict = Dict::default();
    for key in run.collect(&keys.unwrap_or_default())? {
        run.step(dict.steps(&key))?;
        dict.insert(key, value.clone())?;
    }
    Ok(Value::Dict(Arc::new(dict)))
}
