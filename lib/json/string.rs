//! Strings in the text, their decoding, and the writing of strings.

use super::Error;
use super::scan::{self, BLOCK};
use gristmill_simd::json_specials;

/// The text between the quotes of a string: its form is checked, its escapes are not decoded.
#[derive(Clone, Copy, Debug)]
pub struct Str<'a> {
    /// The whole JSON text: the quote after the string ends a search in it.
    text: &'a str,
    start: usize,
    end: usize,
    escapes: Escapes,
}

/// The escapes in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    None,
    /// Only those that [`write_string`] makes.
    Written,
    /// Perhaps others.
    Any,
}

/// The character for a letter after a backslash; 0 for `u` and for invalid escapes.
static SIMPLE: [u8; 256] = {
    let mut table = [0; 256];
    let known = *b"\"\"\\\\//b\x08f\x0cn\nr\rt\t";
    let mut at = 0;
    while at < known.len() {
        table[known[at] as usize] = known[at + 1];
        at += 2;
    }
    table
};

impl<'a> Str<'a> {
    pub(super) fn new(text: &'a str, start: usize, end: usize, escapes: Escapes) -> Self {
        Str { text, start, end, escapes }
    }

    /// Returns the text between the quotes, not decoded.
    #[inline]
    pub fn raw(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// Returns the byte offset of the first byte after the opening quote.
    #[inline]
    pub fn offset(&self) -> usize {
        self.start
    }

    /// Returns the string's value if it has no escapes.
    #[inline]
    pub fn plain(&self) -> Option<&'a str> {
        (self.escapes == Escapes::None).then_some(self.raw())
    }

    /// Returns the text between the quotes if it is what [`write_string`] makes of the string's value.
    pub fn as_written(&self) -> Option<&'a str> {
        (self.escapes != Escapes::Any).then_some(self.raw())
    }

    /// Returns the string's value; `scratch` holds it if there are escapes. A lone surrogate is an
    /// error.
    pub fn decode<'b>(&self, scratch: &'b mut String) -> Result<&'b str, Error>
    where
        'a: 'b,
    {
        if let Some(plain) = self.plain() {
            return Ok(plain);
        }
        scratch.clear();
        self.decode_onto(scratch)?;
        Ok(scratch)
    }

    /// Appends the string's value to `out`. A lone surrogate is an error; the value before it is
    /// then in `out`.
    pub fn decode_onto(&self, out: &mut String) -> Result<(), Error> {
        if let Some(plain) = self.plain() {
            out.push_str(plain);
            return Ok(());
        }
        decode(self.text, self.start, out).map(drop)
    }

    /// Whether the string's value is `other`.
    #[inline]
    pub fn eq_str(&self, other: &str) -> bool {
        match self.escapes {
            Escapes::None => {
                self.text.as_bytes().get(self.start..self.end) == Some(other.as_bytes())
            }
            _ => self.decoded_is(other),
        }
    }

    fn decoded_is(&self, other: &str) -> bool {
        let mut rest = other;
        let mut at = self.start;
        while let Some(character) = self.text[at..self.end].chars().next() {
            let (character, next) = if character == '\\' {
                match self.escape(at) {
                    Ok(found) => found,
                    Err(_) => return false,
                }
            } else {
                (character, at + character.len_utf8())
            };
            match rest.strip_prefix(character) {
                Some(left) => rest = left,
                None => return false,
            }
            at = next;
        }
        rest.is_empty()
    }

    /// Returns the character of the escape at `at`, and the offset after it.
    #[inline]
    fn escape(&self, at: usize) -> Result<(char, usize), Error> {
        let bytes = self.text.as_bytes();
        match bytes.get(at + 1).map_or(0, |&letter| SIMPLE[usize::from(letter)]) {
            0 => scan::unicode_escape(bytes, at),
            byte => Ok((char::from(byte), at + 2)),
        }
    }
}

/// Appends the value of the string whose content begins at `start`, and returns the offset of its
/// closing quote. After an error the value before it is in `out`.
pub(super) fn decode(text: &str, start: usize, out: &mut String) -> Result<usize, Error> {
    let mut decoded = std::mem::take(out).into_bytes();
    let end = decode_bytes(text.as_bytes(), start, &mut decoded);
    // A second pass over the text costs 2.3 % of the instructions of a whole run (4.8 of 206
    // million, 2026-11-22: callgrind, `harmony-tok -q -j1 --to arrow` on conversations_1000.parquet
    // of tools/bench.sh). SAFETY: `decoded` had a string's bytes. Only whole characters were
    // added to it: pieces of the text that end at an ASCII byte or at the text's end, and decoded
    // escapes.
    *out = unsafe { String::from_utf8_unchecked(decoded) };
    end
}

/// Appends the string's value in UTF-8, whole characters only.
fn decode_bytes(bytes: &[u8], mut at: usize, out: &mut Vec<u8>) -> Result<usize, Error> {
    loop {
        match bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
            // The block is copied whole, before it is known how many of its bytes are needed.
            Some(block) => {
                let plain = json_specials(block).trailing_zeros() as usize;
                out.extend_from_slice(block);
                out.truncate(out.len() - BLOCK + plain);
                at += plain;
                if plain == BLOCK {
                    continue;
                }
            }
            None => {
                let stop = scan::special(bytes, at);
                out.extend_from_slice(&bytes[at..stop]);
                at = stop;
            }
        }
        // In text of other scripts, escapes come in runs. Most stand for one byte.
        while bytes.get(at) == Some(&b'\\') {
            let simple = bytes.get(at + 1).map_or(0, |&letter| SIMPLE[usize::from(letter)]);
            if simple != 0 {
                out.push(simple);
                at += 2;
                continue;
            }
            let (character, next) = scan::unicode_escape(bytes, at)?;
            let mut utf8 = [0; 4];
            let length = character.encode_utf8(&mut utf8).len();
            out.extend_from_slice(&utf8);
            out.truncate(out.len() - utf8.len() + length);
            at = next;
        }
        match bytes.get(at) {
            Some(b'"') => return Ok(at),
            Some(0x20..) => {}
            _ => return Err(error(at, "no end of a string")),
        }
    }
}

fn error(at: usize, message: &'static str) -> Error {
    Error { offset: at, message }
}

/// Appends `s` as a JSON string: quoted; only characters that must be escaped are, and other
/// characters beyond ASCII stay UTF-8.
pub fn write_string(out: &mut Vec<u8>, s: &str) {
    let bytes = s.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut at = 0;
    loop {
        let stop = scan::special(bytes, at);
        out.extend_from_slice(&bytes[at..stop]);
        let Some(&byte) = bytes.get(stop) else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(DIGITS[usize::from(byte >> 4)]);
                out.push(DIGITS[usize::from(byte & 15)]);
            }
        }
        at = stop + 1;
    }
    out.push(b'"');
}
