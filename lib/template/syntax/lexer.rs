//! Splits the source into tokens, as the lexer of jinja2 3.1 does with `trim_blocks` and `lstrip_blocks`.

use std::sync::Arc;

use super::literal::{number, unescaped};
use crate::error::{Error, Result};
use crate::text::is_space;
use crate::value::Value;

/// A token of the source.
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

/// All operators; longer ones come first, so that they are found first.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

struct Lexer<'s> {
    source: &'s str,
    position: usize,
    line: usize,
    tokens: Vec<Place>,
    /// Whether the text before `position` ends a line.
    is_line_start: bool,
}

/// Returns all tokens of a template; the last is [`Token::End`].
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

    /// Moves on by a number of bytes.
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

    /// Returns the text before a tag, without the spaces that the tag strips.
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
        // (At the end of the source, jinja2 accepts an open comment.)
        if rest.is_empty() {
            return Ok(());
        }
        let Some(end) = rest.find("#}") else {
            return self.fail("Missing end of comment tag");
        };
        // (The character before `#}` may be a sign, also in `{#-#}`.)
        let sign = rest[..end].bytes().last();
        self.advance(end + 2);
        self.after_tag(sign, true);
        Ok(())
    }

    /// Skips the spaces that the end of a tag strips.
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
        if rest.is_empty() {
            return Ok(());
        }
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

    /// Reads the tokens of a tag up to its end.
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

    fn number(&self, rest: &str) -> Result<Option<(Value, usize)>> {
        let is_after_dot = self.source[..self.position].ends_with('.');
        number(rest, is_after_dot).or_else(|cause| self.fail(cause))
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
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of `raw %}` with its spaces and sign; none if the tag is another.
fn raw_begin(text: &str) -> Option<usize> {
    let after = text.trim_start_matches(is_space).strip_prefix("raw")?;
    let after = after.trim_start_matches(is_space);
    let after = match after.strip_prefix("-%}") {
        Some(after) => after.trim_start_matches(is_space),
        None => after.strip_prefix("%}")?,
    };
    Some(text.len() - after.len())
}
