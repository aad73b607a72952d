//! What the steps of a run tell about its game: the number of steps, the score, the highest tile.

use super::{Board, Slide};

/// The facts about a run that follow from its steps, taken in their order.
#[derive(Debug, Clone, Copy)]
pub struct RunSummary {
    steps: u64,
    first_index: u32,
    last_index: u32,
    /// The sum of all merged tiles.
    gained: u64,
    /// The board after the last move, before a new tile.
    last: Option<Slide>,
    /// Whether the run begins with two tiles at step 0.
    begins: bool,
    /// Whether the step numbers have no gaps, and all boards and moves are known.
    unbroken: bool,
}

impl RunSummary {
    /// Begins a run with one step. `slide` is the effect of its move; `None` if the board or the
    /// move is not known exactly.
    #[inline]
    pub fn begin(step_index: u32, board: &Board, slide: Option<&Slide>) -> RunSummary {
        let tiles = board.cells().iter().filter(|&&cell| cell > 0).count();
        RunSummary {
            steps: 1,
            first_index: step_index,
            last_index: step_index,
            gained: slide.map_or(0, |slide| u64::from(slide.gained)),
            last: slide.copied(),
            begins: step_index == 0 && tiles == 2,
            unbroken: slide.is_some(),
        }
    }

    /// Adds a step to the run.
    #[inline]
    pub fn push(&mut self, step_index: u32, slide: Option<&Slide>) {
        self.unbroken &= self.goes_on_at(step_index) && slide.is_some();
        self.steps += 1;
        self.last_index = step_index;
        self.gained += slide.map_or(0, |slide| u64::from(slide.gained));
        self.last = slide.copied();
    }

    /// Appends a later run.
    pub fn join(&mut self, later: &RunSummary) {
        self.unbroken &= self.goes_on_at(later.first_index) && later.unbroken;
        self.steps += later.steps;
        self.last_index = later.last_index;
        self.gained += later.gained;
        self.last = later.last;
    }

    fn goes_on_at(&self, step_index: u32) -> bool {
        u64::from(step_index) == u64::from(self.last_index) + 1
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the highest tile if it is known and differs from the stated one.
    pub fn other_highest(&self, stated: u64) -> Option<u64> {
        let slide = self.last.as_ref()?;
        let highest = 1u64 << slide.cells.iter().fold(0, |max, &cell| max.max(cell));
        // On a nearly empty board the new tile may be the largest one.
        (stated != highest && !(highest < 4 && stated == 4)).then_some(highest)
    }

    /// Returns the score if it is known and differs from the stated one. A game that begins with
    /// two tiles has the sum of its merged tiles as its score.
    pub fn other_score(&self, stated: u64) -> Option<u64> {
        (self.begins && self.unbroken && stated != self.gained).then_some(self.gained)
    }

    /// Whether a stated score was computed from the last board, as the score of its tiles if only tiles of 2 had
    /// appeared. Some logs state this value.
    pub fn is_score_of_board(&self, stated: u64) -> bool {
        let Some(slide) = &self.last else { return false };
        let worth = |&cell: &u8| u64::from(cell.saturating_sub(1)) << cell;
        let after: u64 = slide.cells.iter().map(worth).sum();
        // Without a tile of 4 both scores are equal. The score may be taken before the last move,
        // after it, or after a new tile of 4.
        after != self.gained
            && [after.saturating_sub(u64::from(slide.gained)), after, after + 4].contains(&stated)
    }
}
