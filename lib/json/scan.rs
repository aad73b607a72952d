//! Finding the special bytes in strings, 32 or 64 bytes at a time.

use super::Error;
use super::string::Escapes;
use gristmill_simd::{Instructions, SimdLevel, SimdTask, StringMasks, json_specials};

/// How many bytes are looked at together.
pub(super) const BLOCK: usize = 32;
/// How many bytes are looked at together in the search for the end of a string.
const WINDOW: usize = 64;

/// Returns the offset of the first quote, backslash or control character at or after `at`.
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

/// Returns the end of a string of at most 16 bytes without escapes; none for others, and for errors. (A search for the
/// end of longer ones takes twice the instructions for a key or a token.)
#[inline]
pub(super) fn short_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    const TOPS: u64 = ONES << 7;
    // The top bit of each byte that is 0. (Of bytes behind the first that is 0, some others may have it, too.)
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let mut at = start;
    for _ in 0..2 {
        let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        let controls = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
        let found = quotes | zeros(word ^ (ONES * u64::from(b'\\'))) | controls;
        if found != 0 {
            let at = at + found.trailing_zeros() as usize / 8;
            return (bytes[at] == b'"').then_some(at);
        }
        at += 8;
    }
    None
}

/// The end of a string.
pub(super) struct End {
    /// The offset of its last quote.
    pub at: usize,
    /// Whether it has an escape.
    pub escaped: bool,
    /// Whether it has an escape that `write_string` does not make.
    pub other: bool,
    /// How many bytes are not characters of its value: all bytes of an escape but one, and all
    /// bytes of a UTF-8 character but the first. Only `string_end::<true>` counts them.
    pub extra: usize,
}

/// Finds the end of the string whose content starts at `start`. With `COUNT`, the same pass counts
/// the characters of its value, and a lone surrogate is an error.
pub(super) fn string_end<const COUNT: bool>(
    simd: SimdLevel,
    text: &str,
    start: usize,
) -> Result<End, Error> {
    simd.run(StringEnd::<COUNT> { bytes: text.as_bytes(), start })
}

struct StringEnd<'a, const COUNT: bool> {
    bytes: &'a [u8],
    start: usize,
}

impl<const COUNT: bool> SimdTask for StringEnd<'_, COUNT> {
    type Output = Result<End, Error>;

    #[inline(always)]
    fn run<I: Instructions>(self) -> Result<End, Error> {
        let bytes = self.bytes;
        let mut end = End { at: self.start, escaped: false, other: false, extra: 0 };
        'windows: while let Some(window) = bytes.get(end.at..).and_then(<[u8]>::first_chunk) {
            let StringMasks { mut specials, later } = I::string_masks(window);
            while specials != 0 {
                let place = specials.trailing_zeros() as usize;
                match window[place] {
                    b'"' => {
                        end.count::<COUNT>(later & !(u64::MAX << place));
                        end.at += place;
                        return Ok(end);
                    }
                    b'\\' => {}
                    _ => return Err(control(end.at + place)),
                }
                // The bytes of the escape are not looked at again.
                let after = end.escape::<COUNT>(bytes, end.at + place)?;
                match after - end.at {
                    within @ ..WINDOW => specials &= u64::MAX << within,
                    _ => {
                        end.count::<COUNT>(later);
                        end.at = after;
                        // In text of other scripts, escapes come in runs.
                        while bytes.get(end.at) == Some(&b'\\') {
                            end.at = end.escape::<COUNT>(bytes, end.at)?;
                        }
                        continue 'windows;
                    }
                }
            }
            end.count::<COUNT>(later);
            end.at += WINDOW;
        }
        loop {
            let stop = special(bytes, end.at);
            if COUNT {
                let later = |&&byte: &&u8| matches!(byte, 0x80..0xc0);
                end.extra += bytes[end.at..stop].iter().filter(later).count();
            }
            end.at = stop;
            match bytes.get(stop) {
                Some(b'"') => return Ok(end),
                Some(b'\\') => end.at = end.escape::<COUNT>(bytes, stop)?,
                Some(_) => return Err(control(stop)),
                None => {
                    return Err(Error { offset: stop, message: "string without an end" });
                }
            }
        }
    }
}

impl End {
    pub fn escapes(&self) -> Escapes {
        match (self.escaped, self.other) {
            (false, _) => Escapes::None,
            (true, false) => Escapes::Written,
            (true, true) => Escapes::Any,
        }
    }

    /// Counts the bytes of a mask.
    #[inline(always)]
    fn count<const COUNT: bool>(&mut self, later: u64) {
        if COUNT {
            self.extra += later.count_ones() as usize;
        }
    }

    /// Notes the escape at `at` and returns the offset after it.
    #[inline(always)]
    fn escape<const COUNT: bool>(&mut self, bytes: &[u8], at: usize) -> Result<usize, Error> {
        self.escaped = true;
        let mut after = escape_end(bytes, at)?;
        self.other |= !is_written(&bytes[at..after]);
        if COUNT {
            // Two escapes may be one character.
            if after - at > 2 {
                (_, after) = unicode_escape(bytes, at)?;
            }
            self.extra += after - at - 1;
        }
        Ok(after)
    }
}

/// Whether `write_string` makes this escape.
#[inline]
fn is_written(escape: &[u8]) -> bool {
    match escape {
        [_, b'/'] => false,
        [_, _] => true,
        // (The others of these have short escapes.)
        [_, _, b'0', b'0', b'0', digit] => matches!(digit, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [_, _, b'0', b'0', b'1', digit] => matches!(digit, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
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

/// The values of hexadecimal digits; 0xff for other bytes.
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

/// Returns the value of the four hexadecimal digits at `at`.
#[inline]
fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let &[a, b, c, d]: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    let value = |digit: u8| u32::from(HEX[usize::from(digit)]);
    let (a, b, c, d) = (value(a), value(b), value(c), value(d));
    if (a | b | c | d) > 0xf {
        return None;
    }
    Some(a << 12 | b << 8 | c << 4 | d)
}

/// Returns the character of the escape `\u` at `at`, or of the two escapes of a surrogate pair, and
/// the offset after it.
#[inline]
pub(super) fn unicode_escape(bytes: &[u8], at: usize) -> Result<(char, usize), Error> {
    let error = |message| Error { offset: at, message };
    let Some(unit) = hex4(bytes, at + 2).filter(|_| bytes.get(at + 1) == Some(&b'u')) else {
        return Err(error("invalid escape in a string"));
    };
    if let Some(character) = char::from_u32(unit) {
        return Ok((character, at + 6));
    }
    let low = (bytes.get(at + 6) == Some(&b'\\') && bytes.get(at + 7) == Some(&b'u'))
        .then(|| hex4(bytes, at + 8))
        .flatten();
    match low {
        Some(low) if unit < 0xdc00 && (0xdc00..0xe000).contains(&low) => {
            let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            match char::from_u32(code) {
                Some(character) => Ok((character, at + 12)),
                None => Err(error("lone surrogate")),
            }
        }
        _ => Err(error("lone surrogate")),
    }
}
