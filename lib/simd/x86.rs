//! SSE2, which every x86-64 processor has, and AVX2. Vectors are made of arrays, not loaded from
//! pointers.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_min_epu8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8, _mm_sub_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_castsi256_pd, _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_set1_epi64x, _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_srli_epi16,
    _mm256_srli_epi64,
};

use super::{BoardMasks, Instructions, SimdTask, StringMasks, TextMasks};

/// Returns which bytes end a run of plain bytes in a JSON string: quotes, backslashes, control
/// characters.
#[inline]
pub fn json_specials(block: &[u8; 32]) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { json_specials_sse2(block) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn json_specials_sse2(block: &[u8; 32]) -> u32 {
    let [first, second] = [0, 1].map(|half| {
        let half = sixteen(&block.as_chunks().0[half]);
        let quote = _mm_cmpeq_epi8(half, _mm_set1_epi8(b'"'.cast_signed()));
        let backslash = _mm_cmpeq_epi8(half, _mm_set1_epi8(b'\\'.cast_signed()));
        let control = _mm_cmpeq_epi8(half, _mm_min_epu8(half, _mm_set1_epi8(0x1f)));
        let found = _mm_or_si128(_mm_or_si128(quote, backslash), control);
        _mm_movemask_epi8(found).cast_unsigned()
    });
    first | second << 16
}

/// Returns which bytes `json.dumps` of Python writes as escapes: quotes, backslashes, control
/// characters, U+007F and bytes beyond ASCII.
#[inline(always)]
pub fn ascii_specials(block: &[u8; 32]) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { ascii_specials_sse2(block) }
}

/// Returns which bytes belong to a UTF-8 character after its first byte.
#[inline]
pub fn later_bytes(block: &[u8; 32]) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { later_bytes_sse2(block) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn ascii_specials_sse2(block: &[u8; 32]) -> u32 {
    let [first, second] = [0, 1].map(|half| {
        let half = sixteen(&block.as_chunks().0[half]);
        let is = |byte: u8| _mm_cmpeq_epi8(half, _mm_set1_epi8(byte.cast_signed()));
        // As signed bytes, bytes beyond ASCII are below all others.
        let small = _mm_cmpgt_epi8(_mm_set1_epi8(b' '.cast_signed()), half);
        let found = _mm_or_si128(_mm_or_si128(is(b'"'), is(b'\\')), _mm_or_si128(is(0x7f), small));
        _mm_movemask_epi8(found).cast_unsigned()
    });
    first | second << 16
}

#[target_feature(enable = "sse2")]
#[inline]
fn later_bytes_sse2(block: &[u8; 32]) -> u32 {
    let [first, second] = [0, 1].map(|half| {
        let half = sixteen(&block.as_chunks().0[half]);
        // As signed numbers they are the least: 0x80 to 0xbf.
        let later = _mm_cmpgt_epi8(_mm_set1_epi8(0xc0_u8.cast_signed()), half);
        _mm_movemask_epi8(later).cast_unsigned()
    });
    first | second << 16
}

/// Whether the first bytes of two blocks differ, up to 15 of them.
#[inline(always)]
pub fn differ(left: &[u8; 16], right: &[u8; 16], count: usize) -> bool {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { differ_sse2(left, right, count) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn differ_sse2(left: &[u8; 16], right: &[u8; 16], count: usize) -> bool {
    let equal = _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen(left), sixteen(right)));
    !equal.cast_unsigned() & ((1u32 << (count % 32)) - 1) != 0
}

/// Returns which bytes are digits, commas and ones.
#[inline(always)]
pub fn board_masks(window: &[u8; 64]) -> BoardMasks {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { board_masks_sse2(window) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn board_masks_sse2(window: &[u8; 64]) -> BoardMasks {
    let mut masks = BoardMasks { digits: 0, commas: 0, ones: 0 };
    for (i, quarter) in window.as_chunks().0.iter().enumerate() {
        let bytes = sixteen(quarter);
        let mask = |found| (_mm_movemask_epi8(found) as u64) << (16 * i);
        // Moved so that the digits are the ten smallest signed bytes.
        let moved = _mm_sub_epi8(bytes, _mm_set1_epi8((b'0' + 128).cast_signed()));
        masks.digits |= mask(_mm_cmpgt_epi8(_mm_set1_epi8(-128 + 10), moved));
        masks.commas |= mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b','.cast_signed())));
        masks.ones |= mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'1'.cast_signed())));
    }
    masks
}

#[target_feature(enable = "sse2")]
#[inline]
fn sixteen(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: both are 16 bytes, and all bits are numbers.
    unsafe { std::mem::transmute(*bytes) }
}

/// Only [`run_avx2`] makes it.
struct Avx2;

/// Runs a task; everything that is inlined in it is compiled for these features.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn run_avx2<T: SimdTask>(task: T) -> T::Output {
    task.run::<Avx2>()
}

impl Instructions for Avx2 {
    #[inline(always)]
    fn text_masks(window: &[u8; 64]) -> TextMasks {
        // SAFETY: this type is private, and only `run_avx2`, which has the features, uses it.
        unsafe { text_masks_avx2(window) }
    }

    #[inline(always)]
    fn string_masks(window: &[u8; 64]) -> StringMasks {
        // SAFETY: as above.
        unsafe { string_masks_avx2(window) }
    }

    #[inline(always)]
    fn bit_mask<const SHIFT: i32>(bytes: &[u8; 64]) -> u64 {
        // SAFETY: as above.
        unsafe { bit_mask_avx2::<SHIFT>(bytes) }
    }

    #[inline(always)]
    fn equal_tops<const SHIFT: i32>(numbers: &[u64; 8], top: u64) -> u32 {
        // SAFETY: as above.
        unsafe { equal_tops_avx2::<SHIFT>(numbers, top) }
    }
}

// A byte's class is the bits that the tables of its two halves share. Letters need two bits:
// columns 4 and 6 begin with another character, columns 5 and 7 end with others.
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
fn text_masks_avx2(window: &[u8; 64]) -> TextMasks {
    let (halves, _) = window.as_chunks::<32>();
    let [first, second] = [half_masks(&halves[0]), half_masks(&halves[1])];
    let mut both = [0; 10];
    for (mask, (first, second)) in both.iter_mut().zip(first.into_iter().zip(second)) {
        *mask = u64::from(first) | u64::from(second) << 32;
    }
    let [letter, small, digit, control, newline, blank, slash, apostrophe, not_ascii, second] =
        both;
    TextMasks {
        lower: letter & small,
        upper: letter & !small,
        digit,
        white: control | blank,
        newline,
        blank,
        slash,
        apostrophe,
        not_ascii,
        inside: not_ascii & !second,
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn bit_mask_avx2<const SHIFT: i32>(bytes: &[u8; 64]) -> u64 {
    let (halves, _) = bytes.as_chunks::<32>();
    let [first, second] = [0, 1].map(|half: usize| {
        let top = _mm256_slli_epi16::<SHIFT>(thirty_two(&halves[half]));
        _mm256_movemask_epi8(top).cast_unsigned()
    });
    u64::from(first) | u64::from(second) << 32
}

#[target_feature(enable = "avx2")]
#[inline]
fn equal_tops_avx2<const SHIFT: i32>(numbers: &[u64; 8], top: u64) -> u32 {
    let top = _mm256_set1_epi64x(top.cast_signed());
    // SAFETY: both are 64 bytes, and all bits are numbers.
    let fours: [__m256i; 2] = unsafe { std::mem::transmute(*numbers) };
    let [first, second] = fours.map(|four| {
        let same = _mm256_cmpeq_epi64(_mm256_srli_epi64::<SHIFT>(four), top);
        _mm256_movemask_pd(_mm256_castsi256_pd(same)).cast_unsigned()
    });
    first | second << 4
}

#[target_feature(enable = "avx2")]
#[inline]
fn string_masks_avx2(window: &[u8; 64]) -> StringMasks {
    let (halves, _) = window.as_chunks::<32>();
    let mut masks = StringMasks { specials: 0, later: 0 };
    for (place, half) in halves.iter().enumerate() {
        let half = thirty_two(half);
        let mask = |found| u64::from(_mm256_movemask_epi8(found).cast_unsigned()) << (32 * place);
        let quote = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(b'"'.cast_signed()));
        let backslash = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(b'\\'.cast_signed()));
        let least = _mm256_min_epu8(half, _mm256_set1_epi8(0x1f));
        let control = _mm256_cmpeq_epi8(half, least);
        masks.specials |= mask(_mm256_or_si256(_mm256_or_si256(quote, backslash), control));
        // As signed numbers they are the least: 0x80 to 0xbf.
        let first = _mm256_set1_epi8(0xc0_u8.cast_signed());
        masks.later |= mask(_mm256_cmpgt_epi8(first, half));
    }
    masks
}

#[target_feature(enable = "avx2")]
#[inline]
fn half_masks(half: &[u8; 32]) -> [u32; 10] {
    let bytes = thirty_two(half);
    let low = _mm256_broadcastsi128_si256(sixteen(&LOW));
    let high = _mm256_broadcastsi128_si256(sixteen(&HIGH));
    let upper_half = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(15));
    // A byte beyond ASCII finds 0 in the table of its lower half.
    let class =
        _mm256_and_si256(_mm256_shuffle_epi8(low, bytes), _mm256_shuffle_epi8(high, upper_half));
    // A mask is made of the top bits of all bytes.
    let mask = |vector| _mm256_movemask_epi8(vector).cast_unsigned();
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
        mask(_mm256_slli_epi16::<1>(bytes)),
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
fn thirty_two(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: both are 32 bytes, and all bits are numbers.
    unsafe { std::mem::transmute(*bytes) }
}
