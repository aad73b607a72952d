//! Numbers of conversations: their messages as they are, without rendering them.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::ConversationKind;
use super::chats::refuse_chats;
use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::json::{self, Kind, Reader, Str};
use crate::record::conversation::Conversations;
use crate::stat::{
    Answer, Distribution, LongestRecords, Messages, Numbers, Parts, Sections, StatOptions,
    StatView, plain,
};
use crate::wording::grouped;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConversationsStat {
    /// The lengths of conversations: of the texts of all messages, in characters.
    pub lengths: Distribution,
    /// Messages, with the lengths of their texts in characters.
    pub messages: Messages,
    /// Conversations whose messages cannot be read.
    pub without_messages: u64,
    /// Conversations without a message of an assistant in this channel.
    pub no_reasoning: u64,
    pub no_final: u64,
    #[serde(default)]
    pub longest: LongestRecords,
}

impl ConversationsStat {
    fn add(&mut self, rows: &Conversations<'_>, row: usize) -> Result<()> {
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
        self.longest.add(length, rows.id(row));
        self.no_reasoning += u64::from(!parts.reasoning);
        self.no_final += u64::from(!parts.answer);
        Ok(())
    }
}

impl StatView for ConversationKind {
    type Numbers = ConversationsStat;

    fn bytes(rows: &Conversations<'_>, row: usize) -> usize {
        rows.messages_json(row).map_or(0, str::len)
    }

    fn count(
        rows: &Conversations<'_>,
        row: usize,
        numbers: &mut ConversationsStat,
        _: &StatOptions,
    ) -> Result<()> {
        numbers.add(rows, row)
    }

    fn text_key(rows: &Conversations<'_>, row: usize) -> Option<u128> {
        Some(xxh3_128(rows.messages_json(row).unwrap_or_default().as_bytes()))
    }

    fn refuse(header: &Header, first: &Batch) -> Result<()> {
        refuse_chats(header, first)
    }
}

impl Numbers for ConversationsStat {
    fn merge(&mut self, other: ConversationsStat) -> Result<()> {
        self.lengths.merge(other.lengths);
        self.messages.merge(other.messages)?;
        self.longest.merge(&other.longest);
        self.without_messages = self.without_messages.saturating_add(other.without_messages);
        self.no_reasoning = self.no_reasoning.saturating_add(other.no_reasoning);
        self.no_final = self.no_final.saturating_add(other.no_final);
        Ok(())
    }

    fn messages(&self) -> Option<(&Messages, &'static str)> {
        Some((&self.messages, "characters"))
    }

    fn lengths(&self) -> (&'static str, &Distribution) {
        ("characters", &self.lengths)
    }

    fn headline(&self, records: String) -> [(&'static str, String); 3] {
        let characters = grouped(self.lengths.sum());
        let median = plain(self.lengths.percentile(50));
        [("conversations", records), ("characters", characters), ("characters, median", median)]
    }

    fn sections<'a>(&'a self, out: &mut Sections<'a>, answer: &Answer) {
        let all = answer.all.records;
        out.number("characters", self.lengths.sum());
        out.head("conversations");
        out.share("no reasoning", self.no_reasoning, all);
        out.share("no final", self.no_final, all);
        if self.without_messages > 0 {
            out.share("unreadable messages", self.without_messages, all);
        }
        out.repeated(answer, "repeated texts");
        out.distribution("characters of a conversation", &self.lengths);
        out.longest("characters of the longest conversations", &self.longest);
        out.messages(&self.messages, "characters", self.lengths.sum());
    }
}

#[derive(Default)]
struct Message<'a> {
    role: Option<Str<'a>>,
    channel: Option<Str<'a>>,
    characters: u64,
}

/// Returns the value of a string.
fn value<'b, 'a: 'b>(string: Str<'a>, scratch: &'b mut String) -> &'b str {
    string.decode(scratch).unwrap_or_default()
}

/// Reads the messages of `{"messages": [...]}`.
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

/// Reads a string whose value is text.
fn name<'a>(reader: &mut Reader<'a>) -> Result<Str<'a>, json::Error> {
    let string = reader.string()?;
    if string.plain().is_none() {
        string.decode(&mut String::new())?;
    }
    Ok(string)
}

/// Counts the characters of a content: a text, or parts with texts. In a structured part (in a system or
/// developer message) all values that are texts are counted.
fn characters(reader: &mut Reader<'_>) -> Result<u64, json::Error> {
    let mut count = 0;
    match reader.peek()? {
        Kind::String => count = reader.characters()?,
        Kind::Array => reader.array(|reader| {
            count += characters(reader)?;
            Ok::<_, json::Error>(())
        })?,
        Kind::Object => reader.object(|reader, key| {
            if key.eq_str("type") {
                reader.skip()?
            } else {
                count += characters(reader)?
            }
            Ok::<_, json::Error>(())
        })?,
        _ => reader.skip()?,
    }
    Ok(count)
}
