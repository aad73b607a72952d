//! Reads and writes lists of integers in the form of compact writers (`17,199999,0`), many at once: the digits of a
//! number are one word of eight bytes. (Instructions for each token and its two masks, 2026-11-22: reading takes 93,
//! and took 109 when each went to the column by itself; writing takes 52, and took 67 when the digits were made by
//! multiplying.)
//!
//! Nearly all bytes of token sequences are such lists. Numbers in any other form (a sign, white space, more than seven
//! digits), and the last bytes of a text, are left to the general code.

use super::decimal::{self, others};

/// The most digits of an integer that is read here: a word holds them and the byte that follows.
const MOST_DIGITS: usize = 7;
/// How many integers are read or written together.
pub(super) const CHUNK: usize = 64;

/// Four integers of one digit, each with its comma: `1,0,0,1,`.
const FOUR: u64 = u64::from_le_bytes(*b"0,0,0,0,");

/// Reads the integers of an array from `at` on, as long as they are in the plain form, there is
/// room for them, and a comma stands between them. Returns their number and the offset after the
/// last, where `,` or `]` stands.
pub(super) fn read(bytes: &[u8], mut at: usize, into: &mut [u32]) -> (usize, usize) {
    let mut count = 0;
    let mut is_last = false;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk)
        && let Some(room) = into.get_mut(count..)
        && !room.is_empty()
    {
        let word = u64::from_le_bytes(*chunk);
        let (values, others) = others(word);
        if others == 0x8000_8000_8000_8000
            && let read @ 1.. = single_digits(&bytes[at..], room)
        {
            (count, at) = (count + read, at + 2 * read);
            continue;
        }
        let length = others.trailing_zeros() as usize / 8;
        if length.wrapping_sub(1) >= MOST_DIGITS || (values & 0xff == 0 && length > 1) {
            break;
        }
        let next = (word >> (8 * length)) as u8;
        if next != b',' {
            if next == b']' {
                room[0] = value_of(values, length);
                (count, at) = (count + 1, at + length);
                is_last = true;
            }
            break;
        }
        room[0] = value_of(values, length);
        (count, at) = (count + 1, at + length + 1);
    }
    // The comma after the last integer is not read.
    (count, if is_last || count == 0 { at } else { at - 1 })
}

/// Reads integers of one digit, each with its comma, sixteen or four at a time; returns how many.
fn single_digits(bytes: &[u8], into: &mut [u32]) -> usize {
    // A byte is zero if it is as expected; a tenth digit sets the eighth bit.
    let wrong = |word: u64| {
        let values = word ^ FOUR;
        (values | values.wrapping_add(0x0076_0076_0076_0076)) & 0xff80_ff80_ff80_ff80
    };
    let put = |word: u64, into: &mut [u32; 4]| {
        *into = [0, 16, 32, 48].map(|lane| (word >> lane) as u32 & 0xf);
    };
    let mut count = 0;
    for (block, room) in bytes.as_chunks::<32>().0.iter().zip(into.as_chunks_mut::<16>().0) {
        let words: [u64; 4] = std::array::from_fn(|i| u64::from_le_bytes(block.as_chunks().0[i]));
        if words.iter().fold(0, |all, &word| all | wrong(word)) != 0 {
            break;
        }
        words.iter().zip(room.as_chunks_mut().0).for_each(|(&word, four)| put(word, four));
        count += 16;
    }
    if count == 0
        && let (Some(chunk), Some(room)) = (bytes.first_chunk(), into.first_chunk_mut())
        && let word = u64::from_le_bytes(*chunk)
        && wrong(word) == 0
    {
        put(word, room);
        count = 4;
    }
    count
}

/// Returns the integer of `length` digits, the first in the lowest byte.
#[inline(always)]
fn value_of(values: u64, length: usize) -> u32 {
    // Zeros before the digits make eight of them.
    decimal::value_of(values << (64 - 8 * length)) as u32
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
        let mut small = [0; CHUNK];
        let small = &mut small[..values.len()];
        // A value that does not fit is larger than all that are written here.
        let mut bits = 0;
        small.iter_mut().zip(values).for_each(|(small, &value)| {
            *small = value.try_into().unwrap_or(u32::MAX);
            bits |= *small;
        });
        let mut text = [0; CHUNK * 8];
        // No value is larger than the bits of all values together.
        let length = match bits {
            ..10 => {
                for (&value, item) in small.iter().zip(text.as_chunks_mut::<2>().0) {
                    *item = [b'0' + value as u8, b','];
                }
                2 * small.len()
            }
            10..LARGE => write_small(small, &mut text),
            _ => {
                write_each(out, values);
                continue;
            }
        };
        out.extend_from_slice(&text[..length - 1]);
    }
}

/// Integers from this power of two on are written one by one; all tokens are smaller.
pub(super) const LARGE: u32 = 1 << 19;

/// Appends integers of any size, with commas between them.
fn write_each<T: itoa::Integer + Copy>(out: &mut Vec<u8>, values: &[T]) {
    for (index, &value) in values.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b"," } else { b"" });
        out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }
}

/// Writes an integer at the beginning of a text, and returns its length; bytes after it are
/// overwritten, too.
#[inline(always)]
pub fn write_integer(text: &mut [u8; 16], value: u32) -> usize {
    match value {
        ..LARGE => {
            let (word, length) = with_end(value, &COMMAS);
            *text.first_chunk_mut().unwrap_or(&mut [0; 8]) = word.to_le_bytes();
            length - 1
        }
        _ => {
            let mut digits = itoa::Buffer::new();
            let digits = digits.format(value).as_bytes();
            text[..digits.len()].copy_from_slice(digits);
            digits.len()
        }
    }
}

/// Returns the text of an integer below [`LARGE`] with the byte that `tails` has after it, the
/// first byte the lowest, and its length.
#[inline(always)]
pub(super) fn with_end(value: u32, tails: &[[u32; 1000]; 2]) -> (u64, usize) {
    let (thousands, rest) = ((value / 1000) as usize, (value % 1000) as usize);
    let head = HEADS.get(thousands).copied().unwrap_or_default();
    let digits = head >> 24;
    let tail = tails[usize::from(thousands > 0)][rest];
    let word = u64::from(head & 0xff_ffff) | u64::from(tail) << (8 * digits);
    (word, digits as usize + 4 - (tail | 1).leading_zeros() as usize / 8)
}

/// Writes integers below [`LARGE`], each with a comma after it, and returns the length of the text:
/// thousands and the rest are looked up.
fn write_small(values: &[u32], text: &mut [u8; CHUNK * 8]) -> usize {
    let mut length = 0;
    for &value in values {
        let (word, bytes) = with_end(value, &COMMAS);
        if let Some(room) = text.get_mut(length..).and_then(<[u8]>::first_chunk_mut) {
            *room = word.to_le_bytes();
        }
        length += bytes;
    }
    length
}

/// The digits of a number of thousands, the first in the lowest byte; the highest byte is the
/// number of digits, 0 for the number 0.
static HEADS: [u32; 1 + LARGE as usize / 1000] = {
    let mut heads = [0; 1 + LARGE as usize / 1000];
    let mut value = 1;
    while value <= LARGE / 1000 {
        let (text, digits) = short(value);
        heads[value as usize] = text | digits << 24;
        value += 1;
    }
    heads
};

/// The text of a number below 1000 and the byte after it: without thousands before it, and with
/// thousands, when it has three digits.
const fn tails(end: u8) -> [[u32; 1000]; 2] {
    let mut tails = [[0; 1000]; 2];
    let mut value = 0;
    while value < 1000 {
        let (text, digits) = short(value);
        tails[0][value as usize] = text | (end as u32) << (8 * digits);
        tails[1][value as usize] = three(value) | (end as u32) << 24;
        value += 1;
    }
    tails
}

static COMMAS: [[u32; 1000]; 2] = tails(b',');
pub(super) static POINTS: [[u32; 1000]; 2] = tails(b'.');

/// Returns three digits, the first in the lowest byte.
pub(super) const fn three(value: u32) -> u32 {
    let digits = (value / 100) | ((value / 10 % 10) << 8) | ((value % 10) << 16);
    digits | 0x30_3030
}

/// Returns the digits of a number below 1000, and how many there are.
const fn short(value: u32) -> (u32, u32) {
    let digits = if value < 10 { 1 } else { 2 + (value >= 100) as u32 };
    (three(value) >> (8 * (3 - digits)), digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_integer_is_written_and_read() {
        for first in (0..10_000_100).step_by(6_431) {
            let values: Vec<u32> = (first..first + CHUNK as u32 * 10 + 3).collect();
            let mut text = Vec::new();
            write_integers(&mut text, &values);
            let expected: Vec<String> = values.iter().map(u32::to_string).collect();
            let expected = expected.join(",");
            assert_eq!(String::from_utf8_lossy(&text), expected);
            text.extend_from_slice(b"]       ");
            let mut read_values = [0; CHUNK];
            let plain = values.iter().take(CHUNK).take_while(|value| **value < 10_000_000);
            let (count, end) = read(&text, 0, &mut read_values);
            assert_eq!(read_values[..count], plain.copied().collect::<Vec<u32>>());
            assert!(count == 0 || expected[end..].starts_with(','));
        }
        // Large and small integers side by side, at every place of a chunk.
        for at in 0..CHUNK {
            for large in [10, 999, 1_000, 200_018, LARGE - 1, LARGE, u32::MAX] {
                let mut values = [7; CHUNK];
                values[at] = large;
                let mut text = Vec::new();
                write_integers(&mut text, &values);
                assert_eq!(text, values.map(|value| value.to_string()).join(",").as_bytes());
            }
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

    /// Reads a text; returns the integers, and the offset after them.
    fn read_all(text: &str) -> (Vec<u32>, Option<usize>) {
        let mut values = [0; CHUNK];
        let (count, end) = read(text.as_bytes(), 0, &mut values);
        (values[..count].to_vec(), (count > 0).then_some(end))
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
            ("1,0,2,0,1,0,2,9,1,0,1,0,1,0,1,0,1,0,1,0,1]       ", 21),
            ("1,0,2,0,1,0,2,9,1,0,1,0,1,0,1,0,1,0,1,0, 1]       ", 20),
            ("1,0,2,0,1,0,2,9,1,0,1,0,1,:,1,0,1,0,1,0,1]       ", 13),
            ("1,0,2,0,1,0,2,9,1,0,1,0,1;0,1,0,1,0,1,0,1]       ", 12),
            ("1,0,2,0,1,0,2,9,1,0,1,0,1,0,1,0,1,0,1,0,1,17,1,0,1,0,1,2]       ", 28),
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
    fn no_more_is_read_than_there_is_room_for() {
        for (text, room, expected) in [
            ("17,256,3,4,5,6,7]", 1, (1, 2)),
            ("17,256,3,4,5,6,7]", 2, (2, 6)),
            ("7,9,3,4,5,6,7,8]       ", 3, (3, 5)),
            ("7,9,3,4,5,6,7,8]       ", 4, (4, 7)),
            ("7,9,3,4,5,6,7,8]       ", 6, (6, 11)),
            ("300,1,1,1,1]", 0, (0, 0)),
        ] {
            assert_eq!(read(text.as_bytes(), 0, &mut [0; CHUNK][..room]), expected, "{text}");
        }
    }
}
