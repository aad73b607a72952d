//! Cuts text into words: pre-tokens, with the keys by which they are looked up. Several words are cut off
//! before the first is looked up, so that the cache lines are being loaded meanwhile.

use std::ops::Range;

use super::cache::Sets;
use super::hash::{BLOCK_BYTES, hash_of, key_of};
use super::pattern::Pattern;
use super::pieces::piece_end;
use super::runs::{self, Cut};
use super::scan;
use super::tables::Tables;
use super::window::{WINDOW, starts};
use gristmill_simd::Instructions;

/// How many words are cut off before the first of them is looked up. So many that several of them are new and can be
/// merged side by side.
pub const BATCH: usize = 4 * WINDOW;

/// A pre-token, or a piece of one, on its way from the scanner to the caches.
#[derive(Clone, Copy)]
pub struct Word {
    /// The result of [`key_of`].
    pub key: u128,
    /// The hash of the key.
    pub hash: u64,
    /// Its end in the text.
    end: usize,
}

/// Words that follow one another.
pub struct WordBatch {
    start: usize,
    words: [Word; BATCH],
}

impl WordBatch {
    pub fn new() -> Self {
        Self { start: 0, words: [Word { key: 0, hash: 0, end: 0 }; BATCH] }
    }

    #[inline(always)]
    pub fn words(&self) -> &[Word; BATCH] {
        &self.words
    }

    /// Returns the place of a word in the text.
    #[inline(always)]
    pub fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { self.start } else { self.words[at - 1].end };
        start..self.words[at].end
    }

    /// Adds the word of `length` bytes that ends at `end`; `block` begins with it.
    #[inline(always)]
    fn put(&mut self, at: usize, block: &[u8; 16], end: usize, length: usize, sets: Sets) {
        let key = key_of(block, length);
        let hash = hash_of(key);
        sets.prefetch(hash);
        self.words[at % BATCH] = Word { key, hash, end };
    }
}

/// Returns the bytes of a text from `start` on, with zeros after its end.
#[inline(always)]
pub fn block_at<const N: usize>(text: &[u8], start: usize) -> [u8; N] {
    let rest = &text[start..];
    rest.first_chunk().copied().unwrap_or_else(|| {
        let mut block = [0; N];
        block[..rest.len()].copy_from_slice(rest);
        block
    })
}

/// How many bytes are looked at together: a window, and as many bytes after it as a key has.
const VIEW: usize = WINDOW + 16;

/// Cuts a text into pre-tokens.
pub struct Words<'a, P> {
    _pattern: P,
    text: &'a [u8],
    at: usize,
    /// The end of a pre-token that is being cut into pieces, if it is after `at`: every pre-token
    /// with more than [`BLOCK_BYTES`] is.
    cut_end: usize,
    /// Whether a piece of a run starts at `at`.
    in_run: bool,
    /// The last bytes of the text, and after them as many bytes that are not ASCII, so that there
    /// is always a whole view and no pre-token seems to end with the text.
    tail: [u8; 2 * VIEW],
}

impl<'a, P: Pattern> Words<'a, P> {
    #[inline]
    pub fn new(pattern: P, text: &'a [u8]) -> Self {
        let mut tail = [0xff; 2 * VIEW];
        let kept = text.len().min(VIEW);
        tail[VIEW - kept..VIEW].copy_from_slice(&text[text.len() - kept..]);
        Self { _pattern: pattern, text, at: 0, cut_end: 0, in_run: false, tail }
    }

    #[inline(always)]
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Fills the batch from the front, until no further window may fit; returns 0 only at the end
    /// of the text.
    #[inline(always)]
    pub fn next_batch<I: Instructions, T: Tables>(
        &mut self,
        tables: &T,
        sets: Sets,
        batch: &mut WordBatch,
    ) -> usize {
        batch.start = self.at;
        let mut at = self.at;
        let mut count = 0;
        while count + WINDOW <= BATCH && at < self.text.len() {
            if self.in_run {
                let put = |start: usize, end: usize| {
                    let block = block_at(self.text, start);
                    batch.put(count, &block, end, end - start, sets);
                    count += 1;
                    count < BATCH
                };
                let found = runs::cut::<T, P>(tables, self.text, at, put);
                self.in_run = matches!(found, Cut::Until(_));
                (at, self.cut_end) = match found {
                    Cut::Until(next) | Cut::Whole(next) => (next, next),
                    Cut::Rest(next, end) => (next, end),
                };
            }
            while at < self.cut_end && count < BATCH {
                let end = at + piece_end(tables, &self.text[at..self.cut_end], 0);
                batch.put(count, &block_at(self.text, at), end, end - at, sets);
                count += 1;
                at = end;
            }
            if count + WINDOW > BATCH || at == self.text.len() {
                break;
            }
            let view = match self.text[at..].first_chunk::<VIEW>() {
                Some(view) => view,
                None => {
                    let skip = VIEW - (self.text.len() - at);
                    self.tail[skip..].first_chunk().unwrap_or(&[0xff; VIEW])
                }
            };
            let is_run = runs::may_start::<P>(view);
            if is_run && runs::starts::<P>(self.text, at) {
                self.in_run = true;
                continue;
            }
            let mut begin = 0;
            let mut push = |begin: usize, end: usize| {
                let block = view[begin % WINDOW..].first_chunk().unwrap_or(&[0; 16]);
                batch.put(count, block, at + end, end - begin, sets);
                count += 1;
            };
            // One word is left to the scanner: the last word of a window with characters that the masks
            // do not cover, or a word longer than a window.
            let mut is_odd = is_run;
            if !is_odd && let Some(window) = view.first_chunk() {
                let found = starts::<I, P>(window);
                let mut starts = found.bits;
                while starts != 0 {
                    let end = starts.trailing_zeros() as usize;
                    if end - begin > BLOCK_BYTES {
                        self.cut_end = at + end;
                        break;
                    }
                    starts &= starts - 1;
                    push(begin, end);
                    begin = end;
                }
                is_odd = starts == 0 && (begin == 0 || found.is_odd);
            }
            // A run is cut when a window begins with it.
            is_odd &= begin == 0 || !runs::may_start::<P>(&view[begin % WINDOW..]);
            if is_odd && at + begin < self.text.len() {
                let end = scan::pre_token_end::<P>(self.text, at + begin);
                if end - at - begin > BLOCK_BYTES {
                    self.cut_end = end;
                } else {
                    push(begin, end - at);
                    begin = end - at;
                }
            }
            at += begin;
        }
        self.at = at;
        count
    }
}
