//! The longest records, by their ids.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

/// How many are kept.
const MOST: usize = 5;
/// The most bytes of an id that are kept; the rest is left out.
const ID_BYTES: usize = 256;

/// The longest records that have an id: the longest first, those of one length by id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LongestRecords(Vec<LongRecord>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LongRecord {
    length: u64,
    id: String,
}

impl LongestRecords {
    pub fn add(&mut self, length: u64, id: Option<&str>) {
        let Some(id) = id else { return };
        let end = (0..=id.len().min(ID_BYTES)).rev().find(|end| id.is_char_boundary(*end));
        let id = &id[..end.unwrap_or(0)];
        let key = (Reverse(length), id);
        let is_longer = |last: &LongRecord| key < (Reverse(last.length), last.id.as_str());
        if self.0.len() < MOST || self.0.last().is_some_and(is_longer) {
            let place = self.0.partition_point(|record| !is_longer(record));
            self.0.insert(place, LongRecord { length, id: id.to_string() });
            self.0.truncate(MOST);
        }
    }

    pub fn merge(&mut self, other: &LongestRecords) {
        other.iter().for_each(|(id, length)| self.add(length, Some(id)));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|record| (record.id.as_str(), record.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_give_the_longest_of_all() {
        let lengths = [3u64, 9, 9, 1, 7, 9, 2, 8, 9];
        let of = |places: &[usize]| {
            let mut longest = LongestRecords::default();
            places.iter().for_each(|at| longest.add(lengths[*at], Some(&format!("r{at}"))));
            longest
        };
        let all = of(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let found: Vec<(&str, u64)> = all.iter().collect();
        assert_eq!(found, [("r1", 9), ("r2", 9), ("r5", 9), ("r8", 9), ("r7", 8)]);
        let mut parts = of(&[8, 6, 4]);
        parts.merge(&of(&[7, 5, 3, 2]));
        parts.merge(&of(&[1, 0]));
        assert_eq!(parts, all);
        let mut none = LongestRecords::default();
        none.add(5, None);
        assert_eq!(none.iter().count(), 0);
    }
}
