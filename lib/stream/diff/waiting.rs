//! Records of one side whose partner has not come yet.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;

use super::parts::PARTS;

/// The most waiting records of one side; each takes some 150 bytes.
pub(super) const WINDOW: usize = 1 << 18;
/// How many waiting records are kept whole, so that a difference can be shown.
const WHOLE: usize = 64;

/// One record that waits for its partner.
pub(super) struct WaitingRecord {
    pub number: u64,
    pub key: u128,
    pub hashes: [u64; PARTS],
    /// A batch of this record alone and its border, if few records wait.
    pub whole: Option<Box<(RecordBatch, u8)>>,
    /// The record's id, if few records wait.
    pub id: Option<Box<str>>,
}

#[derive(Default)]
pub(super) struct WaitingRecords {
    by_number: BTreeMap<u64, WaitingRecord>,
    /// Keys and numbers of the records.
    by_key: BTreeSet<(u128, u64)>,
}

impl WaitingRecords {
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Whether the next record is kept whole.
    pub fn keeps_whole(&self) -> bool {
        self.len() < WHOLE
    }

    pub fn push(&mut self, waiter: WaitingRecord) {
        self.by_key.insert((waiter.key, waiter.number));
        self.by_number.insert(waiter.number, waiter);
    }

    /// Takes the first record with a key.
    pub fn take(&mut self, key: u128) -> Option<WaitingRecord> {
        let (_, number) = *self.by_key.range((key, 0)..=(key, u64::MAX)).next()?;
        self.take_number(number)
    }

    /// Takes the record with a number.
    pub fn take_number(&mut self, number: u64) -> Option<WaitingRecord> {
        let waiter = self.by_number.remove(&number)?;
        self.by_key.remove(&(waiter.key, number));
        Some(waiter)
    }

    /// Returns the hash of the first part of each record, and its number, in the order of their numbers.
    pub fn first_parts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.by_number.iter().map(|(number, waiting)| (waiting.hashes[0], *number))
    }

    /// Takes the first record.
    pub fn pop(&mut self) -> Option<WaitingRecord> {
        let number = *self.by_number.keys().next()?;
        self.take_number(number)
    }
}
