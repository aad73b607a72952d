//! Which sequences stand together in a row of a trainer: lengths in, rows of pieces out. Nothing here
//! reads a token.
//!
//! Best fit packs in the order of TRL 1.16 (`trl/data_utils.py`, `_pack_bfd`): longest sequence first, ties
//! by position. Each goes into the row with the least sufficient room; among rows of equal room, into the
//! row that reached that room first. First fit decreasing makes the bins of Megatron-Bridge
//! (`packing/algorithms.py`), but takes sequences of one length by position, where Megatron-Bridge draws.

mod fit;
mod room;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How sequences are put into rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Best fit decreasing, in TRL's order.
    Bfd,
    /// First fit decreasing.
    Ffd,
    /// All tokens in one line, cut into rows of one length.
    Wrapped,
    /// Each sequence is a row.
    None,
}

/// What becomes of a sequence that is longer than a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The run ends.
    Error,
    /// It is left out.
    Drop,
    /// It becomes several pieces, each packed by itself.
    Split,
    /// Its first tokens are kept.
    Cut,
}

/// What fills a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowUnit {
    /// Every token.
    Tokens,
    /// The tokens from which another is predicted: a sequence counts one less than it has.
    Inputs,
}

/// The settings of packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// The positions of a row; `None` if rows are as long as their sequences.
    pub seq_length: Option<u32>,
    pub algorithm: Algorithm,
    pub overflow: Overflow,
    pub counted: RowUnit,
    /// Each piece is padded to a multiple of this many positions; 1 means no padding.
    pub multiple: NonZeroU32,
    /// The last piece of each row is padded further, so that the row has a multiple of this many positions.
    pub row_multiple: NonZeroU32,
}

/// Consecutive tokens of one sequence in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The number of the sequence in the whole set, from 0.
    pub sequence: u64,
    /// Its first token in the sequence.
    pub start: u32,
    /// The length in tokens, at least 1.
    pub length: u32,
}

impl Piece {
    /// The value of a place before its piece comes.
    const NONE: Piece = Piece { sequence: 0, start: 0, length: 0 };
}

/// The rows; each has one piece or more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    pieces: Vec<Piece>,
    /// How many pieces there are up to the end of each row.
    ends: Vec<u64>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns all pieces, row after row.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub fn row(&self, row: usize) -> &[Piece] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pieces[start as usize..self.ends[row] as usize]
    }

    /// Returns how many pieces there are up to the end of a row.
    pub fn end(&self, row: usize) -> usize {
        self.ends[row] as usize
    }

    pub fn iter(&self) -> impl Iterator<Item = &[Piece]> {
        (0..self.len()).map(|row| self.row(row))
    }
}

/// A number of sequences and the number of their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub sequences: u64,
    pub tokens: u64,
}

impl Amount {
    fn add(&mut self, tokens: u32) {
        self.sequences += 1;
        self.tokens += u64::from(tokens);
    }

    fn plus(&mut self, other: Amount) {
        self.sequences += other.sequences;
        self.tokens += other.tokens;
    }
}

/// The sequences that are not in the rows as they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackingChanges {
    /// Sequences without a token.
    pub empty: u64,
    /// Sequences that are in no row, and their tokens.
    pub dropped: Amount,
    /// Sequences that have lost their end, and the tokens that they lost.
    pub cut: Amount,
    /// Sequences that are in several pieces, and all their tokens.
    pub split: Amount,
}

impl PackingChanges {
    pub fn plus(&mut self, other: PackingChanges) {
        self.empty += other.empty;
        self.dropped.plus(other.dropped);
        self.cut.plus(other.cut);
        self.split.plus(other.split);
    }
}

/// The error for sequences that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    pub sequences: u64,
    pub longest: u32,
    /// The first of these sequences.
    pub first: u64,
}

impl Packing {
    /// Returns the most tokens of one piece; a row has as many at most if every token counts.
    pub fn most_tokens(&self) -> u32 {
        match (self.seq_length, self.counted) {
            (None, _) => u32::MAX,
            (Some(length), RowUnit::Tokens) => length - length % self.multiple,
            (Some(length), RowUnit::Inputs) => (length - length % self.multiple).saturating_add(1),
        }
    }

    /// Returns the positions that every row has; `None` if rows are as long as their sequences.
    pub fn row_length(&self) -> Option<u32> {
        self.seq_length.filter(|_| self.algorithm != Algorithm::None)
    }

    /// Returns the positions of a piece in a row, with its padding.
    pub fn weight(&self, tokens: u32) -> u32 {
        let own = self.positions(tokens);
        match self.multiple.get() {
            1 => own,
            multiple => own.checked_next_multiple_of(multiple).unwrap_or(u32::MAX),
        }
    }

    /// Returns the number of padding tokens after a piece.
    pub fn padding(&self, tokens: u32) -> u32 {
        self.weight(tokens) - self.positions(tokens)
    }

    /// Whether pieces or rows are padded.
    pub fn is_padded(&self) -> bool {
        self.multiple.get() > 1 || self.row_multiple.get() > 1
    }

    /// Returns the number of padding tokens at the end of a row whose pieces, with their own padding, take so many
    /// positions.
    pub fn row_padding(&self, used: u64) -> u32 {
        let multiple = u64::from(self.row_multiple.get());
        // (Less than a multiple.)
        (used.next_multiple_of(multiple) - used) as u32
    }

    /// Returns the positions of the pieces of a row, with their own padding.
    pub fn row_weight(&self, tokens: impl Iterator<Item = u32>) -> u64 {
        tokens.map(|tokens| u64::from(self.weight(tokens))).sum()
    }

    /// Returns the positions of a piece without padding.
    fn positions(&self, tokens: u32) -> u32 {
        match self.counted {
            RowUnit::Tokens => tokens,
            RowUnit::Inputs => tokens.saturating_sub(1),
        }
    }

    /// Packs sequences of these lengths; the first one has the number `first`.
    pub fn pack(&self, lengths: &[u32], first: u64) -> Result<(Rows, PackingChanges), TooLong> {
        let empty = lengths.iter().filter(|&&length| length == 0).count() as u64;
        let mut changed = PackingChanges { empty, ..PackingChanges::default() };
        if self.algorithm == Algorithm::Wrapped {
            return Ok((self.wrap_pieces(lengths, first, &mut changed), changed));
        }
        let pieces = self.pieces(lengths, first, &mut changed)?;
        let rows = match (self.algorithm, self.seq_length) {
            (Algorithm::Bfd, Some(length)) => self.fit_pieces(pieces, length, fit::best_fit),
            (Algorithm::Ffd, Some(length)) => self.fit_pieces(pieces, length, fit::first_fit),
            _ => Rows { ends: (1..=pieces.len() as u64).collect(), pieces },
        };
        Ok((rows, changed))
    }

    /// Returns the sequences as pieces that fit into a row, in their order.
    fn pieces(
        &self,
        lengths: &[u32],
        first: u64,
        changed: &mut PackingChanges,
    ) -> Result<Vec<Piece>, TooLong> {
        let most = self.most_tokens();
        let is_long = |length: &u32| *length > most;
        if self.overflow == Overflow::Error
            && let Some(place) = lengths.iter().position(is_long)
        {
            let longest = lengths.iter().copied().max().unwrap_or(0);
            let sequences = lengths.iter().filter(|length| is_long(length)).count() as u64;
            return Err(TooLong { sequences, longest, first: first + place as u64 });
        }
        let mut pieces = Vec::with_capacity(lengths.len());
        for (sequence, &length) in (first..).zip(lengths) {
            let whole = Piece { sequence, start: 0, length };
            match self.overflow {
                _ if length == 0 => {}
                _ if length <= most => pieces.push(whole),
                Overflow::Cut => {
                    changed.cut.add(length - most);
                    pieces.push(Piece { length: most, ..whole });
                }
                Overflow::Split => {
                    changed.split.add(length);
                    let starts = (0..length).step_by(most as usize);
                    let piece = |start| Piece { start, length: most.min(length - start), ..whole };
                    pieces.extend(starts.map(piece));
                }
                Overflow::Drop | Overflow::Error => changed.dropped.add(length),
            }
        }
        Ok(pieces)
    }

    /// Puts pieces into rows, in the order in which the rows were opened; pieces of a row are in
    /// the order of placing.
    fn fit_pieces(&self, pieces: Vec<Piece>, capacity: u32, fit: fit::Fit) -> Rows {
        let pieces = fit::longest_first(pieces, self.most_tokens());
        let mut weights = pieces.iter().map(|piece| self.weight(piece.length));
        let (row_of, rows) = fit(&mut weights, capacity);
        let mut ends = vec![0u64; rows];
        row_of.iter().for_each(|&row| ends[row as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // Each item is the start of a row; filling the row moves it to the row's end.
            sum += std::mem::replace(end, sum);
        }
        let mut placed = vec![Piece::NONE; pieces.len()];
        for (piece, row) in pieces.into_iter().zip(row_of) {
            let next = &mut ends[row as usize];
            placed[*next as usize] = piece;
            *next += 1;
        }
        Rows { pieces: placed, ends }
    }

    /// Joins all tokens and cuts them into rows of one length; the last may be shorter.
    fn wrap_pieces(&self, lengths: &[u32], first: u64, changed: &mut PackingChanges) -> Rows {
        let room = self.seq_length.unwrap_or(u32::MAX);
        let mut rows = Rows::default();
        let mut left = room;
        for (sequence, &length) in (first..).zip(lengths) {
            let mut start = 0;
            if length > left {
                changed.split.add(length);
            }
            while start < length {
                let piece = Piece { sequence, start, length: left.min(length - start) };
                rows.pieces.push(piece);
                start += piece.length;
                left -= piece.length;
                if left == 0 {
                    rows.ends.push(rows.pieces.len() as u64);
                    left = room;
                }
            }
        }
        if left < room {
            rows.ends.push(rows.pieces.len() as u64);
        }
        rows
    }
}
