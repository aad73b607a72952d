//! Masks of the characters beyond ASCII in a window: letters with and without case, marks, and the characters that are
//! left to `scan`. All others are punctuation.

use super::hash::class::{LETTER, LOWER, PUNCTUATION, UPPER};
use super::pattern::{Pattern, class_of};
use super::window::WINDOW;
use gristmill_simd::{Instructions, TextMasks};

/// Masks with one bit a byte: all bytes of a character have its bit.
#[derive(Default)]
pub struct Letters {
    /// Ll.
    pub lower: u64,
    /// Lu, Lt.
    pub upper: u64,
    /// Lm, Lo, M: may be in both parts of a word.
    pub both: u64,
    /// The first bytes of marks (M), which may also be in front of a word, or be punctuation.
    pub mark: u64,
    /// The first bytes of characters that are left to `scan`: other white space and numbers,
    /// characters of four bytes, and characters from U+3000 on, except Hangul, whose pre-tokens are
    /// cut into pieces.
    pub other: u64,
    /// Bits from the first byte of a character that may not be whole in the window to the end.
    pub cut: u64,
}

impl Letters {
    #[inline(always)]
    pub fn new<I: Instructions, P: Pattern>(window: &[u8; WINDOW], masks: &TextMasks) -> Self {
        let leads = masks.not_ascii & !masks.inside;
        let whole = leads & ((1 << (WINDOW - 2)) - 1);
        // The classes at the first bytes of characters: masks are made of all of them at once.
        let mut classes = [0; WINDOW];
        let mut rest = whole;
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let class = class_at::<P>(window, at);
            if class == 0 {
                // The rest after a character for `scan` is not needed.
                break;
            }
            classes[at % WINDOW] = class;
        }
        let upper = I::bit_mask::<{ shift(UPPER) }>(&classes);
        let lower = I::bit_mask::<{ shift(LOWER) }>(&classes);
        let letter = I::bit_mask::<{ shift(LETTER) }>(&classes);
        let punctuation = I::bit_mask::<{ shift(PUNCTUATION) }>(&classes);
        // Where case means nothing there are letters only.
        let (upper, lower) = if P::ISOLATES { (letter, letter) } else { (upper, lower) };
        let all = |leads: u64| next(leads, masks.inside).wrapping_sub(leads);
        Self {
            lower: all(lower & !upper),
            upper: all(upper & !lower),
            both: all(upper & lower),
            mark: punctuation & lower,
            other: whole & !(letter | punctuation),
            cut: leads & !whole,
        }
    }
}

/// Returns how far a class bit is from the highest bit of a byte.
const fn shift(class: u8) -> i32 {
    class.leading_zeros() as i32
}

/// Returns the bytes after the characters with these first bytes; `inside` has the other bytes of
/// characters. A bit that is added to a run carries to the bit after it.
#[inline(always)]
pub fn next(leads: u64, inside: u64) -> u64 {
    (leads << 1).wrapping_add(inside) & !inside
}

/// Returns the class bits of the character beyond ASCII that starts at `at`; 0 for one that is left
/// to `scan`.
#[inline(always)]
fn class_at<P: Pattern>(window: &[u8; WINDOW], at: usize) -> u8 {
    let [first, second, third] = [0, 1, 2].map(|n| usize::from(window[(at + n) % WINDOW]));
    let (second, third) = (second & 0x3f, third & 0x3f);
    if first < 0xe0 {
        P::TWO_BYTE_CLASSES[(first & 0x1f) << 6 | second]
    } else if first < 0xe3 || is_among_hangul(first as u8) {
        class_of::<P>(((first & 0x0f) << 12 | second << 6 | third) as u32)
    } else {
        0
    }
}

/// Whether this is the first byte of a character from U+A000 to U+D7FF. Most of these are Hangul, whose words have
/// spaces between them.
#[inline(always)]
pub fn is_among_hangul(first: u8) -> bool {
    matches!(first, 0xea..0xee)
}
