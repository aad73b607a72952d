//! The rules of one game for a sink: what the checks call an error in one record, it refuses.

use std::path::Path;

use super::games::{self, Steps};
use super::{runs, steps};
use crate::check::{At, Findings, Selection};
use crate::error::Result;
use crate::game2048::Game;

/// Refuses games in which the checks would find an error.
pub struct GameGate {
    selection: Selection,
}

impl GameGate {
    pub fn new() -> Result<GameGate> {
        let all = [steps::CHECKS, runs::CHECKS].concat();
        Ok(GameGate { selection: Selection::new(all, Vec::new(), Vec::new(), false)? })
    }

    /// Whether a game may be written; else the cause. Steps that were left out are no error here: the sink
    /// counts such games.
    pub fn check(&self, game: &Game) -> Result<(), String> {
        let checked = self.of(game, Steps::Whole);
        // In records of pools without overflow mask nothing says that their boards end at 32768.
        match checked {
            Err(_) if !is_over_32768(game) => {
                self.of(game, Steps::UpTo32768).and(Ok(())).or(checked)
            }
            _ => checked,
        }
    }

    fn of(&self, game: &Game, steps: Steps) -> Result<(), String> {
        let mut findings = Findings::of_gate(&self.selection);
        games::known(game, steps, At::file(Path::new("")), &mut findings);
        findings.refusal()
    }
}

/// Whether a board has a tile over 32768.
fn is_over_32768(game: &Game) -> bool {
    game.steps.board.iter().any(|board| board.max_rank() > steps::LARGEST)
}
