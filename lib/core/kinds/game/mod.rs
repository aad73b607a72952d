//! Games: how they are counted, shown, compared and checked.

mod check;
mod diff;
mod stat;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::game::Games;
use crate::record::{GAME, RecordKind, RecordType};

/// Games.
pub struct GameKind;

impl RecordKind for GameKind {
    const RECORD: &'static RecordType = &GAME;

    type Rows<'a> = Games<'a>;

    fn rows(batch: &RecordBatch) -> Result<Games<'_>, ArrowError> {
        Games::of(batch)
    }
}
