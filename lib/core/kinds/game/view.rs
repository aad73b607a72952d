//! How games are shown.

use crate::batch::{Batch, Header};
use crate::error::{Error, Result};
use crate::game2048::Game;
use crate::record::GAME;
use crate::record::game::Games;
use crate::view::{ExtraPlots, RecordView, ShownGame, ShownRecord, Viewer};

impl RecordView for Games<'_> {
    const SAMPLE: u64 = 12;

    fn dataset(_: &Header) -> Option<String> {
        Some(format!("pool of {}", GAME.plural))
    }

    fn show(&self, _: &Viewer, batch: &Batch, row: usize) -> Result<ShownRecord> {
        let failed = |cause: String| Error::data(cause).at(batch.origin.place(row));
        let mut game = Game::default();
        self.read(row, &mut game).map_err(failed)?;
        Ok(ShownRecord::Game(Box::new(ShownGame::new(game))))
    }

    fn add_to(&self, extra: &mut ExtraPlots) {
        extra.add_values(self);
    }
}
