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
    /// In the pattern of DeepSeek V3, which has no case, this bit means kana and Han, which are cut off first.
    pub const ISOLATED: u8 = UPPER;
}

pub const SLOTS: usize = 1 << 18;
pub const BUCKETS: usize = 1 << 16;

/// The most bits of an id.
pub const ID_BITS: usize = 18;

/// An id that no token has, with no bytes: the highest of all.
pub const NO_TOKEN: u32 = (1 << ID_BITS) - 1;

/// An empty slot of the pair table: no pair of tokens, since [`NO_TOKEN`] is none.
pub const NO_PAIR: u64 = u64::MAX;

/// Bytes of a token that fit in a block of 16, beside their number.
pub const TOKEN_BYTES: usize = 15;

/// The last byte of a token's block if its bytes do not fit.
pub const LONG: u8 = 0xff;

/// The most bytes of a word that is hashed as a block.
pub const BLOCK_BYTES: usize = 31;

/// For each number of bytes of a word: a mask of that many bytes, up to 15, and a value that
/// distinguishes the number.
const LENGTHS: [[u128; 2]; 32] = {
    let mut lengths = [[0; 2]; 32];
    let mut length = 0;
    while length < lengths.len() {
        let kept = if length < TOKEN_BYTES { length } else { TOKEN_BYTES };
        let kept = (1 << (8 * kept)) - 1;
        lengths[length] = [kept, SALT ^ (length as u128) << (8 * TOKEN_BYTES)];
        length += 1;
    }
    lengths
};
const SALT: u128 = 0x8bb8_4b93_962e_acc9_2d35_8dcc_aa6c_78a5;

#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Returns the hash of any word.
pub fn hash_word(word: &[u8]) -> u64 {
    if word.len() <= BLOCK_BYTES {
        let mut block = [0; 32];
        block[..word.len()].copy_from_slice(word);
        return hash_block(&block, word.len());
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

/// Returns the hash of a word of up to 31 bytes at the beginning of a block.
#[inline(always)]
pub fn hash_block(block: &[u8; 32], length: usize) -> u64 {
    let first = key_of(block.first_chunk().unwrap_or(&[0; 16]), length);
    if length <= TOKEN_BYTES {
        return hash_of(first);
    }
    // All bytes after the first 15.
    let rest = block[TOKEN_BYTES..].first_chunk().unwrap_or(&[0; 16]);
    let rest = u128::from_le_bytes(*rest) & (u128::MAX >> (8 * (BLOCK_BYTES - length)));
    fold(hash_of(first) ^ rest as u64, (rest >> 64) as u64 ^ 0x5895_89e1_8a4d_8a7d)
}

/// Returns a word of up to 15 bytes, at the beginning of a block, as one number that only this word
/// has: its bytes, little-endian, and their number. No word has 0, and no longer word has the
/// number of a shorter one.
#[inline(always)]
pub fn key_of(block: &[u8; 16], length: usize) -> u128 {
    let [kept, salt] = LENGTHS[length.min(BLOCK_BYTES)];
    u128::from_le_bytes(*block) & kept ^ salt
}

/// Returns the key of a token by its block.
#[inline(always)]
#[allow(dead_code, reason = "the build script only makes blocks")]
pub fn key_of_block(block: [u8; 16]) -> u128 {
    u128::from_le_bytes(block) ^ SALT
}

/// Returns the hash of a word by its key.
#[inline(always)]
pub fn hash_of(key: u128) -> u64 {
    fold(key as u64, (key >> 64) as u64)
}

/// Spreads a word's hash for a look-up in the table of words.
#[inline(always)]
pub fn spread_word(hash: u64, seed: u64) -> u64 {
    hash.wrapping_mul(seed)
}

/// Spreads two tokens for a look-up. The cache line of their bucket (one of 4096) depends on the token with the higher
/// id. After a merge the new token is looked up with both neighbours, mostly in one line, and the lines of frequent
/// tokens stay in the cache.
#[inline(always)]
pub fn spread_pair(left: u32, right: u32, seed: u64) -> u64 {
    const LINE: u64 = 0xfff << 52;
    let higher = u64::from(if left < right { right } else { left });
    let all = (u64::from(left) << ID_BITS | u64::from(right)).wrapping_mul(seed);
    higher.wrapping_mul(0xd134_2543_de82_ef95) & LINE | all >> 12
}

#[inline(always)]
pub fn bucket(spread: u64) -> usize {
    (spread >> 48) as usize
}

#[inline(always)]
pub fn slot(spread: u64, pilot: u8) -> usize {
    let moved = (pilot as u64).wrapping_mul(0x2_95c9);
    ((spread >> 24 ^ moved) & (SLOTS as u64 - 1)) as usize
}

/// A bucket has its pilot in its lowest byte, and above it a bit for each of its keys. Most keys that are looked up are
/// in no table; the bits tell that without a look at the slot.
#[inline(always)]
pub fn bucket_bit(spread: u64) -> u32 {
    8 + (((spread >> 43) as u32 % 32 * 3) >> 2)
}

/// Returns all bits if a key may be in the table, else 0.
#[inline(always)]
#[allow(dead_code, reason = "the build script only makes buckets")]
pub fn may_be_in(bucket: u32, spread: u64) -> usize {
    let bit = bucket >> bucket_bit(spread) & 1;
    0usize.wrapping_sub(bit as usize)
}

/// The number of bits of the table of neighbours.
pub const NEIGHBOUR_BITS: usize = 1 << 19;

/// Returns the bit of two characters that are side by side in some token.
#[inline(always)]
pub fn neighbours_bit(left: u32, right: u32) -> usize {
    let pair = (left as u64) << 21 | right as u64;
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) as usize
}

// A slot of the pair table holds the left id, the right id and the merged id in 18 bits each,
// from the top.
//
// A slot of the word table holds, from the top, bits of the word's hash (14) and the id (18). The
// token's bytes say whether it is the word.

#[inline(always)]
pub fn fingerprint(hash: u64) -> u32 {
    hash as u32 & 0x3fff
}
