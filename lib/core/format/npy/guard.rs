//! Checks a header before npyz reads it. npyz's parser is recursive, and tries the last item of
//! every bracket twice: each structure inside another takes four times as long (54 ms for seven,
//! hours for sixteen). It makes one allocation in another for every axis, and multiplies a shape
//! unchecked (so it gets a shape of zeros, and the lengths are kept here). So the text of a header
//! is read here first: once, without recursion, within the limits below. The result says the same
//! in the form for which npyz needs one attempt: no white space, a comma after every item.
//!
//! Forms that npyz does not read are replaced: titles of fields, Python 2's `u'name'` and `3L`,
//! a field's length without a tuple, types without or with a needless byte order.

use npyz::TypeStr;

use super::Error;

/// The deepest nesting of brackets: sixteen structures in one another, and a shape.
const MAX_DEPTH: usize = 36;
/// The most items of a tuple; NumPy's arrays have up to 64 axes.
const MAX_ITEMS: usize = 64;
/// The most bytes of an element, as in NumPy.
const MAX_ITEM_BYTES: u64 = i32::MAX as u64;

const KEYS: [&str; 3] = ["descr", "fortran_order", "shape"];

/// Returns the same dictionary as a literal that npyz reads in linear time, with zeros in its
/// shape, and the shape itself. Only white space may follow the dictionary.
pub(super) fn canonical(text: &str) -> Result<(String, Vec<u64>), Error> {
    let out = String::with_capacity(text.len() + text.len() / 8);
    let mut guard =
        Guard { text, at: 0, out, open: Vec::new(), keys: Vec::new(), shape: Vec::new() };
    guard.take("{", "a dictionary")?;
    guard.enter('{')?;
    while let Some(next) = guard.next() {
        guard.item(next)?;
    }
    if !guard.open.is_empty() {
        return Err(guard.expected("`,` or a closing bracket"));
    }
    if guard.keys.len() != KEYS.len() {
        return Err(guard.expected("all of the keys descr, fortran_order, shape"));
    }
    Ok((guard.out, guard.shape))
}

struct Guard<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// The brackets that are open, and their commas so far.
    open: Vec<(char, usize)>,
    keys: Vec<&'a str>,
    shape: Vec<u64>,
}

impl<'a> Guard<'a> {
    fn expected(&self, expected: &'static str) -> Error {
        Error::Syntax { offset: self.at, expected }
    }

    /// Returns the next character that is not white space.
    fn next(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start_matches([' ', '\n', '\r', '\t']);
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn take(&mut self, token: &str, expected: &'static str) -> Result<(), Error> {
        self.next();
        if !self.text[self.at..].starts_with(token) {
            return Err(self.expected(expected));
        }
        self.at += token.len();
        Ok(())
    }

    fn enter(&mut self, bracket: char) -> Result<(), Error> {
        if self.open.len() == MAX_DEPTH {
            return Err(self.expected("fewer structures inside structures"));
        }
        self.open.push((bracket, 0));
        self.out.push(bracket);
        Ok(())
    }

    /// Reads one item, or what is between items.
    fn item(&mut self, next: char) -> Result<(), Error> {
        let after_item = !self.out.ends_with(['{', '(', '[', ',', ':']);
        let Some((bracket, commas)) = self.open.last_mut() else {
            return Err(self.expected("the end"));
        };
        match (next, *bracket) {
            (',', _) if after_item => {
                *commas += 1;
                if *bracket == '(' && *commas > MAX_ITEMS {
                    return Err(self.expected("fewer axes"));
                }
                self.at += 1;
                self.out.push(',');
                Ok(())
            }
            ('}', '{') | (')', '(') | (']', '[') if !self.out.ends_with(':') => {
                // Without a comma `(3)` is not a tuple but an integer.
                if after_item && *bracket == '(' && *commas == 0 {
                    return Err(self.expected("`,`"));
                }
                self.open.pop();
                self.at += 1;
                self.out.push_str(if after_item { "," } else { "" });
                self.out.push(next);
                Ok(())
            }
            _ if after_item => Err(self.expected("`,` or a closing bracket")),
            (_, '{') if !self.out.ends_with(':') => self.key(),
            ('(', '(') if self.out.ends_with('(') => self.titled_name(),
            ('(', _) | ('[', '(' | '{') => {
                self.enter(next)?;
                self.at += 1;
                Ok(())
            }
            (_, '[') => Err(self.expected("a field")),
            ('\'' | '"' | 'u', _) => self.name_or_type(),
            ('0'..='9', _) => self.integer(),
            ('T' | 'F', _) => self.boolean(),
            _ => Err(self.expected(match self.keys.last() {
                Some(&"descr") => "a type or a list of fields",
                Some(&"shape") => "a length",
                _ => "True or False",
            })),
        }
    }

    fn key(&mut self) -> Result<(), Error> {
        let offset = self.at;
        let quoted = self.string()?;
        let key = &quoted[1..quoted.len() - 1];
        if !KEYS.contains(&key) || self.keys.contains(&key) {
            let expected = "one each of the keys descr, fortran_order, shape";
            return Err(Error::Syntax { offset, expected });
        }
        self.keys.push(key);
        self.take(":", "`:`")?;
        self.out += quoted;
        self.out.push(':');
        if key == "shape" && self.next() != Some('(') {
            return Err(self.expected("a tuple of lengths"));
        }
        Ok(())
    }

    /// Reads a pair of title and name in place of the name.
    fn titled_name(&mut self) -> Result<(), Error> {
        self.take("(", "a title")?;
        self.string()?;
        self.take(",", "`,`")?;
        let name = self.string()?;
        self.out += name;
        self.take(")", "`)`")
    }

    /// Reads a name or a type: the first item of a tuple is a name; all others, and the value of
    /// `descr`, are types.
    fn name_or_type(&mut self) -> Result<(), Error> {
        let quoted = self.string()?;
        let is_descr = self.out.ends_with(':') && self.keys.last() == Some(&"descr");
        if is_descr || self.out.ends_with(',') {
            self.out += &format!("'{}'", scalar(&quoted[1..quoted.len() - 1])?);
        } else {
            self.out += quoted;
        }
        Ok(())
    }

    /// Reads a string with its quotes. Its escapes are kept.
    fn string(&mut self) -> Result<&'a str, Error> {
        self.next();
        // Python 2 wrote u'...' for some names.
        let rest = &self.text[self.at..];
        let rest = rest.strip_prefix('u').unwrap_or(rest);
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return Err(self.expected("a string"));
        };
        self.at = self.text.len() - rest.len() + 1;
        let mut is_escaped = false;
        for (i, character) in rest.char_indices().skip(1) {
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '\n' | '\r' => break,
                _ if character == quote => {
                    self.at += i;
                    return Ok(&rest[..=i]);
                }
                _ => {}
            }
        }
        Err(self.expected("a closed string"))
    }

    fn integer(&mut self) -> Result<(), Error> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let mut value: u64 = rest[..end].parse().map_err(|_| Error::Overflow)?;
        self.at += end;
        // Python 2 wrote long integers as 3L.
        if rest[end..].starts_with('L') {
            self.at += 1;
        }
        if self.keys.last() == Some(&"shape") {
            self.shape.push(std::mem::take(&mut value));
        }
        // After its type a field may have one length in place of a tuple.
        if self.out.ends_with("',") || self.out.ends_with("],") {
            self.out += &format!("({value},)");
        } else {
            self.out += &value.to_string();
        }
        Ok(())
    }

    fn boolean(&mut self) -> Result<(), Error> {
        let word = if self.text[self.at..].starts_with('T') { "True" } else { "False" };
        self.take(word, "True or False")?;
        self.out += word;
        Ok(())
    }
}

/// Returns a scalar's text, such as `<u4` or `|V2`: with the machine's byte order for `=`, and
/// without a byte order if the type has none.
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
