//! The texts of beginnings of a chat, which are stored once where they have the same beginning.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::printed::{PrintedText, SpoiledTexts};
use crate::error::Error;

pub(super) const TOO_LONG: &str = "the texts of all turns together are over 256 MiB";

/// How many texts were stored.
static STORED: AtomicUsize = AtomicUsize::new(0);

/// A beginning of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The number of its messages.
    pub count: usize,
    /// Whether a generation prompt follows it.
    pub has_prompt: bool,
    /// Whether the other last message of the chat stands in the place of its last one.
    pub has_other: bool,
}

impl Prefix {
    /// The first messages of a chat, followed by a generation prompt or not.
    pub fn new(count: usize, has_prompt: bool) -> Prefix {
        Prefix { count, has_prompt, has_other: false }
    }

    /// The number of first messages that two beginnings of a chat have in common.
    pub(super) fn in_common(self, other: Prefix) -> usize {
        let differ = self.count == other.count && self.has_other != other.has_other;
        self.count.min(other.count) - usize::from(differ)
    }
}

/// The text of a prefix: a part that it has in common with others, and the rest.
#[derive(Debug, Clone)]
pub struct PrefixText {
    /// The place of the stored text that it begins with.
    pub whole: usize,
    /// The number of bytes that it has of that.
    pub shared: usize,
    pub rest: String,
    /// What `{% generation %}` names in the rest.
    pub generations: Vec<Range<usize>>,
    /// The texts that were printed in the rest, in the order of [`PrintedText`].
    pub printed: Vec<PrintedText>,
}

/// A text that is stored once.
#[derive(Debug, Clone, Default)]
pub struct WholeText {
    pub text: String,
    /// In the order of [`PrintedText`].
    pub printed: Vec<PrintedText>,
}

/// The texts of prefixes, in the order in which they were wanted.
#[derive(Debug)]
pub struct Prefixes {
    /// The number of the first stored text: no two texts have one number.
    first: usize,
    wholes: Vec<WholeText>,
    texts: Vec<std::result::Result<PrefixText, Error>>,
    spoiled: SpoiledTexts,
}

/// The text of a prefix, in two parts.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'t> {
    /// The number of the stored text that the first part is of.
    pub(crate) whole: usize,
    /// The part that it may have in common with others, and the rest.
    pub parts: [&'t str; 2],
}

impl Prefixes {
    /// Texts in the order in which they were wanted; each begins with a part of a whole one.
    pub(super) fn new(
        mut wholes: Vec<WholeText>,
        mut texts: Vec<std::result::Result<PrefixText, Error>>,
        spoiled: SpoiledTexts,
    ) -> Prefixes {
        let spoiled = spoiled.sorted();
        let of_texts = texts.iter_mut().flatten().map(|text| &mut text.printed);
        let printed = wholes.iter_mut().map(|whole| &mut whole.printed).chain(of_texts);
        printed.for_each(|printed| printed.sort_unstable());
        let first = STORED.fetch_add(wholes.len(), Ordering::Relaxed);
        Prefixes { first, wholes, texts, spoiled }
    }

    /// The text of a prefix, by its place among those that were wanted.
    pub fn text(&self, number: usize) -> std::result::Result<Parts<'_>, Error> {
        let text = self.texts[number].as_ref().map_err(Error::clone)?;
        let Some(shared) = self.wholes[text.whole].text.get(..text.shared) else {
            return Err(Error::Limit { line: 1, cause: TOO_LONG });
        };
        let parts = [shared, text.rest.as_str()];
        Ok(Parts { whole: self.first + text.whole, parts })
    }

    /// Where a text of the context is printed in the text of a prefix, if it is known.
    pub fn printed(
        &self,
        number: usize,
        text: usize,
    ) -> Option<impl Iterator<Item = &PrintedText>> {
        self.text(number).ok().filter(|_| !self.spoiled.has(text))?;
        let PrefixText { whole, shared, printed: rest, .. } = self.texts[number].as_ref().ok()?;
        let whole = &self.wholes[*whole].printed;
        fn of_text(printed: &[PrintedText], text: usize) -> impl Iterator<Item = &PrintedText> {
            let from = printed.partition_point(|of| of.text < text);
            printed[from..].iter().take_while(move |of| of.text == text)
        }
        let whole = of_text(whole, text).take_while(move |of| of.at < *shared);
        Some(whole.chain(of_text(rest, text)))
    }

    /// What `{% generation %}` names in the text of a prefix, as far as no other prefix has it.
    pub fn generations(&self, number: usize) -> &[Range<usize>] {
        self.texts[number].as_ref().map_or(&[], |text| &text.generations)
    }
}

impl<'t> Parts<'t> {
    /// A text that shares no part.
    pub fn of(text: &'t str) -> Parts<'t> {
        Parts { whole: usize::MAX, parts: [text, ""] }
    }
}

impl Parts<'_> {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.parts[0].len() + self.parts[1].len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of first bytes that are stored once for both texts.
    fn shared(&self, other: &Parts<'_>) -> usize {
        match self.whole == other.whole {
            true => self.parts[0].len().min(other.parts[0].len()),
            false => 0,
        }
    }

    /// The length of the longest common beginning, in bytes; `from` bytes are known to be equal.
    pub fn common(&self, other: &Parts<'_>, from: usize) -> usize {
        let mut at = from.max(self.shared(other));
        loop {
            let (a, b) = (self.part_at(at), other.part_at(at));
            let length = a.len().min(b.len());
            let same = common(&a[..length], &b[..length]);
            at += same;
            if same < length || length == 0 {
                return at;
            }
        }
    }

    /// The bytes from a place to the end of its part.
    fn part_at(&self, at: usize) -> &[u8] {
        let [first, rest] = self.parts.map(str::as_bytes);
        match at.checked_sub(first.len()) {
            None => &first[at..],
            Some(at) => rest.get(at..).unwrap_or_default(),
        }
    }

    /// The text from a place on.
    pub fn after(&self, from: usize) -> String {
        let [first, rest] = self.parts;
        match from.checked_sub(first.len()) {
            None => [&first[from..], rest].concat(),
            Some(from) => rest[from..].to_string(),
        }
    }
}

/// The length of the common beginning of two texts of one length.
fn common(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 256;
    let blocks = a.chunks(BLOCK).zip(b.chunks(BLOCK)).take_while(|(a, b)| a == b).count();
    let at = (blocks * BLOCK).min(a.len());
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}
