//! Game records: the same rules as for the games of a pool.

use std::path::Path;

use super::{Looked, RECORD, position};
use crate::batch::Batch;
use crate::check::{At, pool};
use crate::cli::Result;
use crate::game2048::Game;
use crate::record::game::Games;

#[derive(Default)]
pub(super) struct Judge {
    game: Game,
}

impl Judge {
    pub fn look(&mut self, path: &Path, batch: &Batch, looked: &mut Looked<'_>) -> Result<()> {
        let view = Games::of(&batch.records)?;
        for row in 0..view.len() {
            let at =
                position(At::file(path), batch.origin.place(row).position).id(view.source(row));
            match view.read(row, &mut self.game) {
                Ok(()) => pool::games::game(&self.game, at, &mut looked.findings),
                Err(reason) => looked.findings.add(&RECORD, at, || reason),
            }
        }
        Ok(())
    }
}
