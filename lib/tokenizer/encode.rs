//! Text to tokens: cut off a pre-token, look it up among the words already seen, else among
//! the vocabulary's, else merge it.

use super::cache::{MOST_TOKENS, RareCache, Tokens, WordCache};
use super::hash::{KEY_BYTES, hash_key, hash_long, key_of_block};
use super::merge::Merger;
use super::{block, scan, tables};

/// Encodes text with o200k. One for each thread: it keeps the words it has seen (at most
/// 4.5 MiB), which makes it faster and never changes its output.
pub struct Encoder {
    cache: WordCache,
    rare: RareCache,
    merger: Merger,
    /// Tokens on their way to the output: three are written for every word, of which the next
    /// word overwrites those that do not count.
    stage: [i32; MOST_TOKENS * BATCH],
    batch: [Word; BATCH],
}

/// Words that are cut off before the first of them is looked up, so that the lines of the
/// cache are under way by then.
const BATCH: usize = 32;

/// A pre-token on its way from the scanner to the cache.
#[derive(Clone, Copy)]
struct Word {
    /// Its key, or where a longer one stands in the text (see [`long_key`]).
    key: u128,
    hash: u64,
}

/// Stands for a word too long for a key: start and length, and 0 in the byte that holds a
/// key's length, so that it is in no cache.
#[inline]
fn long_key(start: usize, length: usize) -> u128 {
    start as u128 | (length as u128) << 64
}

#[inline]
fn long_range(key: u128) -> Option<(usize, usize)> {
    let (start, length) = (key as usize, (key >> 64) as usize);
    (key >> 120 == 0).then(|| (start, start + length))
}

/// Cuts a text into pre-tokens.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
    /// The last 16 bytes of the text, and 16 that are not ASCII, so that there is always a
    /// block to look at and none is thought to end with the text.
    tail: [u8; 32],
}

impl<'a> Words<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut tail = [0xff; 32];
        let kept = text.len().min(16);
        tail[16 - kept..16].copy_from_slice(&text[text.len() - kept..]);
        Self { text, at: 0, tail }
    }

    /// Fills the batch from the front; fewer than [`BATCH`] only at the end of the text.
    #[inline(always)]
    fn next_batch(&mut self, cache: &WordCache, batch: &mut [Word; BATCH]) -> usize {
        let mut at = self.at;
        let mut count = 0;
        while count < BATCH && at < self.text.len() {
            let block = match self.text[at..].first_chunk() {
                Some(block) => block,
                None => {
                    let skip = 16 - (self.text.len() - at);
                    self.tail[skip..].first_chunk().unwrap_or(&[0xff; 16])
                }
            };
            let mut length = block::pre_token_length(block);
            if length == 0 {
                length = scan::pre_token_end(self.text, at) - at;
            }
            let word = if length <= KEY_BYTES {
                let key = key_of_block(u128::from_le_bytes(*block), length);
                Word { key, hash: hash_key(key) }
            } else {
                Word { key: long_key(at, length), hash: 0 }
            };
            cache.prefetch(word.hash);
            batch[count] = word;
            count += 1;
            at += length;
        }
        self.at = at;
        count
    }
}

impl Encoder {
    /// Cheap: no table is built, and the cache's pages come when they are used.
    pub fn new() -> Self {
        Self {
            cache: WordCache::new(),
            rare: RareCache::new(),
            merger: Merger::default(),
            stage: [0; MOST_TOKENS * BATCH],
            batch: [Word { key: 0, hash: 0 }; BATCH],
        }
    }

    /// Appends the tokens of `text`, all of it as ordinary text: `<|end|>` in it is seven
    /// characters, never the control token.
    pub fn encode(&mut self, text: &str, out: &mut Vec<i32>) {
        let mut words = Words::new(text.as_bytes());
        loop {
            let count = words.next_batch(&self.cache, &mut self.batch);
            if count == 0 {
                break;
            }
            self.look_up(text.as_bytes(), count, out);
        }
    }

    /// Appends the tokens of the first `count` words of the batch.
    #[inline]
    fn look_up(&mut self, text: &[u8], count: usize, out: &mut Vec<i32>) {
        let mut staged = 0;
        let mut expected = false;
        for at in 0..count {
            let Word { key, hash } = self.batch[at];
            if let Some(tokens) = self.cache.get(key, hash) {
                self.stage[staged..staged + MOST_TOKENS].copy_from_slice(&tokens.ids);
                staged += tokens.count;
            } else {
                out.extend_from_slice(&self.stage[..staged]);
                staged = 0;
                if !expected {
                    expected = true;
                    self.expect_words(at + 1, count);
                }
                self.first_seen(text, key, hash, out);
            }
        }
        out.extend_from_slice(&self.stage[..staged]);
    }

    /// Where one word is new, others are: asks for what they will need of the vocabulary.
    #[inline(never)]
    fn expect_words(&self, from: usize, to: usize) {
        for &Word { key, hash } in &self.batch[from..to] {
            if self.cache.get(key, hash).is_none() {
                tables::prefetch_word(hash);
            }
        }
    }

    /// A word that the first cache does not hold, in the order of what it costs.
    #[inline(never)]
    fn first_seen(&mut self, text: &[u8], key: u128, hash: u64, out: &mut Vec<i32>) {
        if let Some((start, end)) = long_range(key) {
            let word = &text[start..end];
            let hash = hash_long(word);
            match tables::long_word(word, hash) {
                Some(id) => out.push(id as i32),
                None => self.many_tokens(word, hash, out),
            }
            return;
        }
        if let Some(tokens) = self.cache.get_moved(key, hash) {
            out.extend_from_slice(&tokens.ids[..tokens.count.min(MOST_TOKENS)]);
            return;
        }
        let before = out.len();
        match tables::short_word(key, hash) {
            Some(id) => out.push(id as i32),
            None => {
                let word = key.to_le_bytes();
                let length = word[KEY_BYTES] as usize;
                self.many_tokens(&word[..length], hash, out);
            }
        }
        let made = &out[before..];
        if made.len() <= MOST_TOKENS {
            let mut ids = [0; MOST_TOKENS];
            ids[..made.len()].copy_from_slice(made);
            self.cache.put(key, hash, Tokens { ids, count: made.len() });
        }
    }

    /// A word that is no token itself.
    fn many_tokens(&mut self, word: &[u8], hash: u64, out: &mut Vec<i32>) {
        if self.rare.get(word, hash, out) {
            return;
        }
        let before = out.len();
        self.merger.merge(word, out);
        let made = &out[before..];
        if word.len() > KEY_BYTES || made.len() > MOST_TOKENS {
            self.rare.put(word, hash, made);
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
