//! Megatron indexed datasets (`.bin` and `.idx`): writing, reading, concatenating. The format is
//! described in FORMAT.md beside this file. This module does not know what the values mean.

mod concat;
mod faults;
mod reader;
mod writer;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::error::{Error, Result};
use crate::files;

pub use concat::{AppendedDataset, Concatenation};
pub use faults::{Fault, check_aligned, check_lengths, differences, layout_faults};
pub use reader::{IndexError, MmidxDataset, MmidxIndex};
pub use writer::{DatasetFiles, FinishedSplit, SplitWriter};

/// `MMIDIDX`, two zero bytes.
const MAGIC: [u8; 9] = *b"MMIDIDX\0\0";
const VERSION: u64 = 1;
/// Magic, version (u64), dtype code (u8), sequences (u64), document indices (u64).
const HEADER_BYTES: u64 = 9 + 8 + 1 + 8 + 8;

/// The type of a dataset's values, as its `.idx` states it. The command line offers the types in
/// which tokens are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MmidxDtype {
    #[value(skip)]
    UInt8,
    #[value(skip)]
    Int8,
    #[value(skip)]
    Int16,
    Int32,
    #[value(skip)]
    Int64,
    #[value(skip)]
    Float64,
    #[value(skip)]
    Float32,
    #[value(name = "uint16")]
    UInt16,
}

/// Every dtype in the order of the codes, which begin with 1, with its size in bytes and NumPy's
/// name.
const DTYPES: [(MmidxDtype, usize, &str); 8] = [
    (MmidxDtype::UInt8, 1, "uint8"),
    (MmidxDtype::Int8, 1, "int8"),
    (MmidxDtype::Int16, 2, "int16"),
    (MmidxDtype::Int32, 4, "int32"),
    (MmidxDtype::Int64, 8, "int64"),
    (MmidxDtype::Float64, 8, "float64"),
    (MmidxDtype::Float32, 4, "float32"),
    (MmidxDtype::UInt16, 2, "uint16"),
];

impl MmidxDtype {
    pub fn from_code(code: u8) -> Option<MmidxDtype> {
        DTYPES.get(usize::from(code).checked_sub(1)?).map(|row| row.0)
    }

    pub fn from_name(name: &str) -> Option<MmidxDtype> {
        DTYPES.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    /// Returns its code in an `.idx`.
    pub fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the bytes of one value.
    pub fn size(self) -> usize {
        DTYPES[self as usize].1
    }

    /// Returns its name in NumPy.
    pub fn name(self) -> &'static str {
        DTYPES[self as usize].2
    }
}

/// Appends text to a prefix (`shard_00` and `_tokens.bin`); dots in the prefix are kept.
pub fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(suffix);
    PathBuf::from(name)
}

/// The datasets of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixLayout {
    /// `P_tokens`, `P_lossmask`, `P_span`: int32 (of a small vocabulary uint16), uint8, uint8.
    Triple,
    /// `P.bin`, `P.idx`, of any dtype.
    Single,
}

/// One dataset of a layout: its suffix, its name in manifests, and the dtypes that it may have (an empty list: any).
/// The caller chooses among several.
pub type LayoutMember = (&'static str, &'static str, &'static [MmidxDtype]);

const TRIPLE: [LayoutMember; 3] = [
    ("_tokens", "tokens", &[MmidxDtype::Int32, MmidxDtype::UInt16]),
    ("_lossmask", "lossmask", &[MmidxDtype::UInt8]),
    ("_span", "span", &[MmidxDtype::UInt8]),
];
const SINGLE: [LayoutMember; 1] = [("", "tokens", &[])];

impl PrefixLayout {
    pub fn members(self) -> &'static [LayoutMember] {
        match self {
            PrefixLayout::Triple => &TRIPLE,
            PrefixLayout::Single => &SINGLE,
        }
    }

    /// Returns the files of a prefix: every `.bin`, then every `.idx`.
    pub fn files(self, prefix: &Path) -> Vec<PathBuf> {
        let of = |ending: &str| -> Vec<PathBuf> {
            let name = |(suffix, ..): &LayoutMember| format!("{suffix}.{ending}");
            self.members().iter().map(|member| with_suffix(prefix, &name(member))).collect()
        };
        ["bin", "idx"].map(of).concat()
    }

    /// Returns the layout of a prefix on disk; any file of a layout decides it.
    pub fn found(prefix: &Path) -> Result<Option<PrefixLayout>> {
        let is_there = |layout: &PrefixLayout| -> Result<bool> {
            // Beside an input `x` there may be a folder `x.bin` of something else.
            let is = |file: &PathBuf| Ok(!files::is_directory(file)? && files::is_member(file)?);
            Ok(files::find(&layout.files(prefix), is)?.is_some())
        };
        Ok(files::find(&[PrefixLayout::Triple, PrefixLayout::Single], is_there)?.copied())
    }

    /// Opens the datasets of a prefix, each with the dtype that the layout requires.
    pub fn open(self, prefix: &Path) -> Result<Vec<MmidxDataset>> {
        let open = |(suffix, _, wanted): &LayoutMember| {
            let dataset = MmidxDataset::open(&with_suffix(prefix, suffix))?;
            let found = dataset.index.dtype;
            let Some(usual) = wanted.first().filter(|usual| **usual != found) else {
                return Ok(dataset);
            };
            // (An .idx with a wrong dtype does not fit its .bin.)
            match wanted.contains(&found) && dataset.fills_bin()? {
                true => Ok(dataset),
                false => Err(Error::data(format!("is {}, not {}", found.name(), usual.name()))
                    .at(dataset.idx_path())),
            }
        };
        self.members().iter().map(open).collect()
    }
}
