//! Reads files of pairs back.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;

use super::manifest::{KEY, PairRowsManifest, SCHEMA};
use super::{PairForm, pairs_of};
use crate::batch::{Batch, Header, Origin, RecordSource, WantedRecords};
use crate::cli::Slice;
use crate::error::{At, Error, Result, shown};
use crate::format::parquet::{ParquetBatches, ParquetFile, Text};
use crate::format::runs::WantedRuns;
use crate::format::{checked_sum, json_file};
use crate::model::refuse_two;
use crate::record::statements::TOKENIZER;
use crate::record::{PAIR, RecordType};
use crate::wording::exactly;

/// A file of pairs, and the text of its manifest.
pub struct OpenedPairRows {
    pub path: PathBuf,
    pub file: ParquetFile,
    manifest: String,
}

impl OpenedPairRows {
    /// Opens a file if it is one of ours. A file that is not Parquet is reported elsewhere.
    pub fn if_rows(path: &Path) -> Result<Option<OpenedPairRows>> {
        let opened = ParquetFile::if_stating(path, KEY)?;
        let path = path.to_path_buf();
        Ok(opened.map(|(file, manifest)| OpenedPairRows { path, file, manifest }))
    }

    /// Reads the manifest; the error is of the kind `Data`.
    pub fn manifest(&self) -> Result<PairRowsManifest> {
        let bad = |cause: String| Error::data(format!("{KEY}: {cause}")).at(self.path.as_path());
        let manifest: PairRowsManifest =
            json_file::parse(self.manifest.as_bytes()).map_err(|e| bad(e.to_string()))?;
        if let Some(cause) = json_file::other_schema(&manifest.schema_version, SCHEMA) {
            return Err(bad(format!("schema_version {cause}")));
        }
        let wanted = manifest.form.schema(false);
        let is_there = |name: &str| self.file.schema().column_with_name(name).is_some();
        match wanted.fields().iter().find(|field| !is_there(field.name())) {
            Some(field) => Err(bad(format!(
                "the file has no column {}, as --form {} has it",
                field.name(),
                manifest.form.name()
            ))),
            None => Ok(manifest),
        }
    }

    /// Reads the blocks of rows as pairs.
    pub fn blocks(self, form: PairForm) -> PairBlocks {
        // (The rows of a pair are in one block.)
        let sizes: Vec<u64> = match form.rows_of_pair() {
            1 => vec![self.file.rows()],
            _ => self.file.row_group_sizes().map(|(rows, _)| rows).collect(),
        };
        let mut start = 0;
        let ranges = sizes.into_iter().map(|rows| {
            start += rows;
            start - rows..start
        });
        let ranges = ranges.collect();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().as_ref().into();
        PairBlocks { opened: self, form, name, ranges, batches: None, row: 0 }
    }
}

/// The blocks of a file.
pub struct PairBlocks {
    opened: OpenedPairRows,
    form: PairForm,
    name: Arc<str>,
    ranges: VecDeque<Range<u64>>,
    batches: Option<ParquetBatches>,
    /// The number of the next row.
    row: u64,
}

impl PairBlocks {
    /// Returns the next rows.
    fn rows(&mut self) -> Result<Option<RecordBatch>> {
        let path = self.opened.path.clone();
        loop {
            let Some(batches) = &mut self.batches else {
                let Some(range) = self.ranges.pop_front() else { return Ok(None) };
                let read = self.opened.file.read(std::slice::from_ref(&range), None, Text::Plain);
                self.batches = Some(read.at(path.as_path())?);
                continue;
            };
            if self.form.rows_of_pair() == 1 {
                match batches.next() {
                    Some(rows) => return rows.at(path.as_path()).map(Some),
                    None => self.batches = None,
                }
                continue;
            }
            let all = batches.collect::<std::result::Result<Vec<_>, _>>().at(path.as_path())?;
            self.batches = None;
            if let Some(first) = all.first() {
                return Ok(Some(concat_batches(&first.schema(), &all)?));
            }
        }
    }
}

/// Batches of pairs, with the numbers of their first rows.
impl Iterator for PairBlocks {
    type Item = Result<(u64, RecordBatch)>;

    fn next(&mut self) -> Option<Result<(u64, RecordBatch)>> {
        let rows = match self.rows() {
            Ok(rows) => rows?,
            Err(error) => return Some(Err(error)),
        };
        let first = self.row;
        self.row += rows.num_rows() as u64;
        let pairs = pairs_of(&rows, self.form, (&*self.name, first));
        let bad = |cause| Error::data(format!("from row {first} on: {cause}"));
        Some(pairs.map(|pairs| (first, pairs)).map_err(|e| bad(e).at(self.opened.path.as_path())))
    }
}

/// Reads files of pairs one after another.
pub(super) struct PairRowsReader {
    waiting: VecDeque<PathBuf>,
    /// What the files state, as far as all state the same.
    header: Header,
    /// The form, if all files have the same.
    form: Option<PairForm>,
    current: Option<(PairBlocks, u64)>,
    /// The pairs that are read.
    runs: WantedRuns,
    /// Whether all pairs are read: then no other may follow.
    is_whole: bool,
}

fn open(path: &Path) -> Result<(OpenedPairRows, PairRowsManifest)> {
    let opened = OpenedPairRows::if_rows(path)?;
    let opened = opened.ok_or_else(|| Error::usage("is no file of pairs").at(path))?;
    let manifest = opened.manifest()?;
    let rows = opened.file.rows();
    let stated = manifest.pairs.checked_mul(manifest.form.rows_of_pair());
    if Some(rows) != stated || rows != manifest.rows {
        let (rows, pairs) = (exactly(rows, "row"), exactly(manifest.pairs, "pair"));
        return Err(Error::data(format!("has {rows}; it states {pairs}")).at(path));
    }
    Ok((opened, manifest))
}

impl PairRowsReader {
    /// Opens files of pairs, or a slice of the pairs of all files together.
    pub fn open(paths: &[PathBuf], slice: Option<Slice>) -> Result<PairRowsReader> {
        let mut stated: Option<(Header, Option<PairForm>)> = None;
        let mut pairs = Vec::new();
        for path in paths {
            let (_, manifest) = open(path)?;
            pairs.push(manifest.pairs);
            let PairRowsManifest { form, parameters, provenance, .. } = manifest;
            let own = Header { parameters, provenance, ..Header::of_record(&PAIR) };
            stated = Some(match stated {
                None => (own, Some(form)),
                Some((header, before)) => {
                    let both = [&header, &own].map(|header| header.parameters.value(&TOKENIZER));
                    refuse_two(both).at(path.as_path())?;
                    (header.and(&own), before.filter(|before| *before == form))
                }
            });
        }
        let total = checked_sum(pairs.into_iter());
        let total = total.ok_or_else(|| Error::data("more than 2^64 pairs"))?;
        let (header, form) = stated.ok_or_else(|| Error::usage("no file is named"))?;
        let runs = WantedRuns::new(slice.map_or(0..total, |slice| slice.of(total)));
        let waiting = paths.iter().cloned().collect();
        let (current, is_whole) = (None, slice.is_none());
        Ok(PairRowsReader { waiting, header, form, current, runs, is_whole })
    }

    /// Returns the next batch, with the name of its file and its number there.
    fn batch(&mut self) -> Result<Option<(RecordBatch, Origin)>> {
        loop {
            if let Some((blocks, count)) = &mut self.current {
                if let Some(next) = blocks.next() {
                    let (_, pairs) = next?;
                    let source: Arc<str> = shown(&blocks.opened.path).into();
                    let origin = Origin::numbered(source, *count + 1);
                    *count += pairs.num_rows() as u64;
                    return Ok(Some((pairs, origin)));
                }
                self.current = None;
            }
            let Some(path) = self.waiting.pop_front() else { return Ok(None) };
            let (opened, manifest) = open(&path)?;
            self.current = Some((opened.blocks(manifest.form), 0));
        }
    }
}

impl RecordSource for PairRowsReader {
    fn record(&mut self, _: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(&PAIR))
    }

    fn begin(&mut self, _: Option<&WantedRecords>) -> Result<(Header, SchemaRef)> {
        Ok((self.header.clone(), PAIR.schema()))
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
            if self.runs.end().is_none() {
                if std::mem::take(&mut self.is_whole)
                    && let Some((_, origin)) = self.batch()?
                {
                    let cause = "has more pairs than it states";
                    return Err(Error::data(cause).at(origin.place(0)));
                }
                return Ok(None);
            }
            let Some((pairs, origin)) = self.batch()? else { return Ok(None) };
            let rows = self.runs.pass(pairs.num_rows());
            if rows.is_empty() {
                continue;
            }
            let mut batch = Batch::of_records(pairs, origin);
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
            Some(form) => format!("pairs ({})", form.name()),
            None => "pairs".to_string(),
        }
    }
}
