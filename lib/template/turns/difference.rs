//! Finds where the texts of messages stand in a rendering.

use std::ops::Range;
use std::rc::Rc;

use foldhash::HashMap;

use super::mark::{self, Kind, Marks};
use crate::chat::Chat;
use crate::error::Error;
use crate::run::Parts;
use crate::template::Template;
use crate::value::Value;

/// The first of the 65,534 characters that mark texts: a private plane. The last 256 stand before another one, for chats
/// of more texts.
const FIRST: u32 = 0xf_0000;
const MOST: u32 = 0xfffe;
const SINGLE: usize = MOST as usize - 256;

/// The places of a chat's texts in its rendering.
#[derive(Debug)]
pub struct Places<'c> {
    template: &'c Template,
    chat: &'c Chat,
    text: &'c str,
    /// The kinds of texts that each message has.
    kinds: Vec<Rc<[Kind]>>,
    /// The places found so far, by message and kind: the bytes from the first shown text to the last; for a name, the
    /// bytes at which it is shown first; none if no text is shown.
    known: HashMap<(usize, Kind), Option<Range<usize>>>,
    /// All places, in their order, in place of `known`; if `is_complete`.
    all: KnownPlaces,
    /// The messages whose texts are shown, and each place of them, in the order of the text; if `is_complete`.
    shown: Vec<(usize, Range<usize>)>,
    /// The furthest end of `shown` up to each of them.
    furthest: Vec<usize>,
    /// Whether all texts that are shown are known.
    is_complete: bool,
    has_tools: Option<bool>,
    /// What stands between a reasoning and the content.
    before_content: Option<String>,
}

/// The places of texts by message and kind.
type KnownPlaces = Vec<((usize, Kind), Range<usize>)>;

/// A mark of its own for each text, with the text's message and kind.
#[derive(Debug, Default)]
pub struct NumberedMarks {
    message: usize,
    owners: Vec<(usize, Kind)>,
    with_ids: bool,
}

/// The message that the names of tools are counted as.
pub const TOOLS: usize = usize::MAX;

impl Marks for NumberedMarks {
    fn mark(&mut self, kind: Kind, text: &str) -> Option<String> {
        if matches!(kind, Kind::Id(_)) && !self.with_ids {
            return None;
        }
        let (before, inner, after) = mark::parts(text)?;
        let number = self.owners.len();
        let mark: String = match number.checked_sub(SINGLE) {
            None => character(number)?.into(),
            Some(more) => {
                [character(SINGLE + more / SINGLE)?, character(more % SINGLE)?].iter().collect()
            }
        };
        self.owners.push((self.message, kind));
        Some(format!("{before}{mark}{inner}{mark}{after}"))
    }
}

/// A character that marks texts.
fn character(number: usize) -> Option<char> {
    let number = u32::try_from(number).ok().filter(|number| *number < MOST)?;
    char::from_u32(FIRST + number)
}

/// A place up to which two stored texts are known to differ in marks alone.
#[derive(Debug, Default)]
pub struct Alignment {
    /// The stored texts.
    of: (usize, usize),
    plain: usize,
    marked: usize,
}

/// Where marks stand in a text, in order: the number of the mark, its owner and the place.
pub struct FoundMarks(pub Vec<(usize, (usize, Kind), usize)>);

/// Returns a chat with marks in all texts; none if there are too many texts.
pub fn marked(chat: &Chat, with_ids: bool) -> Option<(Chat, NumberedMarks)> {
    let mut marks = NumberedMarks { with_ids, ..NumberedMarks::default() };
    let mut messages = Vec::with_capacity(chat.messages().len());
    for (place, message) in chat.messages().iter().enumerate() {
        marks.message = place;
        messages.push(mark::message(message, &mut marks).unwrap_or_else(|| message.clone()));
    }
    marks.message = TOOLS;
    let tools = match chat.tools().as_list() {
        Some(tools) => {
            let tool = |of: &Value| mark::tool(of, &mut marks).unwrap_or_else(|| of.clone());
            tools.iter().map(tool).collect()
        }
        None => Vec::new(),
    };
    if marks.owners.len() >= 256 * SINGLE {
        return None;
    }
    Some((chat.replaced(messages, tools).ok()?, marks))
}

impl NumberedMarks {
    /// Finds the marks that a text has more than another; none if the texts differ otherwise. What is known is not
    /// looked at again, and what two stored texts have in common becomes known.
    pub fn align(
        &self,
        plain: &Parts<'_>,
        marked: &Parts<'_>,
        known: &mut Alignment,
    ) -> Option<FoundMarks> {
        let stored = [plain, marked].map(|text| text.parts[0].len());
        if known.of != (plain.whole, marked.whole)
            || known.plain > stored[0]
            || known.marked > stored[1]
        {
            *known = Alignment { of: (plain.whole, marked.whole), plain: 0, marked: 0 };
        }
        let (text, marked) = (plain.after(known.plain), marked.after(known.marked));
        if find_mark(&text).is_some() {
            return None;
        }
        let (from, stored) = (known.plain, [stored[0] - known.plain, stored[1] - known.marked]);
        let (mut at, mut rest) = (0, marked.as_str());
        let mut moved = [0, 0];
        let mut found = Vec::new();
        loop {
            let next = find_mark(rest);
            let head = &rest[..next.map_or(rest.len(), |(place, _)| place)];
            if !text[at..].starts_with(head) {
                return None;
            }
            let passed = marked.len() - rest.len();
            if let (Some(plain), Some(marked)) =
                (stored[0].checked_sub(at), stored[1].checked_sub(passed))
            {
                let mut more = head.len().min(plain).min(marked);
                while !head.is_char_boundary(more) {
                    more -= 1;
                }
                moved = [at + more, passed + more];
            }
            at += head.len();
            let Some((place, mark)) = next else { break };
            rest = &rest[place + mark.len_utf8()..];
            let mut number = (u32::from(mark) - FIRST) as usize;
            if let Some(high) = number.checked_sub(SINGLE) {
                let (_, mark) = find_mark(rest).filter(|(place, _)| *place == 0)?;
                rest = &rest[mark.len_utf8()..];
                number = SINGLE + high * SINGLE + (u32::from(mark) - FIRST) as usize;
            }
            found.push((number, *self.owners.get(number)?, from + at));
        }
        if at != text.len() {
            return None;
        }
        known.plain += moved[0];
        known.marked += moved[1];
        Some(FoundMarks(found))
    }
}

impl FoundMarks {
    /// The places of texts, from the first mark of a kind to its last; a name counts where it is shown first. In the
    /// order of messages and kinds.
    fn places(&self, is_wanted: impl Fn(usize) -> bool) -> KnownPlaces {
        let wanted = self.0.iter().filter(|(_, owner, _)| is_wanted(owner.0));
        let mut marks: Vec<_> = wanted.map(|(_, owner, at)| (*owner, *at)).collect();
        marks.sort_by_key(|(owner, _)| *owner);
        let places = marks.chunk_by(|(a, _), (b, _)| a == b).map(|marks| {
            let (owner, start) = marks[0];
            let last = match owner.1 {
                Kind::Name(_) => marks.len().min(2) - 1,
                _ => marks.len() - 1,
            };
            (owner, start..marks[last].1)
        });
        places.collect()
    }

    /// The places of the texts of a message.
    pub fn of_message(&self, message: usize) -> Vec<(Kind, Range<usize>)> {
        let places = self.places(|of| of == message).into_iter();
        places.map(|((_, kind), place)| (kind, place)).collect()
    }

    /// The messages of texts, but for names of calls, and each place of them. (One mark stands before a text, the next one
    /// behind it.)
    fn shown(&self) -> Vec<(usize, Range<usize>)> {
        let mut shown: Vec<(usize, Range<usize>)> = Vec::new();
        // (By the number of the mark.)
        let mut open: Vec<Option<usize>> = Vec::new();
        let is_text = |(message, kind): (usize, Kind)| {
            message != TOOLS && !matches!(kind, Kind::Name(_) | Kind::Id(_))
        };
        for (number, owner, at) in self.0.iter().filter(|(_, owner, _)| is_text(*owner)) {
            open.resize(open.len().max(number + 1), None);
            match open[*number].take() {
                Some(place) => shown[place].1.end = *at,
                None => {
                    open[*number] = Some(shown.len());
                    shown.push((owner.0, *at..*at));
                }
            }
        }
        shown
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
        let is_asked = !matches!(kind, Kind::Id(_)) && mark::parts(text).is_some();
        if is_asked && !self.0.contains(&kind) {
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
    /// The places in a text, which are found one by one.
    pub fn new(template: &'c Template, chat: &'c Chat, text: &'c str) -> Places<'c> {
        let (known, all, shown) = Default::default();
        let kinds = chat.messages().iter().map(|message| kinds(message).into()).collect();
        Places {
            kinds,
            template,
            chat,
            text,
            known,
            all,
            shown,
            furthest: Vec::new(),
            is_complete: false,
            has_tools: None,
            before_content: None,
        }
    }

    /// The places in a text of which all marks are found.
    pub fn complete(
        template: &'c Template,
        chat: &'c Chat,
        text: &'c str,
        found: &FoundMarks,
    ) -> Places<'c> {
        let (all, shown) = (found.places(|_| true), found.shown());
        let new = Places::new(template, chat, text);
        let mut made = Places { all, shown, is_complete: true, ..new };
        made.has_tools = Some(made.found((TOOLS, Kind::Content)).is_some());
        made
    }

    /// The kinds of texts that a message has.
    pub fn kinds(&self, message: usize) -> Rc<[Kind]> {
        self.kinds[message].clone()
    }

    /// Returns the message whose text stands in a part of the text, other than the message that said it.
    pub fn other_within(
        &mut self,
        message: usize,
        within: &Range<usize>,
    ) -> Result<Option<usize>, Error> {
        if !self.is_complete {
            let mut shown = Vec::new();
            for other in 0..self.chat.messages().len() {
                let is_text = |kind: &&Kind| !matches!(kind, Kind::Name(_) | Kind::Id(_));
                for &kind in self.kinds(other).iter().filter(is_text) {
                    shown.extend(self.of(other, kind)?.map(|place| (other, place)));
                }
            }
            shown.sort_by_key(|(_, place)| place.start);
            self.shown = shown;
        }
        if self.furthest.len() != self.shown.len() {
            let ends = self.shown.iter().scan(0, |furthest, (_, place)| {
                *furthest = place.end.max(*furthest);
                Some(*furthest)
            });
            self.furthest = ends.collect();
        }
        let before = self.shown.partition_point(|(_, place)| place.start < within.end);
        let reach = (0..before).rev().take_while(|place| self.furthest[*place] > within.start);
        let mut others = reach.map(|place| &self.shown[place]);
        let other = others.find(|(other, place)| *other != message && place.end > within.start);
        Ok(other.map(|(other, _)| *other))
    }

    /// The place of texts of which all are known.
    fn found(&self, owner: (usize, Kind)) -> Option<Range<usize>> {
        let place = self.all.binary_search_by_key(&owner, |(owner, _)| *owner).ok()?;
        Some(self.all[place].1.clone())
    }

    /// The bytes of a kind of text, as in `known`.
    pub fn of(&mut self, message: usize, kind: Kind) -> Result<Option<Range<usize>>, Error> {
        if self.is_complete {
            return Ok(self.found((message, kind)));
        }
        if let Some(known) = self.known.get(&(message, kind)) {
            return Ok(known.clone());
        }
        let mut place = None;
        if self.kinds[message].contains(&kind) {
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
        if let Some(marked) = mark::message(&messages[message], &mut SingleMark { kind, mark }) {
            messages[message] = marked;
        }
        let other = self.template.render_values(Value::list(messages)?, self.chat, false);
        // (A template may refuse a marked text.)
        other.map(|other| other.text).map_err(|error| cause(message, &error))
    }

    /// The bytes from the first shown text of a message to its last; none if no text is shown.
    pub fn of_message(&mut self, message: usize) -> Result<Option<Range<usize>>, Error> {
        let mut whole: Option<Range<usize>> = None;
        for &kind in self.kinds(message).iter() {
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
        let tool = |of: &Value| mark::tool(of, &mut marks).unwrap_or_else(|| of.clone());
        let tools = tools.iter().map(tool).collect();
        let chat = self.chat.replaced(self.chat.messages().to_vec(), tools)?;
        let shows = self.template.render(&chat, false).map_or(true, |other| other != self.text);
        self.has_tools = Some(shows);
        Ok(shows)
    }

    /// Where the content of a message without content would begin, between two places.
    pub fn content_between(&mut self, message: usize, from: usize, to: usize) -> usize {
        let (from, to) = (from.min(to), to);
        // (Between reasoning and a call a template prints the same for all messages.)
        if let Some(before) = &self.before_content
            && self.text[from..to].starts_with(before)
        {
            return from + before.len();
        }
        let Some(place) = self.of_no_content(message) else { return from };
        let place = place.clamp(from, to);
        self.before_content = Some(self.text[from..place].to_string());
        place
    }

    /// Where the content of a message without content would begin.
    fn of_no_content(&self, message: usize) -> Option<usize> {
        let mut messages = self.chat.messages().to_vec();
        let Value::Dict(dict) = &messages[message] else { return None };
        let mut made = (**dict).clone();
        let content = Value::from(String::from(self.mark()));
        made.insert(Value::text("content"), content).ok()?;
        messages[message] = Value::Dict(std::sync::Arc::new(made));
        let messages = Value::list(messages).ok()?;
        let other = self.template.render_values(messages, self.chat, false).ok()?.text;
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

/// The error of a rendering, as an error of a message if it may be one.
pub fn cause(message: usize, error: &Error) -> Error {
    match error {
        Error::Unsupported { .. } | Error::Limit { .. } => error.clone(),
        error => Error::Turn { message, cause: error.to_string() },
    }
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
