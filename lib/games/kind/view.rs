//! How games are shown.

use super::plots::GamePlots;
use super::{GameKind, ShownGame};
use crate::batch::{Batch, Header};
use crate::error::{Error, Result};
use crate::game2048::Game;
use crate::record::GAME;
use crate::record::game::Games;
use crate::said::Said;
use crate::view::page::ExtraPlots;
use crate::view::{Look, Shown, ViewKind};

impl ViewKind for GameKind {
    fn name(&self) -> &'static str {
        GAME.name
    }

    fn sample(&self) -> u64 {
        12
    }

    fn dataset(&self, _: &Header) -> Option<String> {
        Some(format!("pool of {}", GAME.plural))
    }

    fn look(&self, _: &Header, _: &Said) -> Result<Box<dyn Look>> {
        Ok(Box::new(GameKind))
    }

    fn plots(&self) -> Option<Box<dyn ExtraPlots>> {
        Some(Box::new(GamePlots::default()))
    }
}

impl Look for GameKind {
    fn show(&self, batch: &Batch, row: usize) -> Result<Box<dyn Shown>> {
        let failed = |cause: String| Error::data(cause).at(batch.origin.place(row));
        let mut game = Game::default();
        Games::of(&batch.records)?.read(row, &mut game).map_err(failed)?;
        Ok(Box::new(ShownGame::new(game)))
    }
}
