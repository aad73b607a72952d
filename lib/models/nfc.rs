//! Normalization Form C as `tokenizers` does it, which has Unicode 9.0: characters added later stay as they
//! are. Nearly all text is normal, and is only looked at.

use std::borrow::Cow;

use tokenizers::NormalizedString;

/// For each 256 code points the number of a block; then the blocks, of a byte for each code point: its
/// combining class, or [`NOT_SURE`].
static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nfc"));

/// Its normal form may be another, by itself or with what is in front of it.
const NOT_SURE: u8 = 255;

/// Whether a text is normal, by the quick check of UAX #15: false also if it cannot tell.
pub fn is_surely_normal(text: &str) -> bool {
    let mut last = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        // Below U+0300 no character is combined with another.
        if first < 0xcc {
            (at, last) = (at + 1 + usize::from(first >= 0xc0), 0);
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
        let class = CLASSES[0x1100 + 256 * block + (point & 0xff)];
        if class == NOT_SURE || class != 0 && class < last {
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

    /// The end in the original text of what ends at `end`, which is not 0, of the normal one.
    pub fn original_end(&self, end: usize) -> usize {
        match self {
            Self::Same(_) => end,
            Self::Other(normal) => normal
                .convert_offsets(tokenizers::normalizer::Range::Normalized(end - 1..end))
                .map_or(end, |range| range.end),
        }
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
