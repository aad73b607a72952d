//! The `game` record: one game, its sidecar and its steps, from any pool or log.
//!
//! Boards are sixteen exponents; packing them is the sink's job. Values that a source does not have are
//! null.

mod builder;
pub mod json;
mod steps;

use self::builder::{BoardsBuilder, BranchesBuilder};
use super::prelude::*;
use crate::game2048::Game;

/// Games: the values of the sidecar, and the steps.
pub const GAME: RecordType = RecordType {
    name: "game",
    singular: "game",
    plural: "games of 2048",
    fields: GameFields::declared,
    marking_fields: &[&["steps"]],
    made_by: "mx-decode",
    made_into: &[],
    is_derived: true,
    quick: Some(&json::QuickSteps),
    ..RecordType::PLAIN
};

/// The key of `session` under which the reader of a pool lists what it left out because games have no field
/// for it. A sink that cannot keep it either must report that.
pub const LEFT_OUT: &str = "gristmill.left_out";

/// The number of branches of a step: up, down, left, right.
const BRANCHES: usize = 4;

record_fields! {
    /// One game. What its source does not know is null.
    GameFields(Games, GamesBuilder) {
        /// The game's number in its source.
        run_id: Option<u64>,
        /// The seed of its random numbers.
        seed: Option<u64>,
        /// Search depth.
        depth: Option<u32>,
        /// The final score.
        score: Option<u64>,
        /// The largest tile itself (32768).
        max_tile: Option<u64>,
        /// The exponent of the largest tile (15), as in the sidecar.
        max_rank: Option<u8>,
        /// The number of moves.
        num_moves: Option<u64>,
        /// How long the game took.
        seconds: Option<f64>,
        /// Where the game came from, for people.
        source: Option<String>,
        /// The other fields of the sidecar, an object.
        meta_json: Option<Json>,
        /// The pool's own keys, an object, on the first game of a pool.
        session_json: Option<Json>,
        /// One struct for each move.
        steps: List<StepFields>,
    }
}

record_fields! {
    /// One step: a position, and the move that was made in it.
    StepFields(StepColumns, StepsBuilder) {
        /// The step's number in its game.
        step_index: u32,
        /// The position before the move: sixteen exponents, row by row.
        board: BuiltBy<List<u8>, BoardsBuilder>,
        /// The evaluation of `board`.
        board_eval: Option<i32>,
        /// The direction of the move: 0 up, 1 down, 2 left, 3 right.
        move_dir: Option<u8>,
        /// The name of the valuation of the branches: `search`, `tuple11`, ...
        valuation_type: Option<String>,
        /// The value of the move.
        valuation: Option<f64>,
        /// Bit i: the move in direction i is legal and has a value.
        ev_legal: Option<u8>,
        /// The largest exponent of `board`.
        max_rank: Option<u8>,
        /// The game's seed, as in the source's step.
        seed: Option<u64>,
        /// The value of each direction, null if it has none.
        branch_evs: Option<BuiltBy<List<Option<f32>>, BranchesBuilder>>,
    }
}

impl<'a> Games<'a> {
    /// Returns the view of a batch in the schema of [`GAME`]. Other schemas are an error (the
    /// stream readers conform every batch first).
    pub fn of(batch: &'a RecordBatch) -> Result<Games<'a>, ArrowError> {
        Games::of_columns(batch.columns())
    }

    pub fn len(&self) -> usize {
        self.steps.array.len()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.array.is_empty()
    }

    /// Games have no ids.
    pub fn id(&self, _row: usize) -> Option<&'a str> {
        None
    }

    /// Returns the source of the game, for people.
    pub fn source(&self, row: usize) -> Option<&'a str> {
        self.source.get(row)
    }

    /// Returns the fields of the game besides its steps and numbers, as the text of a JSON object;
    /// empty if there are none.
    pub fn meta(&self, row: usize) -> &'a str {
        self.meta_json.get(row).unwrap_or_default()
    }

    /// Returns a pool's own keys, as the text of a JSON object.
    pub fn session(&self, row: usize) -> Option<&'a str> {
        self.session_json.get(row)
    }

    /// Reads a row into a [`Game`], which is cleared first and keeps its memory. A value that no
    /// game can have (a board without exactly sixteen cells, a move in no known direction) is an
    /// error; after it the content of `game` is unspecified.
    pub fn read(&self, row: usize, game: &mut Game) -> Result<(), String> {
        game.clear();
        game.run_id = self.run_id.get(row).unwrap_or_default();
        game.seed = self.seed.get(row);
        game.depth = self.depth.get(row);
        game.score = self.score.get(row);
        game.max_tile = self.max_tile.get(row);
        game.max_rank = self.max_rank.get(row);
        game.num_moves = self.num_moves.get(row);
        game.seconds = self.seconds.get(row);
        game.source = self.source(row).map(str::to_string);
        game.meta = self.meta(row).to_string();
        game.session = self.session(row).map(str::to_string);
        if self.steps.is_null(row) {
            return Err("steps is null".to_string());
        }
        let range = self.steps.range(row..row + 1);
        let nulls = self.steps.array.values().nulls();
        let nulls = nulls.map(|nulls| nulls.slice(range.start, range.len()));
        if nulls.is_some_and(|nulls| nulls.null_count() > 0) {
            return Err("a step, or its step_index, is null".to_string());
        }
        self.steps.items.read(range, game)
    }
}

#[cfg(test)]
mod tests;
