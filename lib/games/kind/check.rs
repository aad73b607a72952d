//! Game records: the same rules as for the games of a pool.

use super::GameKind;
use crate::batch::Header;
use crate::check::{BatchCheck, CheckKind, RECORD, RecordChecker, RecordRules, check_game};
use crate::error::Result;
use crate::game2048::Game;
use crate::record::GAME;
use crate::record::game::Games;
use crate::said::Said;

impl CheckKind for GameKind {
    fn name(&self) -> &'static str {
        GAME.name
    }

    fn rules(&self, _: &Header, _: &Said) -> Result<Box<dyn RecordRules>> {
        Ok(Box::new(GameRules))
    }
}

struct GameRules;

impl RecordRules for GameRules {
    fn checker(&self) -> Box<dyn RecordChecker> {
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
