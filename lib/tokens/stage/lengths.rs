//! Sequences that are longer than a trainer takes: refused, left out, or shortened, so that nothing is trained on an
//! answer that does not end.

use std::ops::Range;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::sequences::Sequences;
use crate::chat::name_of;
use crate::cli::ForPipelines;
use crate::error::{Error, Result};
use crate::harmony::{Channel, Role, Segment};
use crate::record::{PAIR, RecordType};
use crate::tokenizer::{END, EOD, RETURN};
use crate::wording::{counted, exactly, grouped};

/// What becomes of a sequence that is too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TooLong {
    /// The chat is refused.
    #[default]
    Refuse,
    /// It is left out.
    Drop,
    /// The oldest turns leave until it fits.
    DropTurns,
    /// It is cut behind the last answer that fits.
    Mask,
}

/// How long sequences may be.
#[derive(Debug, Clone, Args)]
pub struct LengthArgs {
    /// Tokens that a sequence may have [default: any number]
    ///
    /// Each sequence of a chat is measured, as it is written: for gpt-oss with its <|endoftext|>.
    #[arg(long, add = ForPipelines, value_name = "N", help_heading = "Lengths")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_length: Option<u32>,

    /// A sequence of more tokens: refuse the chat, drop the sequence, drop-turns: leave out the oldest turns, or
    /// mask: cut it behind the last answer that fits [default: refuse]
    ///
    /// A turn is a message of the user with all that follows it; system messages at the beginning, and tools, stay. A
    /// sequence that still does not fit, or has no answer that fits, is dropped. What is left out is counted.
    #[arg(long, add = ForPipelines, value_enum, value_name = "WHAT", requires = "max_length")]
    #[arg(hide_possible_values = true, help_heading = "Lengths")]
    too_long: Option<TooLong>,
}

/// The most tokens of a sequence.
#[derive(Debug, Clone, Copy)]
pub struct LengthLimit {
    pub tokens: usize,
    pub too_long: TooLong,
}

impl LengthArgs {
    pub fn limit(&self) -> Option<LengthLimit> {
        let too_long = self.too_long.unwrap_or_default();
        Some(LengthLimit { tokens: self.max_length? as usize, too_long })
    }

    /// Refuses what does not go with the records that are made.
    pub fn check(&self, record: &RecordType) -> Result<()> {
        let shortens = matches!(self.too_long, Some(TooLong::DropTurns | TooLong::Mask));
        match shortens && record.name == PAIR.name {
            true => {
                let cause = "--too-long: a pair stays as it is, or is dropped";
                Err(Error::usage(cause).hint("--too-long drop"))
            }
            false => Ok(()),
        }
    }

    /// States them in the settings of a header.
    pub fn state(&self, settings: &mut Value) {
        if let Some(LengthLimit { tokens, too_long }) = self.limit() {
            settings["max_length"] = json!(tokens);
            settings["too_long"] = json!(name_of(&too_long));
        }
    }

    /// Whether a chat may become fewer records.
    pub fn changes_number(&self) -> bool {
        self.limit().is_some_and(|limit| limit.too_long != TooLong::Refuse)
    }
}

impl LengthLimit {
    /// Says why a chat is refused.
    pub fn refused(self, tokens: usize) -> String {
        format!(
            "a sequence of {}, more than --max-length {}; try: --too-long drop-turns (or mask, or drop)",
            exactly(tokens, "token"),
            self.tokens
        )
    }
}

/// The tokens of sequences, and those that are trained on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length {
    pub tokens: usize,
    pub trained: usize,
}

/// What was left out of sequences of some kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftLengths {
    pub chats: u64,
    pub sequences: u64,
    pub turns: u64,
    pub tokens: u64,
    pub trained: u64,
}

/// What was left out of sequences that are too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LengthCounts {
    pub dropped: LeftLengths,
    pub shortened: LeftLengths,
}

impl LengthCounts {
    /// Counts that a sequence was dropped.
    pub fn drop_one(&mut self, before: Length) {
        self.dropped.count(before, Length::default(), 0);
    }
}

impl LeftLengths {
    fn add(&mut self, other: &LeftLengths) {
        self.chats += other.chats;
        self.sequences += other.sequences;
        self.turns += other.turns;
        self.tokens += other.tokens;
        self.trained += other.trained;
    }

    /// Counts a sequence that had `before`, and has `after`.
    fn count(&mut self, before: Length, after: Length, turns: usize) {
        // (The counts are those of one chat.)
        self.chats = 1;
        self.sequences += 1;
        self.turns += turns as u64;
        self.tokens += before.tokens.saturating_sub(after.tokens) as u64;
        self.trained += before.trained.saturating_sub(after.trained) as u64;
    }

    /// Returns the line that says it. (The lines of several tasks are summed: no other number stands there.)
    fn told(&self, how: &str) -> Option<String> {
        let LeftLengths { chats, sequences, turns, tokens, trained } = *self;
        let turns = (turns > 0).then(|| format!("; these turns: {}", grouped(turns)));
        (sequences > 0).then(|| {
            format!(
                "--max-length: {} left out, {} of them trained on (sequences {how}: {}; their chats: {}{})",
                counted(tokens, "token"),
                grouped(trained),
                grouped(sequences),
                grouped(chats),
                turns.unwrap_or_default()
            )
        })
    }
}

impl LengthCounts {
    pub fn add(&mut self, other: &LengthCounts) {
        self.dropped.add(&other.dropped);
        self.shortened.add(&other.shortened);
    }

    /// Returns a line for each kind.
    pub fn told(&self, too_long: TooLong) -> impl Iterator<Item = String> {
        let how = match too_long {
            TooLong::Mask => "cut behind the last answer that fits",
            _ => "without their oldest turns",
        };
        [self.dropped.told("dropped"), self.shortened.told(how)].into_iter().flatten()
    }
}

impl Sequences {
    /// Applies the limit to the last sequence, which is of Harmony if `is_harmony`; returns whether something is left of
    /// it. The error says why the chat is refused.
    pub fn limit_last(&mut self, is_harmony: bool) -> std::result::Result<bool, String> {
        let Some(limit) = self.over() else { return Ok(true) };
        let before = self.length_since(self.ends.len() - 1);
        let turns = match limit.too_long {
            TooLong::Refuse => return Err(limit.refused(before.tokens)),
            TooLong::Drop => None,
            TooLong::Mask => self.cut(limit.tokens, is_harmony).then_some(0),
            TooLong::DropTurns => self.drop_turns(limit.tokens),
        };
        match turns {
            Some(turns) => self.shortened(before, self.ends.len() - 1, turns),
            None => self.drop_last(before),
        }
        Ok(turns.is_some())
    }

    /// Counts that a sequence became those from a number on.
    pub fn shortened(&mut self, before: Length, from: usize, turns: usize) {
        let after = self.length_since(from);
        self.lengths.shortened.count(before, after, turns);
    }

    /// Removes the last sequence, which had `before`.
    pub fn drop_last(&mut self, before: Length) {
        self.reset(self.ends.len() - 1);
        self.dropped(before);
    }

    /// Counts that a sequence was dropped.
    pub fn dropped(&mut self, before: Length) {
        self.lengths.drop_one(before);
    }

    /// Returns the limit if the last sequence is longer.
    pub fn over(&self) -> Option<LengthLimit> {
        self.limit.filter(|limit| self.last() > limit.tokens)
    }

    /// Returns the length of the sequences from a number on.
    pub fn length_since(&self, number: usize) -> Length {
        let (tokens, segments) = self.start_of(number);
        let trained = self.rendered.segments.list[segments..].iter().filter(|of| is_trained(of));
        let trained = trained.map(|of| (of.end - of.start) as usize).sum();
        Length { tokens: self.rendered.tokens.len() - tokens, trained }
    }

    /// Cuts the last sequence behind the last answer that is trained on and ends within a number of tokens; returns
    /// whether there is one.
    fn cut(&mut self, most: usize, is_harmony: bool) -> bool {
        let (first, first_segment) = self.start_of(self.ends.len() - 1);
        let segments = &self.rendered.segments.list[first_segment..];
        // (The end of a document of Harmony stays.)
        let most = most - usize::from(is_harmony);
        let fits = |answer: &Range<usize>| {
            segments[answer.end - 1].end as usize <= most
                && segments[answer.clone()].iter().any(is_trained)
        };
        let Some(answer) = answers(segments).into_iter().rfind(fits) else { return false };
        let last = segments[answer.end - 1];
        let RenderedParts { tokens, list } = self.parts();
        tokens.truncate(first + last.end as usize);
        list.truncate(first_segment + answer.end);
        if is_harmony {
            // (As the last message ends.)
            if last.channel == Some(Channel::Final)
                && let Some(end) = tokens.last_mut().filter(|end| **end == END)
            {
                *end = RETURN;
            }
            tokens.push(EOD);
        }
        self.end_again();
        true
    }

    /// Takes the oldest turns out of the last sequence of Harmony, whose messages are tokens by themselves, until it has
    /// at most this many tokens; returns how many, or none if it does not become as short.
    fn drop_turns(&mut self, most: usize) -> Option<usize> {
        let (first, first_segment) = self.start_of(self.ends.len() - 1);
        let segments = &self.rendered.segments.list[first_segment..];
        let length = self.rendered.tokens.len() - first;
        let is_system = |of: &&Segment| matches!(of.role, Role::System | Role::Developer);
        let lead = segments.iter().take_while(is_system).count();
        let last = segments.iter().rposition(is_trained)?;
        let users = (lead..last).filter(|place| segments[*place].role == Role::User);
        let start = segments.get(lead)?.start;
        let removed = |place: usize| (segments[place].start - start) as usize;
        let kept = users.clone().find(|place| length - removed(*place) <= most)?;
        let turns = users.take_while(|place| *place < kept).count();
        let removed = removed(kept);
        let from = first + start as usize;
        let RenderedParts { tokens, list } = self.parts();
        tokens.drain(from..from + removed);
        list.drain(first_segment + lead..first_segment + kept);
        for segment in &mut list[first_segment + lead..] {
            segment.start -= removed as i32;
            segment.end -= removed as i32;
        }
        self.end_again();
        Some(turns)
    }

    fn parts(&mut self) -> RenderedParts<'_> {
        let rendered = &mut self.rendered;
        RenderedParts { tokens: &mut rendered.tokens, list: &mut rendered.segments.list }
    }
}

struct RenderedParts<'r> {
    tokens: &'r mut Vec<i32>,
    list: &'r mut Vec<Segment>,
}

fn is_trained(segment: &Segment) -> bool {
    is_said(segment) && segment.is_trained
}

/// Whether a segment is what the model says.
fn is_said(segment: &Segment) -> bool {
    segment.role == Role::Assistant && segment.channel.is_some()
}

/// Returns the answers of a sequence: segments of the model that follow one another.
fn answers(segments: &[Segment]) -> Vec<Range<usize>> {
    let mut answers: Vec<Range<usize>> = Vec::new();
    for (place, _) in segments.iter().enumerate().filter(|(_, segment)| is_said(segment)) {
        match answers.last_mut() {
            Some(last) if last.end == place => last.end += 1,
            _ => answers.push(place..place + 1),
        }
    }
    answers
}
