//! Every sequence of a prefix, in chunks that the threads share.

use std::os::unix::fs::FileExt;

use byteorder::{ByteOrder, LittleEndian};

use super::frames::Sound;
use super::sequences::{Rules, Sequences};
use crate::check::repeats::{Repeats, hash};
use crate::check::{At, Context, Findings};
use crate::cli::{Error, Flow, Result, ordered_map, shown};
use crate::format::mmidx::Dataset;

/// A chunk has about this many tokens (1 MiB), or one sequence.
const CHUNK_TOKENS: u64 = 1 << 18;
const CHUNK_SEQUENCES: usize = 1 << 14;

/// Some sequences that stand one behind another.
struct Chunk {
    first: u64,
    /// Where they begin, in values.
    start: u64,
    lengths: Vec<i32>,
}

/// Checks all sequences of a prefix, and keeps their hashes: `place` makes of a sequence's number
/// what [`Repeats`] are to know it by. Gives the positions by their span id.
pub(super) fn check(
    sound: &Sound,
    rules: &Rules,
    mut repeats: Option<&mut Repeats>,
    place: impl Fn(u64) -> u64,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<[u64; 256]> {
    let mut counted = [0; 256];
    let Some(tokens) = sound.datasets.first() else { return Ok(counted) };
    let hashed = repeats.is_some();
    let (selection, most) = (context.selection, context.max_findings);
    let progress = &mut *context.progress;
    ordered_map(
        context.jobs,
        Chunks { dataset: tokens, next: 0, start: 0 },
        || {
            let mut worker =
                Worker { sound, sequences: Sequences::new(rules), hashed, bytes: Vec::new() };
            move |chunk: Chunk| worker.check(&chunk, Findings::new(selection, most))
        },
        |looked: Result<Looked<'_>>| {
            let looked = looked?;
            findings.merge(looked.findings);
            for (sum, count) in counted.iter_mut().zip(&looked.spans) {
                *sum += count;
            }
            if let Some(repeats) = &mut repeats {
                for (sequence, hash) in (looked.first..).zip(looked.hashes) {
                    repeats.add(hash, place(sequence))?;
                }
            }
            progress.add(looked.sequences, looked.bytes);
            Ok(Flow::Continue)
        },
    )?;
    Ok(counted)
}

/// The sequences of a dataset, cut into chunks.
struct Chunks<'a> {
    dataset: &'a Dataset,
    next: u64,
    start: u64,
}

impl Iterator for Chunks<'_> {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Result<Chunk>> {
        if self.next >= self.dataset.index.sequences {
            return None;
        }
        let mut lengths = Vec::new();
        if let Err(error) =
            self.dataset.index.read_lengths(self.next, CHUNK_SEQUENCES, &mut lengths)
        {
            return Some(Err(self.dataset.index_error(error)));
        }
        let mut sum = 0u64;
        let ends = lengths.iter().position(|&length| {
            sum += length.max(0) as u64;
            sum >= CHUNK_TOKENS
        });
        if let Some(last) = ends {
            lengths.truncate(last + 1);
        }
        let chunk = Chunk { first: self.next, start: self.start, lengths };
        self.next += chunk.lengths.len() as u64;
        self.start += sum;
        Some(Ok(chunk))
    }
}

/// What was found in a chunk.
struct Looked<'s> {
    findings: Findings<'s>,
    first: u64,
    sequences: u64,
    bytes: u64,
    hashes: Vec<u128>,
    spans: [u64; 256],
}

struct Worker<'a> {
    sound: &'a Sound,
    sequences: Sequences,
    hashed: bool,
    /// Of the tokens, and of the masks where there are any.
    bytes: Vec<Vec<u8>>,
}

impl Worker<'_> {
    fn check<'s>(&mut self, chunk: &Chunk, findings: Findings<'s>) -> Result<Looked<'s>> {
        let values: u64 = chunk.lengths.iter().map(|&length| length.max(0) as u64).sum();
        self.bytes.resize(self.sound.datasets.len(), Vec::new());
        for (dataset, bytes) in self.sound.datasets.iter().zip(&mut self.bytes) {
            let size = dataset.index.dtype.size() as u64;
            bytes.resize((values * size) as usize, 0);
            let read = dataset.bin().read_exact_at(bytes, chunk.start * size);
            read.map_err(|e| Error::io(shown(dataset.bin_path()), &e))?;
        }
        let mut looked = Looked {
            findings,
            first: chunk.first,
            sequences: chunk.lengths.len() as u64,
            bytes: self.bytes.iter().map(|bytes| bytes.len() as u64).sum(),
            hashes: Vec::new(),
            spans: [0; 256],
        };
        let (token_bytes, masks) = match self.bytes.as_slice() {
            [tokens, mask, span] => (tokens, Some((mask, span))),
            [tokens, ..] => (tokens, None),
            [] => return Ok(looked),
        };
        let mut tokens = vec![0i32; values as usize];
        LittleEndian::read_i32_into(token_bytes, &mut tokens);
        if let Some((_, span)) = masks {
            span.iter().for_each(|&id| looked.spans[usize::from(id)] += 1);
        }
        let Some(path) = self.sound.datasets.first().map(Dataset::bin_path) else {
            return Ok(looked);
        };
        let mut start = 0;
        for (sequence, &length) in (chunk.first..).zip(&chunk.lengths) {
            let range = start..start + length.max(0) as usize;
            start = range.end;
            let at = At::file(path).record("sequence", sequence);
            let masks = masks.map(|(mask, span)| (&mask[range.clone()], &span[range.clone()]));
            self.sequences.check(at, &tokens[range.clone()], masks, &mut looked.findings);
            if self.hashed {
                looked.hashes.push(hash(&[&token_bytes[range.start * 4..range.end * 4]]));
            }
        }
        Ok(looked)
    }
}
