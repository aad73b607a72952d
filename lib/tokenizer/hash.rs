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

/// Bytes of a token that fit in a block of 16, beside their number.
pub const TOKEN_BYTES: usize = 15;

/// The first bytes of a block, up to 16, and zeros after them.
#[inline(always)]
pub fn first_bytes(block: u128, length: usize) -> u128 {
    block & KEPT[length % 32]
}

/// The bytes of a token and, in the last place, their number; or [`LONG`] there if they do not fit.
pub fn block_of(token: &[u8]) -> [u8; 16] {
    let mut block = [0; 16];
    block[TOKEN_BYTES] = LONG;
    if token.len() <= TOKEN_BYTES {
        block[..token.len()].copy_from_slice(token);
        block[TOKEN_BYTES] = token.len() as u8;
    }
    block
}

pub const LONG: u8 = 0xff;

/// Words of up to this many bytes are hashed as a block.
pub const BLOCK_BYTES: usize = 31;

/// Masks of the first bytes of a block, by their number.
const KEPT: [u128; 32] = {
    let mut kept = [u128::MAX; 32];
    let mut length = 0;
    while length < 16 {
        kept[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    kept
};

#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Hash of any word.
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

/// The same of a word of up to 31 bytes with which a block begins.
#[inline(always)]
pub fn hash_block(block: &[u8; 32], length: usize) -> u64 {
    let (halves, _) = block.as_chunks::<16>();
    let [first, second] = [0, 1].map(|half: usize| u128::from_le_bytes(halves[half]));
    let length_on_top = (length as u128) << (8 * TOKEN_BYTES);
    if length <= TOKEN_BYTES {
        return hash_half(first_bytes(first, length) | length_on_top);
    }
    let second = first_bytes(second, length - 16) | length_on_top;
    fold(hash_half(first) ^ second as u64, (second >> 64) as u64 ^ 0x5895_89e1_8a4d_8a7d)
}

/// Hash of sixteen bytes.
#[inline(always)]
pub fn hash_half(half: u128) -> u64 {
    fold(half as u64 ^ 0x2d35_8dcc_aa6c_78a5, (half >> 64) as u64 ^ 0x8bb8_4b93_962e_acc9)
}

/// Not spread yet: the seed does it.
#[inline(always)]
pub fn hash_pair(left: u32, right: u32) -> u64 {
    (left as u64) << 18 | right as u64
}

#[inline(always)]
pub fn bucket(hash: u64, seed: u64) -> usize {
    (hash.wrapping_mul(seed) >> 48) as usize
}

#[inline(always)]
pub fn slot(hash: u64, seed: u64, pilot: u8) -> usize {
    let moved = (pilot as u64).wrapping_mul(0x2_95c9);
    ((hash.wrapping_mul(seed) >> 24 ^ moved) & (SLOTS as u64 - 1)) as usize
}

/// A bucket has its pilot in its lowest byte, and above it a bit for each of its keys: most of
/// what is looked up is in no table, and is known not to be without its slot. Keys whose bit would
/// be in the lowest byte have none.
#[inline(always)]
pub fn bucket_bit(hash: u64, seed: u64) -> u32 {
    (hash.wrapping_mul(seed) >> 43) as u32 % 32
}

/// All bits if a key with this hash may be in the table, else 0.
#[inline(always)]
#[allow(dead_code, reason = "the build script only makes buckets")]
pub fn may_be_in(bucket: u32, hash: u64, seed: u64) -> usize {
    let bit = (bucket | 0xff) >> bucket_bit(hash, seed) & 1;
    0usize.wrapping_sub(bit as usize)
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
// A slot of the word table holds, from the top, bits of the word's hash (14) and the id (18). The
// token's bytes say whether it is the word.

#[inline(always)]
pub fn fingerprint(hash: u64) -> u32 {
    hash as u32 & 0x3fff
}
