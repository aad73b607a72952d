//! Finding the special bytes in strings, 32 bytes at a time.

use super::Error;
use crate::simd::json_specials;

/// Bytes that are looked at together.
pub(super) const BLOCK: usize = 32;

/// The offset of the first quote, backslash or control character at or after `at`.
#[inline]
pub(super) fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let found = json_specials(block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += BLOCK;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
}

fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The offset of the quote that ends the string whose content starts at `start`, and whether
/// there is an escape in it.
pub(super) fn string_end(text: &str, start: usize) -> Result<(usize, bool), Error> {
    let bytes = text.as_bytes();
    let (mut at, mut escaped) = (start, false);
    'blocks: while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let mut found = json_specials(block);
        while found != 0 {
            let place = found.trailing_zeros() as usize;
            match block[place] {
                b'"' => return Ok((at + place, escaped)),
                b'\\' => escaped = true,
                _ => return Err(control(at + place)),
            }
            // The bytes of the escape are not looked at again.
            let behind = escape_end(bytes, at + place)?;
            match behind - at {
                within @ ..BLOCK => found &= u32::MAX << within,
                _ => {
                    // Escapes come in runs in text of other scripts.
                    at = behind;
                    while bytes.get(at) == Some(&b'\\') {
                        at = escape_end(bytes, at)?;
                    }
                    continue 'blocks;
                }
            }
        }
        at += BLOCK;
    }
    loop {
        at = special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at, escaped)),
            Some(b'\\') => {
                escaped = true;
                at = escape_end(bytes, at)?;
            }
            Some(_) => return Err(control(at)),
            None => {
                return Err(Error { offset: at, message: "string without an end" });
            }
        }
    }
}

fn control(offset: usize) -> Error {
    Error { offset, message: "control character in a string" }
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
    let &[a, b, c, d]: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    let value = |digit: u8| u32::from(HEX[usize::from(digit)]);
    let (a, b, c, d) = (value(a), value(b), value(c), value(d));
    if (a | b | c | d) > 0xf {
        return None;
    }
    Some(a << 12 | b << 8 | c << 4 | d)
}
