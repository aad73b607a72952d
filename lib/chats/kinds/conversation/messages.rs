//! Conversations without tokens: messages in JSON.

use std::borrow::Cow;

use serde_json::Value;

use super::shown::{Piece, ShownConversation, ShownMessage};

/// Shows the text of `{"messages": [...]}`. A value that cannot be read is shown as text. `beside`
/// are the record's other fields, as names and texts of JSON; they come before the messages.
pub fn of_json(id: Option<&str>, json: &str, beside: &[(Cow<str>, &str)]) -> ShownConversation {
    let mut shown =
        ShownConversation { id: id.map(str::to_string), ..ShownConversation::default() };
    if !beside.is_empty() {
        let mut text = String::new();
        beside.iter().for_each(|(name, value)| line(&mut text, &format!("{name}: {value}")));
        shown.messages.push(ShownMessage { pieces: pieces_of(text), ..ShownMessage::default() });
    }
    let value: Value = match serde_json::from_str(json) {
        Ok(value) => value,
        Err(error) => {
            shown.notes.push(format!("its messages cannot be read: {error}"));
            let pieces = pieces_of(json.to_string());
            shown.messages.push(ShownMessage { pieces, ..ShownMessage::default() });
            return shown;
        }
    };
    match value.get("messages").and_then(Value::as_array) {
        Some(messages) => shown.messages.extend(messages.iter().map(message)),
        None => {
            shown.notes.push("it has no list of messages".to_string());
            let pieces = pieces_of(value.to_string());
            shown.messages.push(ShownMessage { pieces, ..ShownMessage::default() });
        }
    }
    shown
}

fn pieces_of(text: String) -> Vec<Piece> {
    if text.is_empty() { Vec::new() } else { vec![Piece::plain(text)] }
}

fn message(message: &Value) -> ShownMessage {
    let Value::Object(members) = message else {
        let pieces = pieces_of(message.to_string());
        return ShownMessage { pieces, ..ShownMessage::default() };
    };
    let name = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_string);
    let mut shown = ShownMessage {
        role: name("role"),
        channel: name("channel"),
        recipient: name("recipient"),
        content_type: name("content_type"),
        ..ShownMessage::default()
    };
    if let (Some(role), Some(name)) = (&mut shown.role, name("name")) {
        *role += &format!(":{name}");
    }
    let mut text = members.get("content").map(content).unwrap_or_default();
    let known = ["role", "channel", "recipient", "content_type", "name", "content"];
    for (name, value) in members {
        let is_shown = known.contains(&name.as_str()) && (name == "content" || value.is_string());
        if !is_shown && !value.is_null() {
            line(&mut text, &format!("{name}: {value}"));
        }
    }
    shown.pieces = pieces_of(text);
    shown
}

/// Returns the texts of a content, and the values of its other parts with their names.
fn content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let mut text = String::new();
            parts.iter().for_each(|part| line(&mut text, &self::content(part)));
            text
        }
        Value::Object(members) => match members.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => {
                let mut text = String::new();
                for (name, value) in members.iter().filter(|(name, _)| *name != "type") {
                    match value {
                        Value::Null => {}
                        Value::String(value) => line(&mut text, &format!("{name}: {value}")),
                        value => line(&mut text, &format!("{name}: {value}")),
                    }
                }
                text
            }
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    *text += line;
}
