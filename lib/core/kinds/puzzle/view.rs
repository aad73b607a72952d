//! How puzzles are shown.

use crate::batch::Batch;
use crate::error::Result;
use crate::record::puzzle::Puzzles;
use crate::view::{Extra, Seen, Shown, ShownPuzzle, Viewer};

impl Seen for Puzzles<'_> {
    fn show(&self, viewer: &Viewer, _: &Batch, row: usize) -> Result<Shown> {
        Ok(Shown::Puzzle(ShownPuzzle::of(&self.get(row), viewer.padding)))
    }

    fn add_to(&self, extra: &mut Extra) {
        extra.add_puzzles(self);
    }
}
