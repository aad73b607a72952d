//! Finds the end of a pre-token. Written by hand from the patterns (see `pattern`). In any text, each
//! character is looked at a bounded number of times.

use super::hash::class::{
    ISOLATED, LETTER, LOWER, NEWLINE, NUMBER, PREFIX, PUNCTUATION, SPACE, UPPER,
};
use super::pattern::{Contractions, Pattern, class_of};

/// Returns the class bits and the length of the character that starts at `at`; `(0, 0)` at the end.
#[inline(always)]
pub fn class_at<P: Pattern>(text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        None => (0, 0),
        Some(&byte) if byte < 0x80 => (P::FIRST_CLASSES[byte as usize], 1),
        Some(&byte) => class_of_long::<P>(text, at, byte),
    }
}

#[inline]
fn class_of_long<P: Pattern>(text: &[u8], at: usize, first: u8) -> (u8, usize) {
    let next = |n: usize| text.get(at + n).map_or(0, |&byte| byte as u32 & 0x3f);
    let first = first as u32;
    if first < 0xe0 {
        (class_of::<P>((first & 0x1f) << 6 | next(1)), 2)
    } else if first < 0xf0 {
        (class_of::<P>((first & 0x0f) << 12 | next(1) << 6 | next(2)), 3)
    } else {
        (class_of::<P>((first & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3)), 4)
    }
}

/// Returns the end of the run of characters with any of `bits`, from `at` on.
#[inline(always)]
fn run<P: Pattern>(text: &[u8], mut at: usize, bits: u8) -> usize {
    loop {
        let (class, length) = class_at::<P>(text, at);
        if class & bits == 0 {
            return at;
        }
        at += length;
    }
}

/// Returns the end of the pre-token that starts at `start`, which must be a character's start and before the end of
/// `text`, valid UTF-8.
pub fn pre_token_end<P: Pattern>(text: &[u8], start: usize) -> usize {
    if P::ISOLATES {
        return isolated::pre_token_end::<P>(text, start);
    }
    if P::CONTRACTIONS == Contractions::First {
        let end = contraction(text, start);
        if end > start {
            return end;
        }
    }
    let (class, length) = class_at::<P>(text, start);
    let second = start + length;
    if class & PREFIX != 0 {
        match word::<P>(text, second) {
            Word::Mixed(end) => return after_word::<P>(text, end),
            // A mark in front of capitals is a word of its own: the pattern's first line
            // takes it without a prefix before the second line is tried.
            Word::Capitals(_) | Word::None if class & LOWER != 0 => {
                return after_word::<P>(text, second);
            }
            Word::Capitals(end) => return after_word::<P>(text, end),
            Word::None => {}
        }
    } else if class & LETTER != 0 {
        return match word::<P>(text, start) {
            Word::Mixed(end) | Word::Capitals(end) => after_word::<P>(text, end),
            Word::None => second,
        };
    } else if class & NUMBER != 0 {
        return number::<P>(text, second);
    }
    if class & PUNCTUATION != 0 {
        return punctuation::<P>(text, second);
    }
    if text[start] == b' ' {
        let (class, length) = class_at::<P>(text, second);
        if class & PUNCTUATION != 0 {
            return punctuation::<P>(text, second + length);
        }
    }
    space::<P>(text, start)
}

/// Returns the end of a pre-token that has no letter with case so far; its last character so far, at `at`, is
/// a letter or mark without case.
pub fn word_end<P: Pattern>(text: &[u8], at: usize) -> usize {
    match word::<P>(text, at) {
        Word::Mixed(end) | Word::Capitals(end) => after_word::<P>(text, end),
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

/// `[UPPER]*[LOWER]+`, else `[UPPER]+`, from `start` on. In patterns without case: `[LETTER]+`.
#[inline(always)]
fn word<P: Pattern>(text: &[u8], start: usize) -> Word {
    if !P::CASES {
        let end = run::<P>(text, start, LETTER);
        return if end > start { Word::Mixed(end) } else { Word::None };
    }
    let mut at = start;
    let mut after_both = start;
    loop {
        let (class, length) = class_at::<P>(text, at);
        if class & UPPER == 0 {
            if class & LOWER != 0 {
                return Word::Mixed(run::<P>(text, at + length, LOWER));
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

#[inline(always)]
fn after_word<P: Pattern>(text: &[u8], at: usize) -> usize {
    if P::CONTRACTIONS == Contractions::AfterWords { contraction(text, at) } else { at }
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

/// `\p{N}{1,3}` or `\p{N}`; the first number ends at `at`.
fn number<P: Pattern>(text: &[u8], mut at: usize) -> usize {
    for _ in 1..P::DIGITS {
        let (class, length) = class_at::<P>(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += length;
    }
    at
}

/// `[^\s\p{L}\p{N}]+[\r\n/]*`; the first character ends at `at`.
fn punctuation<P: Pattern>(text: &[u8], at: usize) -> usize {
    tail::<P>(text, run::<P>(text, at, PUNCTUATION))
}

fn tail<P: Pattern>(text: &[u8], mut at: usize) -> usize {
    while let Some(&byte @ (b'\r' | b'\n' | b'/')) = text.get(at)
        && (P::SLASHES || byte != b'/')
    {
        at += 1;
    }
    at
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`.
fn space<P: Pattern>(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut last = start;
    let mut after_newline = start;
    let mut is_end = false;
    loop {
        let (class, length) = class_at::<P>(text, at);
        if class & SPACE == 0 {
            // Characters that are cut off first end the text before them.
            is_end |= P::ISOLATES && class & (NUMBER | ISOLATED) != 0;
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
    } else if at == text.len() || is_end || last == start {
        at
    } else {
        last
    }
}

/// The pattern of DeepSeek V3. It cuts off numbers, then runs of kana and Han, and only then looks for words and the
/// rest, in each remaining part by itself. So no pre-token crosses the border of two parts.
mod isolated {
    use super::*;

    pub fn pre_token_end<P: Pattern>(text: &[u8], start: usize) -> usize {
        let (class, length) = class_at::<P>(text, start);
        let second = start + length;
        let part = class & ISOLATED;
        if class & NUMBER != 0 {
            return number::<P>(text, second);
        }
        if text[start].is_ascii_punctuation() {
            let letters = text[second..].iter().take_while(|byte| byte.is_ascii_alphabetic());
            let end = second + letters.count();
            if end > second {
                return end;
            }
        }
        if class & (LETTER | PREFIX) != 0 {
            let end = part_run::<P>(text, second, LETTER, part);
            if end > second || class & LETTER != 0 {
                return end;
            }
        }
        let is_next = |at, bits| in_part::<P>(text, at, part).0 & bits != 0;
        if class & PUNCTUATION != 0 || text[start] == b' ' && is_next(second, PUNCTUATION) {
            let end = part_run::<P>(text, second, PUNCTUATION, part);
            return if part == 0 { tail::<P>(text, end) } else { end };
        }
        if class & SPACE != 0 {
            return space::<P>(text, start);
        }
        // Characters that no line of the pattern matches, up to the next match. They may be in front of a word.
        let mut at = second;
        loop {
            let (class, length) = in_part::<P>(text, at, part);
            let is_other = class & (LETTER | NUMBER | SPACE | PUNCTUATION) == 0;
            if length == 0 || !is_other || is_next(at + length, LETTER) {
                return at;
            }
            at += length;
        }
    }

    /// As [`class_at`]; `(0, 0)` at the end of the part, too.
    #[inline(always)]
    fn in_part<P: Pattern>(text: &[u8], at: usize, part: u8) -> (u8, usize) {
        match class_at::<P>(text, at) {
            (class, length) if class & ISOLATED == part && class & NUMBER == 0 => (class, length),
            _ => (0, 0),
        }
    }

    #[inline(always)]
    fn part_run<P: Pattern>(text: &[u8], mut at: usize, bits: u8, part: u8) -> usize {
        loop {
            let (class, length) = in_part::<P>(text, at, part);
            if class & bits == 0 {
                return at;
            }
            at += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::O200k;

    fn split(text: &str) -> String {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = pre_token_end::<O200k>(text.as_bytes(), at);
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
