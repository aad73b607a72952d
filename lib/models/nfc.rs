//! Normalization Form C in Unicode 9.0, as in `tokenizers` (later characters stay unchanged). Nearly all text is
//! normal already, and is only checked.

use std::borrow::Cow;
use std::ops::Range;

use tokenizers::NormalizedString;
use tokenizers::normalizer::Range as Normalized;
use unicode_normalization_alignments::char::{canonical_combining_class, compose};

/// First, for each first byte the length of its characters if none of them is combined with another, and 1 for bytes
/// within characters. Then, for each 256 code points, the number of a block. Then the blocks, with a byte for each code
/// point: its combining class, [`MAYBE`], or 255 if its normal form is another character.
static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nfc"));
static PLAIN: &[u8] = TABLE.split_at(256).0;
static CLASSES: &[u8] = TABLE.split_at(256).1;

/// The class of a character that may be combined with the one before it.
const MAYBE: u8 = 254;

/// Returns the first byte from `at` on at which a text may stop being normal, by the quick check of UAX #15. A
/// character that stands alone must begin at `at`.
fn first_unsure(text: &str, mut at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut last = 0;
    while let Some(&first) = bytes.get(at) {
        let length = usize::from(PLAIN[usize::from(first)]);
        if length > 0 {
            last = 0;
            at += length;
            // (A chunk may end within a character: its other bytes are plain, too, and what is not begins a character.)
            while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
                if !chunk.is_ascii()
                    && let Some(place) = chunk.iter().position(|&byte| !is_plain(byte))
                {
                    at += place;
                    break;
                }
                at += chunk.len();
            }
            continue;
        }
        let (mut class, length) = class_at(bytes, at);
        if class == MAYBE && last == 0 {
            // Vowel signs of many scripts are combined with few letters.
            let (before, behind) = text.split_at(at);
            let Some(character) = behind.chars().next() else { return Some(at) };
            let letter = before.chars().next_back();
            if letter.is_none_or(|letter| compose(letter, character).is_none()) {
                class = canonical_combining_class(character);
            }
        }
        if class >= MAYBE || class != 0 && class < last {
            return Some(at);
        }
        (at, last) = (at + length, class);
    }
    None
}

/// Whether a byte is within a character, or begins characters of which none is combined with another.
#[inline(always)]
fn is_plain(byte: u8) -> bool {
    PLAIN[usize::from(byte)] > 0
}

/// The class of the character at `at`, and its length.
#[inline(always)]
fn class_at(bytes: &[u8], at: usize) -> (u8, usize) {
    let bits = |n: usize| bytes.get(at + n).map_or(0, |&byte| usize::from(byte & 0x3f));
    let first = usize::from(bytes[at]);
    let (point, length) = match first {
        ..0x80 => (first, 1),
        0x80..0xe0 => ((first & 0x1f) << 6 | bits(1), 2),
        0xe0..0xf0 => ((first & 0x0f) << 12 | bits(1) << 6 | bits(2), 3),
        _ => ((first & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3), 4),
    };
    let block = usize::from(CLASSES[(point >> 8) % 0x1100]);
    (CLASSES[0x1100 + 256 * block + (point & 0xff)], length)
}

/// The part of a text around an unsure character that is normalized by itself. It begins, and the next part begins,
/// with a character of class 0, which is not combined with characters in front of it.
fn part_around(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_alone = |&at: &usize| text.is_char_boundary(at) && class_at(bytes, at).0 == 0;
    let start = (0..at).rev().find(is_alone).unwrap_or(0);
    let end = (at + 1..text.len()).find(is_alone).unwrap_or(text.len());
    start..end
}

/// The normal form of a text. If it differs from the text, it has the places of its bytes in the original.
pub enum NormalText<'a> {
    Same(&'a str),
    Other(ChangedText),
}

/// A text with parts that had to be normalized. Normalizing the whole text took 6 to 12 % of a later pass of
/// Qwen 3 over real text.
pub struct ChangedText {
    text: String,
    original_length: usize,
    parts: Vec<Part>,
}

struct Part {
    /// Where it begins in the normal text.
    start: usize,
    original: Range<usize>,
    normal: NormalizedString,
}

impl<'a> NormalText<'a> {
    pub fn new(text: &'a str) -> Self {
        let Some(mut unsure) = first_unsure(text, 0) else { return Self::Same(text) };
        let mut changed = ChangedText {
            text: String::with_capacity(text.len() + text.len() / 8),
            original_length: text.len(),
            parts: Vec::new(),
        };
        let mut at = 0;
        loop {
            let original = part_around(text, unsure);
            changed.text.push_str(&text[at..original.start]);
            let mut normal = NormalizedString::from(&text[original.clone()]);
            normal.nfc();
            let start = changed.text.len();
            changed.text.push_str(normal.get());
            at = original.end;
            if normal.get() != normal.get_original() {
                changed.parts.push(Part { start, original, normal });
            }
            match first_unsure(text, at) {
                Some(next) => unsure = next,
                None => break,
            }
        }
        if changed.parts.is_empty() {
            return Self::Same(text);
        }
        changed.text.push_str(&text[at..]);
        Self::Other(changed)
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Same(text) => text,
            Self::Other(changed) => &changed.text,
        }
    }

    /// Maps an end in the normal text, which is not 0, to the original text.
    pub fn original_end(&self, end: usize) -> usize {
        match self {
            Self::Same(_) => end,
            Self::Other(changed) => changed.original_end(end),
        }
    }
}

impl ChangedText {
    /// For a token that ends within a character: the end of that character in the original text. (If two characters
    /// were combined, the end of the first, as in `tokenizers`.)
    pub fn original_end_within(&self, end: usize) -> usize {
        self.original(end - 1, end, |range| range.end)
    }

    /// Maps an end in the normal text, which is not 0, to the original text: where the next character begins there,
    /// but not within a character that was taken apart.
    pub fn original_end(&self, end: usize) -> usize {
        let last = self.original_end_within(end);
        let next = if end == self.text.len() {
            self.original_length
        } else {
            self.original(end, end, |range| range.start)
        };
        next.max(last)
    }

    /// Returns `of` the original bytes of the byte at `at`; in an unchanged part this is the byte at `place`.
    fn original(&self, at: usize, place: usize, of: impl Fn(Range<usize>) -> usize) -> usize {
        let after = self.parts.partition_point(|part| part.start <= at);
        let Some(Part { start, original, normal }) = self.parts[..after].last() else {
            return place;
        };
        let (within, length) = (at - start, normal.get().len());
        if within >= length {
            return place - start - length + original.end;
        }
        let range = normal.convert_offsets(Normalized::Normalized(within..within + 1));
        original.start + range.map_or(within, of)
    }
}

/// Returns the normal form of a text.
pub fn normalized(text: &str) -> Cow<'_, str> {
    match NormalText::new(text) {
        NormalText::Same(text) => Cow::Borrowed(text),
        NormalText::Other(changed) => Cow::Owned(changed.text),
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
                if first_unsure(&text, 0).is_none() {
                    normal += 1;
                    assert_eq!(reference(&text), text);
                }
            }
        }
        assert!(normal > 4_000_000, "{normal}");
        assert_eq!(normalized("e\u{301}"), "é");
        let is_normal = |text| first_unsure(text, 0).is_none();
        assert!(is_normal("é Ελλάδα Việt कि ไทยที่ 한국어 日本"));
        assert!(!is_normal("a\u{301}\u{316}"));
    }

    /// Texts of a few characters: the same as all of it normalized at once, and the same places.
    #[test]
    fn parts_are_normalized_as_the_whole() {
        let pieces = [
            "a",
            "é",
            "e\u{301}",
            "\u{316}",
            "\u{1112}\u{1161}",
            "\u{11ab}",
            "क\u{93c}",
            "\u{212b}",
            "中",
            "ab",
        ];
        let count = pieces.len();
        let mut changed = 0;
        for number in 0..count.pow(5) {
            let text: String =
                (0..5).map(|place| pieces[number / count.pow(place) % count]).collect();
            let normal = NormalText::new(&text);
            let mut whole = NormalizedString::from(&*text);
            whole.nfc();
            assert_eq!(normal.text(), whole.get(), "{text:?}");
            let original = |range| whole.convert_offsets(Normalized::Normalized(range)).unwrap();
            for (start, character) in normal.text().char_indices() {
                let end = start + character.len_utf8();
                let last = original(end - 1..end).end;
                let within = match &normal {
                    NormalText::Same(_) => end,
                    NormalText::Other(changed) => changed.original_end_within(end),
                };
                assert_eq!(within, last, "{text:?} {end}");
                let is_end = end == whole.get().len();
                let next = if is_end { text.len() } else { original(end..end + 1).start };
                assert_eq!(normal.original_end(end), next.max(last), "{text:?} {end}");
            }
            changed += usize::from(matches!(normal, NormalText::Other(_)));
        }
        assert!(changed > 50_000, "{changed}");
    }
}
