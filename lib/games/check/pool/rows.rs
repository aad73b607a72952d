//! Checks every row of a Macroxue pack, in chunks on all threads. A chunk reads the row before it
//! too; runs that are cut by the ends of chunks are joined in the order of the rows.

use std::ops::Range;
use std::path::Path;

use super::files::{PoolFiles, PoolShards};
use super::runs::{CheckedRun, RunChecker};
use super::steps::{Step, StepLabel, StepRules};
use crate::check::{CheckContext, CheckedChunk, FindingPlace, Findings, Severity};
use crate::error::Result;
use crate::format::pools::Valuations;
use crate::game2048::{RowLayout, StepRow};

/// How many rows a chunk has: 3 MB.
const CHUNK_ROWS: u64 = 1 << 16;

/// Checks all rows and runs; returns the number of runs.
pub(super) fn check(
    directory: &Path,
    files: &PoolFiles,
    (rows, layout): (&PoolShards, RowLayout),
    mut runs: RunChecker,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<u64> {
    let rules = StepRules {
        ours: if files.legal_by_board { Severity::Error } else { Severity::Warning },
        gaps: Severity::Error,
        valuations: files.valuations.as_ref().map(known_ids),
    };
    let of_shortened = StepRules { gaps: Severity::Warning, ..rules.clone() };
    let shortened = runs.shortened().clone();
    let rules_of = |run| if shortened.contains_key(&run) { &of_shortened } else { &rules };
    let at = |run: &CheckedRun| FindingPlace::file(directory).record("run", run.id);
    let mut open: Option<CheckedRun> = None;
    let make_worker =
        || |chunk, findings: &mut Findings<'_>| Ok(look((rows, layout), rules_of, chunk, findings));
    context.check_chunks(chunks(rows).map(Ok), make_worker, findings, |chunk, findings| {
        for run in chunk.summary {
            match &mut open {
                Some(open) if open.id == run.id => open.join(&run),
                _ => {
                    if let Some(ended) = open.replace(run) {
                        runs.close(&ended, at(&ended), findings)?;
                    }
                }
            }
        }
        Ok(())
    })?;
    if let Some(ended) = open {
        runs.close(&ended, at(&ended), findings)?;
    }
    runs.finish(true, findings)
}

/// Returns the valuation ids that have names, up to 255.
fn known_ids(valuations: &Valuations) -> Box<[bool; 256]> {
    let mut known = Box::new([false; 256]);
    for (id, _) in valuations.names() {
        if let Some(known) = usize::try_from(*id).ok().and_then(|id| known.get_mut(id)) {
            *known = true;
        }
    }
    known
}

/// Rows of one shard.
struct Chunk {
    shard: usize,
    rows: Range<u64>,
}

fn chunks(rows: &PoolShards) -> impl Iterator<Item = Chunk> + Send + '_ {
    rows.shards.iter().enumerate().flat_map(|(shard, (_, mapped))| {
        let starts = (0..mapped.rows()).step_by(CHUNK_ROWS as usize);
        starts.map(move |start| Chunk { shard, rows: start..mapped.rows().min(start + CHUNK_ROWS) })
    })
}

/// Checks the rows of a chunk. Its runs are the summary; the first run may have begun in an earlier
/// chunk.
fn look<'a>(
    (rows, layout): (&PoolShards, RowLayout),
    rules_of: impl Fn(u64) -> &'a StepRules,
    chunk: Chunk,
    findings: &mut Findings<'_>,
) -> CheckedChunk<Vec<CheckedRun>> {
    let (path, mapped) = &rows.shards[chunk.shard];
    let mut runs: Vec<CheckedRun> = Vec::new();
    let earlier = before(rows, layout, &chunk).map(|row| (row.run_id, step(&row)));
    let size = rows.row_bytes();
    let (mut run_id, mut rules) = (0, rules_of(0));
    for (number, row) in chunk.rows.clone().zip(layout.rows(mapped.part(chunk.rows.clone()))) {
        let at = FindingPlace::file(path).record("row", number);
        let id = u64::from(row.run_id);
        if run_id != id {
            (run_id, rules) = (id, rules_of(id));
        }
        if row.tile_65536_mask != 0 && !row.packed_board().mask_is_sound() {
            rules.mask(at, row.tile_65536_mask, findings);
        }
        let step = step(&row);
        rules.step(at, StepLabel::None, &step, findings);
        match runs.last_mut().filter(|run| run.id == id) {
            Some(run) => {
                rules.next(at, StepLabel::None, &run.last, &step, findings);
                run.push(&step);
            }
            None => {
                match earlier.as_ref().filter(|(run, _)| runs.is_empty() && *run == row.run_id) {
                    Some((_, before)) => rules.next(at, StepLabel::None, before, &step, findings),
                    None => rules.first(at, StepLabel::None, &step, findings),
                }
                runs.push(CheckedRun::begin(id, &step));
            }
        }
    }
    let records = chunk.rows.end - chunk.rows.start;
    // Mapped memory counts as our memory.
    mapped.release(chunk.rows);
    CheckedChunk { records, bytes: records * size as u64, summary: runs }
}

/// Returns the row before a chunk, in its shard or the shard before.
fn before(rows: &PoolShards, layout: RowLayout, chunk: &Chunk) -> Option<StepRow> {
    let row = match chunk.rows.start.checked_sub(1) {
        Some(number) => rows.shards[chunk.shard].1.row(number),
        None => {
            let earlier = rows.shards[..chunk.shard].iter().rev();
            let filled = earlier.map(|(_, mapped)| mapped).find(|mapped| mapped.rows() > 0);
            filled.and_then(|mapped| mapped.row(mapped.rows() - 1))
        }
    };
    layout.rows(row?).next()
}

#[inline]
fn step(row: &StepRow) -> Step {
    Step {
        step_index: row.step_index,
        board: row.exponents(),
        exact: row.is_exact(),
        board_eval: Some(row.board_eval),
        move_dir: Some(row.move_dir),
        valuation_type: Some(row.valuation_type),
        ev_legal: Some(row.ev_legal),
        max_rank: Some(row.max_rank),
        seed: Some(u64::from(row.seed)),
        branch_evs: row.branch_evs,
        slide: None,
    }
    .slid()
}
