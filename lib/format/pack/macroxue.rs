//! The layout of Macroxue packs: 48 bytes a step, or 46 without the padding, and
//! `valuation_types.json` with the names of the valuation numbers in them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{PackLayout, RowMaker, VALUATION_TYPES};
use crate::cli::PendingFile;
use crate::error::{Error, Result};
use crate::format::{json_file, npy};
use crate::game2048::{Game, KNOWN_VALUATIONS, RowError, StepRow, StepRows, remove_padding};

/// Readers sort the shards by name, which is their order as long as all numbers have five digits.
const MAX_SHARDS: u64 = 100_000;
/// The most valuation names of a pack.
const MAX_NAMES: usize = 255;

pub(super) struct Macroxue {
    /// Whether the rows have no padding.
    is_packed: bool,
    /// Valuation names by their numbers.
    names: Vec<String>,
    /// The names that the latest prepared game added.
    game_names: Vec<String>,
}

impl Macroxue {
    pub(super) fn new(is_packed: bool) -> Macroxue {
        let names = KNOWN_VALUATIONS.map(str::to_string).to_vec();
        Macroxue { is_packed, names, game_names: Vec::new() }
    }

    fn run_id(run_id: u64) -> Result<u32> {
        u32::try_from(run_id).map_err(|_| Error::data("more runs than a row's run_id can number"))
    }

    /// The pack's numbers of a game's names, new ones in the order in which its rows have them.
    fn number_names(&mut self, game: &Game) -> Result<Vec<u8>> {
        self.game_names.clear();
        let mut ids = Vec::with_capacity(game.valuation_names.len());
        for name in &game.valuation_names {
            let mut names = self.names.iter().chain(&self.game_names);
            let known = names.position(|known| known == name);
            let id = known.unwrap_or(self.names.len() + self.game_names.len());
            if known.is_none() {
                self.game_names.push(name.clone());
            }
            if id >= MAX_NAMES {
                return Err(Error::data(format!(
                    "{name:?} is one valuation name more than the {MAX_NAMES} of a pack"
                )));
            }
            ids.push(id as u8);
        }
        Ok(ids)
    }
}

impl RowMaker for Macroxue {
    fn dtype(&self) -> npy::DType {
        match self.is_packed {
            false => npy::aligned_step_row(),
            true => npy::packed_step_row(),
        }
    }

    fn shard_name(&self, number: u64) -> Option<String> {
        (number < MAX_SHARDS).then(|| format!("steps-{number:05}.npy"))
    }

    fn make(&mut self, game: &Game, run_id: u64, rows: &mut Vec<u8>) -> Result<Result<(), String>> {
        let run_id = Macroxue::run_id(run_id)?;
        let ids = self.number_names(game)?;
        match StepRow::append_all(game, run_id, &ids, rows) {
            Ok(()) => {
                if self.is_packed {
                    remove_padding(rows);
                }
                Ok(Ok(()))
            }
            Err(null @ RowError::Null { .. }) => {
                Ok(Err(format!("{null}; try: --layout {}", PackLayout::SelfplayV1.name())))
            }
            Err(cause) => Ok(Err(cause.to_string())),
        }
    }

    fn number(&mut self, game: &Game, run_id: u64, rows: StepRows) -> Result<Vec<u8>> {
        let run_id = Macroxue::run_id(run_id)?;
        let ids = self.number_names(game)?;
        let numbered = rows.numbered(run_id, &ids);
        let mut rows = numbered.ok_or_else(|| Error::data("a valuation_type has no number"))?;
        if self.is_packed {
            remove_padding(&mut rows);
        }
        Ok(rows)
    }

    fn taken(&mut self) {
        self.names.append(&mut self.game_names);
    }

    /// Nothing: what the row leaves out (`valuation`, values of illegal branches, exponents of
    /// several cells over 15) is the layout's own contract, the same for every writer of packs.
    fn lost(&self, _game: &Game) -> Vec<&'static str> {
        Vec::new()
    }

    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }
}

/// `valuation_types.json`: name to number, in the order of the numbers.
pub(super) fn lookup(directory: &Path, names: &[String]) -> Result<PendingFile> {
    let ids: Map<String, Value> =
        names.iter().enumerate().map(|(id, name)| (name.clone(), json!(id))).collect();
    json_file::pending(&directory.join(VALUATION_TYPES), &ids)
}
