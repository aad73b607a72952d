//! The groups of a build as batches of `puzzle` records, in chunks that threads share. What the
//! batches hold depends on the source and the range alone.

use std::ops::{AddAssign, Range};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use serde_json::Value;

use super::{Error, Group, PuzzleRecord, Source, Split, expand};
use crate::record::puzzle::{Puzzle, PuzzlesBuilder};

/// A batch, and a chunk without its augmentations, is about this many tokens (1 MiB of them).
const BATCH_TOKENS: usize = 1 << 18;

/// Groups that are encoded together.
pub struct Chunk {
    /// What the first record carries, where it is the first of the whole build.
    build: Option<String>,
    groups: Vec<Group>,
}

/// The groups of a range of 0..len, in chunks, until the first error.
pub fn chunks(
    source: &dyn Source,
    range: Range<u64>,
) -> impl Iterator<Item = Result<Chunk, Error>> + Send + '_ {
    let first = range.start == 0;
    let mut build = first.then(|| Value::Object(source.build()).to_string());
    let mut groups = source.groups(range);
    let mut failed = None;
    std::iter::from_fn(move || {
        if let Some(error) = failed.take() {
            return Some(Err(error));
        }
        let mut chunk = Chunk { build: None, groups: Vec::new() };
        let mut tokens = 0;
        while tokens < BATCH_TOKENS {
            match groups.next() {
                None => break,
                Some(Err(error)) if chunk.groups.is_empty() => return Some(Err(error)),
                Some(Err(error)) => {
                    failed = Some(error);
                    break;
                }
                Some(Ok(group)) => {
                    let puzzles = usize::try_from(group.num_aug).unwrap_or(usize::MAX);
                    let each = group.examples.iter().map(|e| e.inputs.len() + e.labels.len());
                    let of_group = each.sum::<usize>().saturating_mul(puzzles.saturating_add(1));
                    tokens = tokens.saturating_add(of_group.max(1));
                    chunk.groups.push(group);
                }
            }
        }
        if chunk.groups.is_empty() {
            return None;
        }
        chunk.build = build.take();
        Some(Ok(chunk))
    })
}

/// Some of a chunk's records.
pub struct Encoded {
    pub records: RecordBatch,
    pub counts: Counts,
}

/// What was made, train and test apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub groups: [u64; 2],
    pub puzzles: [u64; 2],
    pub examples: [u64; 2],
    /// Groups with fewer augmentations than wanted, and how many are missing.
    pub short_groups: u64,
    pub shortfall: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        for split in 0..2 {
            self.groups[split] += other.groups[split];
            self.puzzles[split] += other.puzzles[split];
            self.examples[split] += other.examples[split];
        }
        self.short_groups += other.short_groups;
        self.shortfall += other.shortfall;
    }
}

impl Chunk {
    /// Hands the records of the chunk to `send`, a batch at a time, until it says false.
    pub fn encode(self, mut send: impl FnMut(Result<Encoded, ArrowError>) -> bool) {
        let Chunk { mut build, groups } = self;
        let mut builder = PuzzlesBuilder::default();
        let mut counts = Counts::default();
        for group in &groups {
            let split = group.split as usize;
            let mut expansion = expand(group);
            let mut puzzle = String::new();
            counts.groups[split] += 1;
            for record in expansion.by_ref() {
                counts.examples[split] += 1;
                counts.puzzles[split] += u64::from(record.puzzle != puzzle);
                if let Err(error) = builder.push(&travelling(&record, build.take().as_deref())) {
                    send(Err(error));
                    return;
                }
                if builder.tokens() >= BATCH_TOKENS && !send(finished(&mut builder, &mut counts)) {
                    return;
                }
                puzzle = record.puzzle;
            }
            let shortfall = expansion.shortfall();
            counts.shortfall += shortfall;
            counts.short_groups += u64::from(shortfall > 0);
        }
        send(finished(&mut builder, &mut counts));
    }
}

/// What has been built and counted so far; both begin anew.
fn finished(builder: &mut PuzzlesBuilder, counts: &mut Counts) -> Result<Encoded, ArrowError> {
    Ok(Encoded { records: builder.finish()?, counts: std::mem::take(counts) })
}

fn travelling<'a>(record: &'a PuzzleRecord, build: Option<&'a str>) -> Puzzle<'a> {
    Puzzle {
        domain: Some(record.domain),
        split: record.split.name(),
        set: Some(record.set),
        group: &record.group,
        puzzle: &record.puzzle,
        identifier: Some(&record.identifier),
        inputs: &record.inputs,
        labels: &record.labels,
        build,
    }
}

impl Counts {
    /// `train: 40 groups, 240 puzzles, 800 examples; test: ...`, splits without groups left out.
    pub fn summary(&self) -> String {
        let part = |split: Split| {
            let [groups, puzzles, examples] =
                [self.groups, self.puzzles, self.examples].map(|count| count[split as usize]);
            let name = split.name();
            (groups > 0)
                .then(|| format!("{name}: {groups} groups, {puzzles} puzzles, {examples} examples"))
        };
        let parts: Vec<String> = [Split::Train, Split::Test].into_iter().filter_map(part).collect();
        if parts.is_empty() { "no groups".to_string() } else { parts.join("; ") }
    }
}
