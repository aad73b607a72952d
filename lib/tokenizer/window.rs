//! Finds the starts of all pre-tokens in a window of 64 bytes at once, from masks with one bit for each byte. A window
//! begins where a pre-token begins, so that nothing before it matters. Pre-tokens that end after the window, and rare
//! ones, are left to `scan`.

use super::letters::{Letters, next};
use super::pattern::{Contractions, Pattern};
use gristmill_simd::{Instructions, TextMasks};

/// Bytes of a window.
pub const WINDOW: usize = 64;

/// Where pre-tokens start.
pub struct Starts {
    /// Bits of the bytes, after the first byte, at which a pre-token starts. All starts up to the highest bit
    /// are there, so the pre-tokens before it are known. The end of the pre-token that starts at the highest
    /// bit is not known.
    pub bits: u64,
    /// Whether the pre-token that the highest bit starts is one for `scan`.
    pub is_odd: bool,
}

#[inline(always)]
pub fn starts<I: Instructions, P: Pattern>(window: &[u8; WINDOW]) -> Starts {
    let masks = &I::text_masks(window);
    let mut beyond = Letters::default();
    let mut odd = 0;
    if P::ISOLATES && has_control(window) {
        // Control characters are nothing of all.
        odd = !0;
    } else if masks.not_ascii != 0 {
        beyond = Letters::new::<I, P>(window, masks);
        odd = beyond.other;
        if P::CASES {
            let letter = masks.lower | masks.upper | beyond.lower | beyond.upper | beyond.both;
            // A mark that begins a word or is in no word, and a capital after a letter without
            // case. At these a word may end before the run of letters ends.
            odd |=
                beyond.mark & run_starts(letter) | (masks.upper | beyond.upper) & beyond.both << 1;
        }
    }
    // The bytes in front of the first one that is left to `scan`, and never the last byte, so
    // that every run has a bit after it.
    let known = below_lowest(odd | beyond.cut | 1 << 63);
    let [lower, upper, digit] =
        [masks.lower | beyond.lower, masks.upper | beyond.upper, masks.digit]
            .map(|mask| mask & known);
    let [white, newline, slash] =
        [masks.white, masks.newline, masks.slash].map(|mask| mask & known);
    let letter = lower | upper | beyond.both & known;
    let punctuation = known & !(letter | digit | white);

    // `[\r\n/]*` after punctuation. Adding a bit of a run to it carries to the bit after it.
    let tail = if P::SLASHES { newline | slash } else { newline };
    let after = newline & punctuation << 1;
    let free = !(after | tail & !tail.wrapping_add(after));
    let (punctuation, white, newline) = (punctuation & free, white & free, newline & free);

    let blank = masks.blank & known;
    let punctuation_start = run_starts(punctuation) & !(blank << 1);
    let soft = white & !newline;
    // One character of white space or punctuation in front of a word belongs to it.
    let word_start = if P::ISOLATES {
        words_after_ascii(masks, letter, soft, punctuation_start)
    } else {
        run_starts(letter) & !next(soft | punctuation_start, masks.inside)
    };
    let word_inside = if P::CASES { upper & lower << 1 } else { 0 };
    // The start after the last newline of white space; and its last character.
    let after_newlines = after_last_newline(soft, newline, known & !white);
    let mut last_white = soft & !(white >> 1) & known >> 1;
    if P::ISOLATES {
        // A number ends the text in front of it.
        last_white &= !(digit >> 1);
    }
    let starts = punctuation_start
        | word_start
        | word_inside
        | if P::DIGITS == 1 { digit } else { threes(digit) }
        | run_starts(white)
        | after_newlines
        | last_white;

    let apostrophe = masks.apostrophe & (letter | !known) >> 1;
    let starts = match P::CONTRACTIONS {
        Contractions::AfterWords if apostrophe & letter << 1 != 0 => {
            contract(window, known, apostrophe & letter << 1, starts)
        }
        Contractions::First if apostrophe & punctuation_start != 0 => {
            cut_off(window, known, apostrophe & punctuation_start, starts)
        }
        _ => starts,
    };
    Starts { bits: starts & !1, is_odd: odd != 0 }
}

/// All bits below the lowest one.
#[inline(always)]
fn below_lowest(bits: u64) -> u64 {
    (bits & bits.wrapping_neg()).wrapping_sub(1)
}

#[inline(always)]
fn run_starts(bits: u64) -> u64 {
    bits & !(bits << 1)
}

/// Every third digit of a run, from its first on.
#[inline(always)]
fn threes(digit: u64) -> u64 {
    let mut starts = run_starts(digit);
    let fourth = digit & digit << 1 & digit << 2 & digit << 3;
    let mut next = starts << 3 & fourth;
    while next != 0 {
        starts |= next;
        next = next << 3 & fourth;
    }
    starts
}

/// Starts of the runs of `soft` with a newline before, none after, and a known end.
#[inline(always)]
fn after_last_newline(soft: u64, newline: u64, end: u64) -> u64 {
    let starts = soft & newline << 1;
    let behind = soft.wrapping_add(starts) & !soft;
    if behind & !end == 0 {
        return starts;
    }
    let mut kept = 0;
    let mut rest = starts;
    while rest != 0 {
        let start = rest & rest.wrapping_neg();
        let behind = soft.wrapping_add(start) & !soft;
        if behind & end != 0 {
            kept |= start;
        }
        rest &= rest - 1;
    }
    kept
}

/// Starts of words in a pattern in which only ASCII punctuation belongs to a word, with only ASCII letters behind it:
/// the next letter starts another word.
#[inline(always)]
fn words_after_ascii(masks: &TextMasks, letter: u64, soft: u64, punctuation_start: u64) -> u64 {
    let plain = letter & !masks.not_ascii;
    let behind = (punctuation_start & !masks.not_ascii) << 1 & plain;
    let next_letter = plain.wrapping_add(behind) & !plain & letter;
    run_starts(letter) & !(soft << 1 | behind) | next_letter
}

/// Whether there is a character of ASCII that is neither letter, digit, white space nor punctuation.
#[inline(always)]
fn has_control(window: &[u8; WINDOW]) -> bool {
    let is_control = |byte: u8| (byte < 0x20) & (byte.wrapping_sub(9) >= 5) | (byte == 0x7f);
    window.iter().fold(false, |found, &byte| found | is_control(byte))
}

/// Cuts off `(?i:'s|'t|'re|'ve|'m|'ll|'d)` where a pre-token starts with it.
#[inline(never)]
fn cut_off(window: &[u8; WINDOW], known: u64, mut apostrophe: u64, mut starts: u64) -> u64 {
    while apostrophe != 0 {
        let at = apostrophe.trailing_zeros() as usize;
        apostrophe &= apostrophe - 1;
        if known >> at & 7 != 7 {
            return starts & ((2 << at) - 1);
        }
        if let Some(length) = contraction(window, at) {
            starts |= 1 << (at + length);
        }
    }
    starts
}

/// Bytes of the contraction that starts with an apostrophe at `at`.
#[inline(always)]
fn contraction(window: &[u8; WINDOW], at: usize) -> Option<usize> {
    let byte = |n: usize| window[(at + n) % WINDOW].to_ascii_lowercase();
    match (byte(1), byte(2)) {
        (b's' | b't' | b'm' | b'd', _) => Some(2),
        (b'r' | b'v', b'e') | (b'l', b'l') => Some(3),
        // The long s folds to s.
        (0xc5, 0xbf) => Some(3),
        _ => None,
    }
}

/// Joins `(?i:'s|'t|'re|'ve|'m|'ll|'d)` to the words in front of them.
#[inline(never)]
fn contract(window: &[u8; WINDOW], known: u64, mut apostrophe: u64, mut starts: u64) -> u64 {
    let mut end = 0;
    while apostrophe != 0 {
        let at = apostrophe.trailing_zeros() as usize;
        apostrophe &= apostrophe - 1;
        // After one contraction there is no other: the apostrophe is a prefix.
        if at == end {
            continue;
        }
        if known >> at & 7 != 7 {
            return starts & ((1 << at) - 1);
        }
        let Some(length) = contraction(window, at) else { continue };
        end = at + length;
        starts = starts & !(7 >> (3 - length) << at) | 1 << end;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Cl100k, DeepSeek, O200k, Qwen};
    use crate::scan;
    use gristmill_simd::{SimdLevel, SimdTask};

    struct Starts<'a, P>(&'a [u8; WINDOW], P);

    impl<P: Pattern> SimdTask for Starts<'_, P> {
        type Output = u64;
        #[inline(always)]
        fn run<I: Instructions>(self) -> u64 {
            starts::<I, P>(self.0).bits
        }
    }

    /// Returns the number of pre-tokens found; all must be equal to the scanner's.
    fn check(text: &str) -> u32 {
        check_with(Cl100k, text);
        check_with(Qwen, text);
        check_with(DeepSeek, text);
        check_with(O200k, text)
    }

    fn check_with<P: Pattern>(pattern: P, text: &str) -> u32 {
        let window: &[u8; WINDOW] = text.as_bytes().first_chunk().unwrap();
        let told = SimdLevel::best().run(Starts(window, pattern));
        assert_eq!(told, SimdLevel::PORTABLE.run(Starts(window, pattern)), "{text:?}");
        let mut at = 0;
        let mut expected = 0u64;
        while told >> at > 1 {
            at = scan::pre_token_end::<P>(text.as_bytes(), at);
            assert!(at < WINDOW, "{text:?}: {told:b}");
            expected |= 1 << at;
        }
        let name = std::any::type_name::<P>();
        assert_eq!(told, expected, "{name} {text:?}");
        told.count_ones()
    }

    const KINDS: [&str; 27] = [
        "a", "B", "'", "s", "1", " ", "\n", "\t", "/", ".", "é", "中", "\u{a0}", "'s", "'ll", "'ſ",
        "22", "Б", "“", "\u{301}", "ก", "ʰ", "٣", "😀", "ſ", "한", "\u{1}",
    ];

    /// Every text of four pieces out of all kinds, at several places of the window.
    #[test]
    fn agrees_with_the_scanner() {
        let count = KINDS.len();
        let mut told = 0;
        for number in 0..count.pow(4) {
            let pieces: String =
                (0..4).map(|place| KINDS[number / count.pow(place) % count]).collect();
            for before in ["", "x", " \n", &"ab ".repeat(19)] {
                let text = format!("{before}{pieces}{}", KINDS[number / 7 % count].repeat(64));
                told += check(&text);
            }
        }
        assert!(told > 1_000_000, "{told}");
    }

    /// Every character of one to three bytes, and some of four, in words, before and after them.
    #[test]
    fn every_character_has_its_class() {
        let mut told = 0;
        for character in (0..0x1_2000).filter_map(char::from_u32) {
            for (before, after) in
                [("a", "b"), (" ", "B "), (".", "\u{301}A"), ("Б", "'s"), ("ก", "ก")]
            {
                told += check(&format!("{before}{character}{after}{}", "1 a".repeat(30)));
            }
        }
        assert!(told > 1_000_000, "{told}");
    }

    #[test]
    fn agrees_with_the_scanner_on_random_windows() {
        let mut state = 9u64;
        let mut told = 0;
        for round in 0..100_000 {
            let kinds = [27, 21, 10, 9, 7][round % 5];
            let mut text = String::new();
            while text.len() < 80 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.push_str(KINDS[(state >> 33) as usize % kinds]);
            }
            told += check(&text);
        }
        assert!(told > 1_000_000, "{told}");
    }
}
