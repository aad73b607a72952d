//! Counts the moved records among very many: all records except the largest number that stand in one order
//! on both sides.

use std::collections::BTreeMap;

/// The most ends of runs that are kept. There are few ends if few runs have moved, and also if the order
/// is random. If there are more, some records count as moved that are not.
const ENDS: usize = 1 << 18;

/// Counts moved records. Takes the numbers in B of the records that both sides have, in the order
/// of A.
#[derive(Default)]
pub(super) struct MovedRecords {
    records: u64,
    /// The first and the last of numbers that follow one another and are not among the ends yet.
    run: Option<(u64, u64)>,
    /// The number with which an ascending choice of runs may end, and the most records in such a choice. Both
    /// ascend.
    ends: BTreeMap<u64, u64>,
}

impl MovedRecords {
    pub fn add(&mut self, number: u64) {
        self.records += 1;
        self.run = match self.run {
            Some((first, last)) if last.checked_add(1) == Some(number) => Some((first, number)),
            before => {
                self.end(before);
                Some((number, number))
            }
        };
    }

    fn end(&mut self, run: Option<(u64, u64)>) {
        let Some((first, last)) = run else { return };
        let before = self.ends.range(..first).next_back().map_or(0, |(_, records)| *records);
        let records = before + (last - first + 1);
        // An end that comes later and has no more records is no better.
        while let Some((&other, _)) = self.ends.range(last..).next().filter(|end| *end.1 <= records)
        {
            self.ends.remove(&other);
        }
        self.ends.insert(last, records);
        if self.ends.len() > ENDS {
            self.ends.pop_first();
        }
    }

    /// Returns how many records are out of order.
    pub fn finish(mut self) -> u64 {
        let run = self.run.take();
        self.end(run);
        self.records - self.ends.last_key_value().map_or(0, |(_, records)| *records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(numbers: impl IntoIterator<Item = u64>) -> u64 {
        let mut moved = MovedRecords::default();
        numbers.into_iter().for_each(|number| moved.add(number));
        moved.finish()
    }

    #[test]
    fn the_fewest_have_moved() {
        assert_eq!(moved([]), 0);
        assert_eq!(moved(0..1000), 0);
        assert_eq!(moved((0..1000).map(|n| 3 * n)), 0);
        assert_eq!(moved((400..1000).chain(0..400)), 400);
        assert_eq!(moved((1..1000).chain([0])), 1);
        assert_eq!(moved([999].into_iter().chain(0..999)), 1);
        assert_eq!(moved((0..1000).rev()), 999);
        // Compares with the definition for all orders of seven.
        let mut order = [0, 1, 2, 3, 4, 5, 6];
        loop {
            let ascends = |choice: &u32| {
                let chosen = (0..7).filter(|at| choice >> at & 1 == 1).map(|at| order[at as usize]);
                chosen.is_sorted()
            };
            let most = (0..128u32).filter(ascends).map(u32::count_ones).max().unwrap();
            assert_eq!(moved(order), 7 - u64::from(most), "{order:?}");
            // Makes the next order.
            let Some(at) = (0..6).rev().find(|&at| order[at] < order[at + 1]) else { break };
            let other = (at..7).rev().find(|&other| order[other] > order[at]).unwrap();
            order.swap(at, other);
            order[at + 1..].reverse();
        }
    }
}
