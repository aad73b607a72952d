//! Puzzles: how they are counted, shown, compared and checked.
//!
//! | file | what |
//! |---|---|
//! | `check.rs`, `diff.rs`, `stat.rs`, `view.rs` | what the frames ask for |
//! | `shown.rs` | both sides of an example; `puzzle::picture` is drawn by the domains |
//! | `term.rs`, `page.rs` | the same drawn in a terminal and on a page |
//! | `plots.rs` | sizes of grids, examples of a puzzle |

mod check;
mod diff;
mod page;
mod plots;
mod shown;
mod stat;
mod term;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::puzzle::Puzzles;
use crate::record::{PUZZLE, RecordKind, RecordType};

pub use shown::ShownPuzzle;

/// Puzzles.
pub struct PuzzleKind;

impl RecordKind for PuzzleKind {
    const RECORD: &'static RecordType = &PUZZLE;

    type Rows<'a> = Puzzles<'a>;

    fn rows(batch: &RecordBatch) -> Result<Puzzles<'_>, ArrowError> {
        Puzzles::of(batch)
    }
}
