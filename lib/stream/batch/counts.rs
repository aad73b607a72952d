//! The counts of records: how many were read, and how many were dropped on the way, as far as known.
//!
//! **Unknown is `None`**, null in JSON, and never a default. The number of records that earlier filters dropped
//! is known if an Arrow header states it, or if the count begins with a file.
//! [`DroppedRecords::without_header`] is the one rule for records without a header. A sink takes [`Counts`] as
//! they are. A join adds them with [`Counts::plus`] or `RecordCounts::sum`; unknown plus anything is unknown.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Header, SkippedRecords};
use crate::record::RecordType;

/// Records that were dropped before the end of a run, and are not in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedRecords {
    /// Bad records; `None` if the number is not known.
    pub rejected: Option<u64>,
    /// Records that were left out on purpose; `None` if the number is not known.
    pub skipped: Option<SkippedRecords>,
}

/// Nothing is dropped.
impl Default for DroppedRecords {
    fn default() -> DroppedRecords {
        DroppedRecords { rejected: Some(0), skipped: Some(SkippedRecords::default()) }
    }
}

impl DroppedRecords {
    /// It is not known how many records were dropped.
    pub const UNKNOWN: DroppedRecords = DroppedRecords { rejected: None, skipped: None };

    /// Returns how many records were dropped before records that came without a header of ours (NDJSON, or Arrow
    /// and Parquet of other programs). `record` is their type; `None` if it is not known.
    ///
    /// The count begins with a file of records that people write themselves (conversations, raw rows): nothing
    /// was dropped before. For a pipe, and for records that only filters make (tokens, games, puzzles), the
    /// number is not known.
    pub fn without_header(record: Option<&RecordType>, is_piped: bool) -> DroppedRecords {
        if is_piped || record.is_some_and(|record| record.is_derived) {
            DroppedRecords::UNKNOWN
        } else {
            DroppedRecords::default()
        }
    }

    /// Returns the header for records without one. If it is not known what earlier filters dropped, the chain has
    /// a null for these filters.
    pub fn header(&self) -> Header {
        let chain = if *self == DroppedRecords::UNKNOWN { vec![Value::Null] } else { Vec::new() };
        Header { provenance: chain, ..Header::default() }
    }

    /// Adds both; numbers that are too large stay at the largest.
    pub fn and(&self, other: &DroppedRecords) -> DroppedRecords {
        let both = |a: &Option<SkippedRecords>, b: &Option<SkippedRecords>| {
            let mut sum = a.clone()?;
            sum.add(b.as_ref()?);
            Some(sum)
        };
        let rejected = self.rejected.zip(other.rejected).map(|(a, b)| a.saturating_add(b));
        DroppedRecords { rejected, skipped: both(&self.skipped, &other.skipped) }
    }

    /// Returns the number for a part of the records: zero if it is zero for all, else not known.
    pub fn of_part(self) -> DroppedRecords {
        if self.is_nothing() { self } else { DroppedRecords::UNKNOWN }
    }

    /// Returns the number of all dropped records; `None` if it is not known.
    pub fn records(&self) -> Option<u64> {
        Some(self.rejected?.saturating_add(self.skipped.as_ref()?.records()))
    }

    /// Whether it is known that nothing is dropped.
    pub fn is_nothing(&self) -> bool {
        self.records() == Some(0)
    }
}

/// The counts of a run's records: read = written + rejected + skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All records, including the ones that earlier filters dropped or left out; `None` if the
    /// number of these is not known.
    pub read: Option<u64>,
    /// All dropped records, here and before; `None` if the number is not known.
    pub rejected: Option<u64>,
    /// All records that were left out on purpose, here and before; `None` if the number is not
    /// known.
    pub skipped: Option<SkippedRecords>,
}

/// Nothing is read.
impl Default for Counts {
    fn default() -> Counts {
        Counts::new(0, DroppedRecords::default())
    }
}

impl Counts {
    /// Returns the counts of a run that has written `written` records and dropped the others, here
    /// and before.
    pub fn new(written: u64, dropped: DroppedRecords) -> Counts {
        let read = dropped.records().map(|dropped| written.saturating_add(dropped));
        let DroppedRecords { rejected, skipped } = dropped;
        Counts { read, rejected, skipped }
    }

    /// Returns the counts of a run that has read `read` records and dropped `own` of them, after `before`.
    pub fn of_run(read: u64, before: &DroppedRecords, own: &DroppedRecords) -> Counts {
        let DroppedRecords { rejected, skipped } = before.and(own);
        let read = before.records().map(|before| read.saturating_add(before));
        Counts { read, rejected, skipped }
    }

    /// Returns how many of them were dropped.
    pub fn dropped(&self) -> DroppedRecords {
        DroppedRecords { rejected: self.rejected, skipped: self.skipped.clone() }
    }

    /// Adds the counts of two runs; a count is unknown if one of them is. `None` if a sum does not
    /// fit its number.
    pub fn plus(&self, other: &Counts) -> Option<Counts> {
        Some(Counts {
            read: known_sum(self.read, other.read)?,
            rejected: known_sum(self.rejected, other.rejected)?,
            skipped: match (&self.skipped, &other.skipped) {
                (Some(a), Some(b)) => Some(a.plus(b)?),
                _ => None,
            },
        })
    }
}

/// Adds two numbers; the sum is unknown (the inner `None`) if one of them is. `None` if it does not
/// fit its number.
pub fn known_sum(a: Option<u64>, b: Option<u64>) -> Option<Option<u64>> {
    match (a, b) {
        (Some(a), Some(b)) => a.checked_add(b).map(Some),
        _ => Some(None),
    }
}
