//! Finds the turns of a chat, and the records that they are trained on in.

use std::ops::Range;

use foldhash::HashMap;

use super::begin::{Asked, floor};
use super::channels::channels;
use super::difference::{Places, cause, head};
use super::mark::{self, Kind};
use super::records::{Candidate, choose};
use super::texts::{MarkedTexts, Marks, Texts};
use super::{
    Finder, FoundAnswer, FoundTurns, LocatedTurn, Prompt, Records, Turn, UnseenText, generation,
    segments,
};
use crate::chat::Chat;
use crate::error::Error;
use crate::run::Prefix;
use crate::text::is_space;

pub fn find(
    finder: &Finder,
    chat: &Chat,
    records: Records,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Vec<FoundTurns>, Error> {
    let turns: Vec<usize> = chat.turns().into_iter().filter(|turn| wanted(*turn)).collect();
    // (A chat in which nothing is wanted is one record, too.)
    let is_one = records == Records::One || turns.is_empty();
    let whole = is_one.then_some(chat.messages().len());
    let mut search = Search::new(finder, chat, turns, whole)?;
    let mut generated = HashMap::default();
    for message in search.turns.clone() {
        match search.generated(message) {
            Ok(turn) => drop(generated.insert(message, turn)),
            // (In one record, turns may stand otherwise.)
            Err(_) if whole.is_some() && message > 0 => {}
            Err(error) => return Err(search.cause_of(error, message)),
        }
    }
    match whole {
        Some(count) => Ok(vec![search.one(count, &generated)?]),
        None => search.fewest(&generated),
    }
}

/// Finds the last messages of two chats, which are rendered together if they differ in nothing else.
pub fn answers(finder: &Finder, chats: [&Chat; 2]) -> [Result<FoundAnswer, Error>; 2] {
    let both = chats[0].beside(chats[1]);
    let Some((both, end)) = both.as_ref().and_then(|both| Some((both, both.other_end()?))) else {
        return chats.map(|chat| answer(Search::new(finder, chat, last(chat), None)?));
    };
    // (Its texts before the last message are those of the first chat, with their addresses.)
    let other = &both.with_end(end.clone());
    let turns = last(both);
    let marks = [both, other].map(|chat| Search::marks(finder, chat, &turns, None));
    let mut texts = marks.each_ref().map(Marks::addresses).concat();
    texts.sort_unstable();
    texts.dedup();
    let mut wanted = prefixes(&turns, None);
    wanted.push(Prefix { has_other: true, ..Prefix::new(both.messages().len(), false) });
    match Texts::new(&finder.template, both, wanted, &texts) {
        Err(error) => [Err(error.clone()), Err(error)],
        Ok(plain) => {
            let [of_both, of_other] = marks;
            let other_plain = plain.with_other_end();
            [(both, of_both, plain), (other, of_other, other_plain)].map(|(chat, marks, plain)| {
                answer(Search::with(finder, chat, turns.clone(), marks, plain))
            })
        }
    }
}

/// The last message of a chat, as the only turn.
fn last(chat: &Chat) -> Vec<usize> {
    vec![chat.messages().len() - 1]
}

fn answer(mut search: Search<'_>) -> Result<FoundAnswer, Error> {
    let message = search.chat.messages().len() - 1;
    let turn = search.generated(message);
    let turn = turn.map_err(|error| search.cause_of(error, message))?;
    let found = search.record(message + 1, &HashMap::from_iter([(message, &turn)]), &[])?;
    let prompt = match turn.prompt {
        Prompt::Switched => found.text[..turn.said.start].to_string(),
        _ => search.plain.of(message, true)?.after(0),
    };
    Ok(FoundAnswer { prompt, found })
}

/// The beginnings of a chat that a search looks at.
fn prefixes(turns: &[usize], whole: Option<usize>) -> Vec<Prefix> {
    let before = turns.iter().filter(|turn| **turn > 0);
    let mut wanted: Vec<Prefix> = turns.iter().map(|turn| Prefix::new(turn + 1, false)).collect();
    wanted.extend(before.map(|turn| Prefix::new(*turn, true)));
    wanted.extend(whole.map(|count| Prefix::new(count, false)));
    wanted
}

/// What the model generates for a message: the bytes of the rendering that ends with the message.
#[derive(Debug, Clone)]
struct GeneratedTurn {
    said: Range<usize>,
    has_stop: bool,
    prompt: Prompt,
}

struct Search<'c> {
    finder: &'c Finder,
    chat: &'c Chat,
    /// The wanted turns.
    turns: Vec<usize>,
    plain: Texts,
    /// The chats before some turns, without a prompt.
    bare: Option<Texts>,
    switched: Vec<Texts>,
    marks: Marks<'c>,
}

impl<'c> Search<'c> {
    fn new(
        finder: &'c Finder,
        chat: &'c Chat,
        turns: Vec<usize>,
        whole: Option<usize>,
    ) -> Result<Search<'c>, Error> {
        let marks = Search::marks(finder, chat, &turns, whole);
        let wanted = prefixes(&turns, whole);
        let plain = Texts::new(&finder.template, chat, wanted, marks.addresses())?;
        Ok(Search::with(finder, chat, turns, marks, plain))
    }

    /// What finds the texts of a chat.
    fn marks(
        finder: &'c Finder,
        chat: &'c Chat,
        turns: &[usize],
        whole: Option<usize>,
    ) -> Marks<'c> {
        let ends = turns.iter().map(|turn| turn + 1).chain(whole);
        let ends = ends.map(|count| Prefix::new(count, false)).collect();
        Marks::new(&finder.template, chat, ends)
    }

    /// A search in a chat that is rendered.
    fn with(
        finder: &'c Finder,
        chat: &'c Chat,
        turns: Vec<usize>,
        marks: Marks<'c>,
        plain: Texts,
    ) -> Search<'c> {
        let (bare, switched) = (None, Vec::new());
        Search { finder, chat, turns, plain, bare, switched, marks }
    }

    /// Renders the chats before turns without a prompt.
    fn need_bare(&mut self, turns: &[usize]) -> Result<(), Error> {
        let wanted = || turns.iter().map(|turn| Prefix::new(*turn, false));
        if self.bare.as_ref().is_none_or(|bare| !wanted().all(|of| bare.has(of))) {
            let template = &self.finder.template;
            self.bare = Some(Texts::new(template, self.chat, wanted().collect(), &[])?);
        }
        Ok(())
    }

    /// Finds what the model generates for a message.
    fn generated(&mut self, message: usize) -> Result<GeneratedTurn, Error> {
        let fail = |cause: &str| Err(Error::Turn { message, cause: cause.into() });
        if message == 0 {
            return fail("the chat begins with the assistant, before which nothing is asked");
        }
        let failed = |error: Error| cause(message, &error);
        self.plain.of(message + 1, false).map_err(failed)?;
        let own = self.marks.own(&self.plain, message)?;
        let (start, prompt) = match self.begin(message, &own)? {
            Some(found) => found,
            None => return Err(self.no_begin(message)),
        };
        let text = self.plain.of(message + 1, false).map_err(failed)?;
        if own.iter().map(|(_, place)| place.end).max().is_some_and(|end| start > end) {
            return fail("the generation prompt ends after the texts");
        }
        let rest = text.after(start);
        let (end, has_stop) = self.end(message, &rest, &behind(start, &own))?;
        let mut said = start..start + end;
        if self.finder.template.has_generation() {
            let generations = self.plain.generations(message + 1);
            said = generation::agreed(message, said, generations, self.finder.trust)?;
        }
        Ok(GeneratedTurn { said, has_stop, prompt })
    }

    /// Finds where a turn begins in the rendering that ends with it. `own` are the places of its texts.
    ///
    /// ```text
    /// text      <user> asked <end> <assistant> answer <end>    the rendering that ends with the turn
    /// prompted  <user> asked <end> <assistant>                 the chat before it, with a prompt: the text begins so
    /// switched  <user> asked <end> <assistant> <no thinking>   the same, with the template's own switch turned
    /// bare      <user> asked <end>                             the chat before it: where the text begins neither way,
    ///                                                          what the prompt adds is looked for before `answer`
    /// ```
    fn begin(
        &mut self,
        message: usize,
        own: &[(Kind, Range<usize>)],
    ) -> Result<Option<(usize, Prompt)>, Error> {
        let failed = |error: Error| cause(message, &error);
        let text = self.plain.of(message + 1, false).map_err(failed)?;
        let prompted = self.plain.of(message, true).map_err(failed)?;
        if prompted.common(&text, 0) == prompted.len() {
            return Ok(Some((prompted.len(), Prompt::Whole)));
        }
        if let Some(end) = self.behind_switched(message)? {
            return Ok(Some((end, Prompt::Switched)));
        }
        self.need_bare(&self.turns.clone())?;
        let text = self.plain.of(message + 1, false).map_err(failed)?;
        let first = own.iter().min_by_key(|(_, place)| place.start);
        let texts = first.map_or(text.len(), |(kind, place)| {
            let spaces = mark::leading_spaces(&self.chat.messages()[message], *kind);
            let before = floor(&text, place.start.saturating_sub(spaces.len()));
            // (White space that is printed belongs to the text; most texts have none.)
            let is_printed = !spaces.is_empty() && text.after(before).starts_with(spaces);
            if is_printed { before } else { place.start }
        });
        Ok(self.asked(message)?.begin(&text, texts, &self.finder.specials))
    }

    /// Returns where a turn begins behind a prompt for which the template's own switch is turned.
    fn behind_switched(&mut self, message: usize) -> Result<Option<usize>, Error> {
        if self.switched.is_empty() {
            let before = self.turns.iter().filter(|turn| **turn > 0);
            let wanted: Vec<Prefix> = before.map(|turn| Prefix::new(*turn, true)).collect();
            for template in &self.finder.switched {
                self.switched.push(Texts::new(template, self.chat, wanted.clone(), &[])?);
            }
        }
        let text = self.plain.of(message + 1, false).map_err(|error| cause(message, &error))?;
        // (A template may refuse the other value.)
        let mut prompted = self.switched.iter().filter_map(|of| of.of(message, true).ok());
        let found = prompted.find(|prompted| prompted.common(&text, 0) == prompted.len());
        Ok(found.map(|prompted| prompted.len()))
    }

    /// Returns why a turn is not found: a text that is not shown, or else the error.
    fn cause_of(&self, error: Error, message: usize) -> Error {
        let Ok(text) = self.plain.of(message + 1, false) else { return error };
        let (chat, text) = (self.chat.until(message), text.after(0));
        let mut places = self.marks.places(&self.plain, &chat, &text);
        let unseen = unseen(&chat, &mut places).unwrap_or_default();
        let mut unseen = unseen.into_iter().filter(|of| !matches!(of, UnseenText::Reasoning(_)));
        unseen.next().map_or(error, Error::Unseen)
    }

    /// The chat before a turn, with a prompt and without.
    fn asked(&self, message: usize) -> Result<Asked<'_>, Error> {
        let of = |has_prompt: bool| {
            let texts = self.bare.as_ref().filter(|_| !has_prompt).unwrap_or(&self.plain);
            texts.of(message, has_prompt).map_err(|error| cause(message, &error))
        };
        Ok(Asked { prompted: of(true)?, bare: of(false)? })
    }

    /// The error of a turn whose prompt does not stand before it.
    fn no_begin(&self, message: usize) -> Error {
        let text = self.plain.of(message + 1, false);
        match self.asked(message).and_then(|asked| Ok(asked.difference(&text?))) {
            Ok(cause) => Error::Turn { message, cause },
            Err(error) => error,
        }
    }

    /// Returns where a turn ends in the text behind its prompt, and whether a stop token ends it. `own` are the places of
    /// its texts.
    fn end(
        &self,
        message: usize,
        rest: &str,
        own: &[Range<usize>],
    ) -> Result<(usize, bool), Error> {
        let stops = &self.finder.stops;
        let texts = own.iter().map(|place| place.end).max().unwrap_or(0);
        let mut at = own.iter().map(|place| place.start).min().unwrap_or(0);
        while let Some(stop) = self.chat.stop(rest, stops, at..texts) {
            if !own.iter().any(|place| place.start <= stop.start && stop.end <= place.end) {
                let cause = "the template prints a stop token between the texts of the message: \
                             the model would end there";
                return Err(Error::Turn { message, cause: cause.into() });
            }
            at = stop.end;
        }
        if let Some(stop) = self.chat.stop(rest, stops, texts..rest.len()) {
            return Ok((stop.end, true));
        }
        let shown = rest.trim_end_matches(is_space).len().max(texts);
        let mut specials = self.finder.specials.iter();
        if specials.any(|token| rest[texts..shown].ends_with(token.as_str())) {
            return Ok((shown, true));
        }
        // (White space that the template adds is not generated; that of the message's last text is.)
        let end = match own.is_empty() {
            true => texts,
            false => with_spaces(&self.chat.messages()[message], rest, texts, rest.len()),
        };
        Ok((shown.max(end), false))
    }

    /// The fewest records that hold every turn.
    fn fewest(
        &mut self,
        generated: &HashMap<usize, GeneratedTurn>,
    ) -> Result<Vec<FoundTurns>, Error> {
        let mut candidates = Vec::new();
        for message in &self.turns {
            let text = self.plain.of(message + 1, false)?;
            candidates.push(Candidate { text, end: generated[message].said.end });
        }
        let of = choose(&candidates);
        let mut records = Vec::new();
        for (place, last) in self.turns.iter().enumerate() {
            if of[place] != place {
                continue;
            }
            let own = self.turns.iter().zip(&of).filter(|(_, record)| **record == place);
            let held: HashMap<usize, &GeneratedTurn> =
                own.map(|(message, _)| (*message, &generated[message])).collect();
            records.push(self.record(last + 1, &held, &[])?);
        }
        Ok(records)
    }

    /// One record with all turns.
    fn one(
        &mut self,
        count: usize,
        generated: &HashMap<usize, GeneratedTurn>,
    ) -> Result<FoundTurns, Error> {
        let text = self.plain.of(count, false)?;
        let mut held = HashMap::default();
        let mut others = Vec::new();
        for message in &self.turns {
            let turn = generated.get(message).filter(|turn| {
                self.plain
                    .of(message + 1, false)
                    .is_ok_and(|own| own.common(&text, 0) >= turn.said.end)
            });
            match turn {
                Some(turn) => drop(held.insert(*message, turn)),
                None => others.push(*message),
            }
        }
        if !others.is_empty() {
            self.need_bare(&others)?;
        }
        self.record(count, &held, &others)
    }

    /// Makes a record of the first `count` messages, in which `held` are trained on as the model generates them, and
    /// `others` as they stand.
    fn record(
        &self,
        count: usize,
        held: &HashMap<usize, &GeneratedTurn>,
        others: &[usize],
    ) -> Result<FoundTurns, Error> {
        let text = self.plain.of(count, false)?.after(0);
        let chat = self.chat.until(count - 1);
        let mut places = self.marks.places(&self.plain, &chat, &text);
        if names_are_in_ids(&chat, &mut places)? {
            let with_ids = vec![Prefix::new(count, false)];
            let (template, marked) = (self.marks.template, &self.marks.chat);
            let marked = MarkedTexts::new(template, marked, true, with_ids);
            if let Some(found) = marked.and_then(|of| of.places(template, &chat, &text, count)) {
                places = found;
            }
        }
        let unseen = unseen(&chat, &mut places)?;
        let mut located = Vec::new();
        for message in chat.turns() {
            let turn = match held.get(&message) {
                Some(turn) => Some(self.in_record(message, turn, &text)),
                None if others.contains(&message) => {
                    Some(self.as_it_stands(message, &text, &chat, &mut places)?)
                }
                None => {
                    // (Texts of white space alone are not found: a turn ends before the next one at the latest.)
                    let later = held.iter().filter(|(other, _)| **other > message);
                    let next = later.map(|(_, turn)| turn.said.start).min();
                    self.untrained(message, &text, next, &chat, &mut places)?
                }
            };
            let Some(turn) = turn else { continue };
            let is_trained = held.contains_key(&message) || others.contains(&message);
            if is_trained && let Some(other) = places.other_within(message, &turn.said)? {
                return Err(Error::Within { message, other });
            }
            let parts = channels(&chat, &text, &self.finder.stops, &turn, &mut places)?;
            located.push((LocatedTurn { turn, parts }, is_trained));
        }
        // (The turns stand in the order of the chat, unless the template moves them.)
        let mut last: Option<&Turn> = None;
        for (of, _) in located.iter().filter(|(_, is_trained)| *is_trained) {
            if last.is_some_and(|last| last.said.end > of.turn.said.start) {
                let cause = "what was said overlaps with the turn before".into();
                return Err(Error::Turn { message: of.turn.message, cause });
            }
            last = Some(&of.turn);
        }
        let (located, are_trained): (Vec<LocatedTurn>, Vec<bool>) = located.into_iter().unzip();
        let segments = segments::cover(&self.finder.stops, &chat, &text, &located, &mut places)?;
        let turns = located.into_iter().zip(are_trained);
        let turns = turns.filter(|(_, is_trained)| *is_trained).map(|(of, _)| of.turn).collect();
        drop(places);
        Ok(FoundTurns { text, turns, segments, unseen, otherwise: others.len() })
    }

    /// A turn in a record that holds it. A stop token that the next message begins with belongs to it, too.
    fn in_record(&self, message: usize, turn: &GeneratedTurn, text: &str) -> Turn {
        let GeneratedTurn { mut said, mut has_stop, prompt } = turn.clone();
        if !has_stop
            && let Some(next) = self.chat.stop(text, &self.finder.stops, said.end..text.len())
            && next.start == said.end
        {
            (said.end, has_stop) = (next.end, true);
        }
        Turn { message, said, has_stop, prompt }
    }

    /// Finds a turn by its texts where it stands otherwise than the model generates it.
    fn as_it_stands(
        &self,
        message: usize,
        text: &str,
        chat: &Chat,
        places: &mut Places<'_>,
    ) -> Result<Turn, Error> {
        let fail = |cause: &str| Error::Turn { message, cause: cause.into() };
        let Some(whole) = places.of_message(message)? else {
            return Err(fail(
                "a turn without a text, in a chat that is rendered otherwise before it",
            ));
        };
        let before = places.of_message(message - 1)?.filter(|place| place.end <= whole.start);
        let from = before.map_or(0, |place| place.end);
        let asked = self.asked(message)?;
        let begin = asked.begin_within(text, from..whole.start, &self.finder.specials);
        let (start, prompt) =
            begin.ok_or_else(|| fail("the generation prompt does not stand before the texts"))?;
        let limit = next_texts(message, whole.end, chat, text, places)?;
        let mut own = Vec::new();
        for &kind in places.kinds(message).iter() {
            own.extend(places.of(message, kind)?.map(|place| (kind, place)));
        }
        let (end, has_stop) = self.end(message, &text[start..limit], &behind(start, &own))?;
        let end = match has_stop {
            true => start + end,
            false => with_spaces(&chat.messages()[message], text, whole.end, limit),
        };
        Ok(Turn { message, said: start..end, has_stop, prompt })
    }

    /// Finds a turn that is not trained on, by its texts alone.
    fn untrained(
        &self,
        message: usize,
        text: &str,
        next: Option<usize>,
        chat: &Chat,
        places: &mut Places<'_>,
    ) -> Result<Option<Turn>, Error> {
        let Some(whole) = places.of_message(message)? else { return Ok(None) };
        let limit = next_texts(message, whole.end, chat, text, places)?;
        let limit = next.map_or(limit, |next| next.clamp(whole.end, limit.max(whole.end)));
        let stop = self.chat.stop(text, &self.finder.stops, whole.end..limit);
        let (has_stop, end) = (stop.is_some(), stop.map_or(whole.end, |stop| stop.end));
        Ok(Some(Turn { message, said: whole.start..end, has_stop, prompt: Prompt::InWords }))
    }
}

/// The places of texts in the text behind a place.
fn behind(start: usize, own: &[(Kind, Range<usize>)]) -> Vec<Range<usize>> {
    let behind = |at: usize| at.saturating_sub(start);
    own.iter().map(|(_, place)| behind(place.start)..behind(place.end)).collect()
}

/// Lists the texts of the chat that the rendering does not show.
fn unseen(chat: &Chat, places: &mut Places<'_>) -> Result<Vec<UnseenText>, Error> {
    let mut unseen = Vec::new();
    for message in 0..chat.messages().len() {
        for &kind in places.kinds(message).iter() {
            if places.of(message, kind)?.is_some() {
                continue;
            }
            let text = match kind {
                Kind::Content => UnseenText::Content(message),
                Kind::Reasoning => UnseenText::Reasoning(message),
                Kind::Name(call) if places.of(message, Kind::Id(call))?.is_some() => continue,
                Kind::Name(_) | Kind::Arguments(_) | Kind::Id(_) => UnseenText::Call(message),
            };
            if unseen.last() != Some(&text) {
                unseen.push(text);
            }
        }
    }
    let has_tools = chat.tools().as_list().is_some_and(|tools| !tools.is_empty());
    if has_tools && !places.shows_tools()? {
        unseen.push(UnseenText::Tools);
    }
    Ok(unseen)
}

/// Whether names of calls are not shown whose ids hold them.
fn names_are_in_ids(chat: &Chat, places: &mut Places<'_>) -> Result<bool, Error> {
    for (message, of) in chat.messages().iter().enumerate() {
        for &kind in places.kinds(message).iter() {
            if let Kind::Name(call) = kind
                && mark::is_named_by_id(of, call)
                && places.of(message, kind)?.is_none()
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Finds where the texts of the messages after a turn begin.
fn next_texts(
    message: usize,
    end: usize,
    chat: &Chat,
    text: &str,
    places: &mut Places<'_>,
) -> Result<usize, Error> {
    for next in message + 1..chat.messages().len() {
        if let Some(place) = places.of_message(next)?.filter(|place| place.start >= end) {
            return Ok(place.start);
        }
    }
    Ok(text.len())
}

/// Moves the end of a message's texts behind the spaces that its last text ends with.
fn with_spaces(of: &crate::Value, text: &str, end: usize, limit: usize) -> usize {
    let content = of.get("content").and_then(|content| content.as_text()).unwrap_or_default();
    let spaces = &content[content.trim_end_matches(is_space).len()..];
    end + head(&text[end..limit], spaces)
}
