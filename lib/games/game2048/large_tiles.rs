//! Finds games whose boards are not exactly those that were played, because of tiles over 2^15. Packed boards
//! without a mask have 2^15 in place of such tiles, and a row with several masked cells does not say which are
//! 2^17. The loss cannot be undone; it is only detected here.

use super::board::{Board, CELLS, Direction};
use super::game::Game;

/// The largest exponent that a nibble holds.
const LARGEST: u8 = 15;
/// The exponents that a cell of 15 may stand for.
const MAY_BE: [u8; 3] = [15, 16, 17];
/// The most cells of 15 that are tried: no game has more large tiles.
const MOST: usize = 5;

impl Game {
    /// Whether one of its boards lacks a tile over 2^15: its `max_rank` says so, or the next board can follow only
    /// a board with a larger tile.
    pub fn lacks_large_tiles(&self) -> bool {
        let steps = &self.steps;
        (0..steps.len()).any(|at| {
            let Some(board) = steps.board.get(at) else { return false };
            let of_rank = |rank: u8| rank > LARGEST && rank > board.max_rank();
            let before = at.checked_sub(1).and_then(|at| Some((steps.board.get(at)?, at)));
            let is_after = |(before, at): (&Board, usize)| {
                let moved = steps.move_dir.get(at).and_then(Direction::from_index);
                follows_only_larger(board, before, moved)
            };
            steps.max_rank.get(at).is_some_and(of_rank) || before.is_some_and(is_after)
        })
    }
}

/// Whether a board follows after another only if some of the other's cells of 15 are larger, or
/// merge to more than 15. `moved` is the direction, if it is known.
fn follows_only_larger(board: &Board, before: &Board, moved: Option<Direction>) -> bool {
    // (A single cell merges with nothing, whatever its exponent is.)
    let are_stored = board.max_rank() == LARGEST && before.max_rank() == LARGEST;
    let large: Vec<usize> = (0..CELLS).filter(|&at| before.cells()[at] == LARGEST).collect();
    if !are_stored || !(2..=MOST).contains(&large.len()) {
        return false;
    }
    let all = || (0..4).filter_map(Direction::from_index);
    let directions: Vec<Direction> = moved.map_or_else(|| all().collect(), |moved| vec![moved]);
    if directions.iter().any(|&direction| board.follows(before, direction)) {
        return false;
    }
    (0..MAY_BE.len().pow(large.len() as u32)).any(|mut number| {
        let mut cells = *before.cells();
        for &at in &large {
            cells[at] = MAY_BE[number % MAY_BE.len()];
            number /= MAY_BE.len();
        }
        let Some(played) = Board::new(cells) else { return false };
        directions.iter().any(|&direction| {
            let mut slide = played.slide(direction);
            // An unchanged board means that there was no move.
            let is_move = slide.cells != cells;
            slide.cells = slide.cells.map(|cell| cell.min(LARGEST));
            is_move && board.follows_slide(before, &slide)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::*;

    /// Makes a game of stored boards, given by their first cells, and asks whether it lacks large
    /// tiles.
    fn lacks(boards: &[&[u8]], moved: Option<Direction>, ranks: &[u8]) -> bool {
        let mut game = Game::default();
        for (at, first) in boards.iter().enumerate() {
            let mut cells = [0; CELLS];
            cells[..first.len()].copy_from_slice(first);
            game.steps.push(Step {
                step_index: at as u32,
                board: Board::new(cells).unwrap(),
                move_dir: moved.map(|moved| moved as u8),
                max_rank: ranks.get(at).copied(),
                ..Step::default()
            });
        }
        game.lacks_large_tiles()
    }

    #[test]
    fn boards_that_lack_a_large_tile_are_found() {
        let left = Some(Direction::Left);
        for moved in [None, left] {
            // 65536 and 32768 do not merge; two tiles of 32768 do.
            assert!(lacks(&[&[15, 15, 1, 1], &[15, 15, 2, 0, 1]], moved, &[]));
            assert!(lacks(&[&[15, 15, 1, 1], &[15, 2, 0, 0, 1]], moved, &[]));
            // Boards that have the large tile, boards to which no move leads, and moves in another
            // direction.
            assert!(!lacks(&[&[15, 15, 1, 1], &[16, 2, 0, 0, 1]], moved, &[]));
            assert!(!lacks(&[&[16, 15, 1, 1], &[16, 15, 2, 0, 1]], moved, &[]));
            assert!(!lacks(&[&[15, 15, 1, 1], &[15, 3, 7, 9, 1]], moved, &[]));
            assert!(!lacks(&[&[15, 1, 1, 0], &[15, 2, 0, 0, 1]], moved, &[]));
            assert!(!lacks(&[&[14, 14, 1, 1], &[15, 2, 0, 0, 1]], moved, &[]));
        }
        assert!(!lacks(&[&[15, 15, 1, 0], &[0, 15, 15, 1]], None, &[]));
        assert!(!lacks(
            &[&[15, 15, 1, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15, 15, 1, 0]],
            None,
            &[]
        ));
        // The step's own rank says that a tile is larger.
        assert!(lacks(&[&[16, 16, 1, 1]], None, &[17]));
        assert!(lacks(&[&[15, 1, 1]], None, &[16]));
        assert!(!lacks(&[&[17, 16, 1, 1]], None, &[17]));
        assert!(!lacks(&[&[3, 1]], None, &[9]), "that is another mistake");
    }
}
