//! Words already encoded, with up to three tokens each, found by their key. Its size is
//! fixed and a newcomer replaces what stands in its place: it changes the speed of the
//! encoder, never its output.

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
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line: *const [u64; SET] = self.set(hash);
            // SAFETY: a prefetch reads nothing that the program can see, and faults on no
            // address; this one is a live reference besides.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
        }
    }

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

    /// Keeps the word in the first place of its set; what was there moves to the second.
    pub fn put(&mut self, key: u128, hash: u64, tokens: Tokens) {
        let (sets, _) = self.room[self.start..].as_chunks_mut::<SET>();
        let set = &mut sets[hash as usize % SETS];
        set.copy_within(..ENTRY, ENTRY);
        let [first, second, third] = tokens.ids.map(|id| id as u32 as u64);
        set[0] = key as u64;
        set[1] = (key >> 64) as u64;
        set[2] = first | second << 32;
        set[3] = third | (tokens.count as u64) << 32;
    }
}
