//! Splits what the model said into channels.

use std::ops::Range;

use memchr::memmem;

use super::difference::Places;
use super::mark::Kind;
use super::{Channel, Turn};
use crate::chat::Chat;
use crate::error::Error;

/// Splits a turn's bytes into channels.
pub fn channels(
    chat: &Chat,
    text: &str,
    stops: &[memmem::Finder],
    turn: &Turn,
    places: &mut Places<'_>,
) -> Result<Vec<(Channel, Range<usize>)>, Error> {
    let (message, said) = (turn.message, &turn.said);
    let mut blocks: Vec<(Channel, Range<usize>)> = Vec::new();
    for &kind in places.kinds(message).iter() {
        let Some(place) = places.of(message, kind)? else { continue };
        let channel = match kind {
            Kind::Content => Channel::Final,
            Kind::Reasoning => Channel::Analysis,
            Kind::Name(_) | Kind::Arguments(_) | Kind::Id(_) => Channel::Commentary,
        };
        match blocks.iter_mut().find(|(other, _)| *other == channel) {
            Some((_, whole)) => {
                *whole = whole.start.min(place.start)..whole.end.max(place.end);
            }
            None => blocks.push((channel, place)),
        }
    }
    blocks.sort_by_key(|(_, place)| (place.start, place.end));
    let texts_end = blocks.iter().map(|(_, place)| place.end).max().unwrap_or(said.start);
    let end = match turn.has_stop {
        true => chat.stop(text, stops, texts_end.clamp(said.start, said.end)..said.end),
        false => None,
    };
    let end = end.map_or(said.end, |stop| stop.start);
    let mut parts = Vec::new();
    let mut at = said.start;
    for (index, (channel, place)) in blocks.iter().enumerate() {
        let to = match blocks.get(index + 1) {
            None => end,
            Some((next, other)) => match (channel, next) {
                (Channel::Final, _) => place.end,
                (Channel::Analysis, Channel::Commentary) => {
                    places.content_between(message, place.end, other.start)
                }
                _ => other.start,
            },
        };
        let to = to.clamp(at, end);
        parts.push((*channel, at..to));
        at = to;
    }
    parts.push((Channel::Final, at..said.end));
    let mut joined: Vec<(Channel, Range<usize>)> = Vec::new();
    for (channel, range) in parts.into_iter().filter(|(_, range)| !range.is_empty()) {
        match joined.last_mut() {
            Some((last, whole)) if *last == channel => whole.end = range.end,
            _ => joined.push((channel, range)),
        }
    }
    Ok(joined)
}
