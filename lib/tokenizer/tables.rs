//! The tables that `build.rs` made, part of the program: nothing is built at start-up.
//! Numbers are read as little-endian bytes, so the result depends neither on alignment nor on
//! the machine's byte order; the alignment is for the cache.

use super::hash::{self, SLOTS};
use gristmill_simd as simd;

#[repr(C, align(64))]
struct Aligned<const N: usize>([u8; N]);

macro_rules! table {
    ($name:ident, $file:literal) => {
        static $name: Aligned<{ include_bytes!(concat!(env!("OUT_DIR"), $file)).len() }> =
            Aligned(*include_bytes!(concat!(env!("OUT_DIR"), $file)));
    };
}

include!(concat!(env!("OUT_DIR"), "/seeds.rs"));
table!(BLOB, "/blob");
table!(OFFSETS, "/offsets");
table!(BLOCKS, "/blocks");
table!(WORD_BUCKETS, "/words.buckets");
table!(WORD_SLOTS, "/words.slots");
table!(PAIR_BUCKETS, "/pairs.buckets");
table!(PAIR_SLOTS, "/pairs.slots");
table!(SHORT, "/short");
table!(CUTS, "/cuts");
table!(NEIGHBOURS, "/neighbours");
table!(CHARACTERS, "/characters");
table!(CHARACTER_SETS, "/characters.sets");
table!(CLASSES, "/classes");

/// "No such pair": above every id, so that a minimum over merges never picks it.
pub const NONE: u32 = u32::MAX;

/// Class bits of each ASCII byte, and of U+0080 to U+00FF.
pub const FIRST_CLASSES: &[u8; 256] = {
    let block = CLASSES_OF_ZERO as usize;
    match CLASSES.0.split_at(0x1100 + 256 * block).1.first_chunk() {
        Some(classes) => classes,
        None => panic!("a block of 256 classes"),
    }
};
const CLASSES_OF_ZERO: u8 = CLASSES.0[0];

/// Class bits of the code points that UTF-8 has in one byte or two.
pub static TWO_BYTE_CLASSES: [u8; 0x800] = {
    let mut classes = [0; 0x800];
    let mut point = 0;
    while point < classes.len() {
        let block = CLASSES.0[point >> 8] as usize;
        classes[point] = CLASSES.0[0x1100 + 256 * block + (point & 0xff)];
        point += 1;
    }
    classes
};

/// One bit for each code point below U+10000: whether it is a letter or mark without case.
static WITHOUT_CASE: [u8; 0x2000] = {
    let mut bits = [0; 0x2000];
    let mut point = 0;
    while point < 0x1_0000 {
        let block = CLASSES.0[point >> 8] as usize;
        let class = CLASSES.0[0x1100 + 256 * block + (point & 0xff)];
        let is_both = class & hash::class::UPPER != 0 && class & hash::class::LOWER != 0;
        bits[point / 8] |= (is_both as u8) << (point % 8);
        point += 1;
    }
    bits
};

/// Whether a code point below U+10000 is a letter or mark without case: such characters may be in
/// both parts of a word.
#[inline(always)]
pub fn is_without_case(point: u16) -> bool {
    bit(&WITHOUT_CASE, point.into())
}

/// Returns the class bits of a code point; 0 for other numbers.
#[inline]
pub fn class_of(point: u32) -> u8 {
    let Some(&block) = CLASSES.0[..0x1100].get((point >> 8) as usize) else { return 0 };
    CLASSES.0[0x1100 + 256 * block as usize + (point & 0xff) as usize]
}

/// Returns the bytes of an id below 201,088, the names of special tokens included.
pub fn bytes_of(id: u32) -> Option<&'static [u8]> {
    let (offsets, _) = OFFSETS.0.as_chunks::<4>();
    let at = id as usize;
    let (start, end) = (offsets.get(at)?, offsets.get(at + 1)?);
    BLOB.0.get(u32::from_le_bytes(*start) as usize..u32::from_le_bytes(*end) as usize)
}

/// An id that no token has, with no bytes.
pub const NO_TOKEN: u32 = 201_088;

/// Returns the bytes of each token up to [`NO_TOKEN`] and, in the last place, their number, or
/// [`hash::LONG`] if they do not fit. All blocks after these have [`hash::LONG`] too: so a number of 18
/// bits needs no check.
#[inline(always)]
pub fn blocks() -> &'static [[u8; 16]; 1 << hash::ID_BITS] {
    match BLOCKS.0.as_chunks::<16>().0.first_chunk() {
        Some(blocks) => blocks,
        None => &[[0; 16]; 1 << hash::ID_BITS],
    }
}

/// Returns the slot of a key, spread by the table's seed, if it is in the table, and slot 0 for
/// most keys that are not. The slot itself says whose it is.
#[inline(always)]
fn place(buckets: &[u8; 4 * hash::BUCKETS], key: u64) -> usize {
    let (buckets, _) = buckets.as_chunks::<4>();
    let bucket = u32::from_le_bytes(buckets[hash::bucket(key)]);
    hash::slot(key, bucket as u8) & hash::may_be_in(bucket, key)
}

/// Returns the slot of a word by its hash.
#[inline(always)]
fn word_place(h: u64) -> usize {
    place(&WORD_BUCKETS.0, hash::spread_word(h, WORDS_SEED))
}

/// Requests the slot of a word that will be looked up soon, by its hash.
#[inline]
pub fn prefetch_word(h: u64) {
    let (slots, _) = WORD_SLOTS.0.as_chunks::<4>();
    simd::prefetch(&slots[word_place(h)]);
}

/// Returns the token that a word with this hash may be: bits of its hash, and its id.
#[inline]
fn candidate(h: u64) -> (u32, u32) {
    let (slots, _) = WORD_SLOTS.0.as_chunks::<4>();
    let slot = u32::from_le_bytes(slots[word_place(h)]);
    (slot >> hash::ID_BITS, slot & ((1 << hash::ID_BITS) - 1))
}

/// Requests the bytes of a token that may be the word, once its slot is here.
#[inline]
pub fn prefetch_token(h: u64) {
    let (_, id) = candidate(h);
    simd::prefetch(&blocks()[id as usize]);
}

/// Returns the id of a word that is a token, by its bytes, its key and its hash.
#[inline]
pub fn word(word: &[u8], key: u128, h: u64) -> Option<u32> {
    let (fingerprint, id) = candidate(h);
    if fingerprint != hash::fingerprint(h) {
        return None;
    }
    let is_it = match blocks()[id as usize] {
        [.., hash::LONG] => bytes_of(id)? == word,
        block => hash::key_of_block(block) == key,
    };
    is_it.then_some(id)
}

#[inline(always)]
fn short(at: usize) -> u32 {
    let (numbers, _) = SHORT.0.as_chunks::<4>();
    u32::from_le_bytes(numbers[at])
}

/// Returns the id of a single byte.
#[inline(always)]
pub fn byte_id(byte: u8) -> u32 {
    short(byte as usize)
}

/// Returns the id to which two bytes merge, or [`NONE`].
#[inline(always)]
pub fn merge_bytes(left: u8, right: u8) -> u32 {
    match short(256 + (left as usize) * 256 + right as usize) {
        0 => NONE,
        id => id,
    }
}

#[inline(always)]
fn bit(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 != 0
}

/// A character of a word: `build/characters.rs` says how the table is made.
#[derive(Clone, Copy)]
pub struct Character {
    /// The number of its bytes; 1 if it is ASCII.
    pub length: usize,
    entry: u32,
}

impl Character {
    /// Returns the character that starts at `at`, which is before the end of the word.
    #[inline(always)]
    pub fn at(word: &[u8], at: usize) -> Self {
        let bits = |n: usize| word.get(at + n).map_or(0, |&byte| usize::from(byte & 0x3f));
        let first = usize::from(word[at]);
        // The code point without the six bits of its last byte.
        let (block, length) = match first {
            0xc2..0xe0 => (first & 0x1f, 2),
            0xe0..0xf0 => ((first & 0x0f) << 6 | bits(1), 3),
            0xf0..0xf5 => ((first & 0x07) << 12 | bits(1) << 6 | bits(2), 4),
            _ => return Self { length: 1, entry: 0 },
        };
        let (numbers, blocks) = CHARACTERS.0.split_at(2 * 0x11_0000 / 64);
        let last = bits(length - 1);
        let number =
            numbers.as_chunks().0.get(block).map_or(0, |&number| u16::from_le_bytes(number));
        let place = 64 * usize::from(number) + last;
        let entry = blocks.as_chunks().0.get(place).map_or(0, |&entry| u32::from_le_bytes(entry));
        Self { length, entry }
    }

    /// Whether it is merged before any part of it is merged with the token that ends with this
    /// byte.
    #[inline(always)]
    pub fn is_whole_after(self, byte: u8) -> bool {
        !bit(&CHARACTER_SETS.0, 256 * (self.entry >> 18 & 0x7f) as usize + usize::from(byte))
    }

    /// Whether it is merged before any part of it is merged with the token that begins with this
    /// byte.
    #[inline(always)]
    pub fn is_whole_before(self, byte: u8) -> bool {
        !bit(&CHARACTER_SETS.0, 256 * (self.entry >> 25) as usize + usize::from(byte))
    }

    /// Returns its id, if it is a token beyond ASCII.
    #[inline(always)]
    fn id(self) -> Option<u32> {
        Some(self.entry & 0x3_ffff).filter(|&id| id != 0)
    }
}

/// Whether some token has these two characters side by side, given as code points. Now and then
/// also true if no token has.
#[inline(always)]
pub fn are_neighbours(left: u32, right: u32) -> bool {
    bit(&NEIGHBOURS.0, hash::neighbours_bit(left, right) % hash::NEIGHBOUR_BITS)
}

/// Whether some token has these two bytes at a border of characters, and not the whole of both
/// characters.
#[inline(always)]
pub fn is_cut_border(left: u8, right: u8) -> bool {
    bit(&CUTS.0, usize::from(left) * 256 + usize::from(right))
}

/// Returns the id and length of the character beyond ASCII that starts at `at`, if it is a token
/// and merging always makes it: no other merge of its bytes comes first.
#[inline(always)]
pub fn merged_character(word: &[u8], at: usize) -> Option<(u32, usize)> {
    if word[at] < 0x80 {
        return None;
    }
    let character = Character::at(word, at);
    let id = character.id()?;
    let end = at + character.length;
    let is_whole = end <= word.len()
        && (at == 0 || character.is_whole_after(word[at - 1]))
        && word.get(end).is_none_or(|&byte| character.is_whole_before(byte));
    is_whole.then_some((id, character.length))
}

/// Two tokens whose merge is being loaded into the cache.
pub struct Pair {
    pair: u64,
    slot: usize,
}

impl Pair {
    pub const NONE: Self = Self { pair: 0, slot: 0 };

    #[inline(always)]
    pub fn new(left: u32, right: u32) -> Self {
        let slot = place(&PAIR_BUCKETS.0, hash::spread_pair(left, right, PAIRS_SEED));
        let (slots, _) = PAIR_SLOTS.0.as_chunks::<8>();
        simd::prefetch(&slots[slot]);
        Self { pair: (left as u64) << 18 | right as u64, slot }
    }

    /// Returns the id to which the two merge, or [`NONE`]. It has no branch: whether a pair merges
    /// cannot be predicted, and the next look-up should not wait for it.
    #[inline(always)]
    pub fn merged(&self) -> u32 {
        let (slots, _) = PAIR_SLOTS.0.as_chunks::<8>();
        let slot = u64::from_le_bytes(slots[self.slot % SLOTS]);
        // An empty slot looks like the slot of pair 0, which is in the table, and so finds its own
        // slot.
        let other = u32::from(slot >> 18 != self.pair);
        slot as u32 & 0x3_ffff | 0u32.wrapping_sub(other)
    }
}

/// Returns the id to which two tokens merge, or [`NONE`].
#[inline(always)]
pub fn merge(left: u32, right: u32) -> u32 {
    Pair::new(left, right).merged()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::class;
    use crate::words::block_at;

    #[test]
    fn classes_are_those_of_unicode_16() {
        let of = |c: char| class_of(c as u32);
        assert_eq!(of('A'), class::LETTER | class::UPPER);
        assert_eq!(of('ǅ'), class::LETTER | class::UPPER, "titlecase counts as upper");
        assert_eq!(of('a'), class::LETTER | class::LOWER);
        assert_eq!(of('ʰ'), class::LETTER | class::UPPER | class::LOWER);
        assert_eq!(of('中'), class::LETTER | class::UPPER | class::LOWER);
        assert_eq!(of('\u{301}') & class::PREFIX, class::PREFIX);
        assert_eq!(of('½'), class::NUMBER);
        assert_eq!(of('\r'), class::SPACE | class::NEWLINE);
        for space in ['\u{85}', '\u{a0}', '\u{3000}', '\t', ' '] {
            assert_eq!(of(space), class::SPACE | class::PREFIX, "{space:?}");
        }
        for none in ['\u{1c}', '\u{1f}', '\u{200b}', '\u{feff}', '/', '\'', '😀'] {
            assert_eq!(of(none), class::PUNCTUATION | class::PREFIX, "{none:?}");
        }
        // Unassigned in 16.0, letters in 17.0.
        for later in ['\u{88f}', '\u{c5c}', '\u{cdc}'] {
            assert_eq!(of(later), class::PUNCTUATION | class::PREFIX, "{later:?}");
        }
        assert_eq!(class_of(0x11_0000), 0);
    }

    fn token(word: &[u8]) -> Option<u32> {
        let block = block_at(word, 0);
        super::word(word, hash::key_of(&block, word.len()), hash::hash_word(word))
    }

    #[test]
    fn every_token_is_found_by_its_bytes_and_made_by_one_pair() {
        let mut made = 0;
        for id in 0..199_998 {
            let word = bytes_of(id).unwrap();
            let found = token(word);
            assert_eq!(found, Some(id));
        }
        for slot in PAIR_SLOTS.0.as_chunks::<8>().0 {
            let slot = u64::from_le_bytes(*slot);
            if slot == 0 {
                continue;
            }
            let (left, right) = ((slot >> 36) as u32, (slot >> 18) as u32 & 0x3_ffff);
            let id = merge(left, right);
            assert!(left < id && right < id);
            let joined = [bytes_of(left).unwrap(), bytes_of(right).unwrap()].concat();
            assert_eq!(bytes_of(id), Some(&joined[..]));
            made += 1;
        }
        assert_eq!(made, 199_742);
    }

    /// Some of these share slot and fingerprint with a token: the bytes decide.
    #[test]
    fn a_word_that_is_no_token_is_not_found() {
        for number in 0..1_000_000u64 {
            let word = (number * 0x1_0001_0101).to_le_bytes();
            if let Some(id) = token(&word[..7]) {
                assert_eq!(bytes_of(id), Some(&word[..7]));
            }
        }
    }

    #[test]
    fn blocks_have_the_bytes_of_their_tokens() {
        for id in 0..NO_TOKEN {
            let block = blocks()[id as usize];
            let bytes = bytes_of(id).unwrap();
            match block[15] {
                hash::LONG => assert!(bytes.len() > 15),
                length => {
                    assert_eq!(&block[..length.into()], bytes);
                    assert_eq!(hash::key_of_block(block), hash::key_of(&block, length.into()));
                }
            }
        }
        assert_eq!(blocks()[NO_TOKEN as usize], [0; 16]);
        assert!(blocks()[NO_TOKEN as usize + 1..].iter().all(|block| block[15] == hash::LONG));
        assert_eq!(i64::from(NO_TOKEN), i64::from(crate::PADDED_VOCABULARY_SIZE));
    }
}
