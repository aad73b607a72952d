//! Finds where each turn begins and ends.

use std::ops::Range;

use super::difference::{Places, cause, head, kinds};
use super::mark::Kind;
use super::{Channel, Finder, FoundTurns, LocatedTurn, Turn, UnseenText, segments, stop};
use crate::chat::Chat;
use crate::error::Error;
use crate::template::Template;
use crate::text::is_space;

pub fn find(
    finder: &Finder,
    chat: &Chat,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<FoundTurns, Error> {
    let template = &finder.template;
    let marked = template.render_marked(chat, false)?;
    let text = marked.text;
    let mut places = Places::new(template, chat, &text, false);
    let unseen = unseen(chat, &mut places)?;
    let generations = merged(marked.generations);
    let mut turns = Vec::new();
    for message in chat.turns() {
        let search = Search { template, chat, text: &text, stops: &finder.stops };
        let located = search.turn(message, &mut places).and_then(|mut located| {
            let said = &mut located.turn.said;
            if template.has_generation() && !generations.contains(said) {
                *said = agreed(said, &generations, finder.trusts_generation)
                    .map_err(|stated| disagreement(message, said, stated))?;
            }
            located.parts = search.channels(message, &located.turn, &mut places)?;
            Ok(located)
        });
        match located {
            Ok(located) => turns.push(located),
            Err(error) if wanted(message) => return Err(error),
            Err(_) => {}
        }
    }
    // (The turns stand in the order of the chat, unless the template moves them.)
    if let Some(pair) =
        turns.windows(2).find(|pair| pair[0].turn.said.end > pair[1].turn.said.start)
    {
        let message = pair[1].turn.message;
        let cause = "what was said overlaps with the turn before".into();
        return Err(Error::Turn { message, cause });
    }
    let is_of_turn = |range: &Range<usize>| {
        turns.iter().any(|of| of.turn.said.start <= range.start && range.end <= of.turn.said.end)
    };
    let is_complete = turns.len() == chat.turns().len() && !finder.trusts_generation;
    if let Some(range) = generations.iter().find(|range| is_complete && !is_of_turn(range)) {
        let (start, end) = (range.start, range.end);
        let cause =
            format!("{{% generation %}} names the bytes {start} to {end}, which no turn is");
        return Err(Error::Chat(cause));
    }
    let segments = segments::cover(&finder.stops, chat, &text, &turns, &mut places)?;
    let turns = turns.into_iter().map(|located| located.turn);
    let turns = turns.filter(|turn| wanted(turn.message)).collect();
    Ok(FoundTurns { text, turns, segments, unseen })
}

/// Joins ranges that touch, and drops empty ones.
fn merged(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match merged.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the one `{% generation %}` range that overlaps with a turn, if it is trusted. Otherwise the error has it.
fn agreed(
    said: &Range<usize>,
    generations: &[Range<usize>],
    is_trusted: bool,
) -> Result<Range<usize>, Option<Range<usize>>> {
    let mut within =
        generations.iter().filter(|range| range.start < said.end && said.start < range.end);
    match (within.next(), within.next()) {
        (Some(range), None) if is_trusted => Ok(range.clone()),
        (first, _) => Err(first.cloned()),
    }
}

fn disagreement(message: usize, said: &Range<usize>, stated: Option<Range<usize>>) -> Error {
    let stated = match stated {
        Some(range) => {
            format!("{{% generation %}} names the bytes {} to {}", range.start, range.end)
        }
        None => "{% generation %} names none".into(),
    };
    let cause = format!("the turn is the bytes {} to {}, and {stated}", said.start, said.end);
    Error::Turn { message, cause }
}

/// Lists the texts of the chat that the rendering does not show.
fn unseen(chat: &Chat, places: &mut Places<'_>) -> Result<Vec<UnseenText>, Error> {
    let mut unseen = Vec::new();
    for (message, of) in chat.messages().iter().enumerate() {
        for kind in kinds(of) {
            if places.of(message, kind)?.is_none() {
                let text = match kind {
                    Kind::Content => UnseenText::Content(message),
                    Kind::Reasoning => UnseenText::Reasoning(message),
                    Kind::Name(_) | Kind::Arguments(_) => UnseenText::Call(message),
                };
                if !unseen.contains(&text) {
                    unseen.push(text);
                }
            }
        }
    }
    let has_tools = chat.tools().as_list().is_some_and(|tools| !tools.is_empty());
    if has_tools && !places.shows_tools()? {
        unseen.push(UnseenText::Tools);
    }
    Ok(unseen)
}

/// The length of a text up to a tag (`<`) that it leaves open.
fn within_tags(text: &str) -> usize {
    let open = |begin: char, end: char| {
        let at = text.rfind(begin)?;
        (!text[at..].contains(end)).then_some(at)
    };
    let tags = [open('<', '>'), open('[', ']')];
    tags.into_iter().flatten().min().unwrap_or(text.len())
}

struct Search<'c> {
    template: &'c Template,
    chat: &'c Chat,
    text: &'c str,
    stops: &'c [String],
}

impl Search<'_> {
    fn turn(&self, message: usize, places: &mut Places<'_>) -> Result<LocatedTurn, Error> {
        let texts = places.of_message(message)?;
        let (start, is_prompt_whole) = self.start(message, texts.as_ref(), places)?;
        let end = texts.as_ref().map_or(start, |texts| texts.end.max(start));
        let limit = self.next_texts(message, end, places)?;
        let (end, has_stop) = match self.stop(end, limit) {
            Some(stop) => (stop.end, true),
            None => (self.with_spaces(message, end, limit), false),
        };
        let turn = Turn { message, said: start..end, has_stop, is_prompt_whole };
        Ok(LocatedTurn { turn, parts: Vec::new() })
    }

    /// Finds where the generation prompt of a turn ends; also returns whether the whole prompt stands there.
    fn start(
        &self,
        message: usize,
        texts: Option<&Range<usize>>,
        places: &mut Places<'_>,
    ) -> Result<(usize, bool), Error> {
        let fail = |cause: &str| Err(Error::Turn { message, cause: cause.into() });
        if message == 0 {
            return fail("the chat begins with the assistant, before which nothing is asked");
        }
        let before = self.chat.first(message);
        let render = |prompt: bool| self.template.render(&before, prompt);
        let prompted = render(true).map_err(|error| cause(message, &error))?;
        if self.text.starts_with(&prompted) {
            return match texts {
                Some(texts) if prompted.len() > texts.end => {
                    fail("the generation prompt ends after the texts")
                }
                _ => Ok((prompted.len(), true)),
            };
        }
        let Some(texts) = texts else {
            return fail("a turn without a text, in a chat that is rendered otherwise before it");
        };
        let bare = render(false).map_err(|error| cause(message, &error))?;
        let prompt = prompted.len() - head(&bare, &prompted);
        // What follows the message before the turn: in the chat up to the turn, and in the whole text.
        let mut asked = Places::new(self.template, &before, &prompted, true);
        let from = places.of_message(message - 1)?.filter(|place| place.end <= texts.start);
        let (from, asked) = match (from, asked.of_message(message - 1)?) {
            (Some(place), Some(asked)) => (place.end, &prompted[asked.end..]),
            _ => {
                let prompt = &prompted[prompted.len() - prompt..];
                let begins = |end: usize| self.text[..texts.start].rfind(&prompt[..end]);
                let ends = prompt.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
                match ends.map(begins).find_map(|at| at) {
                    Some(at) => (at, prompt),
                    None => return fail("the generation prompt does not stand before the texts"),
                }
            }
        };
        let between = &self.text[from..texts.start];
        let same = within_tags(&asked[..head(between, asked)]);
        if same == 0 || (prompt > 0 && same + prompt <= asked.len()) {
            return fail("the generation prompt does not stand before the texts");
        }
        // An end of the prompt may stand without its middle.
        let (rest, missing) = (&between[same..], &asked[same..]);
        let ends = missing.char_indices().map(|(at, _)| &missing[at..]);
        let end = ends.filter(|end| rest.starts_with(end)).map(str::len).max().unwrap_or(0);
        Ok((from + same + end, same == asked.len()))
    }

    /// Finds where the texts of the messages after a turn begin.
    fn next_texts(
        &self,
        message: usize,
        end: usize,
        places: &mut Places<'_>,
    ) -> Result<usize, Error> {
        for next in message + 1..self.chat.messages().len() {
            if let Some(place) = places.of_message(next)?.filter(|place| place.start >= end) {
                return Ok(place.start);
            }
        }
        Ok(self.text.len())
    }

    fn stop(&self, from: usize, to: usize) -> Option<Range<usize>> {
        stop(self.text, self.stops, from..to)
    }

    /// Moves the end of a message's texts behind the spaces that its last text ends with.
    fn with_spaces(&self, message: usize, end: usize, limit: usize) -> usize {
        let of = &self.chat.messages()[message];
        let content = of.get("content").and_then(|content| content.as_text()).unwrap_or_default();
        let spaces = &content[content.trim_end_matches(is_space).len()..];
        end + head(&self.text[end..limit], spaces)
    }

    /// Splits a turn's bytes into channels.
    fn channels(
        &self,
        message: usize,
        turn: &Turn,
        places: &mut Places<'_>,
    ) -> Result<Vec<(Channel, Range<usize>)>, Error> {
        let mut blocks: Vec<(Channel, Range<usize>)> = Vec::new();
        for kind in kinds(&self.chat.messages()[message]) {
            let Some(place) = places.of(message, kind)? else { continue };
            let channel = match kind {
                Kind::Content => Channel::Final,
                Kind::Reasoning => Channel::Analysis,
                Kind::Name(_) | Kind::Arguments(_) => Channel::Commentary,
            };
            match blocks.iter_mut().find(|(other, _)| *other == channel) {
                Some((_, whole)) => {
                    *whole = whole.start.min(place.start)..whole.end.max(place.end);
                }
                None => blocks.push((channel, place)),
            }
        }
        blocks.sort_by_key(|(_, place)| (place.start, place.end));
        let said = &turn.said;
        let texts_end = blocks.iter().map(|(_, place)| place.end).max().unwrap_or(said.start);
        let stop =
            if turn.has_stop { self.stop(texts_end.max(said.start), said.end) } else { None };
        let stop = stop.map_or(said.end, |stop| stop.start);
        let mut parts = Vec::new();
        let mut at = said.start;
        for (index, (channel, place)) in blocks.iter().enumerate() {
            let end = match blocks.get(index + 1) {
                None => stop,
                Some((next, other)) => match (channel, next) {
                    (Channel::Final, _) => place.end,
                    (Channel::Analysis, Channel::Commentary) => {
                        let between = places.of_no_content(message).unwrap_or(place.end);
                        between.clamp(place.end.min(other.start), other.start)
                    }
                    _ => other.start,
                },
            };
            let end = end.clamp(at, stop);
            parts.push((*channel, at..end));
            at = end;
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
}
