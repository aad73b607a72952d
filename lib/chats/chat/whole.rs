//! The rules that concern a chat as a whole.

use std::borrow::Cow;

use super::drafts::Messages;
use super::left_out::LeftOutCounts;
use super::message::{Call, Content, Draft, flag, refuse_trained_part};
use super::preference::{of_rejected, without_text};
use super::tools::{Tool, remove_padding, tools_of};
use super::turns::first_trained;
use super::value::Json;
use super::{AnswerChoice, ReadSettings, TextCalls, TrainOn};
use super::{hermes, shapes};
use crate::harmony::{OF_PARTS, Role, is_of_parts};
use crate::record::chat::{Meaning, number, of_records};

/// A chat, from a record of any shape.
#[derive(Debug)]
pub struct Chat<'r> {
    pub tools: Vec<Tool<'r>>,
    pub messages: Vec<Message<'r>>,
    /// The first message that may be trained on.
    pub first_trained: usize,
}

/// A message of a chat.
#[derive(Debug)]
pub struct Message<'r> {
    /// The message's index in its list, for errors.
    pub index: usize,
    pub said: MessageBody<'r>,
    pub is_trained: bool,
}

#[derive(Debug)]
pub enum MessageBody<'r> {
    /// What a system or developer message says.
    Instructions(Role, Option<Cow<'r, str>>),
    User(Cow<'r, str>),
    Assistant {
        thinking: Option<Cow<'r, str>>,
        /// The field that the reasoning is in; none if it stands in the content.
        thinking_field: Option<&'static str>,
        content: Option<Cow<'r, str>>,
        calls: Vec<Call<'r>>,
    },
    /// A function's result, with the id of its call and the function's name, as far as they are stated.
    Tool {
        call_id: Option<&'r str>,
        name: Option<&'r str>,
        result: Content<'r>,
    },
}

impl Chat<'_> {
    /// Removes the system and developer messages, and returns their text. They must be first.
    pub fn take_instructions(&mut self) -> Result<String, String> {
        let is_instructions =
            |message: &Message<'_>| matches!(message.said, MessageBody::Instructions(..));
        let count = self.messages.iter().take_while(|message| is_instructions(message)).count();
        let mut instructions = String::new();
        for message in self.messages.drain(..count) {
            let MessageBody::Instructions(_, Some(text)) = message.said else { continue };
            if !instructions.is_empty() && !text.is_empty() {
                instructions += "\n\n";
            }
            instructions += &text;
        }
        self.first_trained = self.first_trained.saturating_sub(count);
        for Message { index, said, .. } in &self.messages {
            if let MessageBody::Instructions(role, _) = said {
                let name = role.as_str();
                return Err(format!(
                    "message {index}: role {name} after the start of the conversation"
                ));
            }
        }
        Ok(instructions)
    }
}

impl Message<'_> {
    pub fn is_assistant(&self) -> bool {
        matches!(self.said, MessageBody::Assistant { .. })
    }

    /// Whether it ends a turn: an answer, not a call.
    pub fn is_answer(&self) -> bool {
        matches!(&self.said, MessageBody::Assistant { calls, .. } if calls.is_empty())
    }

    fn is_empty_answer(&self) -> bool {
        let content = match &self.said {
            MessageBody::Assistant { content, .. } => content.as_deref(),
            _ => None,
        };
        self.is_answer() && content.is_some_and(str::is_empty)
    }
}

/// Why an empty answer is refused.
const NO_TEXT: &str = "assistant without text, which would be trained on as an empty answer; \
     give its content, or weight: 0";

/// The name under which records are counted that are dropped because of their label.
const UNWANTED: &str = "records with answers that are not wanted";

/// The name under which null arguments that the function does not declare are counted.
const PADDING: &str = "null arguments that the function does not declare";

/// Reads the chat of a record; `None` if its answer is not wanted, and such records are left out. What is trained on
/// follows from the settings.
pub fn read<'r>(
    record: &'r Json<'r>,
    settings: &ReadSettings,
    left_out: &mut LeftOutCounts,
) -> Result<Option<Chat<'r>>, String> {
    if is_left_out(record, settings, left_out) {
        return Ok(None);
    }
    let messages = shapes::read(record, settings, left_out)?;
    of_messages(record, messages, settings, left_out).map(Some)
}

/// Reads the chats of the chosen and the rejected answer of a record; `None` as in [`read`]. The answer is the last message,
/// and alone is trained on. What is left out is counted once for a pair.
pub fn pair<'r>(
    record: &'r Json<'r>,
    settings: &ReadSettings,
    left_out: &mut LeftOutCounts,
) -> Result<Option<[Chat<'r>; 2]>, String> {
    if is_left_out(record, settings, left_out) {
        return Ok(None);
    }
    let [chosen, rejected] = shapes::pair(record, settings, left_out)?;
    let told = |name: &str, cause: String| match cause.ends_with(NO_TEXT) {
        true => without_text(name),
        false if name == "rejected" => of_rejected(cause),
        false => cause,
    };
    let chosen = of_messages(record, chosen, settings, left_out);
    let chosen = chosen.map_err(|cause| told("chosen", cause))?;
    let mut other = LeftOutCounts::default();
    let rejected = of_messages(record, rejected, settings, &mut other);
    let rejected = rejected.map_err(|cause| told("rejected", cause))?;
    left_out.widen(&other);
    let pair = [chosen, rejected];
    match pair.iter().any(|chat| !chat.messages.last().is_some_and(|last| last.is_trained)) {
        true => Err("an answer that is not to be trained on, by what stands beside it".to_string()),
        false => Ok(Some(pair)),
    }
}

/// Whether a record is left out because of its label.
fn is_left_out(record: &Json<'_>, settings: &ReadSettings, left_out: &mut LeftOutCounts) -> bool {
    let is_left_out = settings.take.contains(&AnswerChoice::Wanted) && is_unwanted(record);
    left_out.count(UNWANTED, is_left_out);
    is_left_out
}

/// Makes a chat of the messages of a record.
fn of_messages<'r>(
    record: &'r Json<'r>,
    Messages { mut drafts, completion, .. }: Messages<'r>,
    settings: &ReadSettings,
    left_out: &mut LeftOutCounts,
) -> Result<Chat<'r>, String> {
    let tools = tools_of(record)?;
    let is_of_tools = |draft: &Draft| draft.role == Role::Tool || hermes::is_result(draft);
    let read = match settings.calls {
        TextCalls::Hermes => hermes::read(&drafts)?,
        TextCalls::Auto if !tools.is_empty() || drafts.iter().any(is_of_tools) => {
            hermes::read(&drafts).ok().flatten()
        }
        TextCalls::Auto | TextCalls::Text => None,
    };
    drafts = read.unwrap_or(drafts);
    let last = drafts.iter_mut().rfind(|draft| draft.role == Role::Assistant);
    if let Some(last) = last.filter(|last| last.is_trained) {
        last.ends_as(record, left_out);
    }
    let is_trained = is_trained(record)?;
    if drafts.is_empty() {
        return Err("no messages".to_string());
    }
    let mut messages: Vec<Message<'r>> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let index = draft.index;
        let within = |cause: String| format!("message {index}: {cause}");
        let is_parts = |text: &str| !settings.content_is_text && is_of_parts(text);
        if draft.role != Role::Tool && draft.text().is_some_and(is_parts) {
            return Err(within(OF_PARTS.to_string()));
        }
        let draft = match settings.keeps_tags {
            true => draft.whole(),
            false => draft.with_reasoning_apart(left_out),
        };
        let draft = draft.map_err(within)?;
        let mut message = message(draft).map_err(within)?;
        message.is_trained &= is_trained;
        messages.push(message);
    }
    if !messages.iter().any(Message::is_assistant) {
        return Err("no assistant message".to_string());
    }
    let completion = completion.map(|count| messages.len().saturating_sub(count));
    if completion.is_some_and(|first| !messages[first..].iter().any(Message::is_assistant)) {
        return Err("completion without an assistant message".to_string());
    }
    for message in &mut messages {
        let MessageBody::Assistant { calls, .. } = &mut message.said else { continue };
        calls.iter_mut().for_each(|call| without_padding(call, &tools, left_out));
    }
    let first_trained = first_trained(&messages, completion, settings.turns.trained);
    let last = messages.iter().rposition(Message::is_assistant);
    for (place, message) in messages.iter_mut().enumerate() {
        let is_wanted = settings.turns.trained != TrainOn::Last || Some(place) == last;
        message.is_trained &= message.is_assistant() && place >= first_trained && is_wanted;
        if message.is_trained && message.is_empty_answer() {
            return Err(format!("message {}: {NO_TEXT}", message.index));
        }
    }
    Ok(Chat { tools, messages, first_trained })
}

/// Removes the nulls that a table has put into the arguments of a call.
fn without_padding(call: &mut Call<'_>, tools: &[Tool<'_>], left_out: &mut LeftOutCounts) {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else { return };
    if !call.is_object || !call.arguments.contains("null") {
        return;
    }
    let Ok(mut arguments) = Json::parse(&call.arguments) else { return };
    let count = remove_padding(&mut arguments, tool.parameters.as_deref());
    (0..count).for_each(|_| left_out.count(PADDING, true));
    if count > 0 {
        call.arguments = Cow::Owned(arguments.python_json());
    }
}

/// Whether a record states that its answer is not wanted.
fn is_unwanted(record: &Json<'_>) -> bool {
    of_records()
        .any(|(name, meaning)| meaning == Meaning::Wanted && wanted(record, name) == Some(false))
}

/// Whether a column says that the answer is wanted, or not. Beside messages a number may be the label of a class.
pub fn wanted(record: &Json<'_>, name: &str) -> Option<bool> {
    let value = record.get(name)?;
    let is_number = matches!(value, Json::Number(_));
    flag(value).filter(|_| !is_number || name == "kto_tag" || record.get("completion").is_some())
}

/// Whether a record may be trained on, by its own fields. (A column of such a name may hold something else:
/// a loss, the name of a split.)
fn is_trained(record: &Json<'_>) -> Result<bool, String> {
    let mut is_trained = true;
    for (key, meaning) in of_records() {
        let Some(value) = record.get(key) else { continue };
        let is_false = flag(value) == Some(false);
        is_trained &= match meaning {
            Meaning::Wanted if wanted(record, key) == Some(false) => {
                let said = value.text().map_or_else(|| value.python_json(), str::to_string);
                return Err(format!(
                    "{key} is {said}: an answer that is not wanted; try: --take wanted"
                ));
            }
            Meaning::Weight => match value {
                Json::Text(text) if number(text).is_none() => true,
                Json::Number(_) | Json::Text(_) | Json::Boolean(_) => {
                    flag(value).ok_or_else(|| format!("{key} must be 0 or 1"))?
                }
                _ => true,
            },
            Meaning::Trained => !is_false,
            Meaning::TrainedPart => refuse_trained_part(key, value)?,
            _ => true,
        };
    }
    Ok(is_trained)
}

fn message(draft: Draft<'_>) -> Result<Message<'_>, String> {
    let Draft { index, role, content, thinking, thinking_field, calls, call_id, name, is_trained } =
        draft;
    let text = |content| match content {
        Some(Content::Text(text)) => Some(text),
        _ => None,
    };
    let said = match role {
        Role::Tool => {
            let result = content.ok_or("tool result without content")?;
            MessageBody::Tool { call_id, name, result }
        }
        Role::System | Role::Developer => MessageBody::Instructions(role, text(content)),
        Role::Assistant => {
            let content = text(content);
            if content.is_none() && thinking.is_none() && calls.is_empty() {
                return Err("assistant without content, thinking or tool calls".to_string());
            }
            MessageBody::Assistant { thinking, thinking_field, content, calls }
        }
        _ => MessageBody::User(
            text(content).ok_or_else(|| format!("{} without content", role.as_str()))?,
        ),
    };
    Ok(Message { index, said, is_trained })
}
