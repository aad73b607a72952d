//! Checks every sequence of a prefix, in chunks on all threads.

use std::iter::Empty;
use std::os::unix::fs::FileExt;
use std::slice;

use super::frames::ValidPrefix;
use super::sequences::{SequenceChecker, SequenceRules};
use crate::check::repeats::{Repeats, hash};
use crate::check::{CheckContext, CheckedChunk, FindingPlace, Findings};
use crate::error::{At, Error, Result};
use crate::format::kd_root::{IdsFile, count_spans};
use crate::format::mmidx::{MmidxDataset, MmidxDtype};

/// About how many tokens a chunk has (1 MiB), unless one sequence has more.
const CHUNK_TOKENS: u64 = 1 << 18;
const CHUNK_SEQUENCES: usize = 1 << 14;

/// Consecutive sequences.
struct Chunk {
    first: u64,
    /// The offset of the first one, in values.
    start: u64,
    lengths: Vec<i32>,
}

/// Checks all sequences of a prefix, which is number `number` of its set and has these segments, and adds their hashes
/// to `repeats`. Returns the number of positions by span id.
pub(super) fn check(
    prefix: &ValidPrefix,
    (number, ids): (usize, Option<&IdsFile>),
    rules: &SequenceRules,
    mut repeats: Option<&mut Repeats>,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<[u64; 256]> {
    let mut spans = [0; 256];
    let Some(tokens) = prefix.datasets.first() else { return Ok(spans) };
    let chunks = Chunks { dataset: tokens, next: 0, start: 0 };
    let hashed = repeats.is_some();
    let make_worker = || {
        let checker = SequenceChecker::new(rules);
        let (bytes, values) = (Vec::new(), Vec::new());
        let mut worker = ChunkReader { prefix, tokens, ids, checker, hashed, bytes, values };
        move |chunk: Chunk, findings: &mut Findings<'_>| worker.check(&chunk, findings)
    };
    context.check_chunks(chunks, make_worker, findings, |chunk, _| {
        let summary: ChunkSummary = chunk.summary;
        spans.iter_mut().zip(&summary.spans).for_each(|(sum, count)| *sum += count);
        match &mut repeats {
            Some(repeats) => repeats.extend(&summary.hashes, number, summary.first),
            None => Ok(()),
        }
    })?;
    Ok(spans)
}

/// The sequences of a dataset, cut into chunks.
struct Chunks<'a> {
    dataset: &'a MmidxDataset,
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
        let read = self.dataset.index.read_lengths(self.next, CHUNK_SEQUENCES, &mut lengths);
        if let Err(error) = read {
            return Some(Err(Error::io(self.dataset.idx_path(), &error)));
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

struct ChunkSummary {
    first: u64,
    hashes: Vec<u128>,
    /// The number of positions by span id.
    spans: [u64; 256],
}

/// Reads chunks and checks their sequences; each thread has one.
struct ChunkReader<'a> {
    prefix: &'a ValidPrefix,
    tokens: &'a MmidxDataset,
    /// The ids file, if it has the segments.
    ids: Option<&'a IdsFile>,
    checker: SequenceChecker,
    hashed: bool,
    /// The bytes of the tokens, and of the masks if there are any.
    bytes: Vec<Vec<u8>>,
    /// The tokens.
    values: Vec<i32>,
}

impl ChunkReader<'_> {
    fn check(
        &mut self,
        chunk: &Chunk,
        findings: &mut Findings<'_>,
    ) -> Result<CheckedChunk<ChunkSummary>> {
        let values: u64 = chunk.lengths.iter().map(|&length| length.max(0) as u64).sum();
        self.bytes.resize(self.prefix.datasets.len(), Vec::new());
        for (dataset, bytes) in self.prefix.datasets.iter().zip(&mut self.bytes) {
            let size = dataset.index.dtype.size() as u64;
            bytes.resize((values * size) as usize, 0);
            let read = dataset.bin().read_exact_at(bytes, chunk.start * size);
            read.at(dataset.bin_path())?;
        }
        let (token_bytes, masks): (&[u8], _) = match self.bytes.as_slice() {
            [tokens, mask, span] => (tokens, Some((mask, span))),
            [tokens, ..] => (tokens, None),
            [] => (&[], None),
        };
        let size = self.tokens.index.dtype.size();
        self.values.clear();
        if self.tokens.index.dtype == MmidxDtype::UInt16 {
            let token = |bytes: &[u8; 2]| i32::from(u16::from_le_bytes(*bytes));
            self.values.extend(token_bytes.as_chunks().0.iter().map(token));
        } else {
            let token = |bytes: &[u8; 4]| i32::from_le_bytes(*bytes);
            self.values.extend(token_bytes.as_chunks().0.iter().map(token));
        }
        let tokens = &self.values;
        let mut summary = ChunkSummary { first: chunk.first, hashes: Vec::new(), spans: [0; 256] };
        if let Some((_, span)) = masks {
            count_spans(span, &mut summary.spans);
        }
        let end = chunk.first + chunk.lengths.len() as u64;
        let rows = self.ids.map(|ids| ids.read(slice::from_ref(&(chunk.first..end))));
        let mut rows = rows.transpose()?;
        let mut start = 0;
        for (sequence, &length) in (chunk.first..).zip(&chunk.lengths) {
            let range = start..start + length.max(0) as usize;
            start = range.end;
            let at = FindingPlace::file(self.tokens.bin_path()).record("sequence", sequence);
            let masks = masks.map(|(mask, span)| (&mask[range.clone()], &span[range.clone()]));
            let (checker, own) = (&mut self.checker, &tokens[range.clone()]);
            match &mut rows {
                Some(rows) => rows.next(|columns, row| {
                    checker.check(at, own, masks, columns.segments(row), findings);
                })?,
                None => checker.check(at, own, masks, None::<Empty<_>>, findings),
            }
            if self.hashed {
                summary.hashes.push(hash(&[&token_bytes[range.start * size..range.end * size]]));
            }
        }
        let bytes = self.bytes.iter().map(|bytes| bytes.len() as u64).sum();
        Ok(CheckedChunk { records: chunk.lengths.len() as u64, bytes, summary })
    }
}
