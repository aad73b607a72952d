//! Records of one side whose partner has not come yet.

use std::collections::{BTreeMap, HashMap, VecDeque};

use arrow_array::RecordBatch;

use super::parts::PARTS;

/// The most records of one side that wait; some 100 bytes each.
pub(super) const WINDOW: usize = 1 << 19;
/// How many of them are kept whole, so that a difference can be shown.
const WHOLE: usize = 64;

/// One record that waits.
pub(super) struct Waiter {
    pub number: u64,
    pub key: u128,
    pub hashes: [u64; PARTS],
    /// A batch of this record alone and its border, if few wait.
    pub whole: Option<Box<(RecordBatch, u8)>>,
    pub id: Option<Box<str>>,
}

#[derive(Default)]
pub(super) struct Waiting {
    by_number: BTreeMap<u64, Waiter>,
    /// The numbers of the records with a key, in their order.
    by_key: HashMap<u128, VecDeque<u64>>,
    whole: usize,
}

impl Waiting {
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Whether the next record that comes is kept whole.
    pub fn keeps_whole(&self) -> bool {
        self.whole < WHOLE
    }

    pub fn push(&mut self, waiter: Waiter) {
        self.whole += usize::from(waiter.whole.is_some());
        self.by_key.entry(waiter.key).or_default().push_back(waiter.number);
        self.by_number.insert(waiter.number, waiter);
    }

    /// Takes the first record with a key.
    pub fn take(&mut self, key: u128) -> Option<Waiter> {
        let numbers = self.by_key.get_mut(&key)?;
        let number = numbers.pop_front();
        if numbers.is_empty() {
            self.by_key.remove(&key);
        }
        self.take_out(number?)
    }

    /// Takes the record of a number.
    pub fn take_number(&mut self, number: u64) -> Option<Waiter> {
        let key = self.by_number.get(&number)?.key;
        if let Some(numbers) = self.by_key.get_mut(&key) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_key.remove(&key);
            }
        }
        self.take_out(number)
    }

    fn take_out(&mut self, number: u64) -> Option<Waiter> {
        let waiter = self.by_number.remove(&number)?;
        self.whole -= usize::from(waiter.whole.is_some());
        Some(waiter)
    }

    /// Takes the first of all.
    pub fn pop(&mut self) -> Option<Waiter> {
        let number = *self.by_number.keys().next()?;
        self.take_number(number)
    }
}
