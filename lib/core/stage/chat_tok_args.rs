//! The arguments that decide how chats are rendered by a model's template.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::chat_tok::ChatTokSettings;
use crate::chat::{Arguments, TemplateChats, Turns};
use crate::cli::ForPipelines;
use crate::model::{ChatModel, ModelSettings};

use super::chat_args::ChatReadArgs;

/// What happens to reasoning that the template does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum UnseenReasoning {
    #[default]
    Count,
    /// The chat is refused.
    Keep,
}

/// The model, and how its template is used.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// The model's folder, or one tokenizer.json; nothing is fetched
    ///
    /// It has tokenizer.json, tokenizer_config.json and the chat template, as save_pretrained writes them.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,

    /// The chat template, in place of the folder's
    #[arg(long, add = ForPipelines, value_name = "FILE")]
    template: Option<PathBuf>,

    /// Set a variable of the template: enable_thinking=false
    ///
    /// The value is read as JSON, or else as text. Repeatable. A record's own chat_template_kwargs win.
    #[arg(long, add = ForPipelines, value_name = "NAME=VALUE", value_parser = variable)]
    set: Vec<(String, Value)>,

    /// The turns that are trained on: all, last, or split [default: all]
    ///
    /// all: each turn as it stands in the whole text. last: only the last turn. split: a record for each turn
    /// (ids with #1, #2, ...), which ends with that turn, so that the turn stands as the model would have
    /// generated it.
    #[arg(long, add = ForPipelines, value_enum, default_value = "all", value_name = "WHICH")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    turns: Turns,

    /// Another stop token, besides the stop tokens of the folder and the template (repeatable)
    #[arg(long, add = ForPipelines, value_name = "TOKEN", help_heading = "Template")]
    stop: Vec<String>,

    /// Count reasoning that the template does not show, or keep: refuse such chats
    #[arg(long, add = ForPipelines, value_enum, default_value = "count", value_name = "count|keep")]
    #[arg(hide_possible_values = true, help_heading = "Template")]
    reasoning: UnseenReasoning,

    /// Take text of a chat that spells a special token as the token, as transformers does. Otherwise the chat
    /// is refused
    #[arg(long, add = ForPipelines, help_heading = "Template")]
    allow_special: bool,

    /// The date for a template that asks for it; never today's
    #[arg(long, add = ForPipelines, value_name = "YYYY-MM-DD", help_heading = "Template")]
    date: Option<String>,

    /// Give the arguments of calls to the template as objects, or as the text of JSON
    #[arg(long, add = ForPipelines, value_enum, default_value = "object", value_name = "object|text")]
    #[arg(hide_possible_values = true, help_heading = "Template")]
    arguments: Arguments,

    /// Train on the range of the template's {% generation %} if it differs from the range that is found.
    /// Otherwise the chat is refused
    #[arg(long, add = ForPipelines, help_heading = "Template")]
    trust_generation: bool,
}

/// Reads `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err("expected NAME=VALUE, as in enable_thinking=false".to_string());
    };
    let parsed = serde_json::from_str(value);
    Ok((name.to_string(), parsed.unwrap_or_else(|_| Value::from(value))))
}

impl ModelArgs {
    pub fn model(&self) -> ModelSettings {
        ModelSettings {
            folder: self.model.clone(),
            template: self.template.clone(),
            variables: self.set.clone(),
            date: self.date.clone(),
            stops: self.stop.clone(),
        }
    }

    /// Returns how chats are read for this model.
    pub fn chats(&self, read: &ChatReadArgs, model: &ChatModel) -> TemplateChats {
        let mut read = read.settings();
        // A template that does not read reasoning shows it in the content, or not at all.
        read.keeps_tags = !model.reads_reasoning();
        TemplateChats { read, turns: self.turns, arguments: self.arguments }
    }

    pub fn settings(&self) -> ChatTokSettings {
        ChatTokSettings {
            keeps_reasoning: self.reasoning == UnseenReasoning::Keep,
            allows_special: self.allow_special,
            trusts_generation: self.trust_generation,
        }
    }

    /// Whether a record may become several.
    pub fn is_split(&self) -> bool {
        self.turns == Turns::Split
    }

    /// Returns the settings as a header states them.
    pub fn to_json(&self) -> Value {
        let name = |value: Option<clap::builder::PossibleValue>| {
            value.map(|value| value.get_name().to_string())
        };
        json!({
            "turns": name(self.turns.to_possible_value()),
            "reasoning": name(self.reasoning.to_possible_value()),
            "allow_special": self.allow_special,
            "arguments": name(self.arguments.to_possible_value()),
            "trust_generation": self.trust_generation,
        })
    }
}
