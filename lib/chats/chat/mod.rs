//! Turns chats of all common shapes into Harmony conversations, or into messages for the chat template of any
//! model.
//!
//! ```text
//! a record's JSON ── value.rs ──▶ Json ── normalize.rs, shapes.rs, message.rs ──▶ drafts ── whole.rs ─▶ Chat
//!                                                                                                  │
//!                                  the text of {"messages": [...]} ◀── write.rs, system.rs ────────┤
//!                              what a model's own chat template is given ◀── messages.rs ──────────┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | `value.rs`, `text.rs` | JSON as a tree |
//! | `normalize.rs` | the forms that a list of messages comes in, names that the user gives, what is left out |
//! | `shapes.rs` | the table of shapes: how each is recognised, and read |
//! | `responses.rs` | the items of the Responses API, one of the shapes |
//! | `drafts.rs` | messages from lists, questions and columns, for `shapes.rs` and `preference.rs` |
//! | `answer.rs` | the answer that stands in a column, beside messages or a question |
//! | `preference.rs` | chosen and rejected answers |
//! | `foreign.rs` | formats that are not read, by their names |
//! | `message.rs` | one message, under the keys of any of them |
//! | `reasoning.rs` | reasoning that stands in the text of an answer |
//! | `hermes.rs` | calls and results that stand in texts |
//! | `tools.rs` | declarations of functions |
//! | `known_tools.rs` | those that come again |
//! | `results.rs` | which call each result of a tool answers |
//! | `whole.rs` | the rules that concern a chat as a whole |
//! | `turns.rs` | the turns of a chat, and which of them are trained on |
//! | `write.rs` | the conversations that are made of it |
//! | `system.rs` | the settings of Harmony's system message |
//! | `messages.rs` | the messages that are made of it for a model's own chat template |
//! | `true_way.rs` | the options that a refusal names, as far as they help |
//! | `left_out.rs` | what does not become a part of them, counted |
//!
//! The result must equal what `openai-harmony` renders. A new shape is an entry in the table of `shapes.rs`.

mod answer;
mod apis;
mod drafts;
mod foreign;
mod hermes;
mod known_tools;
mod left_out;
mod message;
mod messages;
mod normalize;
mod preference;
mod reasoning;
mod responses;
mod results;
mod sessions;
mod shapes;
mod system;
mod text;
mod tools;
mod true_way;
mod turns;
mod value;
mod whole;
mod write;

use clap::ValueEnum;
use serde_json::{Value, json};

pub use hermes::{call_marks, result_marks};
pub use known_tools::KnownTools;
pub use left_out::{LeftOutCounts, SharedLeftOutCounts};
pub use messages::{Arguments, ContentForm, TemplateChat, TemplateChats, TemplateMessage};
pub use preference::{SAME, of_rejected};
pub use reasoning::{behind_reasoning, reasoning_marks};
pub use sessions::SESSIONS;
pub use shapes::filter_of;
pub use system::HarmonySettings;
pub use true_way::with_true_way;
pub use turns::{TrainOn, Turns};
pub use value::{Json, integer};
pub use write::{Conversations, EARLIER_THINKING};

/// Which answers are taken, if the data have answers that are not to be trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswerChoice {
    /// The chosen answer of records with a chosen and a rejected answer.
    Chosen,
    /// Both answers, each by itself behind the prompt.
    Pair,
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

/// How records are read as chats, and what is trained on, whatever is made of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSettings {
    /// Whether a content that looks like a JSON array of parts is taken as plain text.
    pub content_is_text: bool,
    pub fields: NamedFields,
    /// Fields of records and messages that are ignored.
    pub ignored: Vec<String>,
    pub take: Vec<AnswerChoice>,
    pub turns: Turns,
    /// Whether reasoning that stands in tags in a content stays there.
    pub keeps_tags: bool,
    /// What becomes of calls that stand in texts.
    pub calls: TextCalls,
    /// Columns that are read for something else than the chat.
    pub read_elsewhere: Vec<String>,
}

impl ReadSettings {
    /// Whether the number of records is not that of the chats: a chat may become several, and some are not wanted.
    pub fn changes_number(&self) -> bool {
        !self.turns.is_one || self.take.contains(&AnswerChoice::Wanted)
    }

    /// Whether records become pairs of answers.
    pub fn takes_pairs(&self) -> bool {
        self.take.contains(&AnswerChoice::Pair)
    }

    /// Returns the settings as a header states them, with those of how chats are rendered.
    pub fn stated_with(&self, rendering: Value) -> Value {
        let mut stated = json!({
            "turns": self.turns.name(),
            "messages_field": self.fields.messages,
            "prompt_field": self.fields.prompt,
            "completion_field": self.fields.completion,
            "reasoning_field": self.fields.reasoning,
            "calls": name_of(&self.calls),
            "ignored": self.ignored,
            "take": self.take.iter().map(name_of).collect::<Vec<_>>(),
        });
        if let (Value::Object(stated), Value::Object(rendering)) = (&mut stated, rendering) {
            stated.extend(rendering);
        }
        stated
    }
}

/// Returns the name of a value, as users give it.
pub fn name_of(value: &impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|value| value.get_name().to_string())
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

const KWARGS: &str = "chat_template_kwargs";
const EFFORT: &str = "reasoning_effort";
const IDENTITY: &str = "model_identity";
const DATE: &str = "conversation_start_date";
const CUTOFF: &str = "knowledge_cutoff";
const BUILTIN: &str = "builtin_tools";
