//! What needs the processor's own instructions: masks of 64 bytes, loops compiled for AVX2,
//! and prefetching. Which of the two ways is taken is found out at run time; the portable one
//! gives the same masks with plain code.

/// Masks of 64 bytes: bit n is byte n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masks {
    pub lower: u64,
    pub upper: u64,
    pub digit: u64,
    /// ASCII white space.
    pub white: u64,
    pub newline: u64,
    /// U+0020.
    pub blank: u64,
    pub slash: u64,
    pub apostrophe: u64,
    pub not_ascii: u64,
}

/// A way to compute on bytes.
pub trait Processor {
    fn masks(window: &[u8; 64]) -> Masks;
}

/// A loop that is compiled once for each processor. `run` must be `#[inline(always)]`, or it
/// is not compiled for the better one.
pub trait Task {
    type Output;
    fn run<P: Processor>(self) -> Self::Output;
}

/// What this machine can do.
#[derive(Clone, Copy)]
pub struct Level {
    /// Never true where the instructions are missing.
    #[cfg(target_arch = "x86_64")]
    avx2: bool,
}

impl Level {
    #[cfg(target_arch = "x86_64")]
    pub const PORTABLE: Level = Level { avx2: false };
    #[cfg(not(target_arch = "x86_64"))]
    pub const PORTABLE: Level = Level {};

    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        return Level {
            avx2: is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        Level::PORTABLE
    }

    #[inline(always)]
    pub fn run<T: Task>(self, task: T) -> T::Output {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            // SAFETY: `avx2` is true only where every feature of `run_avx2` was detected.
            return unsafe { avx2::run(task) };
        }
        task.run::<Portable>()
    }
}

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

impl Processor for Portable {
    #[inline(always)]
    fn masks(window: &[u8; 64]) -> Masks {
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
        Masks { lower, upper, digit, white, newline, blank, slash, apostrophe, not_ascii }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
        _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_srli_epi16,
    };

    use super::{Masks, Processor, Task};

    /// Only [`run`] hands it out.
    struct Avx2;

    /// A task with everything that is inlined in it, compiled for these features.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn run<T: Task>(task: T) -> T::Output {
        task.run::<Avx2>()
    }

    impl Processor for Avx2 {
        #[inline(always)]
        fn masks(window: &[u8; 64]) -> Masks {
            // SAFETY: this type is private, and only `run` uses it, which has the features.
            unsafe { masks(window) }
        }
    }

    // A byte's class is what the tables of its two halves have in common. Letters need two
    // bits: the columns 4 and 6 begin with no letter, 5 and 7 end with some.
    const LETTER_FIRST: u8 = 1;
    const LETTER_SECOND: u8 = 2;
    const DIGIT: u8 = 4;
    const CONTROL: u8 = 8;
    const NEWLINE: u8 = 16;
    const BLANK: u8 = 32;
    const SLASH: u8 = 64;
    const APOSTROPHE: u8 = 128;

    const HIGH: [u8; 16] = {
        let mut table = [0; 16];
        table[0] = CONTROL | NEWLINE;
        table[2] = BLANK | SLASH | APOSTROPHE;
        table[3] = DIGIT;
        table[4] = LETTER_FIRST;
        table[5] = LETTER_SECOND;
        table[6] = LETTER_FIRST;
        table[7] = LETTER_SECOND;
        table
    };
    const LOW: [u8; 16] = {
        let mut table = [0; 16];
        let mut half = 0;
        while half < 16 {
            table[half] = (if half >= 1 { LETTER_FIRST } else { BLANK })
                | (if half <= 10 { LETTER_SECOND } else { 0 })
                | (if half <= 9 { DIGIT } else { 0 })
                | (if half >= 9 && half <= 13 { CONTROL } else { 0 })
                | (if half == 10 || half == 13 { NEWLINE } else { 0 })
                | (if half == 15 { SLASH } else { 0 })
                | (if half == 7 { APOSTROPHE } else { 0 });
            half += 1;
        }
        table
    };

    #[target_feature(enable = "avx2")]
    #[inline]
    fn masks(window: &[u8; 64]) -> Masks {
        let (halves, _) = window.as_chunks::<32>();
        let [first, second] = [half_masks(&halves[0]), half_masks(&halves[1])];
        let mut both = [0; 9];
        for (mask, (first, second)) in both.iter_mut().zip(first.into_iter().zip(second)) {
            *mask = u64::from(first) | u64::from(second) << 32;
        }
        let [letter, small, digit, control, newline, blank, slash, apostrophe, not_ascii] = both;
        Masks {
            lower: letter & small,
            upper: letter & !small,
            digit,
            white: control | blank,
            newline,
            blank,
            slash,
            apostrophe,
            not_ascii,
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn half_masks(half: &[u8; 32]) -> [u32; 9] {
        // SAFETY: the bytes are behind references, and the loads ask for no alignment.
        let (bytes, low, high): (__m256i, __m256i, __m256i) = unsafe {
            (
                _mm256_loadu_si256(half.as_ptr().cast()),
                _mm256_broadcastsi128_si256(_mm_loadu_si128(LOW.as_ptr().cast())),
                _mm256_broadcastsi128_si256(_mm_loadu_si128(HIGH.as_ptr().cast())),
            )
        };
        let upper_half = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(15));
        // A byte that is not ASCII finds 0 in the table of its lower half.
        let class = _mm256_and_si256(
            _mm256_shuffle_epi8(low, bytes),
            _mm256_shuffle_epi8(high, upper_half),
        );
        // A mask is made of the top bits of all bytes.
        let mask = |vector| _mm256_movemask_epi8(vector) as u32;
        let letter = _mm256_or_si256(_mm256_slli_epi16::<7>(class), _mm256_slli_epi16::<6>(class));
        [
            mask(letter),
            mask(_mm256_slli_epi16::<2>(bytes)),
            mask(_mm256_slli_epi16::<5>(class)),
            mask(_mm256_slli_epi16::<4>(class)),
            mask(_mm256_slli_epi16::<3>(class)),
            mask(_mm256_slli_epi16::<2>(class)),
            mask(_mm256_slli_epi16::<1>(class)),
            mask(class),
            mask(bytes),
        ]
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

    struct MasksOf<'a>(&'a [u8; 64]);

    impl Task for MasksOf<'_> {
        type Output = Masks;
        #[inline(always)]
        fn run<P: Processor>(self) -> Masks {
            P::masks(self.0)
        }
    }

    fn plain(window: &[u8; 64]) -> Masks {
        let mask =
            |is: fn(u8) -> bool| (0..64).fold(0, |mask, at| mask | u64::from(is(window[at])) << at);
        Masks {
            lower: mask(|byte| byte.is_ascii_lowercase()),
            upper: mask(|byte| byte.is_ascii_uppercase()),
            digit: mask(|byte| byte.is_ascii_digit()),
            white: mask(|byte| matches!(byte, b'\t'..=b'\r' | b' ')),
            newline: mask(|byte| matches!(byte, b'\n' | b'\r')),
            blank: mask(|byte| byte == b' '),
            slash: mask(|byte| byte == b'/'),
            apostrophe: mask(|byte| byte == b'\''),
            not_ascii: mask(|byte| !byte.is_ascii()),
        }
    }

    #[test]
    fn masks_of_every_byte() {
        for byte in 0..=255 {
            for at in 0..64 {
                let mut window: [u8; 64] =
                    std::array::from_fn(|place| (byte as usize + place) as u8);
                window[at] = byte;
                let expected = plain(&window);
                assert_eq!(Level::PORTABLE.run(MasksOf(&window)), expected, "{byte} at {at}");
                assert_eq!(Level::best().run(MasksOf(&window)), expected, "{byte} at {at}");
            }
        }
    }
}
