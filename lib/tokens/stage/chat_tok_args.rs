//! The arguments that decide for which model chats are rendered, and how its template is used.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gristmill_template::TrustGeneration;
use serde_json::{Value, json};

use super::chat_tok::Rendering;
use super::template_renderer::{TemplateSettings, Templates};
use super::token_header::TokensOf;
use crate::chat::{
    Arguments, ContentForm, Conversations, ReadSettings, TemplateChats, TextCalls, name_of,
};
use crate::cli::ForPipelines;
use crate::error::{Error, Result};
use crate::harmony::Policy;
use crate::model::{ArgumentForms, ChatModel, GPT_OSS, ModelSettings};
use crate::stage::ChatArgs;

/// What happens to reasoning that the template does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum UnseenReasoning {
    #[default]
    Count,
    /// The chat is refused.
    Keep,
}

/// The form of the arguments of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ArgumentForm {
    #[default]
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

/// The model, and how the template of a folder is used.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// gpt-oss, which is built in, or a Hugging Face folder
    ///
    /// Nothing is fetched. gpt-oss is rendered as openai-harmony renders it, and tokenized with o200k. A folder has tokenizer.json,
    /// tokenizer_config.json and the chat template, as save_pretrained writes them; it may be one tokenizer.json.
    /// (A folder that is named gpt-oss is ./gpt-oss.)
    #[arg(long, value_name = "gpt-oss|DIR")]
    model: Option<PathBuf>,

    /// The chat template, in place of the folder's
    #[arg(long, add = ForPipelines, value_name = "FILE", help_heading = "Template")]
    template: Option<PathBuf>,

    /// Another stop token, besides the stop tokens of the folder and the template (repeatable)
    #[arg(long, add = ForPipelines, value_name = "TOKEN", help_heading = "Template")]
    stop: Vec<String>,

    /// Count reasoning that the template does not show, or keep: refuse such chats [default: count]
    #[arg(long, add = ForPipelines, value_enum, value_name = "count|keep")]
    #[arg(hide_possible_values = true, help_heading = "Template")]
    reasoning: Option<UnseenReasoning>,

    /// Take text of a chat that spells a special token as the token, as transformers does. Otherwise the chat
    /// is refused
    #[arg(long, add = ForPipelines, help_heading = "Template")]
    allow_special: bool,

    /// Give the arguments of calls to the template as objects, as the text of JSON, or (auto) in the form that
    /// the template writes as an object of JSON; as the chat has them if it writes both so [default: auto]
    #[arg(long, add = ForPipelines, value_enum, value_name = "WHICH")]
    #[arg(hide_possible_values = true, help_heading = "Template")]
    arguments: Option<ArgumentForm>,

    /// Give contents to the template as texts, or as lists of parts, which some templates of models for images
    /// read alone [default: text]
    #[arg(long, add = ForPipelines, value_enum, value_name = "text|parts")]
    #[arg(hide_possible_values = true, help_heading = "Template")]
    content: Option<ContentForm>,

    /// yes: train on the range that the template's {% generation %} names, if it differs from the range that
    /// is found; no: on the range that is found. Otherwise such chats are refused
    #[arg(long, add = ForPipelines, value_name = "yes|no", help_heading = "Template")]
    #[arg(value_enum, hide_possible_values = true)]
    trust_generation: Option<Trust>,
}

/// A model that is open, and how chats are rendered for it.
pub struct OpenModel {
    pub rendering: Rendering,
    /// Whose tokens they become.
    pub tokens: TokensOf,
    /// The settings, as a header states them.
    pub stated: Value,
    /// What it is, for people.
    pub note: String,
}

impl ModelArgs {
    /// Opens the model, for chats that are read so.
    pub fn open(&self, read: ReadSettings, chat: &ChatArgs) -> Result<OpenModel> {
        let Some(model) = &self.model else {
            let cause = "--model is missing: tokens are those of a model";
            return Err(Error::usage(cause).hint("--model gpt-oss, or --model DIR, its folder"));
        };
        if model.as_os_str() == GPT_OSS {
            self.gpt_oss(read, chat)
        } else {
            self.folder(model, read, chat)
        }
    }

    fn gpt_oss(&self, read: ReadSettings, chat: &ChatArgs) -> Result<OpenModel> {
        let of_folders = [
            ("--template", self.template.is_some()),
            ("--stop", !self.stop.is_empty()),
            ("--reasoning", self.reasoning.is_some()),
            ("--allow-special", self.allow_special),
            ("--arguments", self.arguments.is_some()),
            ("--content", self.content.is_some()),
            ("--trust-generation", self.trust_generation.is_some()),
        ];
        if let Some((option, _)) = of_folders.iter().find(|(_, is_given)| *is_given) {
            let cause = format!("{option} is for the template of a folder; {GPT_OSS} is built in");
            return Err(Error::usage(cause).hint("--model DIR"));
        }
        let settings = chat.harmony_settings()?;
        let stated = read.stated_with(settings.to_json());
        let note = "tokenizer: o200k, built in; rendered as openai-harmony does; turns end with <|return|>, <|end|>, \
             <|call|>";
        Ok(OpenModel {
            rendering: Rendering::Harmony(Box::new(Conversations::new(read, settings))),
            tokens: TokensOf::harmony(None, Policy::Chat)?,
            stated,
            note: note.to_string(),
        })
    }

    fn folder(&self, model: &Path, mut read: ReadSettings, chat: &ChatArgs) -> Result<OpenModel> {
        let variable = |(name, value): &(String, String)| {
            let parsed = serde_json::from_str(value);
            (name.clone(), parsed.unwrap_or_else(|_| Value::from(&**value)))
        };
        let model = ChatModel::open(&ModelSettings {
            folder: model.to_path_buf(),
            template: self.template.clone(),
            variables: chat.set.iter().map(variable).collect(),
            date: chat.date.clone(),
            stops: self.stop.clone(),
        })?;
        // A template that does not read reasoning shows it in the content, or not at all.
        let key = model.reasoning_key();
        read.keeps_tags = key.is_none();
        // (A template that writes calls so shows them as they stand in the text.)
        if read.calls == TextCalls::Auto && model.names(true, "<tool_call>") {
            read.calls = TextCalls::Text;
        }
        let stated = read.stated_with(self.to_json());
        let reasoning_key = key.unwrap_or("reasoning_content");
        let (arguments, content) = (self.arguments(&model), self.content.unwrap_or_default());
        let chats = TemplateChats { read, arguments, content, reasoning_key };
        let (tokens, note) = (TokensOf::model(&model), model.note());
        let templates = Templates::new(model, chats, self.settings());
        Ok(OpenModel { rendering: Rendering::Template(Box::new(templates)), tokens, stated, note })
    }

    /// The form in which the template is given the arguments of calls.
    fn arguments(&self, model: &ChatModel) -> Arguments {
        match self.arguments.unwrap_or_default() {
            ArgumentForm::Object => Arguments::Object,
            ArgumentForm::Text => Arguments::Text,
            ArgumentForm::Auto => match model.argument_forms() {
                ArgumentForms { object: true, text: true } => Arguments::AsGiven,
                ArgumentForms { object: false, text: true } => Arguments::Text,
                ArgumentForms { text: false, .. } => Arguments::Object,
            },
        }
    }

    fn settings(&self) -> TemplateSettings {
        TemplateSettings {
            keeps_reasoning: self.reasoning == Some(UnseenReasoning::Keep),
            allows_special: self.allow_special,
            generation: match self.trust_generation {
                None => TrustGeneration::Unsaid,
                Some(Trust::Yes) => TrustGeneration::Yes,
                Some(Trust::No) => TrustGeneration::No,
            },
        }
    }

    /// Returns the settings of a folder as a header states them.
    fn to_json(&self) -> Value {
        json!({
            "reasoning": name_of(&self.reasoning.unwrap_or_default()),
            "allow_special": self.allow_special,
            "arguments": name_of(&self.arguments.unwrap_or_default()),
            "content": name_of(&self.content.unwrap_or_default()),
            "trust_generation": self.trust_generation.as_ref().and_then(name_of),
        })
    }
}
