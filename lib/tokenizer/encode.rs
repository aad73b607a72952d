//! Text to tokens: cut off a pre-token, look it up among the words already seen, else among
//! the vocabulary's, else merge it.

use super::cache::{MOST_TOKENS, Tokens, WordCache};
use super::hash::{KEY_BYTES, hash_key, key_of_block};
use super::merge::Merger;
use super::{scan, tables};

/// Encodes text with o200k. One for each thread: it keeps the words it has seen (at most
/// 4 MiB), which makes it faster and never changes its output.
pub struct Encoder {
    cache: WordCache,
    merger: Merger,
}

impl Encoder {
    /// Cheap: no table is built, and the cache's pages come when they are used.
    pub fn new() -> Self {
        Self { cache: WordCache::new(), merger: Merger::default() }
    }

    /// Appends the tokens of `text`, all of it as ordinary text: `<|end|>` in it is seven
    /// characters, never the control token.
    pub fn encode(&mut self, text: &str, out: &mut Vec<i32>) {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() {
            let end = scan::pre_token_end(text, at);
            self.word(text, at, end, out);
            at = end;
        }
    }

    #[inline]
    fn word(&mut self, text: &[u8], start: usize, end: usize, out: &mut Vec<i32>) {
        let length = end - start;
        if length > KEY_BYTES {
            match tables::long_word(&text[start..end]) {
                Some(id) => out.push(id as i32),
                None => self.merger.merge(&text[start..end], out),
            }
            return;
        }
        let block = match text[start..].first_chunk() {
            Some(&block) => u128::from_le_bytes(block),
            None => {
                let mut block = [0; 16];
                block[..length].copy_from_slice(&text[start..end]);
                u128::from_le_bytes(block)
            }
        };
        let key = key_of_block(block, length);
        let hash = hash_key(key);
        match self.cache.get(key, hash) {
            Some(tokens) => out.extend_from_slice(&tokens.ids[..tokens.count.min(MOST_TOKENS)]),
            None => self.first_seen(&text[start..end], key, hash, out),
        }
    }

    #[inline(never)]
    fn first_seen(&mut self, word: &[u8], key: u128, hash: u64, out: &mut Vec<i32>) {
        let before = out.len();
        match tables::short_word(key, hash) {
            Some(id) => out.push(id as i32),
            None => self.merger.merge(word, out),
        }
        let made = &out[before..];
        if made.len() <= MOST_TOKENS {
            let mut ids = [0; MOST_TOKENS];
            ids[..made.len()].copy_from_slice(made);
            self.cache.put(key, hash, Tokens { ids, count: made.len() });
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
