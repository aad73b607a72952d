//! From messages to tokens.
//!
//! Byte-pair merges never cross a piece: the role (with its name), the recipient, the channel,
//! the content type and every part of the content are encoded on their own, as the official
//! renderer does.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::content::{DeveloperContent, Effort, Part, SystemContent, Text};
use super::header::{self, FoundMessage};
use super::memo::Memo;
use super::message::{self, Conversation, Entry, Message, Rules};
use super::segment::{Channel, Segment, Segments};
use super::{IgnoredFields, Policy, RenderError, Role, field, tools};
use crate::json::Str;
use crate::tokenizer::{CALL, CHANNEL, CONSTRAIN, END, EOD, Encoder, MESSAGE, RETURN, START};

const CONSTRAIN_NAME: &str = "<|constrain|>";

/// Tokens and segments of any number of conversations, one after another.
#[derive(Clone, Debug, Default)]
pub struct RenderOutput {
    /// Ids of o200k_harmony; every conversation ends with [`EOD`].
    pub tokens: Vec<i32>,
    /// One segment per message.
    pub segments: Segments,
}

impl RenderOutput {
    /// Clears everything and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.segments.clear();
    }
}

/// Renders conversations. Each thread needs its own: it owns an encoder and its buffers.
pub struct Renderer {
    policy: Policy,
    ignored: Arc<IgnoredFields>,
    content_is_text: bool,
    pen: Pen,
    memo: Memo,
    /// The texts of the current conversation that had escapes.
    texts: String,
    /// Messages of the current conversation that will be remembered.
    fresh: Vec<FreshMessage>,
    /// The text of a header that is read back.
    bytes: Vec<u8>,
}

struct FreshMessage {
    source: Range<usize>,
    tokens: Range<usize>,
    role: Role,
    is_trained: bool,
}

impl Renderer {
    /// Makes a renderer with empty buffers.
    pub fn new(policy: Policy) -> Self {
        Renderer::ignoring(policy, Arc::default())
    }

    /// Makes a renderer that leaves out these fields of messages, although they have a meaning.
    pub fn ignoring(policy: Policy, ignored: Arc<IgnoredFields>) -> Self {
        Renderer {
            policy,
            ignored,
            content_is_text: false,
            pen: Pen { encoder: Encoder::new(), text: String::new(), scratch: String::new() },
            memo: Memo::default(),
            texts: String::new(),
            fresh: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Sets whether a content that looks like a JSON array of parts is taken as plain text; otherwise it is
    /// refused.
    pub fn content_is_text(self, content_is_text: bool) -> Self {
        Renderer { content_is_text, ..self }
    }

    /// Refuses fields beside the messages that change training; `beside` has their names and JSON texts.
    pub fn beside_messages(&self, beside: &[(Cow<str>, &str)]) -> Result<(), RenderError> {
        beside.iter().try_for_each(|(name, value)| self.ignored.beside_messages(name, value))
    }

    /// Renders one conversation, `{"messages": [...]}`, and appends its tokens, ending with
    /// [`EOD`], and its segments to `out`. On an error nothing is appended.
    pub fn render(
        &mut self,
        messages_json: &str,
        out: &mut RenderOutput,
    ) -> Result<(), RenderError> {
        let (tokens, mark) = (out.tokens.len(), out.segments.mark());
        let result = self.append(messages_json, out);
        if result.is_err() {
            out.tokens.truncate(tokens);
            out.segments.reset(mark);
        }
        result
    }

    fn append(&mut self, json: &str, out: &mut RenderOutput) -> Result<(), RenderError> {
        self.texts.clear();
        // A remembered message would not be read again, so its ignored fields would not be counted.
        let memo = self.ignored.is_empty().then_some(&self.memo);
        let content_is_text = self.content_is_text;
        let rules = Rules { policy: self.policy, ignored: &self.ignored, content_is_text };
        let mut conversation = message::read(json, rules, memo, &mut self.texts)?;
        let function_tools = has_function_tools(&conversation);
        if function_tools {
            // A remembered system message was rendered without the line on function tools.
            self.texts.clear();
            conversation = message::read(json, rules, None, &mut self.texts)?;
        }
        let base = out.tokens.len();
        self.fresh.clear();
        for (index, entry) in conversation.entries.iter().enumerate() {
            let start = out.tokens.len();
            let (role, channel, is_trained) = match entry {
                Entry::New(message) => {
                    let parts = conversation.parts_of(message);
                    let channel = self
                        .message(message, parts, function_tools, out)
                        .map_err(|error| error.in_message(index))?;
                    (message.role, channel, message.is_trained)
                }
                Entry::Known(place) => {
                    let known = self.memo.get(*place).ok_or_else(|| RenderError::new("forgotten"));
                    let known = known.map_err(|error| error.in_message(index))?;
                    out.tokens.extend_from_slice(&known.tokens);
                    (known.role, None, known.is_trained)
                }
            };
            let (start, end) = (place(start - base)?, place(out.tokens.len() - base)?);
            out.segments.list.push(Segment { role, channel, start, end, is_trained });
        }
        if let Some(Entry::New(last)) = conversation.entries.last()
            && last.role == Role::Assistant
            && last.in_final_channel()
            && let Some(token) = out.tokens.last_mut()
        {
            *token = RETURN;
        }
        out.tokens.push(EOD);
        for fresh in &self.fresh {
            let source = json.get(fresh.source.clone());
            if let (Some(source), Some(tokens)) = (source, out.tokens.get(fresh.tokens.clone())) {
                self.memo.insert(source, (fresh.role, fresh.is_trained), tokens);
            }
        }
        Ok(())
    }

    /// Appends the tokens of a message and returns its channel.
    fn message(
        &mut self,
        message: &Message,
        parts: &[Part],
        function_tools: bool,
        out: &mut RenderOutput,
    ) -> Result<Option<Channel>, RenderError> {
        if function_tools && self.policy == Policy::SynthKdV1 && names_channels(parts) {
            return Err(RenderError::of_policy(
                "function tools change the system message, not allowed by synth-kd-v1",
            ));
        }
        let start = out.tokens.len();
        self.pen.message(message, (parts, &self.texts), function_tools, &mut out.tokens)?;
        self.reads_back(message, &out.tokens[start..])?;
        let Some(channel) = &message.channel else {
            if matches!(message.role, Role::System | Role::Developer) && !function_tools {
                self.fresh.push(FreshMessage {
                    source: message.source.clone(),
                    tokens: start..out.tokens.len(),
                    role: message.role,
                    is_trained: message.is_trained,
                });
            }
            return Ok(None);
        };
        let name = channel.decode(&mut self.pen.scratch)?;
        Ok(Some(out.segments.channel_of(name)))
    }

    /// Refuses a message if the header in its tokens would be read as another header.
    fn reads_back(&mut self, message: &Message, tokens: &[i32]) -> Result<(), RenderError> {
        let Message { role, name, recipient, channel, content_type, .. } = message;
        // Without a recipient the recipient is "all".
        let recipient = recipient.as_ref().filter(|text| !text.eq_str("all"));
        let words =
            [("name", name.as_ref()), ("recipient", recipient), ("channel", channel.as_ref())];
        let is_known = |channel: &Str| {
            ["analysis", "commentary", "final"].iter().any(|known| channel.eq_str(known))
        };
        let is_plain = name.is_none() && recipient.is_none() && content_type.is_none();
        if is_plain && channel.as_ref().is_none_or(is_known) {
            return Ok(());
        }
        let scratch = &mut self.pen.scratch;
        for (field, text) in words {
            let Some(text) = text else { continue };
            if let Some(cause) = header::why_no_word(text.decode(scratch)?) {
                return Err(refused_in_header(field, text, cause));
            }
        }
        let content = tokens.iter().position(|&id| id == MESSAGE).map_or(tokens.len(), |at| at + 1);
        let found = FoundMessage { tokens: 0..tokens.len(), content: content..tokens.len() };
        let read = header::header(tokens, &found, &mut self.bytes)
            .map_err(|error| RenderError::new(error.to_string()))?;
        let is_same = |written: Option<&Str>, read: &Option<String>| match (written, read) {
            (Some(written), Some(read)) => written.eq_str(read),
            (written, read) => written.is_none() && read.is_none(),
        };
        if let Some(name) = name.as_ref().filter(|_| read.role != Some(*role)) {
            return Err(refused_in_header("name", name, "it would be read as a role"));
        }
        let content_type = ("content_type", content_type.as_ref());
        let read = [read.name, read.recipient, read.channel, read.content_type];
        for ((field, text), read) in words.into_iter().chain([content_type]).zip(&read) {
            if let Some(text) = text.filter(|_| !is_same(text, read)) {
                return Err(refused_in_header(field, text, "it would be read as another"));
            }
        }
        Ok(())
    }
}

/// Makes the error for a text of a message that its header cannot have.
fn refused_in_header(field: &str, text: &Str, cause: &str) -> RenderError {
    let text = field::quoted(text);
    RenderError::new(format!("{field} {text} cannot stand in a header: {cause}; give it another"))
}

fn place(index: usize) -> Result<i32, RenderError> {
    i32::try_from(index).map_err(|_| RenderError::new("more than 2147483647 tokens"))
}

/// Remembered messages have none.
fn has_function_tools(conversation: &Conversation) -> bool {
    conversation.entries.iter().any(|entry| match entry {
        Entry::Known(_) => false,
        Entry::New(message) => conversation.parts_of(message).iter().any(|part| match part {
            Part::Developer(content) => content.tools.as_ref().is_some_and(tools::has_functions),
            _ => false,
        }),
    })
}

fn names_channels(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::System(content) => {
            content.channels.as_ref().is_some_and(|channels| !channels.names.is_empty())
        }
        _ => false,
    })
}

/// Writes messages as tokens; it is separate from the memo, so that both can be borrowed.
struct Pen {
    encoder: Encoder,
    /// Text that is put together before it is encoded.
    text: String,
    /// A string with its escapes decoded.
    scratch: String,
}

impl Pen {
    /// `texts` are the decoded texts of the parts.
    fn message(
        &mut self,
        message: &Message,
        (parts, texts): (&[Part], &str),
        function_tools: bool,
        out: &mut Vec<i32>,
    ) -> Result<(), RenderError> {
        out.push(START);
        self.text.clear();
        match (message.role, &message.name) {
            (Role::Tool, Some(name)) => name.decode_onto(&mut self.text)?,
            // (The reader of records refuses a tool without a name.)
            (Role::Tool, None) => {}
            (role, name) => {
                self.encoder.encode(role.as_str(), out);
                if let Some(name) = name {
                    self.text.push(':');
                    name.decode_onto(&mut self.text)?;
                }
            }
        }
        self.encoder.encode(&self.text, out);
        if let Some(recipient) = &message.recipient
            && !recipient.eq_str("all")
        {
            self.text.clear();
            self.text.push_str(" to=");
            recipient.decode_onto(&mut self.text)?;
            self.encoder.encode(&self.text, out);
        }
        if let Some(channel) = &message.channel {
            out.push(CHANNEL);
            self.string(channel, out)?;
        }
        if let Some(content_type) = &message.content_type {
            self.text.clear();
            self.text.push(' ');
            content_type.decode_onto(&mut self.text)?;
            if let Some(rest) = self.text[1..].strip_prefix(CONSTRAIN_NAME) {
                self.encoder.encode(" ", out);
                out.push(CONSTRAIN);
                self.encoder.encode(rest, out);
            } else {
                self.encoder.encode(&self.text, out);
            }
        }
        out.push(MESSAGE);
        for part in parts {
            self.part(message.role, (part, texts), function_tools, out)?;
        }
        let is_call = message.role == Role::Assistant && message.recipient.is_some();
        out.push(if is_call { CALL } else { END });
        Ok(())
    }

    fn part(
        &mut self,
        role: Role,
        (part, texts): (&Part, &str),
        function_tools: bool,
        out: &mut Vec<i32>,
    ) -> Result<(), RenderError> {
        match part {
            Part::Text(text) => {
                match text.decoded.clone().and_then(|place| texts.get(place)) {
                    Some(text) => self.encoder.encode(text, out),
                    None => self.string(&text.source, out)?,
                }
                return Ok(());
            }
            Part::System(content) => {
                if role != Role::System {
                    return Err(RenderError::new(format!(
                        "system_content in a {} message",
                        role.as_str()
                    )));
                }
                write_system(content, function_tools, &mut self.text)?;
            }
            Part::Developer(content) => {
                if role != Role::Developer {
                    return Err(RenderError::new(format!(
                        "developer_content in a {} message",
                        role.as_str()
                    )));
                }
                write_developer(content, &mut self.text)?;
            }
        }
        self.encoder.encode(&self.text, out);
        Ok(())
    }

    fn string(&mut self, string: &Str, out: &mut Vec<i32>) -> Result<(), RenderError> {
        let text = string.decode(&mut self.scratch)?;
        self.encoder.encode(text, out);
        Ok(())
    }
}

/// Replaces the content of `out` by the text of a system content.
fn write_system(
    content: &SystemContent,
    function_tools: bool,
    out: &mut String,
) -> Result<(), RenderError> {
    out.clear();
    let lines = [
        ("", &content.model_identity),
        ("Knowledge cutoff: ", &content.knowledge_cutoff),
        ("Current date: ", &content.conversation_start_date),
    ];
    let mut separator = "";
    for (label, text) in lines {
        if let Some(text) = text {
            out.push_str(separator);
            out.push_str(label);
            push_text(text, out)?;
            separator = "\n";
        }
    }
    if !separator.is_empty() {
        separator = "\n\n";
    }
    if let Some(effort) = content.reasoning_effort {
        out.push_str(separator);
        out.push_str("Reasoning: ");
        out.push_str(match effort {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        });
        separator = "\n\n";
    }
    if let Some(tools) = content.tools.as_ref().filter(|tools| !tools.is_empty()) {
        out.push_str(separator);
        tools::write(tools, out)?;
        separator = "\n\n";
    }
    if let Some(channels) = &content.channels
        && !channels.names.is_empty()
    {
        out.push_str(separator);
        out.push_str("# Valid channels: ");
        let mut comma = "";
        for name in &channels.names {
            out.push_str(comma);
            push_text(name, out)?;
            comma = ", ";
        }
        out.push('.');
        if channels.required {
            out.push_str(" Channel must be included for every message.");
        }
        if function_tools {
            out.push_str("\nCalls to these tools must go to the commentary channel: 'functions'.");
        }
    }
    Ok(())
}

/// Replaces the content of `out` by the text of a developer content.
fn write_developer(content: &DeveloperContent, out: &mut String) -> Result<(), RenderError> {
    out.clear();
    let mut separator = "";
    if let Some(instructions) = &content.instructions {
        out.push_str("# Instructions\n\n");
        push_text(instructions, out)?;
        separator = "\n\n";
    }
    if let Some(tools) = content.tools.as_ref().filter(|tools| !tools.is_empty()) {
        out.push_str(separator);
        tools::write(tools, out)?;
    }
    Ok(())
}

fn push_text(text: &Text, out: &mut String) -> Result<(), RenderError> {
    match text {
        Text::Input(string) => string.decode_onto(out)?,
        Text::Default(text) => out.push_str(text),
    }
    Ok(())
}
