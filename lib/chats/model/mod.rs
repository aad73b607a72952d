//! Models as filters use them: a folder of Hugging Face files, the chat template that renders chats, and what
//! a header states about both.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | a folder with its templates, ready to render |
//! | `probe.rs` | what a template does with reasoning and with arguments of calls |
//! | `stops.rs` | the tokens that end turns |
//! | `control.rs` | control tokens that texts of a chat spell |
//! | `encode.rs` | a text and its segments into tokens, cut where what is trained on begins and ends |
//! | `stated.rs` | the tokenizer that a header states |
//!
//! Nothing is fetched. How a folder is read is in `gristmill_models`, how a template is rendered in
//! `gristmill_template`.

mod control;
mod encode;
mod probe;
mod stated;
mod stops;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use gristmill_models::{Cause, Folder, FolderError, Tokenizer};
use gristmill_template::{Date, Finder, Template, TrustGeneration, Value};
use serde_json::{Map, json};

use crate::batch::TokenizerLocation;
use crate::error::{Error, Result};
use crate::files::{self, FileSnapshot};
use crate::inputs;
use crate::publish::Unfinished;
use crate::visible;

use stated::{of_folder_tokenizer, state_files};

pub use control::{ControlTokens, Marks, Unmarked, each_text, may_be_control, with_texts};
pub use encode::{EncodedText, Piece, TextSegment, encode};
pub use probe::ArgumentForms;
pub use stated::{
    GPT_OSS, NOT_CHECKED, NOT_HARMONY, TokenizerName, Vocabulary, end_of, eos_of, is_assumed,
    is_stated_by_records, locate, o200k, open_of_header, open_stated, refuse_two, state_end,
    state_id, state_location, state_model, state_tokenizer, stated_files, tokenizer_id,
};

/// The folder of a root in which its tokenizer is.
pub const OF_ROOT: &str = "tokenizer";

/// What the user states about a model besides its folder.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    pub folder: PathBuf,
    /// The file of a template, in place of the folder's.
    pub template: Option<PathBuf>,
    /// Variables for the template, in their order.
    pub variables: Vec<(String, serde_json::Value)>,
    /// The day that the template says.
    pub date: Option<String>,
    /// Texts of more tokens that end turns.
    pub stops: Vec<String>,
}

/// A model that chats are made for.
pub struct ChatModel {
    folder: Folder,
    /// The templates of chats without and with tools.
    templates: [ModelTemplate; 2],
    stops: Vec<String>,
    reasoning_key: Option<&'static str>,
    variables: Vec<(String, serde_json::Value)>,
    date: Option<String>,
    /// Whether the user names the file of the template.
    is_template_named: bool,
    /// The SHA-256 of the files of the folder, by name.
    sha256: BTreeMap<String, String>,
}

/// Variables that choose among the generation prompts of a template.
const SWITCHES: [&str; 2] = ["enable_thinking", "thinking"];

/// A template, ready to render.
struct ModelTemplate {
    path: PathBuf,
    sha256: String,
    source: String,
    template: Template,
}

impl ChatModel {
    pub fn open(settings: &ModelSettings) -> Result<ChatModel> {
        let snapshot = |path: &PathBuf| -> Result<Option<FileSnapshot>> {
            let found = files::metadata(path)?.filter(Metadata::is_file);
            Ok(found.map(|found| FileSnapshot::new(path.clone(), &found)))
        };
        let read = model_files(&settings.folder)?.into_iter().chain(settings.template.clone());
        let read: Vec<_> = read.map(|path| snapshot(&path)).collect::<Result<_>>()?;
        let folder = open_folder(&settings.folder)?;
        let named = settings.template.as_deref();
        inputs::name(&settings.template);
        let named = named.map(|path| gristmill_models::Template::read("default", path));
        let named = named.transpose().map_err(of_folder)?;
        let date = settings.date.as_deref();
        let templates = [false, true].map(|has_tools| -> Result<ModelTemplate> {
            let found = match &named {
                Some(template) => template,
                None => folder.template(None, has_tools).map_err(of_folder)?,
            };
            let template = prepared(&folder, found, &settings.variables, date)?;
            let (path, sha256) = (found.path.clone(), found.sha256.clone());
            Ok(ModelTemplate { path, sha256, source: found.text.clone(), template })
        });
        let [without, with] = templates;
        let templates: [ModelTemplate; 2] = [without?, with?];
        for stop in &settings.stops {
            if folder.tokenizer().id_of(stop).is_none() {
                let cause = format!("--stop {}: no token of the model", visible::line(stop));
                return Err(Error::usage(cause));
            }
        }
        let stops =
            stops::stops(&folder, templates.each_ref().map(|of| &of.template), &settings.stops);
        let (variables, date) = (settings.variables.clone(), settings.date.clone());
        let is_template_named = named.is_some();
        let mut location = TokenizerLocation {
            folder: settings.folder.clone(),
            template: settings.template.clone(),
            sha256: BTreeMap::new(),
        };
        state_files(&mut location, &folder)?;
        // (What is stated is what was read.)
        read.iter().flatten().try_for_each(FileSnapshot::check)?;
        let reasoning_key = templates.iter().find_map(|of| probe::reasoning_key(&of.template));
        Ok(ChatModel {
            folder,
            templates,
            stops,
            reasoning_key,
            variables,
            date,
            is_template_named,
            sha256: location.sha256,
        })
    }

    pub fn tokenizer(&self) -> &Tokenizer {
        self.folder.tokenizer()
    }

    /// Returns the text of a special token by its name in the configuration: `bos_token`.
    pub fn special_token(&self, name: &str) -> Option<&str> {
        self.folder.special_token(name)
    }

    /// Returns the finder of turns for a template of this model; `named` are variables that a record sets.
    pub fn finder(
        &self,
        template: Template,
        has_tools: bool,
        named: &[&str],
        generation: TrustGeneration,
    ) -> Finder {
        let mut finder = Finder::new(template.clone(), self.stops.clone());
        let special = self.tokenizer().added_tokens().iter().filter(|token| token.special);
        finder.set_specials(special.map(|token| token.content.to_string()).collect());
        finder.trust_generation(generation);
        let is_set = |name: &str| {
            named.contains(&name) || self.variables.iter().any(|(other, _)| other == name)
        };
        for name in SWITCHES.iter().filter(|name| !is_set(name) && self.names(has_tools, name)) {
            for value in [false, true] {
                let mut switched = template.clone();
                // (No variable of the chat has such a name.)
                if switched.set(name, Value::Bool(value)).is_ok() {
                    finder.add_switched(switched);
                }
            }
        }
        finder
    }

    /// Returns the template for chats with or without tools.
    pub fn template(&self, has_tools: bool) -> &Template {
        &self.templates[usize::from(has_tools)].template
    }

    /// Whether the source of the template (for chats with or without tools) contains a name.
    pub fn names(&self, has_tools: bool, name: &str) -> bool {
        self.templates[usize::from(has_tools)].source.contains(name)
    }

    /// Returns the field of messages from which a template reads reasoning; none if it reads none.
    pub fn reasoning_key(&self) -> Option<&'static str> {
        self.reasoning_key
    }

    /// Returns the forms of arguments of calls that the template for chats with tools writes right.
    pub fn argument_forms(&self) -> ArgumentForms {
        probe::argument_forms(&self.templates[1].template)
    }

    /// Whether the template shows contents only if they are lists of parts.
    pub fn reads_parts_alone(&self) -> bool {
        probe::reads_parts_alone(&self.templates[0].template)
    }

    /// Describes the tokenizer and the tokens that end turns, for people.
    pub fn note(&self) -> String {
        let stops: Vec<String> =
            self.stops.iter().map(|stop| visible::line(stop).into_owned()).collect();
        let stops =
            if stops.is_empty() { "nothing that is known".to_string() } else { stops.join(", ") };
        let ArgumentForms { object, text } = self.argument_forms();
        let arguments = match (object, text) {
            (true, true) => "as objects and as text",
            (false, true) => "as text",
            _ => "as objects",
        };
        let is_of_file =
            |class: &&str| !["PreTrainedTokenizerFast", "TokenizersBackend"].contains(class);
        let class = self.folder.class().filter(is_of_file).map_or(String::new(), |class| {
            let class = visible::line(class);
            format!("; ids are those of tokenizer.json, also where transformers builds {class} anew and gives others")
        });
        format!(
            "tokenizer: {}{class}; turns end with {stops}; arguments of calls come out right {arguments}; reasoning is read from {}",
            self.tokenizer().engine_note(),
            self.reasoning_key.unwrap_or("the content")
        )
    }

    /// Returns the control tokens of chats with or without tools.
    pub fn control_tokens(&self, has_tools: bool) -> ControlTokens {
        ControlTokens::new(&self.folder, self.template(has_tools))
    }

    /// Returns the texts of the tokens that end turns.
    pub fn stops(&self) -> &[String] {
        &self.stops
    }

    /// Returns where its files are.
    pub fn location(&self) -> TokenizerLocation {
        let template = self.is_template_named.then(|| self.templates[0].path.clone());
        let folder = self.folder.path().to_path_buf();
        TokenizerLocation { folder, template, sha256: self.sha256.clone() }
    }

    /// Describes tokenizer and template for the header of the tokens.
    pub fn describe(&self) -> serde_json::Value {
        let [template, with_tools] = &self.templates;
        let mut described = of_folder_tokenizer(&self.folder);
        described["template_sha256"] = template.sha256.as_str().into();
        described["stop_tokens"] = json!(self.stops);
        described["variables"] = json!(self.variables.iter().cloned().collect::<Map<_, _>>());
        described["date"] = json!(self.date);
        if with_tools.sha256 != template.sha256 {
            described["tools_template_sha256"] = with_tools.sha256.as_str().into();
        }
        described
    }
}

/// Opens a folder, or one `tokenizer.json`.
pub fn open_folder(path: &Path) -> Result<Folder> {
    inputs::name(&model_files(path)?);
    Folder::open(path).map_err(of_folder)
}

/// Returns the files of a folder that [`open_folder`] looks at.
pub fn model_files(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(files_of(path)?.into_iter().map(|(_, file)| file).collect())
}

/// Returns the names of these files, and their paths.
fn files_of(path: &Path) -> Result<Vec<(String, PathBuf)>> {
    Unfinished::in_folders([OF_ROOT]).refuse(path, &[], false)?;
    gristmill_models::files_of(path).map_err(of_folder)
}

/// Returns an error of a folder as one of this library.
fn of_folder(error: FolderError) -> Error {
    let FolderError { path, cause } = error;
    if let Cause::Read(cause) = &cause {
        return Error::io(path.as_path(), cause);
    }
    let text = visible::line(&cause.to_string()).into_owned();
    match cause {
        Cause::NoTemplate | Cause::SeveralTemplates { .. } => {
            Error::usage(text).at(path.as_path()).hint("--template FILE")
        }
        _ => Error::data(text).at(path.as_path()),
    }
}

/// Makes a template with the special tokens of the folder, and what the user sets.
fn prepared(
    folder: &Folder,
    found: &gristmill_models::Template,
    variables: &[(String, serde_json::Value)],
    date: Option<&str>,
) -> Result<Template> {
    let failed = |error: gristmill_template::Error| {
        Error::data(visible::line(&error.to_string())).at(found.path.as_path())
    };
    let mut template = Template::new(&found.text).map_err(failed)?;
    for (name, token) in folder.special_tokens() {
        template.set(name, Value::text(token)).map_err(failed)?;
    }
    for (name, value) in variables {
        let value = Value::from_json(&value.to_string()).map_err(Error::usage)?;
        template.set(name, value).map_err(|error| Error::usage(format!("--set {error}")))?;
    }
    if let Some(text) = date {
        let date = Date::parse(text);
        let date = date.ok_or_else(|| {
            Error::usage(format!("--date {}: expected YYYY-MM-DD", visible::line(text)))
        })?;
        template.set_date(date);
    }
    Ok(template)
}
