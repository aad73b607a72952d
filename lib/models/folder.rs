//! Reads the files of a model's folder. Nothing is fetched.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config;
use crate::error::{Cause, FolderError};
use crate::template::{Template, choose, template_files, templates_of};
use crate::text_file::{found, is_there, read_bytes, read_text};
use crate::tokenizer::{EngineChoice, Tokenizer};

/// A model's folder, or one `tokenizer.json` alone.
pub struct Folder {
    path: PathBuf,
    tokenizer_path: PathBuf,
    tokenizer_sha256: String,
    tokenizer: Tokenizer,
    templates: Vec<Template>,
    special_tokens: Vec<(String, String)>,
    stop_tokens: Vec<StopToken>,
    class: Option<String>,
    control_tokens: Option<Vec<String>>,
}

/// The file of the tokenizer.
const TOKENIZER: &str = "tokenizer.json";

/// Further files of a folder: about the tokenizer, its special tokens, the model, and how it generates.
const CONFIGS: [&str; 5] = [
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "generation_config.json",
];

/// Returns the existing files that [`Folder::open`] reads: the name of each below the folder, and its path. The last is
/// `tokenizer.json`; a file that is opened without a folder gets this name, whatever it is called.
pub fn files_of(path: &Path) -> Result<Vec<(String, PathBuf)>, FolderError> {
    if is_file(path)? {
        return Ok(vec![(TOKENIZER.to_owned(), path.to_owned())]);
    }
    let mut files = Vec::new();
    for name in CONFIGS {
        let path = path.join(name);
        if is_there(&path)? {
            files.push((name.to_owned(), path));
        }
    }
    files.extend(template_files(path)?);
    files.push((TOKENIZER.to_owned(), path.join(TOKENIZER)));
    Ok(files)
}

/// A token at which the model stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopToken {
    /// Its id.
    pub id: u32,
    /// The text that spells it.
    pub text: String,
    /// The file that names it.
    pub path: PathBuf,
}

impl Folder {
    /// Reads a folder, or one `tokenizer.json`.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        Self::open_with(path, EngineChoice::Fastest)
    }

    /// Reads a folder, or one `tokenizer.json`, with a choice of the engine.
    pub fn open_with(path: &Path, choice: EngineChoice) -> Result<Self, FolderError> {
        let is_alone = is_file(path)?;
        let tokenizer_path = if is_alone { path.to_owned() } else { path.join(TOKENIZER) };
        is_there(&tokenizer_path)?;
        let configs = if is_alone { Configs::default() } else { Configs::read(path)? };
        let special_tokens = config::special_tokens(configs.of(0), configs.of(1))?;
        let files = [configs.of(0), configs.of(1), configs.of(2)];
        let stated = config::stated_tokens(files, &special_tokens)?;
        let file = read_bytes(&tokenizer_path)?;
        let (tokenizer, tokenizer_sha256) =
            Tokenizer::parse(&tokenizer_path, file, stated, choice)?;
        let mut folder = Self {
            path: path.to_owned(),
            tokenizer_path,
            tokenizer_sha256,
            tokenizer,
            templates: if is_alone { Vec::new() } else { templates_of(path, configs.of(0))? },
            special_tokens,
            stop_tokens: Vec::new(),
            class: configs
                .of(0)
                .and_then(|(_, config)| Some(config["tokenizer_class"].as_str()?.into())),
            control_tokens: configs.of(0).map_or(Ok(None), config::control_tokens)?,
        };
        folder.find_stop_tokens(&configs)?;
        Ok(folder)
    }

    /// The chat template that a folder has for chats with or without tools; nothing else of the folder is read.
    pub fn template_in(path: &Path, has_tools: bool) -> Result<Template, FolderError> {
        let config_path = path.join(CONFIGS[0]);
        let config = read_json(&config_path)?;
        let templates = templates_of(path, config.as_ref().map(|config| (&*config_path, config)))?;
        choose(path, &templates, None, has_tools).cloned()
    }

    fn find_stop_tokens(&mut self, configs: &Configs) -> Result<(), FolderError> {
        if let Some(text) = self.special_token("eos_token").map(str::to_owned)
            && let Some(id) = self.tokenizer.id_of(&text)
        {
            let path = self.path.join(CONFIGS[0]);
            self.stop_tokens.push(StopToken { id, text, path });
        }
        for (path, config) in [3, 4].into_iter().filter_map(|place| configs.of(place)) {
            for id in config::stop_ids(path, config)? {
                self.add_stop_token(id, path)?;
            }
        }
        Ok(())
    }

    fn add_stop_token(&mut self, id: u32, path: &Path) -> Result<(), FolderError> {
        if self.stop_tokens.iter().any(|known| known.id == id) {
            return Ok(());
        }
        let Some(bytes) = self.tokenizer.token_bytes(id) else {
            let text = format!("eos_token_id {id} is no id of tokenizer.json");
            return Err(FolderError::other(path, text));
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.stop_tokens.push(StopToken { id, text, path: path.to_owned() });
        Ok(())
    }

    /// The folder, or the file if it is one alone.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of `tokenizer.json`.
    pub fn tokenizer_path(&self) -> &Path {
        &self.tokenizer_path
    }

    /// SHA-256 of `tokenizer.json`, in hexadecimal.
    pub fn tokenizer_sha256(&self) -> &str {
        &self.tokenizer_sha256
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// All chat templates.
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Returns the chat template with this name. Without a name: `tool_use` for a chat with tools, if the folder has
    /// it, else the default, as in transformers.
    pub fn template(&self, name: Option<&str>, has_tools: bool) -> Result<&Template, FolderError> {
        choose(&self.path, &self.templates, name, has_tools)
    }

    /// The names and texts of special tokens, as templates use them: `bos_token`, `eos_token`, `pad_token` and others.
    pub fn special_tokens(&self) -> &[(String, String)] {
        &self.special_tokens
    }

    /// The text of a special token: `special_token("bos_token")`.
    pub fn special_token(&self, name: &str) -> Option<&str> {
        let mut tokens = self.special_tokens.iter();
        tokens.find(|(known, _)| known == name).map(|(_, token)| &**token)
    }

    /// The tokens at which the model stops: the eos tokens of the tokenizer, of `config.json` and of
    /// `generation_config.json`, each once.
    pub fn stop_tokens(&self) -> &[StopToken] {
        &self.stop_tokens
    }

    /// The class of transformers that `tokenizer_config.json` names. Most classes with a model's name build the tokenizer
    /// anew from the vocabulary of `tokenizer.json`, and may give other ids.
    pub fn class(&self) -> Option<&str> {
        self.class.as_deref()
    }

    /// The texts of added tokens that chats are made of beside the special ones, if `tokenizer_config.json` states them
    /// (`chat_control_tokens` of transformers).
    pub fn control_tokens(&self) -> Option<&[String]> {
        self.control_tokens.as_deref()
    }

    /// The number of ids with added tokens: the highest id plus one.
    pub fn vocabulary_size(&self) -> u32 {
        self.tokenizer.vocabulary_size()
    }

    /// Checks that all ids fit into a type; `highest` is its highest value, and errors name it as `dtype`.
    pub fn check_ids_fit(&self, highest: u32, dtype: &'static str) -> Result<(), FolderError> {
        match self.vocabulary_size().checked_sub(1) {
            Some(id) if id > highest => {
                let cause = Cause::TooManyIds { highest: id, dtype };
                Err(FolderError::new(&self.tokenizer_path, cause))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a path is one file, and no folder.
fn is_file(path: &Path) -> Result<bool, FolderError> {
    Ok(found(path)?.is_some_and(|found| found.is_file()))
}

/// The files of [`CONFIGS`] that are there.
#[derive(Default)]
struct Configs([Option<(PathBuf, Value)>; CONFIGS.len()]);

impl Configs {
    fn read(folder: &Path) -> Result<Self, FolderError> {
        let mut configs = Self::default();
        for (config, name) in configs.0.iter_mut().zip(CONFIGS) {
            let path = folder.join(name);
            *config = read_json(&path)?.map(|value| (path, value));
        }
        Ok(configs)
    }

    fn of(&self, place: usize) -> Option<(&Path, &Value)> {
        self.0[place].as_ref().map(|(path, value)| (&**path, value))
    }
}

/// Reads a JSON file; none if it does not exist.
fn read_json(path: &Path) -> Result<Option<Value>, FolderError> {
    if !is_there(path)? {
        return Ok(None);
    }
    let text = read_text(path)?;
    let value = serde_json::from_str(&text).or_else(|error| {
        // Python writes numbers that JSON does not have; none of them is needed here.
        serde_json::from_str(&without_infinities(&text)).map_err(|_| error)
    });
    value.map(Some).map_err(|error| FolderError::new(path, Cause::Json(error)))
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside of texts by `null`.
fn without_infinities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_text = false;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let number =
            ["NaN", "Infinity", "-Infinity"].into_iter().find(|name| rest.starts_with(name));
        if let Some(number) = number.filter(|_| !is_text) {
            out.push_str("null");
            rest = &rest[number.len()..];
            continue;
        }
        is_text ^= character == '"';
        let length = match character {
            '\\' if is_text => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => character.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}
