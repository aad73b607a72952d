//! Counts, by name, what is in chats and does not become a part of their conversations.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The most names that are counted separately: keys are data.
const MOST: usize = 64;
const OTHERS: &str = "others";

/// Counts by name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LeftOutCounts(BTreeMap<String, u64>);

impl LeftOutCounts {
    /// Counts one, if there is something.
    pub fn count(&mut self, name: &str, is_something: bool) {
        if is_something {
            self.add(name, 1);
        }
    }

    fn add(&mut self, name: &str, count: u64) {
        let is_known = self.0.contains_key(name);
        let name = if is_known || self.0.len() < MOST { name } else { OTHERS };
        *self.0.entry(name.to_string()).or_default() += count;
    }

    /// Adds other counts.
    pub fn extend(&mut self, other: &LeftOutCounts) {
        other.iter().for_each(|(name, count)| self.add(name, count));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

/// The counts of all threads.
#[derive(Debug, Default)]
pub struct SharedLeftOutCounts(Mutex<LeftOutCounts>);

impl SharedLeftOutCounts {
    pub fn add(&self, counts: &LeftOutCounts) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(counts);
    }

    pub fn counts(&self) -> LeftOutCounts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
