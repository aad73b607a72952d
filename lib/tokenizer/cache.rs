//! A cache of frequent words with up to 15 bytes and few tokens, which are found by their key. It grows to a
//! fixed size, and a word may replace another. This changes the speed of the encoder, never its output.

use std::hint::select_unpredictable;

use super::hash::hash_of;
use super::pages::{Line, Room, line_of};
use super::slot::Tokens;
use gristmill_simd as simd;

/// The first number of sets. A set is a cache line and holds two words. The number grows when half of the places are
/// taken: many encoders see only a few words, and allocating a large room is fast.
const FEW: usize = 1 << 10;
const WAYS: usize = 2;
/// The index of the first slot of a set.
const SLOTS: usize = 2 * WAYS;
/// If there is no free place, one word in this many replaces another. (A frequent word comes again soon.)
const REPLACING: u32 = 8;

pub struct WordCache {
    /// The sets: two keys, the lower half first, and then the slot of each.
    room: Room,
    /// The number of sets that it grows to.
    most: usize,
    /// How many more words this room takes before it grows.
    left: usize,
    /// How many words found no free place.
    waiting: u32,
}

/// A view of the cache that is held in registers.
#[derive(Clone, Copy)]
pub struct Sets<'a>(&'a [Line]);

impl Sets<'_> {
    /// Requests the memory that a word with this hash will need.
    #[inline(always)]
    pub fn prefetch(self, hash: u64) {
        simd::prefetch(line_of(self.0, hash));
    }

    /// Returns the slot of a word, or 0 if it is not here. It has no branch, since the processor cannot predict which
    /// words are here.
    #[inline(always)]
    pub fn get(self, key: u128, hash: u64) -> u64 {
        let line = line_of(self.0, hash);
        (0..WAYS).fold(0, |found, way| {
            select_unpredictable(key_at(line, way) == key, line[SLOTS + way], found)
        })
    }
}

#[inline(always)]
fn key_at(line: &Line, way: usize) -> u128 {
    u128::from(line[2 * way]) | u128::from(line[2 * way + 1]) << 64
}

impl WordCache {
    /// `most` is a power of two above [`FEW`].
    pub fn new(most: usize) -> Self {
        Self { room: Room::zeroed(FEW), most, left: FEW * WAYS / 2, waiting: 0 }
    }

    /// Returns the sets, in which words are looked up.
    #[inline(always)]
    pub fn sets(&self) -> Sets<'_> {
        Sets(self.room.lines())
    }

    /// Keeps a word that is not here, in a free place, or now and then in place of another word.
    pub fn put(&mut self, key: u128, hash: u64, tokens: Tokens) {
        let set = line_of(self.room.lines(), hash);
        let free = set[SLOTS..][..WAYS].iter().position(|&slot| slot == 0);
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
        (set[2 * way], set[2 * way + 1]) = (key as u64, (key >> 64) as u64);
        set[SLOTS + way] = tokens.slot();
    }

    /// Keeps a word that comes for the first time if there is a free place for it; returns whether it was
    /// kept. The cache does not grow for such a word, and no other word is replaced.
    pub fn put_first(&mut self, key: u128, hash: u64, tokens: Tokens) -> bool {
        let set = line_of(self.room.lines(), hash);
        // A batch may have a new word twice.
        if self.sets().get(key, hash) != 0 {
            return true;
        }
        let is_free = self.left > 0 && set[SLOTS..][..WAYS].contains(&0);
        if is_free {
            self.put(key, hash, tokens);
        }
        is_free
    }

    #[cold]
    fn grow(&mut self) {
        self.left = usize::MAX;
        if self.room.lines().len() == self.most {
            return;
        }
        let few = std::mem::replace(&mut self.room, Room::zeroed(self.most));
        for line in few.lines() {
            for way in (0..WAYS).filter(|&way| line[SLOTS + way] != 0) {
                let key = key_at(line, way);
                self.put(key, hash_of(key), Tokens::of_slot(line[SLOTS + way]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::key_of;
    use crate::slot::slot_of;

    fn tokens(id: u128) -> Tokens {
        Tokens::of_slot(slot_of(&[id as i32, id as i32 + 1]))
    }

    #[test]
    fn keys_are_distinct_and_none_is_that_of_a_longer_word() {
        let mut keys = std::collections::HashSet::from([0]);
        let words = ["\0", "\0\0", "\0\0\0\0", "a", "a\0", "\u{7f}", "é", "\u{10ffff}"];
        for word in words.into_iter().chain(["\0\0\0\0\0\0\0\0\0", "fifteen letters"]) {
            let mut block = *b"\x80more of it.....";
            block[..word.len()].copy_from_slice(word.as_bytes());
            assert!(keys.insert(key_of(&block, word.len())), "{word:?}");
        }
        for last in 0..=255 {
            let block: [u8; 16] = std::array::from_fn(|at| if at == 15 { last } else { 0 });
            let longer = (16..100).chain([255, 256, 257, 271, 1 << 32 | 5, usize::MAX]);
            for longer in longer.map(|length| key_of(&block, length)) {
                assert!((1..16).all(|length| key_of(&block, length) != longer), "{last}");
            }
        }
    }

    #[test]
    fn words_of_one_set_never_mix() {
        let mut cache = WordCache::new(1 << 16);
        for key in 1..200 {
            assert_eq!(cache.sets().get(key, 6), 0);
            cache.put(key, 6, tokens(key));
            let found = (1..200).filter(|&key| {
                let slot = cache.sets().get(key, 6);
                assert!(slot == 0 || slot == tokens(key).slot());
                slot != 0
            });
            assert_eq!(found.count(), WAYS.min(key as usize));
        }
        assert!(cache.sets().get(1, 6) == 0, "the first is not replaced by any other");
        assert_eq!(cache.sets().get(0, 6), 0);
    }

    #[test]
    fn nothing_is_lost_when_it_grows() {
        let mut cache = WordCache::new(1 << 16);
        let key = |word: u128| key_of(&word.to_le_bytes(), 15);
        let is_found = |cache: &WordCache, &word: &u128| {
            cache.sets().get(key(word), hash_of(key(word))) == tokens(word).slot()
        };
        let (mut words, mut kept) = (0, Vec::new());
        while cache.sets().0.len() == FEW {
            if cache.left == 0 {
                kept = (1..=words).filter(|word| is_found(&cache, word)).collect();
            }
            words += 1;
            cache.put(key(words), hash_of(key(words)), tokens(words));
        }
        assert_eq!((kept.len(), cache.sets().0.len()), (FEW * WAYS / 2, 1 << 16));
        assert!(kept.iter().all(|word| is_found(&cache, word)));
    }
}
