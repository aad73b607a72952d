//! Games as records: from pools whose rows are not Macroxue rows, and from streams.

use std::path::Path;

use super::runs::{CheckedRun, DATABASE, RunChecker, RunClaims};
use super::steps::{self, LOST, ROW, Step, StepLabel, StepRules};
use crate::check::{CheckContext, FindingPlace, Findings, Severity};
use crate::error::{Kind, Result};
use crate::format::pools::Pool;
use crate::game2048::Game;

/// Checks all games of a pool; returns the number of runs.
pub(super) fn check(
    directory: &Path,
    mut runs: RunChecker,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<u64> {
    let mut pool = match Pool::open(directory) {
        Ok(pool) => pool,
        Err(error) if error.kind() == Kind::Data => {
            findings.add(&ROW, directory, error);
            return runs.finish(false, findings);
        }
        // The defects of the database have been reported.
        Err(error) if error.kind() == Kind::Usage && findings.has(&DATABASE) => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut game = Game::default();
    for position in 0..pool.games() {
        match pool.read(position, &mut game) {
            Ok(()) => {}
            Err(error) if error.kind() == Kind::Data => {
                findings.add(&ROW, directory, error);
                runs.pass(game.run_id);
                continue;
            }
            Err(error) => return Err(error),
        }
        let at = FindingPlace::file(directory).record("run", game.run_id);
        if let Some(run) = game_steps(&game, pool.loses_large_tiles(), at, findings) {
            runs.close(&run, at, findings)?;
        }
        context.progress.add(game.steps.len() as u64, 0);
    }
    runs.finish(true, findings)
}

/// Checks a game by itself: its steps, and what the game states about them.
pub fn game(game: &Game, at: FindingPlace<'_>, findings: &mut Findings<'_>) {
    let run = game_steps(game, game.lacks_large_tiles(), at, findings);
    RunClaims::from(game).compare(run.as_ref(), Severity::Error, at, findings);
}

/// Checks as [`game`] does, but steps may have been left out: statements about all steps are not
/// compared.
pub(super) fn known(game: &Game, at: FindingPlace<'_>, findings: &mut Findings<'_>) {
    let run = game_steps(game, game.lacks_large_tiles(), at, findings);
    let claims = RunClaims::from(game);
    let there = game.steps.len() as u64;
    let claims = match claims.steps.is_some_and(|stated| stated != there) {
        true => RunClaims { seed: claims.seed, ..RunClaims::default() },
        false => claims,
    };
    claims.compare(run.as_ref(), Severity::Error, at, findings);
}

/// Checks the steps of a game. `loses_large_tiles`: the pool stores a tile over 2^15 as 2^15 (or several
/// such tiles as 2^16). After such a tile the boards are not those that were played, and only rules
/// without boards are checked.
fn game_steps(
    game: &Game,
    loses_large_tiles: bool,
    at: FindingPlace<'_>,
    findings: &mut Findings<'_>,
) -> Option<CheckedRun> {
    let mut is_lost = false;
    let rules = StepRules { ours: Severity::Warning, gaps: Severity::Warning, valuations: None };
    let mut run: Option<CheckedRun> = None;
    for position in 0..game.steps.len() {
        let Some(known) = game.steps.get(position) else { break };
        let step = Step {
            step_index: known.step_index,
            board: known.board,
            exact: !(is_lost || loses_large_tiles && known.board.has_several_large()),
            board_eval: known.board_eval,
            move_dir: known.move_dir,
            valuation_type: None,
            ev_legal: known.ev_legal,
            max_rank: known.max_rank,
            seed: known.seed,
            branch_evs: known.branch_evs.map(Option::unwrap_or_default),
            slide: None,
        }
        .slid();
        let before = run.as_ref().map(|run| &run.last);
        let step = if loses_large_tiles && !is_lost && steps::is_past_32768(before, &step) {
            is_lost = true;
            let message = format_args!(
                "from step {} on: its boards do not say which tiles are over 32768",
                known.step_index
            );
            findings.add(&LOST, at, message);
            Step { exact: false, ..step }
        } else {
            step
        };
        let label = StepLabel::Step(known.step_index);
        rules.step(at, label, &step, findings);
        match &mut run {
            Some(run) => {
                rules.next(at, label, &run.last, &step, findings);
                run.push(&step);
            }
            None => {
                rules.first(at, label, &step, findings);
                run = Some(CheckedRun::begin(game.run_id, &step));
            }
        }
    }
    run
}
