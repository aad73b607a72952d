//! Plain code, the reference for the vector instructions.

#[cfg(any(test, not(target_arch = "x86_64")))]
use super::BoardMasks;
use super::{Instructions, StringMasks, TextMasks};

/// Plain code, for every machine.
pub struct Portable;

/// Bits of a byte's class.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const WHITE: u8 = 8;
const NEWLINE: u8 = 16;
const BLANK: u8 = 32;
const SLASH: u8 = 64;
const APOSTROPHE: u8 = 128;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'\n' | b'\r' => WHITE | NEWLINE,
            b' ' => WHITE | BLANK,
            b'\t'..=b'\r' => WHITE,
            b'/' => SLASH,
            b'\'' => APOSTROPHE,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

impl Instructions for Portable {
    #[inline(always)]
    fn text_masks(window: &[u8; 64]) -> TextMasks {
        let mut masks = [0u64; 10];
        for (place, eight) in window.as_chunks::<8>().0.iter().enumerate() {
            let bytes = u64::from_le_bytes(*eight);
            let classes = u64::from_le_bytes(eight.map(|byte| CLASSES[byte as usize]));
            for (bit, mask) in masks[..8].iter_mut().enumerate() {
                *mask |= gather(classes >> bit) << (8 * place);
            }
            masks[8] |= gather(bytes >> 7) << (8 * place);
            masks[9] |= gather(bytes >> 7 & !(bytes >> 6)) << (8 * place);
        }
        let [lower, upper, digit, white, newline, blank, slash, apostrophe, not_ascii, inside] =
            masks;
        TextMasks {
            lower,
            upper,
            digit,
            white,
            newline,
            blank,
            slash,
            apostrophe,
            not_ascii,
            inside,
        }
    }

    /// It is made from the functions for a few bytes.
    #[inline(always)]
    fn string_masks(window: &[u8; 64]) -> StringMasks {
        let [first, second] = [0, 1].map(|half: usize| &window.as_chunks::<32>().0[half]);
        let of =
            |mask: fn(&[u8; 32]) -> u32| u64::from(mask(first)) | u64::from(mask(second)) << 32;
        StringMasks { specials: of(super::json_specials), later: of(super::later_bytes) }
    }

    #[inline(always)]
    fn equal_tops<const SHIFT: i32>(numbers: &[u64; 8], top: u64) -> u32 {
        let bit = |(at, number): (usize, &u64)| u32::from(number >> SHIFT == top) << at;
        numbers.iter().enumerate().map(bit).sum()
    }

    #[inline(always)]
    fn bit_mask<const SHIFT: i32>(bytes: &[u8; 64]) -> u64 {
        bytes
            .as_chunks::<8>()
            .0
            .iter()
            .rev()
            .fold(0, |mask, eight| mask << 8 | gather(u64::from_le_bytes(*eight) >> (7 - SHIFT)))
    }
}

/// Returns the number that has this byte eight times.
const fn eight_of(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Returns the lowest bits of eight bytes as one byte: the product has them together at its top.
#[inline(always)]
fn gather(bits: u64) -> u64 {
    (bits & eight_of(1)).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Returns which of eight bytes are below a number of at most 128.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn below(bytes: u64, most: u8) -> u64 {
    let sums = (bytes & eight_of(0x7f)) + eight_of(128 - most);
    gather(!(sums | bytes) >> 7)
}

/// Returns which bytes end a run of plain bytes in a JSON string: quotes, backslashes, control
/// characters.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn json_specials(block: &[u8; 32]) -> u32 {
    block.as_chunks().0.iter().rev().fold(0, |mask, eight| {
        let bytes = u64::from_le_bytes(*eight);
        let [quote, backslash] = [b'"', b'\\'].map(|byte| below(bytes ^ eight_of(byte), 1));
        mask << 8 | (quote | backslash | below(bytes, 0x20)) as u32
    })
}

/// Returns which bytes `json.dumps` of Python writes as escapes.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn ascii_specials(block: &[u8; 32]) -> u32 {
    block.as_chunks().0.iter().rev().fold(0, |mask, eight| {
        let bytes = u64::from_le_bytes(*eight);
        let [quote, backslash, delete] =
            [b'"', b'\\', 0x7f].map(|byte| below(bytes ^ eight_of(byte), 1));
        mask << 8 | (quote | backslash | delete | below(bytes, 0x20) | gather(bytes >> 7)) as u32
    })
}

/// Returns which bytes belong to a UTF-8 character after its first byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn later_bytes(block: &[u8; 32]) -> u32 {
    block.as_chunks().0.iter().rev().fold(0, |mask, eight| {
        let bytes = u64::from_le_bytes(*eight);
        mask << 8 | gather(bytes >> 7 & !(bytes >> 6)) as u32
    })
}

/// Returns which bytes are digits, commas and ones.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn board_masks(window: &[u8; 64]) -> BoardMasks {
    let mut masks = BoardMasks { digits: 0, commas: 0, ones: 0 };
    for (place, eight) in window.as_chunks().0.iter().enumerate() {
        let bytes = u64::from_le_bytes(*eight);
        masks.digits |= below(bytes ^ eight_of(b'0'), 10) << (8 * place);
        masks.commas |= below(bytes ^ eight_of(b','), 1) << (8 * place);
        masks.ones |= below(bytes ^ eight_of(b'1'), 1) << (8 * place);
    }
    masks
}

/// Whether the first bytes of two blocks differ, up to 15 of them.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn differ(left: &[u8; 16], right: &[u8; 16], count: usize) -> bool {
    let both = u128::from_le_bytes(*left) ^ u128::from_le_bytes(*right);
    both & ((1 << (8 * (count % 16))) - 1) != 0
}
