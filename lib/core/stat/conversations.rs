//! Numbers of conversations: their messages as they stand, without a rendering.

use serde::{Deserialize, Serialize};

use super::{Distribution, Messages, messages::Parts};
use crate::error::Result;
use crate::json::{self, Kind, Reader, Str};
use crate::record::conversation::Conversations;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConversationsStat {
    /// Of the texts of all messages of a conversation, in characters.
    pub lengths: Distribution,
    /// Messages, the lengths of their texts in characters.
    pub messages: Messages,
    /// Conversations whose messages cannot be read.
    pub without_messages: u64,
    /// Conversations without a message of an assistant in this channel.
    pub no_reasoning: u64,
    pub no_final: u64,
}

impl ConversationsStat {
    pub fn add(&mut self, rows: &Conversations<'_>, row: usize) -> Result<()> {
        let text = rows.messages_json(row).unwrap_or("null");
        let (mut parts, mut length) = (Parts::default(), 0);
        match read(text) {
            Ok(messages) => {
                let mut scratch = [String::new(), String::new()];
                let [of_role, of_channel] = &mut scratch;
                for Message { role, channel, characters } in &messages {
                    length += characters;
                    let role = role.map_or("", |role| value(role, of_role));
                    let channel = channel.map(|channel| value(channel, of_channel));
                    self.messages.add((role, channel), *characters, &mut parts)?;
                }
            }
            Err(_) => self.without_messages += 1,
        }
        self.lengths.add(length);
        self.no_reasoning += u64::from(!parts.reasoning);
        self.no_final += u64::from(!parts.answer);
        Ok(())
    }

    pub fn merge(&mut self, other: ConversationsStat) -> Result<()> {
        self.lengths.merge(other.lengths);
        self.messages.merge(other.messages)?;
        self.without_messages = self.without_messages.saturating_add(other.without_messages);
        self.no_reasoning = self.no_reasoning.saturating_add(other.no_reasoning);
        self.no_final = self.no_final.saturating_add(other.no_final);
        Ok(())
    }
}

#[derive(Default)]
struct Message<'a> {
    role: Option<Str<'a>>,
    channel: Option<Str<'a>>,
    characters: u64,
}

/// The value of a string that was read.
fn value<'b, 'a: 'b>(string: Str<'a>, scratch: &'b mut String) -> &'b str {
    string.decode(scratch).unwrap_or_default()
}

/// The messages of `{"messages": [...]}`.
fn read(text: &str) -> Result<Vec<Message<'_>>, json::Error> {
    let mut reader = Reader::lenient(text);
    let mut messages = Vec::new();
    reader.object(|reader, key| {
        if !key.eq_str("messages") {
            return reader.skip();
        }
        reader.array(|reader| {
            messages.push(message(reader)?);
            Ok::<_, json::Error>(())
        })
    })?;
    Ok(messages)
}

fn message<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, json::Error> {
    let mut message = Message::default();
    reader.object(|reader, key| {
        if key.eq_str("role") && reader.peek()? == Kind::String {
            message.role = Some(name(reader)?);
        } else if key.eq_str("channel") && reader.peek()? == Kind::String {
            message.channel = Some(name(reader)?);
        } else if key.eq_str("content") {
            message.characters = characters(reader)?;
        } else {
            reader.skip()?;
        }
        Ok::<_, json::Error>(())
    })?;
    Ok(message)
}

/// A string whose value is text.
fn name<'a>(reader: &mut Reader<'a>) -> Result<Str<'a>, json::Error> {
    let string = reader.string()?;
    if string.plain().is_none() {
        string.decode(&mut String::new())?;
    }
    Ok(string)
}

/// The characters of a content: a text, or parts with texts. Of a part that is not a text but structured
/// (the contents of a system or developer message) all values that are texts count.
fn characters(reader: &mut Reader<'_>) -> Result<u64, json::Error> {
    let mut count = 0;
    match reader.peek()? {
        Kind::String => count = reader.characters()?,
        Kind::Array => reader.array(|reader| {
            count += characters(reader)?;
            Ok::<_, json::Error>(())
        })?,
        Kind::Object => reader.object(|reader, key| {
            match key.eq_str("type") {
                true => reader.skip()?,
                false => count += characters(reader)?,
            }
            Ok::<_, json::Error>(())
        })?,
        _ => reader.skip()?,
    }
    Ok(count)
}
