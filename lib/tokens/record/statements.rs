//! What headers state of tokens, beside what they state of the conversations from which these come.

use serde::{Deserialize, Serialize};

use crate::batch::statements;
use crate::format::kd_root::SourceLimits;
use crate::provenance::InputManifest;

pub use gristmill_chats::record::statements::*;

/// What the header of records states of the rows from which these come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedRows {
    /// The name of the form.
    pub form: Option<String>,
    pub seq_length: Option<u64>,
    /// Null if not all rows are read, as is the next field.
    pub rows: Option<u64>,
    pub used: Option<u64>,
    /// Whether the rows have the end of each document; the records always have it.
    pub keep_eod: bool,
    /// The tokens of padding, if pieces are padded and all rows are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<u64>,
}

statements! {
    pub INPUT_MANIFEST: InputManifest = "input_manifest",
        "harmony-tok": "`path` and `sha256` of the `manifest.json` beside the inputs, or null";
    pub LIMITS: SourceLimits = "limits",
        "harmony-tok, chat-tok": "`rows`, `tokens`, `slice`, each null if not set";
    pub WEIGHTS: bool = "weights",
        "ds-cat of a root": "true if messages have no span because of weights: which ones is not known there";
    pub PACKED: StatedRows = "packed",
        "rows for trainers": "`form`, `seq_length`, `rows` and `used` of the rows from which the records come, the last two null \
         if not all rows are read; `keep_eod`, whether the rows have the end of each document, which the records always have; \
         of padded rows also `padding`, in tokens";
}
