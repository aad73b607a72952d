//! Where a template prints texts of its context: as they are, without their outer spaces, joined with others, or by a macro
//! or block. What makes another text of one says so ([`Run::spoil`]): then its places are not known.

use std::ops::Range;
use std::sync::Arc;

use super::Run;
use super::arguments::CallArguments;
use crate::text::is_space;
use crate::value::Value;

/// A text of the context, or a part of it, in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrintedText {
    /// Where its bytes are kept. (They are kept as long as the rendering takes: no other text is there.)
    pub text: usize,
    /// Where the part begins in the other text.
    pub at: usize,
    /// The bytes of the text before the part.
    pub from: usize,
    /// The bytes of the part.
    pub length: usize,
    /// The bytes that it has in the other text: in JSON, some characters are written otherwise.
    pub shown: usize,
}

impl PrintedText {
    /// Where a byte of the text stands in the other text, if it is known.
    pub fn start(&self, of: usize) -> Option<usize> {
        match of.checked_sub(self.from)? {
            0 => Some(self.at),
            more => (self.shown == self.length && more < self.length).then_some(self.at + more),
        }
    }

    /// Where the bytes of the text up to a place end in the other text, if it is known.
    pub fn end(&self, of: usize) -> Option<usize> {
        match of.checked_sub(self.from)? {
            more if more == self.length => Some(self.at + self.shown),
            more => (self.shown == self.length && more < self.length).then_some(self.at + more),
        }
    }
}

/// A text that was made of texts of the context.
pub struct MadeText {
    /// (It is kept, so that no other text is kept there.)
    _text: Arc<str>,
    parts: Vec<PrintedText>,
}

/// The texts of the context of which others were made that are not known.
#[derive(Debug, Default)]
pub struct SpoiledTexts {
    pub all: bool,
    pub texts: Vec<usize>,
}

impl SpoiledTexts {
    pub fn sorted(mut self) -> SpoiledTexts {
        self.texts.sort_unstable();
        self
    }

    /// Whether a text is among them; they are sorted.
    pub fn has(&self, text: usize) -> bool {
        self.all || self.texts.binary_search(&text).is_ok()
    }
}

/// Filters and methods of a text that return the text, a part of it that is noted, or no text.
fn is_kept_of_text(name: &str) -> bool {
    matches!(
        name,
        "count"
            | "d"
            | "default"
            | "endswith"
            | "find"
            | "index"
            | "isdigit"
            | "isspace"
            | "length"
            | "lstrip"
            | "rfind"
            | "rstrip"
            | "safe"
            | "startswith"
            | "string"
            | "strip"
            | "trim"
    )
}

/// Filters of other values that return the value, some of its items, or no text.
fn is_kept_of_other(name: &str) -> bool {
    matches!(
        name,
        "count"
            | "d"
            | "default"
            | "first"
            | "items"
            | "last"
            | "length"
            | "list"
            | "reject"
            | "rejectattr"
            | "reverse"
            | "select"
            | "selectattr"
    )
}

impl Run<'_> {
    /// Notes that a text is made of a value in another way.
    pub fn spoil(&self, value: &Value) {
        if self.context.texts.is_empty() {
            return;
        }
        match value {
            Value::Text(text) | Value::Markup(text) => {
                let mut parts = Vec::new();
                self.parts_of(text, 0, &mut parts);
                let texts = parts.iter().map(|part| part.text);
                self.spoiled.borrow_mut().texts.extend(texts);
            }
            Value::Undefined(_)
            | Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Big(_)
            | Value::Float(_) => {}
            _ => self.spoiled.borrow_mut().all = true,
        }
    }

    /// Notes that a filter is applied to a value, or a method of a text called. (`tojson` notes its texts itself.)
    pub fn spoil_by(&self, name: &str, value: &Value, given: &CallArguments) {
        let is_kept = || match value.as_text() {
            _ if name == "tojson" => true,
            Some(_) => is_kept_of_text(name),
            None => is_kept_of_other(name),
        };
        if !self.context.texts.is_empty() && !is_kept() {
            self.spoil(value);
            given.values().for_each(|value| self.spoil(value));
        }
    }

    /// Adds the parts of a text that begins at a place to those of another.
    fn parts_of(&self, text: &str, at: usize, parts: &mut Vec<PrintedText>) {
        let address = text.as_ptr().addr();
        if self.context.texts.binary_search(&address).is_ok() {
            let length = text.len();
            parts.push(PrintedText { text: address, at, from: 0, length, shown: length });
        } else if let Some(made) = self.made.get(&address) {
            let moved = |part: &PrintedText| PrintedText { at: at + part.at, ..*part };
            parts.extend(made.parts.iter().map(moved));
        }
    }

    /// Notes what is about to be printed.
    pub(super) fn note_printed(&mut self, text: &str) {
        if !self.context.texts.is_empty() {
            let mut printed = std::mem::take(&mut self.printed);
            self.parts_of(text, self.out.len(), &mut printed);
            self.printed = printed;
        }
    }

    /// Notes the parts of a text.
    pub fn made_of(&mut self, text: &Arc<str>, parts: Vec<PrintedText>) {
        if !parts.is_empty() {
            self.made.insert(text.as_ptr().addr(), MadeText { _text: text.clone(), parts });
        }
    }

    /// Notes that a text is joined of others.
    pub(super) fn note_joined(&mut self, text: &Arc<str>, of: &[&str]) {
        if !self.context.texts.is_empty() {
            let (mut parts, mut at) = (Vec::new(), 0);
            for part in of {
                self.parts_of(part, at, &mut parts);
                at += part.len();
            }
            self.made_of(text, parts);
        }
    }

    /// Notes that a text is a part of another, which begins at a place.
    pub fn note_part(&mut self, text: &Arc<str>, of: &str, from: usize) {
        if !self.context.texts.is_empty() {
            let mut parts = Vec::new();
            self.parts_of(of, 0, &mut parts);
            let to = from + text.len();
            // (Of a part that is cut, the rest is left.)
            let cut = parts.into_iter().filter_map(|part| {
                let (start, end) = (part.at.max(from), (part.at + part.shown).min(to));
                let length = end.checked_sub(start).filter(|length| *length > 0)?;
                let at = start - from;
                if part.shown == part.length {
                    let from = part.from + (start - part.at);
                    return Some(PrintedText { at, from, length, shown: length, ..part });
                }
                if length < part.shown {
                    self.spoiled.borrow_mut().texts.push(part.text);
                }
                Some(PrintedText { at, ..part })
            });
            let cut = cut.collect();
            self.made_of(text, cut);
        }
    }

    /// Those of some texts, in the order of their addresses, whose places are noted.
    pub fn of_context<'t, T>(
        &self,
        texts: &'t [(Arc<str>, T)],
    ) -> impl Iterator<Item = &'t (Arc<str>, T)> {
        let address_of = |(text, _): &(Arc<str>, T)| text.as_ptr().addr();
        let [first, last] = [texts.first(), texts.last()].map(|text| text.map_or(0, address_of));
        let from = self.context.texts.partition_point(|address| *address < first);
        let wanted = self.context.texts[from..].iter().take_while(move |address| **address <= last);
        wanted.flat_map(move |address| {
            let from = texts.partition_point(|text| address_of(text) < *address);
            texts[from..].iter().take_while(move |text| address_of(text) == *address)
        })
    }

    /// Adds a text that stands between the quotes of JSON to the parts of that, without its outer spaces; `length` is the
    /// length of such spaces there.
    pub fn note_quoted(
        &self,
        text: &str,
        at: Range<usize>,
        length: impl Fn(&str) -> usize,
        parts: &mut Vec<PrintedText>,
    ) {
        if self.context.texts.is_empty() {
            return;
        }
        let address = text.as_ptr().addr();
        if self.context.texts.binary_search(&address).is_err() {
            let mut made = Vec::new();
            self.parts_of(text, 0, &mut made);
            self.spoiled.borrow_mut().texts.extend(made.iter().map(|part| part.text));
            return;
        }
        let inner = text.trim_start_matches(is_space);
        let from = text.len() - inner.len();
        let inner = inner.trim_end_matches(is_space);
        let start = at.start + length(&text[..from]);
        let end = at.end - length(&text[from + inner.len()..]);
        let shown = end.saturating_sub(start);
        parts.push(PrintedText { text: address, at: start, from, length: inner.len(), shown });
    }
}
