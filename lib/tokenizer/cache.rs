//! Short words met again and again that have few tokens, found by their key. It grows to a fixed
//! size, and a word may replace another: this changes the speed of the encoder, never its output.

use std::hint::select_unpredictable;

use super::hash::hash_half;
use super::pages::{Line, Room, line_of};
use super::slot::Tokens;
use crate::simd;

/// Sets of four words, a line each: at first, and when half of the places are taken. Many
/// encoders see only a few words, and the system gives a large room at once.
const SIZES: [usize; 2] = [1 << 10, 1 << 16];
const WAYS: usize = 4;
/// One in so many words takes the place of another. Those that come often come soon again.
const REPLACING: u32 = 4;

/// Words of up to this many bytes are kept.
pub const MOST_BYTES: usize = 8;

/// A word of 1 to 8 bytes of UTF-8 as one number: the complements of its bytes, little-endian, none
/// of which is 0. Distinct words have distinct keys; a longer one has 0, which is no word's.
#[inline(always)]
pub fn key_of(block: u64, length: usize) -> u64 {
    const KEPT: [u64; 128] = {
        let mut kept = [0; 128];
        let mut length = 1;
        while length <= MOST_BYTES {
            kept[length] = u64::MAX >> (64 - 8 * length);
            length += 1;
        }
        kept
    };
    !block & KEPT[length.min(127)]
}

#[inline(always)]
pub fn hash_of(key: u64) -> u64 {
    hash_half(key.into())
}

pub struct WordCache {
    /// A set is four keys and the tokens of each.
    room: Room,
    /// How many words more this room takes before it grows.
    left: usize,
    /// Words that found no free place.
    waiting: u32,
}

/// A look at the cache, to be held in registers.
#[derive(Clone, Copy)]
pub struct Sets<'a>(&'a [Line]);

impl Sets<'_> {
    /// Asks for what a word with this hash will need.
    #[inline(always)]
    pub fn prefetch(self, hash: u64) {
        simd::prefetch(line_of(self.0, hash));
    }

    /// The slot of a word, or 0 if it is not here. Without a branch: which words are here cannot
    /// be predicted.
    #[inline(always)]
    pub fn get(self, key: u64, hash: u64) -> u64 {
        let (keys, slots) = line_of(self.0, hash).split_at(WAYS);
        (0..WAYS).fold(0, |found, at| select_unpredictable(keys[at] == key, slots[at], found))
    }
}

impl WordCache {
    pub fn new() -> Self {
        Self { room: Room::zeroed(SIZES[0]), left: SIZES[0] * WAYS / 2, waiting: 0 }
    }

    /// The sets, in which words are looked up.
    #[inline(always)]
    pub fn sets(&self) -> Sets<'_> {
        Sets(self.room.lines())
    }

    /// Keeps a word that is not here, in a free place or now and then in that of another word.
    pub fn put(&mut self, key: u64, hash: u64, tokens: Tokens) {
        let (keys, _) = line_of(self.room.lines(), hash).split_at(WAYS);
        let free = keys.iter().position(|&key| key == 0);
        let way = match free {
            Some(_) if self.left == 0 => {
                self.grow();
                return self.put(key, hash, tokens);
            }
            Some(way) => {
                self.left -= 1;
                way
            }
            None => {
                self.waiting = self.waiting.wrapping_add(1);
                if !self.waiting.is_multiple_of(REPLACING) {
                    return;
                }
                (self.waiting / REPLACING) as usize % WAYS
            }
        };
        let set = self.room.line_of_mut(hash);
        (set[way], set[WAYS + way]) = (key, tokens.slot());
    }

    #[cold]
    fn grow(&mut self) {
        self.left = usize::MAX;
        if self.room.lines().len() == SIZES[1] {
            return;
        }
        let few = std::mem::replace(&mut self.room, Room::zeroed(SIZES[1]));
        for line in few.lines() {
            for at in (0..WAYS).filter(|&at| line[at] != 0) {
                self.put(line[at], hash_of(line[at]), Tokens::of_slot(line[WAYS + at]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::slot::slot_of;

    fn tokens(id: usize) -> Tokens {
        Tokens::of_slot(slot_of(&[id as i32, id as i32 + 1]))
    }

    #[test]
    fn keys_are_distinct_and_none_is_that_of_a_longer_word() {
        let mut keys = std::collections::HashSet::new();
        for bytes in ["\0", "\0\0", "\0\0\0\0\0\0\0\0", "a", "a\0", "\u{7f}", "é", "\u{10ffff}"] {
            let mut block = *b"\x80more of it.....";
            block[..bytes.len()].copy_from_slice(bytes.as_bytes());
            let block = u64::from_le_bytes(*block.first_chunk().unwrap());
            let key = key_of(block, bytes.len());
            assert!(key != 0 && keys.insert(key), "{bytes:?}");
            for longer in [9, 15, 64, 1000] {
                assert_eq!(key_of(block, longer), 0);
            }
        }
    }

    #[test]
    fn words_of_one_set_never_mix() {
        let mut cache = WordCache::new();
        for key in 1..200 {
            assert_eq!(cache.sets().get(key, 6), 0);
            cache.put(key, 6, tokens(key as usize));
            let found = (1..200).filter(|&key| {
                let slot = cache.sets().get(key, 6);
                assert!(slot == 0 || slot == tokens(key as usize).slot());
                slot != 0
            });
            assert_eq!(found.count(), WAYS.min(key as usize));
        }
        assert!(cache.sets().get(1, 6) == 0, "the first is not replaced by any other");
        assert_eq!(cache.sets().get(0, 6), 0);
    }

    #[test]
    fn nothing_is_lost_when_it_grows() {
        let mut cache = WordCache::new();
        let mut words = 0;
        while cache.sets().0.len() == SIZES[0] {
            words += 1;
            cache.put(words, hash_of(words), tokens(words as usize));
        }
        assert_eq!(cache.sets().0.len(), SIZES[1]);
        let found = (1..=words).filter(|&key| cache.sets().get(key, hash_of(key)) != 0).count();
        assert!(found > words as usize * 95 / 100, "{found} of {words}");
    }
}
