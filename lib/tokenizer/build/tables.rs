//! Writes the tables of the encoding to `OUT_DIR`. All numbers are little-endian.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::displace::{Placement, place};
use crate::{characters, hash, unicode, vocabulary};

pub fn write() {
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    write_to(&directory);
}

fn write_to(directory: &Path) {
    let tokens = vocabulary::ranks();
    let pairs = vocabulary::pairs(&tokens);

    let mut blob = Vec::new();
    let mut offsets = vec![0u32];
    for token in &tokens {
        blob.extend_from_slice(token);
        offsets.push(blob.len() as u32);
    }
    let word_hashes: Vec<u64> = tokens.iter().map(|token| hash::hash_word(token)).collect();
    let words =
        place(|seed| word_hashes.iter().map(|&word| hash::spread_word(word, seed)).collect());
    let mut slots = vec![0u32; hash::SLOTS];
    for (id, &word) in word_hashes.iter().enumerate() {
        slots[words.slots[id]] = hash::fingerprint(word) << 18 | id as u32;
    }
    put_buckets(directory, "words", &words);
    put_u32(directory, "words.slots", &slots);

    for id in vocabulary::RANKS..vocabulary::PADDED_SIZE {
        blob.extend_from_slice(vocabulary::special_name(id).as_bytes());
        offsets.push(blob.len() as u32);
    }
    // The id after the last has no bytes.
    offsets.push(blob.len() as u32);
    put(directory, "blob", &blob);
    let ids = offsets.windows(2).map(|place| &blob[place[0] as usize..place[1] as usize]);
    let mut blocks: Vec<u8> = ids.flat_map(block_of).collect();
    blocks.resize(16 << hash::ID_BITS, hash::LONG);
    put(directory, "blocks", &blocks);
    put_u32(directory, "offsets", &offsets);

    let made: Vec<(u32, u32, u32)> = (0..)
        .zip(&pairs)
        .filter_map(|(id, pair)| pair.map(|(left, right)| (left, right, id)))
        .collect();
    let placed = place(|seed| {
        made.iter().map(|&(left, right, _)| hash::spread_pair(left, right, seed)).collect()
    });
    let mut slots = vec![0u64; hash::SLOTS];
    for (&(left, right, merged), &slot) in made.iter().zip(&placed.slots) {
        slots[slot] = (left as u64) << 36 | (right as u64) << 18 | merged as u64;
    }
    put_buckets(directory, "pairs", &placed);
    put(
        directory,
        "pairs.slots",
        &slots.iter().flat_map(|slot| slot.to_le_bytes()).collect::<Vec<u8>>(),
    );

    // Ids of the 256 bytes, then of the 65,536 pairs of bytes (0 where a pair makes nothing:
    // id 0 is a byte, never a pair).
    let mut short = vec![0u32; 256 + 65536];
    for (id, token) in tokens.iter().enumerate() {
        match token[..] {
            [byte] => short[byte as usize] = id as u32,
            [left, right] => short[256 + (left as usize) * 256 + right as usize] = id as u32,
            _ => {}
        }
    }
    put_u32(directory, "short", &short);
    put_bits(directory, "cuts", 1 << 16, tokens.iter().flat_map(|token| cut_borders(token)));
    let neighbours = tokens.iter().flat_map(|token| neighbours(token));
    put_bits(directory, "neighbours", hash::NEIGHBOUR_BITS, neighbours);
    let characters = characters::table(&tokens, &pairs);
    put(directory, "characters", &characters.table);
    put(directory, "characters.sets", &characters.sets);
    put(directory, "classes", &unicode::class_table());
    put(
        directory,
        "seeds.rs",
        format!(
            "const WORDS_SEED: u64 = {:#x};\nconst PAIRS_SEED: u64 = {:#x};\n",
            words.seed, placed.seed
        )
        .as_bytes(),
    );
}

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

/// The two bytes at each border between characters of which a token holds one in part only:
/// behind the rest of a character that the token begins with, and in front of the beginning of
/// one that it ends with.
/// As bits of a table of all pairs of bytes.
fn cut_borders(token: &[u8]) -> Vec<usize> {
    let mut borders = Vec::new();
    let pair = |at: usize| token[at - 1] as usize * 256 + token[at] as usize;
    let rest = token.iter().take_while(|&&byte| is_continuation(byte)).count();
    if rest > 0 && rest < token.len() {
        borders.push(pair(rest));
    }
    if let Some(last) = token.iter().rposition(|&byte| !is_continuation(byte))
        && last > 0
        && std::str::from_utf8(&token[last..]).is_err()
    {
        borders.push(pair(last));
    }
    borders
}

/// The bits of all two whole characters that are side by side in a token.
fn neighbours(token: &[u8]) -> Vec<usize> {
    let mut bits = Vec::new();
    for part in token.utf8_chunks() {
        let points: Vec<u32> = part.valid().chars().map(u32::from).collect();
        bits.extend(points.windows(2).map(|pair| hash::neighbours_bit(pair[0], pair[1])));
    }
    bits
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

fn put_buckets(directory: &Path, name: &str, placement: &Placement) {
    let mut buckets: Vec<u32> = placement.pilots.iter().map(|&pilot| pilot.into()).collect();
    for &key in &placement.keys {
        buckets[hash::bucket(key)] |= 1 << hash::bucket_bit(key);
    }
    put_u32(directory, &format!("{name}.buckets"), &buckets);
}

fn put_u32(directory: &Path, name: &str, numbers: &[u32]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    put(directory, name, &bytes);
}

fn put_bits(directory: &Path, name: &str, count: usize, set: impl Iterator<Item = usize>) {
    let mut bytes = vec![0u8; count / 8];
    for bit in set {
        bytes[bit / 8] |= 1 << (bit % 8);
    }
    put(directory, name, &bytes);
}

fn put(directory: &Path, name: &str, bytes: &[u8]) {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
