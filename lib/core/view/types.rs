//! How records of each type are shown.

use super::page::Extra;
use super::{Seen, Shown, ShownConversation, ShownGame, ShownPuzzle, Viewer, messages, sequence};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::game2048::Game;
use crate::record::conversation::Conversations;
use crate::record::game::Games;
use crate::record::puzzle::Puzzles;
use crate::record::tokens::Tokens;

impl Seen for Tokens<'_> {
    fn show(&self, viewer: &Viewer, batch: &Batch, row: usize) -> Result<Shown> {
        let place = batch.origin.remark(row).map(str::to_string);
        let sequence = sequence::of_tokens(self, row, viewer.alignment, &viewer.spans);
        Ok(Shown::Conversation(ShownConversation { place, ..sequence }))
    }
}

impl Seen for Conversations<'_> {
    fn show(&self, _: &Viewer, _: &Batch, row: usize) -> Result<Shown> {
        let json = self.messages_json(row).unwrap_or("null");
        Ok(Shown::Conversation(messages::of_json(self.id(row), json)))
    }
}

impl Seen for Games<'_> {
    fn show(&self, _: &Viewer, batch: &Batch, row: usize) -> Result<Shown> {
        let failed = |cause: String| Error::data(cause).at(batch.origin.place(row));
        let mut game = Game::default();
        self.read(row, &mut game).map_err(failed)?;
        Ok(Shown::Game(Box::new(ShownGame::new(game))))
    }

    fn add_to(&self, extra: &mut Extra) {
        extra.add_values(self);
    }
}

impl Seen for Puzzles<'_> {
    fn show(&self, viewer: &Viewer, _: &Batch, row: usize) -> Result<Shown> {
        Ok(Shown::Puzzle(ShownPuzzle::of(&self.get(row), viewer.padding)))
    }

    fn add_to(&self, extra: &mut Extra) {
        extra.add_puzzles(self);
    }
}
