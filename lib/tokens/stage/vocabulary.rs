//! The vocabulary that a run uses, for the header of its tokens.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::{Error, Result, shown};
use crate::tokenizer::{PADDED_VOCABULARY_SIZE, VOCABULARY_SHA256, verify_vocabulary};

/// Checks the vocabulary that the user names, if any, against the embedded one.
pub fn describe_tokenizer(named: Option<&Path>) -> Result<Value> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let path = named
        .map(Path::to_path_buf)
        .or_else(|| {
            variable("TIKTOKEN_ENCODINGS_BASE")
                .map(|directory| Path::new(&directory).join("o200k_base.tiktoken"))
        })
        .or_else(|| variable("O200K_HARMONY_VOCAB_PATH").map(PathBuf::from));
    if let Some(path) = &path {
        let bytes = std::fs::read(path).map_err(|e| Error::io(shown(path), &e))?;
        verify_vocabulary(&bytes).map_err(|e| Error::data(e).at(shown(path)))?;
    }
    Ok(json!({
        "type": "o200k_harmony",
        "model_path": path.map_or("embedded".to_string(), |path| shown(&path)),
        "model_sha256": VOCABULARY_SHA256,
        "vocab_size": PADDED_VOCABULARY_SIZE,
    }))
}
