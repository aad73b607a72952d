//! Values from JSON.

use std::sync::Arc;

use gristmill_json::{Kind, Reader};
use num_bigint::BigInt;

use super::{Dict, Items, Value, integer};
use crate::error::Error;

type Read<T> = std::result::Result<T, Error>;

/// Maximum nesting of JSON, which is read by recursion.
const DEEPEST_JSON: usize = 200;

fn bad(error: gristmill_json::Error) -> Error {
    Error::Chat(error.to_string())
}

struct Fault(Error);

impl From<gristmill_json::Error> for Fault {
    fn from(error: gristmill_json::Error) -> Fault {
        Fault(bad(error))
    }
}

impl Value {
    /// Reads a value from JSON, with the numbers that Python adds: `NaN`, `Infinity`.
    pub fn from_json(text: &str) -> Read<Value> {
        let mut reader = Reader::lenient(text);
        let value = read(&mut reader, 0)?;
        reader.end().map_err(bad)?;
        Ok(value)
    }

    /// Reads a number as JSON writes it; none if the text is no number.
    pub fn number(text: &str) -> Option<Value> {
        match text {
            "NaN" => Some(Value::Float(f64::NAN)),
            "Infinity" => Some(Value::Float(f64::INFINITY)),
            "-Infinity" => Some(Value::Float(f64::NEG_INFINITY)),
            _ if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) => {
                Value::integer_of(text)
            }
            _ => text.parse().ok().map(Value::Float),
        }
    }

    /// Reads an integer of at most 4300 digits, which is Python's limit.
    pub(crate) fn integer_of(digits: &str) -> Option<Value> {
        if let Ok(value) = digits.parse() {
            return Some(Value::Int(value));
        }
        if digits.trim_start_matches('-').len() > gristmill_json::MAX_LENIENT_DIGITS {
            return None;
        }
        BigInt::parse_bytes(digits.as_bytes(), 10).map(integer)
    }
}

fn read(reader: &mut Reader<'_>, depth: usize) -> Read<Value> {
    let kind = reader.peek().map_err(bad)?;
    if depth > DEEPEST_JSON {
        return Err(bad(reader.error("nested too deeply")));
    }
    Ok(match kind {
        Kind::Null => {
            reader.null().map_err(bad)?;
            Value::None
        }
        Kind::True | Kind::False => Value::Bool(reader.boolean().map_err(bad)?),
        Kind::Number => {
            let number = reader.number().map_err(bad)?;
            Value::number(number).ok_or_else(|| bad(reader.error("a number that is none")))?
        }
        Kind::String => Value::Text(text(reader)?),
        Kind::Array => {
            let mut items = Vec::new();
            let read_items = reader.array(|reader| {
                items.push(read(reader, depth + 1).map_err(Fault)?);
                Ok::<(), Fault>(())
            });
            read_items.map_err(|Fault(error)| error)?;
            Value::List(Arc::new(Items::new(items).map_err(|error| *error)?))
        }
        Kind::Object => {
            let mut dict = Dict::default();
            let read_entries = reader.object(|reader, key| {
                let mut scratch = String::new();
                let key = Value::text(key.decode(&mut scratch)?);
                let value = read(reader, depth + 1).map_err(Fault)?;
                dict.insert(key, value).map_err(|error| Fault(*error))
            });
            read_entries.map_err(|Fault(error)| error)?;
            Value::Dict(Arc::new(dict))
        }
    })
}

fn text(reader: &mut Reader<'_>) -> Read<Arc<str>> {
    let string = reader.string().map_err(bad)?;
    if let Some(plain) = string.plain() {
        return Ok(plain.into());
    }
    let mut decoded = String::with_capacity(string.raw().len());
    string.decode_onto(&mut decoded).map_err(bad)?;
    Ok(decoded.into())
}
