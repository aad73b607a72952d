//! One game as plain data: its facts from the source, and its steps as columns.
//!
//! Values that a source does not have are null. The layouts of pools are in `rows`; this module does not
//! know the source of a game.

use super::board::Board;
use super::columns::{BranchColumn, ItemColumn, step_columns};
use crate::record::nullable::NullableColumn;

/// One game, from any kind of pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Game {
    /// The game's number in its source.
    pub run_id: u64,
    pub seed: Option<u64>,
    /// The search depth.
    pub depth: Option<u32>,
    pub score: Option<u64>,
    /// The largest tile itself (32768), not its exponent.
    pub max_tile: Option<u64>,
    /// The largest exponent, as the sidecar states it.
    pub max_rank: Option<u8>,
    pub num_moves: Option<u64>,
    pub seconds: Option<f64>,
    /// The source of the game, for people.
    pub source: Option<String>,
    /// The other fields of the sidecar: the text of a JSON object, with its values as they were
    /// written. Empty if there are none.
    pub meta: String,
    /// The pool's own keys: the text of a JSON object, on the first game of a pool.
    pub session: Option<String>,
    /// The valuation names of this game, in order of first appearance; [`Steps::valuation_type`] is
    /// an index into them.
    pub valuation_names: Vec<String>,
    pub steps: Steps,
}

step_columns! {
    /// The steps of one game as columns of equal length.
    Steps,
    /// One step, to be pushed to [`Steps`] or read from it.
    Step {
        step_index: Vec<u32>,
        /// The board before the move.
        board: Vec<Board>,
        board_eval: NullableColumn<i32>,
        /// The number of a [`Direction`](super::Direction).
        move_dir: NullableColumn<u8>,
        /// Index into [`Game::valuation_names`].
        valuation_type: NullableColumn<u16>,
        valuation: NullableColumn<f64>,
        /// Bit i: the move in direction i is legal and has a value.
        ev_legal: NullableColumn<u8>,
        max_rank: NullableColumn<u8>,
        seed: NullableColumn<u64>,
        /// Values in the order up, down, left, right. The caller has checked that they are finite.
        branch_evs: BranchColumn,
    }
}

impl Game {
    /// Makes the game empty and keeps the memory of its steps.
    pub fn clear(&mut self) {
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        *self = Game { steps, ..Game::default() };
    }

    /// Returns the game's seed; if only the steps have one, the seed of the first step.
    pub fn known_seed(&self) -> Option<u64> {
        self.seed.or_else(|| self.steps.seed.get(0))
    }

    /// Returns the index of a valuation name in this game; a new name is added. `None` if the game
    /// has more names than u16 can count.
    pub fn valuation_index(&mut self, name: &str) -> Option<u16> {
        let known = self.valuation_names.iter().position(|known| known == name);
        let index = u16::try_from(known.unwrap_or(self.valuation_names.len())).ok()?;
        if known.is_none() {
            self.valuation_names.push(name.to_owned());
        }
        Some(index)
    }

    /// Returns the valuation name of the step at `index`.
    pub fn valuation_name(&self, index: usize) -> Option<&str> {
        let name = self.steps.valuation_type.get(index)?;
        self.valuation_names.get(usize::from(name)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_comes_out_as_it_went_in() {
        let full = Step {
            step_index: 7,
            board_eval: Some(-5),
            move_dir: Some(3),
            valuation_type: Some(1),
            valuation: Some(0.25),
            ev_legal: Some(9),
            max_rank: Some(4),
            seed: Some(u64::MAX),
            branch_evs: [Some(-0.0), None, None, Some(1.5)],
            ..Step::default()
        };
        let mut steps = Steps::default();
        for step in [Step::default(), full, Step::default(), full] {
            steps.push(step);
        }
        assert_eq!(steps.get(0), Some(Step::default()));
        assert_eq!(steps.get(1), Some(full));
        assert_eq!(steps.get(3), Some(full));
        assert_eq!(steps.get(4), None);
        assert_eq!(steps.len(), 4);
        steps.clear();
        assert_eq!(steps, Steps::default());
    }

    #[test]
    fn valuation_names_are_numbered_by_first_appearance() {
        let mut game = Game::default();
        assert_eq!(game.valuation_index("tuple11"), Some(0));
        assert_eq!(game.valuation_index("search"), Some(1));
        assert_eq!(game.valuation_index("tuple11"), Some(0));
        game.steps.push(Step { valuation_type: Some(1), ..Step::default() });
        game.steps.push(Step::default());
        assert_eq!(game.valuation_name(0), Some("search"));
        assert_eq!(game.valuation_name(1), None);
    }

    #[test]
    fn more_names_than_u16_counts_are_refused() {
        let mut game = Game { valuation_names: vec![String::new(); 65_536], ..Game::default() };
        assert_eq!(game.valuation_index("new"), None);
        assert_eq!(game.valuation_index(""), Some(0));
    }
}
