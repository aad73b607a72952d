//! Reading records: inputs one after another, whatever their encoding, as batches of one schema.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_schema::{Schema, SchemaRef};
use serde_json::Value;

use super::arrow_source::ArrowSource;
use super::batch::{Batch, Wanted};
use super::header::Header;
use super::input::{Content, Input};
use super::ndjson_source::NdjsonSource;
use super::parquet_source::{ParquetSource, describe_parquet};
use super::slices::cut_inputs;
use crate::cli::{Error, InputArgs, Result};
use crate::record::RecordType;

/// One opened input.
pub(super) trait Source: Send {
    /// The type of the records, by the first of them or the header, or `default` where these do
    /// not tell; `None` where there is neither. Before `begin`.
    fn record(&mut self, default: &'static RecordType) -> Result<Option<&'static RecordType>> {
        Ok(Some(default))
    }

    /// Looks at the header and the schema before any record is asked for.
    fn begin(&mut self, wanted: Option<&Wanted>) -> Result<(Header, SchemaRef)>;

    /// The next batch in the schema given; `None` at the end.
    fn next(&mut self, wanted: Option<&Wanted>, schema: &SchemaRef) -> Result<Option<Batch>>;

    /// Records that the filters before have dropped, as far as they have told by now.
    fn rejected(&self) -> u64 {
        0
    }
}

/// Reads the records of all inputs, in order.
pub struct Reader {
    /// `None`: whatever comes is taken as it is.
    wanted: Option<Wanted>,
    waiting: VecDeque<(PathBuf, Option<Range<u64>>)>,
    current: Option<Box<dyn Source>>,
    header: Header,
    schema: SchemaRef,
    sources: Vec<Value>,
    total: Option<u64>,
    /// How many more records may be handed out.
    left: u64,
    /// Records that were dropped before those of the inputs that are done with.
    rejected: u64,
}

impl Reader {
    /// Opens the first input, so that the header and what is wrong with the pipe are known early.
    pub fn open(args: &InputArgs, wanted: Wanted) -> Result<Reader> {
        Reader::start(args, |_| Ok(Some(wanted)))
    }

    /// Opens records of one of these types: that of the first input, the first where it does not
    /// tell (its first lines are bad). The type is `None` where that input is empty.
    pub fn open_one_of(
        args: &InputArgs,
        records: &[&'static RecordType],
    ) -> Result<(Reader, Option<&'static RecordType>)> {
        let [first, ..] = records else { return Err(Error::usage("no record type is wanted")) };
        let mut found = None;
        let reader = Reader::start(args, |source| {
            found = source.map_or(Ok(None), |source| source.record(first))?;
            let is_found = |record: &&&RecordType| found.is_some_and(|f| f.name == record.name);
            Ok(Some(Wanted::records(records.iter().find(is_found).unwrap_or(first))))
        })?;
        Ok((reader, found))
    }

    /// Reads records of any type, and Parquet files of any schema. All inputs must have the
    /// schema of the first.
    pub fn open_any(args: &InputArgs) -> Result<Reader> {
        Reader::start(args, |_| Ok(None))
    }

    /// `choose` says what is wanted, once the first input is open.
    fn start(
        args: &InputArgs,
        choose: impl FnOnce(Option<&mut Box<dyn Source>>) -> Result<Option<Wanted>>,
    ) -> Result<Reader> {
        let files =
            if args.files.is_empty() { vec![PathBuf::from("-")] } else { args.files.clone() };
        let sources = describe_parquet_files(&files);
        let mut total = match sources.len() == files.len() {
            true => sources.iter().map(|source| source["rows"].as_u64()).sum(),
            false => None,
        };
        let waiting = match args.slice {
            Some(slice) => cut_inputs(&files, slice, &mut total)?,
            None => files.into_iter().map(|path| (path, None)).collect(),
        };
        let mut reader = Reader {
            wanted: None,
            waiting,
            current: None,
            header: Header::default(),
            schema: SchemaRef::new(Schema::empty()),
            sources,
            total,
            left: u64::MAX,
            rejected: 0,
        };
        reader.advance()?;
        reader.wanted = choose(reader.current.as_mut())?;
        if let Some(wanted) = &reader.wanted {
            reader.schema = wanted.schema.clone();
        }
        if let Some(current) = &mut reader.current {
            let (header, schema) = current.begin(reader.wanted.as_ref())?;
            reader.header = header;
            if reader.wanted.is_none() {
                reader.schema = schema;
            }
        }
        Ok(reader)
    }

    /// Hands out the first `records` records only.
    pub fn limited(mut self, records: Option<u64>) -> Reader {
        self.left = records.unwrap_or(u64::MAX);
        self.total = self.total.map(|total| total.min(self.left));
        self
    }

    /// Reads these columns only, a part of [`Reader::schema`]; before the first batch.
    pub fn select(&mut self, schema: SchemaRef) {
        self.schema = schema;
    }

    /// The header of the first input.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many records there are, where that is known beforehand (Parquet).
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// What identifies the Parquet files among the inputs: name, size, rows, footer hash.
    pub fn sources(&self) -> &[Value] {
        &self.sources
    }

    /// How many records the filters before this one have dropped; known behind the last batch, and
    /// only where the inputs are Arrow streams.
    pub fn rejected(&self) -> u64 {
        self.rejected + self.current.as_ref().map_or(0, |current| current.rejected())
    }

    /// The next batch; it may have no rows. `None` behind the last record of the last input.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        loop {
            let Some(current) = self.current.as_mut().filter(|_| self.left > 0) else {
                return Ok(None);
            };
            match current.next(self.wanted.as_ref(), &self.schema)? {
                Some(mut batch) => {
                    self.left -= batch.truncate(self.left);
                    return Ok(Some(batch));
                }
                None => self.advance()?,
            }
        }
    }

    fn advance(&mut self) -> Result<()> {
        self.rejected = self.rejected();
        self.current = match self.waiting.pop_front() {
            Some((path, range)) => Some(open(&path, range)?),
            None => None,
        };
        Ok(())
    }
}

impl Iterator for Reader {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        self.next_batch().transpose()
    }
}

fn open(path: &Path, range: Option<Range<u64>>) -> Result<Box<dyn Source>> {
    let input = Input::open(path)?;
    Ok(match input.content {
        Content::Ndjson(bytes) => {
            Box::new(NdjsonSource::open(input.name, input.is_stdin, bytes, path, range)?)
        }
        Content::Arrow(bytes) => {
            Box::new(ArrowSource::open(input.name, input.is_stdin, bytes, range))
        }
        Content::Parquet(file) => Box::new(ParquetSource::open(input.name, file, range)?),
    })
}

/// The descriptions of those inputs that are Parquet files. One that cannot be opened has its
/// error when it is read.
fn describe_parquet_files(files: &[PathBuf]) -> Vec<Value> {
    let regular = |path: &&PathBuf| path.as_os_str() != "-" && path.is_file();
    files.iter().filter(regular).filter_map(|path| describe_parquet(path).ok()).collect()
}
