//! What the steps of a run say of its game: how many there are, the score, the highest tile.

use super::{Board, Slide};

/// What is known of a run from its steps, in their order.
#[derive(Debug, Clone, Copy)]
pub struct Played {
    steps: u64,
    first_index: u32,
    last_index: u32,
    /// The sum of all merged tiles.
    gained: u64,
    /// The board after the last move, before a new tile.
    last: Option<Slide>,
    /// Whether the game begins with two tiles at step 0.
    begins: bool,
    /// Whether the step numbers have no gaps, and all boards and moves are known.
    unbroken: bool,
}

impl Played {
    /// A run of one step. `slide` is what its move does; `None` if the board or the move is not known
    /// exactly.
    #[inline]
    pub fn begin(step_index: u32, board: &Board, slide: Option<&Slide>) -> Played {
        let tiles = board.cells().iter().filter(|&&cell| cell > 0).count();
        Played {
            steps: 1,
            first_index: step_index,
            last_index: step_index,
            gained: slide.map_or(0, |slide| u64::from(slide.gained)),
            last: slide.copied(),
            begins: step_index == 0 && tiles == 2,
            unbroken: slide.is_some(),
        }
    }

    /// The same run with one more step.
    #[inline]
    pub fn push(&mut self, step_index: u32, slide: Option<&Slide>) {
        self.unbroken &= self.goes_on_at(step_index) && slide.is_some();
        self.steps += 1;
        self.last_index = step_index;
        self.gained += slide.map_or(0, |slide| u64::from(slide.gained));
        self.last = slide.copied();
    }

    /// The same run with the steps after it, which began as a run of their own.
    pub fn join(&mut self, later: &Played) {
        self.unbroken &= self.goes_on_at(later.first_index) && later.unbroken;
        self.steps += later.steps;
        self.last_index = later.last_index;
        self.gained += later.gained;
        self.last = later.last;
    }

    fn goes_on_at(&self, step_index: u32) -> bool {
        u64::from(step_index) == u64::from(self.last_index) + 1
    }

    /// How many steps there are.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The highest tile that a stated one should be, if it is known that it is another.
    pub fn other_highest(&self, stated: u64) -> Option<u64> {
        let slide = self.last.as_ref()?;
        let highest = 1u64 << slide.cells.iter().fold(0, |max, &cell| max.max(cell));
        // The new tile may be the largest on a nearly empty board.
        (stated != highest && !(highest < 4 && stated == 4)).then_some(highest)
    }

    /// The score that a stated one should be, if it is known that it is another: that of a game which
    /// begins with two tiles is the sum of its merged tiles.
    pub fn other_score(&self, stated: u64) -> Option<u64> {
        (self.begins && self.unbroken && stated != self.gained).then_some(self.gained)
    }

    /// Whether a stated score is that of the last board: what its tiles are worth if none but tiles of 2
    /// appeared. Some logs state that.
    pub fn is_score_of_board(&self, stated: u64) -> bool {
        let Some(slide) = &self.last else { return false };
        let worth = |&cell: &u8| u64::from(cell.saturating_sub(1)) << cell;
        let after: u64 = slide.cells.iter().map(worth).sum();
        // Without a tile of 4 both scores are one. Before the last move, after it, and after a tile of 4.
        after != self.gained
            && [after.saturating_sub(u64::from(slide.gained)), after, after + 4].contains(&stated)
    }
}
