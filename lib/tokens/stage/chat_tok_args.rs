//! The arguments that decide for which model chats are rendered, and how its template is used.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use gristmill_template::TrustGeneration;
use serde_json::{Value, json};

use super::chat_tok::Rendering;
use super::spelled::SpelledControl;
use super::template_renderer::{TemplateSettings, Templates};
use super::token_header::TokensOf;
use crate::batch::WantedRecords;
use crate::chat::{
    Arguments, ContentForm, Conversations, ReadSettings, TemplateChats, TextCalls, name_of,
};
use crate::cli::ForPipelines;
use crate::error::{Error, Result};
use crate::harmony::Policy;
use crate::model::{ArgumentForms, ChatModel, GPT_OSS, ModelSettings};
use crate::record::{CHAT, chat};
use crate::stage::{ChatArgs, Chats};

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

    /// Texts of a chat that spell a control token (<|im_start|>): encode them as text, take them for the token, as
    /// transformers does by itself, or refuse the chat [default: text]
    ///
    /// Control tokens are the special tokens of the tokenizer, and the added tokens that stand in the template. Marks of
    /// reasoning with which a content begins, if the template reads no other reasoning, and of calls and results in
    /// texts, if it writes calls in the same way, stay tokens.
    #[arg(long, add = ForPipelines, value_enum, value_name = "text|token|refuse")]
    #[arg(hide_possible_values = true, help_heading = "Template")]
    special: Option<SpelledControl>,

    /// The old name of --special token
    #[arg(long, add = ForPipelines, hide = true, conflicts_with = "special")]
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

/// A model that is open, and how chats are read and rendered for it.
pub struct OpenModel {
    pub rendering: Rendering,
    pub chats: Chats,
    /// Whose tokens they become.
    pub tokens: TokensOf,
    /// The settings, as a header states them.
    pub stated: Value,
    /// What it is, for people.
    pub note: String,
}

impl OpenModel {
    /// Returns the chats that a reader is asked for.
    pub fn wanted(&self) -> WantedRecords {
        let user_fields = self.rendering.read_settings().fields.names();
        WantedRecords { schema: chat::schema(), user_fields, ..WantedRecords::records(&CHAT) }
    }
}

impl ModelArgs {
    /// Returns the model that the user names.
    pub fn named(&self) -> Option<&Path> {
        self.model.as_deref()
    }

    /// Opens the model, for chats that are read so.
    pub fn open(&self, chat: &ChatArgs) -> Result<OpenModel> {
        let chats = Chats::new(chat.id_field.clone());
        chat.check_pairs()?;
        let read = ReadSettings { read_elsewhere: chats.ids.columns(), ..chat.read_settings() };
        if read.takes_pairs() && self.trust_generation == Some(Trust::Yes) {
            let cause = "--trust-generation yes: an answer of a pair begins behind its prompt";
            return Err(Error::usage(cause).hint("--trust-generation no"));
        }
        let Some(model) = &self.model else {
            let cause = "--model is missing: tokens are those of a model";
            return Err(Error::usage(cause).hint("--model gpt-oss, or --model DIR, its folder"));
        };
        if model.as_os_str() == GPT_OSS {
            self.gpt_oss(chats, read, chat)
        } else {
            self.folder(model, (chats, read), chat)
        }
    }

    fn gpt_oss(&self, chats: Chats, read: ReadSettings, chat: &ChatArgs) -> Result<OpenModel> {
        let of_folders = [
            ("--template", self.template.is_some()),
            ("--stop", !self.stop.is_empty()),
            ("--reasoning", self.reasoning.is_some()),
            ("--arguments", self.arguments.is_some()),
            ("--content", self.content.is_some()),
            ("--trust-generation", self.trust_generation.is_some()),
        ];
        if let Some((option, _)) = of_folders.iter().find(|(_, is_given)| *is_given) {
            let cause = format!("{option} is for the template of a folder; {GPT_OSS} is built in");
            return Err(Error::usage(cause).hint("--model DIR"));
        }
        let special = self.special();
        if special == SpelledControl::Token {
            let cause = format!(
                "--special token: {GPT_OSS} encodes texts as openai-harmony does, which has only text"
            );
            return Err(Error::usage(cause).hint("--special text, or --model DIR"));
        }
        let settings = chat.harmony_settings()?;
        let mut rendering = settings.to_json();
        rendering["special"] = json!(name_of(&special));
        let stated = read.stated_with(rendering);
        let note = "tokenizer: o200k, built in; rendered as openai-harmony does; turns end with <|return|>, <|end|>, \
             <|call|>";
        Ok(OpenModel {
            rendering: Rendering::Harmony(Box::new(Conversations::new(read, settings)), special),
            chats,
            tokens: TokensOf::harmony(None, Policy::Chat)?,
            stated,
            note: note.to_string(),
        })
    }

    fn folder(
        &self,
        model: &Path,
        (chats, mut read): (Chats, ReadSettings),
        chat: &ChatArgs,
    ) -> Result<OpenModel> {
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
        let has_text_calls = read.calls == TextCalls::Auto && model.names(true, "<tool_call>");
        if has_text_calls {
            read.calls = TextCalls::Text;
        }
        let stated = read.stated_with(self.to_json());
        let reasoning_key = key.unwrap_or("reasoning_content");
        let (arguments, content) = (self.arguments(&model), self.content.unwrap_or_default());
        let read = TemplateChats { read, arguments, content, reasoning_key };
        let (tokens, note) = (TokensOf::model(&model), model.note());
        let templates = Templates::new(model, read, self.settings(has_text_calls));
        let rendering = Rendering::Template(Box::new(templates));
        Ok(OpenModel { rendering, chats, tokens, stated, note })
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

    /// What happens to control tokens that texts spell.
    fn special(&self) -> SpelledControl {
        let old = if self.allow_special { SpelledControl::Token } else { SpelledControl::Text };
        self.special.unwrap_or(old)
    }

    fn settings(&self, has_text_calls: bool) -> TemplateSettings {
        TemplateSettings {
            keeps_reasoning: self.reasoning == Some(UnseenReasoning::Keep),
            special: self.special(),
            has_text_calls,
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
            "special": name_of(&self.special()),
            "arguments": name_of(&self.arguments.unwrap_or_default()),
            "content": name_of(&self.content.unwrap_or_default()),
            "trust_generation": self.trust_generation.as_ref().and_then(name_of),
        })
    }
}
