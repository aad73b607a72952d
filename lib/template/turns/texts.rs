//! The renderings of a chat up to each of its turns, plain and with marks.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::difference::{self, Alignment, NumberedMarks, Places, kinds};
use super::mark::Kind;
use super::printed::PrintedTexts;
use crate::chat::Chat;
use crate::error::Error;
use crate::run::{Parts, Prefix, Prefixes, PrintedText};
use crate::template::Template;

/// Renderings of beginnings of a chat.
#[derive(Debug)]
pub struct Texts {
    prefixes: Prefixes,
    numbers: HashMap<Prefix, usize>,
}

impl Texts {
    /// Renders beginnings of a chat; notes where the texts are printed that are kept at the addresses.
    pub fn new(
        template: &Template,
        chat: &Chat,
        mut wanted: Vec<Prefix>,
        texts: &[usize],
    ) -> Result<Texts, Error> {
        wanted.sort();
        wanted.dedup();
        let prefixes = template.render_prefixes(chat, &wanted, texts)?;
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

    /// Where a text of the chat is printed in the rendering of the first `count` messages, by the address of its bytes.
    pub fn printed(&self, count: usize, text: usize) -> impl Iterator<Item = &PrintedText> {
        let number = self.number(count, false).ok();
        number.into_iter().flat_map(move |number| self.prefixes.printed(number, text))
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
        let texts = Texts::new(template, &marked, wanted, &[]).ok()?;
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
    /// The texts of the chat, if a template may print them as they are.
    printed: Option<PrintedTexts>,
    /// The beginnings of the chat in which texts are looked for.
    wanted: Vec<Prefix>,
    /// The same with marks, once they are needed.
    marked: OnceCell<Option<MarkedTexts>>,
}

impl<'c> Marks<'c> {
    /// Looks for texts in these beginnings of a chat.
    pub fn new(template: &'c Template, chat: &'c Chat, wanted: Vec<Prefix>) -> Marks<'c> {
        let (printed, marked) = (PrintedTexts::of(chat), OnceCell::new());
        Marks { template, chat, printed, wanted, marked }
    }

    /// The addresses of the texts that a template may print as they are.
    pub fn addresses(&self) -> &[usize] {
        self.printed.as_ref().map_or(&[], |printed| &printed.addresses)
    }

    fn marked(&self) -> Option<&MarkedTexts> {
        let make = || MarkedTexts::new(self.template, self.chat, false, self.wanted.clone());
        self.marked.get_or_init(make).as_ref()
    }

    /// Returns the places of the texts of message `message` in the rendering that ends with it.
    pub fn own(
        &mut self,
        texts: &Texts,
        message: usize,
    ) -> Result<Vec<(Kind, Range<usize>)>, Error> {
        let count = message + 1;
        let printed = self.printed.as_ref();
        if let Some(own) = printed.and_then(|of| of.of_message(texts, count, message)) {
            return Ok(own);
        }
        let text = &texts.of(count, false)?;
        self.marked();
        let marked = self.marked.get_mut().and_then(Option::as_mut);
        if let Some(own) = marked.and_then(|marked| marked.of_message(text, count, message)) {
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
    pub fn places<'t>(&'t self, texts: &Texts, chat: &'t Chat, text: &'t str) -> Places<'t> {
        let count = chat.messages().len();
        let printed = self.printed.as_ref();
        if let Some(found) = printed.and_then(|printed| printed.places(texts, count)) {
            return Places::complete(self.template, chat, text, &found);
        }
        self.marked()
            .and_then(|marked| marked.places(self.template, chat, text, count))
            .unwrap_or_else(|| Places::new(self.template, chat, text))
    }
}
