//! Splits a text into segments.

use memchr::memmem;

use super::difference::Places;
use super::{Channel, LocatedTurn, Role, Segment, role_of};
use crate::chat::Chat;
use crate::error::Error;

struct Cover {
    segments: Vec<Segment>,
    at: usize,
}

impl Cover {
    fn to(&mut self, end: usize, role: Role, channel: Option<Channel>, message: usize) {
        if end <= self.at {
            return;
        }
        let range = self.at..end;
        self.at = end;
        match self.segments.last_mut() {
            Some(last) if (last.role, last.channel, last.message) == (role, channel, message) => {
                last.range.end = end;
            }
            _ => self.segments.push(Segment { range, role, channel, message }),
        }
    }
}

/// Returns the segments of a text, without gaps.
pub fn cover(
    stops: &[memmem::Finder],
    chat: &Chat,
    text: &str,
    turns: &[LocatedTurn],
    places: &mut Places<'_>,
) -> Result<Vec<Segment>, Error> {
    let mut cover = Cover { segments: Vec::new(), at: 0 };
    let count = chat.messages().len();
    // (They are in the order of the messages.)
    let located = |message: usize| {
        turns.binary_search_by_key(&message, |of| of.turn.message).ok().map(|place| &turns[place])
    };
    for message in 0..count {
        let role = role_of(&chat.messages()[message]);
        if let Some(of) = located(message) {
            cover.to(of.turn.said.start, Role::Assistant, None, message);
            for (channel, range) in &of.parts {
                cover.to(range.end, Role::Assistant, Some(*channel), message);
            }
            continue;
        }
        let Some(place) = places.of_message(message)? else { continue };
        let mut next = None;
        for other in message + 1..count {
            let start = match located(other) {
                Some(of) => Some(of.turn.said.start),
                None => places.of_message(other)?.map(|place| place.start),
            };
            if let Some(start) = start.filter(|start| *start >= place.end) {
                next = Some(start);
                break;
            }
        }
        let end = match next {
            // What follows the stop token, or the texts if there is none, belongs to the next message.
            Some(start) => {
                chat.stop(text, stops, place.end..start).map_or(place.end, |stop| stop.end)
            }
            None => text.len(),
        };
        cover.to(end, role, None, message);
    }
    let role = role_of(&chat.messages()[count - 1]);
    cover.to(text.len(), role, None, count - 1);
    Ok(cover.segments)
}
