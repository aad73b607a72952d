//! Words already encoded of 16 to 31 bytes that have up to seven tokens, found by their key, one
//! in a cache line, in sets of two. Like the word cache it grows to a fixed size, and a new word
//! replaces another.

use super::hash::{WideKey, hash_wide};
use super::pages::{Line, Room};
use crate::simd;

pub const MOST_TOKENS: usize = 7;
/// Lines at first, when as many words were put, and when as many again.
const SIZES: [usize; 3] = [1 << 9, 1 << 12, 1 << 16];

pub struct WideCache {
    /// A line holds the key in its first half, and then seven tokens and their number.
    room: Room,
    /// How many words more this room takes before it grows.
    left: usize,
}

impl WideCache {
    pub fn new() -> Self {
        Self { room: Room::zeroed(SIZES[0]), left: SIZES[0] }
    }

    /// Asks for the lines of a hash that will be looked up soon.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        simd::prefetch(self.room.line_of(hash & !1));
    }

    /// Looks in both lines of the word's set. Appends the tokens. A word of the second line changes
    /// places with the first.
    #[inline]
    pub fn get(&mut self, key: WideKey, hash: u64, out: &mut Vec<i32>) -> bool {
        let is_here = |line: &Line| line[0] == key[0] && line[1] == key[1];
        let mut line = *self.room.line_of(hash & !1);
        if !is_here(&line) {
            let first = std::mem::replace(&mut line, *self.room.line_of(hash | 1));
            if !is_here(&line) {
                return false;
            }
            *self.room.line_of_mut(hash & !1) = line;
            *self.room.line_of_mut(hash | 1) = first;
        }
        let ids: [i32; 8] = std::array::from_fn(|at| (line[2 + at / 4] >> (32 * (at % 4))) as i32);
        out.extend_from_slice(&ids[..(ids[MOST_TOKENS] as usize).min(MOST_TOKENS)]);
        true
    }

    /// Keeps a word if its tokens are not too many: in the second line of its set, or in the first
    /// if that is free. So a word that comes once does not drive out one that is met again.
    pub fn put(&mut self, key: WideKey, hash: u64, tokens: &[i32]) -> bool {
        let mut ids = [0; MOST_TOKENS + 1];
        let Some(places) = ids[..MOST_TOKENS].get_mut(..tokens.len()) else { return false };
        places.copy_from_slice(tokens);
        ids[MOST_TOKENS] = tokens.len() as i32;
        let half = |at: usize| {
            ids[at..at + 4].iter().rev().fold(0, |all, &id| all << 32 | id as u32 as u128)
        };
        self.put_line([key[0], key[1], half(0), half(4)], hash);
        true
    }

    fn put_line(&mut self, line: Line, hash: u64) {
        if self.left == 0 {
            self.grow();
        }
        self.left -= 1;
        let is_free = self.room.line_of(hash & !1)[1] == 0;
        *self.room.line_of_mut(if is_free { hash & !1 } else { hash | 1 }) = line;
    }

    #[cold]
    fn grow(&mut self) {
        let now = self.room.lines().len();
        let Some(&size) = SIZES.iter().find(|&&size| size > now) else {
            self.left = usize::MAX;
            return;
        };
        let few = std::mem::replace(&mut self.room, Room::zeroed(size));
        self.left = size;
        for &line in few.lines() {
            if line[1] != 0 {
                self.put_line(line, hash_wide([line[0], line[1]]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> WideKey {
        [number, number << 7 | 20 << 120]
    }

    fn get(cache: &mut WideCache, key: WideKey, hash: u64) -> Vec<i32> {
        let mut out = Vec::new();
        assert_eq!(cache.get(key, hash, &mut out), !out.is_empty());
        out
    }

    #[test]
    fn words_come_back_whole_or_not_at_all() {
        let mut cache = WideCache::new();
        assert!(!cache.put(key(1), 3, &[1; MOST_TOKENS + 1]));
        for count in 1..=MOST_TOKENS {
            let tokens: Vec<i32> = (0..count as i32).map(|at| 201_087 - at).collect();
            assert!(cache.put(key(count as u128), 3 + 2 * count as u64, &tokens));
            assert_eq!(get(&mut cache, key(count as u128), 3 + 2 * count as u64), tokens);
        }
        assert!(get(&mut cache, [key(1)[0], key(2)[1]], 5).is_empty());
        assert!(get(&mut cache, [key(2)[0], key(1)[1]], 5).is_empty());
    }

    #[test]
    fn a_word_that_is_met_again_outlives_those_that_are_not() {
        let mut cache = WideCache::new();
        let often = 7;
        for number in 1..100 {
            assert!(cache.put(key(number), 3 - number as u64 % 2, &[number as i32]));
            if number >= often {
                assert_eq!(get(&mut cache, key(often), 2), [often as i32]);
            }
            // Nor does one that is met again drive out what is in the other line.
            assert_eq!(get(&mut cache, key(number), 2), [number as i32]);
            let first = if number < often { 1 } else { often };
            assert_eq!(get(&mut cache, key(first), 2), [first as i32]);
        }
    }

    #[test]
    fn what_was_put_last_is_there_in_every_size() {
        let mut cache = WideCache::new();
        for number in 1..=2 * SIZES[2] as u128 {
            let hash = hash_wide(key(number));
            cache.put(key(number), hash, &[number as i32]);
            for number in [number, number.saturating_sub(1)].into_iter().filter(|&one| one > 0) {
                let found = get(&mut cache, key(number), hash_wide(key(number)));
                assert!(found == [number as i32] || found.is_empty());
            }
            assert_eq!(get(&mut cache, key(number), hash), [number as i32]);
        }
        assert_eq!(cache.room.lines().len(), SIZES[2]);
    }
}
