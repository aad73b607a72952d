//! Plain code, the reference for the vector instructions.

#[cfg(any(test, not(target_arch = "x86_64")))]
use super::BoardMasks;
use super::{Instructions, TextMasks};

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
        let mut masks = [0u64; 9];
        for (place, eight) in window.as_chunks::<8>().0.iter().enumerate() {
            let bytes = u64::from_le_bytes(*eight);
            let classes = u64::from_le_bytes(eight.map(|byte| CLASSES[byte as usize]));
            // Gathers the lowest bits of eight bytes in the top byte of the product.
            let gather = |bits: u64| {
                (bits & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
            };
            for (bit, mask) in masks[..8].iter_mut().enumerate() {
                *mask |= gather(classes >> bit) << (8 * place);
            }
            masks[8] |= gather(bytes >> 7) << (8 * place);
        }
        let [lower, upper, digit, white, newline, blank, slash, apostrophe, not_ascii] = masks;
        TextMasks { lower, upper, digit, white, newline, blank, slash, apostrophe, not_ascii }
    }
}

/// Which bytes end a run of plain bytes in a JSON string: quotes, backslashes, control characters.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn json_specials(block: &[u8; 32]) -> u32 {
    let is_special = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    block.iter().rev().fold(0, |mask, &byte| mask << 1 | u32::from(is_special(byte)))
}

/// Which bytes are digits, commas and ones.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn board_masks(window: &[u8; 64]) -> BoardMasks {
    let mask = |test: fn(u8) -> bool| {
        window.iter().rev().fold(0, |mask, &byte| mask << 1 | u64::from(test(byte)))
    };
    BoardMasks {
        digits: mask(|byte| byte.is_ascii_digit()),
        commas: mask(|byte| byte == b','),
        ones: mask(|byte| byte == b'1'),
    }
}
