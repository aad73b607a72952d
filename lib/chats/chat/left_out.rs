//! Counts, by name, what is in chats and does not become a part of their conversations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::visible;
use crate::wording::times;

/// The most names that are counted separately: keys are data.
const MOST: usize = 64;
const OTHERS: &str = "others";

/// Counts by name, and the names that nobody reads.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LeftOutCounts {
    counts: BTreeMap<String, u64>,
    /// Columns of records, and fields of messages, that are not read.
    unread: [BTreeSet<String>; 2],
}

/// The name under which answers are counted that were not finished, before what states it.
const CUT: &str = "cut answers";

impl LeftOutCounts {
    /// Counts one, if there is something.
    pub fn count(&mut self, name: &str, is_something: bool) {
        if is_something {
            self.add(name, 1);
        }
    }

    /// Counts an answer that was not finished, and is not trained on for that.
    pub fn cut_answer(&mut self, key: &str, value: &str) {
        self.add(&format!("{CUT} ({key}: {value})"), 1);
    }

    /// Notes a column that is not read.
    pub fn unread_column(&mut self, name: &str) {
        note(&mut self.unread[0], name);
    }

    /// Returns the columns that are not read.
    pub fn unread_columns(&self) -> impl Iterator<Item = &str> {
        self.unread[0].iter().map(String::as_str)
    }

    /// Notes a field of a message that is not read.
    pub fn unread_field(&mut self, name: &str) {
        note(&mut self.unread[1], name);
    }

    /// Counts several.
    pub fn add(&mut self, name: &str, count: u64) {
        let is_known = self.counts.contains_key(name);
        let name = if is_known || self.counts.len() < MOST { name } else { OTHERS };
        *self.counts.entry(name.to_string()).or_default() += count;
    }

    /// Adds other counts.
    pub fn extend(&mut self, other: &LeftOutCounts) {
        other.counts.iter().for_each(|(name, count)| self.add(name, *count));
        self.extend_unread(other);
    }

    fn extend_unread(&mut self, other: &LeftOutCounts) {
        for (names, other) in self.unread.iter_mut().zip(&other.unread) {
            other.iter().for_each(|name| note(names, name));
        }
    }

    /// Takes the larger one of each count: those of the other chat of a pair, which has the same prompt.
    pub fn widen(&mut self, other: &LeftOutCounts) {
        for (name, count) in &other.counts {
            let own = self.counts.get(name).copied().unwrap_or(0);
            self.add(name, count.saturating_sub(own));
        }
        self.extend_unread(other);
    }

    /// Returns a warning for each count; `way_on` returns what to add for a name.
    pub fn warnings(&self, way_on: impl Fn(&str) -> &'static str) -> Vec<String> {
        let warning = |(name, count): (&String, &u64)| {
            let of = if name.starts_with(CUT) { "left out of training" } else { "left out" };
            format!("{name}: {of} {}{}", times(*count), way_on(name))
        };
        self.counts.iter().map(warning).collect()
    }

    /// Returns the line that names every column, and every field of messages, that was not read.
    pub fn unread(&self) -> Option<String> {
        let shown = |names: &BTreeSet<String>| {
            let mut shown: Vec<_> = names.iter().map(|name| visible::line(name)).collect();
            if names.len() > MOST {
                shown.truncate(MOST);
                shown.push("and others".into());
            }
            shown.join(", ")
        };
        let [columns, fields] = self.unread.each_ref().map(shown);
        match (columns.is_empty(), fields.is_empty()) {
            (true, true) => None,
            (false, true) => Some(format!("not read: {columns}")),
            (true, false) => Some(format!("not read: of messages: {fields}")),
            (false, false) => Some(format!("not read: {columns}; of messages: {fields}")),
        }
    }
}

/// Keeps the first names in alphabetical order, and one more if there are others.
fn note(names: &mut BTreeSet<String>, name: &str) {
    if !names.contains(name) {
        names.insert(name.to_string());
        if names.len() > MOST + 1 {
            names.pop_last();
        }
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
