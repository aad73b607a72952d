//! Where a pre-token of o200k ends. Written by hand from the encoding's pattern (see the
//! module's head); every character is looked at a bounded number of times, whatever the text.

use super::hash::class::{LETTER, LOWER, NEWLINE, NUMBER, PREFIX, PUNCTUATION, SPACE, UPPER};
use super::tables::{FIRST_CLASSES, class_of};

/// Returns the class bits and the length of the character that starts at `at`; `(0, 0)` at the end.
#[inline(always)]
pub fn class_at(text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        None => (0, 0),
        Some(&byte) if byte < 0x80 => (FIRST_CLASSES[byte as usize], 1),
        Some(&byte) => class_of_long(text, at, byte),
    }
}

#[inline]
fn class_of_long(text: &[u8], at: usize, first: u8) -> (u8, usize) {
    let next = |n: usize| text.get(at + n).map_or(0, |&byte| byte as u32 & 0x3f);
    let first = first as u32;
    if first < 0xe0 {
        (class_of((first & 0x1f) << 6 | next(1)), 2)
    } else if first < 0xf0 {
        (class_of((first & 0x0f) << 12 | next(1) << 6 | next(2)), 3)
    } else {
        (class_of((first & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3)), 4)
    }
}

/// Returns the end of the run of characters with any of `bits`, from `at` on.
#[inline(always)]
fn run(text: &[u8], mut at: usize, bits: u8) -> usize {
    loop {
        let (class, length) = class_at(text, at);
        if class & bits == 0 {
            return at;
        }
        at += length;
    }
}

/// Returns the end of the pre-token that starts at `start`, which must be a character's start and
/// before the end of `text`, valid UTF-8.
pub fn pre_token_end(text: &[u8], start: usize) -> usize {
    let (class, length) = class_at(text, start);
    let second = start + length;
    if class & PREFIX != 0 {
        match word(text, second) {
            Word::Mixed(end) => return contraction(text, end),
            // A mark in front of capitals is a word of its own: the pattern's first line
            // takes it without a prefix before the second line is tried.
            Word::Capitals(_) | Word::None if class & LOWER != 0 => {
                return contraction(text, second);
            }
            Word::Capitals(end) => return contraction(text, end),
            Word::None => {}
        }
    } else if class & LETTER != 0 {
        return match word(text, start) {
            Word::Mixed(end) | Word::Capitals(end) => contraction(text, end),
            Word::None => second,
        };
    } else if class & NUMBER != 0 {
        return number(text, second);
    }
    if class & PUNCTUATION != 0 {
        return punctuation(text, second);
    }
    if text[start] == b' ' {
        let (class, length) = class_at(text, second);
        if class & PUNCTUATION != 0 {
            return punctuation(text, second + length);
        }
    }
    space(text, start)
}

/// Returns the end of the pre-token whose last character so far, at `at`, is a letter or mark
/// without case, after none with case.
pub fn word_end(text: &[u8], at: usize) -> usize {
    match word(text, at) {
        Word::Mixed(end) | Word::Capitals(end) => contraction(text, end),
        Word::None => at,
    }
}

enum Word {
    None,
    /// Ends after a lower letter, or after the last Lm, Lo or M of a run of capitals.
    Mixed(usize),
    /// Capitals alone.
    Capitals(usize),
}

/// `[UPPER]*[LOWER]+`, else `[UPPER]+`, from `start` on.
#[inline(always)]
fn word(text: &[u8], start: usize) -> Word {
    let mut at = start;
    let mut after_both = start;
    loop {
        let (class, length) = class_at(text, at);
        if class & UPPER == 0 {
            if class & LOWER != 0 {
                return Word::Mixed(run(text, at + length, LOWER));
            }
            break;
        }
        at += length;
        if class & LOWER != 0 {
            after_both = at;
        }
    }
    if after_both > start {
        Word::Mixed(after_both)
    } else if at > start {
        Word::Capitals(at)
    } else {
        Word::None
    }
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`: the long s folds to s.
#[inline(always)]
fn contraction(text: &[u8], at: usize) -> usize {
    if text.get(at) != Some(&b'\'') {
        return at;
    }
    let byte = |n: usize| text.get(at + n).map_or(0, |byte| byte.to_ascii_lowercase());
    match (byte(1), byte(2)) {
        (b's' | b't' | b'm' | b'd', _) => at + 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => at + 3,
        (0xc5, 0xbf) => at + 3,
        _ => at,
    }
}

/// `\p{N}{1,3}`, the first of which ends at `at`.
fn number(text: &[u8], mut at: usize) -> usize {
    for _ in 0..2 {
        let (class, length) = class_at(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += length;
    }
    at
}

/// `[^\s\p{L}\p{N}]+[\r\n/]*`, the first of which ends at `at`.
fn punctuation(text: &[u8], at: usize) -> usize {
    let mut at = run(text, at, PUNCTUATION);
    while let Some(b'\r' | b'\n' | b'/') = text.get(at) {
        at += 1;
    }
    at
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`.
fn space(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut last = start;
    let mut after_newline = start;
    loop {
        let (class, length) = class_at(text, at);
        if class & SPACE == 0 {
            break;
        }
        last = at;
        at += length;
        if class & NEWLINE != 0 {
            after_newline = at;
        }
    }
    if after_newline > start {
        after_newline
    } else if at == text.len() || last == start {
        at
    } else {
        last
    }
}

#[cfg(test)]
mod tests {
    use super::pre_token_end;

    fn split(text: &str) -> String {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = pre_token_end(text.as_bytes(), at);
            parts.push(&text[at..end]);
            at = end;
        }
        parts.join("|")
    }

    #[track_caller]
    fn cut(cases: &[&str]) {
        for case in cases {
            assert_eq!(split(&case.replace('|', "")), *case);
        }
    }

    #[test]
    fn upper_runs_end_at_their_last_letter_without_case() {
        cut(&["中|AB", "\u{301}|AB", "ʰ|A", "ABc|D", "AB", "A中B中|CD", "ǅǅa|ǅ"]);
        cut(&["!AB", "\u{301}\u{301}|AB", "\u{301}Ab", "!\u{301}|AB"]);
    }

    #[test]
    fn contractions() {
        cut(&["中'ſ|'lldon't", "can't|'ve", "don'T|'S", "'sx", "it|’s", "we'LL|'d", "a's|x"]);
        cut(&["a|'", "a|'x", "a|'r", "AB're", "\u{301}'s", "a|'l|'l", "a|'K"]);
    }

    #[test]
    fn one_prefix() {
        cut(&["foo|/bar", "!hello", "!!|hello", "a|\tb", "a|\u{a0}b", "a|\u{85}b"]);
        cut(&["a|\u{200b}b", "a|😀b", "\r|a", "1|a", " |1", " a", " | a"]);
    }

    #[test]
    fn marks_are_prefix_word_and_punctuation() {
        cut(&["❤️abc", "😀❤️|abc", "!\u{301}a", "!!\u{301}|a", "\u{301}|."]);
    }

    #[test]
    fn punctuation_takes_slashes_and_newlines_behind_it() {
        cut(&["x|.\n//|a", "http|://|a", "\n|/", " .\r\n\n"]);
        cut(&["a| ...", "a|\t|..", "a|\u{a0}|..", "a| | ..", "/a", "//|a", ".\n| | a"]);
    }

    #[test]
    fn white_space() {
        cut(&["  \n\n| | x", "a|\t|\tb", "x|  ", "x| ", "\n", " "]);
        cut(&["x| \r\n| |1", "x|\u{3000}|\u{3000}y", "x|\t\t", "x| |\t|1"]);
        cut(&["a|\u{1c}b", "a|\u{feff}b"]);
    }

    #[test]
    fn numbers_are_counted_in_characters() {
        cut(&["12٣|4", "Ⅷ½²|1", "a|123|456|7|b", "1|.|5"]);
    }

    #[test]
    fn what_follows_decides_how_a_run_ends() {
        cut(&["x|  ", "x| | y", "AB", "ABc", "中|AB"]);
    }
}
