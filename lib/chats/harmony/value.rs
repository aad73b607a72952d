//! JSON schemas of tools as trees, the only part of a conversation that needs a tree.

use std::collections::HashMap;

use super::field::{attempt, expect};
use super::{RenderError, number};
use crate::json::{self, Kind, Reader};

/// A value that the official renderer can show.
#[derive(Debug)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    /// The text that is shown.
    Number(String),
    String(String),
    Array(Vec<Value>),
    /// Keys in the order of their first appearance, each once.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Returns the value of a key, if this is an object that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn as_object(&self) -> Option<&[(String, Value)]> {
        match self {
            Value::Object(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value as JSON without spaces.
    pub(super) fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write_json(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Boolean(true) => out.extend_from_slice(b"true"),
            Value::Boolean(false) => out.extend_from_slice(b"false"),
            Value::Number(text) => out.extend_from_slice(text.as_bytes()),
            Value::String(text) => json::write_string(out, text),
            Value::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write_json(out);
                }
                out.push(b']');
            }
            Value::Object(entries) => {
                out.push(b'{');
                for (index, (key, item)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    json::write_string(out, key);
                    out.push(b':');
                    item.write_json(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// The deepest nesting of arrays and objects in a schema: serde_json takes 127, and nine are around
/// it.
const MAX_DEPTH: usize = 118;

/// Reads an object as the official renderer does: keys in the order of their first appearance with
/// their last value, strings without lone surrogates, finite numbers.
pub(super) fn object(reader: &mut Reader) -> Result<Value, RenderError> {
    expect(reader, Kind::Object)?;
    value(reader, 1)
}

fn value(reader: &mut Reader, depth: usize) -> Result<Value, RenderError> {
    let kind = reader.peek()?;
    if depth > MAX_DEPTH && matches!(kind, Kind::Object | Kind::Array) {
        return Err(RenderError::new("nested too deeply"));
    }
    Ok(match kind {
        Kind::Null => {
            reader.null()?;
            Value::Null
        }
        Kind::True | Kind::False => Value::Boolean(reader.boolean()?),
        Kind::Number => {
            let literal = reader.number()?;
            let Some(number) = number::rendered(literal) else {
                return Err(RenderError::new("a number that is not finite"));
            };
            Value::Number(number)
        }
        Kind::String => {
            let mut text = String::new();
            reader.string()?.decode_onto(&mut text)?;
            Value::String(text)
        }
        Kind::Array => {
            let mut items = Vec::new();
            reader.array(|reader| {
                items.push(value(reader, depth + 1)?);
                Ok::<_, RenderError>(())
            })?;
            Value::Array(items)
        }
        Kind::Object => {
            let mut slots: Vec<(String, Result<Value, RenderError>)> = Vec::new();
            let mut places: HashMap<String, usize> = HashMap::new();
            reader.object(|reader, key| {
                let mut name = String::new();
                key.decode_onto(&mut name)?;
                let item = attempt(reader, |reader| value(reader, depth + 1))?;
                match places.get(&name) {
                    Some(&place) => slots[place].1 = item,
                    None => {
                        places.insert(name.clone(), slots.len());
                        slots.push((name, item));
                    }
                }
                Ok::<_, RenderError>(())
            })?;
            let entries = slots.into_iter().map(|(name, slot)| Ok((name, slot?)));
            Value::Object(entries.collect::<Result<_, RenderError>>()?)
        }
    })
}
