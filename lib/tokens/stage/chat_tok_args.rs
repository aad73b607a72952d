//! The arguments that decide how chats are rendered by a model's template.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gristmill_template::TrustGeneration;
use serde_json::{Value, json};

use super::chat_tok::ChatTokSettings;
use crate::chat::{Arguments, ContentForm, TemplateChats, TextCalls, Turns};
use crate::cli::ForPipelines;
use crate::model::{ArgumentForms, ChatModel, ModelSettings};

use crate::stage::ChatReadArgs;

/// What happens to reasoning that the template does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum UnseenReasoning {
    #[default]
    Count,
    /// The chat is refused.
    Keep,
}

/// The form of the arguments of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArgumentForm {
    Auto,
    Object,
    Text,
}

/// Whether the ranges of `{% generation %}` are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Trust {
    Yes,
    No,
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

    /// The answers that are trained on, and the records of a chat: fit, all, or last [default: fit]
    ///
    /// fit: all, in the fewest records in which each stands as the model generates it (ids with #1, #2, ... if
    /// a chat becomes several: templates drop the reasoning of earlier turns). all: one record for a
    /// chat, in which answers are trained on as they stand in the history. last: only the last answer.
    /// (split is the old name of fit.)
    #[arg(long, add = ForPipelines, value_enum, default_value = "fit", value_name = "WHICH")]
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

    /// Give the arguments of calls to the template as objects, as the text of JSON, or (auto) in the form that
    /// the template writes as an object of JSON; as the chat has them if it writes both so
    #[arg(long, add = ForPipelines, value_enum, default_value = "auto", value_name = "WHICH")]
    #[arg(hide_default_value = true, hide_possible_values = true, help_heading = "Template")]
    arguments: ArgumentForm,

    /// Give contents to the template as texts, or as lists of parts, which some templates of models for images
    /// read alone
    #[arg(long, add = ForPipelines, value_enum, default_value = "text", value_name = "text|parts")]
    #[arg(hide_possible_values = true, help_heading = "Template")]
    content: ContentForm,

    /// yes: train on the range that the template's {% generation %} names, if it differs from the range that
    /// is found; no: on the range that is found. Otherwise such chats are refused
    #[arg(long, add = ForPipelines, value_name = "yes|no", help_heading = "Template")]
    #[arg(value_enum, hide_possible_values = true)]
    trust_generation: Option<Trust>,
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
        let key = model.reasoning_key();
        read.keeps_tags = key.is_none();
        // (A template that writes calls so shows them as they stand in the text.)
        if read.calls == TextCalls::Auto && model.names(true, "<tool_call>") {
            read.calls = TextCalls::Text;
        }
        let reasoning_key = key.unwrap_or("reasoning_content");
        let arguments = self.arguments(model);
        let (turns, content) = (self.turns, self.content);
        TemplateChats { read, turns, arguments, content, reasoning_key }
    }

    /// The form in which the template is given the arguments of calls.
    fn arguments(&self, model: &ChatModel) -> Arguments {
        match self.arguments {
            ArgumentForm::Object => Arguments::Object,
            ArgumentForm::Text => Arguments::Text,
            ArgumentForm::Auto => match model.argument_forms() {
                ArgumentForms { object: true, text: true } => Arguments::AsGiven,
                ArgumentForms { object: false, text: true } => Arguments::Text,
                ArgumentForms { text: false, .. } => Arguments::Object,
            },
        }
    }

    pub fn settings(&self) -> ChatTokSettings {
        ChatTokSettings {
            keeps_reasoning: self.reasoning == UnseenReasoning::Keep,
            allows_special: self.allow_special,
            generation: match self.trust_generation {
                None => TrustGeneration::Unsaid,
                Some(Trust::Yes) => TrustGeneration::Yes,
                Some(Trust::No) => TrustGeneration::No,
            },
        }
    }

    /// Whether a record may become several, or none.
    pub fn is_split(&self) -> bool {
        self.turns != Turns::All
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
            "content": name(self.content.to_possible_value()),
            "trust_generation": self.trust_generation.and_then(|trust| name(trust.to_possible_value())),
        })
    }
}
