//! The groups of a build as batches of `puzzle` records, in chunks that threads share. The
//! batches depend only on the source and the range.

use std::ops::{AddAssign, Range};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::{Error, PuzzleGroup, PuzzleSource, SET, Split, expand};
use crate::record::puzzle::{Puzzle, PuzzlesBuilder};
use crate::wording::counted;

/// About how many tokens a batch, and a chunk without its augmentations, has (1 MiB of them).
const BATCH_TOKENS: usize = 1 << 18;

/// Groups that are encoded together.
pub struct GroupChunk {
    /// The build that the first record carries, if it is the first of the whole build.
    build: Option<String>,
    groups: Vec<PuzzleGroup>,
}

/// Returns the groups of a range of 0..`group_count`, in chunks, until the first error.
pub fn chunks(
    source: &PuzzleSource,
    range: Range<u64>,
) -> impl Iterator<Item = Result<GroupChunk, Error>> + Send + '_ {
    let mut build = (range.start == 0).then(|| source.build().to_string());
    let mut next_groups = source.groups(range).peekable();
    std::iter::from_fn(move || {
        let mut groups = Vec::new();
        let mut tokens = 0usize;
        // An error waits until the groups before it are done.
        while tokens < BATCH_TOKENS
            && let Some(Ok(group)) = next_groups.next_if(Result::is_ok)
        {
            let puzzles = usize::try_from(group.num_aug).unwrap_or(usize::MAX).saturating_add(1);
            let each = group.examples.iter().map(|e| e.inputs.len() + e.labels.len());
            tokens = tokens.saturating_add(each.sum::<usize>().saturating_mul(puzzles).max(1));
            groups.push(group);
        }
        if groups.is_empty() {
            return next_groups.next()?.err().map(Err);
        }
        Some(Ok(GroupChunk { build: build.take(), groups }))
    })
}

/// Some of a chunk's records.
pub struct EncodedPuzzles {
    pub records: RecordBatch,
    pub counts: PuzzleCounts,
}

/// The counts of what was made, for train and test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PuzzleCounts {
    pub groups: [u64; 2],
    pub puzzles: [u64; 2],
    pub examples: [u64; 2],
    /// Groups with fewer augmentations than wanted, and how many are missing.
    pub short_groups: u64,
    pub shortfall: u64,
}

impl AddAssign for PuzzleCounts {
    fn add_assign(&mut self, other: PuzzleCounts) {
        for split in 0..2 {
            self.groups[split] += other.groups[split];
            self.puzzles[split] += other.puzzles[split];
            self.examples[split] += other.examples[split];
        }
        self.short_groups += other.short_groups;
        self.shortfall += other.shortfall;
    }
}

impl PuzzleCounts {
    /// `train: 40 groups, 240 puzzles, 800 examples; test: ...`, splits without groups left out.
    pub fn summary(&self) -> String {
        let of_split = |split: Split| {
            let all =
                [(self.groups, "group"), (self.puzzles, "puzzle"), (self.examples, "example")];
            let told = all.map(|(count, what)| counted(count[split as usize], what)).join(", ");
            (self.groups[split as usize] > 0).then(|| format!("{}: {told}", split.name()))
        };
        let splits: Vec<String> = Split::ALL.into_iter().filter_map(of_split).collect();
        if splits.is_empty() { "no groups".to_string() } else { splits.join("; ") }
    }
}

impl GroupChunk {
    /// Calls `send` with the records of the chunk, a batch at a time, until it returns false.
    pub fn encode(self, mut send: impl FnMut(Result<EncodedPuzzles, ArrowError>) -> bool) {
        let mut build = self.build.as_deref();
        let mut builder = PuzzlesBuilder::default();
        let mut counts = PuzzleCounts::default();
        for group in &self.groups {
            let split = group.split as usize;
            let mut expansion = expand(group);
            counts.groups[split] += 1;
            for puzzle in expansion.by_ref() {
                counts.puzzles[split] += 1;
                for example in &puzzle.examples {
                    counts.examples[split] += 1;
                    let record = Puzzle {
                        domain: Some(group.domain.constants().name),
                        split: group.split.name(),
                        set: Some(SET),
                        group: &group.name,
                        puzzle: &puzzle.name,
                        identifier: Some(group.domain.identifier(&puzzle.name)),
                        inputs: &example.inputs,
                        labels: &example.labels,
                        build: build.take(),
                    };
                    if let Err(error) = builder.push(&record) {
                        send(Err(error));
                        return;
                    }
                    if builder.tokens() >= BATCH_TOKENS
                        && !send(take_batch(&mut builder, &mut counts))
                    {
                        return;
                    }
                }
            }
            let shortfall = expansion.shortfall();
            counts.shortfall += shortfall;
            counts.short_groups += u64::from(shortfall > 0);
        }
        send(take_batch(&mut builder, &mut counts));
    }
}

/// Returns the batch and the counts so far; both start again.
fn take_batch(
    builder: &mut PuzzlesBuilder,
    counts: &mut PuzzleCounts,
) -> Result<EncodedPuzzles, ArrowError> {
    Ok(EncodedPuzzles { records: builder.finish()?, counts: std::mem::take(counts) })
}
