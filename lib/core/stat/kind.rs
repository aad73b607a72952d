//! The numbers of records of one type, whichever it is.

use serde::{Deserialize, Serialize};

use super::{ConversationsStat, Distribution, GamesStat, PuzzlesStat, StatOptions, TokensStat};
use crate::error::{Error, Result};
use crate::record::{Rows, plural_of};

/// The numbers of some records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    pub records: u64,
    /// Of the values themselves: four a token or cell, one a mask position, texts in UTF-8; of a
    /// game 48 a step. So it is the same in every encoding.
    pub bytes: u64,
    pub numbers: KindStat,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KindStat {
    Tokens(Box<TokensStat>),
    Conversation(Box<ConversationsStat>),
    Game(Box<GamesStat>),
    Puzzle(Box<PuzzlesStat>),
    /// Of any other type: only counted.
    #[default]
    Other,
}

impl KindStat {
    /// No numbers yet, of a record type.
    pub fn of_type(name: &str) -> KindStat {
        match name {
            "tokens" => KindStat::Tokens(Box::default()),
            "conversation" => KindStat::Conversation(Box::default()),
            "game" => KindStat::Game(Box::default()),
            "puzzle" => KindStat::Puzzle(Box::default()),
            _ => KindStat::Other,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            KindStat::Tokens(_) => "tokens",
            KindStat::Conversation(_) => "conversation",
            KindStat::Game(_) => "game",
            KindStat::Puzzle(_) => "puzzle",
            KindStat::Other => "other",
        }
    }

    /// Computes what is not counted.
    pub(super) fn close(&mut self) {
        if let KindStat::Game(stat) = self {
            stat.legal_share = stat.legality();
        }
    }

    /// What is long or short in records of this type, and the unit of its length.
    pub fn lengths(&self) -> Option<(&'static str, &Distribution)> {
        match self {
            KindStat::Tokens(stat) => Some(("tokens", &stat.lengths)),
            KindStat::Conversation(stat) => Some(("characters", &stat.lengths)),
            KindStat::Game(stat) => Some(("steps", &stat.steps)),
            KindStat::Puzzle(stat) => Some(("given cells", &stat.given)),
            KindStat::Other => None,
        }
    }

    fn merge(&mut self, other: KindStat) -> Result<()> {
        match (self, other) {
            (KindStat::Tokens(own), KindStat::Tokens(other)) => own.merge(*other),
            (KindStat::Conversation(own), KindStat::Conversation(other)) => own.merge(*other),
            (KindStat::Game(own), KindStat::Game(other)) => own.merge(*other),
            (KindStat::Puzzle(own), KindStat::Puzzle(other)) => own.merge(*other),
            (KindStat::Other, KindStat::Other) => Ok(()),
            (own, other) => Err(Error::usage(format!(
                "{} and {} have no numbers together",
                plural_of(own.name()),
                plural_of(other.name())
            ))),
        }
    }
}

/// See [`Group::bytes`].
fn bytes_of(rows: &Rows<'_>, row: usize) -> u64 {
    let bytes = match rows {
        Rows::Tokens(rows) => {
            let masks = [rows.loss_mask(row), rows.span_id(row)];
            4 * rows.tokens(row).len() + masks.into_iter().flatten().map(<[u8]>::len).sum::<usize>()
        }
        Rows::Conversation(rows) => rows.messages_json(row).map_or(0, str::len),
        Rows::Game(rows) => 48 * rows.steps.range(row..row + 1).len(),
        Rows::Puzzle(rows) => {
            let puzzle = rows.get(row);
            4 * (puzzle.inputs.len() + puzzle.labels.len())
        }
        Rows::Other(rows) => {
            crate::batch::row_sizes(&rows.slice(row, 1)).first().copied().unwrap_or(0) as usize
        }
    };
    bytes as u64
}

impl Group {
    pub fn of_type(name: &str) -> Group {
        Group { numbers: KindStat::of_type(name), ..Group::default() }
    }

    pub(super) fn add(&mut self, rows: &Rows<'_>, row: usize, options: &StatOptions) -> Result<()> {
        self.records += 1;
        self.bytes += bytes_of(rows, row);
        match (&mut self.numbers, rows) {
            (KindStat::Tokens(stat), Rows::Tokens(rows)) => stat.add(rows, row, options),
            (KindStat::Conversation(stat), Rows::Conversation(rows)) => stat.add(rows, row),
            (KindStat::Game(stat), Rows::Game(rows)) => stat.add(rows, row),
            (KindStat::Puzzle(stat), Rows::Puzzle(rows)) => stat.add(rows, row),
            _ => Ok(()),
        }
    }

    pub fn merge(&mut self, other: Group) -> Result<()> {
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
        match (self.records == other.records, &self.numbers) {
            // The first part of a group that is new.
            (true, KindStat::Other) => self.numbers = other.numbers,
            _ => self.numbers.merge(other.numbers)?,
        }
        Ok(())
    }
}
