//! Which rows belong to which run. One pass counts the rows, with a few bytes of memory for each run. If
//! rows of several runs are interleaved, another pass over that part of the pool gathers the rows of a
//! group of runs.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::columns::Number;
use crate::error::{At, Error, Result, shown};
use crate::npy::{DType, MappedArray};

/// How many rows are gathered in one pass, at eight bytes each; a larger run is a group of its own.
const GROUP: u64 = 1 << 20;

/// How many rows are in memory in one pass over them.
const SCANNED: u64 = 1 << 16;

/// The rows of all shards, with one numbering.
#[derive(Debug)]
pub(super) struct Rows {
    shards: Vec<Shard>,
    row_bytes: usize,
    total: u64,
}

#[derive(Debug)]
struct Shard {
    path: PathBuf,
    mapped: MappedArray,
    start: u64,
}

impl Rows {
    /// Maps the shards; returns them and the type of their rows, which must be the same in all.
    pub fn open(paths: &[PathBuf]) -> Result<(Rows, DType)> {
        let mut rows = Rows { shards: Vec::new(), row_bytes: 0, total: 0 };
        let mut dtype: Option<DType> = None;
        for path in paths {
            let mapped = map(path)?;
            let header = mapped.header();
            if header.shape.len() != 1 {
                let shape = &header.shape;
                return Err(Error::data(format!("shape {shape:?}, no rows")).at(shown(path)));
            }
            if dtype.get_or_insert_with(|| header.dtype.clone()) != &header.dtype {
                let first = rows.shards.first().map(|shard| shown(&shard.path));
                let first = first.unwrap_or_default();
                return Err(Error::data(format!("its rows differ from {first}")).at(shown(path)));
            }
            rows.row_bytes = mapped.row_bytes();
            let start = rows.total;
            rows.total += mapped.rows();
            rows.shards.push(Shard { path: path.clone(), mapped, start });
        }
        dtype.map(|dtype| (rows, dtype)).ok_or_else(|| Error::usage("no files of rows"))
    }

    pub fn len(&self) -> u64 {
        self.total
    }

    fn shard_of(&self, row: u64) -> Option<&Shard> {
        self.shards[..self.shards.partition_point(|shard| shard.start <= row)].last()
    }

    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Returns the bytes of a row; none past the end.
    pub fn row(&self, row: u64) -> &[u8] {
        let shard = self.shard_of(row);
        shard.and_then(|shard| shard.mapped.row(row - shard.start)).unwrap_or_default()
    }

    /// Returns the bytes of the rows of a range, shard by shard.
    pub fn parts(&self, range: Range<u64>) -> impl Iterator<Item = &[u8]> {
        self.overlaps(range).map(|(shard, rows)| shard.mapped.part(rows))
    }

    /// Returns the bytes of the rows of a range, shard by shard; they keep their files mapped.
    pub fn shared(&self, range: Range<u64>) -> Vec<Bytes> {
        self.overlaps(range).map(|(shard, rows)| shard.mapped.share(rows)).collect()
    }

    /// Returns the shards that hold rows of a range, each with the numbers of these rows in it.
    fn overlaps(&self, range: Range<u64>) -> impl Iterator<Item = (&Shard, Range<u64>)> {
        self.shards.iter().filter_map(move |shard| {
            let end = shard.start + shard.mapped.rows();
            let part = range.start.clamp(shard.start, end)..range.end.clamp(shard.start, end);
            (!part.is_empty()).then(|| (shard, part.start - shard.start..part.end - shard.start))
        })
    }

    /// Returns a row's place for messages: its file, and its number there, from 0.
    pub fn place(&self, row: u64) -> String {
        match self.shard_of(row) {
            Some(shard) => format!("{}: row {}", shown(&shard.path), row - shard.start),
            None => format!("row {row}"),
        }
    }

    /// Calls `f` with the rows of a range, in order.
    fn scan<E>(
        &self,
        range: Range<u64>,
        mut f: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for (shard, rows) in self.overlaps(range) {
            for first in rows.clone().step_by(SCANNED as usize) {
                let part = first..rows.end.min(first + SCANNED);
                let chunks = shard.mapped.part(part.clone()).chunks_exact(self.row_bytes.max(1));
                let numbers = shard.start + part.start..shard.start + part.end;
                numbers.zip(chunks).try_for_each(|(number, row)| f(number, row))?;
                shard.mapped.release(part);
            }
        }
        Ok(())
    }

    /// Releases the memory of some rows, see [`MappedArray::release`].
    pub fn release(&self, range: Range<u64>) {
        self.overlaps(range).for_each(|(shard, rows)| shard.mapped.release(rows));
    }
}

fn map(path: &Path) -> Result<MappedArray> {
    let file = crate::files::open_member(path).at(path)?;
    MappedArray::open(&file).map_err(|error| Error::from(error).at(path))
}

/// A run: how many rows it has, and where its first and last row are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub id: u64,
    pub rows: u64,
    first: u64,
    last: u64,
}

impl Run {
    pub fn empty(id: u64) -> Run {
        Run { id, rows: 0, first: 0, last: 0 }
    }

    /// Makes a run whose rows are adjacent.
    pub fn together(id: u64, first: u64, rows: u64) -> Run {
        Run { id, rows, first, last: (first + rows).saturating_sub(1) }
    }

    /// Returns all rows from its first to its last.
    pub fn all(&self) -> Vec<u64> {
        if self.rows == 0 { Vec::new() } else { (self.first..=self.last).collect() }
    }

    /// Returns its rows, if no rows of other runs are between them.
    pub fn range(&self) -> Option<Range<u64>> {
        let range = self.first..self.last + 1;
        (self.rows > 0 && self.last - self.first + 1 == self.rows).then_some(range)
    }
}

/// Whether runs have the rows that are stated for them, if they are stated to follow each other from the
/// first row to the last: then counting would find the same.
pub(super) fn are_there(rows: &Rows, run_id: Number, runs: &[Run]) -> bool {
    let has_its_rows = |run: &Run| {
        let Some(range) = run.range() else { return run.rows == 0 };
        let mut parts = rows.parts(range.clone());
        let all = parts.all(|part| run_id.is_everywhere(run.id, part, rows.row_bytes));
        rows.release(range);
        all
    };
    runs.iter().all(has_its_rows)
}

/// Counts the rows of each run; returns runs by ascending id.
pub(super) fn count(rows: &Rows, run_id: Number) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut positions: HashMap<u64, usize> = HashMap::new();
    let mut current: Option<usize> = None;
    rows.scan(0..rows.len(), |number, row| -> Result<()> {
        let id = run_id
            .unsigned(row)
            .ok_or_else(|| Error::data("its run_id is negative").at(rows.place(number)))?;
        let position = match current.filter(|&position| runs[position].id == id) {
            Some(position) => position,
            None => *positions.entry(id).or_insert_with(|| {
                runs.push(Run { first: number, ..Run::empty(id) });
                runs.len() - 1
            }),
        };
        current = Some(position);
        runs[position].rows += 1;
        runs[position].last = number;
        Ok(())
    })?;
    drop(positions);
    runs.sort_unstable_by_key(|run| run.id);
    Ok(runs)
}

/// Gathers the rows of runs that are requested in order.
#[derive(Debug, Default)]
pub(super) struct Gather {
    /// The position of the first run in `waiting`.
    position: usize,
    waiting: VecDeque<Vec<u64>>,
}

impl Gather {
    /// Returns the rows of the run at `position`, in their order in the pool.
    pub fn rows_of(&mut self, rows: &Rows, id: Number, runs: &[Run], position: usize) -> Vec<u64> {
        let Some(run) = runs.get(position) else { return Vec::new() };
        if run.rows == 0 {
            return Vec::new();
        }
        if let Some(range) = run.range() {
            return range.collect();
        }
        while self.position < position && self.waiting.pop_front().is_some() {
            self.position += 1;
        }
        if self.position != position || self.waiting.is_empty() {
            self.fill(rows, id, runs, position);
        }
        self.position = position + 1;
        self.waiting.pop_front().unwrap_or_default()
    }

    /// Gathers the rows of the run at `position` and of later runs of the group.
    fn fill(&mut self, rows: &Rows, id: Number, runs: &[Run], position: usize) {
        let mut wanted = 0;
        let scattered = |run: &&Run| run.rows > 0 && run.range().is_none();
        let group = runs[position..].iter().take_while(|run| {
            let gathered = if scattered(run) { run.rows } else { 0 };
            let fits = wanted == 0 || wanted + gathered <= GROUP;
            wanted += gathered;
            fits
        });
        let group = &runs[position..position + group.count()];
        self.position = position;
        let room = |run: &Run| if scattered(&run) { run.rows as usize } else { 0 };
        self.waiting = group.iter().map(|run| Vec::with_capacity(room(run))).collect();
        let first = group.iter().filter(scattered).map(|run| run.first).min().unwrap_or(0);
        let end = group.iter().filter(scattered).map(|run| run.last + 1).max().unwrap_or(0);
        let waiting = &mut self.waiting;
        let mut current = 0;
        let _: Result<(), ()> = rows.scan(first..end, |number, row| {
            let found = id.unsigned(row).and_then(|id| {
                if group[current].id == id {
                    return Some(current);
                }
                group.binary_search_by_key(&id, |run| run.id).ok()
            });
            if let Some(found) = found {
                current = found;
                if scattered(&&group[found]) {
                    waiting[found].push(number);
                }
            }
            Ok(())
        });
    }
}
