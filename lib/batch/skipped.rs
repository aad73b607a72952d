//! Records that a filter leaves out on purpose, counted by reason. (Bad records are rejected.)

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Skipped(BTreeMap<String, u64>);

impl Skipped {
    /// Counts one record.
    pub fn count(&mut self, reason: &str) {
        match self.0.get_mut(reason) {
            Some(records) => *records += 1,
            None => drop(self.0.insert(reason.to_string(), 1)),
        }
    }

    pub fn add(&mut self, other: &Skipped) {
        for (reason, records) in &other.0 {
            let sum = self.0.entry(reason.clone()).or_default();
            *sum = sum.saturating_add(*records);
        }
    }

    pub fn records(&self) -> u64 {
        self.0.values().copied().fold(0, u64::saturating_add)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `3 without query, 5 without answer`.
impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (reason, records)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{records} {reason}")?;
        }
        Ok(())
    }
}
