//! The rules of one game for a sink: it refuses what the checks call an error in one record.

use std::path::Path;

use super::{games, runs, steps};
use crate::check::{FindingPlace, Findings, Selection};
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

    /// Checks whether a game may be written; the error is the cause. Missing steps are no error
    /// here: the sink counts such games.
    pub fn check(&self, game: &Game) -> Result<(), String> {
        let mut findings = Findings::of_gate(&self.selection);
        games::known(game, FindingPlace::file(Path::new("")), &mut findings);
        findings.refusal()
    }
}
