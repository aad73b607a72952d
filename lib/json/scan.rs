//! Finding the end of a string, eight bytes at a time.

use super::Error;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks (in the high bit of each byte) quotes, backslashes and control characters. The lowest
/// mark is exact; a borrow can set false ones only above a true one.
#[inline]
fn marks(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (quote | backslash | control) & HIGHS
}

/// The offset of the first quote, backslash or control character at or after `at`.
#[inline]
pub(super) fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + 16) {
        let (low, high) = chunk.split_at(8);
        let low = marks(word(low));
        let high = marks(word(high));
        if low | high != 0 {
            let found = if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() };
            return at + found as usize / 8;
        }
        at += 16;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

#[inline]
fn word(chunk: &[u8]) -> u64 {
    chunk.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The offset of the quote that ends the string whose content starts at `start`, and whether
/// there is an escape in it.
pub(super) fn string_end(text: &str, start: usize) -> Result<(usize, bool), Error> {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut escaped = false;
    loop {
        at = special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at, escaped)),
            Some(b'\\') => {
                escaped = true;
                // Escapes come in runs in text of other scripts.
                while bytes.get(at) == Some(&b'\\') {
                    at = escape_end(bytes, at)?;
                }
            }
            Some(_) => {
                return Err(Error { offset: at, message: "control character in a string" });
            }
            None => {
                return Err(Error { offset: at, message: "string without an end" });
            }
        }
    }
}

#[inline]
fn escape_end(bytes: &[u8], at: usize) -> Result<usize, Error> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') if hex4(bytes, at + 2).is_some() => Ok(at + 6),
        _ => Err(Error { offset: at, message: "invalid escape in a string" }),
    }
}

/// Values of hexadecimal digits; 0xff for other bytes.
static HEX: [u8; 256] = {
    let mut table = [0xff; 256];
    let mut i = 0;
    while i < 16 {
        table[b"0123456789abcdef"[i] as usize] = i as u8;
        table[b"0123456789ABCDEF"[i] as usize] = i as u8;
        i += 1;
    }
    table
};

/// The value of the four hexadecimal digits at `at`.
#[inline]
pub(super) fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    let [a, b, c, d] = digits.map(|b| HEX[b as usize] as u32);
    if (a | b | c | d) > 0xf {
        return None;
    }
    Some(a << 12 | b << 8 | c << 4 | d)
}
