//! A group and its augmentations: the original, then up to `num_aug` puzzles that differ from it
//! and from one another. Groups depend on nothing outside themselves, so that any thread may
//! expand any of them.

use super::random::Key;
use super::{Augmented, Domain, Example, PuzzleRecord, SET, Split};
use sha2::{Digest, Sha256};
use std::collections::{HashSet, VecDeque};

/// How many augmentations are tried for each one that is wanted.
const TRIALS: u64 = 5;

/// The examples of one original puzzle, and what is to be made of them in one split.
#[derive(Clone)]
pub struct Group {
    pub domain: &'static dyn Domain,
    pub seed: u64,
    /// The name of the group, and of the original puzzle.
    pub name: String,
    /// The split whose records are made.
    pub split: Split,
    /// What the augmentations are keyed by: the split, or `both` where two splits share them.
    pub key_split: &'static str,
    /// The examples of all splits: together they decide which augmentations are duplicates.
    pub examples: Vec<Example>,
    pub num_aug: u64,
    /// Whether missing augmentations are counted here: once for a group with two splits.
    pub counts_shortfall: bool,
}

impl Group {
    fn key<'a>(&'a self, split: &'a str) -> Key<'a> {
        Key { seed: self.seed, domain: self.domain.constants().name, split, group: &self.name }
    }
}

/// The records of a group in their order, made one puzzle at a time.
pub fn expand(group: &Group) -> Expansion<'_> {
    let mut expansion = Expansion {
        group,
        number: 0,
        accepted: 0,
        exhausted: false,
        seen: HashSet::new(),
        ready: VecDeque::new(),
    };
    if group.num_aug > 0 {
        expansion.seen.insert(content_hash(&group.examples));
    }
    expansion.push("", group.examples.clone());
    expansion
}

/// See [`expand`]. Holds one puzzle and 16 bytes for each augmentation.
pub struct Expansion<'a> {
    group: &'a Group,
    /// The last augmentation tried.
    number: u64,
    accepted: u64,
    exhausted: bool,
    seen: HashSet<[u8; 16]>,
    ready: VecDeque<PuzzleRecord>,
}

impl Expansion<'_> {
    /// How many augmentations fewer than wanted there were, duplicates left out; known once the
    /// records are through.
    pub fn shortfall(&self) -> u64 {
        if self.group.counts_shortfall { self.group.num_aug - self.accepted } else { 0 }
    }

    /// The next augmentation that is no duplicate.
    fn next_augmented(&mut self) -> Option<Augmented> {
        let group = self.group;
        let key = group.key(group.key_split);
        while self.accepted < group.num_aug && self.number < group.num_aug.saturating_mul(TRIALS) {
            self.number += 1;
            let augmented = group.domain.augment(&group.examples, key, self.number)?;
            if self.seen.insert(content_hash(&augmented.examples)) {
                self.accepted += 1;
                return Some(augmented);
            }
        }
        None
    }

    /// Makes the records of one puzzle, in this group's split.
    fn push(&mut self, suffix: &str, mut examples: Vec<Example>) {
        let group = self.group;
        examples.retain(|example| example.split == group.split);
        let key = group.key(group.split.name());
        group.domain.place(&mut examples, group.split, key, self.number);
        let puzzle = format!("{}{suffix}", group.name);
        self.ready.extend(examples.into_iter().map(|example| PuzzleRecord {
            domain: group.domain.constants().name,
            split: group.split,
            set: SET,
            group: group.name.clone(),
            identifier: group.domain.identifier(&puzzle).to_string(),
            puzzle: puzzle.clone(),
            inputs: example.inputs,
            labels: example.labels,
        }));
    }
}

impl Iterator for Expansion<'_> {
    type Item = PuzzleRecord;

    fn next(&mut self) -> Option<PuzzleRecord> {
        while self.ready.is_empty() && !self.exhausted {
            match self.next_augmented() {
                Some(augmented) => self.push(&augmented.suffix, augmented.examples),
                None => self.exhausted = true,
            }
        }
        self.ready.pop_front()
    }
}

/// 128 bits of SHA-256 over all sequences. A run of zeros (most of an ARC canvas) is one mark
/// and its length, which is several times faster to hash than the zeros.
fn content_hash(examples: &[Example]) -> [u8; 16] {
    let mut hash = Sha256::new();
    let mut bytes = Vec::with_capacity(1024);
    for example in examples {
        for tokens in [&example.inputs, &example.labels] {
            bytes.clear();
            run_lengths(tokens, &mut bytes);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(&bytes);
        }
    }
    let digest = hash.finalize();
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}

/// Every token but 0 as LEB128, which never starts with a zero byte; zeros as a zero byte and
/// their number.
fn run_lengths(tokens: &[i32], bytes: &mut Vec<u8>) {
    let mut varint = |mut value: u32, prefix: Option<u8>| {
        bytes.extend(prefix);
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    };
    for run in tokens.chunk_by(|a, b| *a == 0 && *b == 0) {
        if run[0] == 0 {
            varint(run.len() as u32, Some(0));
        } else {
            varint(run[0] as u32, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{Constants, Error, Finding, Options, Rejects, Rule, SeqLen, Side, Source};
    use serde_json::Value;

    /// Three augmentations, over and over: the label becomes the number modulo 3.
    struct Three;

    impl Domain for Three {
        fn constants(&self) -> Constants {
            Constants {
                name: "three",
                seq_len: SeqLen::Fixed(1),
                vocab_size: 4,
                pad_id: 0,
                ignore_label_id: 0,
                blank_identifier_id: 0,
            }
        }

        fn augment(&self, puzzle: &[Example], _key: Key<'_>, number: u64) -> Option<Augmented> {
            let mut examples = puzzle.to_vec();
            examples[0].labels[0] = (number % 3) as i32;
            Some(Augmented { suffix: format!("_{number}"), examples })
        }

        fn open(&self, _: &Options, _: Rejects<'_, '_>) -> Result<Box<dyn Source>, Error> {
            Err(Error::option("none"))
        }

        fn rules(&self) -> &'static [&'static Rule] {
            &[]
        }

        fn check(&self, _: &[i32], _: &[i32], _: Option<Split>) -> Vec<Finding> {
            Vec::new()
        }

        fn decode(&self, _: Side, _: &[i32]) -> Result<Value, String> {
            Ok(Value::Null)
        }

        fn draw(&self, _: Side, _: &[i32]) -> Result<String, String> {
            Ok(String::new())
        }
    }

    fn group(num_aug: u64) -> Group {
        let example = |split| Example { split, inputs: vec![2], labels: vec![0] };
        Group {
            domain: &Three,
            seed: 1,
            name: "g".to_string(),
            split: Split::Train,
            key_split: "both",
            examples: vec![example(Split::Train), example(Split::Test)],
            num_aug,
            counts_shortfall: true,
        }
    }

    #[test]
    fn duplicates_are_dropped_and_the_shortfall_is_counted() {
        let group = group(4);
        let mut expansion = expand(&group);
        let names: Vec<_> = expansion.by_ref().map(|record| record.puzzle).collect();
        // Number 3 gives the original again, 4 gives number 1 again, and so on.
        assert_eq!(names, ["g", "g_1", "g_2"]);
        assert_eq!((expansion.number, expansion.shortfall()), (20, 2));
    }

    #[test]
    fn no_more_trials_than_needed() {
        let group = group(2);
        let mut expansion = expand(&group);
        assert_eq!(expansion.by_ref().count(), 3);
        assert_eq!((expansion.number, expansion.shortfall()), (2, 0));
    }

    #[test]
    fn only_the_groups_split_is_made() {
        let mut group = group(0);
        group.split = Split::Test;
        let records: Vec<_> = expand(&group).collect();
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].split, Split::Test);
        assert_eq!(records[0].identifier, "<blank>");
    }

    #[test]
    fn the_content_hash_tells_sequences_apart() {
        let hash = |inputs: &[i32], labels: &[i32]| {
            content_hash(&[Example {
                split: Split::Train,
                inputs: inputs.to_vec(),
                labels: labels.to_vec(),
            }])
        };
        let base = hash(&[0, 0, 1], &[2]);
        assert_eq!(base, hash(&[0, 0, 1], &[2]));
        for other in [
            hash(&[0, 1], &[2]),
            hash(&[0, 0, 1, 2], &[]),
            hash(&[0, 0], &[1, 2]),
            hash(&[0, 2, 1], &[2]),
            hash(&[0, 1, 0], &[2]),
            hash(&[0, 0, 128], &[2]),
        ] {
            assert_ne!(base, other);
        }
    }
}
