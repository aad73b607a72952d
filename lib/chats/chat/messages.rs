//! The messages that a model's own chat template is given, in the form of transformers:
//!
//! `{role, content, reasoning_content, tool_calls}`, a tool's `{role, tool_call_id, name, content}`, and
//! tools as OpenAI declares them. Missing values have no key. A result that is an object stays an object.

use clap::ValueEnum;
use gristmill_template::Value;

use super::left_out::LeftOutCounts;
use super::message::{Call, Content};
use super::normalize::normalize;
use super::value::Json;
use super::whole::{self, Chat, Message, MessageBody};
use super::{BUILTIN, CUTOFF, DATE, EFFORT, IDENTITY, KWARGS, ReadSettings, kwargs_of};

/// The form in which a template is given the arguments of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    Object,
    /// The text of JSON.
    Text,
    /// As the chat has them: text, or an object.
    AsGiven,
}

/// The form in which a template is given contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ContentForm {
    #[default]
    Text,
    /// Lists of parts: `[{"type": "text", "text": ..}]`; of an empty text, an empty list.
    Parts,
}

/// Reads records as chats for a template.
#[derive(Debug, Clone)]
pub struct TemplateChats {
    pub read: ReadSettings,
    pub arguments: Arguments,
    pub content: ContentForm,
    /// The key under which the template reads reasoning, for reasoning that stands in a content.
    pub reasoning_key: &'static str,
}

/// A chat for a template.
#[derive(Debug)]
pub struct TemplateChat {
    pub messages: Vec<TemplateMessage>,
    /// The declarations of tools; empty if there are none.
    pub tools: Vec<Value>,
    /// What the record itself sets for its template.
    pub variables: Vec<(String, Value)>,
}

/// A message for a template.
#[derive(Debug, Clone)]
pub struct TemplateMessage {
    /// Its index in the record's list, for errors.
    pub index: usize,
    pub value: Value,
    pub is_trained: bool,
}

impl TemplateMessage {
    pub fn role(&self) -> Option<&str> {
        self.value.get("role").and_then(Value::as_text)
    }
}

impl TemplateChats {
    /// Returns the chat of a record. The error says why the record is not a chat. If unwanted answers are left out, a
    /// record with such an answer gives none.
    pub fn of(
        &self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
    ) -> Result<Option<TemplateChat>, String> {
        let record = normalize(record, &self.read, left_out)?;
        let chat = whole::read(&record, &self.read, left_out)?;
        chat.map(|chat| self.chat(&record, &chat)).transpose()
    }

    /// Returns the chats of the chosen and the rejected answer of a record, which end with these; `None` as above.
    pub fn pair(
        &self,
        record: Json<'_>,
        left_out: &mut LeftOutCounts,
    ) -> Result<Option<[TemplateChat; 2]>, String> {
        let record = normalize(record, &self.read, left_out)?;
        let Some([chosen, rejected]) = whole::pair(&record, &self.read, left_out)? else {
            return Ok(None);
        };
        Ok(Some([self.chat(&record, &chosen)?, self.chat(&record, &rejected)?]))
    }

    fn chat(&self, record: &Json<'_>, chat: &Chat<'_>) -> Result<TemplateChat, String> {
        let variables = variables(record)?;
        let tools = chat.tools.iter().map(|tool| match tool.given {
            Json::Known(known) => known.value(|| value(&tool.declaration())),
            _ => value(&tool.declaration()),
        });
        let tools = tools.collect::<Result<Vec<Value>, String>>()?;
        let messages = chat.messages.iter().map(|message| {
            self.message(message).map_err(|cause| format!("message {}: {cause}", message.index))
        });
        let messages = messages.collect::<Result<Vec<TemplateMessage>, String>>()?;
        Ok(TemplateChat { messages, tools, variables })
    }

    fn message(&self, message: &Message<'_>) -> Result<TemplateMessage, String> {
        let Message { index, said, is_trained } = message;
        let mut entries: Vec<(&str, Value)> = Vec::new();
        match said {
            MessageBody::Instructions(role, text) => {
                entries.push(("role", role.as_str().into()));
                let text = text.as_deref().map(|text| self.content(text)).transpose()?;
                entries.extend(text.map(|text| ("content", text)));
            }
            MessageBody::User(text) => {
                entries.push(("role", "user".into()));
                entries.push(("content", self.content(text)?));
            }
            MessageBody::Assistant { thinking, thinking_field, content, calls } => {
                entries.push(("role", "assistant".into()));
                // (Beside calls, OpenAI's API returns null, which not all templates read.)
                entries.push(("content", self.content(content.as_deref().unwrap_or_default())?));
                let thinking = thinking.as_deref().filter(|text| !text.is_empty());
                // (Transformers gives templates the other fields under the names of both.)
                let key = match thinking_field {
                    None => self.reasoning_key,
                    Some("reasoning") => "reasoning",
                    Some(_) => "reasoning_content",
                };
                entries.extend(thinking.map(|text| (key, text.into())));
                if !calls.is_empty() {
                    let calls = calls.iter().map(|call| self.call(call));
                    let calls = calls.collect::<Result<Vec<Value>, String>>()?;
                    entries.push(("tool_calls", list(calls)?));
                }
            }
            MessageBody::Tool { call_id, name, result } => {
                entries.push(("role", "tool".into()));
                entries.extend(call_id.map(|id| ("tool_call_id", id.into())));
                entries.extend(name.map(|name| ("name", name.into())));
                let content = match result {
                    Content::Text(text) => self.content(text)?,
                    Content::Given(text) => self.content(text)?,
                    Content::Json(of) => value(of)?,
                };
                entries.push(("content", content));
            }
        }
        Ok(TemplateMessage { index: *index, value: dict(entries)?, is_trained: *is_trained })
    }

    fn content(&self, text: &str) -> Result<Value, String> {
        match self.content {
            ContentForm::Text => Ok(text.into()),
            ContentForm::Parts if text.is_empty() => list(Vec::new()),
            ContentForm::Parts => {
                list(vec![dict(vec![("type", "text".into()), ("text", text.into())])?])
            }
        }
    }

    fn call(&self, call: &Call<'_>) -> Result<Value, String> {
        let Call { id, name, arguments, is_object } = call;
        let is_text = match self.arguments {
            Arguments::Object => false,
            Arguments::Text => true,
            Arguments::AsGiven => !is_object,
        };
        let arguments = match is_text {
            true => (&**arguments).into(),
            false => {
                let parsed = Json::parse(arguments);
                value(&parsed.map_err(|error| format!("arguments of {name}: {error}"))?)?
            }
        };
        let function = dict(vec![("name", (&**name).into()), ("arguments", arguments)])?;
        let mut entries: Vec<(&str, Value)> = vec![("type", "function".into())];
        entries.extend(id.as_deref().map(|id| ("id", id.into())));
        entries.push(("function", function));
        dict(entries)
    }
}

/// Settings that a record may have at its top level as well as in its `chat_template_kwargs`.
const SETTINGS: [&str; 5] = [EFFORT, IDENTITY, DATE, CUTOFF, BUILTIN];

/// Returns what a record sets for its template.
fn variables(record: &Json<'_>) -> Result<Vec<(String, Value)>, String> {
    let kwargs = kwargs_of(record)?.map(Json::entries).unwrap_or_default();
    let is_prompt = |name: &str| name == "add_generation_prompt";
    let kwargs = kwargs.iter().filter(|(name, _)| !is_prompt(name));
    let mut variables: Vec<(String, Value)> = Vec::new();
    for (name, of) in kwargs {
        of.refuse_nan(&format!("{KWARGS}.{name}"))?;
        variables.push((name.to_string(), value(of)?));
    }
    for name in SETTINGS {
        let Some(of) = record.get(name) else { continue };
        if !variables.iter().any(|(known, _)| known == name) {
            variables.push((name.to_string(), value(of)?));
        }
    }
    Ok(variables)
}

fn told(error: gristmill_template::Error) -> String {
    error.to_string()
}

fn list(items: Vec<Value>) -> Result<Value, String> {
    Value::list(items).map_err(told)
}

fn dict(entries: Vec<(&str, Value)>) -> Result<Value, String> {
    let entries = entries.into_iter().map(|(key, value)| (key.into(), value));
    Value::dict(entries).map_err(told)
}

/// Returns a value of JSON as `json.loads` reads it.
fn value(json: &Json<'_>) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::None,
        Json::Boolean(value) => Value::Bool(*value),
        Json::Number(text) => {
            Value::number(text).ok_or_else(|| format!("the number {text} is too long"))?
        }
        Json::Text(text) => (&**text).into(),
        Json::List(items) => list(items.iter().map(value).collect::<Result<_, String>>()?)?,
        Json::Object(_) | Json::Known(_) => {
            let entries = json.entries().iter().map(|(key, of)| Ok((&**key, value(of)?)));
            dict(entries.collect::<Result<_, String>>()?)?
        }
    })
}
