//! Every row of a Macroxue pack, in chunks that the threads share. A chunk looks at the row before
//! it too; the runs that its ends cut are joined in the order of the rows.

use std::ops::Range;
use std::path::Path;

use super::files::{Files, Rows};
use super::runs::{Run, Runs};
use super::steps::{Rules, Step, Told};
use crate::check::{At, Context, Findings, Level};
use crate::cli::{Error, Flow, Result, ordered_map};
use crate::game2048::{ALIGNED_ROW, PACKED_ROW, StepRow, unpack_is_ambiguous};

/// 3 MB.
const CHUNK_ROWS: u64 = 1 << 16;

/// Checks all rows and runs; gives the number of rows.
pub(super) fn check(
    directory: &Path,
    files: &mut Files,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<u64> {
    let Some(rows) = &files.rows else { return Ok(0) };
    let mut runs = Runs::open(directory, true, true, findings)?;
    let total = rows.shards.iter().map(|(_, mapped)| mapped.rows()).sum();
    if !context.selection.wants_contents() {
        files.runs = runs.finish_unseen(findings);
        return Ok(total);
    }
    let rules = Rules {
        ours: if files.legal_by_board { Level::Error } else { Level::Warning },
        gaps: Level::Error,
        valuations: files.valuations.as_ref().map(|valuations| {
            let mut known = Box::new([false; 256]);
            for (id, _) in valuations.names() {
                if let Some(known) = usize::try_from(*id).ok().and_then(|id| known.get_mut(id)) {
                    *known = true;
                }
            }
            known
        }),
    };
    let (selection, most) = (context.selection, context.max_findings);
    let progress = &mut *context.progress;
    let mut open: Option<Run> = None;
    ordered_map(
        context.jobs,
        chunks(rows).map(Ok::<_, Error>),
        || |chunk: Chunk| look(rows, &rules, chunk, Findings::new(selection, most)),
        |looked: Looked<'_>| {
            findings.merge(looked.findings);
            for run in &looked.runs {
                match &mut open {
                    Some(open) if open.id == run.id => open.join(run),
                    _ => {
                        if let Some(ended) = open.replace(*run) {
                            runs.close(
                                &ended,
                                At::file(directory).record("run", ended.id),
                                findings,
                            );
                        }
                    }
                }
            }
            progress.add(looked.rows, looked.rows * rows.row_bytes() as u64);
            Ok(Flow::Continue)
        },
    )?;
    if let Some(ended) = open {
        runs.close(&ended, At::file(directory).record("run", ended.id), findings);
    }
    files.runs = runs.finish(findings);
    Ok(total)
}

/// Rows of one shard.
struct Chunk {
    shard: usize,
    rows: Range<u64>,
}

fn chunks(rows: &Rows) -> impl Iterator<Item = Chunk> + Send + '_ {
    rows.shards.iter().enumerate().flat_map(|(shard, (_, mapped))| {
        let starts = (0..mapped.rows()).step_by(CHUNK_ROWS as usize);
        starts.map(move |start| Chunk { shard, rows: start..mapped.rows().min(start + CHUNK_ROWS) })
    })
}

struct Looked<'s> {
    findings: Findings<'s>,
    rows: u64,
    /// The runs of the chunk; the first may have begun before it.
    runs: Vec<Run>,
}

fn look<'s>(rows: &Rows, rules: &Rules, chunk: Chunk, mut findings: Findings<'s>) -> Looked<'s> {
    let (path, mapped) = &rows.shards[chunk.shard];
    let mut runs: Vec<Run> = Vec::new();
    let earlier = before(rows, &chunk).map(|row| (row.run_id, step(&row)));
    let size = rows.row_bytes();
    let bytes = mapped.data();
    let count = chunk.rows.end - chunk.rows.start;
    for number in chunk.rows.clone() {
        let at = At::file(path).record("row", number);
        let start = number as usize * size;
        let row = parse(&bytes[start..start + size]);
        if row.tile_65536_mask != 0 && !row.packed_board().mask_is_sound() {
            rules.mask(at, row.tile_65536_mask, &mut findings);
        }
        let step = step(&row);
        rules.step(at, Told::Nothing, &step, &mut findings);
        let id = u64::from(row.run_id);
        match runs.last_mut().filter(|run| run.id == id) {
            Some(run) => {
                rules.next(at, Told::Nothing, &run.last, &step, &mut findings);
                run.push(&step);
            }
            None => {
                match earlier.as_ref().filter(|(run, _)| runs.is_empty() && *run == row.run_id) {
                    Some((_, before)) => {
                        rules.next(at, Told::Nothing, before, &step, &mut findings);
                    }
                    None => rules.first(at, Told::Nothing, &step, &mut findings),
                }
                runs.push(Run::begin(id, &step));
            }
        }
    }
    // What is mapped counts as memory of ours while it is.
    mapped.release(chunk.rows);
    Looked { findings, rows: count, runs }
}

/// The row before a chunk, in its shard or the one before.
fn before(rows: &Rows, chunk: &Chunk) -> Option<StepRow> {
    let row = match chunk.rows.start.checked_sub(1) {
        Some(number) => rows.shards[chunk.shard].1.row(number),
        None => {
            let earlier = rows.shards[..chunk.shard].iter().rev();
            let filled = earlier.map(|(_, mapped)| mapped).find(|mapped| mapped.rows() > 0);
            filled.and_then(|mapped| mapped.row(mapped.rows() - 1))
        }
    };
    row.map(parse)
}

/// A row of 48 or 46 bytes.
#[inline]
fn parse(bytes: &[u8]) -> StepRow {
    if let Ok(bytes) = <&[u8; ALIGNED_ROW]>::try_from(bytes) {
        return StepRow::from_aligned(bytes);
    }
    <&[u8; PACKED_ROW]>::try_from(bytes).map(StepRow::from_packed).unwrap_or_default()
}

#[inline]
fn step(row: &StepRow) -> Step {
    let packed = row.packed_board();
    Step {
        step_index: row.step_index,
        board: row.exponents(),
        exact: (row.tile_65536_mask == 0 || packed.mask_is_sound())
            && !unpack_is_ambiguous(packed, row.max_rank),
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
