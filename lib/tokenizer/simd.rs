//! What needs the processor's own instructions: masks of 16 bytes, and prefetching. All the
//! `unsafe` of the tokenizer stands here; `cargo bench --bench encode` shows what it buys.
//! Other processors than x86-64 do the same with plain code.

/// Masks of 16 bytes: bit n is byte n.
pub struct Masks {
    pub lower: u32,
    pub upper: u32,
    pub digit: u32,
    /// ASCII white space.
    pub space: u32,
    pub newline: u32,
    pub apostrophe: u32,
    pub not_ascii: u32,
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn masks(block: &[u8; 16]) -> Masks {
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
pub fn masks(block: &[u8; 16]) -> Masks {
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

/// Asks for the cache line of something that will be read soon.
#[inline(always)]
pub fn prefetch<T>(soon: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program can see and faults on no address;
        // this one is a live reference besides.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(soon).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
