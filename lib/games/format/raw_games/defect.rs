//! Every defect that makes a game a bad record, with its text.

use std::path::PathBuf;

use crate::game2048::{CELLS, Direction, MAX_EXPONENT};
use crate::json;
use crate::wording::exactly;

/// Why a game is a bad record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Defect {
    /// A sidecar without a steps file.
    #[error("its steps file {} is missing", .missing.display())]
    NoSteps { missing: PathBuf },
    /// A steps file without a sidecar.
    #[error("its metadata {} (or .gz) is missing", .missing.display())]
    NoMeta { missing: PathBuf },
    #[error("the game has a second metadata file, {}", .other.display())]
    BothMetas { other: PathBuf },
    /// The gzip stream is damaged or cut.
    #[error("broken gzip: {cause}")]
    Gzip { cause: String },
    #[error("metadata of more than {limit} bytes")]
    LargeMeta { limit: usize },
    #[error("a line of more than {limit} bytes; try: --max-record-bytes N, if it is good")]
    LongLine { limit: usize },
    #[error("broken JSON: the text is not UTF-8")]
    Utf8,
    #[error("broken JSON: {0}")]
    Json(#[from] json::Error),
    #[error("`{key}` is missing")]
    MissingKey { key: &'static str },
    #[error("`{key}` stands twice")]
    Duplicate { key: String },
    #[error("`{key}` is not {expected}: {found}")]
    Kind { key: &'static str, expected: &'static str, found: String },
    #[error("`board` has {}, not {CELLS}", exactly(*.cells, "cell"))]
    BoardLength { cells: usize },
    #[error("`board` has exponent {exponent} in cell {cell}, over {MAX_EXPONENT}")]
    Exponent { cell: usize, exponent: String },
    #[error("unknown move \"{name}\"")]
    UnknownMove { name: String },
    #[error("the board cannot move {}", .direction.name())]
    IllegalMove { direction: Direction },
    #[error("`{key}` is no finite number: {value}")]
    NotFinite { key: &'static str, value: String },
    #[error("`{key}` overflows f32: {value}")]
    Overflow { key: &'static str, value: String },
    #[error("the first step_index is {step_index}, not 0")]
    FirstStep { step_index: u64 },
    #[error("step_index jumps to {step_index} where {expected} follows")]
    StepJump { expected: u64, step_index: u64 },
    #[error("step_index {step_index} repeats")]
    StepRepeat { step_index: u64 },
    #[error("seed {step} is not the metadata's {meta}")]
    Seed { step: u64, meta: u64 },
    #[error("max_rank {step} is not the board's {board}")]
    MaxRank { step: u64, board: u8 },
    #[error("more steps than the metadata's num_moves, {num_moves}")]
    MoreSteps { num_moves: u64 },
    #[error("{}, but the metadata's num_moves is {num_moves}", exactly(*.steps, "step"))]
    FewerSteps { steps: u64, num_moves: u64 },
    /// There are more steps or valuation names than can be counted.
    #[error("too many {what} for one game")]
    TooMany { what: &'static str },
}

/// Cuts `text` to a length that fits an error line.
pub(super) fn excerpt(text: &str) -> String {
    const LIMIT: usize = 40;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
