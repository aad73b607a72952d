//! The pre-token at the start of 16 bytes, for the common shapes of ASCII text, from masks
//! with one bit a byte. Whatever needs a look further, or beyond ASCII, is left to `scan`.

/// Masks of 16 bytes: bit n is byte n.
struct Masks {
    lower: u32,
    upper: u32,
    digit: u32,
    /// ASCII white space.
    space: u32,
    newline: u32,
    apostrophe: u32,
    not_ascii: u32,
}

/// One bit behind the block: a run that reaches it is not known to end.
const BEHIND: u32 = 1 << 16;

/// Length of the pre-token that starts the block, at most 15, or 0 if this cannot tell.
#[inline(always)]
pub fn pre_token_length(block: &[u8; 16]) -> usize {
    let Masks { lower, upper, digit, space, newline, apostrophe, not_ascii } = masks(block);
    let letter = lower | upper;
    let prefix = !(letter | digit | newline | not_ascii);
    // The word's first letter: bit 1 behind a prefix, else bit 0.
    let start = 1 + (prefix & letter >> 1 & 1);
    if letter & start != 0 {
        // Adding a run's first bit to it carries to the bit behind the run.
        let after_upper = (upper + start) & !upper;
        let end = (lower + after_upper) & !lower;
        return length(end, apostrophe | not_ascii);
    }
    let punctuation = !(letter | digit | space | not_ascii) & (BEHIND - 1);
    let blank = u32::from(block[0] == b' ');
    let start = 1 + (blank & punctuation >> 1);
    if punctuation & start != 0 {
        return length((punctuation + start) & !punctuation, newline | not_ascii);
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

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn masks(block: &[u8; 16]) -> Masks {
    // SAFETY: every x86-64 processor has SSE2, and that is all `masks_sse2` asks for.
    unsafe { masks_sse2(block) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn masks_sse2(block: &[u8; 16]) -> Masks {
    use std::arch::x86_64::{
        _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_loadu_si128, _mm_movemask_epi8,
        _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: the 16 bytes are behind a reference, and the load asks for no alignment.
    let bytes = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
    // Moves first..=last to the top of the signed range, where nothing else is then.
    let range = |first: u8, last: u8| {
        let moved = _mm_add_epi8(bytes, _mm_set1_epi8((127 - last) as i8));
        _mm_cmpgt_epi8(moved, _mm_set1_epi8((126 - (last - first)) as i8))
    };
    let equal = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
    let mask = |vector| _mm_movemask_epi8(vector) as u32;
    Masks {
        lower: mask(range(b'a', b'z')),
        upper: mask(range(b'A', b'Z')),
        digit: mask(range(b'0', b'9')),
        space: mask(_mm_or_si128(range(b'\t', b'\r'), equal(b' '))),
        newline: mask(_mm_or_si128(equal(b'\n'), equal(b'\r'))),
        apostrophe: mask(equal(b'\'')),
        not_ascii: mask(bytes),
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn masks(block: &[u8; 16]) -> Masks {
    masks_of_bytes(block)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn masks_of_bytes(block: &[u8; 16]) -> Masks {
    let mask =
        |is: fn(u8) -> bool| (0..16).fold(0, |mask, at| mask | u32::from(is(block[at])) << at);
    Masks {
        lower: mask(|byte| byte.is_ascii_lowercase()),
        upper: mask(|byte| byte.is_ascii_uppercase()),
        digit: mask(|byte| byte.is_ascii_digit()),
        space: mask(|byte| matches!(byte, b'\t'..=b'\r' | b' ')),
        newline: mask(|byte| matches!(byte, b'\n' | b'\r')),
        apostrophe: mask(|byte| byte == b'\''),
        not_ascii: mask(|byte| !byte.is_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::scan;

    #[test]
    fn masks_of_every_byte() {
        for byte in 0..=255 {
            for at in 0..16 {
                let mut block = [b'a'; 16];
                block[at] = byte;
                let (fast, slow) = (masks(&block), masks_of_bytes(&block));
                let list = |m: &Masks| {
                    [m.lower, m.upper, m.digit, m.space, m.newline, m.apostrophe, m.not_ascii]
                };
                assert_eq!(list(&fast), list(&slow), "{byte} at {at}");
            }
        }
    }

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
