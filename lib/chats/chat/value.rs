//! A chat's JSON as a tree. A tree is needed because the meaning of a key depends on other keys.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::known_tools::{KnownTool, KnownTools};
use super::text::Text;
use super::tools;
use crate::json::{self, Kind, Reader, python_repr, write_string};

/// A value; text is borrowed.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    Null,
    Boolean(bool),
    /// The number as it was written.
    Number(Cow<'a, str>),
    Text(Text<'a>),
    List(Vec<Json<'a>>),
    /// Keys in their order, each once.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
    /// An object that declares a tool, and that was read before.
    Known(Arc<KnownTool>),
}

/// The deepest nesting: values are read by recursion, deeper ones are refused.
const DEEPEST: usize = 200;

impl<'a> Json<'a> {
    /// Parses a text as JSON, with what Python accepts as JSON (NaN).
    pub fn parse(text: &'a str) -> Result<Json<'a>, json::Error> {
        Json::parse_any(text, None)
    }

    /// Parses a record likewise. Tools that it declares may be known.
    pub fn parse_record(text: &'a str, known: &mut KnownTools) -> Result<Json<'a>, json::Error> {
        Json::parse_any(text, Some(known))
    }

    fn parse_any(text: &'a str, known: Option<&mut KnownTools>) -> Result<Json<'a>, json::Error> {
        let mut reader = Reader::lenient(text);
        let value = read(&mut reader, 0, known)?;
        reader.end()?;
        Ok(value)
    }

    /// Returns the same value without borrows.
    pub fn into_owned(self) -> Json<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Json::Null => Json::Null,
            Json::Boolean(value) => Json::Boolean(value),
            Json::Number(text) => Json::Number(owned(text)),
            Json::Text(text) => Json::Text(text.into_owned()),
            Json::List(items) => Json::List(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(entries) => Json::Object(
                entries.into_iter().map(|(key, value)| (owned(key), value.into_owned())).collect(),
            ),
            Json::Known(tool) => Json::Known(tool),
        }
    }

    /// Returns the value of a key, if this is an object that has it; null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.member(key).filter(|value| **value != Json::Null)
    }

    /// Returns the value of a key, if this is an object that has it, even if it is null.
    pub fn member(&self, key: &str) -> Option<&Json<'a>> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    #[inline]
    pub fn entries(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        match self {
            Json::Object(entries) => entries,
            Json::Known(tool) => tool.json().entries(),
            _ => &[],
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Json<'a>]> {
        match self {
            Json::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Json::Object(_) | Json::Known(_))
    }

    /// Returns `bool(value)` of Python.
    pub fn is_true(&self) -> bool {
        match self {
            Json::Null => false,
            Json::Boolean(value) => *value,
            Json::Number(text) => text.parse::<f64>().is_ok_and(|number| number != 0.0),
            Json::Text(text) => !text.is_empty(),
            Json::List(items) => !items.is_empty(),
            Json::Object(entries) => !entries.is_empty(),
            Json::Known(_) => true,
        }
    }

    /// Whether the value says something: it is not null, and not an empty text, list or object.
    pub fn says(&self) -> bool {
        matches!(self, Json::Boolean(_) | Json::Number(_)) || self.is_true()
    }

    /// Fails if the value named `name` is or holds a `NaN`, which tables have in place of values that JSON
    /// cannot express.
    pub fn refuse_nan(&self, name: &str) -> Result<(), String> {
        if self.has_nan() {
            return Err(format!("{name}: expected JSON, got NaN, or bytes that are not UTF-8"));
        }
        Ok(())
    }

    fn has_nan(&self) -> bool {
        match self {
            Json::Number(text) => text == "NaN",
            Json::List(items) => items.iter().any(Json::has_nan),
            Json::Object(entries) => entries.iter().any(|(_, value)| value.has_nan()),
            _ => false,
        }
    }

    /// Whether all numbers in the value are valid JSON numbers, as they are written.
    pub fn is_finite(&self) -> bool {
        match self {
            Json::Number(text) => !text.ends_with(['N', 'y']),
            Json::List(items) => items.iter().all(Json::is_finite),
            Json::Object(entries) => entries.iter().all(|(_, value)| value.is_finite()),
            Json::Known(tool) => tool.json().is_finite(),
            _ => true,
        }
    }

    /// Returns the name of the value's type in Python.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NoneType",
            Json::Boolean(_) => "bool",
            Json::Number(text) if is_integer(text) => "int",
            // See `refuse_nan`.
            Json::Number(text) if text == "NaN" => "NaN, or bytes that are not UTF-8",
            Json::Number(_) => "float",
            Json::Text(_) => "str",
            Json::List(_) => "list",
            Json::Object(_) | Json::Known(_) => "dict",
        }
    }

    /// Returns `json.dumps(value, ensure_ascii=False)`.
    pub fn python_json(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out, Form::Python);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Writes the value without nulls in objects, with sorted keys and without spaces: chats with
    /// the same content give the same bytes, however they were stored.
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out, Form::Canonical);
        out
    }

    /// Appends the value without spaces.
    pub fn write_compact(&self, out: &mut Vec<u8>) {
        self.write(out, Form::Compact);
    }

    fn write(&self, out: &mut Vec<u8>, form: Form) {
        let comma: &[u8] = if form == Form::Python { b", " } else { b"," };
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Boolean(true) => out.extend_from_slice(b"true"),
            Json::Boolean(false) => out.extend_from_slice(b"false"),
            Json::Number(text) => out.extend_from_slice(number(text).as_bytes()),
            Json::Text(text) => text.write(out),
            Json::Known(tool) => tool.json().write(out, form),
            Json::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    out.extend_from_slice(if index > 0 { comma } else { b"" });
                    item.write(out, form);
                }
                out.push(b']');
            }
            Json::Object(entries) => {
                let mut entries: Vec<&(Cow<'a, str>, Json<'a>)> = entries.iter().collect();
                if form == Form::Canonical {
                    entries.retain(|(_, value)| *value != Json::Null);
                    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                }
                out.push(b'{');
                for (index, (key, value)) in entries.into_iter().enumerate() {
                    out.extend_from_slice(if index > 0 { comma } else { b"" });
                    write_string(out, key);
                    out.extend_from_slice(if form == Form::Python { b": " } else { b":" });
                    value.write(out, form);
                }
                out.push(b'}');
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Compact,
    Python,
    Canonical,
}

fn is_integer(number: &str) -> bool {
    number.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
}

/// Returns a number as Python prints it after reading it.
fn number(text: &str) -> Cow<'_, str> {
    match text {
        "-0" => "0".into(),
        _ if is_integer(text) => text.into(),
        _ => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => python_repr(value).into(),
            Ok(value) if value.is_nan() => "NaN".into(),
            Ok(value) if value > 0.0 => "Infinity".into(),
            Ok(_) => "-Infinity".into(),
            Err(_) => text.into(),
        },
    }
}

/// Returns the decimal text of a number that is an integer, of any size.
pub fn integer<'v>(value: &'v Json) -> Option<Cow<'v, str>> {
    match value {
        Json::Number(text) if is_integer(text) => Some(number(text)),
        _ => None,
    }
}

/// Reads a value. `known` are the tools of a record, if this is one, or a list of tools in it.
pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
    depth: usize,
    mut known: Option<&mut KnownTools>,
) -> Result<Json<'a>, json::Error> {
    let kind = reader.peek()?;
    if depth > DEEPEST {
        return Err(reader.error("nested too deeply"));
    }
    Ok(match kind {
        Kind::Null => {
            reader.null()?;
            Json::Null
        }
        Kind::True | Kind::False => Json::Boolean(reader.boolean()?),
        Kind::Number => Json::Number(Cow::Borrowed(reader.number()?)),
        Kind::String => Json::Text(Text::read(reader)?),
        Kind::Array => {
            let mut items = Vec::new();
            reader.array(|reader| {
                items.push(match &mut known {
                    None => read(reader, depth + 1, None)?,
                    Some(known) => known.read(reader, depth + 1)?,
                });
                Ok::<(), json::Error>(())
            })?;
            Json::List(items)
        }
        Kind::Object => {
            let mut entries = Vec::new();
            reader.object(|reader, key| {
                let key = match key.plain() {
                    Some(plain) => Cow::Borrowed(plain),
                    None => {
                        let mut decoded = String::new();
                        key.decode_onto(&mut decoded)?;
                        Cow::Owned(decoded)
                    }
                };
                let is_of_tools = depth == 0 && tools::KEYS.contains(&&*key);
                let known = known.as_deref_mut().filter(|_| is_of_tools);
                entries.push((key, read(reader, depth + 1, known)?));
                Ok::<(), json::Error>(())
            })?;
            if has_repeats(&entries) {
                return Err(reader.error("a name that is there twice in the object that ends"));
            }
            Json::Object(entries)
        }
    })
}

/// Whether a key is there twice.
fn has_repeats(entries: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    /// Up to this many members are compared pairwise.
    const FEW: usize = 16;
    if entries.len() <= FEW {
        let mut rest = entries;
        while let Some(((key, _), others)) = rest.split_first() {
            if others.iter().any(|(other, _)| other == key) {
                return true;
            }
            rest = others;
        }
        return false;
    }
    let mut keys = HashSet::with_capacity(entries.len());
    !entries.iter().all(|(key, _)| keys.insert(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumps(text: &str) -> String {
        Json::parse(text).unwrap().python_json()
    }

    /// Python: `json.dumps(json.loads(text), ensure_ascii=False)`.
    #[test]
    fn values_are_printed_as_python_prints_them() {
        for (text, expected) in [
            (r#"{"a":1,"b":2}"#, r#"{"a": 1, "b": 2}"#),
            ("[1.0,1e21,-0,-0.0,1E2,0.00001]", "[1.0, 1e+21, 0, -0.0, 100.0, 1e-05]"),
            (r#""\u00e9\ud83d\ude00\u0001/""#, "\"é😀\\u0001/\""),
            ("[NaN,Infinity,1e999]", "[NaN, Infinity, Infinity]"),
        ] {
            assert_eq!(dumps(text), expected);
        }
        assert!(Json::parse(r#""\ud83d""#).is_err());
        for twice in [r#"{"a":1,"b":2,"a":3}"#, r#"[{"a":1,"\u0061":1}]"#] {
            let error = Json::parse(twice).unwrap_err().to_string();
            assert!(error.starts_with("a name that is there twice"), "{error}");
        }
        assert!(Json::parse(&"[".repeat(5000)).is_err());
    }

    #[test]
    fn canonical_texts_leave_out_what_says_nothing() {
        let one = Json::parse(r#"{"b": [1, {"y": null, "x": "é"}], "a": null}"#).unwrap();
        let other = Json::parse(r#"{"b":[1,{"x":"\u00e9"}]}"#).unwrap();
        assert_eq!(one.canonical(), other.canonical());
    }
}
