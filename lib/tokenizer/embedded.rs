//! The tables of o200k, which `build.rs` makes a part of the program, so that nothing is built at start-up. They are
//! aligned to cache lines.

use super::hash;
use super::tables::{Blocks, Buckets, Cuts, Neighbours, PairSlots, ShortIds, Tables, WordSlots};

#[repr(C, align(64))]
struct AlignedBytes<const N: usize>([u8; N]);

macro_rules! table {
    ($name:ident, $file:literal) => {
        static $name: AlignedBytes<{ include_bytes!(concat!(env!("OUT_DIR"), $file)).len() }> =
            AlignedBytes(*include_bytes!(concat!(env!("OUT_DIR"), $file)));
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

/// The tables of o200k.
#[derive(Clone, Copy, Debug, Default)]
pub struct O200kTables;

impl Tables for O200kTables {
    #[inline(always)]
    fn blob(&self) -> &[u8] {
        &BLOB.0
    }

    #[inline(always)]
    fn offsets(&self) -> &[u8] {
        &OFFSETS.0
    }

    #[inline(always)]
    fn blocks(&self) -> &Blocks {
        blocks()
    }

    #[inline(always)]
    fn word_buckets(&self) -> &Buckets {
        &WORD_BUCKETS.0
    }

    #[inline(always)]
    fn word_slots(&self) -> &WordSlots {
        &WORD_SLOTS.0
    }

    #[inline(always)]
    fn pair_buckets(&self) -> &Buckets {
        &PAIR_BUCKETS.0
    }

    #[inline(always)]
    fn pair_slots(&self) -> &PairSlots {
        &PAIR_SLOTS.0
    }

    #[inline(always)]
    fn short_ids(&self) -> &ShortIds {
        &SHORT.0
    }

    #[inline(always)]
    fn cuts(&self) -> &Cuts {
        &CUTS.0
    }

    #[inline(always)]
    fn neighbours(&self) -> &Neighbours {
        &NEIGHBOURS.0
    }

    #[inline(always)]
    fn characters(&self) -> &[u8] {
        &CHARACTERS.0
    }

    #[inline(always)]
    fn character_sets(&self) -> &[u8] {
        &CHARACTER_SETS.0
    }

    #[inline(always)]
    fn words_seed(&self) -> u64 {
        WORDS_SEED
    }

    #[inline(always)]
    fn pairs_seed(&self) -> u64 {
        PAIRS_SEED
    }
}

/// Bytes of an id of o200k, the names of special tokens included.
pub fn bytes_of(id: u32) -> Option<&'static [u8]> {
    const TABLES: &O200kTables = &O200kTables;
    TABLES.bytes_of(id)
}

/// The blocks of o200k. There is a block for every number of 18 bits, so that an id needs no check.
#[inline(always)]
pub fn blocks() -> &'static Blocks {
    match BLOCKS.0.as_chunks::<16>().0.first_chunk() {
        Some(blocks) => blocks,
        None => &[[0; 16]; 1 << hash::ID_BITS],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::block_at;

    fn token(word: &[u8]) -> Option<u32> {
        let block = block_at(word, 0);
        O200kTables.word(word, hash::key_of(&block, word.len()), hash::hash_word(word))
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
            if slot == hash::NO_PAIR {
                continue;
            }
            let (left, right) = ((slot >> 36) as u32, (slot >> 18) as u32 & 0x3_ffff);
            let id = O200kTables.merge(left, right);
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
        let count = crate::PADDED_VOCABULARY_SIZE as u32;
        for id in 0..count {
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
        assert_eq!(blocks()[hash::NO_TOKEN as usize], [0; 16]);
        let between = &blocks()[count as usize..hash::NO_TOKEN as usize];
        assert!(between.iter().all(|block| block[15] == hash::LONG));
    }
}
