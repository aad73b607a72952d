//! Calls and results that stand in texts, as Hermes and data sets after it have them:
//! `<tool_call>{"name": .., "arguments": {..}}</tool_call>`, answered by `<tool_response>..</tool_response>`. What is
//! between the marks is JSON, or a dict as Python prints it.

use std::borrow::Cow;
use std::ops::Range;

use super::message::{Call, Content, Draft, read_call};
use super::value::Json;
use crate::harmony::Role;

const CALL: [&str; 2] = ["<tool_call>", "</tool_call>"];
const RESULT: [&str; 2] = ["<tool_response>", "</tool_response>"];

/// Returns the messages with the calls and results in their texts where they belong; `None` if there are none, or if the
/// messages have calls of their own.
pub fn read<'r>(drafts: &[Draft<'r>]) -> Result<Option<Vec<Draft<'r>>>, String> {
    let has_calls = |draft: &Draft| {
        draft.role == Role::Assistant && draft.text().is_some_and(|text| text.contains(CALL[0]))
    };
    if drafts.iter().any(|draft| !draft.calls.is_empty()) || !drafts.iter().any(has_calls) {
        return Ok(None);
    }
    let mut read = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let within =
            |cause| format!("message {}: {cause}; --calls text takes it as text", draft.index);
        match draft.text() {
            Some(text) if has_calls(draft) => {
                read.push(with_calls(draft, text).map_err(within)?);
            }
            Some(text) if is_result(draft) => {
                read.extend(results(draft, text).map_err(within)?);
            }
            _ => read.push(draft.clone()),
        }
    }
    Ok(Some(read))
}

/// Whether the text of a message is a result.
pub fn is_result(draft: &Draft<'_>) -> bool {
    matches!(draft.role, Role::Tool | Role::User)
        && draft.text().is_some_and(|text| text.trim_start().starts_with(RESULT[0]))
}

/// Reads the calls in the text of an answer. They come last.
fn with_calls<'r>(draft: &Draft<'r>, text: &str) -> Result<Draft<'r>, String> {
    let Pieces { before, inside } = pieces(text, CALL)?;
    let mut calls = Vec::new();
    for piece in inside {
        let parsed =
            value_of(piece).ok_or("a call in the text is neither JSON nor a dict of Python")?;
        // What Python or JSON printed of the arguments is not how the model writes them.
        calls.push(Call { is_object: true, ..read_call(&parsed)?.into_owned() });
    }
    let before = before.trim();
    let content = (!before.is_empty()).then(|| Content::Text(Cow::Owned(before.to_string())));
    Ok(Draft { calls, content, ..draft.clone() })
}

/// Reads the results in the text of a message, each as a message of its own.
fn results<'r>(draft: &Draft<'r>, text: &str) -> Result<Vec<Draft<'r>>, String> {
    let result = |piece: &str| {
        let parsed = value_of(piece).filter(|value| value.get("name").is_some());
        // (The function that Hermes names beside a result is that of the calls in their order.)
        let text = match parsed.as_ref().and_then(|value| value.get("content")) {
            Some(Json::Text(text)) => text.to_string(),
            Some(other) => other.python_json(),
            None => piece.trim().to_string(),
        };
        let content = Some(Content::Text(Cow::Owned(text)));
        Draft { content, role: Role::Tool, ..draft.clone() }
    };
    Ok(pieces(text, RESULT)?.inside.into_iter().map(result).collect())
}

/// Returns the places of the marks of calls that stand in the text of an answer; none if it has other text with such
/// marks.
pub fn call_marks(text: &str) -> Vec<Range<usize>> {
    let is_call = |piece: &&str| value_of(piece).is_some_and(|of| read_call(&of).is_ok());
    match text.contains(CALL[0]).then(|| pieces(text, CALL)) {
        Some(Ok(found)) if found.inside.iter().all(is_call) => marks(text, &found, CALL),
        _ => Vec::new(),
    }
}

/// Returns the places of the marks of results that are the text of a message.
pub fn result_marks(text: &str) -> Vec<Range<usize>> {
    match text.trim_start().starts_with(RESULT[0]).then(|| pieces(text, RESULT)) {
        Some(Ok(found)) => marks(text, &found, RESULT),
        _ => Vec::new(),
    }
}

fn marks(text: &str, found: &Pieces<'_>, [begin, end]: [&str; 2]) -> Vec<Range<usize>> {
    let around = |inside: &&str| {
        let start = inside.as_ptr() as usize - text.as_ptr() as usize;
        let after = start + inside.len();
        [start - begin.len()..start, after..after + end.len()]
    };
    found.inside.iter().flat_map(around).collect()
}

/// What stands before the first mark, and within each pair of marks.
struct Pieces<'t> {
    before: &'t str,
    inside: Vec<&'t str>,
}

/// Fails if a mark has no other, or if there is text behind them.
fn pieces<'t>(text: &'t str, [begin, end]: [&str; 2]) -> Result<Pieces<'t>, String> {
    let (before, mut rest) = text.split_once(begin).unwrap_or((text, ""));
    let mut inside = Vec::new();
    loop {
        let (piece, behind) =
            rest.split_once(end).ok_or_else(|| format!("{begin} without {end} in the text"))?;
        inside.push(piece);
        let behind = behind.trim_start();
        if behind.is_empty() {
            return Ok(Pieces { before, inside });
        }
        rest = behind.strip_prefix(begin).ok_or_else(|| format!("text behind {end}"))?;
    }
}

/// Parses JSON, or a value as Python prints it.
fn value_of(text: &str) -> Option<Json<'static>> {
    let text = text.trim();
    match Json::parse(text) {
        Ok(value) => Some(value.into_owned()),
        Err(_) => {
            let mut python = Python { rest: text, depth: 0 };
            let value = python.value()?;
            python.rest.trim().is_empty().then_some(value)
        }
    }
}

/// Reads literals of Python: dicts, lists, tuples, texts, numbers, True, False, None.
struct Python<'t> {
    rest: &'t str,
    depth: usize,
}

impl Python<'_> {
    fn eat(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(word);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn value(&mut self) -> Option<Json<'static>> {
        const DEEPEST: usize = 100;
        const WORDS: [(&str, Json<'static>); 3] =
            [("True", Json::Boolean(true)), ("False", Json::Boolean(false)), ("None", Json::Null)];
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        if let Some((_, value)) = WORDS.into_iter().find(|(word, _)| self.eat(word)) {
            self.depth -= 1;
            return Some(value);
        }
        let value = match self.rest.chars().next()? {
            '{' => {
                self.eat("{");
                let mut entries = Vec::new();
                while !self.eat("}") {
                    let key = self.text()?;
                    let value = self.eat(":").then(|| self.value())??;
                    if entries.iter().any(|(other, _)| *other == key) {
                        return None;
                    }
                    entries.push((Cow::Owned(key), value));
                    if !self.eat(",") && !self.rest.starts_with('}') {
                        return None;
                    }
                }
                Json::Object(entries)
            }
            open @ ('[' | '(') => {
                let close = if open == '[' { "]" } else { ")" };
                self.rest = &self.rest[1..];
                let mut items = Vec::new();
                while !self.eat(close) {
                    items.push(self.value()?);
                    if !self.eat(",") && !self.rest.starts_with(close) {
                        return None;
                    }
                }
                Json::List(items)
            }
            '\'' | '"' => Json::Text(self.text()?.into()),
            _ => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
                let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
                let (number, rest) = self.rest.split_at(end);
                self.rest = rest;
                Json::parse(number)
                    .ok()
                    .filter(|value| matches!(value, Json::Number(_)))?
                    .into_owned()
            }
        };
        self.depth -= 1;
        Some(value)
    }

    fn text(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => {
                    let (_, escaped) = characters.next()?;
                    let digits = match escaped {
                        'x' => 2,
                        'u' => 4,
                        'U' => 8,
                        _ => 0,
                    };
                    text.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        '\\' | '\'' | '"' => escaped,
                        _ if digits > 0 => {
                            let mut code = 0;
                            for _ in 0..digits {
                                code = code * 16 + characters.next()?.1.to_digit(16)?;
                            }
                            char::from_u32(code)?
                        }
                        _ => return None,
                    });
                }
                _ if character == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                _ => text.push(character),
            }
        }
        None
    }
}
