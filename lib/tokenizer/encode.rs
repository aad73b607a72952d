//! Text to tokens: cut off words, look each up.

use super::embedded::O200kTables;
use super::lookup::{Batch, Lookup, WordRoom};
use super::pattern::{O200k, Pattern};
use super::tables::Tables;
use super::words::Words;
use gristmill_simd::{Instructions, SimdLevel, SimdTask};

/// Encodes text with o200k. Each thread needs its own encoder. It keeps the words that it has seen (at most
/// 14 MiB; 5 MiB until more are useful), which makes it faster and never changes its output.
pub struct Encoder {
    inner: Inner<O200kTables, O200k>,
}

/// An encoder with any tables and pattern.
pub struct Inner<T, P> {
    level: SimdLevel,
    pattern: P,
    lookup: Lookup<T>,
    batches: Box<[Batch; 2]>,
}

/// What [`Inner::encode`] does, compiled for each processor.
struct Encode<'a, T, P> {
    encoder: &'a mut Inner<T, P>,
    text: &'a str,
    out: &'a mut Vec<i32>,
}

impl<T: Tables, P: Pattern> SimdTask for Encode<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { encoder: Inner { pattern, lookup, batches, .. }, text, out } = self;
        let mut words = Words::new(*pattern, text.as_bytes());
        let [now, next] = &mut **batches;
        let (mut now, mut next) = (now, next);
        let mut is_more = lookup.take::<I, P>(&mut words, now);
        while is_more {
            is_more = lookup.take::<I, P>(&mut words, next);
            lookup.append::<I>(text.as_bytes(), now, out);
            std::mem::swap(&mut now, &mut next);
        }
    }
}

impl<T: Tables, P: Pattern> Inner<T, P> {
    pub fn new(level: SimdLevel, tables: T, pattern: P, room: WordRoom) -> Self {
        let batches = Box::new([Batch::new(), Batch::new()]);
        Self { level, pattern, lookup: Lookup::new(level, tables, room), batches }
    }

    #[inline]
    pub fn encode(&mut self, text: &str, out: &mut Vec<i32>) {
        self.level.run(Encode { encoder: self, text, out });
    }
}

impl Encoder {
    /// Makes an encoder. This is cheap: no table is built, and the cache's pages are allocated when
    /// used.
    pub fn new() -> Self {
        Self::with_level(SimdLevel::best())
    }

    /// Makes an encoder that uses no instructions that only some processors have. The tokens are
    /// the same.
    pub fn portable() -> Self {
        Self::with_level(SimdLevel::PORTABLE)
    }

    fn with_level(level: SimdLevel) -> Self {
        Self { inner: Inner::new(level, O200kTables, O200k, WordRoom::Mib13) }
    }

    /// Appends the tokens of `text`, all of it as ordinary text: `<|end|>` in it is seven
    /// characters, never the control token.
    pub fn encode(&mut self, text: &str, out: &mut Vec<i32>) {
        self.inner.encode(text, out);
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the tokens of one text. For many texts, keep an [`Encoder`]: it is faster, since it remembers words.
pub fn encoded(text: &str) -> Vec<i32> {
    let mut out = Vec::new();
    Encoder::new().encode(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_s_is_a_contraction() {
        assert_eq!(encoded("中'ſ'lldon't"), [1404, 6, 70067, 54602, 143373, 1507]);
    }

    #[test]
    fn control_tokens_in_text_are_text() {
        for (id, name) in super::super::SPECIAL_TOKENS {
            let tokens = encoded(name);
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
