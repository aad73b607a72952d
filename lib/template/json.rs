//! `json.dumps`.

use std::ops::Range;
use std::sync::Arc;

use gristmill_json::{write_ascii_string, write_string};

use crate::error::{Result, fault, limit};
use crate::run::arguments::index;
use crate::value::compare::sorted;
use crate::value::{Dict, Value, print};

/// Maximum indent; a line has up to 400.
const WIDEST: usize = 4096;

/// The options of `json.dumps`.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    is_ascii: bool,
    indent: Option<String>,
    item: String,
    key: String,
    is_sorted: bool,
}

impl Form {
    pub fn new(
        ascii: Option<Value>,
        indent: Option<Value>,
        separators: Option<Value>,
        sorted: Option<Value>,
    ) -> Result<Form> {
        let is = |value: Option<Value>| value.is_some_and(|value| value.is_true());
        let indent = match indent {
            None | Some(Value::None) => None,
            Some(Value::Text(text) | Value::Markup(text)) => Some(text.to_string()),
            Some(count) => {
                let count = usize::try_from(index(&count)?).unwrap_or(0);
                Some(" ".repeat(count.min(WIDEST + 1)))
            }
        };
        if indent.as_ref().is_some_and(|indent| indent.len() > WIDEST) {
            return limit("an indent that is too wide");
        }
        let (item, key) = match separators {
            None | Some(Value::None) => {
                (if indent.is_some() { "," } else { ", " }.to_string(), ": ".to_string())
            }
            Some(pair) => match pair.as_list() {
                Some([item, key]) => match (item.as_text(), key.as_text()) {
                    (Some(item), Some(key)) => (item.into(), key.into()),
                    _ => return fault("separators must be texts"),
                },
                _ => return fault("separators must be a pair"),
            },
        };
        Ok(Form { is_ascii: is(ascii), indent, item, key, is_sorted: is(sorted) })
    }
}

/// Gets the texts that are printed.
pub trait Notes {
    /// Gets a text, and where it stands between its quotes.
    fn text(&mut self, text: &Arc<str>, at: Range<usize>);

    /// Gets the texts of a value that was printed before; its JSON begins at a place.
    fn known(&mut self, texts: &KnownTexts, from: usize);
}

/// The texts of a value, and where each stands between its quotes, in the order of their addresses.
pub type KnownTexts = Vec<(Arc<str>, Range<usize>)>;

/// A value as it was printed.
#[derive(Debug)]
pub struct PrintedJson {
    form: Form,
    level: usize,
    json: Vec<u8>,
    texts: KnownTexts,
}

impl Notes for KnownTexts {
    fn text(&mut self, text: &Arc<str>, at: Range<usize>) {
        self.push((text.clone(), at));
    }

    fn known(&mut self, texts: &KnownTexts, from: usize) {
        self.extend(texts.iter().map(|(text, at)| (text.clone(), from + at.start..from + at.end)));
    }
}

/// Appends a value.
pub fn write(out: &mut Vec<u8>, value: &Value, form: &Form, notes: &mut dyn Notes) -> Result<()> {
    Writer { out, form, notes }.write(value, 0)
}

/// The number of bytes of a text between its quotes.
pub fn length(text: &str, form: &Form) -> usize {
    let mut out = Vec::new();
    if !text.is_empty() {
        string(&mut out, text, form);
    }
    out.len().saturating_sub(2)
}

fn float(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => print::float(value),
    }
}

fn string(out: &mut Vec<u8>, text: &str, form: &Form) {
    match form.is_ascii {
        true => write_ascii_string(out, text),
        false => write_string(out, text),
    }
}

/// Maximum length of the JSON, in bytes.
const LONGEST: usize = 1 << 29;

struct Writer<'w> {
    out: &'w mut Vec<u8>,
    form: &'w Form,
    notes: &'w mut dyn Notes,
}

impl Writer<'_> {
    fn line(&mut self, level: usize) {
        if let Some(indent) = &self.form.indent {
            self.out.push(b'\n');
            (0..level).for_each(|_| self.out.extend_from_slice(indent.as_bytes()));
        }
    }

    fn text(&mut self, text: &Arc<str>) {
        let start = self.out.len() + 1;
        string(self.out, text, self.form);
        self.notes.text(text, start..self.out.len() - 1);
    }

    fn write(&mut self, value: &Value, level: usize) -> Result<()> {
        let form = self.form;
        if self.out.len() > LONGEST {
            return limit("a JSON text that is too long");
        }
        match value {
            Value::None => self.out.extend_from_slice(b"null"),
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
            Value::Int(value) => self.out.extend_from_slice(value.to_string().as_bytes()),
            Value::Big(value) => self.out.extend_from_slice(print::big(value)?.as_bytes()),
            Value::Float(value) => self.out.extend_from_slice(float(*value).as_bytes()),
            Value::Text(text) | Value::Markup(text) => self.text(text),
            Value::List(items) | Value::Tuple(items) => {
                if items.is_empty() {
                    self.out.extend_from_slice(b"[]");
                    return Ok(());
                }
                self.out.push(b'[');
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        self.out.extend_from_slice(form.item.as_bytes());
                    }
                    self.line(level + 1);
                    self.write(item, level + 1)?;
                }
                self.line(level);
                self.out.push(b']');
            }
            Value::Dict(dict) => return self.known_dict(dict, level),
            other => {
                return fault(format!(
                    "Object of type {} is not JSON serializable",
                    other.type_name()
                ));
            }
        }
        Ok(())
    }

    /// Writes a dict as it was written before, if it remembers that.
    fn known_dict(&mut self, dict: &Dict, level: usize) -> Result<()> {
        let Some(known) = dict.json() else { return self.dict(dict, level) };
        if known.get().is_none() {
            let (mut json, mut texts) = (Vec::new(), KnownTexts::new());
            let form = self.form;
            Writer { out: &mut json, form, notes: &mut texts }.dict(dict, level)?;
            texts.sort_by_key(|(text, at)| (text.as_ptr().addr(), at.start));
            let _ = known.set(PrintedJson { form: form.clone(), level, json, texts });
        }
        match known.get() {
            Some(PrintedJson { form, level: of, json, texts })
                if form == self.form && (form.indent.is_none() || *of == level) =>
            {
                self.notes.known(texts, self.out.len());
                self.out.extend_from_slice(json);
                Ok(())
            }
            _ => self.dict(dict, level),
        }
    }

    fn dict(&mut self, dict: &Dict, level: usize) -> Result<()> {
        let form = self.form;
        if dict.is_empty() {
            self.out.extend_from_slice(b"{}");
            return Ok(());
        }
        self.out.push(b'{');
        let entries = dict.entries();
        let places = match form.is_sorted {
            true => {
                let keys: Vec<Value> = entries.iter().map(|(key, _)| key.clone()).collect();
                sorted(&keys, false)?
            }
            false => (0..entries.len()).collect(),
        };
        for (place, (key, value)) in places.into_iter().map(|at| &entries[at]).enumerate() {
            if place > 0 {
                self.out.extend_from_slice(form.item.as_bytes());
            }
            self.line(level + 1);
            self.write_key(key)?;
            self.out.extend_from_slice(form.key.as_bytes());
            self.write(value, level + 1)?;
        }
        self.line(level);
        self.out.push(b'}');
        Ok(())
    }

    fn write_key(&mut self, key: &Value) -> Result<()> {
        let form = self.form;
        match key {
            Value::Text(text) | Value::Markup(text) => self.text(text),
            Value::None => string(self.out, "null", form),
            Value::Bool(value) => string(self.out, if *value { "true" } else { "false" }, form),
            Value::Int(value) => string(self.out, &value.to_string(), form),
            Value::Big(value) => string(self.out, &print::big(value)?, form),
            Value::Float(value) => string(self.out, &float(*value), form),
            other => {
                return fault(format!(
                    "keys must be str, int, float, bool or None, not {}",
                    other.type_name()
                ));
            }
        }
        Ok(())
    }
}
