//! Reads the dictionary of a header, a Python literal, into the types of npyz. npyz's own parser is not used: it
//! tries the last item of every bracket twice (54 ms for seven nested structures, hours for sixteen), multiplies a
//! shape unchecked, and does not know titles of fields, Python 2's `u'name'` and `3L`, a field's length without a
//! tuple, and types that lack a byte order or have a needless one.

use std::collections::HashSet;
use std::str::Chars;

use npyz::{DType, Field, TypeStr};

use super::dtype::is_padding;
use super::{ArrayHeader, Error};

/// Maximum nesting of structures.
const MAX_DEPTH: usize = 17;
/// Maximum number of axes, as in NumPy.
const MAX_AXES: usize = 64;
/// Maximum size of an element, in bytes, as in NumPy.
const MAX_ITEM_BYTES: u64 = i32::MAX as u64;

const KEYS: &str = "one each of the keys descr, fortran_order, shape";

/// Reads a dictionary. Only white space may follow it.
pub(super) fn parse(text: &str) -> Result<ArrayHeader, Error> {
    let mut literal = Literal { text, at: 0 };
    let (mut descr, mut order, mut axes) = (None, None, None);
    literal.take("{", "a dictionary")?;
    literal.items('}', |literal| {
        literal.next();
        let offset = literal.at;
        let key = literal.text()?;
        literal.take(":", "`:`")?;
        let is_new = match &*key {
            "descr" => descr.replace(literal.dtype(0)?).is_none(),
            "fortran_order" => order.replace(literal.boolean()?).is_none(),
            "shape" => axes.replace(literal.shape()?).is_none(),
            _ => false,
        };
        if is_new { Ok(()) } else { Err(Error::Syntax { offset, expected: KEYS }) }
    })?;
    let (Some(dtype), Some(fortran_order), Some(shape)) = (descr, order, axes) else {
        return Err(literal.expected("all of the keys descr, fortran_order, shape"));
    };
    if literal.next().is_some() {
        return Err(literal.expected("the end"));
    }
    dtype.num_bytes().ok_or(Error::Overflow)?;
    Ok(ArrayHeader { dtype, fortran_order, shape })
}

struct Literal<'a> {
    text: &'a str,
    at: usize,
}

impl Literal<'_> {
    fn expected(&self, expected: &'static str) -> Error {
        Error::Syntax { offset: self.at, expected }
    }

    /// Returns the next character that is not white space.
    fn next(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start_matches([' ', '\n', '\r', '\t']);
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn take_if(&mut self, token: &str) -> bool {
        self.next();
        let is_there = self.text[self.at..].starts_with(token);
        self.at += if is_there { token.len() } else { 0 };
        is_there
    }

    fn take(&mut self, token: &str, expected: &'static str) -> Result<(), Error> {
        if self.take_if(token) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Reads items and the commas after them up to a closing bracket; returns whether the last item has one.
    fn items(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let (mut is_first, mut has_comma) = (true, false);
        while self.next() != Some(close) {
            if !is_first && !has_comma {
                return Err(self.expected("`,` or a closing bracket"));
            }
            item(self)?;
            (is_first, has_comma) = (false, self.take_if(","));
        }
        self.at += close.len_utf8();
        Ok(has_comma)
    }

    /// Reads a type, or the list of a structure's fields.
    fn dtype(&mut self, depth: usize) -> Result<DType, Error> {
        match self.next() {
            Some('[') if depth < MAX_DEPTH => self.structure(depth),
            Some('[') => Err(self.expected("fewer structures inside structures")),
            Some('\'' | '"' | 'u') => Ok(DType::Plain(scalar(&self.text()?)?)),
            _ => Err(self.expected("a type or a list of fields")),
        }
    }

    fn structure(&mut self, depth: usize) -> Result<DType, Error> {
        let (mut fields, mut names) = (Vec::new(), HashSet::new());
        self.take("[", "a list of fields")?;
        self.items(']', |literal| {
            let field = literal.field(depth)?;
            if !is_padding(&field) && !names.insert(field.name.clone()) {
                return Err(Error::Header(format!("two fields of the name {:?}", field.name)));
            }
            fields.push(field);
            Ok(())
        })?;
        if names.is_empty() {
            return Err(Error::Header("a structure without fields".to_string()));
        }
        Ok(DType::Record(fields))
    }

    /// Reads `(name, type)`, `(name, type, length)` or `(name, type, shape)`; the name may be a pair of a title and a
    /// name.
    fn field(&mut self, depth: usize) -> Result<Field, Error> {
        self.take("(", "a field")?;
        let is_titled = self.take_if("(");
        if is_titled {
            self.text()?;
            self.take(",", "`,`")?;
        }
        let name = self.text()?;
        if is_titled {
            self.take(")", "`)`")?;
        }
        self.take(",", "`,`")?;
        let mut dtype = self.dtype(depth + 1)?;
        if self.take_if(",") && self.next() != Some(')') {
            let shape = match self.next() {
                Some('(') => self.shape()?,
                _ => vec![self.length()?],
            };
            for length in shape.into_iter().rev() {
                dtype = DType::Array(length, Box::new(dtype));
            }
            self.take_if(",");
        }
        self.take(")", "`,` or a closing bracket")?;
        Ok(Field { name, dtype })
    }

    /// Reads a tuple of lengths.
    fn shape(&mut self) -> Result<Vec<u64>, Error> {
        let mut shape = Vec::new();
        self.take("(", "a tuple of lengths")?;
        let has_comma = self.items(')', |literal| {
            if shape.len() == MAX_AXES {
                return Err(literal.expected("fewer axes"));
            }
            shape.push(literal.length()?);
            Ok(())
        })?;
        // Without a comma `(3)` is not a tuple but an integer.
        if shape.len() == 1 && !has_comma {
            return Err(Error::Syntax { offset: self.at - 1, expected: "`,`" });
        }
        Ok(shape)
    }

    fn length(&mut self) -> Result<u64, Error> {
        self.next();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.expected("a length"));
        }
        let length = rest[..end].parse().map_err(|_| Error::Overflow)?;
        // Python 2 wrote long integers as 3L.
        self.at += end + usize::from(rest[end..].starts_with('L'));
        Ok(length)
    }

    fn boolean(&mut self) -> Result<bool, Error> {
        let is_true = self.take_if("True");
        if !is_true {
            self.take("False", "True or False")?;
        }
        Ok(is_true)
    }

    /// Reads a string, with the escapes that Python's `repr` writes.
    fn text(&mut self) -> Result<String, Error> {
        // Python 2 wrote u'...' for some names.
        let is_prefixed = self.take_if("u");
        let quote = self.text[self.at..].chars().next();
        let Some(quote) = quote.filter(|next| matches!(next, '\'' | '"')) else {
            self.at -= usize::from(is_prefixed);
            return Err(self.expected("a string"));
        };
        self.at += 1;
        let mut text = String::new();
        let mut rest = self.text[self.at..].chars();
        loop {
            text.push(match rest.next() {
                Some(next) if next == quote => break,
                None | Some('\n' | '\r') => return Err(self.expected("a closed string")),
                Some('\\') => {
                    escaped(&mut rest).ok_or(self.expected("a string of known escapes"))?
                }
                Some(next) => next,
            });
        }
        self.at = self.text.len() - rest.as_str().len();
        Ok(text)
    }
}

/// Reads the rest of an escape.
fn escaped(rest: &mut Chars<'_>) -> Option<char> {
    let digits = match rest.next()? {
        same @ ('\\' | '\'' | '"') => return Some(same),
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let number = (0..digits).try_fold(0, |sum, _| Some(sum * 16 + rest.next()?.to_digit(16)?));
    char::from_u32(number?)
}

/// Reads a scalar's type, such as `<u4` or `|V2`: with the machine's byte order for `=`, and without a byte order if
/// the type has none.
fn scalar(text: &str) -> Result<TypeStr, Error> {
    let machine = if cfg!(target_endian = "little") { "<" } else { ">" };
    let (order, rest) = match text.as_bytes().first() {
        Some(b'=') => (machine, &text[1..]),
        Some(b'<' | b'>' | b'|') => text.split_at(1),
        _ => ("|", text),
    };
    if rest.starts_with('O') {
        return Err(Error::Pickled);
    }
    [format!("|{rest}"), format!("{order}{rest}")]
        .iter()
        .find_map(|text| text.parse::<TypeStr>().ok())
        .filter(|scalar| scalar.size_field() <= MAX_ITEM_BYTES)
        .ok_or_else(|| Error::Type(text.chars().take(40).collect()))
}
