//! Game records: the same rules as for the games of a pool.

use crate::batch::Header;
use crate::check::{AssertedRules, BatchCheck, CheckView, RECORD, RecordChecker, check_game};
use crate::error::Result;
use crate::game2048::Game;
use crate::record::game::Games;

impl CheckView for Games<'_> {
    fn checker(_: &Header, _: AssertedRules) -> Box<dyn RecordChecker> {
        Box::new(GameChecker::default())
    }
}

#[derive(Default)]
struct GameChecker {
    game: Game,
}

impl RecordChecker for GameChecker {
    fn check(&mut self, batch: &mut BatchCheck<'_, '_>) -> Result<()> {
        let view = Games::of(&batch.batch.records)?;
        for row in 0..view.len() {
            let at = batch.at(row).id(view.source(row));
            match view.read(row, &mut self.game) {
                Ok(()) => check_game(&self.game, at, batch.findings),
                Err(reason) => batch.findings.add(&RECORD, at, reason),
            }
        }
        Ok(())
    }
}
