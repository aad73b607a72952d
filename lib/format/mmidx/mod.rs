//! Megatron indexed datasets (`.bin` and `.idx`): writing, reading, concatenating. The format is
//! described in FORMAT.md beside this file; what the values mean is not this module's business.

mod concat;
mod reader;
mod writer;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use concat::{Appended, Concatenation};
pub use reader::{Dataset, Index, IndexError};
pub use writer::{DatasetFiles, FinishedFile, FinishedSplit, SplitWriter};

/// `MMIDIDX`, two zero bytes.
const MAGIC: [u8; 9] = *b"MMIDIDX\0\0";
const VERSION: u64 = 1;
/// Magic, version (u64), dtype code (u8), sequences (u64), document indices (u64).
const HEADER_BYTES: u64 = 9 + 8 + 1 + 8 + 8;

/// The type of a dataset's values, as its `.idx` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    UInt8,
    Int8,
    Int16,
    Int32,
    Int64,
    Float64,
    Float32,
    UInt16,
}

/// Every dtype: its code in the `.idx`, its size in bytes, NumPy's name.
const DTYPES: [(Dtype, u8, usize, &str); 8] = [
    (Dtype::UInt8, 1, 1, "uint8"),
    (Dtype::Int8, 2, 1, "int8"),
    (Dtype::Int16, 3, 2, "int16"),
    (Dtype::Int32, 4, 4, "int32"),
    (Dtype::Int64, 5, 8, "int64"),
    (Dtype::Float64, 6, 8, "float64"),
    (Dtype::Float32, 7, 4, "float32"),
    (Dtype::UInt16, 8, 2, "uint16"),
];

impl Dtype {
    pub fn from_code(code: u8) -> Option<Dtype> {
        DTYPES.iter().find(|row| row.1 == code).map(|row| row.0)
    }

    fn row(self) -> (u8, usize, &'static str) {
        // The table holds every variant; the first row stands in for none.
        let row = DTYPES.iter().find(|row| row.0 == self).unwrap_or(&DTYPES[0]);
        (row.1, row.2, row.3)
    }

    pub fn code(self) -> u8 {
        self.row().0
    }

    /// Bytes of one value.
    pub fn size(self) -> usize {
        self.row().1
    }

    pub fn name(self) -> &'static str {
        self.row().2
    }
}

/// `PREFIX` with text put behind it (`shard_00` and `_tokens.bin`); dots in it are kept.
pub fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(suffix);
    PathBuf::from(name)
}

/// What is behind a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `P_tokens`, `P_lossmask`, `P_span`: int32, uint8, uint8.
    Triple,
    /// `P.bin`, `P.idx`, of any dtype.
    Single,
}

/// One dataset of a layout: its suffix, its name in manifests, and its dtype (`None`: as chosen).
pub type Member = (&'static str, &'static str, Option<Dtype>);

const TRIPLE: [Member; 3] = [
    ("_tokens", "tokens", Some(Dtype::Int32)),
    ("_lossmask", "lossmask", Some(Dtype::UInt8)),
    ("_span", "span", Some(Dtype::UInt8)),
];
const SINGLE: [Member; 1] = [("", "tokens", None)];

impl Layout {
    pub fn members(self) -> &'static [Member] {
        match self {
            Layout::Triple => &TRIPLE,
            Layout::Single => &SINGLE,
        }
    }

    /// What stands on the disk under a prefix; any member's `.idx` tells it.
    pub fn found(prefix: &Path) -> Option<Layout> {
        let there = |layout: Layout| {
            layout.members().iter().any(|(suffix, ..)| {
                with_suffix(prefix, &format!("{suffix}.idx")).is_file()
                    || with_suffix(prefix, &format!("{suffix}.bin")).is_file()
            })
        };
        [Layout::Triple, Layout::Single].into_iter().find(|&layout| there(layout))
    }
}
