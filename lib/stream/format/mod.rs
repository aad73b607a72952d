//! The formats on disk, one folder each, with its page beside it.

pub mod data_files;
mod descriptor;
pub mod hashed_file;
pub mod json_file;
pub mod parquet;
pub mod saved;
pub mod stated;
pub mod unchanged;
pub mod whole;

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

pub use descriptor::{FindFiles, Format, MANIFEST, OpenRecords, Opener, refuse_other_formats};

use crate::batch::{Counts, SkippedRecords};
use crate::error::{Error, Result};
use crate::handed::Handed;

/// Every format of datasets; a path belongs to the first that recognises it.
pub static FORMATS: Handed<&'static Format> = Handed::new();

/// The counts of the records that came into a pipeline, as every manifest states them: read = written +
/// rejected + skipped. `written` is always known. The others are `None` (null) if the counts of earlier
/// filters did not travel with the records.
///
/// A sink makes them from its [`Counts`] with [`RecordCounts::written`]; a join adds the counts of
/// the parts with [`RecordCounts::sum`]; a check asks [`RecordCounts::wrong_read`] and
/// [`RecordCounts::contradicts`]. A 0 for an unknown number is a mistake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCounts {
    #[serde(deserialize_with = "json_file::stated")]
    pub read: Option<u64>,
    pub written: u64,
    #[serde(deserialize_with = "json_file::stated")]
    pub rejected: Option<u64>,
    /// Records that were left out on purpose, by reason: rows without a text. Absent if there are
    /// none; null if it is not known.
    #[serde(default = "none_skipped", skip_serializing_if = "is_none_skipped")]
    pub skipped: Option<SkippedRecords>,
}

fn none_skipped() -> Option<SkippedRecords> {
    Some(SkippedRecords::default())
}

fn is_none_skipped(skipped: &Option<SkippedRecords>) -> bool {
    skipped.as_ref().is_some_and(SkippedRecords::is_empty)
}

/// No records.
impl Default for RecordCounts {
    fn default() -> RecordCounts {
        RecordCounts::written(0, Counts::default())
    }
}

impl RecordCounts {
    /// Returns the counts of a run that has written this many records.
    pub fn written(written: u64, counts: Counts) -> RecordCounts {
        let Counts { read, rejected, skipped } = counts;
        RecordCounts { read, written, rejected, skipped }
    }

    /// Adds the counts of several parts; a count is unknown if one part does not know it. `None` if
    /// a sum does not fit its number.
    pub fn sum(mut parts: impl Iterator<Item = RecordCounts>) -> Option<RecordCounts> {
        parts.try_fold(RecordCounts::default(), |sum, part| {
            let written = sum.written.checked_add(part.written)?;
            Some(RecordCounts::written(written, sum.counts().plus(&part.counts())?))
        })
    }

    /// Returns how many records were rejected and skipped.
    pub fn counts(&self) -> Counts {
        let RecordCounts { read, rejected, skipped, .. } = self.clone();
        Counts { read, rejected, skipped }
    }

    /// Returns what `read` should be if it is known to be wrong; `Some(None)` if the right sum does
    /// not fit its number.
    pub fn wrong_sum(&self) -> Option<Option<u64>> {
        let (read, rejected, skipped) = (self.read?, self.rejected?, self.skipped.as_ref()?);
        let sum = self.written.checked_add(rejected);
        let sum = sum.and_then(|sum| sum.checked_add(skipped.records()));
        (sum != Some(read)).then_some(sum)
    }

    /// Returns [`RecordCounts::wrong_sum`] as a cause.
    pub fn wrong_read(&self) -> Option<String> {
        let (read, sum) = (self.read?, self.wrong_sum()?);
        let sum = sum.map_or("more than 2^64".to_string(), |sum| sum.to_string());
        Some(format!("records.read is {read}, not {sum}"))
    }

    /// Whether the two cannot both be true of the same records. Unknown counts contradict nothing.
    pub fn contradicts(&self, other: &RecordCounts) -> bool {
        let differ = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
        self.written != other.written
            || differ(self.read, other.read)
            || differ(self.rejected, other.rejected)
            || match (&self.skipped, &other.skipped) {
                (Some(a), Some(b)) => !a.agrees_with(b),
                _ => false,
            }
    }
}

impl fmt::Display for RecordCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |number: Option<u64>| number.map_or("unknown".to_string(), |n| n.to_string());
        let (read, rejected) = (known(self.read), known(self.rejected));
        write!(f, "{read} read, {} written, {rejected} rejected", self.written)?;
        match &self.skipped {
            None => write!(f, ", unknown skipped"),
            Some(skipped) if skipped.is_empty() => Ok(()),
            Some(skipped) => write!(f, ", {} skipped", skipped.records()),
        }
    }
}

/// Returns the content of an output's directory, sorted; empty if there is no directory.
pub fn standing_in(directory: &Path) -> Result<Vec<PathBuf>> {
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

/// Adds numbers that manifests state; `None` if the sum does not fit its number.
pub fn checked_sum(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    numbers.try_fold(0u64, u64::checked_add)
}
