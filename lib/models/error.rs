//! Errors of folders, texts and ids; each has one line, with the file or the place.

use std::path::{Path, PathBuf};

/// An error of a file or folder.
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
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Read(std::io::Error),
    /// It is not UTF-8.
    #[error("not UTF-8: byte {0} is not part of a character")]
    Encoding(usize),
    /// It is not JSON, or not the JSON that belongs into this file.
    #[error("damaged JSON: {0}")]
    Json(serde_json::Error),
    /// The folder has no chat template.
    #[error(
        "no chat template: no chat_template.jinja, and no chat_template in tokenizer_config.json"
    )]
    NoTemplate,
    /// There is no template of this name.
    #[error("no chat template {wanted:?}; there are: {}", names.join(", "))]
    UnknownTemplate {
        /// The wanted name.
        wanted: String,
        /// The names of the templates.
        names: Vec<String>,
    },
    /// There are several templates, and none is the default.
    #[error("several chat templates and no default, choose one: {}", names.join(", "))]
    SeveralTemplates {
        /// The names of the templates.
        names: Vec<String>,
    },
    /// The ids do not fit.
    #[error("ids up to {highest} do not fit in {dtype}")]
    TooManyIds {
        /// The highest id.
        highest: u32,
        /// The type that ids are written in.
        dtype: &'static str,
    },
    /// Its content is wrong, as the text explains.
    #[error("{0}")]
    Content(String),
}

/// The reference engine cannot encode a text.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode the text: {0}")]
pub struct EncodeError(pub String);

/// An id that the vocabulary does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token {id} at position {at}: no id of the model's vocabulary")]
pub struct UnknownToken {
    /// The id.
    pub id: i32,
    /// Its place among the given ids.
    pub at: usize,
}
