//! Reads rows back into the token sequences from which they were made. The pieces of a sequence are put
//! together; they wait in memory until all of them have come.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::columns::Form;
use super::decode::{DecodedRows, RowPiece};
use super::manifest::{Contents, KEY, RowsManifest, SCHEMA};
use super::segments::{PieceSegments, SegmentReader};
use crate::batch::{Batch, Header, Origin, RecordSource, WantedRecords};
use crate::cli::Slice;
use crate::error::{At, Error, Result, shown};
use crate::format::foreign_rows::remark;
use crate::format::parquet::{ParquetBatches, ParquetFile, Text};
use crate::format::runs::WantedRuns;
use crate::format::sequence_records::add_segments;
use crate::format::{checked_sum, json_file};
use crate::harmony::{Alignment, Segments, Spans, segments_of};
use crate::model::refuse_two;
use crate::packing::Overflow;
use crate::record::statements::{ALIGNMENT, PACKED, StatedRows, TOKENIZER};
use crate::record::tokens::{Identity, Segment, TokensBuilder};
use crate::record::{RecordType, TOKENS};
use crate::tokenizer::EOD;
use crate::wording::exactly;

/// About how many tokens a batch holds.
const BATCH_TOKENS: usize = 1 << 18;

/// A file of ours, of rows or an index, and the text of its manifest.
pub struct OpenedRows {
    pub path: PathBuf,
    pub file: ParquetFile,
    manifest: String,
}

impl OpenedRows {
    /// Opens a file if it is one of ours. A file that is not Parquet is reported elsewhere.
    pub fn if_rows(path: &Path) -> Result<Option<OpenedRows>> {
        let opened = ParquetFile::if_stating(path, KEY)?;
        let path = path.to_path_buf();
        Ok(opened.map(|(file, manifest)| OpenedRows { path, file, manifest }))
    }

    /// Reads the manifest; the error is of the kind `Data`.
    pub fn manifest(&self) -> Result<RowsManifest> {
        let bad = |cause: String| Error::data(format!("{KEY}: {cause}")).at(self.path.as_path());
        let manifest: RowsManifest =
            json_file::parse(self.manifest.as_bytes()).map_err(|e| bad(e.to_string()))?;
        match json_file::other_schema(&manifest.schema_version, SCHEMA) {
            Some(cause) => Err(bad(format!("schema_version {cause}"))),
            None => Ok(manifest),
        }
    }

    fn open(path: &Path) -> Result<(OpenedRows, RowsManifest)> {
        let opened = OpenedRows::if_rows(path)?;
        let opened = opened.ok_or_else(|| Error::usage("is no file of seq-pack").at(path))?;
        let manifest = opened.manifest()?;
        if manifest.contents == Contents::Index {
            let cause = "is an index, which has no tokens";
            let first = manifest.inputs.as_ref().and_then(|inputs| inputs.first());
            let folder = path.parent().unwrap_or(Path::new(""));
            let hint = first
                .map(|input| format!("the sequences are in {}", shown(&folder.join(&input.path))));
            let error = Error::usage(cause).at(path);
            return Err(hint.into_iter().fold(error, |error, hint| error.hint(hint)));
        }
        Ok((opened, manifest))
    }

    /// Checks the pages beyond what reading the rows checks.
    pub fn check_pages(&self) -> Result<()> {
        self.file.check_pages().at(&self.path)
    }

    /// Reads a range of rows in batches.
    pub fn rows(&self, rows: Range<u64>) -> Result<ParquetBatches> {
        self.file.read(std::slice::from_ref(&rows), None, Text::Plain).at(&self.path)
    }
}

/// Reads files of rows one after another.
pub(super) struct RowsReader {
    waiting: VecDeque<PathBuf>,
    /// What the files state, as far as all state the same.
    header: Header,
    /// The form, if all files have the same.
    form: Option<Form>,
    current: Option<OpenFile>,
    /// Whether all records are read: then no other record may follow.
    is_whole: bool,
    /// The records that are read.
    runs: WantedRuns,
}

/// A file that is being read.
struct OpenFile {
    path: PathBuf,
    name: Arc<str>,
    manifest: RowsManifest,
    batches: ParquetBatches,
    /// The number of the next row and of the next record.
    row: u64,
    record: u64,
    spans: Option<Spans>,
    parts: HashMap<i64, PartialSequence>,
    segments: Segments,
    /// The messages that stand in the file.
    stored: Option<SegmentReader>,
}

/// A sequence that still lacks some of its pieces.
#[derive(Default)]
struct PartialSequence {
    /// The pieces by their first token.
    pieces: Vec<(i32, Sequence)>,
    tokens: usize,
    rows: Vec<u64>,
}

/// A sequence or a part of one; the masks are aligned as in the rows.
#[derive(Default)]
struct Sequence {
    tokens: Vec<i32>,
    mask: Vec<u8>,
    spans: Option<Vec<u8>>,
    id: Option<String>,
    /// The messages of each piece, if they stand in the file.
    segments: Vec<PieceSegments>,
}

impl Sequence {
    fn of(piece: &RowPiece<'_>, segments: Option<PieceSegments>) -> Sequence {
        Sequence {
            tokens: piece.tokens.to_vec(),
            mask: piece.mask.to_vec(),
            spans: piece.spans.map(<[u8]>::to_vec),
            id: piece.id.map(str::to_string),
            segments: segments.into_iter().collect(),
        }
    }

    fn goes_on(&mut self, with: Sequence) {
        self.tokens.extend(with.tokens);
        self.mask.extend(with.mask);
        self.segments.extend(with.segments);
        self.spans = self.spans.take().zip(with.spans).map(|(a, b)| [a, b].concat());
    }

    /// Returns the messages that stand in the file; `None` if those of a piece are not known. (A message of two pieces
    /// stands with both; what was cut off has no tokens.)
    fn stored(&self) -> Option<Vec<Segment<'_>>> {
        let mut all: Vec<Segment<'_>> = Vec::new();
        for piece in &self.segments {
            all.extend(piece.list()?);
        }
        all.dedup();
        let length = self.tokens.len() as i32;
        all.iter_mut().for_each(|segment| segment.end = segment.end.min(length));
        Some(all).filter(|_| !self.segments.is_empty())
    }
}

impl RowsReader {
    /// Opens files of rows, or a slice of the sequences of all files together.
    pub fn open(paths: &[PathBuf], slice: Option<Slice>) -> Result<RowsReader> {
        let mut manifests = Vec::new();
        for path in paths {
            let (opened, manifest) = OpenedRows::open(path)?;
            if opened.file.rows() != manifest.rows {
                let cause = format!(
                    "has {}; it states {}",
                    exactly(opened.file.rows(), "row"),
                    manifest.rows
                );
                return Err(Error::data(cause).at(path.as_path()));
            }
            manifests.push(manifest);
        }
        let sum = |of: fn(&RowsManifest) -> u64| {
            let sum = checked_sum(manifests.iter().map(of));
            sum.ok_or_else(|| Error::data("more than 2^64 sequences"))
        };
        let total = sum(|manifest| manifest.records.written)?;
        let (rows, used) = (sum(|manifest| manifest.rows)?, sum(|manifest| manifest.used)?);
        let of_padding = |manifest: &RowsManifest| manifest.padding.map_or(0, |p| p.tokens);
        let are_padded = manifests.iter().any(|manifest| manifest.padding.is_some());
        let padding = are_padded.then(|| sum(of_padding)).transpose()?;
        let run = slice.map_or(0..total, |slice| slice.of(total));
        let row_length = |manifest: &RowsManifest| manifest.packing().row_length().map(u64::from);
        let header = |manifest: RowsManifest| {
            let RowsManifest { parameters, provenance, .. } = manifest;
            Header { parameters, provenance, ..Header::of_record(&TOKENS) }
        };
        let mut all = manifests.into_iter();
        let first = all.next().ok_or_else(|| Error::usage("no file is named"))?;
        let keep_eod = first.keep_eod;
        let (mut form, mut seq_length) = (Some(first.form), row_length(&first));
        let mut first = header(first);
        for (path, next) in paths.iter().skip(1).zip(all) {
            form = form.filter(|form| *form == next.form);
            seq_length = seq_length.filter(|length| row_length(&next) == Some(*length));
            let next = header(next);
            let stated = [&first, &next].map(|header| header.parameters.value(&TOKENIZER));
            refuse_two(stated).at(path.as_path())?;
            first = first.and(&next);
        }
        let is_whole = slice.is_none();
        let [rows, used, padding] =
            [Some(rows), Some(used), padding].map(|sum| sum.filter(|_| is_whole));
        first.set(&ALIGNMENT, Alignment::Label);
        let name = form.map(|form| form.name().to_string());
        first.set(&PACKED, StatedRows { form: name, seq_length, rows, used, keep_eod, padding });
        let waiting = paths.iter().cloned().collect();
        let (header, current, runs) = (first, None, WantedRuns::new(run));
        Ok(RowsReader { waiting, header, form, current, is_whole, runs })
    }

    /// Fails if sequences or pieces are left in the files.
    fn confirm_end(&mut self) -> Result<()> {
        loop {
            let Some(mut open) = self.current.take() else {
                let Some(path) = self.waiting.pop_front() else { return Ok(()) };
                self.current = Some(OpenFile::open(&path)?);
                continue;
            };
            if open.next_batch()?.is_some() {
                return Err(more_than_stated(&open.path));
            }
        }
    }
}

fn more_than_stated(path: &Path) -> Error {
    Error::data("has more sequences than it states").at(path)
}

impl RecordSource for RowsReader {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(&TOKENS))
    }

    fn begin(&mut self, _: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        Ok((self.header.clone(), TOKENS.schema()))
    }

    fn records(&self) -> Option<u64> {
        Some(self.runs.count())
    }

    fn next(
        &mut self,
        _wanted: Option<&WantedRecords>,
        _schema: &SchemaRef,
        _most: u64,
    ) -> Result<Option<Batch>> {
        loop {
            let Some(end) = self.runs.end() else {
                if std::mem::take(&mut self.is_whole) {
                    self.confirm_end()?;
                }
                return Ok(None);
            };
            let Some(open) = &mut self.current else {
                let Some(path) = self.waiting.pop_front() else { return Ok(None) };
                self.current = Some(OpenFile::open(&path)?);
                continue;
            };
            let Some((records, origin)) = open.next_batch()? else {
                self.current = None;
                continue;
            };
            let rows = self.runs.pass(records.num_rows());
            if self.is_whole && self.runs.next() > end {
                return Err(more_than_stated(&open.path));
            }
            if self.runs.next() >= end && !self.is_whole {
                (self.current, self.waiting) = (None, VecDeque::new());
            }
            if rows.is_empty() {
                continue;
            }
            let mut batch = Batch::of_records(records, origin);
            batch.keep_rows(&rows)?;
            return Ok(Some(batch));
        }
    }

    fn read_runs(&mut self, runs: &[Range<u64>]) -> Result<bool> {
        self.is_whole = false;
        self.runs.take(runs);
        Ok(true)
    }

    fn encoding(&self) -> String {
        match self.form {
            Some(form) => format!("rows ({})", form.name()),
            None => "rows".to_string(),
        }
    }
}

impl OpenFile {
    fn open(path: &Path) -> Result<OpenFile> {
        let (opened, manifest) = OpenedRows::open(path)?;
        let batches = opened.rows(0..manifest.rows)?;
        let spans = Spans::stated(&manifest.parameters);
        let name = path.file_name().unwrap_or_default().to_string_lossy().as_ref().into();
        let (parts, segments) = (HashMap::new(), Segments::default());
        let stored = SegmentReader::open(&opened)?;
        let (path, row, record) = (path.to_path_buf(), 0, 0);
        Ok(OpenFile { path, name, manifest, batches, row, record, spans, parts, segments, stored })
    }

    /// Reads the sequences of some rows; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<(RecordBatch, Origin)>> {
        let mut builder = TokensBuilder::masked();
        let source: Arc<str> = shown(&self.path).into();
        let first = self.record + 1;
        let mut remarks = Vec::new();
        while builder.tokens.len() < BATCH_TOKENS {
            let Some(batch) = self.batches.next() else { break };
            let batch = batch.at(self.path.as_path())?;
            let bad = |cause: String| Error::data(cause).at(self.path.as_path());
            let columns = (self.manifest.form, self.manifest.padding.is_some());
            let rows = DecodedRows::of(&batch, columns).map_err(bad)?;
            for row in 0..rows.len() {
                let at = |cause: String| bad(format!("row {}: {cause}", self.row));
                let pieces = rows.pieces(row).map_err(at)?;
                let (count, row) = (pieces.len(), self.row);
                for piece in pieces {
                    let positions = piece.at..piece.at + piece.tokens.len();
                    let stored = self.stored.as_mut().map(SegmentReader::next_piece).transpose()?;
                    let of = (&piece, stored);
                    let joined = join(&mut self.parts, &self.manifest, of, row).map_err(at)?;
                    let Some((sequence, is_whole, others)) = joined else { continue };
                    remarks.push(match others.as_slice() {
                        [] => remark((row, piece.number, count), &positions),
                        rows => format!("rows {}: a piece in each", rows_in_words(rows)),
                    });
                    let name: &str = &self.name;
                    let identity =
                        Identity { id: sequence.id.as_deref(), input: Some(name), row: Some(row) };
                    let has_eod = self.manifest.keep_eod || !is_whole;
                    let parts = (self.spans.as_ref(), &mut self.segments);
                    let aligned = self.manifest.form.is_token_aligned();
                    add_record(&mut builder, &sequence, (has_eod, aligned), identity, parts)?;
                    self.record += 1;
                }
                self.row += 1;
            }
        }
        if builder.is_empty() {
            return match self.parts.keys().min() {
                Some(sequence) => {
                    let cause = format!("sequence {sequence} is not whole: pieces are missing");
                    Err(Error::data(cause).at(self.path.as_path()))
                }
                None => Ok(None),
            };
        }
        let origin = Origin::numbered(source, first).with_remarks(remarks);
        Ok(Some((builder.finish()?, origin)))
    }
}

fn rows_in_words(rows: &[u64]) -> String {
    let words: Vec<String> = rows.iter().map(u64::to_string).collect();
    words.join(", ")
}

/// A sequence, whether it is complete except for its end of document, and the rows of its pieces if
/// there are several.
type JoinedSequence = (Sequence, bool, Vec<u64>);

/// Adds a piece of a row; returns the sequence that it completes.
fn join(
    parts: &mut HashMap<i64, PartialSequence>,
    manifest: &RowsManifest,
    (piece, stored): (&RowPiece<'_>, Option<PieceSegments>),
    row: u64,
) -> std::result::Result<Option<JoinedSequence>, String> {
    let sequence = Sequence::of(piece, stored);
    let whole = Vec::new();
    let Some((number, start, left)) = piece.place else { return Ok(Some((sequence, true, whole))) };
    let is_cut = manifest.overflow == Overflow::Cut;
    if start == 0 && (left == 0 || is_cut) {
        return Ok(Some((sequence, left == 0, whole)));
    }
    let all = i64::from(start) + piece.tokens.len() as i64 + i64::from(left);
    let joining = parts.entry(number).or_default();
    joining.tokens += piece.tokens.len();
    joining.pieces.push((start, sequence));
    joining.rows.push(row);
    if (joining.tokens as i64) < all {
        return Ok(None);
    }
    let PartialSequence { mut pieces, rows, .. } = parts.remove(&number).unwrap_or_default();
    pieces.sort_by_key(|(start, _)| *start);
    let mut whole: Option<Sequence> = None;
    for (start, piece) in pieces {
        let before = whole.as_ref().map_or(0, |whole| whole.tokens.len());
        if usize::try_from(start).ok() != Some(before) {
            return Err(format!("the pieces of sequence {number} are not one line"));
        }
        match &mut whole {
            Some(whole) => whole.goes_on(piece),
            None => whole = Some(piece),
        }
    }
    Ok(whole.map(|whole| (whole, true, rows)))
}

/// Adds a sequence with masks of the next token, and the end of its document if it is missing.
fn add_record(
    builder: &mut TokensBuilder,
    sequence: &Sequence,
    (has_eod, is_token_aligned): (bool, bool),
    identity: Identity<'_>,
    (spans, segments): (Option<&Spans>, &mut Segments),
) -> Result<()> {
    let begin = builder.tokens.len();
    builder.tokens.extend_from_slice(&sequence.tokens);
    builder.tokens.extend((!has_eod).then_some(EOD));
    let length = builder.tokens.len() - begin;
    let aligned = |values: &[u8], into: &mut Vec<u8>| {
        let from = usize::from(is_token_aligned).min(values.len());
        into.extend_from_slice(&values[from..]);
        into.resize(begin + length, 0);
    };
    aligned(&sequence.mask, &mut builder.loss_mask);
    segments.clear();
    let stored = sequence.stored();
    let weighted = spans.filter(|_| stored.is_none());
    let messages: Option<Vec<Segment<'_>>> = stored.or_else(|| {
        let known = segments_of(&builder.tokens[begin..], segments).is_ok();
        known.then(|| segments.records().collect())
    });
    match (&sequence.spans, spans) {
        (Some(own), _) => aligned(own, &mut builder.span_id),
        (None, spans) => {
            let mut ids = Vec::new();
            let mask = &builder.loss_mask[begin..];
            let made = spans.zip(messages.as_ref()).map(|(spans, messages)| {
                let messages = messages.iter().copied();
                spans.append_weighted(messages, mask, Alignment::Label, &mut ids)
            });
            // A token has a span if and only if it is trained on.
            let fits = |ids: &[u8]| ids.iter().zip(mask).all(|(id, mask)| (*id > 0) == (*mask > 0));
            if !matches!(made, Some(Ok(()))) || ids.len() != length || !fits(&ids) {
                ids.clear();
                builder.span_is_unknown();
            }
            builder.span_id.extend_from_slice(&ids);
            builder.span_id.resize(begin + length, 0);
        }
    }
    match messages {
        Some(messages) => {
            add_segments(builder, begin, messages.iter().copied(), weighted);
            builder.finish_record(identity)?;
        }
        None => builder.finish_record_without_segments(identity)?,
    }
    Ok(())
}
