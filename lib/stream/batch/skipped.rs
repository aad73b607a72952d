//! Records that a filter leaves out on purpose, counted by reason. (Bad records are rejected.)

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Numbers of records by reason; an object in JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SkippedRecords(BTreeMap<String, u64>);

/// The reason of records that a manifest of version 0.2 counts without reasons.
const NOT_STATED: &str = "for reasons not stated";

impl SkippedRecords {
    /// Counts one record.
    pub fn count(&mut self, reason: &str) {
        self.count_many(reason, 1);
    }

    /// Counts `count` records; a count of 0 adds no reason.
    pub fn count_many(&mut self, reason: &str, count: u64) {
        match self.0.get_mut(reason) {
            Some(records) => *records += count,
            None if count == 0 => {}
            None => drop(self.0.insert(reason.to_string(), count)),
        }
    }

    pub fn add(&mut self, other: &SkippedRecords) {
        for (reason, records) in &other.0 {
            let sum = self.0.entry(reason.clone()).or_default();
            *sum = sum.saturating_add(*records);
        }
    }

    /// Adds both; `None` if a sum does not fit its number.
    pub fn plus(&self, other: &SkippedRecords) -> Option<SkippedRecords> {
        let mut sums = self.0.clone();
        for (reason, records) in &other.0 {
            let sum = sums.entry(reason.clone()).or_default();
            *sum = sum.checked_add(*records)?;
        }
        sums.values().try_fold(0u64, |sum, records| sum.checked_add(*records))?;
        Some(SkippedRecords(sums))
    }

    pub fn records(&self) -> u64 {
        self.0.values().copied().fold(0, u64::saturating_add)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both can be true of the same records: one of them may state no reasons.
    pub fn agrees_with(&self, other: &SkippedRecords) -> bool {
        let is_vague = |skipped: &SkippedRecords| skipped.0.contains_key(NOT_STATED);
        self == other || (is_vague(self) || is_vague(other)) && self.records() == other.records()
    }
}

/// Reads an object, or a number as version 0.2 wrote it in part manifests.
impl<'de> Deserialize<'de> for SkippedRecords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SkippedRecords, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Reasons(BTreeMap<String, u64>),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Number(0) => SkippedRecords::default(),
            Form::Number(records) => SkippedRecords([(NOT_STATED.to_string(), records)].into()),
            Form::Reasons(reasons) => SkippedRecords(reasons),
        })
    }
}

/// Writes `3 without query, 5 without answer`.
impl fmt::Display for SkippedRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (reason, records)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{records} {reason}")?;
        }
        Ok(())
    }
}
