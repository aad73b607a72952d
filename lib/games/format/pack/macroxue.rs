//! The layout of Macroxue packs: 48 bytes a step, or 46 without the padding, and
//! `valuation_types.json` with the names of the valuation numbers in them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{PackLayout, RowMaker, VALUATION_TYPES};
use crate::error::{Error, Result};
use crate::format::json_file;
use crate::game2048::{Game, KNOWN_VALUATIONS, RowError, StepRow};
use crate::publish::PendingFile;

/// Readers sort the shards by name; this is the right order as long as all numbers have five digits.
const MAX_SHARDS: u64 = 100_000;
/// The most valuation names of a pack.
const MAX_NAMES: usize = 255;

pub(super) struct Macroxue {
    /// Valuation names by their numbers.
    names: Vec<String>,
    /// The names that the game which is being written adds.
    game_names: Vec<String>,
}

impl Macroxue {
    pub(super) fn new() -> Macroxue {
        let names = KNOWN_VALUATIONS.map(str::to_string).to_vec();
        Macroxue { names, game_names: Vec::new() }
    }
}

pub(super) fn shard_name(number: u64) -> Option<String> {
    (number < MAX_SHARDS).then(|| format!("steps-{number:05}.npy"))
}

impl RowMaker for Macroxue {
    fn make(&mut self, game: &Game, run_id: u64, rows: &mut Vec<u8>) -> Result<Result<(), String>> {
        let names = game.valuation_names.iter();
        let ids = names.map(|name| self.number(name)).collect::<Result<Vec<u8>>>()?;
        let made = StepRow::append_all(game, row_run_id(run_id)?, &ids, rows);
        Ok(made.map_err(|cause| match cause {
            RowError::Null { field: "valuation_type", .. } => format!(
                "{cause}; try: a valuation_types.json beside the rows that were read, or --layout {}",
                PackLayout::SelfplayV1.name()
            ),
            RowError::Null { .. } => {
                format!("{cause}; try: --layout {}", PackLayout::SelfplayV1.name())
            }
            _ => cause.to_string(),
        }))
    }

    fn number(&mut self, name: &str) -> Result<u8> {
        let mut names = self.names.iter().chain(&self.game_names);
        let known = names.position(|known| known == name);
        let id = known.unwrap_or(self.names.len() + self.game_names.len());
        if known.is_none() {
            self.game_names.push(name.to_string());
        }
        if id >= MAX_NAMES {
            return Err(Error::data(format!(
                "{name:?} is one valuation name more than the {MAX_NAMES} of a pack"
            )));
        }
        Ok(id as u8)
    }

    fn accept_game(&mut self) {
        self.names.append(&mut self.game_names);
    }

    fn discard_game(&mut self) {
        self.game_names.clear();
    }

    /// Returns nothing: the layout's contract leaves out `valuation`, values of illegal branches, and
    /// exponents of several cells over 15. Every writer of packs loses these.
    fn lost(&self, _game: &Game) -> Vec<&'static str> {
        Vec::new()
    }

    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }
}

/// Returns the run id of a row, which has 32 bits for it.
pub(super) fn row_run_id(run_id: u64) -> Result<u32> {
    u32::try_from(run_id).map_err(|_| Error::data("more runs than a row's run_id can number"))
}

/// Writes `valuation_types.json`: name to number, in the order of the numbers.
pub(super) fn lookup(directory: &Path, names: &[String]) -> Result<PendingFile> {
    let ids: Map<String, Value> =
        names.iter().enumerate().map(|(id, name)| (name.clone(), json!(id))).collect();
    json_file::pending(&directory.join(VALUATION_TYPES), &ids)
}
