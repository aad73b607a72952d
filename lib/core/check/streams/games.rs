//! Game records: the same rules as for the games of a pool.

use super::{BatchCheck, RECORD, RecordChecker};
use crate::check::pool;
use crate::error::Result;
use crate::game2048::Game;
use crate::record::game::Games;

#[derive(Default)]
pub(super) struct GameChecker {
    game: Game,
}

impl RecordChecker for GameChecker {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()> {
        let view = Games::of(&batch.batch.records)?;
        for row in 0..view.len() {
            let at = batch.at(row).id(view.source(row));
            match view.read(row, &mut self.game) {
                Ok(()) => pool::games::game(&self.game, at, batch.findings),
                Err(reason) => batch.findings.add(&RECORD, at, reason),
            }
        }
        Ok(())
    }
}
