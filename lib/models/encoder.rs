//! Text to ids, with where each of them ends, and in pieces.

use crate::error::EncodeError;
use crate::tokenizer::{Engine, Tokenizer};

/// What text that spells a special token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// The special token, as in transformers.
    Tokens,
    /// Text like other text. (Added tokens that are not special are found all the same.)
    Text,
}

/// Encodes text, without tokens that the file would add in front or behind
/// (`add_special_tokens=False`). One for each thread.
pub struct Encoder {
    tokenizer: Tokenizer,
}

impl Encoder {
    pub(crate) fn new(tokenizer: &Tokenizer) -> Self {
        Self { tokenizer: tokenizer.clone() }
    }

    /// Appends the ids of a text.
    pub fn encode(
        &mut self,
        text: &str,
        special: Special,
        ids: &mut Vec<i32>,
    ) -> Result<(), EncodeError> {
        let Engine::Reference(reference) = &self.tokenizer.0.engine;
        reference.encode(text, special, ids, None)
    }

    /// Appends the ids of a text, and for each of them the byte of the text at which the character ends
    /// that it ends in. A place of the text is between two tokens if it is 0 or among the ends, and those
    /// before it are as many as have an end up to it.
    pub fn encode_with_ends(
        &mut self,
        text: &str,
        special: Special,
        ids: &mut Vec<i32>,
        ends: &mut Vec<usize>,
    ) -> Result<(), EncodeError> {
        let Engine::Reference(reference) = &self.tokenizer.0.engine;
        reference.encode(text, special, ids, Some(ends))
    }

    /// The same of a text cut at places in ascending order, each the start of a character: every piece is
    /// encoded by itself, as at inference. Gives how many ids there are up to each cut.
    pub fn encode_pieces(
        &mut self,
        text: &str,
        cuts: &[usize],
        special: Special,
        ids: &mut Vec<i32>,
        ends: &mut Vec<usize>,
    ) -> Result<Vec<usize>, EncodeError> {
        let base = ids.len();
        let mut counts = Vec::with_capacity(cuts.len());
        let mut start = 0;
        for &end in cuts.iter().chain(std::iter::once(&text.len())) {
            let first = ends.len();
            let piece = text.get(start..end).ok_or_else(|| {
                EncodeError(format!("no piece of it begins at {start} and ends at {end}"))
            })?;
            self.encode_with_ends(piece, special, ids, ends)?;
            for place in &mut ends[first..] {
                *place += start;
            }
            counts.push(ids.len() - base);
            start = end;
        }
        counts.pop();
        Ok(counts)
    }
}
