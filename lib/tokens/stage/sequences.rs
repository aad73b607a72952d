//! The token sequences that a chat becomes.

use super::lengths::{LengthCounts, LengthLimit};
use crate::harmony::{RenderOutput, Segment};
use crate::record::tokens::TokensBuilder;

/// The token sequences of a chat, one after another.
#[derive(Debug, Default)]
pub struct Sequences {
    /// Segments count from the first token of their sequence.
    pub rendered: RenderOutput,
    /// The numbers of tokens and segments after each sequence.
    pub(super) ends: Vec<(usize, usize)>,
    /// How many control tokens the texts spell that are encoded as text.
    pub spelled: u64,
    /// How long each may be.
    pub(super) limit: Option<LengthLimit>,
    /// What is left out of sequences that are too long.
    pub(super) lengths: LengthCounts,
}

/// Sequences that were taken away.
pub struct TakenSequences {
    tokens: Vec<i32>,
    segments: Vec<Segment>,
    ends: Vec<(usize, usize)>,
}

impl Sequences {
    pub fn new(limit: Option<LengthLimit>) -> Sequences {
        Sequences { limit, ..Sequences::default() }
    }

    /// Ends a sequence.
    pub fn end(&mut self) {
        self.ends.push((self.rendered.tokens.len(), self.rendered.segments.list.len()));
    }

    /// Ends the last sequence in another place.
    pub(super) fn end_again(&mut self) {
        self.ends.pop();
        self.end();
    }

    /// Returns the number of sequences.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn clear(&mut self) {
        self.rendered.clear();
        self.ends.clear();
        self.spelled = 0;
        self.lengths = LengthCounts::default();
    }

    /// Removes the sequences from a number on.
    pub(super) fn reset(&mut self, number: usize) {
        let (tokens, segments) = self.start_of(number);
        self.rendered.tokens.truncate(tokens);
        self.rendered.segments.list.truncate(segments);
        self.ends.truncate(number);
    }

    /// Takes the sequences from a number on away.
    pub(super) fn take_from(&mut self, number: usize) -> TakenSequences {
        let (tokens, segments) = self.start_of(number);
        TakenSequences {
            tokens: self.rendered.tokens.split_off(tokens),
            segments: self.rendered.segments.list.split_off(segments),
            ends: self.ends.split_off(number),
        }
    }

    /// Puts sequences back, where they were.
    pub(super) fn put(&mut self, mut taken: TakenSequences) {
        self.rendered.tokens.append(&mut taken.tokens);
        self.rendered.segments.list.append(&mut taken.segments);
        self.ends.append(&mut taken.ends);
    }

    /// Returns the numbers of tokens and segments before a sequence.
    pub(super) fn start_of(&self, number: usize) -> (usize, usize) {
        number.checked_sub(1).map_or((0, 0), |before| self.ends[before])
    }

    /// Returns the number of tokens of the last sequence.
    pub(super) fn last(&self) -> usize {
        let (before, _) = self.start_of(self.ends.len().saturating_sub(1));
        self.rendered.tokens.len() - before
    }

    /// Adds a sequence to a batch.
    pub(super) fn add(&self, number: usize, builder: &mut TokensBuilder) {
        let before = self.start_of(number);
        let end = self.ends[number];
        builder.tokens.extend_from_slice(&self.rendered.tokens[before.0..end.0]);
        let segments = self.rendered.segments.records_in(before.1..end.1);
        segments.for_each(|segment| builder.segment(&segment));
    }
}
