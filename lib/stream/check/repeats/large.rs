//! A partition with more entries than are kept in memory. This happens if records are equal millions of
//! times, since all of their places are in one partition.

use std::collections::HashMap;

use super::{Partition, RecordPlace, place};
use crate::error::Result;

/// The places of one hash.
#[derive(Default)]
struct Group {
    /// Places that were handed out: the first of each set.
    earlier: Vec<RecordPlace>,
    waiting: Vec<RecordPlace>,
}

impl Group {
    fn hand_out(
        &mut self,
        each: &mut impl FnMut(&[RecordPlace], &[RecordPlace]) -> Result<()>,
    ) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        each(&self.earlier, &self.waiting)?;
        for place in std::mem::take(&mut self.waiting) {
            if !self.earlier.iter().any(|earlier| earlier.set == place.set) {
                self.earlier.push(place);
            }
        }
        Ok(())
    }

    fn first(&self) -> Option<RecordPlace> {
        self.earlier.first().or(self.waiting.first()).copied()
    }
}

/// Does the same as [`super::Repeats::candidates`]. Entries are in the order of their places; at
/// most `most` entries that share a hash wait.
pub(super) fn candidates(
    partition: &mut Partition,
    most: usize,
    each: &mut impl FnMut(&[RecordPlace], &[RecordPlace]) -> Result<()>,
) -> Result<()> {
    // Whether a hash came more than once.
    let mut came: HashMap<u128, bool> = HashMap::new();
    partition.each(|hash, _| {
        came.entry(hash).and_modify(|again| *again = true).or_insert(false);
        Ok(())
    })?;
    came.retain(|_, again| *again);
    let mut groups: HashMap<u128, Group> = HashMap::with_capacity(came.len());
    let mut waiting = 0;
    partition.each(|hash, packed| {
        if came.contains_key(&hash) {
            groups.entry(hash).or_default().waiting.push(place(packed));
            waiting += 1;
        }
        if waiting >= most {
            waiting = 0;
            return in_order(&mut groups, each);
        }
        Ok(())
    })?;
    in_order(&mut groups, each)
}

fn in_order(
    groups: &mut HashMap<u128, Group>,
    each: &mut impl FnMut(&[RecordPlace], &[RecordPlace]) -> Result<()>,
) -> Result<()> {
    let mut groups: Vec<&mut Group> = groups.values_mut().collect();
    // A single place is no repeat yet.
    groups.retain(|group| group.waiting.len() + group.earlier.len() > 1);
    groups.sort_unstable_by_key(|group| group.first());
    groups.into_iter().try_for_each(|group| group.hand_out(each))
}

#[cfg(test)]
mod tests {
    use super::super::{Repeats, first_and_others};
    use super::*;

    /// The places of two alternating hashes come in pieces; the first place of each set is always
    /// known.
    #[test]
    fn equal_records_come_in_pieces() {
        let mut repeats = Repeats::default();
        repeats.spill().unwrap();
        for number in 0..5000u64 {
            repeats.add(u128::from(number % 2), usize::from(number >= 3000), number).unwrap();
        }
        repeats.add(7, 1, 9999).unwrap();
        let mut partition = repeats.partitions.swap_remove(0);
        let mut others = [Vec::new(), Vec::new()];
        candidates(&mut partition, 100, &mut |earlier, places| {
            assert!(places.len() <= 100 && earlier.len() <= 2, "{earlier:?} {places:?}");
            let (first, new) = first_and_others(earlier, places).unwrap();
            assert!(first.number < 2 && first.set == 0);
            assert_eq!(earlier.len() == 2, places[0].number >= 3002 && !earlier.is_empty());
            others[first.number as usize].extend(new.iter().map(|place| place.number));
            Ok(())
        })
        .unwrap();
        for (first, others) in (0..).zip(others) {
            let expected: Vec<u64> = (first..5000).step_by(2).skip(1).collect();
            assert_eq!(others, expected);
        }
    }
}
