//! Puzzle sets for the HRM loader, read and written: `ROOT/{train,test}` with five arrays for each
//! set, `ROOT/identifiers.json`, `ROOT/build.json`. FORMAT.md beside this file describes them.
//!
//! | file | what |
//! |---|---|
//! | `metadata.rs` | `dataset.json`, and the constants that a domain or the user gives |
//! | `root.rs` | opening the parts of a set, as they are: nothing is judged there |
//! | `reader.rs` | examples as `puzzle` records |
//! | `grid.rs` | those records in their domain's own form |
//! | `writer.rs`, `part_writer.rs`, `names.rs` | `puzzle` records into a set |
//!
//! The rules of the games are no concern of this module, see `puzzle`.

mod grid;
mod metadata;
mod names;
mod part_writer;
mod reader;
mod root;
mod writer;

use std::path::{Path, PathBuf};

use crate::puzzle::Split;

pub use grid::grids;
pub use metadata::{Asserted, IgnoredLabel, Metadata, SetConstants};
pub use reader::PuzzleReader;
pub use root::{Arrays, Root, SplitDir, is_puzzle_dir, open_array};
pub use writer::PuzzleWriter;

const DATASET: &str = "dataset.json";
const IDENTIFIERS: &str = "identifiers.json";
const BUILD: &str = "build.json";

/// Train before test, wherever the two are in order.
pub const SPLITS: [Split; 2] = [Split::Train, Split::Test];

/// One of the five arrays of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Array {
    /// [examples, seq_len]
    Inputs,
    /// [examples, seq_len]
    Labels,
    /// [puzzles]
    PuzzleIdentifiers,
    /// [puzzles + 1]: where the examples of each puzzle begin, and the end of the last.
    PuzzleIndices,
    /// [groups + 1]: where the puzzles of each group begin, and the end of the last.
    GroupIndices,
}

impl Array {
    pub const ALL: [Array; 5] = [
        Array::Inputs,
        Array::Labels,
        Array::PuzzleIdentifiers,
        Array::PuzzleIndices,
        Array::GroupIndices,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Array::Inputs => "inputs",
            Array::Labels => "labels",
            Array::PuzzleIdentifiers => "puzzle_identifiers",
            Array::PuzzleIndices => "puzzle_indices",
            Array::GroupIndices => "group_indices",
        }
    }

    /// Its file in a split's directory.
    pub fn path(self, directory: &Path, set: &str) -> PathBuf {
        directory.join(format!("{set}__{}.npy", self.name()))
    }
}
