//! Compares what a pack states with what is there, before the pack is copied. If rows were lost it is
//! refused; otherwise the copy would look complete.

use super::Pool;
use crate::error::{Error, Result};
use crate::format::metadata_db::RunRow;
use crate::format::pack::MANIFEST;
use crate::game2048::{Board, Direction, RowLayout, RunSummary, StoredGame};
use crate::wording::{exactly, of_plural};

/// The hint of all these errors.
pub(super) const WAY_ON: &str = "ds-check, for all that is wrong";

/// Returns the first statement of `metadata.db` about a run that its rows contradict. The end of a run is not known
/// if steps were left out. `is_hashed`: the bytes of the pack are compared with the hashes in its manifest. Then
/// nothing was lost since it was written, and the game need not be played again (a fifth of the time of a merge).
pub(super) fn contradiction(
    run: Option<&RunRow>,
    game: &StoredGame,
    is_hashed: bool,
) -> Option<String> {
    let Some(run) = run else { return Some("has rows, and is not in metadata.db".to_string()) };
    let there = game.steps() as u64;
    if let Some(stated) = run.steps.filter(|stated| *stated != there) {
        return Some(format!("expected {stated}, got {there}", stated = exactly(stated, "step")));
    }
    if is_hashed || game.game.num_moves.is_some_and(|moves| moves != there) {
        return None;
    }
    let played = summarize(game)?;
    let of_tile = |stated| Some((stated, played.other_highest(stated)?));
    if let Some((stated, highest)) = run.highest_tile.and_then(of_tile) {
        return Some(format!("expected {stated} as its highest tile, got {highest}"));
    }
    let is_compared = |stated: &u64| !played.is_score_of_board(*stated);
    let of_score = |stated| Some((stated, played.other_score(stated)?));
    let (stated, score) = run.max_score.filter(is_compared).and_then(of_score)?;
    Some(format!("expected the score {stated}, got {score}"))
}

/// Summarizes the steps of a game; `None` if there are none.
fn summarize(game: &StoredGame) -> Option<RunSummary> {
    let mut played: Option<RunSummary> = None;
    let mut push = |step_index, board: Board, is_exact: bool, move_dir: Option<u8>| {
        let direction = move_dir.and_then(Direction::from_index);
        let slide = direction.filter(|_| is_exact).map(|direction| board.slide(direction));
        match &mut played {
            Some(played) => played.push(step_index, slide.as_ref()),
            None => played = Some(RunSummary::begin(step_index, &board, slide.as_ref())),
        }
    };
    if let Some(rows) = &game.rows {
        let layout = if rows.is_packed { RowLayout::Packed } else { RowLayout::Aligned };
        for row in rows.parts.iter().flat_map(|part| layout.rows(part)) {
            push(row.step_index, row.exponents(), row.is_exact(), Some(row.move_dir));
        }
        return played;
    }
    for position in 0..game.game.steps.len() {
        let step = game.game.steps.get(position)?;
        // If several cells are over 15, a row does not say which is 17.
        let is_exact =
            !step.board.has_several_large() || step.max_rank.is_some_and(|rank| rank < 17);
        push(step.step_index, step.board, is_exact, step.move_dir);
    }
    played
}

/// Refuses a pool whose manifest counts other rows or runs than exist. (Who opens the pool compares
/// its files.)
pub(super) fn refuse_other_counts(pool: &Pool) -> Result<()> {
    let Some(manifest) = pool.manifest() else { return Ok(()) };
    let counts = [("rows", manifest.rows, pool.steps()), ("runs", manifest.runs, pool.games())];
    match counts.into_iter().find(|(_, stated, there)| stated != there) {
        Some((what, stated, there)) => {
            let path = pool.directory().join(MANIFEST);
            let cause = format!("expected {stated} {}, got {there}", of_plural(stated, what));
            Err(Error::data(cause).at(path.as_path()).hint(WAY_ON))
        }
        None => Ok(()),
    }
}
