//! The structure of a token sequence: its messages and their headers.
//!
//! A header is text, and the ends of its pieces are not marked: as in the official parser, white space
//! separates them. So some headers could not be read back as they were written: a tool named like a role,
//! or a name, recipient or channel with white space in it. Rendering refuses these.

use std::ops::Range;

use super::Role;
use super::segment::{Segment, Segments};
use crate::tokenizer::{
    CALL, CHANNEL, CONSTRAIN, END, EOD, MESSAGE, RETURN, START, UnknownToken, decode_into,
    special_name,
};

/// The control tokens, which no text has.
const CONTROL: [i32; 8] = [EOD, RETURN, CONSTRAIN, CHANNEL, START, END, MESSAGE, CALL];

/// Why tokens are not a conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token {position}: {cause}")]
pub struct StructureError {
    /// The index of the wrong token; the sequence's length if it ends too early.
    pub position: usize,
    /// The cause alone.
    pub cause: String,
}

impl StructureError {
    fn new(position: usize, cause: impl Into<String>) -> Self {
        StructureError { position, cause: cause.into() }
    }
}

/// The place of a message among tokens.
pub(super) struct FoundMessage {
    /// All its tokens, from `<|start|>` to its end token.
    pub tokens: Range<usize>,
    /// The tokens between `<|message|>` and its end token.
    pub content: Range<usize>,
}

/// The content of a header.
#[derive(Default)]
pub(super) struct Header {
    /// `None` for an empty header.
    pub role: Option<Role>,
    pub name: Option<String>,
    pub recipient: Option<String>,
    pub channel: Option<String>,
    pub content_type: Option<String>,
}

/// Finds the segments of one rendered conversation (one [`EOD`] may follow it) and appends them to
/// `out`. On an error nothing is appended.
pub fn segments_of(tokens: &[i32], out: &mut Segments) -> Result<(), StructureError> {
    let mark = out.mark();
    let mut bytes = Vec::new();
    let result = messages(tokens, |found| {
        let header = header(tokens, &found, &mut bytes)?;
        let start = found.tokens.start;
        let channel = header.channel.map(|name| out.channel_of(&name));
        out.list.push(Segment {
            role: header.role.unwrap_or(Role::Tool),
            channel,
            start: narrow(start)?,
            end: narrow(found.tokens.end)?,
            is_trained: true,
        });
        Ok(())
    });
    if result.is_err() {
        out.reset(mark);
    }
    result
}

fn narrow(position: usize) -> Result<i32, StructureError> {
    i32::try_from(position)
        .map_err(|_| StructureError::new(position, "more than 2147483647 tokens"))
}

/// Calls `f` with every message.
pub(super) fn messages(
    tokens: &[i32],
    mut f: impl FnMut(FoundMessage) -> Result<(), StructureError>,
) -> Result<(), StructureError> {
    let body = match tokens {
        [body @ .., EOD] => body,
        all => all,
    };
    let mut at = 0;
    while at < body.len() {
        if body[at] != START {
            return Err(unexpected(body, at, "<|start|>"));
        }
        let header = at + 1;
        let message = header + run(&body[header..], |id| id == CHANNEL || id == CONSTRAIN);
        if body.get(message) != Some(&MESSAGE) {
            return Err(unexpected(body, message, "<|message|>"));
        }
        let content = message + 1;
        let end = content + run(&body[content..], |_| false);
        if !matches!(body.get(end), Some(&(END | RETURN | CALL))) {
            return Err(unexpected(body, end, "<|end|>, <|return|> or <|call|>"));
        }
        f(FoundMessage { tokens: at..end + 1, content: content..end })?;
        at = end + 1;
    }
    Ok(())
}

/// Returns how many tokens come before the first control token that is not allowed.
fn run(tokens: &[i32], allowed: impl Fn(i32) -> bool) -> usize {
    let mut special = places_from(tokens, EOD);
    special
        .find(|&place| CONTROL.contains(&tokens[place]) && !allowed(tokens[place]))
        .unwrap_or(tokens.len())
}

/// Returns the indices of ids that are `least` or more, and of negative ids, in order. As nearly all of a
/// sequence is text, blocks without such an id are skipped as a whole.
pub fn places_from(tokens: &[i32], least: i32) -> impl Iterator<Item = usize> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let place = at + first_from(&tokens[at..], least)?;
        at = place + 1;
        Some(place)
    })
}

fn first_from(tokens: &[i32], least: i32) -> Option<usize> {
    const BLOCK: usize = 64;
    let is_found = |id: &i32| !(0..least).contains(id);
    // The highest bit is 1 exactly for the ids that are looked for. So the fold has no branch and
    // becomes a few vector instructions.
    let differs = |bits: i32, &id: &i32| bits | id | (least - 1).wrapping_sub(id);
    let (blocks, _) = tokens.as_chunks::<BLOCK>();
    let is_text = |block: &&[i32; BLOCK]| block.iter().fold(0, differs) >= 0;
    let passed = blocks.iter().take_while(is_text).count() * BLOCK;
    tokens[passed..].iter().position(is_found).map(|place| passed + place)
}

fn unexpected(tokens: &[i32], at: usize, expected: &str) -> StructureError {
    let found = match tokens.get(at) {
        None => "the end".to_owned(),
        Some(&id) => match special_name(id) {
            Some(name) => name.to_owned(),
            None => format!("{id}"),
        },
    };
    StructureError::new(at, format!("{found} instead of {expected}"))
}

/// Reads the header of a message; `bytes` is scratch.
pub(super) fn header(
    tokens: &[i32],
    found: &FoundMessage,
    bytes: &mut Vec<u8>,
) -> Result<Header, StructureError> {
    let all = found.tokens.start + 1..found.content.start - 1;
    let mut header = Header::default();
    let mut piece = all.start;
    // The text before the first marker, then the text that each marker introduces.
    let mut marker = START;
    loop {
        let end = piece + run(&tokens[piece..all.end], |_| false);
        let text = text(tokens, piece..end, bytes)?;
        match marker {
            CONSTRAIN => header.content_type = Some(format!("<|constrain|>{text}")),
            CHANNEL => {
                let (channel, rest) = match text.find(char::is_whitespace) {
                    Some(space) => text.split_at(space),
                    None => (text, ""),
                };
                header.channel = Some(channel.to_owned());
                header.words(rest.split_whitespace());
            }
            _ => {
                let (author, rest) = match text.find(char::is_whitespace) {
                    Some(space) => text.split_at(space),
                    None => (text, ""),
                };
                header.author(author);
                header.words(rest.split_whitespace());
            }
        }
        if end == all.end {
            return Ok(header);
        }
        marker = tokens[end];
        piece = end + 1;
    }
}

impl Header {
    fn author(&mut self, word: &str) {
        let (role, name) = match word.split_once(':') {
            Some((role, name)) => (role, Some(name)),
            None => (word, None),
        };
        match Role::from_name(role) {
            Some(role) if role != Role::Tool => {
                self.role = Some(role);
                self.name = name.map(str::to_owned);
            }
            _ => {
                self.role = Some(Role::Tool);
                self.name = Some(word.to_owned());
            }
        }
    }

    fn words<'t>(&mut self, words: impl Iterator<Item = &'t str>) {
        for word in words {
            match word.strip_prefix("to=") {
                Some(recipient) if self.recipient.is_none() => {
                    self.recipient = Some(recipient.to_owned());
                }
                _ => match &mut self.content_type {
                    Some(content_type) => {
                        content_type.push(' ');
                        content_type.push_str(word);
                    }
                    None => self.content_type = Some(word.to_owned()),
                },
            }
        }
    }
}

/// Returns why a text cannot be read back as one word of a header or a declaration; `None` if it can.
pub fn why_no_word(text: &str) -> Option<&'static str> {
    if text.contains(char::is_whitespace) { Some("it has white space") } else { why_control(text) }
}

/// Returns why programs that read a header as text would take this text for a control token.
pub(super) fn why_control(text: &str) -> Option<&'static str> {
    let has = |id: &i32| special_name(*id).is_some_and(|name| text.contains(name));
    let is_control = text.contains("<|") && CONTROL.iter().any(has);
    is_control.then_some("it has the name of a control token")
}

/// Returns the text of some tokens.
pub(super) fn text<'b>(
    tokens: &[i32],
    range: Range<usize>,
    bytes: &'b mut Vec<u8>,
) -> Result<&'b str, StructureError> {
    bytes.clear();
    decode_into(&tokens[range.clone()], bytes).map_err(|UnknownToken { id, at }| {
        StructureError::new(range.start + at, format!("unknown token {id}"))
    })?;
    str::from_utf8(bytes).map_err(|_| StructureError::new(range.start, "text that is not UTF-8"))
}
