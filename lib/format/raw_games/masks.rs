//! Which of the next 64 bytes are digits, commas and ones, as bits: what a board's text is
//! taken apart with.
//!
//! The compiler does not find `movemask` by itself. With the same masks from plain words of
//! eight bytes, decoding as a whole takes 8 % longer (best of 21 runs), so this module has the
//! one unsafe call.

/// Bytes that are looked at, one for each bit of a mask.
pub(super) const WINDOW: usize = 64;

/// Bit i tells about byte i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Masks {
    pub digits: u64,
    pub commas: u64,
    pub ones: u64,
}

impl Masks {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn of(window: &[u8; WINDOW]) -> Masks {
        // SAFETY: SSE2 is part of x86-64; every such processor has it.
        unsafe { Masks::sse2(window) }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn of(window: &[u8; WINDOW]) -> Masks {
        Masks::plainly(window)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "sse2")]
    #[inline]
    fn sse2(window: &[u8; WINDOW]) -> Masks {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
            _mm_sub_epi8,
        };
        let mut masks = Masks { digits: 0, commas: 0, ones: 0 };
        let (words, _) = window.as_chunks::<8>();
        for (i, pair) in words.chunks_exact(2).enumerate() {
            let [low, high] = [i64::from_le_bytes(pair[0]), i64::from_le_bytes(pair[1])];
            let bytes = _mm_set_epi64x(high, low);
            // Moved so that the digits are the ten smallest signed bytes.
            let moved = _mm_sub_epi8(bytes, _mm_set1_epi8((b'0' + 128) as i8));
            let digits = _mm_cmpgt_epi8(_mm_set1_epi8(-128 + 10), moved);
            let commas = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b',' as i8));
            let ones = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'1' as i8));
            masks.digits |= (_mm_movemask_epi8(digits) as u64) << (16 * i);
            masks.commas |= (_mm_movemask_epi8(commas) as u64) << (16 * i);
            masks.ones |= (_mm_movemask_epi8(ones) as u64) << (16 * i);
        }
        masks
    }

    /// The same without vector instructions.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn plainly(window: &[u8; WINDOW]) -> Masks {
        let mask = |test: fn(u8) -> bool| {
            window.iter().rev().fold(0, |mask, &byte| mask << 1 | u64::from(test(byte)))
        };
        Masks {
            digits: mask(|byte| byte.is_ascii_digit()),
            commas: mask(|byte| byte == b','),
            ones: mask(|byte| byte == b'1'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_masks_equal_the_plain_ones() {
        for start in 0..=255u8 {
            let window = std::array::from_fn(|i| start.wrapping_add(i as u8));
            assert_eq!(Masks::of(&window), Masks::plainly(&window), "{start}");
        }
        for byte in 0..=255u8 {
            for place in 0..WINDOW {
                let mut window =
                    *b"1,0123456789,]{:/;-1,0123456789,]{:/;-1,0123456789,]{:/;-1,2345\xff";
                window[place] = byte;
                assert_eq!(Masks::of(&window), Masks::plainly(&window), "{byte} {place}");
            }
        }
    }
}
