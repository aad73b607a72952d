//! A strict pull reader over JSON text in memory, and a writer of JSON strings.
//!
//! It borrows from the text, allocates nothing, and leaves the meaning of values to its
//! caller: numbers are given as their text, strings with their escapes.
//! The grammar is RFC 8259. It does not build trees and does not stream.
//!
//! Why no other crate is used: the filters need values as their original text (`messages` travels untouched, integers
//! are exact), byte offsets in errors, and Python's lenience as an option.
//! serde_json keeps numbers exactly only by a feature that changes every crate of a build (`arbitrary_precision`);
//! sonic-rs is fast by unsafe code, which hostile input would reach first.
//! Compared with crates, MB per second of processor time, best of 9 and more passes (2026-11-22, 2 cores of an AMD
//! EPYC; `json READER FILE 9` of benches/peers; token sequences with lists of integers, and conversations):
//!
//! | | tokens | conversations |
//! |---|---|---|
//! | this reader | 1,161 | 2,483 |
//! | serde_json 1.0 (typed, `RawValue`) | 312 | 1,845 |
//! | jiter 0.18 (pull) | 191 | 1,019 |
//!
//! (The two columns are from different runs. Reading one number at a time made 293 instead of 1,161.)

#![warn(missing_docs)]

mod cursor;
pub mod decimal;
mod floats;
mod integers;
mod number;
mod piece;
mod python;
mod scan;
mod string;

pub use cursor::Cursor;
pub use floats::{FLOAT_TEXT, Float};
pub use integers::{write_integer, write_integers};
pub use number::{integer_i64, integer_u64};
pub use piece::Piece;
pub use python::{PythonFormatter, repr as python_repr, write_ascii_string, write_repr_string};
pub use string::{Str, write_string};

use std::fmt;
use std::ops::Range;

use gristmill_simd::SimdLevel;
use string::Escapes;

/// The deepest nesting of arrays and objects that is read; more is an error.
pub const MAX_DEPTH: usize = 990;

/// The most digits of an integer that [`Reader::lenient`] takes, the limit of Python's `int`.
pub const MAX_LENIENT_DIGITS: usize = 4300;

/// The kind of a value, judged by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit or `-`; with [`Reader::lenient`] also the other beginnings of Python's numbers.
    Number,
    /// `t`
    True,
    /// `f`
    False,
    /// `n`
    Null,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::True => "true",
            Kind::False => "false",
            Kind::Null => "null",
        })
    }
}

/// The place at which the text is not what the caller asked for, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {offset}")]
pub struct Error {
    /// The byte offset in the text.
    pub offset: usize,
    /// The cause alone, without the place.
    pub message: &'static str,
}

/// A pull reader: the caller asks for the value that it expects and gets it or an [`Error`].
///
/// After an error the position is unspecified; the reader must not be used any more.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    lenient: bool,
    simd: SimdLevel,
}

impl<'a> Reader<'a> {
    /// Reads `text` strictly.
    pub fn new(text: &'a str) -> Self {
        Reader { text, at: 0, depth: 0, lenient: false, simd: SimdLevel::best() }
    }

    /// Reads `text` as Python's `json.loads` does: `NaN`, `Infinity` and `-Infinity` are
    /// numbers, and an integer of more than [`MAX_LENIENT_DIGITS`] digits is an error.
    pub fn lenient(text: &'a str) -> Self {
        Reader { lenient: true, ..Reader::new(text) }
    }

    /// Returns the whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the byte offset of the next read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the kind of the next value, judged by its first byte; skips white space.
    pub fn peek(&mut self) -> Result<Kind, Error> {
        self.white_space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b'N' | b'I') if self.lenient => Ok(Kind::Number),
            Some(b't') => Ok(Kind::True),
            Some(b'f') => Ok(Kind::False),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.error("expected a value")),
        }
    }

    /// Reads an object and calls `f` with every key, in order and with duplicates. `f` must consume
    /// the value (see [`Reader::skip`]).
    pub fn object<E: From<Error>>(
        &mut self,
        mut f: impl FnMut(&mut Self, Str<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.white_space();
        self.open(b'{', "expected an object")?;
        self.white_space();
        if self.byte() == Some(b'}') {
            self.close();
            return Ok(());
        }
        loop {
            self.white_space();
            if self.byte() != Some(b'"') {
                return Err(self.error("expected a key").into());
            }
            let key = self.string()?;
            self.colon()?;
            f(self, key)?;
            self.white_space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.close();
                    return Ok(());
                }
                _ => return Err(self.error("expected `,` or `}`").into()),
            }
        }
    }

    /// Reads an array and calls `f` at every element. `f` must consume it.
    pub fn array<E: From<Error>>(
        &mut self,
        mut f: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.white_space();
        self.open(b'[', "expected an array")?;
        self.white_space();
        if self.byte() == Some(b']') {
            self.close();
            return Ok(());
        }
        loop {
            f(self)?;
            self.white_space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.close();
                    return Ok(());
                }
                _ => return Err(self.error("expected `,` or `]`").into()),
            }
        }
    }

    /// Reads a string. Its escapes are checked for form, not for meaning: a lone surrogate
    /// is an error of [`Str::decode`].
    pub fn string(&mut self) -> Result<Str<'a>, Error> {
        self.white_space();
        if self.byte() != Some(b'"') {
            return Err(self.error("expected a string"));
        }
        let start = self.at + 1;
        if let Some(end) = scan::short_string_end(self.text.as_bytes(), start) {
            self.at = end + 1;
            return Ok(Str::new(self.text, start, end, Escapes::None));
        }
        let end = scan::string_end::<false>(self.simd, self.text, start)?;
        self.at = end.at + 1;
        Ok(Str::new(self.text, start, end.at, end.escapes()))
    }

    /// Reads a string and returns the number of characters of its value, without building it and in
    /// one pass over the text. A lone surrogate is an error.
    pub fn characters(&mut self) -> Result<u64, Error> {
        self.white_space();
        if self.byte() != Some(b'"') {
            return Err(self.error("expected a string"));
        }
        let start = self.at + 1;
        let end = scan::string_end::<true>(self.simd, self.text, start)?;
        self.at = end.at + 1;
        Ok((end.at - start - end.extra) as u64)
    }

    /// Reads a string. If it has escapes, also appends its value to `out` and returns the range of the value, which is
    /// quicker than reading the string first. A lone surrogate is left to [`Str::decode`].
    pub fn string_onto(
        &mut self,
        out: &mut String,
    ) -> Result<(Str<'a>, Option<Range<usize>>), Error> {
        self.white_space();
        let bytes = self.text.as_bytes();
        if self.byte() == Some(b'"') {
            let start = self.at + 1;
            let special = scan::special(bytes, start);
            let from = out.len();
            if bytes.get(special) == Some(&b'\\') {
                out.push_str(&self.text[start..special]);
                if let Ok(end) = string::decode(self.text, special, out) {
                    self.at = end + 1;
                    return Ok((
                        Str::new(self.text, start, end, Escapes::Any),
                        Some(from..out.len()),
                    ));
                }
                out.truncate(from);
            }
        }
        // The string has no escapes, or the error is found here.
        self.string().map(|string| (string, None))
    }

    /// Reads the next integers of an array, in a function that [`Reader::array`] calls: as many as are in the
    /// form of a compact writer (a few digits, no white space). `take` gets some at a time, and accepts all
    /// or none of them. Returns whether any were accepted; if not, the caller reads the next value in the
    /// general way.
    #[inline]
    pub fn plain_integers(&mut self, mut take: impl FnMut(&[u32]) -> bool) -> bool {
        let mut is_any = false;
        // If some integers are not accepted, those before the wrong one are read one by one.
        let mut most = integers::CHUNK;
        loop {
            let start = if is_any { self.at + 1 } else { self.at };
            let mut values = [0; integers::CHUNK];
            let bytes = self.text.as_bytes();
            if is_any && bytes.get(self.at) != Some(&b',') {
                return true;
            }
            let (count, end) = integers::read(bytes, start, &mut values[..most]);
            if count == 0 {
                return is_any;
            }
            if take(&values[..count]) {
                is_any = true;
                self.at = end;
            } else if count == 1 {
                return is_any;
            } else {
                most = 1;
            }
        }
    }

    /// Lets `read` read values of a form that it knows. It gets the text and the offset at which to read, and
    /// returns the offset after its values. These must be whole values of this depth, with commas between
    /// them.
    #[inline]
    pub fn go_on(&mut self, read: impl FnOnce(&'a str, usize) -> usize) {
        self.at = read(self.text, self.at);
    }

    /// Reads a number and returns its text.
    pub fn number(&mut self) -> Result<&'a str, Error> {
        self.white_space();
        let start = self.at;
        let end = number::end(self.text, start, self.lenient)?;
        self.at = end;
        Ok(&self.text[start..end])
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool, Error> {
        self.white_space();
        match self.byte() {
            Some(b't') => self.literal("true").map(|()| true),
            Some(b'f') => self.literal("false").map(|()| false),
            _ => Err(self.error("expected true or false")),
        }
    }

    /// Reads `null`.
    pub fn null(&mut self) -> Result<(), Error> {
        self.white_space();
        match self.byte() {
            Some(b'n') => self.literal("null"),
            _ => Err(self.error("expected null")),
        }
    }

    /// Checks and skips one value of any kind. Nesting uses no stack.
    pub fn skip(&mut self) -> Result<(), Error> {
        // One bit per open bracket: 1 is an object.
        let mut open = [0u64; MAX_DEPTH / 64 + 1];
        let outside = self.depth;
        loop {
            let kind = self.peek()?;
            match kind {
                Kind::Object | Kind::Array => {
                    let is_object = kind == Kind::Object;
                    let (bracket, end) = if is_object { (b'{', b'}') } else { (b'[', b']') };
                    self.open(bracket, "expected a value")?;
                    let (word, bit) = (self.depth / 64, self.depth % 64);
                    open[word] = open[word] & !(1 << bit) | u64::from(is_object) << bit;
                    self.white_space();
                    if self.byte() == Some(end) {
                        self.close();
                    } else {
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Kind::String => {
                    self.string()?;
                }
                Kind::Number => {
                    self.number()?;
                }
                Kind::True => self.literal("true")?,
                Kind::False => self.literal("false")?,
                Kind::Null => self.literal("null")?,
            }
            // A value has ended: close all arrays and objects that end with it, up to the next element.
            loop {
                if self.depth == outside {
                    return Ok(());
                }
                self.white_space();
                let is_object = open[self.depth / 64] >> (self.depth % 64) & 1 == 1;
                match (self.byte(), is_object) {
                    (Some(b','), true) => {
                        self.at += 1;
                        self.white_space();
                        self.key()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => self.close(),
                    (_, true) => return Err(self.error("expected `,` or `}`")),
                    (_, false) => return Err(self.error("expected `,` or `]`")),
                }
            }
        }
    }

    /// Reads one value of any kind and returns its text, checked, without the white space around
    /// it.
    pub fn raw(&mut self) -> Result<&'a str, Error> {
        self.white_space();
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
    }

    /// Returns the rest of the text, which is not looked at, without the white space at its end.
    pub fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_ascii_end();
        self.at = self.text.len();
        rest
    }

    /// Skips `value` if the text continues with it. `value` must be the text of a whole object, array or
    /// string that was read before, at this depth or deeper.
    pub fn accept(&mut self, value: &str) -> bool {
        self.white_space();
        let found = self.text.as_bytes()[self.at..].starts_with(value.as_bytes());
        if found {
            self.at += value.len();
        }
        found
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Result<(), Error> {
        self.white_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.error("expected the end")) }
    }

    /// Makes an error at the current position.
    pub fn error(&self, message: &'static str) -> Error {
        Error { offset: self.at, message }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn white_space(&mut self) {
        while let Some(byte @ (b' ' | b'\n' | b'\r' | b'\t')) = self.byte() {
            self.at += 1;
            if byte == b'\n' {
                self.indentation();
            }
        }
    }

    /// Skips the spaces at the start of a line, eight at a time.
    #[inline]
    fn indentation(&mut self) {
        const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
        let mut rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        while let Some((first, others)) = rest.split_first_chunk() {
            let spaces = (u64::from_le_bytes(*first) ^ SPACES).trailing_zeros() as usize / 8;
            self.at += spaces;
            if spaces < 8 {
                break;
            }
            rest = others;
        }
    }

    fn open(&mut self, bracket: u8, message: &'static str) -> Result<(), Error> {
        if self.byte() != Some(bracket) {
            return Err(self.error(message));
        }
        if self.depth == MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Steps over a closing bracket that the caller has seen.
    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.at += 1;
    }

    fn key(&mut self) -> Result<(), Error> {
        if self.byte() != Some(b'"') {
            return Err(self.error("expected a key"));
        }
        self.string()?;
        self.colon()
    }

    fn colon(&mut self) -> Result<(), Error> {
        self.white_space();
        if self.byte() != Some(b':') {
            return Err(self.error("expected `:`"));
        }
        self.at += 1;
        Ok(())
    }

    fn literal(&mut self, word: &'static str) -> Result<(), Error> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.error("expected a value"))
        }
    }
}

#[cfg(test)]
mod tests;
