//! Conversations without tokens: messages in JSON, and sequences that were decoded.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::RecordBatch;
use serde_json::Value;

use super::conversation::{Piece, PieceKind, ShownConversation, ShownMessage};
use super::training::TokenTraining;
use crate::error::Result;
use crate::record::decoded::{DecodedBatch, Span};

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

/// Shows a sequence as `harmony-tok --decode` writes it, with its spans.
pub fn of_decoded(batch: &RecordBatch, row: usize) -> Result<ShownConversation> {
    let decoded = DecodedBatch::of(batch)?;
    let text = decoded.text(row);
    let trained = Runs::of(text, decoded.spans(row));
    let mut shown = ShownConversation {
        id: decoded.id(row).map(str::to_string),
        ..ShownConversation::default()
    };
    let mut from = 0;
    for message in decoded.messages(row) {
        let content = format!("<|message|>{}", message.text);
        let Some(start) = text[from..].find(&content).map(|at| from + at + "<|message|>".len())
        else {
            shown.notes.push("its text is not that of its messages".to_string());
            break;
        };
        let end = start + message.text.len();
        let ends = ["<|end|>", "<|return|>", "<|call|>"];
        let last = ends.iter().find(|name| text[end..].starts_with(**name));
        let after = end + last.map_or(0, |name| name.len());
        let mut pieces = trained.pieces(text, from..start, PieceKind::Control);
        pieces.extend(trained.pieces(text, start..end, PieceKind::Text));
        pieces.extend(trained.pieces(text, end..after, PieceKind::Control));
        if message.train == Some(false) {
            let not = pieces.iter_mut().filter(|piece| piece.trained == TokenTraining::Not);
            not.for_each(|piece| piece.trained = TokenTraining::ByWeight);
        }
        from = after;
        shown.messages.push(ShownMessage {
            role: Some(message.role),
            channel: message.channel,
            recipient: message.recipient,
            content_type: message.content_type,
            pieces,
            ..ShownMessage::default()
        });
    }
    if from < text.len() {
        let kind = match &text[from..] {
            "<|endoftext|>" => PieceKind::Eod,
            _ => PieceKind::Text,
        };
        let pieces = trained.pieces(text, from..text.len(), kind);
        shown.messages.push(ShownMessage { pieces, ..ShownMessage::default() });
    }
    Ok(shown)
}

/// How each part of a text is trained on: the end of each part in bytes, ascending.
struct Runs(Vec<(usize, TokenTraining)>);

impl Runs {
    fn of(text: &str, spans: Option<Vec<Span>>) -> Runs {
        let Some(spans) = spans else { return Runs(vec![(text.len(), TokenTraining::Unknown)]) };
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let offset = |character: u64| {
            let place = usize::try_from(character).ok().and_then(|place| offsets.get(place));
            place.copied().unwrap_or(text.len())
        };
        let mut runs: Vec<(usize, TokenTraining)> = Vec::new();
        for span in spans {
            let before = runs.last().map_or(0, |(end, _)| *end);
            let (start, end) = (offset(span.start).max(before), offset(span.end).max(before));
            if before < start {
                runs.push((start, TokenTraining::Not));
            }
            runs.push((end.max(start), TokenTraining::of(1, span.span_id)));
        }
        runs.push((text.len(), TokenTraining::Not));
        Runs(runs)
    }

    /// Cuts a range of the text into pieces where a run ends.
    fn pieces(&self, text: &str, range: Range<usize>, kind: PieceKind) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut start = range.start;
        for &(end, trained) in self.0.iter().filter(|(end, _)| *end > range.start) {
            let end = end.min(range.end);
            if start < end {
                let text = text.get(start..end).unwrap_or_default();
                pieces.push(Piece { kind, trained, ..Piece::plain(text) });
                start = end;
            }
        }
        pieces
    }
}
