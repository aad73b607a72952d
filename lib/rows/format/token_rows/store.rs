//! The sequences from which pieces are taken, in any order: triples on disk, or a window of records.

use std::io;
use std::iter::Empty;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use byteorder::{ByteOrder, LittleEndian};

use super::manifest::RowsInput;
use super::sample::sample;
use super::segments::SegmentStore;
use crate::cli::RejectedContent;
use crate::digest::sha256_of;
use crate::error::{At, Error, Place, Position, Result, shown};
use crate::files::{self, changed, open_member};
use crate::format::kd_root::{IdRows, IdsFile, KdListing, find_ids};
use crate::format::mmidx::{MmidxDataset, MmidxDtype, PrefixLayout, check_aligned};
use crate::model::Vocabulary;
use crate::record::tokens::Segment;
use crate::tokenizer::EOD;
use crate::wording::exactly;

/// What a sequence on disk must satisfy: its tokens, its masks, and its messages, if they are kept beside it. Returns
/// the cause if it does not.
pub type SequenceRule =
    Box<dyn FnMut(&[i32], (&[u8], &[u8]), Option<Vec<Segment<'_>>>) -> Result<(), String> + Send>;

/// Makes the rule; each thread has its own.
pub type MakeSequenceRule<'a> = &'a (dyn Fn() -> Result<SequenceRule> + Sync);

/// Sequences by their number. Ranges of positions must be inside the sequence.
pub trait Sequences: Sync {
    /// Appends tokens.
    fn tokens(&self, sequence: u64, range: Range<u32>, into: &mut Vec<i32>) -> Result<()>;

    /// Appends masks, 1 where the label of the position is trained on, and span ids if `spans` is
    /// given.
    fn masks(
        &self,
        sequence: u64,
        range: Range<u32>,
        mask: &mut Vec<u8>,
        spans: Option<&mut Vec<u8>>,
    ) -> Result<()>;

    /// Returns the messages, if the tokens do not show them and they are kept.
    fn segments(&self, _sequence: u64) -> Option<Vec<Segment<'_>>> {
        None
    }

    /// Whether there are messages of any sequence.
    fn has_segments(&self) -> bool {
        false
    }

    /// Returns the id, if ids are kept.
    fn id(&self, sequence: u64) -> Option<&str>;

    /// Returns the ids of ascending sequences, even if they are only on disk.
    fn ids_of(&self, sequences: &[u64]) -> Result<Vec<Option<String>>> {
        Ok(sequences.iter().map(|&sequence| self.id(sequence).map(str::to_string)).collect())
    }

    /// Returns the place of the sequence, for messages.
    fn place(&self, sequence: u64) -> Place;

    /// Returns the sequence for the rejects; a sequence on disk stays there.
    fn rejected(&self, _sequence: u64) -> RejectedContent {
        RejectedContent::Nothing
    }
}

/// Returns the error for a sequence that lacks the end of document which is to be left out.
pub(super) fn no_end(place: &Place) -> Error {
    Error::data(no_end_in_words()).at(place).hint(OF_MODEL)
}

/// Returns the cause if the tokens of a document, without its end, contain an end of document.
pub(super) fn end_inside(tokens: &[i32]) -> Option<String> {
    // (All of them are searched first: the processor does many at once.)
    let place = tokens.contains(&EOD).then(|| tokens.iter().position(|&token| token == EOD))??;
    Some(format!("token {place} is <|endoftext|> ({EOD}), but the sequence goes on"))
}

/// Returns the error for a sequence for which [`end_inside`] has a cause.
pub(super) fn not_at_end(cause: String, place: &Place) -> Error {
    Error::data(cause).at(place).hint(OF_MODEL)
}

pub(super) fn no_end_in_words() -> String {
    format!("does not end in <|endoftext|> ({EOD})")
}

/// What helps where tokens are not as o200k's.
pub(super) const OF_MODEL: &str = "--model DIR, if they are tokens of another model";

/// Returns the cause if a token is not in the vocabulary.
pub(super) fn outside(tokens: &[i32], vocabulary: Vocabulary) -> Option<String> {
    // (As unsigned numbers, negative tokens are larger than all others, and the processor finds the
    // largest of many at once.)
    let size = vocabulary.size().unwrap_or(i32::MAX);
    let largest = tokens.iter().fold(0, |largest, &token| largest.max(token as u32));
    let is_outside = |&token: &i32| !(0..size).contains(&token);
    let at = (largest >= size as u32).then(|| tokens.iter().position(is_outside))??;
    Some(format!("expected tokens from 0 to {}, got {}", size - 1, tokens[at]))
}

/// Returns the cause for a wrong value of a loss mask.
pub(super) fn wrong_mask(value: u8) -> String {
    format!("a loss mask of {value}, not 0 or 1")
}

/// The index of the first value of each sequence, by its number, if the values of all sequences stand one
/// after another.
pub(super) type Starts = Vec<u64>;

/// Texts by number; many are in one allocation.
#[derive(Debug, Default)]
pub(super) struct Ids {
    text: String,
    ends: Vec<(usize, bool)>,
}

impl Ids {
    pub fn push(&mut self, id: Option<&str>) {
        self.text.push_str(id.unwrap_or_default());
        self.ends.push((self.text.len(), id.is_some()));
    }

    pub fn get(&self, number: usize) -> Option<&str> {
        let &(end, is_some) = self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before].0);
        is_some.then(|| &self.text[start..end])
    }
}

/// Triples on disk, with one numbering. Each sequence takes 12 bytes of memory.
pub struct PrefixStore {
    /// The number of the first sequence, the path and the datasets of each prefix.
    prefixes: Vec<(u64, PathBuf, [MmidxDataset; 3])>,
    /// The length of each sequence in tokens, with its end of document.
    pub lengths: Vec<u32>,
    starts: Starts,
    ids: Option<Ids>,
    segments: Option<SegmentStore>,
}

/// How many lengths, and offsets, are read of an `.idx` at once.
const BLOCK: usize = 1 << 16;

impl PrefixStore {
    /// Opens a path: a split, a folder of triples, or a prefix. The last argument says whether the ids, and the messages
    /// that stand beside them, are kept.
    pub fn open(paths: &[PathBuf], (with_ids, with_segments): (bool, bool)) -> Result<PrefixStore> {
        let mut prefixes = Vec::new();
        for path in paths {
            let listing = KdListing::of(path)?.ok_or_else(|| {
                Error::usage("no triples are there (*_tokens.idx)").at(path.as_path())
            })?;
            listing.confirm()?;
            refuse_splits(path, &listing)?;
            for prefix in listing.prefixes {
                if prefix.layout != PrefixLayout::Triple {
                    let cause = "has no masks (_lossmask, _span): rows have labels";
                    return Err(Error::usage(cause).at(prefix.path.as_path()));
                }
                prefixes.push(prefix.path);
            }
        }
        let ids = with_ids.then(Ids::default);
        let segments = with_segments.then(SegmentStore::default);
        let (lengths, starts) = (Vec::new(), Vec::new());
        let mut store = PrefixStore { prefixes: Vec::new(), lengths, starts, ids, segments };
        prefixes.into_iter().try_for_each(|prefix| store.add(prefix))?;
        Ok(store)
    }

    fn add(&mut self, prefix: PathBuf) -> Result<()> {
        let datasets = PrefixLayout::Triple.open(&prefix)?;
        let Ok(datasets) = <[MmidxDataset; 3]>::try_from(datasets) else { return Ok(()) };
        let first = self.lengths.len() as u64;
        check_aligned(&datasets)?;
        let tokens = &datasets[0];
        let sequences = tokens.index.sequences;
        self.lengths.reserve(sequences as usize);
        let mut start = 0u64;
        let mut lengths = Vec::new();
        for block in (0..sequences).step_by(BLOCK) {
            tokens.index.read_lengths(block, BLOCK, &mut lengths).at(tokens.idx_path())?;
            let before = start;
            for &length in &lengths {
                let length = u32::try_from(length).map_err(|_| {
                    Error::data(format!("a length of {length}")).at(tokens.idx_path())
                })?;
                self.lengths.push(length);
                self.starts.push(start);
                start += u64::from(length);
            }
            datasets
                .iter()
                .try_for_each(|dataset| one_after_another(dataset, block, before, &lengths))?;
        }
        for dataset in &datasets {
            let needed = start.saturating_mul(dataset.index.dtype.size() as u64);
            if dataset.bin_bytes() < needed {
                let cause = format!(
                    "has {}; its index needs {needed}",
                    exactly(dataset.bin_bytes(), "byte")
                );
                return Err(Error::data(cause).at(dataset.bin_path()));
            }
        }
        let file = match self.ids.is_some() || self.segments.is_some() {
            true => find_ids(&prefix)?.map(|path| IdsFile::open(&path)?.of_sequences(sequences)),
            false => None,
        };
        let file = file.transpose()?;
        if self.ids.is_some() && file.is_none() {
            let cause = "has no ids file, so rows cannot have ids";
            return Err(Error::usage(cause).at(prefix.as_path()));
        }
        let own = &self.lengths[first as usize..];
        match file.filter(|file| self.ids.is_some() || file.has_segments()) {
            Some(file) => {
                let mut rows: IdRows = file.read(std::slice::from_ref(&(0..sequences)))?;
                for &length in own {
                    let length = i32::try_from(length).unwrap_or(i32::MAX);
                    rows.next_of(length, |columns, row| {
                        let ids = self.ids.iter_mut();
                        ids.for_each(|ids| ids.push(columns.identity(row).id));
                        let segments = self.segments.iter_mut();
                        segments.for_each(|segments| segments.push(columns.segments(row)));
                    })?;
                }
            }
            None => {
                let segments = self.segments.iter_mut();
                segments.for_each(|s| own.iter().for_each(|_| s.push(None::<Empty<_>>)));
            }
        }
        self.prefixes.push((first, prefix, datasets));
        Ok(())
    }

    pub fn sequences(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// Checks every `step`-th sequence; returns the first non-empty one that does not end in the
    /// end of a document.
    pub fn without_end(&self, sequences: Range<u64>, step: usize) -> Result<Option<u64>> {
        let mut token = Vec::new();
        for sequence in sequences.step_by(step) {
            let length = self.lengths[sequence as usize];
            token.clear();
            if length > 0 {
                self.tokens(sequence, length - 1..length, &mut token)?;
            }
            if token.first().is_some_and(|&token| token != EOD) {
                return Ok(Some(sequence));
            }
        }
        Ok(None)
    }

    /// Returns the prefix of a sequence, and the sequence's number there.
    fn prefix_of(&self, sequence: u64) -> (&(u64, PathBuf, [MmidxDataset; 3]), u64) {
        let at = self.prefixes.partition_point(|(first, ..)| *first <= sequence) - 1;
        let prefix = &self.prefixes[at];
        (prefix, sequence - prefix.0)
    }

    /// Reads values of one dataset of a sequence.
    fn read(&self, sequence: u64, which: usize, range: &Range<u32>, into: &mut [u8]) -> Result<()> {
        let ((_, _, datasets), _) = self.prefix_of(sequence);
        let dataset = &datasets[which];
        let value = self.starts[sequence as usize] + u64::from(range.start);
        let start = value * dataset.index.dtype.size() as u64;
        dataset.bin().read_exact_at(into, start).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => changed(dataset.bin_path()),
            _ => Error::io(dataset.bin_path(), &error),
        })
    }

    /// Describes these datasets, so that they can be told from others; paths are relative to
    /// `folder`.
    pub fn inputs(&self, folder: &Path) -> Result<Vec<RowsInput>> {
        let mut inputs = Vec::new();
        for (first, prefix, datasets) in &self.prefixes {
            let sequences = datasets[0].index.sequences;
            let own = &self.lengths[*first as usize..(*first + sequences) as usize];
            let idx = datasets[0].idx_path();
            let (_, idx_sha256) = open_member(idx).and_then(sha256_of).at(idx)?;
            let mut bin_samples = <[String; 3]>::default();
            for (dataset, into) in datasets.iter().zip(&mut bin_samples) {
                *into = sample(dataset.bin()).at(dataset.bin_path())?;
            }
            inputs.push(RowsInput {
                path: relative(folder, prefix)?,
                sequences,
                tokens: own.iter().map(|&length| u64::from(length)).sum(),
                idx_sha256,
                bin_samples,
            });
        }
        Ok(inputs)
    }
}

/// Refuses a root with two splits: rows would mix sequences for training and for validation.
fn refuse_splits(path: &Path, listing: &KdListing) -> Result<()> {
    let mut splits: Vec<&str> = listing.prefixes.iter().filter_map(|prefix| prefix.split).collect();
    splits.dedup();
    match splits.as_slice() {
        [first, second, ..] => Err(Error::usage(format!("has {first} and {second}"))
            .at(path)
            .hint(format!("{} alone, then {second}", shown(&path.join(first))))),
        _ => Ok(()),
    }
}

/// Refuses a dataset whose sequences do not follow one another from `start` on.
fn one_after_another(
    dataset: &MmidxDataset,
    block: u64,
    start: u64,
    lengths: &[i32],
) -> Result<()> {
    let mut offsets = Vec::new();
    let read = dataset.index.read_offsets(block, lengths.len(), &mut offsets);
    read.at(dataset.idx_path())?;
    let size = dataset.index.dtype.size() as u64;
    let mut value = start;
    for (at, (offset, &length)) in offsets.into_iter().zip(lengths).enumerate() {
        if u64::try_from(offset).ok() != value.checked_mul(size) {
            let cause = format!("sequence {} does not follow the one before", block + at as u64);
            let hint = "ds-cat PREFIX --to arrow | mmidx-write --prefix COPY";
            return Err(Error::data(cause).at(dataset.idx_path()).hint(hint));
        }
        value += u64::try_from(length).unwrap_or(0);
    }
    Ok(())
}

/// Returns a path relative to a folder; unchanged if it has no relative form.
fn relative(folder: &Path, path: &Path) -> Result<String> {
    let whole = |path: &Path| {
        let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        files::resolved(folder)
    };
    let parent = path.parent().map_or(Ok(None), whole)?;
    let (Some(from), Some(to), Some(name)) = (whole(folder)?, parent, path.file_name()) else {
        return Ok(shown(path));
    };
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let mut seen = PathBuf::new();
    from.components().skip(common).for_each(|_| seen.push(".."));
    to.components().skip(common).for_each(|part| seen.push(part));
    Ok(shown(&seen.join(name)))
}

impl Sequences for PrefixStore {
    fn tokens(&self, sequence: u64, range: Range<u32>, into: &mut Vec<i32>) -> Result<()> {
        // Tokens are decoded in blocks that fit the nearest cache; most sequences are one block.
        // (The block is cleared first: a larger one costs more than it saves.)
        let mut bytes = [0u8; 1 << 13];
        into.reserve(range.len());
        let ((_, _, [dataset, ..]), _) = self.prefix_of(sequence);
        let size = dataset.index.dtype.size();
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + (bytes.len() / size) as u32);
            let block = &mut bytes[..size * (end - start) as usize];
            self.read(sequence, 0, &(start..end), block)?;
            match dataset.index.dtype {
                MmidxDtype::UInt16 => into.extend(
                    block.chunks_exact(2).map(|token| i32::from(LittleEndian::read_u16(token))),
                ),
                _ => into.extend(block.chunks_exact(4).map(LittleEndian::read_i32)),
            }
            start = end;
        }
        Ok(())
    }

    fn masks(
        &self,
        sequence: u64,
        range: Range<u32>,
        mask: &mut Vec<u8>,
        spans: Option<&mut Vec<u8>>,
    ) -> Result<()> {
        for (which, into) in [(1, Some(mask)), (2, spans)] {
            let Some(into) = into else { continue };
            let begin = into.len();
            into.resize(begin + range.len(), 0);
            self.read(sequence, which, &range, &mut into[begin..])?;
        }
        Ok(())
    }

    fn segments(&self, sequence: u64) -> Option<Vec<Segment<'_>>> {
        Some(self.segments.as_ref()?.of(sequence as usize)?.collect())
    }

    fn has_segments(&self) -> bool {
        self.segments.as_ref().is_some_and(SegmentStore::is_known)
    }

    fn id(&self, sequence: u64) -> Option<&str> {
        self.ids.as_ref()?.get(sequence as usize)
    }

    fn ids_of(&self, sequences: &[u64]) -> Result<Vec<Option<String>>> {
        let mut ids = Vec::with_capacity(sequences.len());
        let mut rest = sequences;
        while let Some(&sequence) = rest.first() {
            let ((first, prefix, datasets), _) = self.prefix_of(sequence);
            let count = datasets[0].index.sequences;
            let (own, others) =
                rest.split_at(rest.partition_point(|&sequence| sequence < first + count));
            rest = others;
            let Some(path) = find_ids(prefix)? else {
                ids.extend(own.iter().map(|_| None));
                continue;
            };
            let runs: Vec<Range<u64>> =
                own.iter().map(|sequence| sequence - first..sequence - first + 1).collect();
            let mut rows = IdsFile::open(&path)?.of_sequences(count)?.read(&runs)?;
            for &sequence in own {
                let length = i32::try_from(self.lengths[sequence as usize]).unwrap_or(i32::MAX);
                let id = rows
                    .next_of(length, |columns, row| columns.identity(row).id.map(str::to_string))?;
                ids.push(id);
            }
        }
        Ok(ids)
    }

    fn place(&self, sequence: u64) -> Place {
        let ((_, prefix, _), number) = self.prefix_of(sequence);
        Place { source: shown(prefix).into(), position: Position::Record(number + 1) }
    }
}
