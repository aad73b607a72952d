//! Game records: the same rules as for the games of a pool.

use super::{BatchSummary, PlacedBatch, RECORD, RecordChecker};
use crate::check::{Findings, pool};
use crate::error::Result;
use crate::game2048::Game;
use crate::record::game::Games;

#[derive(Default)]
pub(super) struct GameChecker {
    game: Game,
}

impl RecordChecker for GameChecker {
    fn check(
        &mut self,
        batch: &PlacedBatch<'_>,
        _: &mut BatchSummary,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        let view = Games::of(&batch.batch.records)?;
        for row in 0..view.len() {
            let at = batch.at(row).id(view.source(row));
            match view.read(row, &mut self.game) {
                Ok(()) => pool::games::game(&self.game, at, findings),
                Err(reason) => findings.add(&RECORD, at, reason),
            }
        }
        Ok(())
    }
}
