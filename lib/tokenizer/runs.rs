//! Runs of letters without case, in scripts that write no spaces. A pre-token there is a whole sentence, so
//! it is cut into pieces (`pieces`) while it is read, without looking for its end first.

use super::hash::class::{LETTER, LOWER, PREFIX, UPPER};
use super::letters::is_among_hangul;
use super::pattern::{Pattern, is_run_letter};
use super::pieces::{character, may_be_cut};
use super::scan::{class_at, word_end};
use super::tables::Tables;

/// Whether a pre-token that starts like this may be a run, after one other character at most: its
/// characters are from U+3000 on, or Thai, Lao or Tibetan. Hangul is written with spaces: its words are
/// found by masks (`letters`).
#[inline(always)]
pub fn may_start<P: Pattern>(start: &[u8]) -> bool {
    // Characters that are cut off first have nothing before them.
    let at = if P::ISOLATES { 0 } else { usize::from(start[0] < 0x80) };
    let first = start[at];
    first >= 0xe3 && !is_among_hangul(first) || first == 0xe0 && start[at + 1] >= 0xb8
}

/// Whether the pre-token at `start` begins with a run: with a letter of one, or with any one
/// character that belongs to the word after it and then such a letter or mark.
#[inline]
pub fn starts<P: Pattern>(text: &[u8], start: usize) -> bool {
    let (class, length) = class_at::<P>(text, start);
    let is_letter = class & LETTER != 0;
    (is_letter || class & PREFIX != 0 && !P::ISOLATES)
        && letter_at::<P>(text, if is_letter { start } else { start + length }).is_some()
}

/// Returns the code point of a letter or mark without case, of three bytes.
#[inline(always)]
fn letter_at<P: Pattern>(text: &[u8], at: usize) -> Option<u32> {
    let &[first @ 0xe0..0xf0, second, third] = text.get(at..)?.first_chunk()? else { return None };
    let [first, second, third] = [first & 0x0f, second & 0x3f, third & 0x3f].map(u32::from);
    let point = first << 12 | second << 6 | third;
    is_run_letter::<P>(point as u16).then_some(point)
}

/// How far a run was cut.
pub enum Cut {
    /// Up to a piece that starts here.
    Until(usize),
    /// Up to the end of its pre-token.
    Whole(usize),
    /// The run is cut up to a piece that starts at the first place. From there on the pre-token, which ends
    /// at the second place, is no run.
    Rest(usize, usize),
}

/// Cuts the run that starts or continues at `start`. `put` is called with the start and the end of
/// a piece, and returns whether it takes another one.
#[inline(always)]
pub fn cut<T: Tables, P: Pattern>(
    tables: &T,
    text: &[u8],
    mut start: usize,
    mut put: impl FnMut(usize, usize) -> bool,
) -> Cut {
    let (mut left, mut length) = character(text, start);
    let mut at = start + length;
    while let Some(right) = letter_at::<P>(text, at) {
        if !tables.are_neighbours(left, right)
            && !may_be_cut(tables, &text[start..], at - start, length)
            && tables.may_cut(text, start, at)
        {
            if !put(start, at) {
                return Cut::Until(at);
            }
            start = at;
        }
        (left, length) = (right, 3);
        at += length;
    }
    let may_go_on = |byte| {
        let is_letter = P::FIRST_CLASSES[usize::from(byte)] & (UPPER | LOWER) != 0;
        !P::ISOLATES && (byte >= 0x80 || byte == b'\'' || is_letter)
    };
    let end = match text.get(at) {
        Some(&byte) if may_go_on(byte) => word_end::<P>(text, at - length),
        _ => at,
    };
    if end > at {
        return Cut::Rest(start, end);
    }
    put(start, end);
    Cut::Whole(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::O200kTables;
    use crate::merge::tests::Random;
    use crate::pattern::{Cl100k, DeepSeek, O200k, Qwen};
    use crate::scan::pre_token_end;

    /// The pieces of a run end where the pre-token of the run ends.
    #[test]
    fn a_run_ends_where_its_pre_token_ends() {
        let counts = [check(O200k), check(Cl100k), check(Qwen), check(DeepSeek)];
        assert!(counts.iter().all(|&runs| runs > 50_000), "{counts:?}");
        assert!(counts[0] > 250_000, "{counts:?}");
    }

    /// Returns the number of runs.
    fn check<P: Pattern>(_: P) -> usize {
        let kinds = [
            "中", "文", "の", "가", "ก", "า", "\u{e31}", "ใ", "ໂ", "\u{3099}", "，", "　", "１",
            "𠀀", "a", "B", "é", "Б", "\u{301}", " ", "!", "'s", "'ſ", "'", "5", "\n", "/", "😀",
        ];
        let mut random = Random(11);
        let mut runs = 0;
        for round in 0..300_000 {
            let many = [4, 10, 16, kinds.len()][round % 4];
            let text: String =
                (0..1 + random.below(9)).map(|_| kinds[random.below(many)]).collect();
            let text = text.as_bytes();
            let mut at = 0;
            while at < text.len() {
                let end = pre_token_end::<P>(text, at);
                if starts::<P>(text, at) {
                    runs += 1;
                    // So many pieces at a time, and then the rest.
                    let most = 1 + random.below(3);
                    loop {
                        let (mut done, mut left) = (at, most);
                        let found = cut::<_, P>(&O200kTables, text, at, |from, to| {
                            assert!(from == done && to > done && left > 0);
                            (done, left) = (to, left - 1);
                            left > 0
                        });
                        at = done;
                        match found {
                            Cut::Until(next) => assert!(next == at && at < end && left == 0),
                            Cut::Whole(last) => break assert!(last == at && at == end),
                            Cut::Rest(next, last) => {
                                break assert!(next == at && at < last && last == end);
                            }
                        }
                    }
                }
                at = end;
            }
        }
        runs
    }
}
