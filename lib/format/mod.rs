//! The formats on disk, one folder each, with its page beside it.

pub mod hashed_file;
pub mod json_file;
pub mod kd_root;
mod kinds;
mod made;
pub mod metadata_db;
pub mod mmidx;
pub mod npy;
pub mod pack;
pub mod parquet;
pub mod pools;
pub mod puzzle_dir;
pub mod raw_games;
pub mod synth_shards;
pub mod unchanged;
pub mod whole;

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

pub use made::{Build, Made};

use crate::error::{Error, Result};

/// Records that came into a pipeline, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCounts {
    pub read: u64,
    pub written: u64,
    pub rejected: u64,
    /// What was left out on purpose: rows without a text. Absent if that is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RecordCounts {
    /// The counts of several parts together, or `None` if a sum is more than a number holds.
    pub fn sum(mut parts: impl Iterator<Item = RecordCounts>) -> Option<RecordCounts> {
        parts.try_fold(RecordCounts::default(), |sum, part| {
            Some(RecordCounts {
                read: sum.read.checked_add(part.read)?,
                written: sum.written.checked_add(part.written)?,
                rejected: sum.rejected.checked_add(part.rejected)?,
                skipped: sum.skipped.checked_add(part.skipped)?,
            })
        })
    }
}

impl fmt::Display for RecordCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordCounts { read, written, rejected, skipped } = self;
        write!(f, "{read} read, {written} written, {rejected} rejected")?;
        if *skipped > 0 { write!(f, ", {skipped} skipped") } else { Ok(()) }
    }
}

/// What is in the directory of an output, sorted; nothing if there is no directory.
fn standing_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: io::Error| Error::write(directory, &error);
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let paths = entries.map(|entry| Ok(entry.map_err(failed)?.path()));
    let mut paths = paths.collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

/// A sum over what manifests say, or `None` if it is more than a number holds.
pub fn checked_sum(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    numbers.try_fold(0u64, u64::checked_add)
}
