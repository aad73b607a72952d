//! Writes the conversations that are made from a chat, as the text of `{"messages": [...]}`.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::json;

use super::left_out::LeftOutCounts;
use super::message::{Call, Content};
use super::normalize::normalize;
use super::results::functions;
use super::template;
use super::tools::{Tool, can_be_declared, write_harmony};
use super::turns::{Part, parts};
use super::value::Json;
use super::whole::{self, Message, MessageBody};
use super::{AnswerChoice, ReadSettings, Settings, Style, Turns};
use crate::json::{PythonFormatter, write_string};

/// The name under which reasoning that is not written is counted.
pub const EARLIER_THINKING: &str = "thinking of earlier turns";
/// The name under which records are counted that are dropped because of their label.
pub const UNWANTED: &str = "records with answers that are not wanted";
/// The most bytes of all conversations of a record: each turn repeats the turns before it.
const MOST_BYTES: usize = 1 << 28;

/// Why an empty answer is refused.
pub const NO_TEXT: &str = "assistant without text, which would be trained on as an empty answer; \
     give its content, or weight: 0";

/// Converts chats to conversations.
#[derive(Debug, Clone)]
pub struct Conversations {
    settings: Settings,
    /// The system message without tools and with tools, for records that do not set it.
    systems: [Result<Vec<u8>, String>; 2],
}

impl Conversations {
    pub fn new(settings: Settings) -> Conversations {
        let systems = [false, true].map(|has_tools| system(&settings, has_tools));
        Conversations { settings, systems }
    }

    /// How records are read.
    pub fn read_settings(&self) -> &ReadSettings {
        &self.settings.read
    }

    /// Sets the columns that are read for something else.
    pub fn read_elsewhere(&mut self, columns: Vec<String>) {
        self.settings.read.read_elsewhere = columns;
    }

    /// Writes the conversations of a record to `out`, one after another, and returns the place of each. The error says why the record is not
    /// a chat. If unwanted answers are left out, a record with such an answer gives no conversation.
    pub fn of(
        &self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Range<usize>>, String> {
        let record = normalize(record, &self.settings.read, left_out)?;
        if self.settings.read.take.contains(&AnswerChoice::Wanted) && whole::is_unwanted(&record) {
            left_out.count(UNWANTED, true);
            return Ok(Vec::new());
        }
        let mut chat = whole::read(&record, &self.settings.read, left_out)?;
        let instructions = chat.take_instructions()?;
        chat.tools.iter().try_for_each(can_be_declared)?;
        let settings = self.settings.of(&record, left_out)?;
        let has_tools = !chat.tools.is_empty();
        let mut begin = match &settings {
            Cow::Borrowed(_) => self.systems[usize::from(has_tools)].clone()?,
            Cow::Owned(own) => system(own, has_tools)?,
        };
        developer(&mut begin, &settings, &instructions, &chat.tools)?;
        let style = settings.style;
        let is_split = settings.turns == Turns::Fit;
        let last = chat.messages.iter().rposition(Message::is_assistant);
        let functions = functions(&chat.messages)?;
        let mut all = Vec::new();
        for part in parts(&chat, is_split, settings.read.train, left_out) {
            let start = out.len();
            out.extend_from_slice(&begin);
            for (place, message) in chat.messages[..part.end].iter().enumerate() {
                let keeps = settings.keeps_reasoning || keeps(&part, is_split, message, place);
                let is_wanted = settings.turns != Turns::Last || Some(place) == last;
                let is_trained = message.is_trained && is_wanted && part.trained.contains(&place);
                let function = functions[place].as_deref();
                write(out, function, message, (style, keeps, is_trained))
                    .map_err(|cause| format!("message {}: {cause}", message.index))?;
                let is_lost = !is_split && !keeps && has_thinking(message, style);
                left_out.count(EARLIER_THINKING, is_lost);
            }
            out.extend_from_slice(b"]}");
            if out.len() > MOST_BYTES {
                let cause = "the conversations of all turns together are over 256 MiB";
                // (The whole chat is about as much longer as it has more messages.)
                let whole = (out.len() - start) / part.end.max(1) * chat.messages.len();
                let way = if is_split && whole < MOST_BYTES { "; try: --turns all" } else { "" };
                return Err(format!("{cause}{way}"));
            }
            all.push(start..out.len());
        }
        Ok(all)
    }
}

/// Whether the reasoning of a message is written, which the model sees when it answers.
fn keeps(part: &Part, is_split: bool, message: &Message<'_>, place: usize) -> bool {
    match is_split {
        true => part.own.contains(&place),
        // As in the template: an answer's reasoning is written if it is the last message, a
        // call's if no answer follows.
        false if message.is_answer() => place + 1 == part.end,
        false => part.last_answer.is_none_or(|answer| answer < place),
    }
}

/// Returns the text of a conversation up to its developer message.
fn system(settings: &Settings, has_tools: bool) -> Result<Vec<u8>, String> {
    let mut out = b"{\"messages\": [{\"role\": \"system\", \"content\": [".to_vec();
    match settings.style {
        Style::Exact => {
            out.extend_from_slice(b"{\"type\": \"text\", \"text\": ");
            write_string(&mut out, &template::system(settings, has_tools));
            out.push(b'}');
        }
        Style::Harmony => {
            let mut content = json!({
                "type": "system_content",
                "model_identity": settings.identity,
                "reasoning_effort": settings.harmony_effort()?,
                "conversation_start_date": settings.date,
                "knowledge_cutoff": settings.cutoff,
                "channel_config": {
                    "valid_channels": ["analysis", "commentary", "final"],
                    "channel_required": true,
                },
            });
            if !settings.builtin_tools.is_empty() {
                content["tools"] = template::builtin_tools(&settings.builtin_tools);
            }
            let text = PythonFormatter::SPACED.text(&content).map_err(|error| error.to_string())?;
            out.extend_from_slice(text.as_bytes());
        }
    }
    out.extend_from_slice(b"]}");
    Ok(out)
}

/// Appends the developer message, unless it would be empty.
fn developer(
    out: &mut Vec<u8>,
    settings: &Settings,
    instructions: &str,
    tools: &[Tool<'_>],
) -> Result<(), String> {
    if instructions.is_empty() && tools.is_empty() {
        return Ok(());
    }
    out.extend_from_slice(b", {\"role\": \"developer\", \"content\": [");
    match settings.style {
        Style::Exact => {
            out.extend_from_slice(b"{\"type\": \"text\", \"text\": ");
            write_string(out, &template::developer(instructions, tools)?);
        }
        Style::Harmony => {
            out.extend_from_slice(b"{\"type\": \"developer_content\"");
            if !instructions.is_empty() {
                out.extend_from_slice(b", \"instructions\": ");
                write_string(out, instructions);
            }
            if !tools.is_empty() {
                out.extend_from_slice(b", \"tools\": ");
                write_harmony(out, tools)?;
            }
        }
    }
    out.extend_from_slice(b"}]}");
    Ok(())
}

fn has_thinking(message: &Message<'_>, style: Style) -> bool {
    match &message.said {
        MessageBody::Assistant { thinking, content, calls, .. } => {
            let is_said = said(content.as_deref(), calls).is_some();
            let is_analysis = style == Style::Exact && !calls.is_empty() && is_said;
            thinking.is_some() || is_analysis
        }
        _ => false,
    }
}

/// Returns what is said; text beside calls is kept only if it is not empty.
fn said<'c>(content: Option<&'c str>, calls: &[Call<'_>]) -> Option<&'c str> {
    content.filter(|text| calls.is_empty() || !text.is_empty())
}

/// Appends the Harmony messages of one message.
fn write(
    out: &mut Vec<u8>,
    function: Option<&str>,
    message: &Message<'_>,
    (style, keeps_thinking, is_trained): (Style, bool, bool),
) -> Result<(), String> {
    let assistant = |out: &mut Vec<u8>, header: &[u8], text: &str| {
        out.extend_from_slice(b", {\"role\": \"assistant\", ");
        out.extend_from_slice(header);
        if !is_trained {
            out.extend_from_slice(b", \"train\": false");
        }
        content(out, text);
    };
    let analysis = b"\"channel\": \"analysis\"";
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
            match (result, style) {
                (Content::Text(text), Style::Harmony) => content(out, text),
                (Content::Text(text), Style::Exact) => {
                    let mut quoted = Vec::new();
                    write_string(&mut quoted, text);
                    content(out, &String::from_utf8_lossy(&quoted));
                }
                (Content::Json(value), _) => content(out, &value.python_json()),
            }
        }
        MessageBody::Assistant { thinking, content: text, calls, .. } => {
            let text = said(text.as_deref(), calls);
            let (is_call, is_exact) = (!calls.is_empty(), style == Style::Exact);
            if is_exact && is_call && text.is_some() && thinking.is_some() {
                let cause = "content, thinking and tool calls together (the template refuses it)";
                return Err(cause.to_string());
            }
            if let Some(thinking) = thinking.as_deref().filter(|_| keeps_thinking) {
                assistant(out, analysis, thinking);
            }
            match text {
                Some(text) if !is_call && is_trained && text.is_empty() => {
                    return Err(NO_TEXT.to_string());
                }
                Some(text) if !is_call => assistant(out, b"\"channel\": \"final\"", text),
                Some(text) if !is_exact => assistant(out, b"\"channel\": \"commentary\"", text),
                Some(text) if keeps_thinking => assistant(out, analysis, text),
                _ => {}
            }
            for Call { name, arguments, .. } in calls {
                let mut header = b"\"recipient\": ".to_vec();
                write_string(&mut header, &format!("functions.{name}"));
                header.extend_from_slice(b", \"channel\": \"commentary\", \"content_type\": ");
                let json: &[u8] = if is_exact { b"\"json\"" } else { b"\"<|constrain|>json\"" };
                header.extend_from_slice(json);
                assistant(out, &header, arguments);
            }
        }
    }
    Ok(())
}

/// Appends the content of a message, and ends it.
fn content(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b", \"content\": [{\"type\": \"text\", \"text\": ");
    write_string(out, text);
    out.extend_from_slice(b"}]}");
}
