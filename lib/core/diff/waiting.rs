//! Records of one side whose partner has not come yet.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;

use super::parts::PARTS;

/// The most records of one side that wait; some 150 bytes each.
pub(super) const WINDOW: usize = 1 << 18;
/// How many of them are kept whole, so that a difference can be shown.
const WHOLE: usize = 64;

/// One record that waits.
pub(super) struct Waiter {
    pub number: u64,
    pub key: u128,
    pub hashes: [u64; PARTS],
    /// A batch of this record alone and its border, if few wait.
    pub whole: Option<Box<(RecordBatch, u8)>>,
    /// Its id, if few wait.
    pub id: Option<Box<str>>,
}

#[derive(Default)]
pub(super) struct Waiting {
    by_number: BTreeMap<u64, Waiter>,
    /// Their keys and numbers.
    by_key: BTreeSet<(u128, u64)>,
}

impl Waiting {
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Whether the next record that comes is kept whole.
    pub fn keeps_whole(&self) -> bool {
        self.len() < WHOLE
    }

    pub fn push(&mut self, waiter: Waiter) {
        self.by_key.insert((waiter.key, waiter.number));
        self.by_number.insert(waiter.number, waiter);
    }

    /// Takes the first record with a key.
    pub fn take(&mut self, key: u128) -> Option<Waiter> {
        let (_, number) = *self.by_key.range((key, 0)..=(key, u64::MAX)).next()?;
        self.take_number(number)
    }

    /// Takes the record of a number.
    pub fn take_number(&mut self, number: u64) -> Option<Waiter> {
        let waiter = self.by_number.remove(&number)?;
        self.by_key.remove(&(waiter.key, number));
        Some(waiter)
    }

    /// Takes the first of all.
    pub fn pop(&mut self) -> Option<Waiter> {
        let number = *self.by_number.keys().next()?;
        self.take_number(number)
    }
}
