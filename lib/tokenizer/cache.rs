//! Words already encoded that fit in a key and have up to six tokens, found by their key. It
//! grows to a fixed size, and a new word replaces the one in its place: this changes the speed of
//! the encoder, never its output.

use super::hash::hash_key;
use super::pages::Room;
use crate::simd;

/// Sets of two entries: at first, when half of the entries are taken, and when as many words were
/// kept as there are entries. Many encoders see only a few words, and the system gives a large
/// room at once.
const SIZES: [usize; 3] = [1 << 10, 1 << 16, 1 << 18];
/// Tokens that are read without unpacking them, and those that fit in an entry.
pub const FEW_TOKENS: usize = 3;
const MOST_TOKENS: usize = 6;
/// Bits of a token when there are more than a few: every id has that many at most.
const PACKED_BITS: usize = 18;

pub struct WordCache {
    /// A set is a line: key, tokens, key, tokens.
    room: Room,
    /// How many words more this room takes before it grows.
    left: usize,
}

/// Up to six tokens and their number. Three or fewer have 32 bits each, from the lowest up, and
/// then 32 bits for their number. More have 18 bits each and the highest byte for their number.
#[derive(Clone, Copy)]
pub struct Tokens(u128);

impl Tokens {
    /// `None` if they are too many.
    pub fn new(tokens: &[i32]) -> Option<Self> {
        let bits = if tokens.len() > FEW_TOKENS { PACKED_BITS } else { 32 };
        let top = if tokens.len() > FEW_TOKENS { 120 } else { 96 };
        let pack = |all, &id: &i32| all << bits | id as u32 as u128;
        (tokens.len() <= MOST_TOKENS)
            .then(|| Self(tokens.iter().rev().fold(0, pack) | (tokens.len() as u128) << top))
    }

    #[inline(always)]
    pub fn one(id: i32) -> Self {
        Self(id as u32 as u128 | 1 << 96)
    }

    /// Whether [`Tokens::ids`] and [`Tokens::count`] have all tokens.
    #[inline(always)]
    pub fn are_few(self) -> bool {
        self.count() <= FEW_TOKENS
    }

    /// Three places for few tokens, and one more so that all are written at once.
    #[inline(always)]
    pub fn ids(self) -> [i32; FEW_TOKENS + 1] {
        [0, 32, 64, 96].map(|shift| (self.0 >> shift) as i32)
    }

    /// The number of few tokens; else a larger number.
    #[inline(always)]
    pub fn count(self) -> usize {
        (self.0 >> 96) as usize
    }

    /// Appends all tokens, few or not.
    pub fn append_to(self, out: &mut Vec<i32>) {
        if self.are_few() {
            return out.extend_from_slice(&self.ids()[..self.count()]);
        }
        let id = |at| (self.0 >> (PACKED_BITS * at)) as i32 & ((1 << PACKED_BITS) - 1);
        out.extend((0..(self.0 >> 120) as usize).map(id));
    }
}

impl WordCache {
    pub fn new() -> Self {
        Self { room: Room::zeroed(SIZES[0]), left: SIZES[0] }
    }

    /// Asks for the cache line of a hash that will be looked up soon.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        simd::prefetch(self.room.line_of(hash));
    }

    /// Looks in the word's own set only.
    #[inline(always)]
    pub fn get(&self, key: u128, hash: u64) -> Option<Tokens> {
        let set = self.room.line_of(hash);
        // Both are compared without a branch: which of the two it is cannot be predicted.
        let other = |entry: u128| {
            let different = entry ^ key;
            different as u64 | (different >> 64) as u64
        };
        let (first, second) = (other(set[0]), other(set[2]));
        if first.min(second) != 0 {
            return None;
        }
        Some(Tokens(set[1 + 2 * usize::from(first != 0)]))
    }

    /// Looks in the set beside the word's own, where [`WordCache::put`] moves the words that it
    /// pushes out.
    pub fn get_moved(&self, key: u128, hash: u64) -> Option<Tokens> {
        self.get(key, hash ^ 1)
    }

    /// Asks for what [`WordCache::get_moved`] will read.
    #[inline(always)]
    pub fn prefetch_moved(&self, hash: u64) {
        self.prefetch(hash ^ 1);
    }

    /// As [`WordCache::get_moved`]; the word goes to the first place of its set, what was there to
    /// the second, and what was there to the place that the word leaves.
    pub fn bring_back(&mut self, key: u128, hash: u64) -> Option<Tokens> {
        let beside = self.room.line_of_mut(hash ^ 1);
        if beside[2] != key {
            return None;
        }
        let tokens = beside[3];
        let [first_key, first, second_key, second] = *self.room.line_of(hash);
        *self.room.line_of_mut(hash) = [key, tokens, first_key, first];
        let beside = self.room.line_of_mut(hash ^ 1);
        (beside[2], beside[3]) = (second_key, second);
        Some(Tokens(tokens))
    }

    /// Keeps the word in the second place of its set, or in the first if that is free. What was in
    /// the second moves to the second place of the set beside it. So words that come once go as
    /// they came, and the first places are of words that came early or were brought back.
    pub fn put(&mut self, key: u128, hash: u64, tokens: Tokens) {
        if self.left == 0 {
            self.grow();
        }
        self.left -= 1;
        let set = self.room.line_of_mut(hash);
        if set[0] == 0 {
            (set[0], set[1]) = (key, tokens.0);
            return;
        }
        let [_, _, driven_out_key, driven_out] = *set;
        (set[2], set[3]) = (key, tokens.0);
        if driven_out_key != 0 {
            let beside = self.room.line_of_mut(hash ^ 1);
            (beside[2], beside[3]) = (driven_out_key, driven_out);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let now = self.room.lines().len();
        let Some(&size) = SIZES.iter().find(|&&size| size > now) else {
            self.left = usize::MAX;
            return;
        };
        let few = std::mem::replace(&mut self.room, Room::zeroed(size));
        self.left = 2 * size;
        for &[first_key, first, second_key, second] in few.lines() {
            for (key, tokens) in [(first_key, first), (second_key, second)] {
                if key != 0 {
                    self.put(key, hash_key(key), Tokens(tokens));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(id: i32) -> Tokens {
        Tokens::new(&[id, id + 1]).unwrap()
    }

    #[test]
    fn tokens_come_back() {
        for list in [
            &[][..],
            &[1],
            &[200_000, 0],
            &[5, i32::MAX, 201_087],
            &[0, 0, 0, 0],
            &[201_087, 0, 199_999, 4, 201_087],
            &[1, 201_087, 3, 262_143, 5, 201_087],
        ] {
            let tokens = Tokens::new(list).unwrap();
            let mut out = vec![7];
            tokens.append_to(&mut out);
            assert_eq!(&out[1..], list);
            assert_eq!(tokens.are_few(), list.len() <= 3);
            if tokens.are_few() {
                assert_eq!(&tokens.ids()[..tokens.count()], list);
            }
        }
        assert_eq!(Tokens::one(7).ids(), Tokens::new(&[7]).unwrap().ids());
        assert!(Tokens::new(&[1; MOST_TOKENS + 1]).is_none());
    }

    #[test]
    fn a_set_begins_a_cache_line() {
        let mut cache = WordCache::new();
        for _ in SIZES {
            for hash in [0, 1, SIZES[1] as u64 - 1, u64::MAX] {
                assert_eq!(cache.room.line_of(hash).as_ptr() as usize % 64, 0);
            }
            cache.grow();
        }
    }

    #[test]
    fn words_of_one_set_drive_each_other_out_and_never_mix() {
        let mut cache = WordCache::new();
        // Keys that differ in their high half only, and in their low half only.
        let keys: Vec<u128> = (1..50).flat_map(|n| [n << 64 | 1 << 120, n | 1 << 120]).collect();
        for (at, &key) in keys.iter().enumerate() {
            assert!(cache.get(key, 6).is_none() && cache.get_moved(key, 6).is_none());
            cache.put(key, 6, tokens(at as i32));
            let mut found = 0;
            for (other, &key) in keys.iter().enumerate() {
                if let Some(hit) = cache.get(key, 6).or_else(|| cache.get_moved(key, 6)) {
                    assert_eq!(hit.ids(), tokens(other as i32).ids());
                    found += 1;
                }
            }
            assert_eq!(found, (at + 1).min(3));
        }
    }

    fn holds(cache: &WordCache, key: u128) -> bool {
        let hash = hash_key(key);
        let hit = cache.get(key, hash).or_else(|| cache.get_moved(key, hash));
        assert!(hit.is_none_or(|hit| hit.ids() == tokens(key as i32).ids()));
        hit.is_some()
    }

    #[test]
    fn nothing_that_is_kept_is_lost_when_it_grows() {
        let mut cache = WordCache::new();
        let mut key = 0;
        for (size, least) in [(SIZES[0], 95), (SIZES[1], 75)] {
            while cache.left > 0 {
                key += 1;
                cache.put(key, hash_key(key), tokens(key as i32));
            }
            assert_eq!(cache.room.lines().len(), size);
            let kept: Vec<u128> = (1..=key).filter(|&key| holds(&cache, key)).collect();
            assert!(kept.len() > key as usize * least / 100, "{} of {key}", kept.len());
            cache.grow();
            assert!(kept.iter().all(|&key| holds(&cache, key)));
        }
    }

    #[test]
    fn a_word_that_is_met_again_outlives_those_that_are_not() {
        let mut cache = WordCache::new();
        let [often, first] = [1, 2];
        // It is found nowhere else than beside its set, and then always in its set.
        for key in [first, often, 3] {
            cache.put(key, 6, tokens(key as i32));
        }
        assert!(cache.get(often, 6).is_none() && cache.bring_back(3, 6).is_none());
        assert_eq!(cache.bring_back(often, 6).unwrap().ids(), tokens(1).ids());
        for key in 4..100 {
            assert_eq!(cache.get(often, 6).unwrap().ids(), tokens(1).ids());
            cache.put(key, 6, tokens(key as i32));
        }
        // Nothing is lost by it: the word of the second place is beside the set now.
        let mut cache = WordCache::new();
        for key in [1, 2, 3] {
            cache.put(key, 6, tokens(key as i32));
        }
        assert!(cache.bring_back(2, 6).is_some());
        assert!([1, 2].iter().all(|&key| cache.get(key, 6).is_some()));
        assert_eq!(cache.get_moved(3, 6).unwrap().ids(), tokens(3).ids());
    }
}
