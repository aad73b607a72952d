//! Texts of messages that a template prints as they are: their places are noted while it prints, and it need not run again
//! with marks. (That is half of the time of a chat: 0.16 of 0.45 million instructions for Llama 3.1.)

use std::ops::Range;

use super::difference::FoundMarks;
use super::mark::{self, Kind};
use super::texts::Texts;
use crate::chat::Chat;
use crate::value::Value;

/// The texts of a chat whose messages have nothing but a content and a reasoning, without tools.
pub struct PrintedTexts {
    /// In the order of the messages.
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

impl PrintedTexts {
    /// Lists the texts of a chat; none if it has others, or two at one address.
    pub fn of(chat: &Chat) -> Option<PrintedTexts> {
        if *chat.tools() != Value::None {
            return None;
        }
        let mut texts: Vec<MessageText> = Vec::new();
        for (message, of) in chat.messages().iter().enumerate() {
            for (key, value) in of.as_dict()?.entries() {
                let (kind, text) = match (key.as_text()?, value) {
                    ("content", Value::Text(text)) => (Kind::Content, text),
                    ("reasoning_content" | "thinking" | "reasoning", Value::Text(text)) => {
                        (Kind::Reasoning, text)
                    }
                    ("content" | "tool_calls", Value::None) => continue,
                    ("content" | "tool_calls", _) => return None,
                    _ => continue,
                };
                let Some((before, inner, _)) = mark::parts(text) else { continue };
                let (address, inner) =
                    (text.as_ptr().addr(), before.len()..before.len() + inner.len());
                // (A reasoning stands under several keys.)
                let mut others = texts.iter().rev().take_while(|other| other.message == message);
                if others.all(|other| other.address != address) {
                    texts.push(MessageText { message, kind, address, inner });
                }
            }
        }
        let mut addresses: Vec<usize> = texts.iter().map(|text| text.address).collect();
        addresses.sort_unstable();
        let is_once = addresses.is_sorted_by(|a, b| a < b);
        is_once.then_some(PrintedTexts { texts, addresses })
    }

    /// The places of the texts of one message in the rendering of the first `count` messages; none if one of them does not
    /// stand there just once.
    pub fn of_message(
        &self,
        texts: &Texts,
        count: usize,
        message: usize,
    ) -> Option<Vec<(Kind, Range<usize>)>> {
        let from = self.texts.partition_point(|text| text.message < message);
        let own = self.texts[from..].iter().take_while(|text| text.message == message);
        let mut own: Vec<(Kind, Range<usize>)> =
            own.map(|text| Some((text.kind, text.place(texts, count)?))).collect::<Option<_>>()?;
        own.sort_by_key(|(kind, _)| *kind);
        Some(own)
    }

    /// The places of all texts in the rendering of the first `count` messages, likewise.
    pub fn places(&self, texts: &Texts, count: usize) -> Option<FoundMarks> {
        let own = self.texts.iter().enumerate().take_while(|(_, text)| text.message < count);
        let mut found = Vec::new();
        for (number, text) in own {
            let place = text.place(texts, count)?;
            let owner = (text.message, text.kind);
            found.extend([(number, owner, place.start), (number, owner, place.end)]);
        }
        found.sort_by_key(|(_, _, at)| *at);
        Some(FoundMarks(found))
    }
}

impl MessageText {
    /// The only place of the text in a rendering.
    fn place(&self, texts: &Texts, count: usize) -> Option<Range<usize>> {
        let mut printed = texts.printed(count, self.address);
        let of = printed.next().filter(|_| printed.next().is_none())?;
        let Range { start, end } = self.inner;
        let is_whole = of.from <= start && end <= of.from + of.length;
        is_whole.then(|| of.at + start - of.from..of.at + end - of.from)
    }
}
