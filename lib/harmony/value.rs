//! JSON schemas of tools as trees, the only part of a conversation that needs a tree.

use serde_json::{Map, Value};

use super::RenderError;
use super::field::attempt;
use super::number;
use crate::json::{Kind, Reader};

/// How many arrays and objects a schema may nest: serde_json takes 127, and nine stand around.
const MAX_DEPTH: usize = 118;

/// Reads an object as the official renderer has it in hand: keys in the order of their first
/// appearance with their last value, strings without lone surrogates, finite numbers.
pub(super) fn object(reader: &mut Reader) -> Result<Value, RenderError> {
    super::field::expect(reader, Kind::Object)?;
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
        Kind::True | Kind::False => Value::Bool(reader.boolean()?),
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
            let mut map = Map::new();
            // Refused values, by key: a later duplicate can still replace them.
            let mut refused: Vec<(String, RenderError)> = Vec::new();
            reader.object(|reader, key| {
                let mut name = String::new();
                key.decode_onto(&mut name)?;
                refused.retain(|(other, _)| *other != name);
                let item = match attempt(reader, |reader| value(reader, depth + 1))? {
                    Some(Ok(item)) => item,
                    Some(Err(error)) => {
                        refused.push((name.clone(), error));
                        Value::Null
                    }
                    None => Value::Null,
                };
                map.insert(name, item);
                Ok::<_, RenderError>(())
            })?;
            match refused.into_iter().next() {
                Some((_, error)) => return Err(error),
                None => Value::Object(map),
            }
        }
    })
}
