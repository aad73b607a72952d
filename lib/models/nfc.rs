//! Normalization Form C in Unicode 9.0, as in `tokenizers`: later characters stay unchanged. Nearly all text is normal
//! already, and is only checked.

use std::borrow::Cow;

use tokenizers::NormalizedString;
use tokenizers::normalizer::Range;
use unicode_normalization_alignments::char::{canonical_combining_class, compose};

/// For each first byte the length of its characters, if none of them is combined with another. For each 256
/// code points the number of a block; then the blocks, of a byte for each code point: its combining class,
/// [`MAYBE`], or 255 if its normal form is another.
static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nfc"));
static PLAIN: &[u8] = TABLE.split_at(256).0;
static CLASSES: &[u8] = TABLE.split_at(256).1;

/// The class of a character that may be combined with the one before it.
const MAYBE: u8 = 254;

/// Whether a text is normal, by the quick check of UAX #15; also false if the check cannot tell.
pub fn is_surely_normal(text: &str) -> bool {
    let mut last = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let length = usize::from(PLAIN[usize::from(first)]);
        if length > 0 {
            last = 0;
            at += length;
            while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>())
                && chunk.is_ascii()
            {
                at += chunk.len();
            }
            continue;
        }
        let bits = |n: usize| bytes.get(at + n).map_or(0, |&byte| usize::from(byte & 0x3f));
        let first = usize::from(first);
        let (point, length) = match first {
            ..0xe0 => ((first & 0x1f) << 6 | bits(1), 2),
            0xe0..0xf0 => ((first & 0x0f) << 12 | bits(1) << 6 | bits(2), 3),
            _ => ((first & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3), 4),
        };
        let block = usize::from(CLASSES[(point >> 8) % 0x1100]);
        let mut class = CLASSES[0x1100 + 256 * block + (point & 0xff)];
        if class == MAYBE && last == 0 {
            // Vowel signs of many scripts are combined with few letters.
            let (before, behind) = text.split_at(at);
            let Some(character) = behind.chars().next() else { return false };
            let letter = before.chars().next_back();
            if letter.is_none_or(|letter| compose(letter, character).is_none()) {
                class = canonical_combining_class(character);
            }
        }
        if class >= MAYBE || class != 0 && class < last {
            return false;
        }
        (at, last) = (at + length, class);
    }
    true
}

/// The normal form of a text; if it differs, with the places of its bytes in the original.
pub enum NormalText<'a> {
    Same(&'a str),
    Other(NormalizedString),
}

impl<'a> NormalText<'a> {
    pub fn new(text: &'a str) -> Self {
        if is_surely_normal(text) {
            return Self::Same(text);
        }
        let mut normal = NormalizedString::from(text);
        normal.nfc();
        if normal.get() == text { Self::Same(text) } else { Self::Other(normal) }
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Same(text) => text,
            Self::Other(normal) => normal.get(),
        }
    }

    /// For a token that ends within a character: the end of that character in the original text. (If two characters
    /// were combined, the end of the first, as in `tokenizers`.)
    pub fn original_end_within(&self, end: usize) -> usize {
        let Self::Other(normal) = self else { return end };
        let original = normal.convert_offsets(Range::Normalized(end - 1..end));
        original.map_or(end, |range| range.end)
    }

    /// Maps an end in the normal text, which is not 0, to the original text: where the next character begins there,
    /// but not within a character that was taken apart.
    pub fn original_end(&self, end: usize) -> usize {
        let Self::Other(normal) = self else { return end };
        let original = |range| normal.convert_offsets(Range::Normalized(range));
        let last = self.original_end_within(end);
        let next = if end == normal.get().len() {
            Some(normal.get_original().len())
        } else {
            original(end..end + 1).map(|range| range.start)
        };
        next.map_or(last, |next| next.max(last))
    }
}

/// Returns the normal form of a text.
pub fn normalized(text: &str) -> Cow<'_, str> {
    match NormalText::new(text) {
        NormalText::Same(text) => Cow::Borrowed(text),
        NormalText::Other(normal) => Cow::Owned(normal.get().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(text: &str) -> String {
        let mut normal = NormalizedString::from(text);
        normal.nfc();
        normal.get().to_owned()
    }

    /// Each character alone, behind a letter, and behind and in front of marks.
    #[test]
    fn what_is_surely_normal_is_normal() {
        let mut normal = 0;
        for character in ('\0'..=char::MAX).step_by(1) {
            for before in ["", "e", "\u{301}", "\u{1112}\u{1161}", "\u{9c7}"] {
                let text = format!("{before}{character}\u{316}a");
                if is_surely_normal(&text) {
                    normal += 1;
                    assert_eq!(reference(&text), text);
                }
            }
        }
        assert!(normal > 4_000_000, "{normal}");
        assert_eq!(normalized("e\u{301}"), "é");
        assert!(is_surely_normal("é Ελλάδα Việt कि ไทยที่ 한국어 日本"));
        assert!(!is_surely_normal("a\u{301}\u{316}"));
    }
}
