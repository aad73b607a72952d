//! How puzzles are shown.

use super::plots::PuzzlePlots;
use super::{PuzzleKind, ShownPuzzle};
use crate::batch::{Batch, Header, Statement};
use crate::error::Result;
use crate::puzzle::picture::CellKind;
use crate::record::PUZZLE;
use crate::record::puzzle::Puzzles;
use crate::record::statements::{DOMAIN, IGNORE_LABEL_ID, PAD_ID};
use crate::said::Said;
use crate::view::page::ExtraPlots;
use crate::view::{Look, Shown, ViewKind};

impl ViewKind for PuzzleKind {
    fn name(&self) -> &'static str {
        PUZZLE.name
    }

    fn dataset(&self, header: &Header) -> Option<String> {
        let domain = header.get(&DOMAIN).map(|name| format!(" of {name}"));
        Some(format!("puzzle set{}", domain.unwrap_or_default()))
    }

    fn look(&self, header: &Header, _: &Said) -> Result<Box<dyn Look>> {
        let padding = [
            named_token(header, &PAD_ID).map(|token| (token, CellKind::Padding)),
            named_token(header, &IGNORE_LABEL_ID).map(|token| (token, CellKind::Ignored)),
        ];
        Ok(Box::new(PuzzleLook { padding }))
    }

    fn plots(&self) -> Option<Box<dyn ExtraPlots>> {
        Some(Box::new(PuzzlePlots::default()))
    }
}

struct PuzzleLook {
    /// The padding and the ignored label that a set states, with their kinds.
    padding: [Option<(i32, CellKind)>; 2],
}

impl Look for PuzzleLook {
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        let puzzles = Puzzles::of(&batch.records)?;
        Ok(Box::new(ShownPuzzle::of(&puzzles.get(row), self.padding)))
    }
}

/// Returns a token that the header of a puzzle set names.
fn named_token(header: &Header, of: &Statement<i64>) -> Option<i32> {
    header.get(of)?.try_into().ok()
}
