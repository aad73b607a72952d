//! Finds where the texts of messages stand in a rendering.

use std::collections::HashMap;
use std::ops::Range;

use super::mark::{self, Kind, Marks};
use crate::chat::Chat;
use crate::error::Error;
use crate::template::Template;
use crate::value::Value;

/// The first of the 65,534 characters that mark texts: a private plane.
const FIRST: u32 = 0xf_0000;
const MOST: u32 = 0xfffe;

/// The places of a chat's texts in its rendering.
#[derive(Debug)]
pub struct Places<'c> {
    template: &'c Template,
    chat: &'c Chat,
    text: &'c str,
    /// Whether the text ends with a generation prompt.
    has_prompt: bool,
    /// The places found so far, by message and kind: the bytes from the first shown text to the last; for a name, the
    /// bytes at which it is shown first; none if no text is shown.
    known: HashMap<(usize, Kind), Option<Range<usize>>>,
    /// Whether `known` has all texts that are shown.
    is_complete: bool,
    has_tools: Option<bool>,
}

/// A mark of its own for each text, with the text's message and kind.
#[derive(Default)]
struct NumberedMarks {
    message: usize,
    owners: Vec<(usize, Kind)>,
}

impl Marks for NumberedMarks {
    fn mark(&mut self, kind: Kind, text: &str) -> Option<String> {
        let (before, inner, after) = mark::parts(text)?;
        let number = u32::try_from(self.owners.len()).ok().filter(|number| *number < MOST)?;
        let mark = char::from_u32(FIRST + number)?;
        self.owners.push((self.message, kind));
        Some(format!("{before}{mark}{inner}{mark}{after}"))
    }
}

/// One mark for all texts of one kind.
struct SingleMark {
    kind: Kind,
    mark: char,
}

impl Marks for SingleMark {
    fn mark(&mut self, kind: Kind, text: &str) -> Option<String> {
        let (before, inner, after) = mark::parts(text).filter(|_| kind == self.kind)?;
        Some(format!("{before}{0}{inner}{0}{after}", self.mark))
    }
}

/// Collects the kinds of texts, and marks nothing.
#[derive(Default)]
struct KindList(Vec<Kind>);

impl Marks for KindList {
    fn mark(&mut self, kind: Kind, text: &str) -> Option<String> {
        if mark::parts(text).is_some() && !self.0.contains(&kind) {
            self.0.push(kind);
        }
        None
    }
}

/// The kinds of texts that a message has.
pub fn kinds(message: &Value) -> Vec<Kind> {
    let mut kinds = KindList::default();
    mark::message(message, &mut kinds);
    kinds.0.sort();
    kinds.0
}

impl<'c> Places<'c> {
    /// Finds all texts with one rendering, if their marks change nothing else.
    pub fn new(
        template: &'c Template,
        chat: &'c Chat,
        text: &'c str,
        has_prompt: bool,
    ) -> Places<'c> {
        let known = HashMap::new();
        let mut places =
            Places { template, chat, text, has_prompt, known, is_complete: false, has_tools: None };
        if let Some((known, has_tools)) = places.at_once() {
            places.known = known;
            places.has_tools = Some(has_tools);
            places.is_complete = true;
        }
        places
    }

    #[allow(clippy::type_complexity)]
    fn at_once(&self) -> Option<(HashMap<(usize, Kind), Option<Range<usize>>>, bool)> {
        if find_mark(self.text).is_some() {
            return None;
        }
        let mut marks = NumberedMarks::default();
        let mut messages = Vec::with_capacity(self.chat.messages().len());
        for (place, message) in self.chat.messages().iter().enumerate() {
            marks.message = place;
            messages.push(mark::message(message, &mut marks));
        }
        marks.message = usize::MAX;
        let tools = match self.chat.tools().as_list() {
            Some(tools) => tools.iter().map(|of| mark::tool(of, &mut marks)).collect(),
            None => Vec::new(),
        };
        if marks.owners.len() >= MOST as usize {
            return None;
        }
        let chat = self.chat.replaced(messages, tools).ok()?;
        let marked = self.template.render(&chat, self.has_prompt).ok()?;
        let mut known: HashMap<(usize, Kind), Option<Range<usize>>> =
            marks.owners.iter().map(|owner| (*owner, None)).collect();
        let mut counts = vec![0; marks.owners.len()];
        let (mut rest, mut at) = (marked.as_str(), 0);
        while let Some((place, mark)) = find_mark(rest) {
            let head = &rest[..place];
            if !self.text[at..].starts_with(head) {
                return None;
            }
            at += place;
            let number = (u32::from(mark) - FIRST) as usize;
            let owner = marks.owners.get(number)?;
            let shown = known.get_mut(owner)?.get_or_insert(at..at);
            counts[number] += 1;
            if !matches!(owner.1, Kind::Name(_)) || counts[number] <= 2 {
                shown.end = at;
            }
            rest = &rest[place + mark.len_utf8()..];
        }
        if self.text[at..] != *rest {
            return None;
        }
        let has_tools = known.remove(&(usize::MAX, Kind::Content)).flatten().is_some();
        Some((known, has_tools))
    }

    /// The bytes of a kind of text, as in `known`.
    pub fn of(&mut self, message: usize, kind: Kind) -> Result<Option<Range<usize>>, Error> {
        if self.is_complete {
            return Ok(self.known.get(&(message, kind)).cloned().flatten());
        }
        if let Some(known) = self.known.get(&(message, kind)) {
            return Ok(known.clone());
        }
        let mut place = None;
        if kinds(&self.chat.messages()[message]).contains(&kind) {
            let mark = self.mark();
            let mut other = self.changed(message, kind, mark)?;
            // An escape of the mark may begin like an escape of the text.
            let escapes = escapes(mark);
            if escapes.iter().any(|escape| other.contains(escape)) {
                other = self.changed(message, kind, self.letter())?;
            }
            place = between(self.text, &other);
        }
        if let (Kind::Name(call), Some(place)) = (kind, &mut place) {
            let name = mark::name(&self.chat.messages()[message], call).unwrap_or_default();
            if self.text[place.clone()].starts_with(name) {
                place.end = place.start + name.len();
            }
        }
        self.known.insert((message, kind), place.clone());
        Ok(place)
    }

    /// Renders the chat with one kind of text marked.
    fn changed(&self, message: usize, kind: Kind, mark: char) -> Result<String, Error> {
        let mut messages = self.chat.messages().to_vec();
        messages[message] = mark::message(&messages[message], &mut SingleMark { kind, mark });
        let other = self.template.render_values(Value::list(messages)?, self.chat, self.has_prompt);
        // (A template may refuse a marked text.)
        other.map(|other| other.text).map_err(|error| cause(message, &error))
    }

    /// The bytes from the first shown text of a message to its last; none if no text is shown.
    pub fn of_message(&mut self, message: usize) -> Result<Option<Range<usize>>, Error> {
        let mut whole: Option<Range<usize>> = None;
        for kind in kinds(&self.chat.messages()[message]) {
            if let Some(place) = self.of(message, kind)? {
                whole = Some(match whole {
                    Some(whole) => whole.start.min(place.start)..whole.end.max(place.end),
                    None => place,
                });
            }
        }
        Ok(whole)
    }

    /// Whether the rendering shows the tools.
    pub fn shows_tools(&mut self) -> Result<bool, Error> {
        if let Some(has_tools) = self.has_tools {
            return Ok(has_tools);
        }
        let mut marks = SingleMark { kind: Kind::Content, mark: self.mark() };
        let tools = self.chat.tools().as_list().unwrap_or_default();
        let tools = tools.iter().map(|of| mark::tool(of, &mut marks)).collect();
        let chat = self.chat.replaced(self.chat.messages().to_vec(), tools)?;
        let shows =
            self.template.render(&chat, self.has_prompt).map_or(true, |other| other != self.text);
        self.has_tools = Some(shows);
        Ok(shows)
    }

    /// Where the content of a message without content would begin.
    pub fn of_no_content(&self, message: usize) -> Option<usize> {
        let mut messages = self.chat.messages().to_vec();
        let Value::Dict(dict) = &messages[message] else { return None };
        let mut made = (**dict).clone();
        let content = Value::from(String::from(self.mark()));
        made.insert(Value::text("content"), content).ok()?;
        messages[message] = Value::Dict(std::sync::Arc::new(made));
        let messages = Value::list(messages).ok()?;
        let other = self.template.render_values(messages, self.chat, self.has_prompt).ok()?.text;
        between(self.text, &other).map(|place| place.start)
    }

    /// A character of a private plane that the text does not have; it is neither letter nor space.
    fn mark(&self) -> char {
        let marks = (FIRST..FIRST + MOST).filter_map(char::from_u32);
        marks.into_iter().find(|c| !self.text.contains(*c)).unwrap_or('\u{f0000}')
    }

    /// A letter or digit that the text does not have.
    fn letter(&self) -> char {
        let letters = "0123456789zqjxkvwyZQJXKVWYbfghmpuBFGHMPUacdeilnorstACDEILNORST".chars();
        letters.into_iter().find(|c| !self.text.contains(*c)).unwrap_or_else(|| self.mark())
    }
}

/// Finds the first character that may be a mark, and its place. All of them begin with one byte in UTF-8.
fn find_mark(text: &str) -> Option<(usize, char)> {
    let starts = memchr::memchr_iter(0xf3, text.as_bytes());
    let mut characters = starts.filter_map(|at| Some((at, text.get(at..)?.chars().next()?)));
    characters.find(|(_, c)| (FIRST..FIRST + MOST).contains(&u32::from(*c)))
}

/// The escapes of a mark in JSON and in Python's `repr`.
fn escapes(mark: char) -> [String; 2] {
    let units =
        mark.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    [units, format!("\\U{:08x}", u32::from(mark))]
}

/// The error of a rendering, as an error of a message.
pub fn cause(message: usize, error: &Error) -> Error {
    Error::Turn { message, cause: error.to_string() }
}

/// The length of the longest common head of two texts, in bytes.
pub fn head(a: &str, b: &str) -> usize {
    let mut at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(at) || !b.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The part of a text between its common head and tail with another; none if they are equal.
fn between(text: &str, other: &str) -> Option<Range<usize>> {
    if text == other {
        return None;
    }
    let start = head(text, other);
    let (a, b) = (&text[start..], &other[start..]);
    let mut tail = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(a.len() - tail) || !b.is_char_boundary(b.len() - tail) {
        tail -= 1;
    }
    Some(start..text.len() - tail)
}
