//! Marks around the texts of messages.

use std::sync::Arc;

use crate::text::is_space;
use crate::value::{Dict, Value};

/// A kind of text of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Content,
    Reasoning,
    /// The name of a call, by the call's place.
    Name(usize),
    /// The arguments of a call, by the call's place.
    Arguments(usize),
    /// The id of a call, by the call's place; only where it is asked for.
    Id(usize),
}

/// Puts marks around texts.
pub trait Marks {
    /// Returns the text with marks inside its outer spaces; none if it is not marked.
    fn mark(&mut self, kind: Kind, text: &str) -> Option<String>;
}

/// Splits a text into its outer spaces and the part between them; none if that part is empty.
pub fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let inner = text.trim_matches(is_space);
    if inner.is_empty() {
        return None;
    }
    let start = text.len() - text.trim_start_matches(is_space).len();
    Some((&text[..start], inner, &text[start + inner.len()..]))
}

/// Marks the texts of a message; none if none is marked.
pub fn message(message: &Value, marks: &mut dyn Marks) -> Option<Value> {
    changed(message, &mut |key, value| match key {
        "content" => content(value, marks),
        "reasoning_content" | "thinking" | "reasoning" => text(value, Kind::Reasoning, marks),
        "tool_calls" => match value {
            Value::List(calls) => {
                let mut place = 0..;
                list(calls, &mut |of| call(of, place.next()?, marks))
            }
            _ => None,
        },
        _ => None,
    })
}

/// Returns the name of a call of a message, without outer spaces.
pub fn name(message: &Value, call: usize) -> Option<&str> {
    let call = message.get("tool_calls")?.as_list()?.get(call)?;
    let name = call.get("function").unwrap_or(call).get("name")?.as_text()?;
    Some(name.trim_matches(is_space))
}

/// The white space with which a content or a reasoning begins.
pub fn leading_spaces(message: &Value, kind: Kind) -> &str {
    let keys: &[&str] = match kind {
        Kind::Content => &["content"],
        Kind::Reasoning => &["reasoning_content", "thinking", "reasoning"],
        _ => &[],
    };
    let text = keys.iter().find_map(|key| message.get(key)).and_then(Value::as_text);
    let text = text.unwrap_or_default();
    &text[..text.len() - text.trim_start_matches(is_space).len()]
}

/// Whether the id of a call holds its name.
pub fn is_named_by_id(message: &Value, call: usize) -> bool {
    let calls = message.get("tool_calls").and_then(Value::as_list).unwrap_or_default();
    let id = calls.get(call).and_then(|call| call.get("id")).and_then(Value::as_text);
    id.zip(name(message, call)).is_some_and(|(id, name)| id.contains(name))
}

/// Marks the name of a tool; none if it is not marked.
pub fn tool(of: &Value, marks: &mut dyn Marks) -> Option<Value> {
    changed(of, &mut |key, value| match (key, value) {
        ("function", Value::Dict(_)) => changed(value, &mut |key, value| match key {
            "name" => text(value, Kind::Content, marks),
            _ => None,
        }),
        ("name", value) => text(value, Kind::Content, marks),
        _ => None,
    })
}

/// Replaces items for which `change` returns another; none if it never does.
fn replaced<T: Clone>(items: &[T], change: &mut dyn FnMut(&T) -> Option<T>) -> Option<Vec<T>> {
    let mut made: Option<Vec<T>> = None;
    for (place, item) in items.iter().enumerate() {
        let other = change(item);
        if other.is_some() {
            made.get_or_insert_with(|| items[..place].to_vec());
        }
        if let Some(made) = &mut made {
            made.push(other.unwrap_or_else(|| item.clone()));
        }
    }
    made
}

fn list(items: &[Value], change: &mut dyn FnMut(&Value) -> Option<Value>) -> Option<Value> {
    Value::list(replaced(items, change)?).ok()
}

/// A key and its value.
type Entry = (Value, Value);

fn dict(of: &Dict, change: &mut dyn FnMut(&Entry) -> Option<Entry>) -> Option<Value> {
    let mut made = Dict::default();
    for (key, value) in replaced(of.entries(), change)? {
        made.insert(key, value).ok()?;
    }
    Some(Value::Dict(Arc::new(made)))
}

/// Replaces values of a dict for which `change` returns another.
fn changed(of: &Value, change: &mut dyn FnMut(&str, &Value) -> Option<Value>) -> Option<Value> {
    dict(of.as_dict()?, &mut |(key, value)| {
        let other = change(key.as_text()?, value)?;
        Some((key.clone(), other))
    })
}

fn text(value: &Value, kind: Kind, marks: &mut dyn Marks) -> Option<Value> {
    marks.mark(kind, value.as_text()?).map(Value::from)
}

/// Marks a content: a text, a list of texts and of parts with texts, or an object (a tool's result).
fn content(value: &Value, marks: &mut dyn Marks) -> Option<Value> {
    match value {
        Value::List(parts) => list(parts, &mut |part| match part {
            Value::Dict(_) => changed(part, &mut |key, value| match key {
                "text" => text(value, Kind::Content, marks),
                _ => None,
            }),
            other => text(other, Kind::Content, marks),
        }),
        other => all(other, Kind::Content, true, marks),
    }
}

/// Marks the texts in a value, and its keys if `with_keys`: an object of numbers has no texts but its keys.
fn all(value: &Value, kind: Kind, with_keys: bool, marks: &mut dyn Marks) -> Option<Value> {
    match value {
        Value::List(items) => list(items, &mut |item| all(item, kind, with_keys, marks)),
        Value::Dict(entries) => dict(entries, &mut |(key, of)| {
            let other_key = if with_keys { text(key, kind, marks) } else { None };
            let other = all(of, kind, with_keys, marks);
            let is_changed = other_key.is_some() || other.is_some();
            let entry =
                || (other_key.unwrap_or_else(|| key.clone()), other.unwrap_or_else(|| of.clone()));
            is_changed.then(entry)
        }),
        other => text(other, kind, marks),
    }
}

fn call(of: &Value, place: usize, marks: &mut dyn Marks) -> Option<Value> {
    changed(of, &mut |key, value| match (key, value) {
        ("function", Value::Dict(_)) => call(value, place, marks),
        ("name", value) => text(value, Kind::Name(place), marks),
        ("arguments", value) => all(value, Kind::Arguments(place), false, marks),
        ("id", value) => text(value, Kind::Id(place), marks),
        _ => None,
    })
}
