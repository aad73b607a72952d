//! The two ways to make rows: from datasets on disk in two passes (lengths, then tokens), from all other
//! records in windows, each packed by itself.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use gristmill_tokenizer::both;
use serde_json::json;

use super::columns::{ExtraColumn, GroupTotals, Layout, Source, left_out};
use super::index::IndexFile;
use super::manifest::{
    Contents, Padding, RowsInput, RowsManifest, SCHEMA, TokenCounts, left, share, summary,
};
use super::settings::{RowCompression, RowsSettings, RowsTarget};
use super::sink::RowsFile;
use super::store::{MakeSequenceRule, PrefixStore, Sequences, no_end};
use super::window::Window;
use crate::batch::{
    Batch, Counts, DroppedRecords, Header, RecordSource, Sink, SinkSummary, SkippedRecords,
};
use crate::cli::{Progress, Rejection, Rejects, Slice};
use crate::error::{Error, Result};
use crate::file_entry::FileEntry;
use crate::format::kd_root::RowRule;
use crate::format::stated::Comparison;
use crate::format::unchanged::InputSnapshot;
use crate::format::{RecordCounts, json_file, kd_root};
use crate::harmony::Alignment;
use crate::ordered::Flow;
use crate::packing::{Overflow, Packing, PackingChanges, Rows, TooLong};
use crate::publish::{Target, publish};
use crate::record::tokens::Tokens;
use crate::stream::row_json;
use crate::wording::{exactly, grouped};

/// The most tokens of a window.
const WINDOW_TOKENS: usize = 1 << 24;

/// Rows that are being written.
struct Output {
    settings: RowsSettings,
    target: RowsTarget,
    header: Header,
    file: Option<RowsFile>,
    index: Option<IndexFile>,
    totals: Totals,
}

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    /// The sequences of the input.
    sequences: u64,
    rows: u64,
    pieces: u64,
    used: u64,
    tokens: TokenCounts,
    padding: u64,
    changed: PackingChanges,
    group: GroupTotals,
    /// The most pieces of a row, and the fewest positions of a piece.
    most_pieces: u64,
    emptiest: Option<u64>,
    /// The most positions of a piece.
    longest: u32,
}

/// Sequences that are packed together.
struct SequenceGroup<'a> {
    store: &'a dyn Sequences,
    first: u64,
    /// Their lengths, with their ends of documents.
    lengths: &'a [u32],
    /// The name of their number in the error if one is too long.
    what: &'static str,
    /// What each of them must satisfy, if it was not asked before.
    rule: Option<MakeSequenceRule<'a>>,
}

impl Output {
    fn create(settings: &RowsSettings, target: &RowsTarget, header: Header) -> Result<Output> {
        Alignment::refuse_token_in(&header)?;
        let parts = settings.has_parts();
        let layout =
            Layout::of(settings.form, &settings.extras, parts, settings.packing.is_padded());
        let zstd = settings.compression == RowCompression::Zstd;
        let file = target.rows.as_deref().map(|path| RowsFile::create(path, layout, zstd));
        let index = target.index.as_deref().map(IndexFile::create).transpose()?;
        let (settings, target) = (settings.clone(), target.clone());
        let file = file.transpose()?;
        Ok(Output { settings, target, header, file, index, totals: Totals::default() })
    }

    /// Packs sequences, and writes their rows. Sequences that are left out go to the rejects.
    fn write(
        &mut self,
        together: &SequenceGroup<'_>,
        rejects: &mut Rejects,
        done: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let &SequenceGroup { store, first, lengths: all, what, rule } = together;
        let RowsSettings { keep_eod, packing, no_check, vocabulary, pad, .. } = self.settings;
        let without_end: Vec<u32>;
        let lengths = match keep_eod {
            true => all,
            false => {
                without_end = all.iter().map(|length| length.saturating_sub(1)).collect();
                &without_end
            }
        };
        let (rows, changed) = packing.pack(lengths, first).map_err(|long| {
            let TooLong { sequences, longest, first } = long;
            let most = packing.most_tokens();
            let plural = if sequences == 1 { "sequence is" } else { "sequences are" };
            let cause = format!(
                "{} {plural} longer than {} tokens{what}; the longest has {}",
                grouped(sequences),
                grouped(most.into()),
                grouped(longest.into()),
            );
            let hint = "--overflow drop, split or cut, or a larger --seq-length";
            Error::data(cause).at(store.place(first)).hint(hint)
        })?;
        if packing.overflow == Overflow::Drop && rejects.has_file() {
            let most = packing.most_tokens();
            let dropped: Vec<(u64, u32)> = (first..)
                .zip(lengths.iter().copied())
                .filter(|(_, length)| *length > most)
                .collect();
            let sequences: Vec<u64> = dropped.iter().map(|(sequence, _)| *sequence).collect();
            let ids = store.ids_of(&sequences)?;
            for ((sequence, length), id) in dropped.into_iter().zip(ids) {
                let (place, input) = (store.place(sequence), store.rejected(sequence));
                let reason =
                    format!("{length}: more than {most}", length = exactly(length, "token"));
                rejects.keep(Rejection { place, id, reason, input })?;
            }
        }
        // For tokens in no row, the end of document is checked too, and labels are counted.
        let is_dropped =
            |length: u32| packing.overflow == Overflow::Drop && length > packing.most_tokens();
        // (An index reads no token.)
        let read = if self.file.is_some() { lengths } else { &[] };
        for (sequence, (&length, &whole)) in (first..).zip(read.iter().zip(all)) {
            if is_dropped(length) || (length == 0 && whole > 0) {
                self.totals.group.labels.lost += left_out(store, sequence, 0..length, keep_eod)?;
            }
        }
        self.count(all, &rows, changed);
        if let Some(index) = &mut self.index {
            index.write(&rows)?;
        }
        match &mut self.file {
            Some(file) => {
                let source =
                    Source { store, first, lengths, keep_eod, no_check, vocabulary, pad, packing };
                let written = file.write(&rows, (source, rule), self.settings.jobs, done)?;
                self.totals.group.add(&written);
            }
            None => done(rows.len() as u64, 0),
        }
        Ok(())
    }

    fn count(&mut self, all: &[u32], rows: &Rows, changed: PackingChanges) {
        let packing = self.settings.packing;
        let totals = &mut self.totals;
        totals.sequences += all.len() as u64;
        totals.rows += rows.len() as u64;
        totals.pieces += rows.pieces().len() as u64;
        for row in rows.iter() {
            let used = packing.row_weight(row.iter().map(|piece| piece.length));
            let more = packing.row_padding(used);
            let used = used + u64::from(more);
            totals.padding += u64::from(more);
            for (number, piece) in row.iter().enumerate() {
                let more = if number + 1 == row.len() { more } else { 0 };
                totals.tokens.in_rows += u64::from(piece.length);
                totals.padding += u64::from(packing.padding(piece.length));
                totals.longest = totals.longest.max(packing.weight(piece.length) + more);
            }
            totals.used += used;
            totals.most_pieces = totals.most_pieces.max(row.len() as u64);
            totals.emptiest = Some(totals.emptiest.map_or(used, |least| least.min(used)));
        }
        let tokens = &mut totals.tokens;
        tokens.in_sequences += all.iter().map(|&length| u64::from(length)).sum::<u64>();
        if !self.settings.keep_eod {
            tokens.end_of_document += all.iter().filter(|&&length| length > 0).count() as u64;
        }
        totals.changed.plus(changed);
    }

    /// Returns the records that are in rows.
    fn written(&self) -> u64 {
        self.totals.sequences.saturating_sub(self.left_out().records())
    }

    /// Returns the records that are in no row.
    fn left_out(&self) -> SkippedRecords {
        let mut skipped = SkippedRecords::default();
        let PackingChanges { empty, dropped, .. } = self.totals.changed;
        skipped.count_many("without a token", empty);
        skipped.count_many("longer than a row", dropped.sequences);
        skipped
    }

    /// Gives the files their names.
    fn publish(
        self,
        records: RecordCounts,
        window: Option<u64>,
        inputs: Option<Vec<RowsInput>>,
    ) -> Result<RowsManifest> {
        let Output { settings, target, header, file, index, totals } = self;
        let Packing { multiple, row_multiple, .. } = settings.packing;
        let (token, tokens) = (settings.pad, totals.padding);
        let padding = Padding { multiple, row_multiple, token, tokens };
        let padding = settings.packing.is_padded().then_some(padding);
        let RowsSettings { form, packing, keep_eod, overwrite, allow_unsupervised, .. } = settings;
        let made = RowsManifest {
            schema_version: SCHEMA.to_string(),
            contents: Contents::Rows,
            form,
            seq_length: packing.seq_length,
            algorithm: packing.algorithm,
            overflow: packing.overflow,
            counted: packing.counted,
            keep_eod,
            window,
            rows: totals.rows,
            pieces: totals.pieces,
            used: totals.used,
            share_used: share(totals.used, totals.rows, &packing),
            records,
            tokens: totals.tokens,
            padding,
            changed: totals.changed,
            labels: file.as_ref().map(|_| totals.group.labels),
            hash: file.as_ref().map(|_| format!("{:016x}", totals.group.hash)),
            inputs: None,
            parameters: header.parameters,
            provenance: header.provenance,
        };
        if let Some(cause) = made.unsupervised().filter(|_| !allow_unsupervised) {
            let hint = "span-mask --span CHANNEL=ID";
            return Err(Error::data(cause).at(target.manifest().as_path()).hint(hint));
        }
        let text = |manifest: &RowsManifest| serde_json::to_string(manifest).map_err(Error::data);
        let mut files = Vec::new();
        if let Some(path) = &target.metadata {
            files.push(json_file::pending(path, &[totals.for_bridge(&packing)])?);
        }
        if let Some(index) = index {
            let (contents, inputs) = (Contents::Index, inputs.clone());
            let (labels, hash) = (None, None);
            let manifest = RowsManifest { contents, inputs, labels, hash, ..made.clone() };
            files.push(index.finish(text(&manifest)?)?);
        }
        if let Some(file) = file {
            let manifest = RowsManifest { inputs, ..made.clone() };
            files.push(file.finish(text(&manifest)?)?);
        }
        publish(&target, files, overwrite)?;
        Ok(made)
    }
}

impl Totals {
    /// Returns the members of `packed_metadata_path` that Megatron-Bridge reads
    /// (`packing/utils.py`, `fill_packing_strategy`).
    fn for_bridge(&self, packing: &Packing) -> serde_json::Value {
        let rounded = |value: f64, digits: f64| (value * digits).round() / digits;
        let rows = (self.rows.max(1)) as f64;
        json!({
            "dataset_max_seqlen": self.longest,
            "max_samples_per_bin": self.most_pieces,
            "packing_factor": rounded(self.pieces as f64 / rows, 100.0),
            "packing_efficiency": share(self.used, self.rows, packing).map(|s| rounded(s * 100.0, 100.0)),
            "pack_size": packing.seq_length,
            "min_packed_seqlen": self.emptiest,
        })
    }
}

/// Datasets of Megatron triples, whose sequences are packed all together.
#[derive(Clone, Copy)]
pub struct Triples<'a> {
    pub paths: &'a [PathBuf],
    pub slice: Option<Slice>,
    /// What each sequence in a row must satisfy.
    pub rule: Option<MakeSequenceRule<'a>>,
}

pub fn pack_triples(
    triples: Triples<'_>,
    settings: &RowsSettings,
    target: &RowsTarget,
    header: Header,
    rejects: &mut Rejects,
    progress: &mut Progress,
) -> Result<RowsManifest> {
    let Triples { paths, slice, rule } = triples;
    let unchanged = InputSnapshot::of(paths)?;
    let with_ids = settings.extras.contains(&ExtraColumn::Id) && target.rows.is_some();
    // (The tokens of o200k show their messages.)
    let with_segments = !settings.vocabulary.is_o200k() && target.rows.is_some();
    let store = unchanged.confirm(PrefixStore::open(paths, (with_ids, with_segments)))?;
    let range = slice.map_or(0..store.sequences(), |slice| slice.of(store.sequences()));
    let stated: Result<Vec<Vec<FileEntry>>> =
        paths.iter().map(|path| (kd_root::FORMAT.stated)(path)).collect();
    let is_whole = range.end - range.start == store.sequences();
    let is_read = is_whole && target.rows.is_some();
    let mut comparison = Comparison::of(if is_read { stated?.concat() } else { Vec::new() });
    comparison.begin();
    let mut output = Output::create(settings, target, header)?;
    let lengths = &store.lengths[range.start as usize..range.end as usize];
    let together = SequenceGroup { store: &store, first: range.start, lengths, what: "", rule };
    // (All outputs are in one folder.)
    let folder = target.directory();
    let write =
        || output.write(&together, rejects, &mut |rows, tokens| progress.add(rows, 4 * tokens));
    let (inputs, written) = side_by_side(settings.jobs, || store.inputs(&folder), write);
    unchanged.confirm(written)?;
    let inputs = unchanged.confirm(inputs)?;
    if target.rows.is_none() && !settings.keep_eod {
        // Sequences that are not read are checked here and there.
        let step = ((range.end - range.start).div_ceil(LOOKED_AT) as usize).max(1);
        let without = unchanged.confirm(store.without_end(range.clone(), step))?;
        if let Some(sequence) = without {
            return Err(no_end(&store.place(sequence)));
        }
    }
    comparison.finish()?;
    let skipped = output.left_out();
    let written = output.written();
    let before = kd_root::KdReader::open(paths, slice)?.dropped();
    let dropped =
        before.and(&DroppedRecords { skipped: Some(skipped), ..DroppedRecords::default() });
    let records = RecordCounts::written(written, Counts::new(written, dropped));
    rejects.publish()?;
    unchanged.check()?;
    output.publish(records, None, Some(inputs))
}

/// Runs both, on two threads if `jobs` allows it.
fn side_by_side<A: Send, B>(
    jobs: NonZeroUsize,
    first: impl Fn() -> A + Sync,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if jobs.get() > 1 {
        return both(first, second);
    }
    let done = second();
    (first(), done)
}

/// How many ends of documents are checked if no token is read.
const LOOKED_AT: u64 = 256;

/// Packs records as they come, one window after the other.
pub struct WindowSink {
    output: Output,
    window: Window,
    rule: Option<RowRule>,
}

impl WindowSink {
    pub fn create(
        settings: &RowsSettings,
        target: &RowsTarget,
        header: Header,
    ) -> Result<WindowSink> {
        if let Some(index) = &target.index {
            let cause = "--index names sequences of datasets on disk (.bin and .idx)";
            return Err(Error::usage(cause)
                .at(index.as_path())
                .hint("mmidx-write --prefix P, then seq-pack P"));
        }
        let output = Output::create(settings, target, header)?;
        Ok(WindowSink { output, window: Window::default(), rule: None })
    }

    /// Refuses records that break this rule.
    pub fn rule(self, rule: RowRule) -> WindowSink {
        WindowSink { rule: Some(rule), ..self }
    }

    fn pack(&mut self, rejects: &mut Rejects) -> Result<()> {
        let WindowSink { output, window, .. } = self;
        let what = " in a window";
        let (store, first, lengths) = (&*window, window.first, window.lengths.as_slice());
        // (A window has asked the rule for each record.)
        let together = SequenceGroup { store, first, lengths, what, rule: None };
        output.write(&together, rejects, &mut |_, _| {})?;
        window.clear();
        Ok(())
    }
}

impl Sink for WindowSink {
    fn write(&mut self, mut batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        let records = batch.records.clone();
        let view = Tokens::of(&records)?;
        let settings = &self.output.settings;
        let with_spans = settings.extras.contains(&ExtraColumn::SpanId);
        let columns = (settings.keep_eod, with_spans, !settings.vocabulary.is_o200k());
        for row in 0..view.len() {
            let place = batch.origin.place(row);
            if let Err(cause) = self.window.push(&view, row, place, columns, &mut self.rule) {
                batch.reject_row((&records, row), view.id(row), cause, row_json);
                continue;
            }
            let is_full = self.window.len() as u64 >= self.output.settings.window;
            if is_full || self.window.tokens_len() >= WINDOW_TOKENS {
                self.pack(rejects)?;
            }
        }
        rejects.take(batch.rejected)?;
        Ok(Flow::Continue)
    }

    fn end(&mut self, rejects: &mut Rejects) -> Result<()> {
        self.pack(rejects)
    }

    fn finish(self, mut counts: Counts) -> Result<SinkSummary> {
        let WindowSink { output, .. } = self;
        let skipped = output.left_out();
        counts.skipped = counts.skipped.map(|mut before| {
            before.add(&skipped);
            before
        });
        let written = output.written();
        let records = RecordCounts::written(written, counts);
        let window = Some(output.settings.window);
        let manifest = output.publish(records, window, None)?;
        let warnings = manifest.warnings();
        let (made, left) = (Some(summary(&manifest)), left(&manifest));
        Ok(SinkSummary { made, left, warnings })
    }
}
