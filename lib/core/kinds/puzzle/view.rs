//! How puzzles are shown.

use crate::batch::{Batch, Header};
use crate::error::Result;
use crate::record::puzzle::Puzzles;
use crate::view::{ExtraPlots, RecordView, ShownPuzzle, ShownRecord, Viewer};

impl RecordView for Puzzles<'_> {
    fn dataset(header: &Header) -> Option<String> {
        let domain = header.text("domain").map(|name| format!(" of {name}"));
        Some(format!("puzzle set{}", domain.unwrap_or_default()))
    }

    fn show(&self, viewer: &Viewer, _: &Batch, row: usize) -> Result<ShownRecord> {
        Ok(ShownRecord::Puzzle(ShownPuzzle::of(&self.get(row), viewer.padding)))
    }

    fn add_to(&self, extra: &mut ExtraPlots) {
        extra.add_puzzles(self);
    }
}
