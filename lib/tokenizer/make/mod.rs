//! Makes the tables of a vocabulary from its tokens and the one pair that makes each token. For o200k the build script
//! does this; for a vocabulary from a file, the running program does.

mod characters;
mod displace;

use super::hash;
use super::threads::both;
use displace::{Placement, place};

/// All tables except the pattern's. Numbers are little-endian.
pub struct VocabularyTables {
    pub blob: Vec<u8>,
    pub offsets: Vec<u8>,
    pub blocks: Vec<u8>,
    pub word_buckets: Vec<u8>,
    pub word_slots: Vec<u8>,
    pub words_seed: u64,
    pub pair_buckets: Vec<u8>,
    pub pair_slots: Vec<u8>,
    pub pairs_seed: u64,
    pub short: Vec<u8>,
    pub cuts: Vec<u8>,
    pub neighbours: Vec<u8>,
    pub characters: Vec<u8>,
    pub character_sets: Vec<u8>,
}

/// Makes the tables of a vocabulary. `tokens` has the bytes of each id, and `pairs` the pair that makes it.
/// Single bytes have no pair, and neither have tokens that are only decoded (with `has_whole`, these are
/// found as whole words). Every byte must be a token, and no pair may make id 0. `seeds` goes to [`place`],
/// and `known` to [`characters::table`]. Returns `None` if the seeds do not place the tokens, or if there are
/// too many tokens.
pub fn make(
    tokens: &[&[u8]],
    pairs: &[Option<(u32, u32)>],
    has_whole: bool,
    seeds: u64,
    known: impl Fn(u32) -> bool + Sync,
) -> Option<VocabularyTables> {
    if tokens.len() > hash::NO_TOKEN as usize {
        return None;
    }
    let ids = || (0..).zip(tokens.iter().zip(pairs));
    let is_word = |token: &[u8], pair: &Option<_>| {
        pair.is_some() || token.len() == 1 || has_whole && !token.is_empty()
    };
    let words = || ids().filter(|(_, (token, pair))| is_word(token, pair));
    let (of_pairs, of_words) = both(
        || Some((table_of_pairs(pairs, seeds)?, characters::table(tokens, pairs, &known)?)),
        || {
            let mut hashes = Vec::with_capacity(tokens.len());
            hashes.extend(words().map(|(id, (token, _))| (id, hash::hash_word(token))));
            let table = table_of_words(&hashes, seeds)?;
            let (mut cuts, mut neighbours) = (Bits::new(1 << 16), Bits::new(hash::NEIGHBOUR_BITS));
            for (_, (token, _)) in words() {
                set_neighbours(token, &mut neighbours);
                cut_borders(token).for_each(|border| cuts.set(border));
            }
            Some((table, cuts.0, neighbours.0))
        },
    );
    let ((pair_table, characters), (word_table, cuts, neighbours)) = (of_pairs?, of_words?);

    let mut blob = Vec::with_capacity(tokens.iter().map(|token| token.len()).sum());
    let mut offsets = Vec::with_capacity(tokens.len() + 1);
    offsets.push(0);
    for token in tokens {
        blob.extend_from_slice(token);
        offsets.push(blob.len() as u32);
    }
    let mut blocks = Vec::with_capacity(1 << hash::ID_BITS);
    blocks.extend(tokens.iter().map(|token| block_of(token)));
    blocks.resize(hash::NO_TOKEN as usize, [hash::LONG; 16]);
    blocks.push([0; 16]);
    // Ids of the 256 bytes, then of the 65,536 pairs of bytes (0 where a pair makes nothing).
    let mut short = vec![0u32; 256 + 65536];
    for (id, (token, pair)) in ids() {
        match token[..] {
            [byte] => short[byte as usize] = id,
            [left, right] if pair.is_some() => {
                short[256 + (left as usize) * 256 + right as usize] = id;
            }
            _ => {}
        }
    }
    Some(VocabularyTables {
        blob,
        offsets: bytes(&offsets),
        blocks: blocks.into_flattened(),
        word_buckets: word_table.buckets,
        word_slots: word_table.slots,
        words_seed: word_table.seed,
        pair_buckets: pair_table.buckets,
        pair_slots: pair_table.slots,
        pairs_seed: pair_table.seed,
        short: bytes(&short),
        cuts,
        neighbours,
        characters: characters.table,
        character_sets: characters.sets,
    })
}

/// A hash table whose slots are placed by [`place`], in the form in which the program has it.
struct Table {
    buckets: Vec<u8>,
    slots: Vec<u8>,
    seed: u64,
}

/// `words` are ids, each with the hash of its bytes.
fn table_of_words(words: &[(u32, u64)], seeds: u64) -> Option<Table> {
    let placed =
        place(seeds, |seed| words.iter().map(|&(_, h)| hash::spread_word(h, seed)).collect())?;
    // Ids that are not here are of no token.
    let mut slots = vec![hash::NO_TOKEN; hash::SLOTS];
    for (&(id, h), &slot) in words.iter().zip(&placed.slots) {
        slots[slot] = hash::fingerprint(h) << hash::ID_BITS | id;
    }
    Some(Table { buckets: buckets(&placed), slots: bytes(&slots), seed: placed.seed })
}

fn table_of_pairs(pairs: &[Option<(u32, u32)>], seeds: u64) -> Option<Table> {
    let mut made: Vec<(u32, u32, u32)> = Vec::with_capacity(pairs.len());
    made.extend(
        (0..).zip(pairs).filter_map(|(id, pair)| pair.map(|(left, right)| (left, right, id))),
    );
    let placed = place(seeds, |seed| {
        made.iter().map(|&(left, right, _)| hash::spread_pair(left, right, seed)).collect()
    })?;
    let mut slots = vec![hash::NO_PAIR; hash::SLOTS];
    for (&(left, right, merged), &slot) in made.iter().zip(&placed.slots) {
        slots[slot] = u64::from(left) << 36 | u64::from(right) << 18 | u64::from(merged);
    }
    let slots = slots.into_iter().map(u64::to_le_bytes).collect::<Vec<_>>().into_flattened();
    Some(Table { buckets: buckets(&placed), slots, seed: placed.seed })
}

/// A map without protection against chosen keys: a vocabulary with many equal hashes only takes longer to load.
pub type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;

/// The bytes of a token and, in the last place, their number; or `LONG` there if they do not fit.
fn block_of(token: &[u8]) -> [u8; 16] {
    let mut block = [0; 16];
    block[hash::TOKEN_BYTES] = hash::LONG;
    if token.len() <= hash::TOKEN_BYTES {
        block[..token.len()].copy_from_slice(token);
        block[hash::TOKEN_BYTES] = token.len() as u8;
    }
    block
}

/// Returns the two bytes at each border between characters if the token has one of the two characters only in part:
/// after the rest of a character with which it begins, and before the first bytes of a character with which it ends.
/// They are returned as bits of a table of all pairs of bytes.
fn cut_borders(token: &[u8]) -> impl Iterator<Item = usize> {
    let pair = |at: usize| token[at - 1] as usize * 256 + token[at] as usize;
    let token = if token.is_ascii() { &[] } else { token };
    let rest = token.iter().take_while(|&&byte| is_continuation(byte)).count();
    let rest = Some(rest).filter(|&rest| rest > 0 && rest < token.len());
    let last = token.iter().rposition(|&byte| !is_continuation(byte));
    let last = last.filter(|&last| last > 0 && std::str::from_utf8(&token[last..]).is_err());
    rest.into_iter().chain(last).map(pair)
}

/// Sets the bits of all two whole characters that are side by side in a token.
fn set_neighbours(token: &[u8], bits: &mut Bits) {
    let mut set = |left: u32, right: u32| bits.set(hash::neighbours_bit(left, right));
    if token.is_ascii() {
        return token.windows(2).for_each(|pair| set(pair[0].into(), pair[1].into()));
    }
    for part in token.utf8_chunks() {
        let mut last = None;
        for right in part.valid().chars().map(u32::from) {
            if let Some(left) = last.replace(right) {
                set(left, right);
            }
        }
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

fn buckets(placement: &Placement) -> Vec<u8> {
    let mut buckets: Vec<u32> = placement.pilots.iter().map(|&pilot| pilot.into()).collect();
    for &key in &placement.keys {
        buckets[hash::bucket(key)] |= 1 << hash::bucket_bit(key);
    }
    bytes(&buckets)
}

fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().map(|number| number.to_le_bytes()).collect::<Vec<_>>().into_flattened()
}

struct Bits(Vec<u8>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count / 8])
    }

    fn set(&mut self, bit: usize) {
        self.0[bit / 8] |= 1 << (bit % 8);
    }
}
