//! Words to tokens: looked up among the words already seen, else in the vocabulary, else merged.

use super::cache::{FEW_TOKENS, Tokens, WordCache};
use super::hash::{WIDE_BYTES, hash_long, wide_key, word_of_key};
use super::merge::Merger;
use super::pieces::piece_end;
use super::rare::RareCache;
use super::tables;
use super::wide::WideCache;
use super::words::{BATCH, Word, block_at};
use crate::simd::SimdLevel;

/// Pieces of a long word that are cut off before the first of them is looked up.
const PIECES: usize = 32;

pub struct Lookup {
    cache: WordCache,
    wide: WideCache,
    rare: RareCache,
    merger: Merger,
    /// Tokens before they go to the output: all places of an entry are written for every word, and
    /// the next word overwrites the unused ones.
    stage: [i32; (FEW_TOKENS + 1) * BATCH],
    /// Words of a batch that no cache has.
    new: [Word; BATCH],
    keys: [u128; BATCH],
    pieces: [Word; PIECES],
}

impl Lookup {
    pub fn new(level: SimdLevel) -> Self {
        Self {
            cache: WordCache::new(),
            wide: WideCache::new(),
            rare: RareCache::new(),
            merger: Merger::new(level),
            stage: [0; (FEW_TOKENS + 1) * BATCH],
            new: [Word::NONE; BATCH],
            keys: [0; BATCH],
            pieces: [Word::NONE; PIECES],
        }
    }

    /// Asks for what a word with this hash of its key will need.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.cache.prefetch(hash);
    }

    /// Asks for what a word with this hash of its wide key will need.
    #[inline(always)]
    pub fn prefetch_wide(&self, hash: u64) {
        self.wide.prefetch(hash);
    }

    /// Appends the tokens of words of the text, at most a batch of them.
    #[inline(always)]
    pub fn append(&mut self, text: &[u8], words: &[Word], out: &mut Vec<i32>) {
        let mut staged = 0;
        let mut prepared = false;
        for (at, word) in words.iter().enumerate() {
            if let Some(tokens) = self.cache.get(word.key, word.hash)
                && tokens.are_few()
            {
                self.stage[staged..][..FEW_TOKENS + 1].copy_from_slice(&tokens.ids());
                staged += tokens.count();
                continue;
            }
            out.extend_from_slice(&self.stage[..staged]);
            staged = 0;
            if let Some((start, end)) = word.long_range() {
                self.long(text, (start, end), word.wide, out);
            } else if !self.seen(word, out) {
                if !prepared {
                    prepared = true;
                    self.prepare(&words[at..]);
                    if self.seen(word, out) {
                        continue;
                    }
                }
                self.first_seen(word, out);
            }
        }
        out.extend_from_slice(&self.stage[..staged]);
    }

    /// Appends the tokens of a word that fits in a key if a cache has them.
    #[inline(never)]
    fn seen(&mut self, word: &Word, out: &mut Vec<i32>) -> bool {
        let &Word { key, hash, .. } = word;
        let tokens = self.cache.get(key, hash).or_else(|| self.cache.bring_back(key, hash));
        if let Some(tokens) = tokens {
            tokens.append_to(out);
            return true;
        }
        let (word, length) = word_of_key(key);
        self.rare.get(&word[..length], hash, out)
    }

    /// Where one word is new, others are too: keeps all new ones, so that their parts of the
    /// vocabulary are read side by side.
    #[inline(never)]
    fn prepare(&mut self, words: &[Word]) {
        let Self { cache, rare, merger, new, keys, .. } = self;
        let mut count = 0;
        for &word in words {
            if word.hash != 0 && cache.get(word.key, word.hash).is_none() {
                cache.prefetch_moved(word.hash);
                tables::prefetch_word(word.hash);
                new[count] = word;
                count += 1;
            }
        }
        let missing = count;
        count = 0;
        for at in 0..missing {
            let word = new[at];
            if cache.get_moved(word.key, word.hash).is_none() {
                tables::prefetch_token(word.hash);
                new[count] = word;
                count += 1;
            }
        }
        let mut no_tokens = 0;
        for at in 0..count {
            let Word { key, hash, .. } = new[at];
            if let Some(id) = tables::short_word(key, hash) {
                cache.put(key, hash, Tokens::one(id as i32));
                continue;
            }
            let (word, length) = word_of_key(key);
            if !rare.has(&word[..length], hash) {
                keys[no_tokens] = key;
                new[no_tokens] = new[at];
                no_tokens += 1;
            }
        }
        merger.merge_keys(&keys[..no_tokens], |at, tokens| keep(cache, rare, &new[at], tokens));
    }

    /// A word that fits in a key and is in no cache: looked up in the vocabulary, else merged,
    /// and kept.
    #[inline(never)]
    fn first_seen(&mut self, word: &Word, out: &mut Vec<i32>) {
        let before = out.len();
        match tables::short_word(word.key, word.hash) {
            Some(id) => out.push(id as i32),
            None => {
                let (bytes, length) = word_of_key(word.key);
                self.merger.merge(&bytes[..length], out);
            }
        }
        keep(&mut self.cache, &mut self.rare, word, &out[before..]);
    }

    /// A word that is too long for a key.
    #[inline(never)]
    fn long(&mut self, text: &[u8], place: (usize, usize), wide: u64, out: &mut Vec<i32>) {
        let (start, end) = place;
        let word = &text[start..end];
        let key = wide_key(&block_at(text, start), word.len());
        if word.len() <= WIDE_BYTES && self.wide.get(key, wide, out) {
            return;
        }
        let first = piece_end(word, 0);
        if first < word.len() {
            return self.pieces(text, (start, start + first, end), out);
        }
        let hash = if wide != 0 { wide } else { hash_long(word) };
        if self.rare.get(word, hash, out) {
            return;
        }
        let before = out.len();
        match tables::long_word(word, hash) {
            Some(id) => out.push(id as i32),
            None => self.merger.merge(word, out),
        }
        let tokens = &out[before..];
        if word.len() > WIDE_BYTES || !self.wide.put(key, hash, tokens) {
            self.rare.put(word, hash, tokens);
        }
    }

    /// A long word of several pieces: from `start` to `first` is the first, and `end` is the end
    /// of all. A piece is not cut again.
    #[inline(never)]
    fn pieces(
        &mut self,
        text: &[u8],
        (mut start, first, end): (usize, usize, usize),
        out: &mut Vec<i32>,
    ) {
        let mut words = self.pieces;
        let mut piece = first;
        while start < end {
            let mut count = 0;
            while count < PIECES && start < end {
                words[count] = Word::new(&block_at(text, start), start, piece - start, self);
                count += 1;
                start = piece;
                if start < end {
                    piece = start + piece_end(&text[start..end], 0);
                }
            }
            self.append(text, &words[..count], out);
        }
    }
}

fn keep(cache: &mut WordCache, rare: &mut RareCache, word: &Word, tokens: &[i32]) {
    match Tokens::new(tokens) {
        Some(tokens) => cache.put(word.key, word.hash, tokens),
        None => {
            let (bytes, length) = word_of_key(word.key);
            rare.put(&bytes[..length], word.hash, tokens);
        }
    }
}
