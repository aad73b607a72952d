//! Up to three tokens in eight bytes, as the caches hold them.

use super::hash::{ID_BITS, NO_TOKEN};

/// The most tokens of a slot, [`ID_BITS`] each from the lowest up.
pub const SLOT_TOKENS: usize = 3;
const TOKEN: u64 = (1 << ID_BITS) - 1;
/// Above the tokens is their number, in two bits; the caches may use the bits above it.
const COUNT_SHIFT: usize = SLOT_TOKENS * ID_BITS;
pub const SLOT_BITS: usize = COUNT_SHIFT + 2;

/// Returns the slot of one to three tokens.
pub fn slot_of(tokens: &[i32]) -> u64 {
    let ids = std::array::from_fn(|at| tokens.get(at).map_or(NO_TOKEN, |&id| id as u32));
    slot_of_ids(ids, tokens.len())
}

/// Returns the slot of `count` tokens; the ids after them are of no token.
#[inline(always)]
pub fn slot_of_ids(ids: [u32; SLOT_TOKENS], count: usize) -> u64 {
    let [first, second, third] = ids.map(u64::from);
    (count as u64) << COUNT_SHIFT | third << (2 * ID_BITS) | second << ID_BITS | first
}

#[inline(always)]
pub fn slot_ids(slot: u64) -> [u32; SLOT_TOKENS] {
    [0, 1, 2].map(|at| (slot >> (ID_BITS * at) & TOKEN) as u32)
}

#[inline(always)]
pub fn slot_count(slot: u64) -> usize {
    (slot >> COUNT_SHIFT & 3) as usize
}

/// The tokens of a word: up to three in a slot, or the number under which more are stored.
#[derive(Clone, Copy)]
pub struct Tokens(u64);

impl Tokens {
    pub const NONE: Self = Self(0);

    /// Makes the tokens of a slot that has nothing above its tokens.
    #[inline(always)]
    pub fn new(slot: u64) -> Self {
        Self(slot)
    }

    #[inline(always)]
    pub fn of_slot(slot: u64) -> Self {
        Self(slot & ((1 << SLOT_BITS) - 1))
    }

    #[inline(always)]
    pub fn slot(self) -> u64 {
        self.0
    }

    pub fn elsewhere(number: usize) -> Self {
        Self(number as u64)
    }

    /// Returns the number under which the tokens are stored elsewhere.
    #[inline(always)]
    pub fn place(self) -> usize {
        self.0 as usize
    }

    /// Returns the tokens that are here, and one place more so that all are written at once.
    #[inline(always)]
    pub fn ids(self) -> [i32; SLOT_TOKENS + 1] {
        let [first, second, third] = slot_ids(self.0);
        [first as i32, second as i32, third as i32, 0]
    }

    /// Returns how many tokens are here; 0 if they are elsewhere.
    #[inline(always)]
    pub fn count(self) -> usize {
        (self.0 >> COUNT_SHIFT) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for ids in [&[0][..], &[201_087], &[0, 0], &[5, 201_087], &[7, 0, 201_087], &[0, 0, 0]] {
            // The caches use the bits above the tokens.
            let tokens = Tokens::of_slot(slot_of(ids) | 0xff << SLOT_BITS);
            assert_eq!(tokens.slot(), slot_of(ids));
            assert_eq!(&tokens.ids()[..tokens.count()], ids);
            assert_eq!(slot_count(slot_of(ids)), ids.len());
            assert!(slot_ids(slot_of(ids))[ids.len()..].iter().all(|&id| id == NO_TOKEN));
        }
        let tokens = Tokens::elsewhere(255);
        assert_eq!((tokens.count(), tokens.place()), (0, 255));
    }
}
