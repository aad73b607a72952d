//! What can be wrong with a folder, a text or an id: one line each, with the file or the place.

use std::path::{Path, PathBuf};

/// A file of a folder, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct FolderError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong.
    pub cause: Cause,
}

impl FolderError {
    pub(crate) fn new(path: &Path, cause: Cause) -> Self {
        Self { path: path.to_owned(), cause }
    }

    pub(crate) fn other(path: &Path, message: impl Into<String>) -> Self {
        Self::new(path, Cause::Content(message.into()))
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// It is missing, or the system does not give it.
    #[error("cannot read it: {0}")]
    Read(std::io::Error),
    /// It is not UTF-8.
    #[error("not UTF-8: byte {0} is not part of a character")]
    Encoding(usize),
    /// It is no JSON, or not the JSON that this file has.
    #[error("damaged JSON: {0}")]
    Json(serde_json::Error),
    /// Nothing in the folder is a chat template.
    #[error(
        "no chat template: no chat_template.jinja, and no chat_template in tokenizer_config.json"
    )]
    NoTemplate,
    /// There is no template of this name.
    #[error("no chat template {wanted:?}; there are: {}", names.join(", "))]
    UnknownTemplate {
        /// The name that was asked for.
        wanted: String,
        /// The names that there are.
        names: Vec<String>,
    },
    /// There are several templates, and none is the default.
    #[error("several chat templates and no default, choose one: {}", names.join(", "))]
    SeveralTemplates {
        /// Their names.
        names: Vec<String>,
    },
    /// The ids do not fit.
    #[error("ids up to {highest} do not fit in {dtype}")]
    TooManyIds {
        /// The highest id.
        highest: u32,
        /// The type that was wanted.
        dtype: &'static str,
    },
    /// Its content is wrong, as the text says.
    #[error("{0}")]
    Content(String),
}

/// A text that the reference engine cannot encode.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode the text: {0}")]
pub struct EncodeError(pub String);

/// An id that the vocabulary does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token {id} at position {at}: no id of the model's vocabulary")]
pub struct UnknownToken {
    /// The id.
    pub id: i32,
    /// Where it is among the ids that were given.
    pub at: usize,
}
