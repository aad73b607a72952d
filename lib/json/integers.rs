//! Lists of integers in the form that compact writers give them (`17,199999,0`), many at once:
//! the digits of a number are one word of eight bytes, from its text and into it.
//!
//! Nearly all bytes of tokens records are such lists. What is written in another way (a sign,
//! white space, more than seven digits, the last bytes of a text) is left to the general code.

/// The most digits of an integer that is handled here: a word holds them and what follows.
const MOST_DIGITS: usize = 7;
/// Integers of more digits begin here.
const LIMIT: u32 = 10_000_000;
/// Integers that are written together.
const CHUNK: usize = 64;

const ONES: u64 = 0x0101_0101_0101_0101;
const ZEROS: u64 = ONES * b'0' as u64;

/// Reads the integers of an array from `at` on, as long as they are in the plain form, `take`
/// accepts them, and a comma stands between them; gives the offset after the last, if there is one.
/// After it stands `,` or `]`.
pub(super) fn read(
    bytes: &[u8],
    mut at: usize,
    mut take: impl FnMut(u32) -> bool,
) -> Option<usize> {
    let mut end = None;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        if let Some(digits) = four_digits(word) {
            for digit in digits {
                if !take(digit) {
                    return end;
                }
                end = Some(at + 1);
                at += 2;
            }
            continue;
        }
        let Some((value, length)) = first_integer(word) else { break };
        if !take(value) {
            break;
        }
        end = Some(at + length);
        if chunk[length] == b']' {
            break;
        }
        at += length + 1;
    }
    end
}

/// Four integers of one digit, each with its comma: `1,0,0,1,`.
#[inline(always)]
fn four_digits(word: u64) -> Option<[u32; 4]> {
    const DIGITS: u64 = 0x00ff_00ff_00ff_00ff;
    const COMMAS: u64 = 0x2c00_2c00_2c00_2c00;
    let values = (word ^ ZEROS) & DIGITS;
    // 10 and more reaches the eighth bit; no sum leaves its sixteen bits.
    let is_other = (values + (0x76 * (ONES & DIGITS))) & 0x0180_0180_0180_0180;
    if word & !DIGITS != COMMAS || is_other != 0 {
        return None;
    }
    Some([0, 16, 32, 48].map(|lane| (values >> lane) as u32 & 0xf))
}

/// The integer that a word of text begins with, and its digits. A comma or bracket follows it.
#[inline(always)]
fn first_integer(word: u64) -> Option<(u32, usize)> {
    let values = word ^ ZEROS;
    // The eighth bit of every byte that is no digit.
    let others = (((values & (0x7f * ONES)) + 0x76 * ONES) | values) & (0x80 * ONES);
    let length = others.trailing_zeros() as usize / 8;
    if length == 0 || length > MOST_DIGITS {
        return None;
    }
    let is_led_by_zero = values & 0xff == 0 && length > 1;
    let next = (word >> (8 * length)) as u8;
    if is_led_by_zero || !matches!(next, b',' | b']') {
        return None;
    }
    // Zeros before the digits make eight of them; then neighbours are added up: pairs, fours, all.
    let digits = values << (64 - 8 * length);
    let pairs = digits.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    let value = fours.wrapping_mul(10_000 << 32 | 1) >> 32;
    Some((value as u32, length))
}

/// Appends integers with commas between them, as the items of an array.
pub fn write_integers<T>(out: &mut Vec<u8>, values: &[T])
where
    T: itoa::Integer + TryInto<u32> + Copy,
{
    for (index, values) in values.chunks(CHUNK).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let mut text = [0; CHUNK * 8];
        let mut length = 0;
        if values.iter().all(|&value| matches!(value.try_into(), Ok(0..10))) {
            for (&value, item) in values.iter().zip(text.as_chunks_mut::<2>().0) {
                *item = [b'0' + value.try_into().map_or(0, |digit| digit as u8), b','];
            }
            length = 2 * values.len();
        } else {
            for &value in values {
                match value.try_into() {
                    Ok(small @ ..LIMIT) => {
                        let (word, digits) = digits(small);
                        let word = word | u64::from(b',') << (8 * digits);
                        text[length..length + 8].copy_from_slice(&word.to_le_bytes());
                        length += digits + 1;
                    }
                    _ => {
                        out.extend_from_slice(&text[..length]);
                        out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
                        text[0] = b',';
                        length = 1;
                    }
                }
            }
        }
        out.extend_from_slice(&text[..length - 1]);
    }
}

/// The text of an integer below [`LIMIT`], the first digit in the lowest byte, and its length. The
/// bytes after it are zero.
#[inline(always)]
fn digits(value: u32) -> (u64, usize) {
    if value < 10 {
        return (u64::from(b'0') + u64::from(value), 1);
    }
    // Eight digits: two halves of four, each divided by 100, and their quarters by 10.
    let halves = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = (halves * 10_486) >> 20 & 0x0000_007f_0000_007f;
    let pairs = hundreds | (halves - 100 * hundreds) << 16;
    let tens = (pairs * 103) >> 10 & 0x000f_000f_000f_000f;
    let digits = tens | (pairs - 10 * tens) << 8;
    let absent = digits.trailing_zeros() as usize / 8;
    ((digits | ZEROS) >> (8 * absent), 8 - absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_integer_is_written_and_read() {
        for first in (0..LIMIT + 100).step_by(6_431) {
            let values: Vec<u32> = (first..first + CHUNK as u32 * 10 + 3).collect();
            let mut text = Vec::new();
            write_integers(&mut text, &values);
            let expected: Vec<String> = values.iter().map(u32::to_string).collect();
            assert_eq!(text, expected.join(",").as_bytes());
        }
        for value in (0..LIMIT).step_by(7) {
            let (word, length) = digits(value);
            let text = word | u64::from(b"],"[value as usize % 2]) << (8 * length);
            assert_eq!(first_integer(text), Some((value, length)));
        }
    }

    #[test]
    fn integers_of_every_type_are_written_as_itoa_does() {
        let mut text = Vec::new();
        write_integers(&mut text, &[-1_i64, i64::MIN, 9, i64::MAX, 9_999_999, 10_000_000]);
        let expected = "-1,-9223372036854775808,9,9223372036854775807,9999999,10000000";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        text.clear();
        write_integers(&mut text, &[u64::MAX; 65]);
        assert_eq!(text.split(|&byte| byte == b',').count(), 65);
        text.clear();
        write_integers::<u8>(&mut text, &[]);
        write_integers(&mut text, &[255_u8]);
        assert_eq!(text, b"255");
    }

    /// What is read of a text, and the offset after it.
    fn read_all(text: &str) -> (Vec<u32>, Option<usize>) {
        let mut values = Vec::new();
        let end = read(text.as_bytes(), 0, |value| {
            values.push(value);
            true
        });
        (values, end)
    }

    #[test]
    fn reading_stops_before_what_is_not_plain() {
        for (text, count) in [
            ("1,2,3,4,5,6,7,8,9,10]        ", 10),
            ("1,0,1,1]           ", 4),
            ("1,0,1,1,0,0,0,1,-1]       ", 8),
            ("12, 13]            ", 1),
            ("12 ,13]            ", 0),
            ("01,2,3,4,5,6,7]    ", 0),
            ("00]                ", 0),
            ("1.5,2,3,4]         ", 0),
            ("1e5,2,3,4]         ", 0),
            ("1,,2,3,4]          ", 1),
            ("1,2,3,4,]          ", 4),
            ("12345678,9]        ", 0),
            ("1234567,9]         ", 2),
            ("[1],9]             ", 0),
            ("1}                 ", 0),
            ("1,:,1,1,]          ", 1),
            ("1,/,1,1,]          ", 1),
            ("12\u{442}4\u{442}        ", 0),
            ("12,13", 0),
            ("", 0),
        ] {
            let (values, end) = read_all(text);
            assert_eq!(values.len(), count, "{text:?}");
            let items: Vec<&str> = text.split([',', ']']).take(count).collect();
            assert_eq!(end, (count > 0).then(|| items.join(",").len()), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_taken_is_not_read() {
        for (text, limit, expected) in [
            ("17,256,3,4,5,6,7]", 256, Some(2)),
            ("7,9,3,4,5,6,7,8]", 9, Some(1)),
            ("300,1,1,1,1]", 256, None),
        ] {
            assert_eq!(read(text.as_bytes(), 0, |value| value < limit), expected, "{text}");
        }
    }
}
