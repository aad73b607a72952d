//! Turns chats of all common shapes into Harmony conversations, or into messages for the chat template of any
//! model.
//!
//! ```text
//! a record's JSON ── value.rs ──▶ Json ── normalize.rs, shapes.rs, message.rs ──▶ drafts ── whole.rs ─▶ Chat
//!                                                                                                  │
//!                                  the text of {"messages": [...]} ◀── write.rs, template.rs ──────┤
//!                              what a model's own chat template is given ◀── messages.rs ──────────┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | `value.rs` | JSON as a tree |
//! | `normalize.rs` | the forms that a list of messages comes in, names that the user gives, what is left out |
//! | `shapes.rs` | the table of shapes: how each is recognised, and read |
//! | `drafts.rs` | messages from lists, questions and columns, for `shapes.rs` and `preference.rs` |
//! | `answer.rs` | the answer that stands in a column, beside messages or a question |
//! | `preference.rs` | chosen and rejected answers |
//! | `foreign.rs` | formats that are not read, by their names |
//! | `message.rs` | one message, under the keys of any of them |
//! | `reasoning.rs` | reasoning that stands in the text of an answer |
//! | `hermes.rs` | calls and results that stand in texts |
//! | `tools.rs` | declarations of functions |
//! | `results.rs` | which call each result of a tool answers |
//! | `whole.rs` | the rules that concern a chat as a whole |
//! | `turns.rs` | the turns of a chat, and which of them are trained on |
//! | `write.rs` | the conversations that are made of it |
//! | `messages.rs` | the messages that are made of it for a model's own chat template |
//! | `template.rs` | the words of the official chat template |
//! | `true_way.rs` | the options that a refusal names, as far as they help |
//! | `left_out.rs` | what does not become a part of them, counted |
//!
//! The result must equal the official template's and `openai-harmony`'s, except that nothing of a chat is lost where
//! the template loses or garbles it. A new shape is an entry in the table of `shapes.rs`.

mod answer;
mod drafts;
mod foreign;
mod hermes;
mod left_out;
mod message;
mod messages;
mod normalize;
mod preference;
mod reasoning;
mod results;
mod shapes;
mod template;
mod tools;
mod true_way;
mod turns;
mod value;
mod whole;
mod write;

use std::borrow::Cow;

use clap::ValueEnum;
use serde_json::{Value, json};

pub use left_out::{LeftOutCounts, SharedLeftOutCounts};
pub use messages::{Arguments, ContentForm, TemplateChat, TemplateChats, Turns};
pub use reasoning::behind_reasoning;
pub use shapes::filter_of;
pub use true_way::with_true_way;
pub use value::{Json, integer};
pub use write::{Conversations, EARLIER_THINKING};

/// Which renderer's text the system and the developer message have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// The text of openai-harmony, with which vLLM renders.
    Harmony,
    /// The text of the official chat template.
    Exact,
}

/// Which messages of the assistant are trained on, among the messages that may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrainOn {
    All,
    /// The last turn.
    Completion,
}

/// Which answers are taken, if the data have answers that are not to be trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswerChoice {
    /// The chosen answer of records with a chosen and a rejected answer.
    Chosen,
    /// The records whose label is not false.
    Wanted,
}

/// Fields that the user names: no shape knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFields {
    pub messages: Option<String>,
    pub prompt: Option<String>,
    pub completion: Option<String>,
    pub reasoning: Option<String>,
}

impl NamedFields {
    pub fn names(&self) -> Vec<String> {
        let all = [&self.messages, &self.prompt, &self.completion, &self.reasoning];
        all.into_iter().flatten().cloned().collect()
    }
}

/// What becomes of calls and results that stand in texts as Hermes has them, `<tool_call>{..}</tool_call>`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TextCalls {
    /// They are calls in a chat with tools, unless the template writes calls in the same way.
    #[default]
    Auto,
    Hermes,
    Text,
}

/// How records are read as chats, whatever is made of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSettings {
    /// Whether a content that looks like a JSON array of parts is taken as plain text.
    pub content_is_text: bool,
    pub fields: NamedFields,
    /// Fields of records and messages that are ignored.
    pub ignored: Vec<String>,
    pub take: Vec<AnswerChoice>,
    /// `None`: the shape decides: all messages, or the completion of a prompt with a completion.
    pub train: Option<TrainOn>,
    /// Whether reasoning that stands in tags in a content stays there.
    pub keeps_tags: bool,
    /// What becomes of calls that stand in texts.
    pub calls: TextCalls,
    /// Columns that are read for something else than the chat.
    pub read_elsewhere: Vec<String>,
}

impl ReadSettings {
    /// Returns the settings as a header states them.
    pub fn to_json(&self) -> Value {
        json!({
            "train": self.train.and_then(|train| name_of(&train)),
            "messages_field": self.fields.messages,
            "prompt_field": self.fields.prompt,
            "completion_field": self.fields.completion,
            "reasoning_field": self.fields.reasoning,
            "calls": name_of(&self.calls),
            "ignored": self.ignored,
            "take": self.take.iter().map(name_of).collect::<Vec<_>>(),
        })
    }
}

fn name_of(value: &impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|value| value.get_name().to_string())
}

/// How chats are converted, as far as they do not state it themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub read: ReadSettings,
    pub style: Style,
    pub turns: Turns,
    /// Whether reasoning before an earlier answer is kept, which the model does not see when it answers.
    pub keeps_reasoning: bool,
    pub identity: String,
    pub effort: String,
    pub date: String,
    pub cutoff: String,
    /// Harmony's own tools: `browser`, `python`.
    pub builtin_tools: Vec<String>,
}

/// Returns the parameters that a record states for its template.
fn kwargs_of<'r>(record: &'r Json<'r>) -> Result<Option<&'r Json<'r>>, String> {
    let kwargs = record.get(KWARGS);
    if let Some(other) = kwargs.filter(|kwargs| !kwargs.is_object()) {
        return Err(format!("{KWARGS} is a {}, wanted an object", other.type_name()));
    }
    let key = "add_generation_prompt";
    let prompt = kwargs.and_then(|kwargs| kwargs.get(key)).or(record.get(key));
    if prompt.is_some_and(Json::is_true) {
        return Err("add_generation_prompt: not for training".to_string());
    }
    Ok(kwargs)
}

impl Settings {
    /// Returns the settings for one record. Settings that the record states win, first those in
    /// `chat_template_kwargs`, then those at its top level.
    fn of<'s>(
        &'s self,
        record: &Json<'_>,
        left_out: &mut LeftOutCounts,
    ) -> Result<Cow<'s, Settings>, String> {
        let mut settings = Cow::Borrowed(self);
        let kwargs = kwargs_of(record)?;
        let said = |key: &str| kwargs.and_then(|kwargs| kwargs.get(key)).or(record.get(key));
        let text = |key: &str, value: &Json<'_>| match value.text() {
            Some(text) => Ok(text.to_string()),
            None => Err(format!("{key} is a {}, wanted a string", value.type_name())),
        };
        let effort = record.get("reasoning").and_then(|reasoning| reasoning.get("effort"));
        if let Some(value) = said(EFFORT).or(effort) {
            settings.to_mut().effort = text(EFFORT, value)?;
        }
        if let Some(value) = said(IDENTITY) {
            settings.to_mut().identity = text(IDENTITY, value)?;
        }
        if let Some(value) = said(DATE) {
            settings.to_mut().date = text(DATE, value)?;
        }
        if let Some(value) = said(CUTOFF) {
            settings.to_mut().cutoff = text(CUTOFF, value)?;
        }
        if let Some(value) = said(BUILTIN) {
            let names =
                value.list().ok_or_else(|| format!("{BUILTIN} is a {}", value.type_name()))?;
            let names = names.iter().map(|name| text(BUILTIN, name));
            let names = names.collect::<Result<Vec<String>, String>>()?;
            for name in &names {
                let is_known = template::BUILTIN_TOOLS.contains(&name.as_str());
                left_out.count(&format!("{BUILTIN}.{name}"), !is_known);
            }
            settings.to_mut().builtin_tools = names;
        }
        for (key, value) in kwargs.map(Json::entries).unwrap_or_default() {
            let is_read = [EFFORT, IDENTITY, DATE, CUTOFF, BUILTIN].contains(&&**key);
            left_out.count(&format!("{KWARGS}.{key}"), !is_read && value.is_true());
        }
        Ok(settings)
    }

    /// Returns the settings as a header states them.
    pub fn to_json(&self) -> Value {
        json!({
            "style": name_of(&self.style),
            "turns": name_of(&self.turns),
            "keep_reasoning": self.keeps_reasoning,
            "train": self.read.train.and_then(|train| name_of(&train)),
            IDENTITY: self.identity,
            EFFORT: self.effort,
            DATE: self.date,
            CUTOFF: self.cutoff,
            BUILTIN: self.builtin_tools,
            "messages_field": self.read.fields.messages,
            "prompt_field": self.read.fields.prompt,
            "completion_field": self.read.fields.completion,
            "reasoning_field": self.read.fields.reasoning,
            "calls": name_of(&self.read.calls),
            "ignored": self.read.ignored,
            "take": self.read.take.iter().map(name_of).collect::<Vec<_>>(),
        })
    }

    /// Returns the effort under the name that Harmony has for it.
    fn harmony_effort(&self) -> Result<&'static str, String> {
        match self.effort.to_ascii_lowercase().as_str() {
            "low" => Ok("Low"),
            "medium" => Ok("Medium"),
            "high" => Ok("High"),
            _ => Err(format!("{EFFORT} '{}': Harmony has low, medium and high", self.effort)),
        }
    }
}

const KWARGS: &str = "chat_template_kwargs";
const EFFORT: &str = "reasoning_effort";
const IDENTITY: &str = "model_identity";
const DATE: &str = "conversation_start_date";
const CUTOFF: &str = "knowledge_cutoff";
const BUILTIN: &str = "builtin_tools";
