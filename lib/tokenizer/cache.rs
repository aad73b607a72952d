//! Words already encoded: short ones with up to three tokens, found by their key, and the
//! rest that are still of a reasonable length. Their sizes are fixed and a newcomer replaces
//! what stands in its place: they change the speed of the encoder, never its output.

use super::simd;

/// Sets of two entries; 4 MiB, of which the system gives only the pages that are touched.
const SETS: usize = 1 << 16;
/// 64-bit numbers of an entry: the key in two, then three tokens and their count.
const ENTRY: usize = 4;
const SET: usize = 2 * ENTRY;
pub const MOST_TOKENS: usize = 3;

pub struct WordCache {
    room: Vec<u64>,
    /// Where the first set starts, so that a set is one cache line.
    start: usize,
}

/// Up to three tokens, with how many they are.
#[derive(Clone, Copy)]
pub struct Tokens {
    pub ids: [i32; MOST_TOKENS],
    pub count: usize,
}

impl WordCache {
    pub fn new() -> Self {
        // A vector of zeroed numbers comes from the allocator untouched: this costs no time
        // until an entry is written.
        let room = vec![0u64; SETS * SET + 8];
        let start = room.as_ptr().align_offset(64).min(8);
        Self { room, start }
    }

    #[inline(always)]
    fn set(&self, hash: u64) -> &[u64; SET] {
        let (sets, _) = self.room[self.start..].as_chunks::<SET>();
        &sets[hash as usize % SETS]
    }

    /// Asks for the cache line of a hash that will be looked up soon.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        simd::prefetch(self.set(hash));
    }

    /// Looks in the word's own set only.
    #[inline(always)]
    pub fn get(&self, key: u128, hash: u64) -> Option<Tokens> {
        let set = self.set(hash);
        let (low, high) = (key as u64, (key >> 64) as u64);
        let first = (set[0] ^ low) | (set[1] ^ high);
        let second = (set[4] ^ low) | (set[5] ^ high);
        if first.min(second) != 0 {
            return None;
        }
        // By index, not by branch: which of the two it is cannot be predicted.
        let entry = ENTRY * usize::from(first != 0);
        let (low, high) = (set[entry + 2], set[entry + 3]);
        Some(Tokens {
            ids: [low as i32, (low >> 32) as i32, high as i32],
            count: (high >> 32) as usize,
        })
    }

    /// Looks in the set beside the word's own, where [`WordCache::put`] moves what it drives
    /// out.
    pub fn get_moved(&self, key: u128, hash: u64) -> Option<Tokens> {
        self.get(key, hash ^ 1)
    }

    /// Keeps the word in the first place of its set. What was there moves to the second, and
    /// what was there moves to the second place of the set beside it.
    pub fn put(&mut self, key: u128, hash: u64, tokens: Tokens) {
        let [first, second, third] = tokens.ids.map(|id| id as u32 as u64);
        let entry = [
            key as u64,
            (key >> 64) as u64,
            first | second << 32,
            third | (tokens.count as u64) << 32,
        ];
        let set = self.set_mut(hash);
        let mut driven_out = [0; ENTRY];
        driven_out.copy_from_slice(&set[ENTRY..]);
        set.copy_within(..ENTRY, ENTRY);
        set[..ENTRY].copy_from_slice(&entry);
        if driven_out[1] != 0 {
            self.set_mut(hash ^ 1)[ENTRY..].copy_from_slice(&driven_out);
        }
    }

    fn set_mut(&mut self, hash: u64) -> &mut [u64; SET] {
        let (sets, _) = self.room[self.start..].as_chunks_mut::<SET>();
        &mut sets[hash as usize % SETS]
    }
}

/// Entries of 128 bytes: the length of the word and the number of its tokens in one byte each,
/// the word, and from byte 64 on the tokens.
const RARE_ENTRIES: usize = 1 << 12;
const RARE_ENTRY: usize = 128;
const RARE_BYTES: usize = 62;
const RARE_TOKENS: usize = 16;

/// Words that the first cache does not take: longer than a key, or of many tokens.
pub struct RareCache {
    room: Vec<u8>,
}

impl RareCache {
    pub fn new() -> Self {
        Self { room: vec![0; RARE_ENTRIES * RARE_ENTRY] }
    }

    fn entry(&mut self, hash: u64) -> &mut [u8; RARE_ENTRY] {
        let (entries, _) = self.room.as_chunks_mut::<RARE_ENTRY>();
        &mut entries[hash as usize % RARE_ENTRIES]
    }

    /// Appends the tokens of the word if it is here.
    pub fn get(&mut self, word: &[u8], hash: u64, out: &mut Vec<i32>) -> bool {
        let entry = self.entry(hash);
        let (length, count) = (entry[0] as usize, entry[1] as usize);
        if length != word.len() || entry[2..64].get(..length) != Some(word) {
            return false;
        }
        let (tokens, _) = entry[64..].as_chunks::<4>();
        out.extend(tokens.iter().take(count).map(|&token| i32::from_le_bytes(token)));
        true
    }

    pub fn put(&mut self, word: &[u8], hash: u64, tokens: &[i32]) {
        if word.len() > RARE_BYTES || tokens.len() > RARE_TOKENS {
            return;
        }
        let entry = self.entry(hash);
        entry[0] = word.len() as u8;
        entry[1] = tokens.len() as u8;
        entry[2..2 + word.len()].copy_from_slice(word);
        let (places, _) = entry[64..].as_chunks_mut::<4>();
        for (place, token) in places.iter_mut().zip(tokens) {
            *place = token.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(id: i32) -> Tokens {
        Tokens { ids: [id, id + 1, 0], count: 2 }
    }

    #[test]
    fn a_set_begins_a_cache_line() {
        let cache = WordCache::new();
        for hash in [0, 1, SETS as u64 - 1, u64::MAX] {
            assert_eq!(cache.set(hash).as_ptr() as usize % 64, 0);
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
                    assert_eq!((hit.ids, hit.count), (tokens(other as i32).ids, 2));
                    found += 1;
                }
            }
            assert_eq!(found, (at + 1).min(3));
        }
    }

    #[test]
    fn rare_words_come_back_whole_or_not_at_all() {
        let mut cache = RareCache::new();
        let mut out = vec![5];
        assert!(!cache.get(b"a long word indeed", 3, &mut out));
        cache.put(b"a long word indeed", 3, &[1, 2, -3]);
        assert!(!cache.get(b"a long word indeee", 3, &mut out));
        assert!(!cache.get(b"a long word", 3, &mut out));
        assert!(cache.get(b"a long word indeed", 3, &mut out));
        assert_eq!(out, [5, 1, 2, -3]);
        // Too long a word and too many tokens are not kept.
        cache.put(&[7; RARE_BYTES + 1], 4, &[1]);
        assert!(!cache.get(&[7; RARE_BYTES + 1], 4, &mut out));
        cache.put(b"x", 4, &[1; RARE_TOKENS + 1]);
        assert!(!cache.get(b"x", 4, &mut out));
        cache.put(&[7; RARE_BYTES], 4, &[1; RARE_TOKENS]);
        assert!(cache.get(&[7; RARE_BYTES], 4, &mut out));
    }
}
