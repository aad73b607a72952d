//! Writes the tables of the encoding to `OUT_DIR`. All numbers are little-endian.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::{make, unicode, vocabulary};

pub fn write() {
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut tokens = vocabulary::ranks();
    let mut pairs = vocabulary::pairs(&tokens);
    let names = vocabulary::RANKS..vocabulary::PADDED_SIZE;
    tokens.extend(names.map(|id| vocabulary::special_name(id).into_bytes()));
    pairs.resize(tokens.len(), None);
    let tokens: Vec<&[u8]> = tokens.iter().map(|token| &token[..]).collect();
    let made = make::make(&tokens, &pairs, false, 1000, |_| true).expect("tables of o200k");
    for (name, bytes) in [
        ("blob", &made.blob),
        ("offsets", &made.offsets),
        ("blocks", &made.blocks),
        ("words.buckets", &made.word_buckets),
        ("words.slots", &made.word_slots),
        ("pairs.buckets", &made.pair_buckets),
        ("pairs.slots", &made.pair_slots),
        ("short", &made.short),
        ("cuts", &made.cuts),
        ("neighbours", &made.neighbours),
        ("characters", &made.characters),
        ("characters.sets", &made.character_sets),
    ] {
        put(&directory, name, bytes);
    }
    for (name, classes) in unicode::class_tables() {
        put(&directory, name, &classes);
    }
    let [words, pairs] = [made.words_seed, made.pairs_seed];
    let seeds =
        format!("const WORDS_SEED: u64 = {words:#x};\nconst PAIRS_SEED: u64 = {pairs:#x};\n");
    put(&directory, "seeds.rs", seeds.as_bytes());
}

fn put(directory: &Path, name: &str, bytes: &[u8]) {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
