//! A conversation in JSON, read in one pass and borrowed from the text.

use std::ops::Range;

use super::content::{self, Part, PartText};
use super::field::{self, attempt, expect, nullable, optional, required};
use super::memo::Memo;
use super::unrendered::RefusalCause;
use super::{IgnoredFields, Policy, RenderError, Role};
use crate::json::{Kind, Reader, Str};

/// The messages of a conversation, in order.
pub(super) struct Conversation<'a> {
    pub entries: Vec<Entry<'a>>,
    /// The parts of all contents; messages hold ranges of them.
    pub parts: Vec<Part<'a>>,
}

impl<'a> Conversation<'a> {
    /// Returns the parts of a message's content.
    pub(super) fn parts_of(&self, message: &Message) -> &[Part<'a>] {
        self.parts.get(message.parts.clone()).unwrap_or_default()
    }
}

pub(super) enum Entry<'a> {
    New(Message<'a>),
    /// The message is in the memo, with exactly the same text; its place there.
    Known(usize),
}

pub(super) struct Message<'a> {
    pub role: Role,
    pub name: Option<Str<'a>>,
    pub recipient: Option<Str<'a>>,
    pub channel: Option<Str<'a>>,
    pub content_type: Option<Str<'a>>,
    /// Whether it may be trained on.
    pub is_trained: bool,
    /// A range of [`Conversation::parts`].
    pub parts: Range<usize>,
    /// The range of the message in the JSON text, in bytes.
    pub source: Range<usize>,
}

impl Message<'_> {
    pub(super) fn in_final_channel(&self) -> bool {
        self.channel.is_some_and(|channel| channel.eq_str("final"))
    }
}

/// The field that is false if a message is not trained on.
const TRAIN: &str = "train";

/// Which conversations are accepted.
#[derive(Clone, Copy)]
pub(super) struct Rules<'r> {
    pub policy: Policy,
    pub ignored: &'r IgnoredFields,
    /// Whether a content that is the JSON text of parts is the text of a message.
    pub content_is_text: bool,
}

/// Reads `{"messages": [...]}` and applies the rules of the policy that concern single messages.
/// Messages whose text is in the memo are not read again. `texts` receives the texts of parts that
/// have escapes.
pub(super) fn read<'a>(
    text: &'a str,
    rules: Rules<'_>,
    memo: Option<&Memo>,
    texts: &mut String,
) -> Result<Conversation<'a>, RenderError> {
    let mut reader = Reader::lenient(text);
    let (mut slot, mut beside) = (None, None);
    let mut scratch = String::new();
    let is_object = reader.peek().map_err(invalid)? == Kind::Object;
    if !is_object {
        reader.skip().and_then(|()| reader.end()).map_err(invalid)?;
        return Err(RenderError::new("not an object with messages"));
    }
    reader
        .object(|reader, key| {
            match field::name(&key, &mut scratch) {
                "messages" => {
                    slot = Some(attempt(reader, |r| conversation(r, rules, memo, texts))?)
                }
                _ => match rules.ignored.of_conversation(reader, &key) {
                    Err(RefusalCause::Json(error)) => return Err(error),
                    Err(RefusalCause::Field(error)) => beside = Some(error),
                    Ok(()) => {}
                },
            }
            Ok(())
        })
        .and_then(|()| reader.end())
        .map_err(invalid)?;
    if let Some(error) = beside {
        return Err(error);
    }
    match slot {
        None => Err(RenderError::new("messages is missing")),
        Some(result) => result,
    }
}

fn invalid(error: crate::json::Error) -> RenderError {
    RenderError::new(format!("invalid JSON: {error}"))
}

fn conversation<'a>(
    reader: &mut Reader<'a>,
    rules: Rules<'_>,
    memo: Option<&Memo>,
    texts: &mut String,
) -> Result<Conversation<'a>, RenderError> {
    expect(reader, Kind::Array).map_err(|error| error.within("messages"))?;
    let mut entries = Vec::with_capacity(8);
    let mut parts = Vec::with_capacity(8);
    let mut has_assistant = false;
    reader.array(|reader| {
        let index = entries.len();
        if let Some(place) = memo.and_then(|memo| memo.accept(reader)) {
            entries.push(Entry::Known(place));
            return Ok(());
        }
        let message = message(reader, rules, &mut parts, texts)
            .and_then(|message| check(message, rules.policy))
            .map_err(|error| error.in_message(index))?;
        has_assistant |= message.role == Role::Assistant;
        entries.push(Entry::New(message));
        Ok::<_, RenderError>(())
    })?;
    if rules.policy == Policy::SynthKdV1 && !has_assistant {
        return Err(RenderError::of_policy("no assistant message"));
    }
    if entries.is_empty() {
        return Err(RenderError::new("no messages"));
    }
    Ok(Conversation { entries, parts })
}

fn message<'a>(
    reader: &mut Reader<'a>,
    rules: Rules<'_>,
    parts: &mut Vec<Part<'a>>,
    texts: &mut String,
) -> Result<Message<'a>, RenderError> {
    expect(reader, Kind::Object)?;
    let start = reader.position();
    let (mut role, mut content) = (None, None);
    let (mut name, mut recipient, mut channel, mut content_type) = (None, None, None, None);
    let (mut train, mut scratch) = (None, String::new());
    reader.object(|reader, key| {
        match field::name(&key, &mut scratch) {
            "role" => role = Some(attempt(reader, self::role)?),
            "content" => {
                content = Some(attempt(reader, |r| self::content(r, rules, parts, texts))?)
            }
            "name" => name = Some(attempt(reader, |r| nullable(r, field::string))?),
            "recipient" => recipient = Some(attempt(reader, |r| nullable(r, field::string))?),
            "channel" => channel = Some(attempt(reader, |r| nullable(r, field::string))?),
            "content_type" => content_type = Some(attempt(reader, |r| nullable(r, field::string))?),
            TRAIN if !rules.ignored.has(TRAIN) => {
                train = Some(attempt(reader, |r| nullable(r, field::boolean))?)
            }
            _ => rules.ignored.of_message(reader, &key)?,
        }
        Ok::<_, RenderError>(())
    })?;
    // Errors of roles name the role.
    let role = match role {
        Some(Err(error)) => return Err(error),
        other => required(other, "role")?,
    };
    Ok(Message {
        role,
        name: optional(name, "name")?,
        recipient: optional(recipient, "recipient")?,
        channel: optional(channel, "channel")?,
        content_type: optional(content_type, "content_type")?,
        is_trained: optional(train, TRAIN)?.unwrap_or(true),
        parts: required(content, "content")?,
        source: start..reader.position(),
    })
}

fn role(reader: &mut Reader) -> Result<Role, RenderError> {
    expect(reader, Kind::String).map_err(|error| error.within("role"))?;
    let name = reader.string()?;
    let mut scratch = String::new();
    Role::from_name(field::name(&name, &mut scratch))
        .ok_or_else(|| RenderError::new(format!("unknown role {}", field::quoted(&name))))
}

fn content<'a>(
    reader: &mut Reader<'a>,
    rules: Rules<'_>,
    parts: &mut Vec<Part<'a>>,
    texts: &mut String,
) -> Result<Range<usize>, RenderError> {
    let start = parts.len();
    match reader.peek()? {
        Kind::String => {
            let text = PartText::read(reader, texts)?;
            if !rules.content_is_text && content::is_of_parts(text.value(texts)) {
                return Err(RenderError::new(content::OF_PARTS));
            }
            parts.push(Part::Text(text));
        }
        Kind::Array => {
            reader.array(|reader| {
                let index = parts.len() - start;
                let part = content::part(reader, texts)
                    .map_err(|error| error.within(format_args!("part {index}")))?;
                parts.push(part);
                Ok::<_, RenderError>(())
            })?;
        }
        // The official package iterates over the value, and an empty object has no items.
        Kind::Object => reader
            .object(|_, _| Err(RenderError::new("an object instead of an array or a string")))?,
        kind => {
            let cause = format!("{kind} instead of an array or a string");
            return Err(RenderError::new(cause));
        }
    }
    Ok(start..parts.len())
}

fn check(message: Message, policy: Policy) -> Result<Message, RenderError> {
    if policy == Policy::SynthKdV1 {
        if message.role == Role::Tool {
            return Err(RenderError::of_policy("role tool is not allowed by synth-kd-v1"));
        }
        if message.role == Role::Assistant {
            let Some(channel) = message.channel else {
                return Err(RenderError::new(
                    "assistant without a channel; try: --policy chat, or chat-harmony before it, for chats",
                ));
            };
            if !channel.eq_str("analysis") && !channel.eq_str("final") {
                let channel = field::quoted(&channel);
                return Err(RenderError::of_policy(format_args!(
                    "assistant in channel {channel}, not analysis or final"
                )));
            }
        }
    }
    if message.role == Role::Tool && message.name.is_none() {
        return Err(RenderError::new("tool without a name"));
    }
    Ok(message)
}
