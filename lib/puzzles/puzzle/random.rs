//! The generator of every random choice of the puzzle domains: xoshiro256** (D. Blackman and
//! S. Vigna, <https://prng.di.unimi.it/xoshiro256starstar.c>). Its 256 bits of state are the
//! SHA-256 of the choice's key. The bytes of published sets depend on this file: its output must
//! never change, so it does not use a crate's default generator.

use sha2::{Digest, Sha256};

/// The key of a series of draws. Draws depend only on it, so that threads, slices and the order of files
/// change nothing.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    pub seed: u64,
    pub domain: &'a str,
    /// The split, `train` or `test`, or `both` if the two splits share the draws.
    pub split: &'a str,
    /// The name of the group.
    pub group: &'a str,
}

impl Key<'_> {
    /// Returns the generator of augmentation `number` of the group; 0 is the original.
    ///
    /// The state is SHA-256 of `gristmill puzzle 1\0`, the seed, the length and the bytes of
    /// domain, split and group, and the number, all numbers as 8 bytes, little-endian; the digest
    /// is read as four little-endian words.
    pub fn draws(&self, number: u64) -> Random {
        let mut hash = Sha256::new();
        hash.update(b"gristmill puzzle 1\0");
        hash.update(self.seed.to_le_bytes());
        for part in [self.domain, self.split, self.group] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(number.to_le_bytes());
        let digest = hash.finalize();
        let mut state = [0; 4];
        for (word, bytes) in state.iter_mut().zip(digest.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        Random::from_state(state)
    }
}

/// The generator xoshiro256**.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Makes a generator. The one forbidden state, all zero, becomes 1, 0, 0, 0.
    pub fn from_state(state: [u64; 4]) -> Random {
        Random { state: if state == [0; 4] { [1, 0, 0, 0] } else { state } }
    }

    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a number in 0..bound, each with the same probability; 0 for a bound of 0.
    ///
    /// D. Lemire, "Fast random integer generation in an interval" (2019), with its rejection.
    pub fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            // 2^64 mod bound: the lowest products are the surplus ones.
            if low >= bound || low >= bound.wrapping_neg() % bound.max(1) {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns [`Random::below`] for lengths and indices.
    pub fn index(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }

    /// Shuffles as Fisher and Yates, from the end.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key<'static> = Key { seed: 42, domain: "sudoku", split: "train", group: "2" };

    #[test]
    fn matches_the_reference_implementation() {
        // The published outputs for the state 1, 2, 3, 4.
        let mut random = Random::from_state([1, 2, 3, 4]);
        let expected = [
            11520,
            0,
            1509978240,
            1215971899390074240,
            1216172134540287360,
            607988272756665600,
            16172922978634559625,
            8476171486693032832,
            10595114339597558777,
            2904607092377533576,
        ];
        for value in expected {
            assert_eq!(random.next_u64(), value);
        }
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let base = KEY.draws(1).next_u64();
        assert_eq!(base, KEY.draws(1).next_u64());
        let others = [
            KEY.draws(2),
            Key { seed: 43, ..KEY }.draws(1),
            Key { domain: "maze", ..KEY }.draws(1),
            Key { split: "test", ..KEY }.draws(1),
            Key { group: "3", ..KEY }.draws(1),
            Key { split: "train2", group: "", ..KEY }.draws(1),
        ];
        for mut other in others {
            assert_ne!(other.next_u64(), base);
        }
    }

    #[test]
    fn a_key_gives_these_numbers_for_ever() {
        // hashlib.sha256(b"gristmill puzzle 1\0" + struct.pack("<Q", 42)
        //   + b"".join(struct.pack("<Q", len(p)) + p for p in (b"sudoku", b"train", b"2"))
        //   + struct.pack("<Q", 1)).digest(), then xoshiro256** in Python.
        let mut random = KEY.draws(1);
        assert_eq!(
            [random.next_u64(), random.next_u64()],
            [5588489892276444996, 15239023622159289569]
        );
    }

    #[test]
    fn bounded_draws_are_even_and_in_range() {
        let mut random = KEY.draws(0);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.index(7)] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
        assert!((0..100).all(|_| random.below(u64::MAX) < u64::MAX));
    }

    #[test]
    fn biased_draws_are_rejected() {
        // A bound of 3 * 2^62: a quarter of all words is surplus. Without rejection, multiples of
        // three would be twice as frequent as they should be.
        let bound = 3u64 << 62;
        let mut random = KEY.draws(7);
        let threes = (0..30_000).filter(|_| random.below(bound).is_multiple_of(3)).count();
        assert!((9_500..10_500).contains(&threes), "{threes}");
    }
}
