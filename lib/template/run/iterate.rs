//! Iteration over values, and over the generators that filters return.

use std::sync::Arc;

use super::Run;
use super::arguments::CallArguments;
use super::object::{Generator, Object};
use crate::error::{Result, fault, limit};
use crate::filters::Filter;
use crate::tests_of::Test;
use crate::value::compare::{equal, hashable};
use crate::value::{Dict, Items, Value, View, item_of_range, range_length};

/// The source of the next item.
#[derive(Debug, Clone)]
pub enum Source {
    Items(Arc<Items>, usize),
    /// From the last item to the first: the number of items that are left.
    Backward(Arc<Items>, usize),
    Characters(Arc<str>, usize),
    Range(Arc<[i64; 3]>, usize),
    View(View, Arc<Dict>, usize),
    Generator(u32),
    Empty,
}

/// The work of a generator on each item.
#[derive(Debug, Clone)]
pub enum Stage {
    Plain,
    Filter(Filter, CallArguments),
    Attribute(Vec<Value>, Option<Value>),
    /// Keeps an item if it, or its attribute, passes the test; without a test, if it is true.
    Select {
        attribute: Option<Vec<Value>>,
        test: Option<(Test, CallArguments)>,
        wanted: bool,
    },
    /// Keeps an item whose key was not seen before.
    Unique {
        attribute: Vec<Value>,
        is_case_sensitive: bool,
        seen: Vec<Value>,
    },
    /// Fails at the first item.
    Fault(String),
}

impl Run<'_> {
    /// `iter(value)`.
    pub fn iter(&self, value: &Value) -> Result<Source> {
        if value.as_text().is_some() {
            self.spoil(value);
        }
        Ok(match value {
            Value::Undefined(_) => Source::Empty,
            Value::List(items) | Value::Tuple(items) => Source::Items(items.clone(), 0),
            Value::Text(text) | Value::Markup(text) => Source::Characters(text.clone(), 0),
            Value::Dict(dict) => Source::View(View::Keys, dict.clone(), 0),
            Value::View(view, dict) => Source::View(*view, dict.clone(), 0),
            Value::Range(range) => Source::Range(range.clone(), 0),
            Value::Object(place)
                if matches!(self.objects[*place as usize], Object::Generator(_)) =>
            {
                Source::Generator(*place)
            }
            Value::Object(_) => return fault("an object is not iterable"),
            other => return fault(format!("'{}' object is not iterable", other.type_name())),
        })
    }

    /// The next item.
    pub fn next(&mut self, source: &mut Source) -> Result<Option<Value>> {
        Ok(match source {
            Source::Empty => None,
            Source::Items(items, at) => {
                *at += 1;
                items.at(*at - 1).cloned()
            }
            Source::Backward(items, left) => match left.checked_sub(1) {
                Some(place) => {
                    *left = place;
                    items.at(place).cloned()
                }
                None => None,
            },
            Source::Characters(text, at) => match text[*at..].chars().next() {
                Some(c) => {
                    *at += c.len_utf8();
                    Some(Value::text(c.encode_utf8(&mut [0; 4])))
                }
                None => None,
            },
            Source::Range(range, at) => {
                *at += 1;
                (*at <= range_length(range)).then(|| Value::Int(item_of_range(range, *at - 1)))
            }
            Source::View(view, dict, at) => {
                *at += 1;
                match (dict.entries().get(*at - 1), view) {
                    (None, _) => None,
                    (Some((key, _)), View::Keys) => Some(key.clone()),
                    (Some((_, value)), View::Values) => Some(value.clone()),
                    (Some((key, value)), View::Items) => {
                        Some(Value::tuple_of(vec![key.clone(), value.clone()])?)
                    }
                }
            }
            Source::Generator(place) => {
                let place = *place;
                match std::mem::replace(self.object_mut(place), Object::Busy) {
                    Object::Generator(mut generator) => {
                        let item = self.deeper(|run| run.step_generator(&mut generator))?;
                        *self.object_mut(place) = Object::Generator(generator);
                        item
                    }
                    _ => return fault("generator already executing"),
                }
            }
        })
    }

    fn step_generator(&mut self, generator: &mut Generator) -> Result<Option<Value>> {
        loop {
            self.step(1)?;
            let Some(item) = self.next(&mut generator.source)? else { return Ok(None) };
            match &mut generator.stage {
                Stage::Plain => return Ok(Some(item)),
                Stage::Filter(filter, given) => {
                    return filter(self, item, given.clone()).map(Some);
                }
                Stage::Attribute(parts, default) => {
                    return self.attribute_path(item, parts, default.as_ref()).map(Some);
                }
                Stage::Select { attribute, test, wanted } => {
                    let of = match attribute {
                        Some(parts) => self.attribute_path(item.clone(), parts, None)?,
                        None => item.clone(),
                    };
                    let passes = match test {
                        Some((test, given)) => test(self, of, given.clone())?,
                        None => of.is_true(),
                    };
                    if passes == *wanted {
                        return Ok(Some(item));
                    }
                }
                Stage::Unique { attribute, is_case_sensitive, seen } => {
                    let key = self.attribute_path(item.clone(), attribute, None)?;
                    let key = if *is_case_sensitive { key } else { ignore_case(key) };
                    hashable(&key)?;
                    self.step(seen.len())?;
                    if !seen.iter().any(|other| equal(other, &key)) {
                        seen.push(key);
                        return Ok(Some(item));
                    }
                }
                Stage::Fault(cause) => return fault(cause.clone()),
            }
        }
    }

    /// `list(value)`.
    pub fn collect(&mut self, value: &Value) -> Result<Vec<Value>> {
        if let Value::List(items) | Value::Tuple(items) = value {
            self.charge(items.len() * size_of::<Value>())?;
            return Ok(items.to_vec());
        }
        let mut source = self.iter(value)?;
        let mut items = Vec::new();
        while let Some(item) = self.next(&mut source)? {
            self.step(1)?;
            if items.len() == super::MOST_ITEMS {
                return limit("a list that is too long");
            }
            items.push(item);
        }
        Ok(items)
    }

    /// A generator over a value.
    pub fn generator(&mut self, of: &Value, stage: Stage) -> Result<Value> {
        let source = self.iter(of)?;
        self.object(Object::Generator(Box::new(Generator { source, stage })))
    }

    /// Follows a path of attributes, as filters name it; integers are indices.
    pub fn attribute_path(
        &mut self,
        item: Value,
        parts: &[Value],
        default: Option<&Value>,
    ) -> Result<Value> {
        let mut item = item;
        for part in parts {
            item = self.item(&item, part)?;
            if let Some(default) = default.filter(|_| item.is_undefined()) {
                item = default.clone();
            }
        }
        Ok(item)
    }

    /// `item in value`.
    pub fn contains(&mut self, value: &Value, item: &Value) -> Result<bool> {
        if let Some(text) = value.as_text() {
            self.look_through(text)?;
        }
        match value {
            Value::Text(text) | Value::Markup(text) => match item.as_text() {
                Some(part) => Ok(memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()),
                None => fault(format!(
                    "'in <string>' requires string as left operand, not {}",
                    item.type_name()
                )),
            },
            Value::Dict(dict) | Value::View(View::Keys, dict) => {
                self.step(dict.steps(item))?;
                Ok(dict.get(item)?.is_some())
            }
            Value::View(View::Items, dict) => match item {
                Value::Tuple(pair) if pair.len() == 2 => {
                    Ok(dict.get(&pair[0])?.is_some_and(|value| equal(value, &pair[1])))
                }
                _ => Ok(false),
            },
            other => {
                let mut source = match self.iter(other) {
                    Ok(source) => source,
                    Err(_) => {
                        return fault(format!(
                            "argument of type '{}' is not iterable",
                            other.type_name()
                        ));
                    }
                };
                while let Some(other) = self.next(&mut source)? {
                    self.step(1 + (other.weight().min(item.weight()) / 16) as usize)?;
                    if equal(&other, item) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Returns a text in lower case, and other values unchanged.
pub fn ignore_case(value: Value) -> Value {
    match value.as_text() {
        Some(text) => Value::from(text.to_lowercase()),
        None => value,
    }
}

/// Splits the path of attributes in a filter's argument: `a.0.b`.
pub fn attribute_parts(attribute: &Value) -> Vec<Value> {
    match attribute.as_text() {
        Some(text) => text
            .split('.')
            .map(|part| match !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
                true => Value::integer_of(part).unwrap_or_else(|| Value::text(part)),
                false => Value::text(part),
            })
            .collect(),
        None if *attribute == Value::None => Vec::new(),
        None => vec![attribute.clone()],
    }
}
