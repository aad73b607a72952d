//! Normalization Form C as `tokenizers` does it, which has Unicode 9.0: characters added later stay as they
//! are. Nearly all text is normal, and is only looked at.

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

/// It may be combined with what is in front of it.
const MAYBE: u8 = 254;

/// Whether a text is normal, by the quick check of UAX #15: false also if it cannot tell.
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
            // Vowel signs of many scripts, which are combined with few letters.
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

/// A text in its normal form, and where its bytes come from if that is another text.
pub enum Normal<'a> {
    Same(&'a str),
    Other(NormalizedString),
}

impl<'a> Normal<'a> {
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

    /// The end in the original text of the character that a token ends in which ends before its last byte.
    /// (Of two characters that were put together the first, as `tokenizers` has it.)
    pub fn original_end_within(&self, end: usize) -> usize {
        let Self::Other(normal) = self else { return end };
        let original = normal.convert_offsets(Range::Normalized(end - 1..end));
        original.map_or(end, |range| range.end)
    }

    /// The end in the original text of what ends at `end`, which is not 0, of the normal one: where the
    /// original of the next character begins, but not within a character that was taken apart.
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

/// The normal form of a text.
pub fn normalized(text: &str) -> Cow<'_, str> {
    match Normal::new(text) {
        Normal::Same(text) => Cow::Borrowed(text),
        Normal::Other(normal) => Cow::Owned(normal.get().to_owned()),
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
