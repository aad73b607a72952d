//! Text to tokens: cut off a pre-token, look it up among the words already seen, else in the
//! vocabulary, else merge it.

use super::cache::{MOST_TOKENS, Tokens, WordCache};
use super::hash::{KEY_BYTES, hash_key, hash_long, key_of_block, word_of_key};
use super::merge::Merger;
use super::rare::RareCache;
use super::window::{WINDOW, starts};
use super::{scan, tables};
use crate::simd::{Instructions, SimdLevel, SimdTask};

/// Encodes text with o200k. One for each thread: it keeps the words it has seen (at most
/// 5.2 MiB), which makes it faster and never changes its output.
pub struct Encoder {
    level: SimdLevel,
    cache: WordCache,
    rare: RareCache,
    merger: Merger,
    /// Tokens before they go to the output: all places of an entry are written for every word, and
    /// the next word overwrites the unused ones.
    stage: [i32; (MOST_TOKENS + 1) * BATCH],
    batch: [Word; BATCH],
}

/// Words that are cut off before the first of them is looked up, so that the lines of the
/// cache are being loaded by then: the words of a window, and those that were left before it.
const BATCH: usize = 2 * WINDOW;

/// A pre-token on its way from the scanner to the cache.
#[derive(Clone, Copy)]
struct Word {
    /// Its key, or the place of a longer one in the text (see [`long_key`]).
    key: u128,
    hash: u64,
}

/// In place of the key of a word too long for one: start and length, and 0 in the byte that holds
/// a key's length, so that it is in no cache.
#[inline]
fn long_key(start: usize, length: usize) -> u128 {
    start as u128 | (length as u128) << 64
}

#[inline]
fn long_range(key: u128) -> Option<(usize, usize)> {
    let (start, length) = (key as usize, (key >> 64) as usize);
    (key >> 120 == 0).then(|| (start, start + length))
}

/// Bytes that are looked at together: a window, and after it as many as a key has.
const VIEW: usize = WINDOW + 16;

/// Cuts a text into pre-tokens.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
    /// The last bytes of the text, and after it as many bytes that are not ASCII, so that there is
    /// always a whole view and no pre-token seems to end with the text.
    tail: [u8; 2 * VIEW],
}

impl<'a> Words<'a> {
    #[inline]
    fn new(text: &'a [u8]) -> Self {
        let mut tail = [0xff; 2 * VIEW];
        let kept = text.len().min(VIEW);
        tail[VIEW - kept..VIEW].copy_from_slice(&text[text.len() - kept..]);
        Self { text, at: 0, tail }
    }

    /// Fills the batch from the front, until no window more may fit; 0 only at the end of the
    /// text.
    #[inline(always)]
    fn next_batch<I: Instructions>(
        &mut self,
        cache: &WordCache,
        batch: &mut [Word; BATCH],
    ) -> usize {
        let mut at = self.at;
        let mut count = 0;
        while count + WINDOW <= BATCH && at < self.text.len() {
            let view = match self.text[at..].first_chunk::<VIEW>() {
                Some(view) => view,
                None => {
                    let skip = VIEW - (self.text.len() - at);
                    self.tail[skip..].first_chunk().unwrap_or(&[0xff; VIEW])
                }
            };
            let mut begin = 0;
            let mut push = |begin: usize, length: usize| {
                let word = match view[begin % WINDOW..].first_chunk() {
                    Some(block) if length <= KEY_BYTES => {
                        let key = key_of_block(u128::from_le_bytes(*block), length);
                        Word { key, hash: hash_key(key) }
                    }
                    _ => Word { key: long_key(at + begin, length), hash: 0 },
                };
                cache.prefetch(word.hash);
                batch[count % BATCH] = word;
                count += 1;
            };
            // One word for the scanner: the last of a window that is not all ASCII, or one
            // that is longer than a window.
            let mut is_odd = (view[0] | view[1]) >= 0x80;
            if !is_odd && let Some(window) = view.first_chunk() {
                let masks = I::text_masks(window);
                let mut starts = starts(window, &masks);
                while starts != 0 {
                    let end = starts.trailing_zeros() as usize;
                    starts &= starts - 1;
                    push(begin, end - begin);
                    begin = end;
                }
                is_odd = begin == 0 || masks.not_ascii != 0;
            }
            if is_odd && at + begin < self.text.len() {
                let end = scan::pre_token_end(self.text, at + begin) - at;
                push(begin, end - begin);
                begin = end;
            }
            at += begin;
        }
        self.at = at;
        count
    }
}

/// What [`Encoder::encode`] does, compiled for each processor.
struct Encode<'a> {
    encoder: &'a mut Encoder,
    text: &'a str,
    out: &'a mut Vec<i32>,
}

impl SimdTask for Encode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { encoder, text, out } = self;
        let mut words = Words::new(text.as_bytes());
        loop {
            let count = words.next_batch::<I>(&encoder.cache, &mut encoder.batch);
            if count == 0 {
                break;
            }
            encoder.look_up(text.as_bytes(), count, out);
        }
    }
}

impl Encoder {
    /// Cheap: no table is built, and the cache's pages are allocated when used.
    pub fn new() -> Self {
        Self::with_level(SimdLevel::best())
    }

    /// Uses no instructions that only some processors have. The tokens are the same.
    pub fn portable() -> Self {
        Self::with_level(SimdLevel::PORTABLE)
    }

    fn with_level(level: SimdLevel) -> Self {
        Self {
            level,
            cache: WordCache::new(),
            rare: RareCache::new(),
            merger: Merger::new(level),
            stage: [0; (MOST_TOKENS + 1) * BATCH],
            batch: [Word { key: 0, hash: 0 }; BATCH],
        }
    }

    /// Appends the tokens of `text`, all of it as ordinary text: `<|end|>` in it is seven
    /// characters, never the control token.
    pub fn encode(&mut self, text: &str, out: &mut Vec<i32>) {
        self.level.run(Encode { encoder: self, text, out });
    }

    /// Appends the tokens of the first `count` words of the batch.
    #[inline(always)]
    fn look_up(&mut self, text: &[u8], count: usize, out: &mut Vec<i32>) {
        let mut staged = 0;
        let mut prepared = false;
        for at in 0..count.min(BATCH) {
            let Word { key, hash } = self.batch[at];
            if let Some(tokens) = self.cache.get(key, hash) {
                self.stage[staged..][..MOST_TOKENS + 1].copy_from_slice(&tokens.ids());
                staged += tokens.count();
            } else {
                out.extend_from_slice(&self.stage[..staged]);
                staged = 0;
                if self.seen(text, key, hash, out) {
                    continue;
                }
                if !prepared {
                    prepared = true;
                    self.prepare(at, count);
                    if self.seen(text, key, hash, out) {
                        continue;
                    }
                }
                self.first_seen(text, key, hash, out);
            }
        }
        out.extend_from_slice(&self.stage[..staged]);
    }

    /// Appends the tokens of a word if a cache has them.
    #[inline(never)]
    fn seen(&mut self, text: &[u8], key: u128, hash: u64, out: &mut Vec<i32>) -> bool {
        if let Some((start, end)) = long_range(key) {
            let word = &text[start..end];
            return self.rare.get(word, hash_long(word), out);
        }
        let tokens = self.cache.get(key, hash).or_else(|| self.cache.get_moved(key, hash));
        if let Some(tokens) = tokens {
            out.extend_from_slice(&tokens.ids()[..tokens.count().min(MOST_TOKENS)]);
            return true;
        }
        let (word, length) = word_of_key(key);
        self.rare.get(&word[..length], hash, out)
    }

    /// Where one word is new, others are too: keeps all new ones, so that their parts of the
    /// vocabulary are read side by side.
    #[inline(never)]
    fn prepare(&mut self, from: usize, to: usize) {
        let Self { cache, rare, merger, batch, .. } = self;
        let mut new = [Word { key: 0, hash: 0 }; BATCH];
        let mut count = 0;
        for &word in &batch[from..to] {
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
        let mut keys = [0; BATCH];
        let mut no_tokens = 0;
        for at in 0..count {
            let Word { key, hash } = new[at];
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
        merger.merge_keys(&keys[..no_tokens], |at, tokens| {
            let Word { key, hash } = new[at];
            keep(cache, rare, key, hash, tokens);
        });
    }

    /// A word that is in no cache: looked up in the vocabulary, else merged, and kept.
    #[inline(never)]
    fn first_seen(&mut self, text: &[u8], key: u128, hash: u64, out: &mut Vec<i32>) {
        let before = out.len();
        if let Some((start, end)) = long_range(key) {
            let word = &text[start..end];
            let hash = hash_long(word);
            match tables::long_word(word, hash) {
                Some(id) => out.push(id as i32),
                None => self.merger.merge(word, out),
            }
            self.rare.put(word, hash, &out[before..]);
            return;
        }
        let (word, length) = word_of_key(key);
        match tables::short_word(key, hash) {
            Some(id) => out.push(id as i32),
            None => self.merger.merge(&word[..length], out),
        }
        keep(&mut self.cache, &mut self.rare, key, hash, &out[before..]);
    }
}

fn keep(cache: &mut WordCache, rare: &mut RareCache, key: u128, hash: u64, tokens: &[i32]) {
    match Tokens::new(tokens) {
        Some(tokens) => cache.put(key, hash, tokens),
        None => {
            let (word, length) = word_of_key(key);
            rare.put(&word[..length], hash, tokens);
        }
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(text: &str) -> Vec<i32> {
        let mut out = Vec::new();
        Encoder::new().encode(text, &mut out);
        out
    }

    #[test]
    fn a_long_s_is_a_contraction() {
        assert_eq!(encode("中'ſ'lldon't"), [1404, 6, 70067, 54602, 143373, 1507]);
    }

    #[test]
    fn control_tokens_in_text_are_text() {
        for (id, name) in super::super::SPECIAL_TOKENS {
            let tokens = encode(name);
            assert!(tokens.len() > 1 && !tokens.contains(&id), "{name}: {tokens:?}");
        }
    }

    #[test]
    fn tokens_are_appended() {
        let mut out = vec![7];
        let mut encoder = Encoder::new();
        encoder.encode("", &mut out);
        encoder.encode("!", &mut out);
        encoder.encode("!", &mut out);
        assert_eq!(out, [7, 0, 0]);
    }
}
