//! `str` and `repr`.

use gristmill_json::{python_repr, write_repr_string};

use super::{Value, View};
use crate::error::{Result, fault, unsupported};

/// `str(float)`.
pub fn float(value: f64) -> String {
    match value {
        value if value.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        value => python_repr(value),
    }
}

/// The digits of an integer; an error above Python's limit of 4300 digits.
pub fn big(value: &num_bigint::BigInt) -> Result<String> {
    // (4300 digits have 14285 bits.)
    let text = if value.bits() > 15_000 { String::new() } else { value.to_string() };
    if text.is_empty() || text.trim_start_matches('-').len() > gristmill_json::MAX_LENIENT_DIGITS {
        return fault("Exceeds the limit (4300 digits) for integer string conversion");
    }
    Ok(text)
}

/// Appends `str(value)`; `object` appends the objects of the renderer.
pub fn write(
    out: &mut String,
    value: &Value,
    object: &dyn Fn(u32, &mut String) -> Result<()>,
) -> Result<()> {
    match value {
        Value::Undefined(_) => Ok(()),
        Value::Text(text) | Value::Markup(text) => {
            out.push_str(text);
            Ok(())
        }
        other => write_repr(out, other, object),
    }
}

/// Appends `repr(value)`.
pub fn write_repr(
    out: &mut String,
    value: &Value,
    object: &dyn Fn(u32, &mut String) -> Result<()>,
) -> Result<()> {
    match value {
        Value::Undefined(_) => out.push_str("Undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Big(value) => out.push_str(&big(value)?),
        Value::Float(value) => out.push_str(&float(*value)),
        Value::Text(text) => quoted(out, text),
        Value::Markup(text) => {
            out.push_str("Markup(");
            quoted(out, text);
            out.push(')');
        }
        Value::List(items) => {
            out.push('[');
            list(out, items, object)?;
            out.push(']');
        }
        Value::Tuple(items) => {
            out.push('(');
            list(out, items, object)?;
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        Value::Dict(dict) => {
            out.push('{');
            for (index, (key, value)) in dict.entries().iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_repr(out, key, object)?;
                out.push_str(": ");
                write_repr(out, value, object)?;
            }
            out.push('}');
        }
        Value::Range(range) => {
            let [start, stop, step] = **range;
            out.push_str(&match step {
                1 => format!("range({start}, {stop})"),
                _ => format!("range({start}, {stop}, {step})"),
            });
        }
        Value::View(view, dict) => {
            out.push_str(value.type_name());
            out.push_str("([");
            for (index, (key, value)) in dict.entries().iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                match view {
                    View::Keys => write_repr(out, key, object)?,
                    View::Values => write_repr(out, value, object)?,
                    View::Items => {
                        out.push('(');
                        write_repr(out, key, object)?;
                        out.push_str(", ");
                        write_repr(out, value, object)?;
                        out.push(')');
                    }
                }
            }
            out.push_str("])");
        }
        Value::Method(_) | Value::Function(_) => {
            return unsupported("a function is printed, with its address in memory");
        }
        Value::Object(place) => object(*place, out)?,
    }
    Ok(())
}

fn list(
    out: &mut String,
    items: &[Value],
    object: &dyn Fn(u32, &mut String) -> Result<()>,
) -> Result<()> {
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        write_repr(out, item, object)?;
    }
    Ok(())
}

/// Appends `repr(text)`.
pub fn quoted(out: &mut String, text: &str) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write_repr_string(&mut bytes, text);
    out.push_str(&String::from_utf8_lossy(&bytes));
}
