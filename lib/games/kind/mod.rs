//! Games: how they are counted, shown, compared and checked.
//!
//! | file | what |
//! |---|---|
//! | `check.rs`, `diff.rs`, `stat.rs`, `view.rs` | what the frames ask for |
//! | `shown.rs` | boards with their moves and values |
//! | `term.rs`, `page.rs` | the same drawn in a terminal and on a page |
//! | `plots.rs` | values of moves along the steps |

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

use crate::record::game::Games;
use crate::record::{GAME, RecordKind, RecordType};

pub use shown::{ShownBranch, ShownGame, ShownStep, tile};

/// Games.
pub struct GameKind;

impl RecordKind for GameKind {
    const RECORD: &'static RecordType = &GAME;

    type Rows<'a> = Games<'a>;

    fn rows(batch: &RecordBatch) -> Result<Games<'_>, ArrowError> {
        Games::of(batch)
    }
}
