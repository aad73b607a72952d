//! The patterns by which texts are cut into pre-tokens, each described by its differences from the others. `scan`
//! and `window` are compiled for each description.
//!
//! o200k is in the head of the crate. Each line is an alternative:
//!
//! ```text
//! cl100k; Qwen has \p{N} in place of \p{N}{1,3}
//!     (?i:'s|'t|'re|'ve|'m|'ll|'d)
//!     [^\r\n\p{L}\p{N}]?\p{L}+
//!     \p{N}{1,3}
//!      ?[^\s\p{L}\p{N}]+[\r\n]*
//!     \s*[\r\n]+
//!     \s+(?!\S)
//!     \s+
//! DeepSeek V3: three expressions, one after another
//!   1 \p{N}{1,3}
//!   2 [一-龥぀-ゟ゠-ヿ]+
//!   3 [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+
//!     [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//!      ?[\p{P}\p{S}]+[\r\n]*
//!     \s*[\r\n]+
//!     \s+(?!\S)
//!     \s+
//! ```

use super::hash::class::{ISOLATED, LETTER, LOWER, UPPER};

/// Where `(?i:'s|'t|'re|'ve|'m|'ll|'d)` stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Contractions {
    /// At the end of words.
    AfterWords,
    /// As pre-tokens of their own, before everything else.
    First,
    /// Nowhere.
    None,
}

/// A pattern.
pub trait Pattern: Copy + Send + Sync + 'static {
    /// The classes of all characters, in two stages (`build/unicode.rs`).
    const CLASSES: &'static [u8];
    /// The classes of each ASCII byte, and of U+0080 to U+00FF.
    const FIRST_CLASSES: &'static [u8; 256];
    /// The classes of the code points that UTF-8 writes in one byte or two.
    const TWO_BYTE_CLASSES: &'static [u8; 0x800];
    /// One bit for each code point below U+10000: whether it has both `UPPER` and `LOWER`, or is one of the
    /// letters that are cut off first.
    const RUN_LETTERS: &'static [u8; 0x2000];
    /// Whether a word ends before a capital that follows a small letter.
    const CASES: bool;
    const CONTRACTIONS: Contractions;
    /// Digits of a number.
    const DIGITS: usize;
    /// Whether slashes follow punctuation as line ends do.
    const SLASHES: bool;
    /// Whether this is the pattern of DeepSeek V3, which cuts off numbers and Han first, and in which
    /// punctuation belongs to the word after it only before ASCII letters.
    const ISOLATES: bool;
}

/// Class bits of a code point; 0 for other numbers.
#[inline]
pub fn class_of<P: Pattern>(point: u32) -> u8 {
    let Some(&block) = P::CLASSES[..0x1100].get((point >> 8) as usize) else { return 0 };
    P::CLASSES[0x1100 + 256 * block as usize + (point & 0xff) as usize]
}

/// Whether a code point below U+10000 is a letter or mark without case, such as may be in both parts of
/// a word; with DeepSeek's pattern, one of the letters that are cut off first.
#[inline(always)]
pub fn is_run_letter<P: Pattern>(point: u16) -> bool {
    P::RUN_LETTERS[usize::from(point) / 8] >> (point % 8) & 1 != 0
}

const fn first_of(classes: &[u8]) -> [u8; 256] {
    let mut first = [0; 256];
    let mut point = 0;
    while point < first.len() {
        first[point] = classes[0x1100 + 256 * classes[0] as usize + point];
        point += 1;
    }
    first
}

const fn two_byte_of(classes: &[u8]) -> [u8; 0x800] {
    let mut found = [0; 0x800];
    let mut point = 0;
    while point < found.len() {
        found[point] = classes[0x1100 + 256 * classes[point >> 8] as usize + (point & 0xff)];
        point += 1;
    }
    found
}

const fn with_both_of(classes: &[u8], both: u8) -> [u8; 0x2000] {
    let mut bits = [0; 0x2000];
    let mut point = 0;
    while point < 0x1_0000 {
        let class = classes[0x1100 + 256 * classes[point >> 8] as usize + (point & 0xff)];
        let is_both = class & both == both;
        bits[point / 8] |= (is_both as u8) << (point % 8);
        point += 1;
    }
    bits
}

/// The tables of classes, each once in the program.
macro_rules! classes {
    ($name:ident, $file:literal, $both:expr) => {
        mod $name {
            pub static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), $file));
            pub static FIRST: [u8; 256] = super::first_of(CLASSES);
            pub static TWO_BYTE: [u8; 0x800] = super::two_byte_of(CLASSES);
            pub static RUN_LETTERS: [u8; 0x2000] = super::with_both_of(CLASSES, $both);
        }
    };
}

classes!(o200k, "/classes", super::UPPER | super::LOWER);
classes!(cl100k, "/classes.cl100k", super::UPPER | super::LOWER);
classes!(deepseek, "/classes.deepseek", super::ISOLATED | super::LETTER);

macro_rules! pattern {
    ($(#[$about:meta])* $name:ident, $classes:ident, $($constant:ident: $type:ty = $value:expr),*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Pattern for $name {
            const CLASSES: &'static [u8] = $classes::CLASSES;
            const FIRST_CLASSES: &'static [u8; 256] = &$classes::FIRST;
            const TWO_BYTE_CLASSES: &'static [u8; 0x800] = &$classes::TWO_BYTE;
            const RUN_LETTERS: &'static [u8; 0x2000] = &$classes::RUN_LETTERS;
            $(const $constant: $type = $value;)*
        }
    };
}

pattern!(
    /// The pattern of gpt-4o and gpt-oss.
    O200k, o200k,
    CASES: bool = true,
    CONTRACTIONS: Contractions = Contractions::AfterWords,
    DIGITS: usize = 3,
    SLASHES: bool = true,
    ISOLATES: bool = false
);
pattern!(
    /// The pattern of gpt-4 and Llama 3.
    Cl100k, cl100k,
    CASES: bool = false,
    CONTRACTIONS: Contractions = Contractions::First,
    DIGITS: usize = 3,
    SLASHES: bool = false,
    ISOLATES: bool = false
);
pattern!(
    /// The pattern of Qwen 2 and 3.
    Qwen, cl100k,
    CASES: bool = false,
    CONTRACTIONS: Contractions = Contractions::First,
    DIGITS: usize = 1,
    SLASHES: bool = false,
    ISOLATES: bool = false
);
pattern!(
    /// The pattern of DeepSeek V3.
    DeepSeek, deepseek,
    CASES: bool = false,
    CONTRACTIONS: Contractions = Contractions::None,
    DIGITS: usize = 3,
    SLASHES: bool = false,
    ISOLATES: bool = true
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::class;

    #[test]
    fn classes_are_those_of_unicode_16() {
        let of = |c: char| class_of::<O200k>(c as u32);
        assert_eq!(of('A'), class::LETTER | class::UPPER);
        assert_eq!(of('ǅ'), class::LETTER | class::UPPER, "titlecase counts as upper");
        assert_eq!(of('a'), class::LETTER | class::LOWER);
        assert_eq!(of('ʰ'), class::LETTER | class::UPPER | class::LOWER);
        assert_eq!(of('中'), class::LETTER | class::UPPER | class::LOWER);
        assert_eq!(of('\u{301}') & class::PREFIX, class::PREFIX);
        assert_eq!(of('½'), class::NUMBER);
        assert_eq!(of('\r'), class::SPACE | class::NEWLINE);
        for space in ['\u{85}', '\u{a0}', '\u{3000}', '\t', ' '] {
            assert_eq!(of(space), class::SPACE | class::PREFIX, "{space:?}");
        }
        for none in ['\u{1c}', '\u{1f}', '\u{200b}', '\u{feff}', '/', '\'', '😀'] {
            assert_eq!(of(none), class::PUNCTUATION | class::PREFIX, "{none:?}");
        }
        // Unassigned in 16.0, letters in 17.0.
        for later in ['\u{88f}', '\u{c5c}', '\u{cdc}'] {
            assert_eq!(of(later), class::PUNCTUATION | class::PREFIX, "{later:?}");
        }
        assert_eq!(class_of::<O200k>(0x11_0000), 0);
    }
}
