//! Puzzles: how they are counted, shown, compared and checked.

mod check;
mod diff;
mod stat;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::puzzle::Puzzles;
use crate::record::{PUZZLE, RecordKind, RecordType};

/// Puzzles.
pub struct PuzzleKind;

impl RecordKind for PuzzleKind {
    const RECORD: &'static RecordType = &PUZZLE;

    type Rows<'a> = Puzzles<'a>;

    fn rows(batch: &RecordBatch) -> Result<Puzzles<'_>, ArrowError> {
        Puzzles::of(batch)
    }
}
