//! Texts of messages that a template prints as they are, or as JSON: their places are noted while it prints, and it need
//! not run again with marks. (That is half of the time of a chat: 0.16 of 0.45 million instructions for Llama 3.1.)

use std::ops::Range;

use super::difference::{FoundMarks, TOOLS};
use super::mark::{self, Kind, Marks};
use super::texts::Texts;
use crate::chat::Chat;

/// The texts of a chat, but for the ids of calls.
pub struct PrintedTexts {
    /// In the order of the messages; then the names of tools.
    texts: Vec<MessageText>,
    /// Where the bytes of each are kept, in order.
    pub addresses: Vec<usize>,
}

struct MessageText {
    message: usize,
    kind: Kind,
    address: usize,
    /// Its bytes between its outer spaces.
    inner: Range<usize>,
}

/// Lists the texts of a message, and marks none.
struct Collector<'p> {
    message: usize,
    texts: &'p mut Vec<MessageText>,
}

impl Marks for Collector<'_> {
    fn mark(&mut self, kind: Kind, text: &str) -> Option<String> {
        let (before, inner, _) = mark::parts(text)?;
        let (message, address) = (self.message, text.as_ptr().addr());
        let inner = before.len()..before.len() + inner.len();
        // (A reasoning stands under several keys.)
        let mut others = self.texts.iter().rev().take_while(|other| other.message == message);
        let is_known =
            kind == Kind::Reasoning && others.any(|of| of.kind == kind && of.address == address);
        if !matches!(kind, Kind::Id(_)) && !is_known {
            self.texts.push(MessageText { message, kind, address, inner });
        }
        None
    }
}

impl PrintedTexts {
    /// Lists the texts of a chat; none if two are at one address.
    pub fn of(chat: &Chat) -> Option<PrintedTexts> {
        let mut texts = Vec::new();
        for (message, of) in chat.messages().iter().enumerate() {
            mark::message(of, &mut Collector { message, texts: &mut texts });
        }
        for tool in chat.tools().as_list().unwrap_or_default() {
            mark::tool(tool, &mut Collector { message: TOOLS, texts: &mut texts });
        }
        let mut addresses: Vec<usize> = texts.iter().map(|text| text.address).collect();
        addresses.sort_unstable();
        let is_once = addresses.is_sorted_by(|a, b| a < b);
        is_once.then_some(PrintedTexts { texts, addresses })
    }

    /// The places of the texts of one message in the rendering of the first `count` messages; none if one of them is not
    /// known.
    pub fn of_message(
        &self,
        texts: &Texts,
        count: usize,
        message: usize,
    ) -> Option<Vec<(Kind, Range<usize>)>> {
        let from = self.texts.partition_point(|text| text.message < message);
        let own = self.texts[from..].iter().take_while(|text| text.message == message);
        Some(found(own, texts, count)?.of_message(message))
    }

    /// The places of all texts in the rendering of the first `count` messages, likewise.
    pub fn places(&self, texts: &Texts, count: usize) -> Option<FoundMarks> {
        let is_there = |text: &&MessageText| text.message < count || text.message == TOOLS;
        found(self.texts.iter().filter(is_there), texts, count)
    }
}

/// Where texts stand in the rendering of the first `count` messages.
fn found<'t>(
    own: impl Iterator<Item = &'t MessageText>,
    texts: &Texts,
    count: usize,
) -> Option<FoundMarks> {
    let mut found = Vec::new();
    for (number, text) in own.enumerate() {
        let owner = (text.message, text.kind);
        // (Names are shown again with results, and by some templates for each tool.)
        let is_repeated = matches!(text.kind, Kind::Name(_)) || text.message == TOOLS;
        for (place, of) in texts.printed(count, text.address)?.enumerate() {
            if place > 0 && !is_repeated {
                return None;
            }
            let [start, end] = [of.start(text.inner.start)?, of.end(text.inner.end)?];
            found.extend([(number, owner, start), (number, owner, end)]);
        }
    }
    found.sort_by_key(|(_, _, at)| *at);
    Some(FoundMarks(found))
}
