//! The ids files beside the triples: one row for each sequence says which record it is. The columns
//! are in `lib/tokens/record/ids.rs`; FORMAT.md says where the files are.
//!
//! The bytes of a file depend only on the rows, not on the batches in which they came: pages and row
//! groups end after fixed numbers of rows and of bytes of ids.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryViewArray, RecordBatch, new_null_array};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;

use super::place::PlaceInRoot;
use crate::cli::runs_within;
use crate::error::{At, Error, Kind, Result, shown};
use crate::files;
use crate::format::hashed_file::{FinishedFile, HashedFile};
use crate::format::mmidx::with_suffix;
use crate::format::parquet::{
    ParquetBatches, ParquetFile, ROW_GROUP_BYTES, Text, finished, write_error, writer_properties,
};
use crate::panics::caught;
use crate::record::declare::ColumnBuilder;
use crate::record::ids::{IdBuilder, IdColumns, SEGMENTS, schema};
use crate::record::tokens::{Identity, Segment};
use crate::wording::exactly;

/// The key of the ids file among the files of a split in manifests.
pub const IDS: &str = "ids";
/// The most rows, and bytes of text, that are given to the encoder at once.
const CHUNK_ROWS: usize = 1 << 13;
const CHUNK_BYTES: usize = 1 << 20;
/// The most rows in a row group.
const ROW_GROUP_ROWS: usize = 1 << 17;
/// The column of ids.
const ID: &str = "id";
/// How often the Bloom filter of a row group may wrongly say that the group has an id. A filter costs
/// a byte for each id; a wrong answer costs the decoding of a row group.
const FALSE_POSITIVES: f64 = 0.05;

/// Returns the path of the ids file of a prefix outside a root.
pub fn ids_beside(prefix: &Path) -> PathBuf {
    with_suffix(prefix, "_ids.parquet")
}

/// Returns the path of the ids file of a root's shard.
pub fn ids_in_root(root: &Path, split: &str, name: &str) -> PathBuf {
    root.join(IDS).join(split).join(format!("{name}.parquet"))
}

/// Returns the ids file of a prefix, beside it or in the `ids` of its root, if there is one.
pub fn find_ids(prefix: &Path) -> Result<Option<PathBuf>> {
    let mut places = vec![ids_beside(prefix)];
    let in_root = PlaceInRoot::of(prefix)?;
    places.extend(in_root.map(|place| ids_in_root(&place.root, place.split, &place.name)));
    Ok(files::find(&places, |path| files::is_member(path))?.cloned())
}

/// Writes the ids of one split; creates the file.
pub struct IdsWriter {
    writer: ArrowWriter<HashedFile>,
    path: String,
    /// Rows that wait for the encoder.
    waiting: IdBuilder,
    with_segments: bool,
    /// Rows in the row group.
    rows: usize,
    bytes: usize,
}

impl IdsWriter {
    /// Creates the file, with or without a column of segments.
    pub fn create(path: &Path, with_segments: bool) -> Result<IdsWriter> {
        let file = HashedFile::create(path)?;
        let path = shown(path);
        // A row group of few ids has all of them in its dictionary, and needs no filter.
        let properties = writer_properties()
            .set_max_row_group_row_count(None)
            .set_column_bloom_filter_fpp(ID.into(), FALSE_POSITIVES)
            .set_column_bloom_filter_max_ndv(ID.into(), ROW_GROUP_ROWS as u64)
            .build();
        let schema = SchemaRef::new(schema(with_segments));
        let writer = ArrowWriter::try_new(file, schema, Some(properties));
        let writer = writer.map_err(|e| write_error(&path, e))?;
        let waiting = IdBuilder::default();
        Ok(IdsWriter { writer, path, waiting, with_segments, rows: 0, bytes: 0 })
    }

    /// Adds a sequence of `tokens` tokens.
    pub fn push<'a>(
        &mut self,
        identity: Identity<'_>,
        tokens: i32,
        segments: Option<impl Iterator<Item = Segment<'a>>>,
    ) -> Result<()> {
        self.waiting.push(identity, tokens, segments.filter(|_| self.with_segments));
        let text = self.waiting.id.bytes.len() + self.waiting.input.bytes.len();
        if self.waiting.rows() >= CHUNK_ROWS || text >= CHUNK_BYTES {
            self.encode()
        } else {
            Ok(())
        }
    }

    fn encode(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        self.rows += rows.rows();
        self.bytes += rows.id.bytes.len() + rows.input.bytes.len();
        let failed = |e| write_error(&self.path, e);
        let rows = rows.finish(self.with_segments)?;
        // (zstd panics if it gets no memory.)
        caught(|| self.writer.write(&rows)).map_err(Error::data)?.map_err(failed)?;
        if self.rows >= ROW_GROUP_ROWS || self.bytes >= ROW_GROUP_BYTES {
            caught(|| self.writer.flush()).map_err(Error::data)?.map_err(failed)?;
            (self.rows, self.bytes) = (0, 0);
        }
        Ok(())
    }

    /// Completes the file; it is not published.
    pub fn finish(mut self) -> Result<FinishedFile> {
        self.encode()?;
        let IdsWriter { writer, path, .. } = self;
        caught(|| finished(writer, &path)).map_err(Error::data)??.finish()
    }
}

/// An ids file.
#[derive(Debug)]
pub struct IdsFile {
    path: PathBuf,
    file: ParquetFile,
}

impl IdsFile {
    /// Opens a file; the error is of the kind `Data` if it is not an ids file.
    pub fn open(path: &Path) -> Result<IdsFile> {
        let file = ParquetFile::of_member(path)?;
        let there = file.schema();
        let schema = schema(has_segments(there));
        let known = |name: &String| there.field_with_name(name).map(|field| field.data_type());
        for field in schema.fields() {
            if !known(field.name()).is_ok_and(|found| found.equals_datatype(field.data_type())) {
                let wanted = field.data_type().to_string().to_lowercase();
                let cause = format!("is no ids file: no column {} of {wanted}", field.name());
                return Err(Error::data(cause).at(path));
            }
        }
        Ok(IdsFile { path: path.to_path_buf(), file })
    }

    /// Opens a file if it has the columns of an ids file and no others. Damage is reported
    /// elsewhere.
    pub fn if_ids(path: &Path) -> Result<Option<IdsFile>> {
        if path.extension().is_none_or(|ending| ending != "parquet") || !files::is_file(path)? {
            return Ok(None);
        }
        match IdsFile::open(path) {
            Ok(ids) => {
                let columns = schema(ids.has_segments()).fields().len();
                Ok(Some(ids).filter(|ids| ids.file.schema().fields().len() == columns))
            }
            Err(error) if error.kind() == Kind::Data => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of sequences.
    pub fn rows(&self) -> u64 {
        self.file.rows()
    }

    /// Whether it has the messages of the sequences.
    pub fn has_segments(&self) -> bool {
        has_segments(self.file.schema())
    }

    /// Returns the file if it has this number of sequences; else it is bad data.
    pub fn of_sequences(self, sequences: u64) -> Result<IdsFile> {
        match self.rows() {
            rows if rows == sequences => Ok(self),
            rows => {
                let cause = format!(
                    "has {rows}; there are {sequences}",
                    rows = exactly(rows, "row"),
                    sequences = exactly(sequences, "sequence")
                );
                Err(Error::data(cause).at(self.path()))
            }
        }
    }

    /// Checks the pages beyond what reading the rows checks.
    pub fn check_pages(&self) -> Result<()> {
        self.file.check_pages().at(self.path())
    }

    /// Reads the rows of ascending runs, one after another.
    pub fn read(&self, runs: &[Range<u64>]) -> Result<IdRows> {
        let schema = schema(self.has_segments());
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let batches = self.batches(runs, &names, Text::Plain)?;
        let batch = RecordBatch::new_empty(SchemaRef::new(schema));
        let numbers = runs.iter().cloned().collect();
        Ok(IdRows { path: self.path.clone(), batches, batch, row: 0, numbers })
    }

    /// Returns the rows of a range that have one of these ids, with the id. Only the row groups
    /// that may have one are decoded, and texts are compared in the decoder's memory.
    pub fn find(&self, ids: &HashSet<&str>, rows: Range<u64>) -> Result<Vec<(u64, String)>> {
        let texts: Vec<&str> = ids.iter().copied().collect();
        let groups = self.file.may_hold(ID, &texts);
        let groups = groups.at(self.path())?;
        let mut found = Vec::new();
        for run in runs_within(&groups, &rows) {
            let run = rows.start + run.start..rows.start + run.end;
            let mut first = run.start;
            for batch in self.batches(&[run], &[ID.to_string()], Text::Short)? {
                let batch = batch.at(self.path())?;
                let column = batch.columns().first().and_then(|column| column.as_binary_view_opt());
                let column = column.ok_or_else(|| Error::data("has no ids").at(self.path()))?;
                for id in ids {
                    let rows = rows_with(id, column).map(|row| first + row as u64);
                    found.extend(rows.map(|row| (row, id.to_string())));
                }
                first += column.len() as u64;
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn batches(
        &self,
        runs: &[Range<u64>],
        columns: &[String],
        text: Text,
    ) -> Result<ParquetBatches> {
        let batches = self.file.read(runs, Some(columns), text);
        batches.at(self.path())
    }
}

fn has_segments(schema: &Schema) -> bool {
    schema.column_with_name(SEGMENTS).is_some()
}

/// Returns a batch of an ids file with segments, which are null if the file has none.
fn with_segments(batch: RecordBatch) -> Result<RecordBatch> {
    if has_segments(batch.schema_ref()) {
        return Ok(batch);
    }
    let schema = SchemaRef::new(schema(true));
    let last =
        schema.fields().last().map(|field| new_null_array(field.data_type(), batch.num_rows()));
    let columns = batch.columns().iter().cloned().chain(last).collect();
    Ok(RecordBatch::try_new(schema, columns)?)
}

/// Returns the rows of a column that hold an id.
fn rows_with(id: &str, column: &BinaryViewArray) -> impl Iterator<Item = usize> {
    // Length and first bytes are in the view; ids of one dataset differ at their end.
    let end = id.as_bytes().last_chunk::<8>();
    column.iter().enumerate().filter_map(move |(row, other)| {
        let other = other.filter(|other| other.len() == id.len())?;
        (other.last_chunk::<8>() == end && other == id.as_bytes()).then_some(row)
    })
}

/// The rows of an ids file, one after another.
pub struct IdRows {
    path: PathBuf,
    batches: ParquetBatches,
    batch: RecordBatch,
    /// The next row of the batch.
    row: usize,
    /// The numbers of this row and the later ones in the file.
    numbers: VecDeque<Range<u64>>,
}

impl std::fmt::Debug for IdRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdRows").field("path", &self.path).field("rows", &self.numbers).finish()
    }
}

impl IdRows {
    /// Returns the number of the next row in the file.
    fn number(&self) -> u64 {
        self.numbers.front().map_or(0, |run| run.start)
    }

    /// Calls `each` with the columns in which the next row is, and its place there.
    pub fn next<R>(&mut self, each: impl FnOnce(&IdColumns<'_>, usize) -> R) -> Result<R> {
        while self.row >= self.batch.num_rows() {
            let Some(batch) = self.batches.next() else {
                let cause = format!("ends at row {}; the file is damaged", self.number());
                return Err(Error::data(cause).at(self.path.as_path()));
            };
            self.batch = with_segments(batch.at(self.path.as_path())?)?;
            self.row = 0;
        }
        let columns = IdColumns::of(&self.batch)?;
        let row = self.row;
        self.row += 1;
        if let Some(run) = self.numbers.front_mut() {
            run.start += 1;
            if run.is_empty() {
                self.numbers.pop_front();
            }
        }
        Ok(each(&columns, row))
    }

    /// Does the same for a row that must be of a sequence of `length` tokens; another number of tokens is bad data.
    pub fn next_of<R>(
        &mut self,
        length: i32,
        each: impl FnOnce(&IdColumns<'_>, usize) -> R,
    ) -> Result<R> {
        let number = self.number();
        let (tokens, answer) =
            self.next(|columns, row| (columns.tokens.get(row).unwrap_or(-1), each(columns, row)))?;
        if tokens != length {
            let cause = format!(
                "row {number} is of {tokens}, the sequence has {length}",
                tokens = exactly(tokens, "token")
            );
            return Err(Error::data(cause).at(self.path.as_path()));
        }
        Ok(answer)
    }
}
