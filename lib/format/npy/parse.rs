//! The text of a header: a Python dictionary literal, as far as headers use that language.

use std::collections::HashSet;

use super::{ByteOrder, Dtype, Error, Field, Header, Scalar};

/// Structures inside structures that are read.
const MAX_DEPTH: usize = 16;

/// Reads the dictionary of a header; only white space may follow it.
pub(super) fn header(text: &str) -> Result<Header, Error> {
    let mut parser = Parser { text, at: 0 };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    parser.take('{', "a dictionary")?;
    while !parser.accept('}') {
        let at = parser.at;
        let key = parser.string()?;
        parser.take(':', "`:`")?;
        let twice = match key.as_str() {
            "descr" => descr.replace(parser.dtype(0)?).is_some(),
            "fortran_order" => fortran_order.replace(parser.boolean()?).is_some(),
            "shape" => shape.replace(parser.tuple()?).is_some(),
            _ => true,
        };
        if twice {
            let expected = "one each of the keys descr, fortran_order, shape";
            return Err(Error::Header { offset: at, expected });
        }
        if !parser.accept(',') {
            parser.take('}', "`,` or `}`")?;
            break;
        }
    }
    parser.white_space();
    if parser.at != text.len() {
        return Err(parser.expected("the end"));
    }
    match (descr, fortran_order, shape) {
        (Some(dtype), Some(fortran_order), Some(shape)) => {
            Ok(Header { dtype, fortran_order, shape })
        }
        _ => Err(parser.expected("all of the keys descr, fortran_order, shape")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn expected(&self, expected: &'static str) -> Error {
        Error::Header { offset: self.at, expected }
    }

    fn white_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\n', '\r', '\t']).len();
    }

    fn accept(&mut self, character: char) -> bool {
        self.white_space();
        let found = self.rest().starts_with(character);
        if found {
            self.at += character.len_utf8();
        }
        found
    }

    fn take(&mut self, character: char, expected: &'static str) -> Result<(), Error> {
        if self.accept(character) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// A string in single or double quotes. Of escapes only those of quotes and backslashes
    /// are taken, which is all that names of fields need.
    fn string(&mut self) -> Result<String, Error> {
        self.white_space();
        // Python 2 wrote u'...' for some names.
        if self.rest().starts_with("u'") || self.rest().starts_with("u\"") {
            self.at += 1;
        }
        let quote = match self.rest().chars().next() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.expected("a string")),
        };
        self.at += 1;
        let mut value = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((i, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, escaped @ ('\'' | '"' | '\\'))) => value.push(escaped),
                    _ => {
                        self.at += i;
                        return Err(self.expected("no such escape"));
                    }
                },
                _ if character == quote => {
                    self.at += i + 1;
                    return Ok(value);
                }
                _ => value.push(character),
            }
        }
        Err(self.expected("a closed string"))
    }

    fn boolean(&mut self) -> Result<bool, Error> {
        self.white_space();
        for (word, value) in [("True", true), ("False", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("True or False"))
    }

    fn integer(&mut self) -> Result<u64, Error> {
        self.white_space();
        let digits =
            self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let value = self.rest()[..digits].parse();
        let value = match value {
            Ok(value) => value,
            Err(_) if digits > 0 => return Err(Error::Overflow),
            Err(_) => return Err(self.expected("a length")),
        };
        self.at += digits;
        // Python 2 wrote long integers as 3L.
        if self.rest().starts_with('L') {
            self.at += 1;
        }
        Ok(value)
    }

    fn tuple(&mut self) -> Result<Vec<u64>, Error> {
        self.take('(', "a tuple of lengths")?;
        let mut lengths = Vec::new();
        while !self.accept(')') {
            lengths.push(self.integer()?);
            if !self.accept(',') {
                // Without a comma `(3)` would be no tuple, but an integer.
                if lengths.len() == 1 {
                    return Err(self.expected("`,`"));
                }
                self.take(')', "`,` or `)`")?;
                break;
            }
        }
        Ok(lengths)
    }

    fn dtype(&mut self, depth: usize) -> Result<Dtype, Error> {
        if depth > MAX_DEPTH {
            return Err(self.expected("fewer structures inside structures"));
        }
        if !self.accept('[') {
            let text = self.string()?;
            return scalar(&text).map(Dtype::Scalar);
        }
        let mut fields: Vec<Field> = Vec::new();
        while !self.accept(']') {
            fields.push(self.field(depth)?);
            if !self.accept(',') {
                self.take(']', "`,` or `]`")?;
                break;
            }
        }
        if fields.iter().all(Field::is_padding) {
            return Err(self.expected("a field"));
        }
        let mut names = HashSet::new();
        if fields.iter().any(|field| !field.is_padding() && !names.insert(field.name.as_str())) {
            return Err(self.expected("fields of different names"));
        }
        Ok(Dtype::Struct(fields))
    }

    fn field(&mut self, depth: usize) -> Result<Field, Error> {
        self.take('(', "a field")?;
        // A title makes the name a pair of title and name.
        let name = if self.accept('(') {
            self.string()?;
            self.take(',', "`,`")?;
            let name = self.string()?;
            self.take(')', "`)`")?;
            name
        } else {
            self.string()?
        };
        self.take(',', "`,`")?;
        let dtype = self.dtype(depth + 1)?;
        let mut shape = Vec::new();
        if !self.accept(')') {
            self.take(',', "`,` or `)`")?;
            if !self.accept(')') {
                shape = self.field_shape()?;
                self.accept(',');
                self.take(')', "`)`")?;
            }
        }
        Ok(Field { name, dtype, shape })
    }

    /// The shape of a field: a tuple, or one length.
    fn field_shape(&mut self) -> Result<Vec<usize>, Error> {
        self.white_space();
        let lengths =
            if self.rest().starts_with('(') { self.tuple()? } else { vec![self.integer()?] };
        let narrow = |length| usize::try_from(length).map_err(|_| Error::Overflow);
        lengths.into_iter().map(narrow).collect()
    }
}

/// Reads a scalar's text, such as `<u4` or `|V2`.
fn scalar(text: &str) -> Result<Scalar, Error> {
    let unknown = || Error::Type(format!("'{}'", text.chars().take(40).collect::<String>()));
    let (order, rest) = match text.as_bytes() {
        [b'<', rest @ ..] => (ByteOrder::Little, rest),
        [b'>', rest @ ..] => (ByteOrder::Big, rest),
        [b'=', rest @ ..] if cfg!(target_endian = "little") => (ByteOrder::Little, rest),
        [b'=', rest @ ..] => (ByteOrder::Big, rest),
        [b'|', rest @ ..] => (ByteOrder::None, rest),
        rest => (ByteOrder::None, rest),
    };
    let [kind, size @ ..] = rest else { return Err(unknown()) };
    if *kind == b'O' {
        return Err(Error::Pickled);
    }
    let size = std::str::from_utf8(size).ok().and_then(|size| size.parse::<usize>().ok());
    let size = size.filter(|&size| size <= i32::MAX as usize).ok_or_else(unknown)?;
    let known = match kind {
        b'b' => size == 1,
        b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
        b'f' => matches!(size, 2 | 4 | 8 | 16),
        b'c' => matches!(size, 8 | 16 | 32),
        b'S' | b'U' | b'V' => true,
        _ => false,
    };
    // Several bytes need an order; single ones have none, whatever is written.
    let orderless = matches!(kind, b'S' | b'V') || (size == 1 && *kind != b'U');
    match (known, orderless, order) {
        (false, ..) | (true, false, ByteOrder::None) => Err(unknown()),
        (true, true, _) => Ok(Scalar { order: ByteOrder::None, kind: *kind, size }),
        (true, false, _) => Ok(Scalar { order, kind: *kind, size }),
    }
}
