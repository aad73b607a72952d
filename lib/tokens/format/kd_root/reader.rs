//! Reads datasets back into token sequences: prefixes, or all shards of a root. Ids come from the ids
//! files, and are null without such a file. So do segments, if the file has them; otherwise they are derived from the
//! tokens, and are null if the tokens are not a Harmony conversation.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use byteorder::{ByteOrder, LittleEndian};

use super::manifest::union;
use super::merge::joined_source;
use super::part::{KdPart, find_manifest};
use super::tokenizer::tokenizer_beside;
use super::{IdRows, IdsFile, KdListing, find_ids};
use crate::batch::{
    Batch, DroppedRecords, Header, Origin, RecordSource, SelectedRecords, TokenizerLocation,
    WantedRecords,
};
use crate::cli::{Slice, records_in, runs_within};
use crate::error::{At, Error, Result, shown};
use crate::files::{self, changed};
use crate::format::checked_sum;
use crate::format::mmidx::{MmidxDataset, MmidxDtype, PrefixLayout, check_aligned, check_lengths};
use crate::format::sequence_records::add_segments;
use crate::harmony::{Alignment, Segments, Spans, segments_of};
use crate::model::{Vocabulary, refuse_two};
use crate::record::conversation::turn_id;
use crate::record::statements::{
    ALIGNMENT, END, ID_FIELD, INPUT_MANIFEST, INPUTS, LIMITS, POLICY, SPANS, TOKENIZER, WEIGHTS,
};
use crate::record::tokens::{Identity, TokensBuilder, masked_schema, unmasked_schema};
use crate::record::{RecordType, TOKENS};

/// A batch holds about this many tokens (1 MiB of them).
const BATCH_TOKENS: usize = 1 << 18;

/// Reads prefixes one after another.
#[derive(Debug)]
pub struct KdReader {
    /// Prefixes, with the ascending runs of sequences that are read.
    waiting: VecDeque<(PathBuf, Vec<Range<u64>>)>,
    /// Whether the runs were selected: then only these sequences are checked.
    selected: bool,
    layout: PrefixLayout,
    current: Option<OpenPrefix>,
    rows: u64,
    /// The types of the tokens, each once.
    dtypes: Vec<&'static str>,
    /// For each prefix that is read, its part manifest and which split it is; `None` if it has no
    /// manifest.
    stated: Vec<Option<(Arc<KdPart>, String)>>,
    /// Whether only some of the sequences are read.
    is_part: bool,
    /// The folder of the tokenizer, if a root that is read keeps it.
    kept: Option<PathBuf>,
    /// The spans of each prefix that has messages which are not trained on because of their weights.
    weighted: HashMap<PathBuf, Spans>,
}

/// A prefix being read.
#[derive(Debug)]
struct OpenPrefix {
    prefix: Arc<str>,
    datasets: Vec<MmidxDataset>,
    /// Runs that are read after `rows`.
    runs: VecDeque<Range<u64>>,
    rows: Range<u64>,
    /// The ids of `rows` and `runs`.
    id_rows: Option<IdRows>,
    /// The spans, if some messages have none because of their weights.
    weighted: Option<Spans>,
}

impl KdReader {
    /// Opens prefixes and roots (train before valid, shards by name), or a slice of all together.
    pub fn open(paths: &[PathBuf], slice: Option<Slice>) -> Result<KdReader> {
        let mut prefixes = Vec::new();
        for path in paths {
            let Some(listing) = KdListing::of(path)? else {
                let cause = if files::is_directory(path)? {
                    "no triples are there (*_tokens.idx)"
                } else {
                    "no dataset is there"
                };
                return Err(Error::usage(cause).at(path.as_path()).hint("a prefix"));
            };
            listing.confirm()?;
            prefixes.extend(listing.prefixes.into_iter().map(|prefix| prefix.path));
        }
        let layouts = prefixes.iter().map(|prefix| PrefixLayout::found(prefix));
        let layouts: Option<Vec<PrefixLayout>> = layouts.collect::<Result<_>>()?;
        let layouts = layouts.unwrap_or_default();
        let layout = layouts.first().copied().unwrap_or(PrefixLayout::Triple);
        if layouts.iter().any(|other| *other != layout) {
            return Err(Error::usage("triples and tokens without masks cannot be read together"));
        }
        let (mut sizes, mut dtypes) = (Vec::new(), Vec::new());
        for prefix in &prefixes {
            let index = &open_datasets(prefix, layout)?[0].index;
            sizes.push(index.sequences);
            let dtype = index.dtype.name();
            if !dtypes.contains(&dtype) {
                dtypes.push(dtype);
            }
        }
        let total = checked_sum(sizes.iter().copied())
            .ok_or_else(|| Error::data("more than 2^64 sequences"))?;
        let wanted = slice.map_or(0..total, |slice| slice.of(total));
        let mut waiting = VecDeque::new();
        let mut kept = None;
        let mut start = 0;
        let (mut manifests, mut stated, mut weighted) =
            (HashMap::new(), Vec::new(), HashMap::new());
        for (prefix, size) in prefixes.into_iter().zip(sizes) {
            let from = wanted.start.clamp(start, start + size) - start;
            let to = wanted.end.clamp(start, start + size) - start;
            if from < to || wanted.is_empty() {
                let part = part_of(&prefix, &mut manifests)?;
                let spans = part.as_ref().and_then(|(part, _)| spans_of_weighted(part));
                weighted.extend(spans.map(|spans| (prefix.clone(), spans)));
                let of = |part: &Option<(Arc<KdPart>, String)>| {
                    part.as_ref().and_then(|(part, _)| part.source.tokenizer.clone())
                };
                let tokenizer = of(&part);
                let before = stated.iter().find_map(of);
                refuse_two([before.as_ref(), tokenizer.as_ref()]).at(prefix.as_path())?;
                if kept.is_none() && !Vocabulary::of(tokenizer.as_ref()).is_o200k() {
                    kept = tokenizer_beside(&prefix)?;
                }
                stated.push(part);
            }
            if from < to {
                waiting.push_back((prefix, std::iter::once(from..to).collect()));
            }
            start += size;
        }
        let rows = wanted.end - wanted.start;
        let (selected, current, is_part) = (false, None, rows < total);
        Ok(KdReader {
            waiting,
            selected,
            layout,
            current,
            rows,
            dtypes,
            stated,
            is_part,
            kept,
            weighted,
        })
    }

    /// Returns the parts that are read, each once; `None` if the part of one prefix is not known.
    fn parts(&self) -> Option<Vec<&KdPart>> {
        let mut parts: Vec<&KdPart> = Vec::new();
        let mut seen = HashSet::new();
        for stated in &self.stated {
            let (part, _) = stated.as_ref()?;
            if seen.insert(Arc::as_ptr(part)) {
                parts.push(part);
            }
        }
        Some(parts)
    }
}

impl RecordSource for KdReader {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(&TOKENS))
    }

    /// Returns what the part manifests state about the prefixes that are read; a prefix without a
    /// manifest states nothing.
    fn begin(&mut self, _: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        let mut header = Header::of_record(&TOKENS);
        header.set(&ALIGNMENT, Alignment::Label);
        if !self.weighted.is_empty() {
            header.set(&WEIGHTS, true);
        }
        let parts = self.parts();
        if parts.is_none() && self.stated.iter().any(Option::is_some) {
            header.provenance = DroppedRecords::UNKNOWN.header().provenance;
        }
        if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
            let (source, provenance) = match parts.as_slice() {
                [part] => (part.source.clone(), part.provenance.clone()),
                _ => (
                    joined_source(parts.iter().copied()),
                    union(parts.iter().map(|part| &part.provenance)),
                ),
            };
            header.set(&POLICY, source.policy.clone());
            header.set(&INPUTS, source.inputs.clone());
            header.set(&INPUT_MANIFEST, source.manifest.clone());
            header.set(&TOKENIZER, source.tokenizer.clone());
            header.set(&LIMITS, source.limits.clone());
            if let Some(spans) = &source.spans {
                header.set(&SPANS, spans.clone());
            }
            if let Some(name) = &source.id_field {
                header.set(&ID_FIELD, name.clone());
            }
            let ends = |part: &&KdPart| part.config.as_ref().and_then(|config| config.eod_token_id);
            let mut ends = parts.iter().map(ends);
            let end = ends.next().flatten().filter(|end| ends.all(|other| other == Some(*end)));
            if !Vocabulary::of(source.tokenizer.as_ref()).is_o200k()
                && let Some(end) = end
            {
                header.set(&END, end);
            }
            header.provenance = provenance;
            header.tokenizer_location = self
                .kept
                .clone()
                .map(|folder| TokenizerLocation { folder, ..TokenizerLocation::default() });
        }
        let schema = match self.layout {
            PrefixLayout::Triple => masked_schema(),
            PrefixLayout::Single => unmasked_schema(),
        };
        Ok((header, SchemaRef::new(schema)))
    }

    fn records(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn next(
        &mut self,
        _wanted: Option<&WantedRecords>,
        _schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        loop {
            if let Some(open) = &mut self.current
                && open.begin_run(self.selected)?
            {
                let (records, origin) = open.next_batch(self.layout, self.selected)?;
                return Ok(Some(Batch::of_records(records, origin)));
            }
            let Some((prefix, runs)) = self.waiting.pop_front() else { return Ok(None) };
            let datasets = open_datasets(&prefix, self.layout)?;
            let end = runs.last().map_or(0, |run| run.end);
            if datasets.first().is_some_and(|dataset| dataset.index.sequences < end) {
                return Err(changed(&prefix));
            }
            if !self.selected {
                check_aligned(&datasets)?;
            }
            let ids = ids_of(&prefix, &datasets)?;
            let id_rows = ids.map(|ids| ids.read(&runs)).transpose()?;
            let weighted = self.weighted.get(&prefix).cloned();
            let prefix = shown(&prefix).into();
            let (rows, runs) = (0..0, runs.into());
            self.current = Some(OpenPrefix { prefix, datasets, runs, rows, id_rows, weighted });
        }
    }

    /// Finds the sequences in the ids files, so that only they are read.
    fn select_ids(&mut self, ids: &HashSet<&str>) -> Result<Option<SelectedRecords>> {
        let mut selected = SelectedRecords::default();
        let turns: Vec<String> = ids.iter().map(|id| turn_id(id, 1)).collect();
        let looked_for = ids.iter().copied().chain(turns.iter().map(String::as_str)).collect();
        for (prefix, runs) in &mut self.waiting {
            let datasets = open_datasets(prefix, self.layout)?;
            let Some(file) = ids_of(prefix, &datasets)? else {
                let cause = "has no ids file, so no sequence can be found by its id";
                return Err(Error::usage(cause).at(prefix.as_path()));
            };
            let mut found = Vec::new();
            for range in std::mem::take(runs) {
                for (row, id) in file.find(&looked_for, range)? {
                    found.extend(ids.contains(id.as_str()).then_some(row..row + 1));
                    selected.found.insert(id);
                }
            }
            selected.records += found.len() as u64;
            *runs = found;
        }
        self.waiting.retain(|(_, runs)| !runs.is_empty());
        (self.selected, self.rows, self.is_part) = (true, selected.records, true);
        Ok(Some(selected))
    }

    /// If only a part of the sequences is read, it is not known which dropped records belong to it.
    fn dropped(&self) -> DroppedRecords {
        let of = |stated: &Option<(Arc<KdPart>, String)>| {
            let dropped =
                |(part, split): &(Arc<KdPart>, String)| part.records_of(split).counts().dropped();
            stated.as_ref().map_or(DroppedRecords::UNKNOWN, dropped)
        };
        let all = self.stated.iter().map(of).reduce(|sum, dropped| sum.and(&dropped));
        let all = all.unwrap_or_default();
        if self.is_part { all.of_part() } else { all }
    }

    /// Returns the types of the tokens of all prefixes.
    fn encoding(&self) -> String {
        self.dtypes.join(" and ")
    }

    fn read_runs(&mut self, runs: &[Range<u64>]) -> Result<bool> {
        let mut start = 0;
        for (_, own) in &mut self.waiting {
            let end = start + records_in(own);
            let first = own.first().map_or(0, |run| run.start);
            let wanted = runs_within(runs, &(start..end));
            *own = wanted.iter().map(|run| first + run.start..first + run.end).collect();
            start = end;
        }
        self.waiting.retain(|(_, runs)| !runs.is_empty());
        (self.selected, self.rows) = (true, records_in(runs));
        Ok(true)
    }
}

/// Returns the manifest of a prefix (each is read once), and which split the prefix is.
fn part_of(
    prefix: &Path,
    manifests: &mut HashMap<PathBuf, Arc<KdPart>>,
) -> Result<Option<(Arc<KdPart>, String)>> {
    let Some((path, split)) = find_manifest(prefix)? else { return Ok(None) };
    if let Some(part) = manifests.get(&path) {
        return Ok(Some((part.clone(), split)));
    }
    let part = Arc::new(KdPart::read(&path)?);
    manifests.insert(path, part.clone());
    Ok(Some((part, split)))
}

/// Returns the spans of a part, if it states that some messages are not trained on because of weights.
fn spans_of_weighted(part: &KdPart) -> Option<Spans> {
    let spans = part.source.spans.as_ref().filter(|_| part.has_weights());
    spans.map(Spans::from_json)
}

/// Returns the ids of a prefix; there must be as many as it has sequences.
fn ids_of(prefix: &Path, datasets: &[MmidxDataset]) -> Result<Option<IdsFile>> {
    let Some(path) = find_ids(prefix)? else { return Ok(None) };
    let sequences = datasets.first().map_or(0, |tokens| tokens.index.sequences);
    IdsFile::open(&path)?.of_sequences(sequences).map(Some)
}

/// Opens the datasets of a prefix; the first one holds tokens.
fn open_datasets(prefix: &Path, layout: PrefixLayout) -> Result<Vec<MmidxDataset>> {
    let datasets = layout.open(prefix)?;
    let Some(tokens) = datasets.first() else { return Ok(datasets) };
    let dtype = tokens.index.dtype;
    let cause = match dtype {
        _ if tokens.index.has_modes => {
            "has the modes of multimodal sequences, which are not read".to_string()
        }
        MmidxDtype::Int32 | MmidxDtype::UInt16 | MmidxDtype::UInt8 => return Ok(datasets),
        _ => format!("values of {} are not read as tokens", dtype.name()),
    };
    Err(Error::data(cause).at(tokens.idx_path()))
}

impl OpenPrefix {
    /// Whether there are rows to read; at the end of a run it goes on to the next.
    fn begin_run(&mut self, selected: bool) -> Result<bool> {
        while self.rows.is_empty() {
            let Some(rows) = self.runs.pop_front() else { return Ok(false) };
            if selected {
                check_lengths(&self.datasets, &rows)?;
            }
            self.rows = rows;
        }
        Ok(true)
    }

    /// Reads sequences of as many runs as fit a batch.
    fn next_batch(
        &mut self,
        layout: PrefixLayout,
        selected: bool,
    ) -> Result<(RecordBatch, Origin)> {
        let mut builder = match layout {
            PrefixLayout::Triple => TokensBuilder::masked(),
            PrefixLayout::Single => TokensBuilder::default(),
        };
        let mut origin = Origin::default();
        while builder.tokens.len() < BATCH_TOKENS && self.begin_run(selected)? {
            origin.goes_on(builder.len(), &self.prefix, self.rows.start + 1);
            self.read_run(&mut builder)?;
        }
        Ok((builder.finish()?, origin))
    }

    /// Reads as many sequences of a run as fit a batch.
    fn read_run(&mut self, builder: &mut TokensBuilder) -> Result<()> {
        let Some(tokens) = self.datasets.first() else { return Ok(()) };
        let mut segments = Segments::default();
        let mut bytes = Vec::new();
        let mut lengths = tokens.lengths_of(self.rows.clone());
        let mut offsets: Vec<_> =
            self.datasets.iter().map(|dataset| dataset.offsets_of(self.rows.clone())).collect();
        while self.rows.start < self.rows.end && builder.tokens.len() < BATCH_TOKENS {
            let Some(length) = lengths.next() else {
                return Err(changed(tokens.idx_path()));
            };
            let length = length?;
            let begin = builder.tokens.len();
            for (number, (dataset, offsets)) in self.datasets.iter().zip(&mut offsets).enumerate() {
                let Some(offset) = offsets.next() else { break };
                let target = match number {
                    0 => &mut bytes,
                    1 => &mut builder.loss_mask,
                    _ => &mut builder.span_id,
                };
                if number == 0 {
                    target.clear();
                }
                dataset.read_sequence(offset?, length, target)?;
            }
            append_tokens(tokens, &bytes, &mut builder.tokens);
            let weighted = self.weighted.as_ref();
            let mut of_tokens = |builder: &mut TokensBuilder, identity: Identity<'_>| {
                segments.clear();
                let known = segments_of(&builder.tokens[begin..], &mut segments).is_ok();
                add_segments(builder, begin, segments.records(), weighted);
                match known {
                    true => builder.finish_record(identity),
                    false => builder.finish_record_without_segments(identity),
                }
            };
            match &mut self.id_rows {
                Some(rows) => rows.next_of(length, |ids, row| match ids.segments(row) {
                    Some(stored) => {
                        add_segments(builder, begin, stored, None);
                        builder.finish_record(ids.identity(row))
                    }
                    None => of_tokens(builder, ids.identity(row)),
                })??,
                None => of_tokens(builder, Identity::default())?,
            }
            self.rows.start += 1;
        }
        Ok(())
    }
}

/// Appends values as int32 tokens.
fn append_tokens(dataset: &MmidxDataset, bytes: &[u8], tokens: &mut Vec<i32>) {
    match dataset.index.dtype {
        MmidxDtype::UInt8 => tokens.extend(bytes.iter().map(|&value| i32::from(value))),
        MmidxDtype::UInt16 => {
            tokens.extend(bytes.as_chunks().0.iter().map(|b| i32::from(u16::from_le_bytes(*b))));
        }
        _ => {
            let start = tokens.len();
            tokens.resize(start + bytes.len() / 4, 0);
            LittleEndian::read_i32_into(bytes, &mut tokens[start..]);
        }
    }
}
