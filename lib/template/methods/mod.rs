//! The methods of Python's types that a sandboxed template may call.

mod text;

use std::sync::Arc;

use crate::error::{Result, fault};
use crate::run::Run;
use crate::run::arguments::CallArguments;
use crate::value::compare::equal;
use crate::value::number::Number;
use crate::value::{Dict, Type, Value, View};

pub use text::replaced;

/// Whether a value has an attribute, and whether the sandbox allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    Safe,
    Refused,
    Absent,
}

// (A comparison with each name of a list took a fiftieth of the time of a chat.)
/// The methods of `str`.
fn is_of_text(name: &str) -> bool {
    matches!(
        name,
        "capitalize"
            | "casefold"
            | "center"
            | "count"
            | "encode"
            | "endswith"
            | "expandtabs"
            | "find"
            | "format"
            | "format_map"
            | "index"
            | "isalnum"
            | "isalpha"
            | "isascii"
            | "isdecimal"
            | "isdigit"
            | "isidentifier"
            | "islower"
            | "isnumeric"
            | "isprintable"
            | "isspace"
            | "istitle"
            | "isupper"
            | "join"
            | "ljust"
            | "lower"
            | "lstrip"
            | "maketrans"
            | "partition"
            | "removeprefix"
            | "removesuffix"
            | "replace"
            | "rfind"
            | "rindex"
            | "rjust"
            | "rpartition"
            | "rsplit"
            | "rstrip"
            | "split"
            | "splitlines"
            | "startswith"
            | "strip"
            | "swapcase"
            | "title"
            | "translate"
            | "upper"
            | "zfill"
    )
}

/// The further methods of `Markup`.
fn is_of_markup(name: &str) -> bool {
    matches!(name, "escape" | "striptags" | "unescape")
}

/// The methods of `list`.
fn is_of_list(name: &str) -> bool {
    matches!(name, "copy" | "count" | "index")
}

/// The methods of `list` that the sandbox refuses.
fn is_refused_of_list(name: &str) -> bool {
    matches!(name, "append" | "clear" | "extend" | "insert" | "pop" | "remove" | "reverse" | "sort")
}

/// The methods of `dict`.
fn is_of_dict(name: &str) -> bool {
    matches!(name, "copy" | "fromkeys" | "get" | "items" | "keys" | "values")
}

/// The methods of `dict` that the sandbox refuses.
fn is_refused_of_dict(name: &str) -> bool {
    matches!(name, "clear" | "pop" | "popitem" | "setdefault" | "update")
}

/// The attributes of `int`.
fn is_of_int(name: &str) -> bool {
    matches!(
        name,
        "as_integer_ratio"
            | "bit_count"
            | "bit_length"
            | "conjugate"
            | "denominator"
            | "from_bytes"
            | "imag"
            | "numerator"
            | "real"
            | "to_bytes"
    )
}

/// The attributes of `float`.
fn is_of_float(name: &str) -> bool {
    matches!(
        name,
        "as_integer_ratio" | "conjugate" | "fromhex" | "hex" | "imag" | "is_integer" | "real"
    )
}

/// The attributes that every value of Python has; the sandbox refuses them.
const OBJECT: [&str; 24] = [
    "__class__",
    "__delattr__",
    "__dir__",
    "__doc__",
    "__eq__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__getstate__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__le__",
    "__lt__",
    "__ne__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__sizeof__",
    "__str__",
    "__subclasshook__",
];

/// Whether every value of Python has this attribute.
pub fn is_of_all(name: &str) -> bool {
    name.starts_with("__") && OBJECT.contains(&name)
}

/// Looks up an attribute of a value that is not an object of the renderer.
pub fn safety(value: &Value, name: &str) -> Safety {
    if is_of_all(name) {
        return Safety::Refused;
    }
    let is_safe = match value.kind() {
        Type::Text => is_of_text(name),
        Type::Markup => is_of_text(name) || is_of_markup(name),
        Type::List if is_refused_of_list(name) => return Safety::Refused,
        Type::List => is_of_list(name),
        Type::Tuple => matches!(name, "count" | "index"),
        Type::Dict if is_refused_of_dict(name) => return Safety::Refused,
        Type::Dict => is_of_dict(name),
        Type::Int | Type::Bool => is_of_int(name),
        Type::Float => is_of_float(name),
        Type::Range => matches!(name, "count" | "index" | "start" | "step" | "stop"),
        Type::Keys | Type::Items => matches!(name, "isdisjoint" | "mapping"),
        Type::Values => name == "mapping",
        Type::Function if *value == Value::Function(crate::value::Function::Dict) => {
            name == "fromkeys"
        }
        _ => false,
    };
    if is_safe { Safety::Safe } else { Safety::Absent }
}

/// The value of an attribute that is not a method.
pub fn property(value: &Value, name: &str) -> Option<Value> {
    Some(match (value, name) {
        (Value::Bool(value), "real" | "numerator") => Value::Int(i64::from(*value)),
        (Value::Int(_) | Value::Big(_), "real" | "numerator") => value.clone(),
        (Value::Int(_) | Value::Big(_) | Value::Bool(_), "imag") => Value::Int(0),
        (Value::Int(_) | Value::Big(_) | Value::Bool(_), "denominator") => Value::Int(1),
        (Value::Float(_), "real") => value.clone(),
        (Value::Float(_), "imag") => Value::Float(0.0),
        (Value::Range(range), "start") => Value::Int(range[0]),
        (Value::Range(range), "stop") => Value::Int(range[1]),
        (Value::Range(range), "step") => Value::Int(range[2]),
        (Value::View(_, dict), "mapping") => Value::Dict(dict.clone()),
        _ => return None,
    })
}

/// Turns a text into markup.
pub fn marked(value: Value) -> Value {
    match value {
        Value::Text(text) => Value::Markup(text),
        other => other,
    }
}

/// Calls a method.
pub fn call(run: &mut Run<'_>, of: &Value, name: &str, given: CallArguments) -> Result<Value> {
    if of.as_text().is_some() {
        run.spoil_by(name, of, &given);
    }
    match of {
        Value::Text(text) => text::call(run, text, false, name, given),
        Value::Markup(text) => text::call(run, text, true, name, given),
        Value::Dict(dict) => of_dict(run, dict, name, given),
        Value::List(items) | Value::Tuple(items) => {
            run.step(items.len() / 16)?;
            of_list(of, items, name, given)
        }
        Value::Function(_) => crate::globals::from_keys(run, given),
        Value::Int(_) | Value::Bool(_) | Value::Big(_) | Value::Float(_) => {
            of_number(of, name, given)
        }
        Value::Range(_) => {
            let [item] = given.positional(name, 1)?;
            let items = run.collect(of)?;
            of_list(
                &Value::None,
                &items,
                name,
                CallArguments { list: item.into_iter().collect(), ..CallArguments::default() },
            )
        }
        other => {
            crate::error::unsupported(format!("{}.{name} is not supported", other.type_name()))
        }
    }
}

fn of_dict(run: &mut Run<'_>, dict: &Arc<Dict>, name: &str, given: CallArguments) -> Result<Value> {
    if name == "fromkeys" {
        return crate::globals::from_keys(run, given);
    }
    if name == "get" {
        let [key, default] = given.positional("get", 1)?;
        let key = key.unwrap_or_default();
        run.step(dict.steps(&key))?;
        return Ok(match dict.get(&key)? {
            Some(value) => value.clone(),
            None => default.unwrap_or_default(),
        });
    }
    given.positional::<0>(name, 0)?;
    Ok(match name {
        "keys" => Value::View(View::Keys, dict.clone()),
        "values" => Value::View(View::Values, dict.clone()),
        "items" => Value::View(View::Items, dict.clone()),
        _ => Value::Dict(Arc::new((**dict).clone())),
    })
}

fn of_list(of: &Value, items: &[Value], name: &str, given: CallArguments) -> Result<Value> {
    match name {
        "copy" => {
            given.positional::<0>(name, 0)?;
            Ok(of.clone())
        }
        "count" => {
            let [item] = given.positional(name, 1)?;
            let item = item.unwrap_or_default();
            Ok(Value::from(items.iter().filter(|other| equal(other, &item)).count()))
        }
        _ => {
            let [item, start, stop] = given.positional(name, 1)?;
            let item = item.unwrap_or_default();
            let bound = |value: Option<Value>, default: usize| -> Result<usize> {
                match value {
                    Some(value) => {
                        let at = crate::run::arguments::index(&value)?;
                        let at =
                            if at < 0 { at.saturating_add(items.len() as i64).max(0) } else { at };
                        Ok(usize::try_from(at).unwrap_or(0).min(items.len()))
                    }
                    None => Ok(default),
                }
            };
            let (start, stop) = (bound(start, 0)?, bound(stop, items.len())?);
            let part = items.get(start..stop).unwrap_or_default();
            match part.iter().position(|other| equal(other, &item)) {
                Some(at) => Ok(Value::from(start + at)),
                None => fault("the item is not in list"),
            }
        }
    }
}

fn of_number(of: &Value, name: &str, given: CallArguments) -> Result<Value> {
    given.positional::<0>(name, 0)?;
    match (of, name, Number::of(of)) {
        (Value::Float(value), "is_integer", _) => Ok(Value::Bool(value.fract() == 0.0)),
        (Value::Float(_), "conjugate", _) => Ok(of.clone()),
        (_, "conjugate", Some(Number::Int(value))) => Ok(Value::Int(value)),
        (_, "conjugate", _) => Ok(of.clone()),
        (_, "bit_length", Some(Number::Int(value))) => {
            Ok(Value::Int(64 - i64::from(value.unsigned_abs().leading_zeros())))
        }
        (_, "bit_length", Some(Number::Big(value))) => Ok(Value::Int(value.bits() as i64)),
        (_, "bit_count", Some(Number::Int(value))) => {
            Ok(Value::Int(i64::from(value.unsigned_abs().count_ones())))
        }
        _ => crate::error::unsupported(format!("{}.{name} is not supported", of.type_name())),
    }
}
