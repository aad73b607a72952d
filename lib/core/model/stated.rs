//! The tokenizer that a header or a manifest states.

use std::path::Path;

use gristmill_models::Folder;
use serde_json::{Value, json};

use super::open_folder;
use crate::batch::Header;
use crate::error::{Error, Result};
use crate::tokenizer::PADDED_VOCABULARY_SIZE;

/// Whose ids tokens are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerName {
    /// The vocabulary that is part of this program.
    O200k,
    /// A `tokenizer.json`.
    HuggingFace,
    /// Something that is not known here.
    Other,
}

impl TokenizerName {
    pub const fn name(self) -> &'static str {
        match self {
            TokenizerName::O200k => "o200k_harmony",
            TokenizerName::HuggingFace => "huggingface",
            TokenizerName::Other => "other",
        }
    }

    /// Returns the name in what a header states of its tokenizer; `None` if nothing is stated.
    pub fn of(stated: Option<&Value>) -> Option<TokenizerName> {
        let stated = stated.filter(|stated| !stated.is_null())?;
        let known = [TokenizerName::O200k, TokenizerName::HuggingFace];
        let name = stated.get("type").and_then(Value::as_str);
        Some(known.into_iter().find(|of| name == Some(of.name())).unwrap_or(TokenizerName::Other))
    }
}

/// The vocabulary of tokens, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Vocabulary {
    /// o200k, whose control tokens and texts are known here.
    #[default]
    O200k,
    /// That of another tokenizer: its number of ids, if that is stated.
    Other { size: Option<i32> },
}

impl Vocabulary {
    /// Returns the vocabulary of what a header states of its tokenizer; where nothing is stated, or a name that others
    /// have for it, that of the contract.
    pub fn of(stated: Option<&Value>) -> Vocabulary {
        match TokenizerName::of(stated) {
            None | Some(TokenizerName::O200k | TokenizerName::Other) => Vocabulary::O200k,
            Some(TokenizerName::HuggingFace) => {
                let size = stated.and_then(|stated| stated.get("vocab_size")?.as_i64());
                Vocabulary::Other { size: size.and_then(|size| size.try_into().ok()) }
            }
        }
    }

    pub fn is_o200k(self) -> bool {
        self == Vocabulary::O200k
    }

    /// Returns the number of its ids, if it is known.
    pub fn size(self) -> Option<i32> {
        match self {
            Vocabulary::O200k => Some(PADDED_VOCABULARY_SIZE),
            Vocabulary::Other { size } => size,
        }
    }

    /// Whether an id may be in it.
    pub fn has(self, id: i32) -> bool {
        id >= 0 && self.size().is_none_or(|size| id < size)
    }
}

/// What of tokens of another tokenizer cannot be checked here.
pub const NOT_CHECKED: &str = "tokens of another tokenizer than o200k: their ids and masks are checked, \
     not their texts, control tokens and ends of documents";

/// States in a header that its tokens are those of a model, if the user names one: NDJSON has no header. A header that
/// states another `tokenizer.json` is refused.
pub fn state_model(header: &mut Header, model: Option<&Path>) -> Result<()> {
    let Some(path) = model else { return Ok(()) };
    let stated = header.parameters.get(TOKENIZER).filter(|stated| !stated.is_null());
    let folder = open_stated(path, stated)?;
    if stated.is_none() {
        header.set(
            TOKENIZER,
            json!({
                "type": TokenizerName::HuggingFace.name(),
                "model_sha256": folder.tokenizer_sha256(),
                "vocab_size": folder.vocabulary_size(),
                "bos_token": folder.special_token("bos_token"),
                "eos_token": folder.special_token("eos_token"),
            }),
        );
    }
    Ok(())
}

/// The parameter of a header that states the tokenizer.
const TOKENIZER: &str = "tokenizer";

/// Opens a folder for tokens of which this is stated: another `tokenizer.json` than theirs is refused.
pub fn open_stated(path: &Path, stated: Option<&Value>) -> Result<Folder> {
    let folder = open_folder(path)?;
    let sha256 = stated.and_then(|stated| stated.get("model_sha256")).and_then(Value::as_str);
    match sha256 {
        Some(sha256) if sha256 != folder.tokenizer_sha256() => {
            let found = folder.tokenizer_sha256();
            let cause = format!("its sha256 is {found}; the tokens are of {sha256}");
            Err(Error::usage(cause).at(folder.tokenizer_path()))
        }
        _ => Ok(folder),
    }
}
