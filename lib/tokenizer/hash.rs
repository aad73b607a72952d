//! What the maker of the tables (`build/`) and their reader share: class bits, hashes and the
//! packing of slots. The build script includes this file, so it uses no other module.

/// Bits of a character's class. A character may have several: marks have four.
pub mod class {
    /// Lu, Lt, Lm, Lo, M: may be in the first part of a word.
    pub const UPPER: u8 = 1;
    /// Ll, Lm, Lo, M: may be in the second part of a word.
    pub const LOWER: u8 = 2;
    /// L.
    pub const LETTER: u8 = 4;
    /// N.
    pub const NUMBER: u8 = 8;
    /// White_Space.
    pub const SPACE: u8 = 16;
    /// CR and LF.
    pub const NEWLINE: u8 = 32;
    /// Neither white space nor L nor N (so marks are included).
    pub const PUNCTUATION: u8 = 64;
    /// Neither CR nor LF nor L nor N: the one character that may precede a word.
    pub const PREFIX: u8 = 128;
}

pub const SLOTS: usize = 1 << 18;
pub const BUCKETS: usize = 1 << 16;

/// Words of up to this many bytes fit in a key.
pub const KEY_BYTES: usize = 15;

/// A word of 1 to 15 bytes as one number: its bytes, little-endian, and its length on top.
/// Distinct words have distinct keys, and none is 0.
#[inline(always)]
pub fn key_of_block(block: u128, length: usize) -> u128 {
    block & KEPT[length % 16] | (length as u128) << 120
}

/// The bytes of a word in a key, and their number.
#[inline]
#[allow(dead_code, reason = "the build script only makes keys")]
pub fn word_of_key(key: u128) -> ([u8; 16], usize) {
    let word = key.to_le_bytes();
    (word, (word[KEY_BYTES] as usize).min(KEY_BYTES))
}

/// Words of more bytes than fit in a key, and of up to this many, fit in a wide one.
pub const WIDE_BYTES: usize = 31;

/// A word of 16 to 31 bytes: its bytes, little-endian, and its length on top.
pub type WideKey = [u128; 2];

#[inline(always)]
pub fn wide_key(block: &[u8; 32], length: usize) -> WideKey {
    let (halves, _) = block.as_chunks::<16>();
    let [first, second] = [0, 1].map(|half: usize| u128::from_le_bytes(halves[half]));
    [first, second & KEPT[length % 16] | (length as u128) << 120]
}

/// Masks of the first bytes of a block, by their number.
const KEPT: [u128; 16] = {
    let mut kept = [0; 16];
    let mut length = 1;
    while length < 16 {
        kept[length] = kept[length - 1] << 8 | 0xff;
        length += 1;
    }
    kept
};

#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
pub fn hash_key(key: u128) -> u64 {
    fold(key as u64 ^ 0x2d35_8dcc_aa6c_78a5, (key >> 64) as u64 ^ 0x8bb8_4b93_962e_acc9)
}

#[inline(always)]
pub fn hash_wide(key: WideKey) -> u64 {
    let [first, second] = key;
    fold(hash_key(first) ^ second as u64, (second >> 64) as u64 ^ 0x5895_89e1_8a4d_8a7d)
}

/// Hash of a word longer than a key holds.
pub fn hash_long(word: &[u8]) -> u64 {
    if word.len() <= WIDE_BYTES {
        let mut block = [0; 32];
        block[..word.len()].copy_from_slice(word);
        return hash_wide(wide_key(&block, word.len()));
    }
    let (chunks, rest) = word.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut hash = word.len() as u64;
    for &chunk in chunks.iter().chain(std::iter::once(&last)) {
        hash = fold(hash ^ u64::from_le_bytes(chunk), 0xa076_1d64_78bd_642f) ^ hash.rotate_left(23);
    }
    hash
}

#[inline(always)]
pub fn hash_pair(left: u32, right: u32) -> u64 {
    fold((left as u64) << 18 | right as u64, 0x9fb2_1c65_1e98_df25)
}

#[inline(always)]
pub fn bucket(hash: u64, seed: u64) -> usize {
    (hash.wrapping_mul(seed) >> 48) as usize
}

#[inline(always)]
pub fn slot(hash: u64, seed: u64, pilot: u8) -> usize {
    let moved = (pilot as u64).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 40;
    ((hash.wrapping_mul(seed) >> 24 ^ moved) & (SLOTS as u64 - 1)) as usize
}

/// A bucket has its pilot in its lowest byte, and above it a bit for each of its keys: most of
/// what is looked up is in no table, and is known not to be without its slot.
#[inline(always)]
pub fn bucket_bit(hash: u64, seed: u64) -> u32 {
    256 << ((hash.wrapping_mul(seed) >> 43 & 31) * 24 / 32)
}

/// Bits of the table of neighbours.
pub const NEIGHBOUR_BITS: usize = 1 << 19;

/// The bit of two characters that are side by side in some token.
#[inline(always)]
pub fn neighbours_bit(left: u32, right: u32) -> usize {
    let pair = (left as u64) << 21 | right as u64;
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) as usize
}

// A slot of the pair table holds the left id, the right id and the merged id in 18 bits each,
// from the top; 0 is empty, since no pair of tokens makes a byte.
//
// A slot of the word table holds, from the top, the fingerprint of the hash (17 bits), the
// offset in the blob (21), the length (8) and the id (18); 0 is empty, since no token has
// length 0.

#[inline(always)]
pub fn fingerprint(hash: u64) -> u64 {
    hash & 0x1_ffff
}
