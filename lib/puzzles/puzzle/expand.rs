//! A group and its augmentations: the original, then up to `num_aug` puzzles that differ from it
//! and from one another. Groups do not depend on one another, so that any thread may
//! expand any of them.

use super::random::Key;
use super::{AugmentedPuzzle, Domain, Example, Split};
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// How many augmentations are tried for each requested one.
const TRIALS: u64 = 5;

/// The examples of one original puzzle, and how they are expanded in one split.
#[derive(Clone)]
pub struct PuzzleGroup {
    pub domain: &'static dyn Domain,
    pub seed: u64,
    /// The name of the group, and of the original puzzle.
    pub name: String,
    /// The split whose examples are made.
    pub split: Split,
    /// The split in the key of the augmentations: `both` if two splits share them.
    pub key_split: &'static str,
    /// The examples of all splits: together they decide which augmentations are duplicates.
    pub examples: Vec<Example>,
    pub num_aug: u64,
}

impl PuzzleGroup {
    /// Makes a group of one example, which is augmented only in train.
    pub(super) fn of_one(
        domain: &'static dyn Domain,
        seed: u64,
        num_aug: u64,
        name: String,
        example: Example,
    ) -> PuzzleGroup {
        let split = example.split;
        let num_aug = if split == Split::Train { num_aug } else { 0 };
        let (key_split, examples) = (split.name(), vec![example]);
        PuzzleGroup { domain, seed, name, split, key_split, examples, num_aug }
    }

    fn key<'a>(&'a self, split: &'a str) -> Key<'a> {
        Key { seed: self.seed, domain: self.domain.constants().name, split, group: &self.name }
    }
}

/// One puzzle of a group: the original, or an augmentation.
pub struct ExpandedPuzzle {
    /// The name, unique within a split of a build.
    pub name: String,
    /// The examples of the group's split.
    pub examples: Vec<Example>,
}

/// Returns the puzzles of a group in their order, made one at a time.
pub fn expand(group: &PuzzleGroup) -> Expansion<'_> {
    Expansion { group, started: false, number: 0, accepted: 0, seen: HashSet::new() }
}

/// The iterator of [`expand`]. It holds one puzzle, and 16 bytes for each augmentation.
pub struct Expansion<'a> {
    group: &'a PuzzleGroup,
    started: bool,
    /// The number of the last augmentation that was tried.
    number: u64,
    accepted: u64,
    seen: HashSet<[u8; 16]>,
}

impl Expansion<'_> {
    /// Returns how many of the requested augmentations are missing because of duplicates; known
    /// after the last puzzle. For a group in both splits it is counted in train.
    pub fn shortfall(&self) -> u64 {
        let PuzzleGroup { split, examples, num_aug, .. } = self.group;
        let elsewhere =
            *split == Split::Test && examples.iter().any(|example| example.split == Split::Train);
        if elsewhere { 0 } else { num_aug - self.accepted }
    }

    /// Returns the next augmentation that is not a duplicate.
    fn next_augmented(&mut self) -> Option<AugmentedPuzzle> {
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
}

impl Iterator for Expansion<'_> {
    type Item = ExpandedPuzzle;

    fn next(&mut self) -> Option<ExpandedPuzzle> {
        let group = self.group;
        let AugmentedPuzzle { suffix, mut examples } = if self.started {
            self.next_augmented()?
        } else {
            self.started = true;
            if group.num_aug > 0 {
                self.seen.insert(content_hash(&group.examples));
            }
            AugmentedPuzzle { suffix: String::new(), examples: group.examples.clone() }
        };
        examples.retain(|example| example.split == group.split);
        let key = group.key(group.split.name());
        group.domain.place(&mut examples, group.split, key, self.number);
        Some(ExpandedPuzzle { name: format!("{}{suffix}", group.name), examples })
    }
}

/// Returns 128 bits of SHA-256 over all sequences. A run of zeros (most of an ARC canvas) becomes
/// one mark and its length, which is several times faster to hash than the zeros.
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

/// Encodes every token but 0 as LEB128, which never starts with a zero byte, and zeros as a zero
/// byte and their number.
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
