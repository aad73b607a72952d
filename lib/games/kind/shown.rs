//! A game: its boards, the move made on each board, and the value of each move.

use serde::Serialize;

use super::{page, term};
use crate::game2048::{CELLS, Direction, Game};
use crate::view::Shown;
use crate::view::page::Parts;
use crate::view::term::{Artist, Line};

/// A game; its steps are prepared one at a time.
#[derive(Debug, Clone)]
pub struct ShownGame {
    pub game: Game,
    /// The score before each step, as long as the moves lead from each board to the next.
    scores: Vec<Option<u64>>,
}

/// A position, and the move made in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownStep {
    /// The index of the step in the game, from 0.
    pub place: usize,
    /// The step's number in the data.
    pub step_index: u32,
    /// Exponents, row by row; 0 is an empty cell.
    pub board: [u8; CELLS],
    /// The score before the move, if it is known.
    pub score: Option<u64>,
    /// The direction of the move, 0 to 3: up, down, left, right.
    pub chosen: Option<u8>,
    /// The branches, in the order up, down, left, right.
    pub branches: [ShownBranch; 4],
    /// The name of the valuation.
    pub valuation: Option<String>,
    /// The value of the move.
    pub value: Option<f64>,
    pub board_eval: Option<i32>,
}

/// One direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ShownBranch {
    pub value: Option<f32>,
    /// Whether the move is legal: by the data, or else by the board.
    pub legal: bool,
    /// The value, scaled between the legal directions: 0 is the least and 1 the greatest. `None`
    /// without a value, or for an illegal direction.
    pub share: Option<f32>,
}

impl ShownGame {
    pub fn new(game: Game) -> ShownGame {
        let mut scores = Vec::with_capacity(game.steps.len());
        let mut score = (game.steps.step_index.first() == Some(&0)).then_some(0u64);
        for (at, board) in game.steps.board.iter().enumerate() {
            scores.push(score);
            let next = game.steps.board.get(at + 1);
            let direction = game.steps.move_dir.get(at).and_then(Direction::from_index);
            score = score.zip(direction).zip(next).and_then(|((score, direction), next)| {
                let slide = board.slide(direction);
                next.follows_slide(board, &slide).then_some(score + u64::from(slide.gained))
            });
        }
        ShownGame { game, scores }
    }

    pub fn len(&self) -> usize {
        self.game.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the step at an index from 0.
    pub fn step(&self, place: usize) -> Option<ShownStep> {
        let step = self.game.steps.get(place)?;
        let legal = step.ev_legal.unwrap_or_else(|| step.board.legal());
        let mut branches = [ShownBranch::default(); 4];
        for (index, branch) in branches.iter_mut().enumerate() {
            branch.value = step.branch_evs[index];
            branch.legal = legal >> index & 1 == 1;
        }
        let legal_values = branches.iter().filter(|branch| branch.legal);
        let values: Vec<f32> = legal_values.filter_map(|branch| branch.value).collect();
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let range = values.iter().copied().fold(f32::NEG_INFINITY, f32::max) - least;
        for branch in branches.iter_mut().filter(|branch| branch.legal) {
            let share = |value: f32| if range > 0.0 { (value - least) / range } else { 1.0 };
            branch.share = branch.value.map(share);
        }
        Some(ShownStep {
            place,
            step_index: step.step_index,
            board: *step.board.cells(),
            score: self.scores.get(place).copied().flatten(),
            chosen: step.move_dir,
            branches,
            valuation: self.game.valuation_name(place).map(str::to_string),
            value: step.valuation,
            board_eval: step.board_eval,
        })
    }
}

impl Shown for ShownGame {
    fn lines(self: Box<Self>, number: &str, artist: &mut Artist) -> Vec<Line> {
        term::lines(&self, number, &artist.drawing)
    }

    fn parts(&self, bytes: usize) -> Parts {
        page::parts(self, bytes)
    }

    fn has_steps(&self) -> bool {
        true
    }
}

/// Returns the tile of an exponent: 2048 for 11, 0 for an empty cell.
pub fn tile(exponent: u8) -> u64 {
    if exponent == 0 { 0 } else { 1u64.checked_shl(u32::from(exponent)).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game2048::{Board, Step};

    #[test]
    fn a_game_tells_its_score_as_long_as_it_goes_on() {
        let mut game = Game::default();
        let mut cells = [0u8; 16];
        (cells[0], cells[1]) = (1, 1);
        let first = Board::new(cells).unwrap();
        let mut after = first.slide(Direction::Left).cells;
        after[15] = 1;
        let second = Board::new(after).unwrap();
        let evs = [None, Some(10.0), Some(30.0), Some(20.0)];
        for (index, board) in [first, second, first].into_iter().enumerate() {
            game.steps.push(Step {
                step_index: index as u32,
                board,
                move_dir: Some(2),
                branch_evs: evs,
                ev_legal: Some(0b1110),
                ..Step::default()
            });
        }
        let shown = ShownGame::new(game);
        let scores: Vec<Option<u64>> = (0..3).map(|at| shown.step(at).unwrap().score).collect();
        assert_eq!(scores, [Some(0), Some(4), None]);
        let step = shown.step(0).unwrap();
        assert_eq!(
            step.branches.map(|branch| branch.share),
            [None, Some(0.0), Some(1.0), Some(0.5)]
        );
        assert_eq!(step.branches.map(|branch| branch.legal), [false, true, true, true]);
        assert!(shown.step(3).is_none());
        assert_eq!((tile(0), tile(11), tile(17)), (0, 2048, 131_072));
    }
}
