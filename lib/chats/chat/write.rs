//! Writes the conversations that are made from a chat, as the text of `{"messages": [...]}`.

use std::borrow::Cow;
use std::ops::Range;

use super::left_out::LeftOutCounts;
use super::message::{Call, Content};
use super::normalize::normalize;
use super::results::functions;
use super::tools::{Tool, can_be_declared, write_harmony};
use super::turns::{Part, parts};
use super::value::Json;
use super::whole::{self, Chat, Message, MessageBody};
use super::{HarmonySettings, ReadSettings};
use crate::json::write_string;

/// The name under which reasoning that is not written is counted.
pub const EARLIER_THINKING: &str = "thinking of earlier turns";
/// The most bytes of all conversations of a record: each turn repeats the turns before it.
const MOST_BYTES: usize = 1 << 28;

/// Converts chats to conversations.
#[derive(Debug, Clone)]
pub struct Conversations {
    read: ReadSettings,
    settings: HarmonySettings,
    /// The system message, for records that do not set it.
    system: Result<String, String>,
}

impl Conversations {
    pub fn new(read: ReadSettings, settings: HarmonySettings) -> Conversations {
        let system = settings.message();
        Conversations { read, settings, system }
    }

    /// How records are read.
    pub fn read_settings(&self) -> &ReadSettings {
        &self.read
    }

    /// Writes the conversations of a record to `out`, one after another, and returns the place of each. The error says
    /// why the record is not a chat. If unwanted answers are left out, a record with such an answer gives no conversation.
    pub fn of(
        &self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Range<usize>>, String> {
        let record = normalize(record, &self.read, left_out)?;
        match whole::read(&record, &self.read, left_out)? {
            Some(chat) => self.write(&record, chat, left_out, out),
            None => Ok(Vec::new()),
        }
    }

    /// Writes the conversations of the chosen and the rejected answer of a record, which end with these; none as above.
    pub fn pair(
        &self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Range<usize>>, String> {
        let record = normalize(record, &self.read, left_out)?;
        let Some([chosen, rejected]) = whole::pair(&record, &self.read, left_out)? else {
            return Ok(Vec::new());
        };
        let mut pair = self.write(&record, chosen, left_out, out)?;
        let mut other = LeftOutCounts::default();
        pair.extend(self.write(&record, rejected, &mut other, out)?);
        left_out.widen(&other);
        Ok(pair)
    }

    /// Writes the conversations of a chat.
    fn write(
        &self,
        record: &Json<'_>,
        mut chat: Chat<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Range<usize>>, String> {
        let instructions = chat.take_instructions()?;
        chat.tools.iter().try_for_each(can_be_declared)?;
        let settings = self.settings.of(record, left_out)?;
        let system = match &settings {
            Cow::Borrowed(_) => self.system.clone()?,
            Cow::Owned(own) => own.message()?,
        };
        let mut begin = format!("{{\"messages\": [{system}").into_bytes();
        developer(&mut begin, &instructions, &chat.tools)?;
        let is_one = self.read.turns.is_one;
        let functions = functions(&chat.messages)?;
        let mut all = Vec::new();
        for part in parts(&chat, is_one, left_out) {
            let start = out.len();
            out.extend_from_slice(&begin);
            for (place, message) in chat.messages[..part.own.end].iter().enumerate() {
                let keeps = settings.keeps_reasoning || keeps(&part, is_one, message, place);
                let is_trained = message.is_trained && part.own.contains(&place);
                write(out, functions[place].as_deref(), message, keeps, is_trained);
                left_out.count(EARLIER_THINKING, is_one && !keeps && has_thinking(message));
            }
            out.extend_from_slice(b"]}");
            if out.len() > MOST_BYTES {
                let cause = "the conversations of all turns together are over 256 MiB";
                // (The whole chat is about as much longer as it has more messages.)
                let whole = (out.len() - start) / part.own.end.max(1) * chat.messages.len();
                let way = if !is_one && whole < MOST_BYTES { "; try: --turns all" } else { "" };
                return Err(format!("{cause}{way}"));
            }
            all.push(start..out.len());
        }
        Ok(all)
    }
}

/// Whether the reasoning of a message is written, which the model sees when it answers.
fn keeps(part: &Part, is_one: bool, message: &Message<'_>, place: usize) -> bool {
    match is_one {
        false => part.own.contains(&place),
        // As in the official template: an answer's reasoning is written if it is the last message, a
        // call's if no answer follows.
        true if message.is_answer() => place + 1 == part.own.end,
        true => part.last_answer.is_none_or(|answer| answer < place),
    }
}

/// Appends the developer message, unless it would be empty.
fn developer(out: &mut Vec<u8>, instructions: &str, tools: &[Tool<'_>]) -> Result<(), String> {
    if instructions.is_empty() && tools.is_empty() {
        return Ok(());
    }
    out.extend_from_slice(
        b", {\"role\": \"developer\", \"content\": [{\"type\": \"developer_content\"",
    );
    if !instructions.is_empty() {
        out.extend_from_slice(b", \"instructions\": ");
        write_string(out, instructions);
    }
    if !tools.is_empty() {
        out.extend_from_slice(b", \"tools\": ");
        write_harmony(out, tools)?;
    }
    out.extend_from_slice(b"}]}");
    Ok(())
}

fn has_thinking(message: &Message<'_>) -> bool {
    matches!(&message.said, MessageBody::Assistant { thinking: Some(_), .. })
}

/// Appends the Harmony messages of one message.
fn write(
    out: &mut Vec<u8>,
    function: Option<&str>,
    message: &Message<'_>,
    keeps_thinking: bool,
    is_trained: bool,
) {
    let assistant = |out: &mut Vec<u8>, header: &[u8], text: &str| {
        out.extend_from_slice(b", {\"role\": \"assistant\", ");
        out.extend_from_slice(header);
        if !is_trained {
            out.extend_from_slice(b", \"train\": false");
        }
        content(out, text);
    };
    match &message.said {
        // (They are taken out before.)
        MessageBody::Instructions(..) => {}
        MessageBody::User(text) => {
            out.extend_from_slice(b", {\"role\": \"user\"");
            content(out, text);
        }
        MessageBody::Tool { result, .. } => {
            let name = function.unwrap_or_default();
            out.extend_from_slice(b", {\"role\": \"tool\", \"name\": ");
            write_string(out, &format!("functions.{name}"));
            out.extend_from_slice(b", \"recipient\": \"assistant\", \"channel\": \"commentary\"");
            match result {
                Content::Text(text) => content(out, text),
                Content::Given(text) => content_of(out, |out| text.write(out)),
                Content::Json(value) => content(out, &value.python_json()),
            }
        }
        MessageBody::Assistant { thinking, content: text, calls, .. } => {
            if let Some(thinking) = thinking.as_deref().filter(|_| keeps_thinking) {
                assistant(out, b"\"channel\": \"analysis\"", thinking);
            }
            // (An empty text beside calls says nothing.)
            let is_call = !calls.is_empty();
            if let Some(text) = text.as_deref().filter(|text| !is_call || !text.is_empty()) {
                let channel: &[u8] = if is_call {
                    b"\"channel\": \"commentary\""
                } else {
                    b"\"channel\": \"final\""
                };
                assistant(out, channel, text);
            }
            for Call { name, arguments, .. } in calls {
                let mut header = b"\"recipient\": ".to_vec();
                write_string(&mut header, &format!("functions.{name}"));
                header.extend_from_slice(
                    b", \"channel\": \"commentary\", \"content_type\": \"<|constrain|>json\"",
                );
                assistant(out, &header, arguments);
            }
        }
    }
}

/// Appends the content of a message, and ends it.
fn content(out: &mut Vec<u8>, text: &str) {
    content_of(out, |out| write_string(out, text));
}

fn content_of(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b", \"content\": [{\"type\": \"text\", \"text\": ");
    write(out);
    out.extend_from_slice(b"}]}");
}
