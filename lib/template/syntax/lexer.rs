//! Source to tokens, as the lexer of jinja2 3.1 does it with `trim_blocks` and `lstrip_blocks`.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::error::{Error, Result};
use crate::text::is_space;
use crate::value::{Value, integer};

/// A piece of the source.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// Text outside of tags.
    Data(Arc<str>),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(Arc<str>),
    Text(String),
    Number(Value),
    Operator(&'static str),
    End,
}

#[derive(Debug, Clone)]
pub struct Place {
    pub token: Token,
    pub line: usize,
}

/// Longer ones first.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

struct Lexer<'s> {
    source: &'s str,
    position: usize,
    line: usize,
    tokens: Vec<Place>,
    /// Whether what was read last ends a line.
    is_line_start: bool,
}

/// All tokens of a template; the last is the end.
pub fn tokens(source: &str) -> Result<Vec<Place>> {
    let mut text = source.replace("\r\n", "\n").replace('\r', "\n");
    if text.ends_with('\n') {
        text.pop();
    }
    let mut lexer =
        Lexer { source: &text, position: 0, line: 1, tokens: Vec::new(), is_line_start: true };
    lexer.run()?;
    lexer.push(Token::End);
    Ok(lexer.tokens)
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.position..]
    }

    fn push(&mut self, token: Token) {
        self.tokens.push(Place { token, line: self.line });
    }

    fn fail<T>(&self, cause: impl Into<String>) -> Result<T> {
        Err(Box::new(Error::Syntax { line: self.line, cause: cause.into() }))
    }

    /// Goes on by some bytes.
    fn advance(&mut self, bytes: usize) {
        let passed = &self.rest()[..bytes];
        self.line += passed.matches('\n').count();
        if bytes > 0 {
            self.is_line_start = passed.ends_with('\n');
        }
        self.position += bytes;
    }

    fn run(&mut self) -> Result<()> {
        while !self.rest().is_empty() {
            let rest = self.rest();
            let tag = rest
                .match_indices('{')
                .map(|(at, _)| at)
                .find(|at| matches!(rest.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')));
            let Some(at) = tag else {
                self.push(Token::Data(rest.into()));
                self.advance(rest.len());
                return Ok(());
            };
            let is_variable = rest.as_bytes()[at + 1] == b'{';
            let sign = rest.as_bytes().get(at + 2).copied().filter(|sign| b"+-".contains(sign));
            let data = self.stripped(&rest[..at], sign, !is_variable);
            if !data.is_empty() {
                self.push(Token::Data(data.into()));
            }
            let opening = at + 2 + usize::from(sign.is_some());
            match rest.as_bytes()[at + 1] {
                b'{' => {
                    self.advance(opening);
                    self.push(Token::VariableBegin);
                    self.tag("}}", Token::VariableEnd)?;
                }
                b'#' => {
                    self.advance(opening);
                    self.comment()?;
                }
                _ => match raw_begin(&rest[opening..]) {
                    Some(length) => {
                        self.advance(opening + length);
                        self.raw()?;
                    }
                    None => {
                        self.advance(opening);
                        self.push(Token::BlockBegin);
                        self.tag("%}", Token::BlockEnd)?;
                    }
                },
            }
        }
        Ok(())
    }

    /// Text before a tag without the spaces that the tag takes.
    fn stripped<'t>(&self, text: &'t str, sign: Option<u8>, takes_indent: bool) -> &'t str {
        if sign == Some(b'-') {
            return text.trim_end_matches(is_space);
        }
        if sign.is_none() && takes_indent {
            let line = text.rfind('\n').map_or(0, |at| at + 1);
            let indent = &text[line..];
            if (line > 0 || self.is_line_start) && indent.chars().all(is_space) {
                return &text[..line];
            }
        }
        text
    }

    fn comment(&mut self) -> Result<()> {
        let rest = self.rest();
        let Some(end) = rest.find("#}") else {
            return self.fail("Missing end of comment tag");
        };
        // (A sign belongs to the tag, if there is room for one.)
        let sign = rest[..end].bytes().last();
        self.advance(end + 2);
        self.after_tag(sign, true);
        Ok(())
    }

    /// Passes the spaces that the end of a tag takes.
    fn after_tag(&mut self, sign: Option<u8>, trims: bool) {
        let rest = self.rest();
        match sign {
            Some(b'-') => self.advance(rest.len() - rest.trim_start_matches(is_space).len()),
            Some(b'+') => {}
            _ if trims && rest.starts_with('\n') => self.advance(1),
            _ => {}
        }
    }

    fn raw(&mut self) -> Result<()> {
        let rest = self.rest();
        for (at, _) in rest.match_indices("{%") {
            let after = &rest[at + 2..];
            let sign = after.bytes().next().filter(|sign| b"+-".contains(sign));
            let after = &after[usize::from(sign.is_some())..];
            let Some(name) = after.trim_start_matches(is_space).strip_prefix("endraw") else {
                continue;
            };
            let end = name.trim_start_matches(is_space);
            let (end_sign, end) = match end.as_bytes().first() {
                Some(sign @ (b'-' | b'+')) => (Some(*sign), &end[1..]),
                _ => (None, end),
            };
            let Some(tail) = end.strip_prefix("%}") else { continue };
            let data = self.stripped(&rest[..at], sign, true);
            if !data.is_empty() {
                self.push(Token::Data(data.into()));
            }
            self.advance(rest.len() - tail.len());
            self.after_tag(end_sign, true);
            return Ok(());
        }
        self.fail("Missing end of raw directive")
    }

    /// The tokens in a tag, to its end.
    fn tag(&mut self, end: &str, end_token: Token) -> Result<()> {
        let mut open: Vec<&'static str> = Vec::new();
        let is_block = end == "%}";
        loop {
            let rest = self.rest();
            if open.is_empty() {
                let sign = rest.bytes().next().filter(|sign| {
                    (*sign == b'-' || (is_block && *sign == b'+')) && rest[1..].starts_with(end)
                });
                if sign.is_some() || rest.starts_with(end) {
                    self.push(end_token);
                    self.advance(end.len() + usize::from(sign.is_some()));
                    self.after_tag(sign, is_block);
                    return Ok(());
                }
            }
            let Some(first) = rest.chars().next() else {
                return self.fail("unexpected end of template");
            };
            if is_space(first) {
                self.advance(first.len_utf8());
            } else if let Some((value, length)) = self.number(rest)? {
                self.push(Token::Number(value));
                self.advance(length);
            } else if is_word(first) {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                if first.is_numeric() {
                    return self.fail("Invalid character in identifier");
                }
                self.push(Token::Name(rest[..length].into()));
                self.advance(length);
            } else if first == '\'' || first == '"' {
                self.string(rest, first)?;
            } else {
                let Some(operator) = OPERATORS.iter().find(|text| rest.starts_with(**text)) else {
                    return self.fail(format!("unexpected char {first:?} at {}", self.position));
                };
                match *operator {
                    "(" => open.push(")"),
                    "[" => open.push("]"),
                    "{" => open.push("}"),
                    ")" | "]" | "}" => match open.pop() {
                        None => return self.fail(format!("unexpected '{operator}'")),
                        Some(expected) if expected != *operator => {
                            return self
                                .fail(format!("unexpected '{operator}', expected '{expected}'"));
                        }
                        Some(_) => {}
                    },
                    _ => {}
                }
                self.push(Token::Operator(operator));
                self.advance(operator.len());
            }
        }
    }

    fn string(&mut self, rest: &str, quote: char) -> Result<()> {
        let mut is_escaped = false;
        let inner = &rest[1..];
        let end = inner.char_indices().find(|(_, c)| {
            let ends = *c == quote && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        let Some((end, _)) = end else {
            return self.fail(format!("unexpected char {quote:?} at {}", self.position));
        };
        match unescaped(&inner[..end]) {
            Ok(text) => self.push(Token::Text(text)),
            Err(cause) => return self.fail(cause),
        }
        self.advance(end + 2);
        Ok(())
    }

    /// A number at the start of a text, and how long it is.
    fn number(&self, rest: &str) -> Result<Option<(Value, usize)>> {
        let bytes = rest.as_bytes();
        if !bytes.first().is_some_and(u8::is_ascii_digit) {
            return Ok(None);
        }
        let is_after_dot = self.source[..self.position].ends_with('.');
        if !is_after_dot && let Some(length) = float_length(bytes) {
            let text = rest[..length].replace('_', "");
            let value: f64 = text.parse().unwrap_or(f64::NAN);
            return Ok(Some((Value::Float(value), length)));
        }
        for (prefix, radix) in [("0b", 2), ("0o", 8), ("0x", 16)] {
            if rest.len() > 2 && rest.is_char_boundary(2) && rest[..2].eq_ignore_ascii_case(prefix)
            {
                let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
                let length = digits(&bytes[2..], is_digit, true);
                if length > 0 {
                    let text = rest[2..2 + length].replace('_', "");
                    let value = BigInt::parse_bytes(text.as_bytes(), radix).unwrap_or_default();
                    return Ok(Some((integer(value), 2 + length)));
                }
            }
        }
        let length = match bytes[0] {
            b'0' => 1 + digits(&bytes[1..], |byte| *byte == b'0', true),
            _ => digits(bytes, u8::is_ascii_digit, false),
        };
        let text = rest[..length].replace('_', "");
        match Value::integer_of(&text) {
            Some(value) => Ok(Some((value, length))),
            None => self.fail("an integer of more than 4300 digits"),
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of `raw %}` or the like.
fn raw_begin(text: &str) -> Option<usize> {
    let after = text.trim_start_matches(is_space).strip_prefix("raw")?;
    let after = after.trim_start_matches(is_space);
    let after = match after.strip_prefix("-%}") {
        Some(after) => after.trim_start_matches(is_space),
        None => after.strip_prefix("%}")?,
    };
    Some(text.len() - after.len())
}

/// The length of digits, between which single underscores may stand.
fn digits(bytes: &[u8], is_digit: impl Fn(&u8) -> bool, may_begin_so: bool) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if is_digit(byte) {
            at += 1;
        } else if *byte == b'_'
            && (at > 0 || may_begin_so)
            && bytes.get(at + 1).is_some_and(&is_digit)
        {
            at += 2;
        } else {
            break;
        }
    }
    at
}

fn float_length(bytes: &[u8]) -> Option<usize> {
    let decimal = |at: usize| digits(&bytes[at.min(bytes.len())..], u8::is_ascii_digit, false);
    let mut at = decimal(0);
    let mut is_float = false;
    if bytes.get(at) == Some(&b'.') && decimal(at + 1) > 0 {
        at += 1 + decimal(at + 1);
        is_float = true;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let length = decimal(at + 1 + sign);
        if length > 0 {
            at += 1 + sign + length;
            is_float = true;
        }
    }
    is_float.then_some(at)
}

/// A string literal, as Python's `unicode-escape` reads it.
fn unescaped(text: &str) -> std::result::Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escape) = chars.next() else { return Err("\\ at end of string".into()) };
        let found = match escape {
            '\n' => continue,
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            'a' => Ok('\x07'),
            'b' => Ok('\x08'),
            'f' => Ok('\x0c'),
            'v' => Ok('\x0b'),
            '\\' | '\'' | '"' => Ok(escape),
            'x' => Err(2),
            'u' => Err(4),
            'U' => Err(8),
            'N' => return Err("names of characters (\\N) are not read".into()),
            '0'..='7' => {
                let mut value = escape.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    chars.next();
                    value = value * 8 + digit;
                }
                char::from_u32(value).map_or(Err(0), Ok)
            }
            // What is not ASCII was an escape itself by then.
            other if !other.is_ascii() => {
                let code = u32::from(other);
                out.push('\\');
                out.push_str(&match code {
                    0..=0xff => format!("x{code:02x}"),
                    0x100..=0xffff => format!("u{code:04x}"),
                    _ => format!("U{code:08x}"),
                });
                continue;
            }
            other => {
                out.push('\\');
                out.push(other);
                continue;
            }
        };
        match found {
            Ok(c) => out.push(c),
            Err(count) => {
                let digits: String = chars.clone().take(count).collect();
                let is_hex = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_hex && count > 0);
                match code.and_then(char::from_u32) {
                    Some(c) => out.push(c),
                    None => return Err(format!("a bad escape: \\{escape}{digits}")),
                }
                chars.nth(count - 1);
            }
        }
    }
    Ok(out)
}
