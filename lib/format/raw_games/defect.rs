//! Every defect that makes a game a bad record, with its text.

use std::fmt;
use std::path::PathBuf;

use crate::game2048::{CELLS, Direction, MAX_EXPONENT};
use crate::json;

/// Why a game is a bad record.
#[derive(Clone, Debug, PartialEq)]
pub enum Defect {
    /// The sidecar stands alone; this is the steps file that should be there.
    NoSteps { missing: PathBuf },
    /// The steps file stands alone; this is the sidecar that should be there.
    NoMeta { missing: PathBuf },
    /// The sidecar is there twice, the other time under this name.
    BothMetas { other: PathBuf },
    /// The gzip stream is damaged or cut.
    Gzip { cause: String },
    /// The sidecar is larger than any sidecar.
    LargeMeta { limit: usize },
    /// A line is longer than any step.
    LongLine { limit: usize },
    /// The text is not UTF-8.
    Utf8,
    /// The text is not JSON.
    Json(json::Error),
    /// A required field is not there.
    MissingKey { key: &'static str },
    /// A field stands twice in its object.
    Duplicate { key: String },
    /// A field has a value of the wrong kind.
    Kind { key: &'static str, expected: &'static str, found: String },
    /// The board has not sixteen cells.
    BoardLength { cells: usize },
    /// An exponent is over [`MAX_EXPONENT`].
    Exponent { cell: usize, exponent: String },
    /// The move is none of the four.
    UnknownMove { name: String },
    /// The board cannot move that way.
    IllegalMove { direction: Direction },
    /// A value is no finite number of its type.
    NotFinite { key: &'static str, value: String },
    /// A value is too large for f32.
    Overflow { key: &'static str, value: String },
    /// The first step is not step 0.
    FirstStep { step_index: u64 },
    /// A step does not follow the one before it.
    StepJump { expected: u64, step_index: u64 },
    /// A step has the number of the one before it.
    StepRepeat { step_index: u64 },
    /// The step's seed is not the sidecar's.
    Seed { step: u64, meta: u64 },
    /// The step's max_rank is not that of its board.
    MaxRank { step: u64, board: u8 },
    /// There are more steps than the sidecar's num_moves.
    MoreSteps { num_moves: u64 },
    /// There are fewer steps than the sidecar's num_moves.
    FewerSteps { steps: u64, num_moves: u64 },
    /// There are more steps or valuation names in the game than can be counted.
    TooMany { what: &'static str },
}

impl From<json::Error> for Defect {
    fn from(error: json::Error) -> Self {
        Defect::Json(error)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::NoSteps { missing } => {
                write!(f, "its steps file {} is missing", missing.display())
            }
            Defect::NoMeta { missing } => {
                write!(f, "its metadata {} (or .gz) is missing", missing.display())
            }
            Defect::BothMetas { other } => {
                write!(f, "the game has a second metadata file, {}", other.display())
            }
            Defect::Gzip { cause } => write!(f, "broken gzip: {cause}"),
            Defect::LargeMeta { limit } => write!(f, "metadata of more than {limit} bytes"),
            Defect::LongLine { limit } => write!(f, "a line of more than {limit} bytes"),
            Defect::Utf8 => f.write_str("broken JSON: the text is not UTF-8"),
            Defect::Json(error) => write!(f, "broken JSON: {error}"),
            Defect::MissingKey { key } => write!(f, "`{key}` is missing"),
            Defect::Duplicate { key } => write!(f, "`{key}` stands twice"),
            Defect::Kind { key, expected, found } => {
                write!(f, "`{key}` is not {expected}: {found}")
            }
            Defect::BoardLength { cells } => {
                write!(f, "`board` has {cells} cells, not {CELLS}")
            }
            Defect::Exponent { cell, exponent } => {
                write!(f, "`board` has exponent {exponent} in cell {cell}, over {MAX_EXPONENT}")
            }
            Defect::UnknownMove { name } => write!(f, "unknown move \"{name}\""),
            Defect::IllegalMove { direction } => {
                write!(f, "the board cannot move {}", direction.name())
            }
            Defect::NotFinite { key, value } => {
                write!(f, "`{key}` is no finite number: {value}")
            }
            Defect::Overflow { key, value } => write!(f, "`{key}` overflows f32: {value}"),
            Defect::FirstStep { step_index } => {
                write!(f, "the first step_index is {step_index}, not 0")
            }
            Defect::StepJump { expected, step_index } => {
                write!(f, "step_index jumps to {step_index} where {expected} follows")
            }
            Defect::StepRepeat { step_index } => write!(f, "step_index {step_index} repeats"),
            Defect::Seed { step, meta } => {
                write!(f, "seed {step} is not the metadata's {meta}")
            }
            Defect::MaxRank { step, board } => {
                write!(f, "max_rank {step} is not the board's {board}")
            }
            Defect::MoreSteps { num_moves } => {
                write!(f, "more steps than the metadata's num_moves, {num_moves}")
            }
            Defect::FewerSteps { steps, num_moves } => {
                write!(f, "{steps} steps, but the metadata's num_moves is {num_moves}")
            }
            Defect::TooMany { what } => write!(f, "too many {what} for one game"),
        }
    }
}

impl std::error::Error for Defect {}

/// `text` cut to a length that fits an error line.
pub(super) fn excerpt(text: &str) -> String {
    const LIMIT: usize = 40;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
