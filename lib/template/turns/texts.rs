//! The renderings of a chat up to each of its turns, plain and with marks.

use std::collections::HashMap;
use std::ops::Range;

use super::difference::{self, Alignment, NumberedMarks, Places, kinds};
use super::mark::Kind;
use crate::chat::Chat;
use crate::error::Error;
use crate::run::{Parts, Prefix, Prefixes};
use crate::template::Template;

/// Renderings of beginnings of a chat.
#[derive(Debug)]
pub struct Texts {
    prefixes: Prefixes,
    numbers: HashMap<Prefix, usize>,
}

impl Texts {
    pub fn new(template: &Template, chat: &Chat, mut wanted: Vec<Prefix>) -> Result<Texts, Error> {
        wanted.sort();
        wanted.dedup();
        let prefixes = template.render_prefixes(chat, &wanted)?;
        let numbers = wanted.into_iter().enumerate().map(|(number, of)| (of, number)).collect();
        Ok(Texts { prefixes, numbers })
    }

    fn number(&self, count: usize, has_prompt: bool) -> Result<usize, Error> {
        let number = self.numbers.get(&Prefix { count, has_prompt }).copied();
        number.ok_or_else(|| Error::Chat("a prefix that was not rendered".into()))
    }

    /// The rendering of the first `count` messages.
    pub fn of(&self, count: usize, has_prompt: bool) -> Result<Parts<'_>, Error> {
        self.prefixes.text(self.number(count, has_prompt)?)
    }

    /// What `{% generation %}` names in the rendering of the first `count` messages, as far as it stands for them alone.
    pub fn generations(&self, count: usize) -> &[Range<usize>] {
        self.number(count, false).map_or(&[], |number| self.prefixes.generations(number))
    }
}

/// The renderings with marks around all texts.
pub struct MarkedTexts {
    texts: Texts,
    marks: NumberedMarks,
    /// A place up to which two stored texts are known to differ in marks alone.
    known: Alignment,
}

impl MarkedTexts {
    /// Renders the same beginnings with marks; none if not all texts can have one.
    pub fn new(
        template: &Template,
        chat: &Chat,
        with_ids: bool,
        wanted: Vec<Prefix>,
    ) -> Option<MarkedTexts> {
        let (marked, marks) = difference::marked(chat, with_ids)?;
        let texts = Texts::new(template, &marked, wanted).ok()?;
        Some(MarkedTexts { texts, marks, known: Alignment::default() })
    }

    /// Finds the texts of one message at the end of the rendering of the first `count` messages.
    fn of_message(
        &mut self,
        text: &Parts<'_>,
        count: usize,
        message: usize,
    ) -> Option<Vec<(Kind, Range<usize>)>> {
        let marked = self.texts.of(count, false).ok()?;
        Some(self.marks.align(text, &marked, &mut self.known)?.of_message(message))
    }

    /// The places of all texts in the rendering of the first `count` messages.
    pub fn places<'c>(
        &self,
        template: &'c Template,
        chat: &'c Chat,
        text: &'c str,
        count: usize,
    ) -> Option<Places<'c>> {
        let marked = self.texts.of(count, false).ok()?;
        let plain = Parts::of(text);
        let found = self.marks.align(&plain, &marked, &mut Alignment::default())?;
        Some(Places::complete(template, chat, text, &found))
    }
}

/// Finds the texts of messages in renderings.
pub struct Marks<'c> {
    pub template: &'c Template,
    pub chat: &'c Chat,
    pub marked: Option<MarkedTexts>,
}

impl Marks<'_> {
    /// Returns the places of the texts of message `message` in the rendering that ends with it.
    pub fn own(
        &mut self,
        text: &Parts<'_>,
        message: usize,
    ) -> Result<Vec<(Kind, Range<usize>)>, Error> {
        let marked = self.marked.as_mut();
        if let Some(own) = marked.and_then(|marked| marked.of_message(text, message + 1, message)) {
            return Ok(own);
        }
        let (chat, text) = (self.chat.until(message), text.after(0));
        let mut places = Places::new(self.template, &chat, &text);
        let mut own = Vec::new();
        for kind in kinds(&chat.messages()[message]) {
            own.extend(places.of(message, kind)?.map(|place| (kind, place)));
        }
        Ok(own)
    }

    /// Returns the places of all texts in the rendering of a chat.
    pub fn places<'t>(&'t self, chat: &'t Chat, text: &'t str) -> Places<'t> {
        let marked = self.marked.as_ref();
        let count = chat.messages().len();
        marked
            .and_then(|marked| marked.places(self.template, chat, text, count))
            .unwrap_or_else(|| Places::new(self.template, chat, text))
    }
}
