use super::*;

struct MasksOf<'a>(&'a [u8; 64]);

impl SimdTask for MasksOf<'_> {
    type Output = TextMasks;
    #[inline(always)]
    fn run<I: Instructions>(self) -> TextMasks {
        I::text_masks(self.0)
    }
}

struct StringMasksOf<'a>(&'a [u8; 64]);

impl SimdTask for StringMasksOf<'_> {
    type Output = StringMasks;
    #[inline(always)]
    fn run<I: Instructions>(self) -> StringMasks {
        I::string_masks(self.0)
    }
}

struct BitsOf<'a>(&'a [u8; 64]);

impl SimdTask for BitsOf<'_> {
    type Output = [u64; 3];
    #[inline(always)]
    fn run<I: Instructions>(self) -> [u64; 3] {
        [I::bit_mask::<0>(self.0), I::bit_mask::<3>(self.0), I::bit_mask::<7>(self.0)]
    }
}

struct TopsOf<'a>(&'a [u64; 8], u64);

impl SimdTask for TopsOf<'_> {
    type Output = [u32; 2];
    #[inline(always)]
    fn run<I: Instructions>(self) -> [u32; 2] {
        [I::equal_tops::<57>(self.0, self.1), I::equal_tops::<0>(self.0, self.1)]
    }
}

#[test]
fn equal_numbers_are_told() {
    for number in 0..1 << 16u32 {
        // Which of them have the top, and which are all of it.
        let (tops, whole) = (number >> 8, number & 0xff);
        let numbers = std::array::from_fn(|at| {
            let bit = |bits: u32| u64::from(bits >> at & 1);
            if bit(whole) == 1 { 77 } else { (76 + bit(tops)) << 57 | at as u64 }
        });
        let expected = [tops & !whole, whole];
        assert_eq!(SimdLevel::PORTABLE.run(TopsOf(&numbers, 77)), expected);
        assert_eq!(SimdLevel::best().run(TopsOf(&numbers, 77)), expected);
    }
}

#[test]
fn blocks_differ_where_they_do() {
    let block: [u8; 16] = *b"0123456789abcdef";
    for count in 0..16 {
        for (at, bit) in (0..16).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut other = block;
            other[at] ^= 1 << bit;
            assert_eq!(differ(&block, &other, count), at < count, "{at} {bit} {count}");
            assert_eq!(portable::differ(&block, &other, count), at < count, "{at} {bit} {count}");
        }
        assert!(!differ(&block, &block, count) && !portable::differ(&block, &block, count));
    }
}

/// The masks, bit by bit.
fn text_masks(window: &[u8; 64]) -> TextMasks {
    let mask =
        |is: fn(u8) -> bool| (0..64).fold(0, |mask, at| mask | u64::from(is(window[at])) << at);
    TextMasks {
        lower: mask(|byte| byte.is_ascii_lowercase()),
        upper: mask(|byte| byte.is_ascii_uppercase()),
        digit: mask(|byte| byte.is_ascii_digit()),
        white: mask(|byte| matches!(byte, b'\t'..=b'\r' | b' ')),
        newline: mask(|byte| matches!(byte, b'\n' | b'\r')),
        blank: mask(|byte| byte == b' '),
        slash: mask(|byte| byte == b'/'),
        apostrophe: mask(|byte| byte == b'\''),
        not_ascii: mask(|byte| !byte.is_ascii()),
        inside: mask(|byte| matches!(byte, 0x80..0xc0)),
    }
}

/// All ways give the same bits.
#[track_caller]
fn check(window: &[u8; 64]) {
    let expected = text_masks(window);
    assert_eq!(SimdLevel::PORTABLE.run(MasksOf(window)), expected, "{window:?}");
    assert_eq!(SimdLevel::best().run(MasksOf(window)), expected, "{window:?}");
    let bits = [7, 4, 0]
        .map(|bit| (0..64).fold(0, |mask, at| mask | u64::from(window[at] >> bit & 1) << at));
    assert_eq!(SimdLevel::PORTABLE.run(BitsOf(window)), bits, "{window:?}");
    assert_eq!(SimdLevel::best().run(BitsOf(window)), bits, "{window:?}");
    let boards = portable::board_masks(window);
    assert_eq!(boards.digits, expected.digit, "{window:?}");
    assert_eq!(board_masks(window), boards, "{window:?}");
    for block in window.as_chunks::<32>().0 {
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        let first = block.iter().position(is_special).unwrap_or(32);
        let found = portable::json_specials(block);
        assert_eq!(found.trailing_zeros() as usize, first, "{block:?}");
        assert_eq!(json_specials(block), found, "{block:?}");
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        let expected = (0..32).fold(0, |mask, at| mask | u32::from(!is_plain(block[at])) << at);
        assert_eq!(portable::ascii_specials(block), expected, "{block:?}");
        assert_eq!(ascii_specials(block), expected, "{block:?}");
        let later = |mask, at: usize| mask | u32::from(matches!(block[at], 0x80..0xc0)) << at;
        assert_eq!(portable::later_bytes(block), (0..32).fold(0, later), "{block:?}");
    }
    let halves = |mask: fn(&[u8; 32]) -> u32| {
        let [first, second] = [0, 1].map(|half: usize| mask(&window.as_chunks::<32>().0[half]));
        u64::from(first) | u64::from(second) << 32
    };
    let (specials, later) = (halves(portable::json_specials), halves(portable::later_bytes));
    let strings = StringMasks { specials, later };
    assert_eq!(SimdLevel::PORTABLE.run(StringMasksOf(window)), strings, "{window:?}");
    assert_eq!(SimdLevel::best().run(StringMasksOf(window)), strings, "{window:?}");
}

#[test]
fn every_byte_at_every_place() {
    for byte in 0..=255 {
        for at in 0..64 {
            let mut window = std::array::from_fn(|place| (byte as usize + place) as u8);
            window[at] = byte;
            check(&window);
            for around in [b'a', 0xff, 0x20, b'!', b'#', b'[', b'1', b','] {
                window = [around; 64];
                window[at] = byte;
                check(&window);
                window[63] = b'"';
                check(&window);
            }
            window = *b"1,0123456789,]{:/;-1,0123456789,]{:/;-1,0123456789,]{:/;-1,2345\xff";
            window[at] = byte;
            check(&window);
        }
    }
}

#[test]
fn random_bytes_and_random_text() {
    let mut state = 7u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    const TEXT: &[u8] = b"aZ09 ,1\n\r\t\"\\'/.\x00\x1f\x20\x7f\x80\xff@[`{";
    for _ in 0..20_000 {
        check(&std::array::from_fn(|_| next()));
        check(&std::array::from_fn(|_| TEXT[next() as usize % TEXT.len()]));
    }
}
