//! The pre-token at the start of 16 bytes, for the common shapes of ASCII text, from masks
//! with one bit a byte. Whatever needs a look further, or beyond ASCII, is left to `scan`.

use super::simd::{Masks, masks};

/// One bit behind the block: a run that reaches it is not known to end.
const BEHIND: u32 = 1 << 16;

/// Length of the pre-token that starts the block, at most 15, or 0 if this cannot tell.
#[inline(always)]
pub fn pre_token_length(block: &[u8; 16]) -> usize {
    let blank = u32::from(block[0] == b' ');
    let Masks { lower, upper, digit, space, newline, apostrophe, not_ascii } = masks(block);
    let letter = lower | upper;
    let punctuation = !(letter | digit | space | not_ascii) & (BEHIND - 1);
    let prefix = !(letter | digit | newline | not_ascii);
    // The word's first letter: bit 1 behind a prefix, else bit 0.
    let word_start = 1 + (prefix & letter >> 1 & 1);
    // Words and punctuation follow each other without a pattern: a branch between them would
    // be mispredicted, so the masks of one are selected over those of the other.
    let is_word = 0u32.wrapping_sub(u32::from(letter & word_start != 0));
    let select = |word: u32, other: u32| other ^ (word ^ other) & is_word;
    let start = select(word_start, 1 + (blank & punctuation >> 1 & 1));
    let first = upper & is_word;
    let second = select(lower, punctuation);
    // Adding a run's first bit to it carries to the bit behind the run.
    let end = (second + ((first + start) & !first)) & !second;
    let unsure = not_ascii | select(apostrophe, newline) | BEHIND;
    if end & (unsure | start) == 0 {
        return end.trailing_zeros() as usize;
    }
    if (first | second) & start != 0 {
        return 0;
    }
    if digit & 1 != 0 {
        let three = digit & 7;
        return length((three + 1) & !three, not_ascii & 7);
    }
    if space & 1 != 0 {
        let end = (space + 1) & !space;
        let newlines = newline & (end - 1);
        if end & (not_ascii | BEHIND) != 0 {
            return 0;
        }
        return if newlines != 0 {
            32 - newlines.leading_zeros() as usize
        } else {
            (end.trailing_zeros() as usize - 1).max(1)
        };
    }
    0
}

/// Place of the one bit of `end`, or 0 if it is one of `unsure` or behind the block.
#[inline(always)]
fn length(end: u32, unsure: u32) -> usize {
    if end & (unsure | BEHIND) != 0 { 0 } else { end.trailing_zeros() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::scan;

    /// Every text of five characters out of all kinds, followed by each kind.
    #[test]
    fn agrees_with_the_scanner() {
        let kinds = ["a", "B", "'", "s", "1", " ", "\n", "\t", "/", ".", "é", "中", "\u{a0}"];
        let count = kinds.len();
        let mut told = 0;
        for number in 0..count.pow(5) {
            let mut text: String =
                (0..5).map(|place| kinds[number / count.pow(place) % count]).collect();
            text.push_str(&kinds[number / 7 % count].repeat(16));
            let Some(block) = text.as_bytes().first_chunk() else { continue };
            let length = pre_token_length(block);
            if length != 0 {
                assert_eq!(length, scan::pre_token_end(text.as_bytes(), 0), "{text:?}");
                told += 1;
            }
        }
        assert!(told > count.pow(5) / 3, "{told}");
    }
}
