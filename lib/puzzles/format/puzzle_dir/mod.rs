//! Puzzle sets for the HRM loader, read and written: `ROOT/{train,test}` with five arrays for each
//! set, `ROOT/identifiers.json`, `ROOT/build.json`. FORMAT.md beside this file describes them.
//!
//! | file | what |
//! |---|---|
//! | `manifest.rs` | `build.json` |
//! | `format.rs` | what a set is to readers, writers and checks |
//! | `adopt.rs` | a set of another directory, published |
//! | `metadata.rs` | `dataset.json`, and the constants that a domain or the user gives |
//! | `faults.rs` | what can be wrong with the arrays of a set |
//! | `root.rs` | opening the parts of a set as they are, without checks |
//! | `reader.rs`, `open_set.rs`, `identifiers.rs` | examples as `puzzle` records |
//! | `writer.rs`, `part_writer.rs`, `names.rs` | `puzzle` records into a set |
//!
//! The rules of the games are not here, see `puzzle`.

mod adopt;
mod faults;
mod format;
mod identifiers;
mod manifest;
mod metadata;
mod names;
mod open_set;
mod part_writer;
mod reader;
mod root;
mod writer;

use std::path::{Path, PathBuf};

use crate::puzzle::Split;

pub use adopt::adopt;
pub use faults::{Fault, faults};
pub use format::FORMAT;
pub use manifest::{PuzzleSetFile, PuzzleSetManifest};
pub use metadata::{AssertedConstants, IgnoredLabel, SetConstants, SplitMetadata};
pub use reader::PuzzleReader;
pub use root::{PuzzleRoot, SetArrays, SplitDir, is_puzzle_dir, open_array};
pub use writer::{ExampleRule, PuzzleWriter};

pub const DATASET: &str = "dataset.json";
pub const IDENTIFIERS: &str = "identifiers.json";
pub const BUILD: &str = "build.json";

/// The splits in order: train before test.
pub const SPLITS: [Split; 2] = [Split::Train, Split::Test];

/// One of the five arrays of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetArray {
    /// Shape [examples, seq_len].
    Inputs,
    /// Shape [examples, seq_len].
    Labels,
    /// Shape `[puzzles]`.
    PuzzleIdentifiers,
    /// Shape [puzzles + 1]: where the examples of each puzzle begin, and the end of the last.
    PuzzleIndices,
    /// Shape [groups + 1]: where the puzzles of each group begin, and the end of the last.
    GroupIndices,
}

impl SetArray {
    pub const ALL: [SetArray; 5] = [
        SetArray::Inputs,
        SetArray::Labels,
        SetArray::PuzzleIdentifiers,
        SetArray::PuzzleIndices,
        SetArray::GroupIndices,
    ];

    pub fn name(self) -> &'static str {
        match self {
            SetArray::Inputs => "inputs",
            SetArray::Labels => "labels",
            SetArray::PuzzleIdentifiers => "puzzle_identifiers",
            SetArray::PuzzleIndices => "puzzle_indices",
            SetArray::GroupIndices => "group_indices",
        }
    }

    /// Returns its file in a split's directory.
    pub fn path(self, directory: &Path, set: &str) -> PathBuf {
        directory.join(format!("{set}__{}.npy", self.name()))
    }

    /// Returns the set to which a file of this name belongs, if it is this array.
    pub fn set_of(self, name: &str) -> Option<&str> {
        name.strip_suffix(".npy")?.strip_suffix(self.name())?.strip_suffix("__")
    }
}
