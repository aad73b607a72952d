//! Games as records: those of pools whose rows are no Macroxue rows, and those of streams.

use std::path::Path;

use super::files::Files;
use super::runs::{self, Run, Runs};
use super::steps::{self, Rules, Step, Told};
use crate::check::{At, Context, Findings, Level};
use crate::cli::{Kind, Result};
use crate::format::npy;
use crate::format::pools::Pool;
use crate::game2048::Game;

/// Checks all games of a pool; gives the number of rows.
pub(super) fn check(
    directory: &Path,
    files: &mut Files,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<u64> {
    let Some(rows) = &files.rows else { return Ok(0) };
    let total = rows.shards.iter().map(|(_, mapped)| mapped.rows()).sum();
    let is_v1 = npy::field(&rows.dtype, "exps").is_some();
    let mut runs = Runs::open(directory, false, is_v1, findings)?;
    if !context.selection.wants_contents() {
        files.runs = runs.finish_unseen(findings);
        return Ok(total);
    }
    let mut pool = match Pool::open(directory) {
        Ok(pool) => pool,
        Err(error) if error.kind() == Kind::Data => {
            findings.add(&steps::ROW, At::file(directory), || error.to_string());
            files.runs = runs.finish_unseen(findings);
            return Ok(total);
        }
        // What is wrong with the database has been told.
        Err(_) if findings.count(&runs::DATABASE) > 0 => return Ok(total),
        Err(error) => return Err(error),
    };
    let rules = Rules { ours: Level::Warning, gaps: Level::Warning, valuations: None };
    let mut game = Game::default();
    for position in 0..pool.games() {
        match pool.read(position, &mut game) {
            Ok(()) => {}
            Err(error) if error.kind() == Kind::Data => {
                findings.add(&steps::ROW, At::file(directory), || error.to_string());
                runs.pass(game.run_id);
                continue;
            }
            Err(error) => return Err(error),
        }
        let at = At::file(directory).record("run", game.run_id);
        if let Some(run) = game_steps(&rules, &game, at, findings) {
            runs.close(&run, at, findings);
        }
        context.progress.add(game.steps.len() as u64, 0);
    }
    files.runs = runs.finish(findings);
    Ok(total)
}

/// Checks a game that comes by itself: its steps, and what it says of them.
pub(in crate::check) fn game(game: &Game, at: At<'_>, findings: &mut Findings<'_>) {
    let rules = Rules { ours: Level::Warning, gaps: Level::Warning, valuations: None };
    let run = game_steps(&rules, game, at, findings);
    let told = runs::Told {
        seed: game.seed,
        steps: game.num_moves,
        score: game.score,
        highest_tile: game.max_tile,
    };
    told.compare(run.as_ref(), Level::Error, at, findings);
}

fn game_steps(rules: &Rules, game: &Game, at: At<'_>, findings: &mut Findings<'_>) -> Option<Run> {
    let mut run: Option<Run> = None;
    for position in 0..game.steps.len() {
        let Some(known) = game.steps.get(position) else { break };
        let step = Step {
            step_index: known.step_index,
            board: known.board,
            exact: true,
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
        let told = Told::Step(known.step_index);
        rules.step(at, told, &step, findings);
        match &mut run {
            Some(run) => {
                rules.next(at, told, &run.last, &step, findings);
                run.push(&step);
            }
            None => {
                rules.first(at, told, &step, findings);
                run = Some(Run::begin(game.run_id, &step));
            }
        }
    }
    run
}
