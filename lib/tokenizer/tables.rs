//! The tables of a vocabulary and their lookups: of o200k (`embedded`) and of others (`loaded`). Numbers are read as
//! little-endian bytes, so the result depends neither on alignment nor on the machine's byte order.

use super::hash::{self, SLOTS};
use gristmill_simd as simd;

/// Means "no such pair". It is above every id, so that a minimum over merges never picks it.
pub const NONE: u32 = u32::MAX;

/// Four bytes for each bucket, with its pilot (`hash`).
pub type Buckets = [u8; 4 * hash::BUCKETS];
/// The bytes of an id and, in the last place, their number, or [`hash::LONG`] if they do not fit.
pub type Blocks = [[u8; 16]; 1 << hash::ID_BITS];
/// The 256 bytes, then all pairs of bytes.
pub type ShortIds = [u8; 4 * (256 + 65536)];
/// One bit for each pair of bytes.
pub type Cuts = [u8; (1 << 16) / 8];
/// One bit for each hash of two characters.
pub type Neighbours = [u8; hash::NEIGHBOUR_BITS / 8];
/// Four bytes for each word.
pub type WordSlots = [u8; 4 * SLOTS];
/// Eight bytes for each pair.
pub type PairSlots = [u8; 8 * SLOTS];

/// The tables of a vocabulary; `make` describes each.
pub trait Tables: Clone {
    fn blob(&self) -> &[u8];
    fn offsets(&self) -> &[u8];
    fn blocks(&self) -> &Blocks;
    fn word_buckets(&self) -> &Buckets;
    fn word_slots(&self) -> &WordSlots;
    fn pair_buckets(&self) -> &Buckets;
    fn pair_slots(&self) -> &PairSlots;
    fn short_ids(&self) -> &ShortIds;
    fn cuts(&self) -> &Cuts;
    fn neighbours(&self) -> &Neighbours;
    fn characters(&self) -> &[u8];
    fn character_sets(&self) -> &[u8];
    fn words_seed(&self) -> u64;
    fn pairs_seed(&self) -> u64;

    /// Whether a pre-token may be cut at `at` into a piece that starts at `start` and another one. It may not
    /// if one of the two might be a token that only a whole pre-token can become.
    #[inline(always)]
    fn may_cut(&self, _text: &[u8], _start: usize, _at: usize) -> bool {
        true
    }

    /// Bytes of an id.
    fn bytes_of(&self, id: u32) -> Option<&[u8]> {
        let (offsets, _) = self.offsets().as_chunks::<4>();
        let at = id as usize;
        let (start, end) = (offsets.get(at)?, offsets.get(at + 1)?);
        self.blob().get(u32::from_le_bytes(*start) as usize..u32::from_le_bytes(*end) as usize)
    }

    /// The slot of a word by its hash.
    #[inline(always)]
    fn word_place(&self, h: u64) -> usize {
        place(self.word_buckets(), hash::spread_word(h, self.words_seed()))
    }

    /// Prefetches the slot of a word that will be looked up soon, by its hash.
    #[inline]
    fn prefetch_word(&self, h: u64) {
        let (slots, _) = self.word_slots().as_chunks::<4>();
        simd::prefetch(&slots[self.word_place(h)]);
    }

    /// The token that a word with this hash may be: bits of its hash, and its id.
    #[inline]
    fn candidate(&self, h: u64) -> (u32, u32) {
        let (slots, _) = self.word_slots().as_chunks::<4>();
        let slot = u32::from_le_bytes(slots[self.word_place(h)]);
        (slot >> hash::ID_BITS, slot & ((1 << hash::ID_BITS) - 1))
    }

    /// Prefetches the bytes of a token that may be the word, once its slot is loaded.
    #[inline]
    fn prefetch_token(&self, h: u64) {
        let (_, id) = self.candidate(h);
        simd::prefetch(&self.blocks()[id as usize]);
    }

    /// The id of a word that is a token, by its bytes, its key and its hash.
    #[inline]
    fn word(&self, word: &[u8], key: u128, h: u64) -> Option<u32> {
        let (fingerprint, id) = self.candidate(h);
        if fingerprint != hash::fingerprint(h) {
            return None;
        }
        let is_it = match self.blocks()[id as usize] {
            [.., hash::LONG] => self.bytes_of(id)? == word,
            block => hash::key_of_block(block) == key,
        };
        is_it.then_some(id)
    }

    #[inline(always)]
    fn short(&self, at: usize) -> u32 {
        let (numbers, _) = self.short_ids().as_chunks::<4>();
        u32::from_le_bytes(numbers[at])
    }

    /// The id of a single byte.
    #[inline(always)]
    fn byte_id(&self, byte: u8) -> u32 {
        self.short(byte as usize)
    }

    /// The id that two bytes merge to, or [`NONE`].
    #[inline(always)]
    fn merge_bytes(&self, left: u8, right: u8) -> u32 {
        match self.short(256 + (left as usize) * 256 + right as usize) {
            0 => NONE,
            id => id,
        }
    }

    /// The character that starts at `at`, which is before the end of the word.
    #[inline(always)]
    fn character_at(&self, word: &[u8], at: usize) -> Character {
        let bits = |n: usize| word.get(at + n).map_or(0, |&byte| usize::from(byte & 0x3f));
        let first = usize::from(word[at]);
        // The code point without the six bits of its last byte.
        let (block, length) = match first {
            0xc2..0xe0 => (first & 0x1f, 2),
            0xe0..0xf0 => ((first & 0x0f) << 6 | bits(1), 3),
            0xf0..0xf5 => ((first & 0x07) << 12 | bits(1) << 6 | bits(2), 4),
            _ => return Character { length: 1, entry: 0 },
        };
        let (numbers, blocks) = self.characters().split_at(2 * 0x11_0000 / 64);
        let last = bits(length - 1);
        let number =
            numbers.as_chunks().0.get(block).map_or(0, |&number| u16::from_le_bytes(number));
        let place = 64 * usize::from(number) + last;
        let entry = blocks.as_chunks().0.get(place).map_or(0, |&entry| u32::from_le_bytes(entry));
        Character { length, entry }
    }

    /// Whether the character is merged before any part of it can be merged with text in front of it that ends
    /// with this byte.
    #[inline(always)]
    fn is_whole_after(&self, character: Character, byte: u8) -> bool {
        let set = (character.entry >> 18 & 0x7f) as usize;
        !bit(self.character_sets(), 256 * set + usize::from(byte))
    }

    /// Whether the character is merged before any part of it can be merged with text behind it that begins
    /// with this byte.
    #[inline(always)]
    fn is_whole_before(&self, character: Character, byte: u8) -> bool {
        let set = (character.entry >> 25) as usize;
        !bit(self.character_sets(), 256 * set + usize::from(byte))
    }

    /// Whether some token has these two characters side by side, given as code points. Sometimes also true if
    /// no token has.
    #[inline(always)]
    fn are_neighbours(&self, left: u32, right: u32) -> bool {
        bit(self.neighbours(), hash::neighbours_bit(left, right) % hash::NEIGHBOUR_BITS)
    }

    /// Whether some token has these two bytes at a border of characters, and one of the two characters only in part.
    #[inline(always)]
    fn is_cut_border(&self, left: u8, right: u8) -> bool {
        bit(self.cuts(), usize::from(left) * 256 + usize::from(right))
    }

    /// The id and length of the character beyond ASCII that starts at `at`, if it is a token and
    /// merging always makes it: no other merge of its bytes comes first.
    #[inline(always)]
    fn merged_character(&self, word: &[u8], at: usize) -> Option<(u32, usize)> {
        if word[at] < 0x80 {
            return None;
        }
        let character = self.character_at(word, at);
        let id = character.id()?;
        let end = at + character.length;
        let is_whole = end <= word.len()
            && (at == 0 || self.is_whole_after(character, word[at - 1]))
            && word.get(end).is_none_or(|&byte| self.is_whole_before(character, byte));
        is_whole.then_some((id, character.length))
    }

    /// Two tokens whose merge is looked up.
    #[inline(always)]
    fn pair(&self, left: u32, right: u32) -> Pair {
        let slot = place(self.pair_buckets(), hash::spread_pair(left, right, self.pairs_seed()));
        let (slots, _) = self.pair_slots().as_chunks::<8>();
        simd::prefetch(&slots[slot]);
        Pair { pair: (left as u64) << 18 | right as u64, slot }
    }

    /// The id to which the two merge, or [`NONE`]. It has no branch: the processor cannot predict whether a
    /// pair merges, and the next look-up should not wait for that.
    #[inline(always)]
    fn merged(&self, pair: &Pair) -> u32 {
        let (slots, _) = self.pair_slots().as_chunks::<8>();
        let slot = u64::from_le_bytes(slots[pair.slot % SLOTS]);
        let other = u32::from(slot >> 18 != pair.pair);
        slot as u32 & 0x3_ffff | 0u32.wrapping_sub(other)
    }

    /// The id that two tokens merge to, or [`NONE`].
    #[inline(always)]
    fn merge(&self, left: u32, right: u32) -> u32 {
        self.merged(&self.pair(left, right))
    }
}

/// Returns the slot of a key, spread by the table's seed; slot 0 for most keys that are not in the table. The caller
/// compares the key in the slot.
#[inline(always)]
fn place(buckets: &Buckets, key: u64) -> usize {
    let (buckets, _) = buckets.as_chunks::<4>();
    let bucket = u32::from_le_bytes(buckets[hash::bucket(key)]);
    hash::slot(key, bucket as u8) & hash::may_be_in(bucket, key)
}

#[inline(always)]
fn bit(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 != 0
}

/// A character of a word: `make/characters.rs` says how the table is made.
#[derive(Clone, Copy)]
pub struct Character {
    /// Bytes of it; one if it is ASCII.
    pub length: usize,
    entry: u32,
}

impl Character {
    /// Its id, if it is a token beyond ASCII.
    #[inline(always)]
    fn id(self) -> Option<u32> {
        Some(self.entry & 0x3_ffff).filter(|&id| id != 0)
    }
}

/// Two tokens whose merge is being prefetched.
pub struct Pair {
    pair: u64,
    slot: usize,
}

impl Pair {
    pub const NONE: Self = Self { pair: 0, slot: 0 };
}
