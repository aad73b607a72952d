//! Texts of JSON. One with escapes is decoded when it is first read, and written as it stands: most bytes of a session are
//! results of tools, which nobody looks into.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use crate::json::{self, Reader, Str, write_string};

/// A text.
#[derive(Clone)]
pub struct Text<'a>(Form<'a>);

#[derive(Clone)]
enum Form<'a> {
    Plain(Cow<'a, str>),
    Escaped(Box<Escaped<'a>>),
}

/// A text with escapes, all of them such as are written; none of them is invalid.
#[derive(Clone)]
struct Escaped<'a> {
    string: Str<'a>,
    value: OnceLock<String>,
}

impl<'a> Text<'a> {
    /// Reads a string.
    pub fn read(reader: &mut Reader<'a>) -> Result<Text<'a>, json::Error> {
        let string = reader.string()?;
        if let Some(plain) = string.plain() {
            return Ok(plain.into());
        }
        if string.as_written().is_some() {
            let value = OnceLock::new();
            return Ok(Text(Form::Escaped(Box::new(Escaped { string, value }))));
        }
        let mut decoded = String::with_capacity(string.raw().len());
        string.decode_onto(&mut decoded)?;
        Ok(decoded.into())
    }

    pub fn into_owned(self) -> Text<'static> {
        match self.0 {
            Form::Plain(text) => text.into_owned().into(),
            Form::Escaped(text) => text.value().to_string().into(),
        }
    }

    /// Whether it is empty; it is not decoded for that.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::Plain(text) => text.is_empty(),
            Form::Escaped(_) => false,
        }
    }

    /// Appends the text as a JSON string.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Plain(text) => write_string(out, text),
            Form::Escaped(text) => {
                out.push(b'"');
                out.extend_from_slice(text.string.raw().as_bytes());
                out.push(b'"');
            }
        }
    }
}

impl Escaped<'_> {
    fn value(&self) -> &str {
        self.value.get_or_init(|| {
            let mut decoded = String::with_capacity(self.string.raw().len());
            // (Only a lone surrogate is an error, and that is no escape that is written.)
            let _: Result<(), json::Error> = self.string.decode_onto(&mut decoded);
            decoded
        })
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Form::Plain(text) => text,
            Form::Escaped(text) => text.value(),
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Text<'a> {
        Text(Form::Plain(Cow::Borrowed(text)))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text(Form::Plain(Cow::Owned(text)))
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
