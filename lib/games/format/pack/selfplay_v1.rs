//! The layout of self-play v1 pools: run, step, and the sixteen exponents of its board. It holds
//! only the board of a step; all other fields of steps would be lost.

use super::RowMaker;
use crate::error::Result;
use crate::game2048::{Game, SELFPLAY_ROW, SelfplayRow};

/// The default number of rows in a shard, as in the engine that made this layout.
pub(super) const SHARD_ROWS: u64 = 1_000_000;
/// Readers sort the shards by name; this is the right order as long as all numbers have six digits.
const MAX_SHARDS: u64 = 999_999;

/// The name of the loss if boards are not exactly those that were played; readers would take them for
/// exact.
pub const LARGE_TILES: &str = "tiles over 32768";

pub(super) struct SelfplayV1;

pub(super) fn shard_name(number: u64) -> Option<String> {
    (number < MAX_SHARDS).then(|| format!("steps-{:06}.npy", number + 1))
}

impl RowMaker for SelfplayV1 {
    fn make(&mut self, game: &Game, run_id: u64, rows: &mut Vec<u8>) -> Result<Result<(), String>> {
        rows.reserve(game.steps.len() * SELFPLAY_ROW);
        for (&step_idx, board) in game.steps.step_index.iter().zip(&game.steps.board) {
            let row = SelfplayRow { run_id, step_idx, exps: *board.cells() };
            rows.extend_from_slice(&row.to_bytes());
        }
        Ok(Ok(()))
    }

    fn lost(&self, game: &Game) -> Vec<&'static str> {
        let seeds = &game.steps.seed;
        // The database has the run's seed; only a different seed of a step would be lost.
        let run_seed = game.known_seed();
        let own_seeds = || (0..seeds.len()).any(|i| seeds.is_known(i) && seeds.get(i) != run_seed);
        let is_lost = |name: &&str| match *name {
            "step_index" | "board" => false,
            "seed" => own_seeds(),
            _ => true,
        };
        let large = game.lacks_large_tiles().then_some(LARGE_TILES);
        game.steps.filled().into_iter().filter(is_lost).chain(large).collect()
    }
}
