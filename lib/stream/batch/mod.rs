//! What readers pass to filters: batches of records with their places, the header of a stream,
//! and the interfaces of everything that can be read as records.

mod counts;
mod header;
mod parameters;
mod pieces;
mod sink;
mod skipped;

use std::any::Any;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::take::take_record_batch;

use crate::cli::{RejectedContent, Rejection};
use crate::error::{Error, Place, Position, Result};
use crate::record::{LookAlike, RecordType, named_type_with, ndjson_name, record_type};
use crate::way_on;

pub use crate::statements;
pub use counts::{Counts, DroppedRecords, known_sum};
pub use header::{
    CUT_SHARD, Header, STATEMENTS, TokenizerLocation, file_metadata, input_manifest,
    manifest_sha256,
};
pub use parameters::{Parameters, Statement};
pub use pieces::{Pieces, TooLarge, row_sizes};
pub use sink::{Sink, SinkSummary};
pub use skipped::SkippedRecords;

/// The name of stdin in places.
pub const STDIN: &str = "stdin";

/// A batch of records and the places from which they come.
#[derive(Debug)]
pub struct Batch {
    pub records: RecordBatch,
    pub origin: Origin,
    /// Lines that are not records of the type, in their order.
    pub rejected: Vec<Rejection>,
    /// Records that were left out of the batch on purpose.
    pub skipped: SkippedRecords,
    /// The size of the input from which the batch was made.
    pub bytes: u64,
    /// The progress of the batch, if progress is not counted in records.
    pub progress: Option<u64>,
}

impl Batch {
    pub fn of_records(records: RecordBatch, origin: Origin) -> Batch {
        // The memory of the rows themselves, not of buffers that they share with other rows.
        let size = |column: &ArrayRef| match column.as_string_view_opt() {
            Some(views) => views.total_bytes_len(),
            None => column.to_data().get_slice_memory_size().unwrap_or(0),
        };
        let bytes = records.columns().iter().map(size).sum::<usize>() as u64;
        Batch { origin, bytes, ..Batch::empty(records) }
    }

    /// Makes a batch of records about which nothing is known.
    fn empty(records: RecordBatch) -> Batch {
        Batch {
            records,
            origin: Origin::default(),
            rejected: Vec::new(),
            skipped: SkippedRecords::default(),
            bytes: 0,
            progress: None,
        }
    }

    /// Makes a batch of records that were made, not read: they have no places.
    pub fn made(records: RecordBatch) -> Batch {
        let bytes = records.get_array_memory_size() as u64;
        Batch { bytes, ..Batch::empty(records) }
    }

    /// Makes a batch for a record that could not be made.
    pub fn of_rejection(schema: SchemaRef, rejection: Rejection) -> Batch {
        Batch { rejected: vec![rejection], ..Batch::made(RecordBatch::new_empty(schema)) }
    }

    /// Returns the number of records, without rejected ones.
    pub fn len(&self) -> usize {
        self.records.num_rows()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rejects one of the records.
    pub fn reject(&mut self, row: usize, id: Option<&str>, reason: String, input: RejectedContent) {
        let (place, id) = (self.origin.place(row), id.map(str::to_string));
        self.rejected.push(Rejection { place, id, reason, input });
    }

    /// Rejects one of the records; `to_json` makes the JSON of its row.
    pub fn reject_row(
        &mut self,
        (records, row): (&RecordBatch, usize),
        id: Option<&str>,
        reason: String,
        to_json: fn(&RecordBatch, usize) -> String,
    ) {
        let records = records.clone();
        self.reject(row, id, reason, RejectedContent::json(move || to_json(&records, row)));
    }

    /// Keeps the first `most` records, rejected ones counted too; returns how many there are now.
    pub fn truncate(&mut self, most: u64) -> u64 {
        let entries = self.entries().take(usize::try_from(most).unwrap_or(usize::MAX));
        let (rows, rejected) = entries.fold((0, 0), |(rows, rejected), entry| match entry {
            Entry::Row(_) => (rows + 1, rejected),
            Entry::Rejected(_) => (rows, rejected + 1),
        });
        self.records = self.records.slice(0, rows);
        self.rejected.truncate(rejected);
        (rows + rejected) as u64
    }

    /// Returns its records in the order in which they came, rejected ones among them.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let came = self.len();
        let (mut rows, mut rejected) = (0, 0);
        std::iter::from_fn(move || {
            let refused = self.rejected.get(rejected).map(|rejection| rejection.place.position);
            let is_row = match refused {
                None => rows < came,
                Some(refused) => rows < came && self.origin.place(rows).position < refused,
            };
            match (is_row, refused) {
                (true, _) => {
                    rows += 1;
                    Some(Entry::Row(rows - 1))
                }
                (false, Some(_)) => {
                    rejected += 1;
                    Some(Entry::Rejected(rejected - 1))
                }
                (false, None) => None,
            }
        })
    }

    /// Keeps only these rows, ascending.
    pub fn keep_rows(&mut self, rows: &[usize]) -> Result<()> {
        let (first, last) = (rows.first().copied().unwrap_or(0), rows.last().map_or(0, |r| r + 1));
        if rows.len() == self.len() {
            return Ok(());
        }
        self.records = if last - first == rows.len() {
            self.records.slice(first, rows.len())
        } else {
            let rows: UInt64Array = rows.iter().map(|&row| row as u64).collect();
            take_record_batch(&self.records, &rows)?
        };
        self.origin = self.origin.of_rows(rows);
        Ok(())
    }

    /// Ends the batch after the row `last` of `records`, which has no rejected rows any more. Rejected records after
    /// that row are removed, too.
    pub fn end_after(&mut self, last: usize) {
        let refused: HashSet<Position> =
            self.rejected.iter().map(|rejection| rejection.place.position).collect();
        let kept = (0..).map(|row| self.origin.place(row).position);
        let end = kept.filter(|position| !refused.contains(position)).nth(last);
        self.rejected.retain(|rejection| Some(rejection.place.position) < end);
        self.records = self.records.slice(0, last + 1);
    }
}

/// One of the records that came in a batch, by its index among its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Row(usize),
    Rejected(usize),
}

/// The places of a batch's records.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Runs of records of one source with consecutive numbers: the row and the place of the first.
    runs: Vec<(usize, Place)>,
    /// The line of each row, if the source has lines.
    lines: Vec<u64>,
    /// A remark about the place of each row; most sources have none.
    remarks: Vec<String>,
}

impl Origin {
    /// Makes the places of records of one source, numbered from `first` on.
    pub fn numbered(source: Arc<str>, first: u64) -> Origin {
        let position = Position::Record(first);
        Origin { runs: vec![(0, Place { source, position })], ..Origin::default() }
    }

    /// Adds a remark for each row.
    pub fn with_remarks(self, remarks: Vec<String>) -> Origin {
        Origin { remarks, ..self }
    }

    /// Returns the remark about the place of a row.
    pub fn remark(&self, row: usize) -> Option<&str> {
        self.remarks.get(row).map(String::as_str)
    }

    /// Makes the places of rows from these lines.
    pub fn lines(source: Arc<str>, lines: Vec<u64>) -> Origin {
        Origin { lines, ..Origin::numbered(source, 0) }
    }

    /// Adds the place of a row after all others.
    pub fn goes_on(&mut self, row: usize, source: &Arc<str>, record: u64) {
        let follows = |(first, place): &(usize, Place)| {
            let next = match place.position {
                Position::Record(number) => number + (row - first) as u64,
                _ => 0,
            };
            Arc::ptr_eq(&place.source, source) && next == record
        };
        if !self.runs.last().is_some_and(follows) {
            let position = Position::Record(record);
            self.runs.push((row, Place { source: source.clone(), position }));
        }
    }

    /// Adds the place of a row after all others. (Rows with lines are not among rows with numbers.)
    pub fn add(&mut self, row: usize, place: Place) {
        match place.position {
            Position::Record(number) => self.goes_on(row, &place.source, number),
            Position::Line(line) => {
                let is_same = |(_, last): &(usize, Place)| Arc::ptr_eq(&last.source, &place.source);
                if !self.runs.last().is_some_and(is_same) {
                    let position = Position::Record(0);
                    self.runs.push((row, Place { source: place.source.clone(), position }));
                }
                self.lines.push(line);
            }
            Position::Whole => {}
        }
    }

    /// Returns the places of some rows; a row may come several times.
    pub fn of_rows(&self, rows: &[usize]) -> Origin {
        let mut origin = Origin::default();
        rows.iter().enumerate().for_each(|(index, &row)| origin.add(index, self.place(row)));
        origin.remarks = rows.iter().filter_map(|&row| self.remarks.get(row).cloned()).collect();
        origin
    }

    pub fn place(&self, row: usize) -> Place {
        let run = self.runs.partition_point(|(first, _)| *first <= row).checked_sub(1);
        let Some((first, place)) = run.and_then(|run| self.runs.get(run)) else {
            return Place::from("");
        };
        let position = match (self.lines.get(row), place.position) {
            (Some(&line), _) => Position::Line(line),
            (None, Position::Record(number)) => Position::Record(number + (row - first) as u64),
            (None, other) => other,
        };
        Place { source: place.source.clone(), position }
    }
}

impl Origin {
    /// Returns the name of the file from which a row came, and its record or line there, from 0;
    /// `None` if it came from stdin or a pipe with a name like `/dev/fd/63`.
    pub fn in_file(&self, row: usize) -> Option<(String, u64)> {
        let Place { source, position } = self.place(row);
        let number = match position {
            Position::Line(number) | Position::Record(number) => number.checked_sub(1)?,
            Position::Whole => return None,
        };
        // (Files in /dev/shm are files.)
        let is_pipe = *source == *STDIN
            || ["/dev/fd/", "/dev/std", "/proc/"].iter().any(|place| source.starts_with(place));
        let name = source.rsplit('/').next().filter(|_| !is_pipe)?;
        Some((name.to_string(), number))
    }
}

/// The records that a filter asks for.
#[derive(Debug, Clone)]
pub struct WantedRecords {
    pub record: &'static RecordType,
    /// The record type's schema, or a part of it.
    pub schema: SchemaRef,
    /// Whether the schema only names the columns: their types are taken from the first input, and
    /// later inputs are cast to them.
    pub any_types: bool,
    /// Columns of the schema that exist although the first input may not show them. The type is
    /// Null if it is not stated: then it is the type in the first input, or else text.
    pub stated: Vec<Field>,
    /// Fields that the user names: a record that has one of them is of this type.
    pub user_fields: Vec<String>,
}

impl WantedRecords {
    pub fn records(record: &'static RecordType) -> WantedRecords {
        let schema = record.schema();
        let (stated, user_fields) = (Vec::new(), Vec::new());
        WantedRecords { record, schema, any_types: false, stated, user_fields }
    }

    /// Whether a record with these fields is known to be a wanted one.
    pub fn is_known_by(&self, has: impl Fn(&str) -> bool) -> bool {
        self.user_fields.iter().any(|name| has(name)) || self.record.is_known_by(has)
    }

    /// Whether a record with these fields lacks an id and is therefore a look-alike. (Who names the field of the id says
    /// what the records are.)
    pub fn lacks_id(&self, has: impl Fn(&str) -> bool) -> bool {
        let Some(other) = &self.record.look_alike else { return false };
        let names = self.schema.fields().iter().map(|field| field.name());
        let mut ids = names.take_while(|name| *name != other.column);
        self.user_fields.is_empty() && !ids.any(|name| has(name))
    }

    /// Refuses columns of any types if they are clearly the columns of another record type: a wrong pipe.
    pub fn refuse_other_columns(&self, name: &str, schema: &Schema) -> Result<()> {
        let has = |name: &str| schema.fields().iter().any(|field| field.name() == name);
        // (What was written from NDJSON has other names.)
        let had = |name: &str| has(name) || schema.fields().iter().any(|f| ndjson_name(f) == name);
        match named_type_with(has).filter(|_| !self.is_known_by(had)) {
            Some(record) => Err(self.instead_of(name, record)),
            None => Ok(()),
        }
    }

    /// Fails if the input states another record type than the wanted one. Inputs of other programs, which state no
    /// type, are judged by their columns.
    pub fn check_record(&self, name: &str, header: &Header) -> Result<()> {
        let Some((came, version)) = &header.record else { return Ok(()) };
        // Without a policy nobody has said that these are no chats: lines of JSON with messages, which were copied.
        let other = record_type(came).and_then(|came| came.look_alike.as_ref());
        let may_be_wanted = |other: &LookAlike| {
            other.record.name == self.record.name && header.get(other.statement).is_none()
        };
        if other.is_some_and(may_be_wanted) {
            return Ok(());
        }
        if came != self.record.name {
            return Err(match record_type(came) {
                Some(record) => self.instead_of(name, record),
                None => self.expected(name, &format!("{came} records"), self.record.made_by),
            });
        }
        if *version != self.record.version {
            let known = self.record.version;
            let cause =
                format!("{came} records of version {version}; this program reads version {known}");
            return Err(Error::data(cause).at(name));
        }
        Ok(())
    }

    /// Returns the error for a wrong pipe: the type that was read, the expected type, and which filters make it.
    pub fn instead_of(&self, name: &str, came: &RecordType) -> Error {
        let way = came.way_to(self.record).map(|filters| way_on::through(&filters, name));
        let way = way.as_deref().or(came.taken_by).unwrap_or(self.record.made_by);
        self.expected(name, came.plural, way)
    }

    /// Returns the error of records in a wrong pipe that are mistaken for records of another type; `filter` makes such
    /// records from them.
    pub fn instead_of_mistaken(&self, name: &str, (of, filter): (&RecordType, String)) -> Error {
        let came = of.look_alike.as_ref().map_or(of.plural, |other| other.record.plural);
        if self.record.name == of.name {
            let cause = format!("expected {}, got {came}", of.plural);
            return Error::data(cause).at(name).hint(way_on::through(&filter, name));
        }
        let rest = of.way_to(self.record);
        let way = rest.map(|rest| way_on::through(&format!("{filter} | {rest}"), name));
        self.expected(name, came, way.as_deref().unwrap_or(self.record.made_by))
    }

    fn expected(&self, name: &str, came: &str, way: &str) -> Error {
        let expected = self.record.plural;
        Error::usage(format!("expected {expected}, got {came}")).at(name).hint(way)
    }
}

/// The records that a reader found by their ids.
#[derive(Debug, Default)]
pub struct SelectedRecords {
    pub records: u64,
    /// The ids that were found, also ids of first turns of these ids.
    pub found: HashSet<String>,
}

/// An open input that is read as records: a file or stream in one of the encodings, or all datasets
/// of one format that are read together.
pub trait RecordSource: Any + Send {
    /// Returns the type of the records, by the first record or the header; `default` if these do not show it;
    /// `None` if there is neither a record nor a header. It must be called before `begin`.
    fn record(&mut self, default: &'static RecordType) -> Result<Option<&'static RecordType>>;

    /// Reads the header and the schema before any record is asked for. For datasets the header is
    /// what they state: parameters and the chain of filters.
    fn begin(&mut self, wanted: Option<&WantedRecords>) -> Result<(Header, SchemaRef)>;

    /// Returns the next batch; `None` at the end. It has the given schema; batches of datasets have their own schema,
    /// and the reader converts them. At most `most` records of it are used.
    fn next(
        &mut self,
        wanted: Option<&WantedRecords>,
        schema: &SchemaRef,
        most: u64,
    ) -> Result<Option<Batch>>;

    /// Returns how values are stored if the format has a choice, else the format's name. People who compare datasets
    /// see it.
    fn encoding(&self) -> String;

    /// Returns the records that have not been read yet, if the input knows or states the number.
    fn records(&self) -> Option<u64> {
        None
    }

    /// Counts the records of a dataset that only states its number. It must be called before the
    /// first batch.
    fn count(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns how many records earlier filters dropped, as far as the input was read. For datasets, returns how many
    /// were dropped when the dataset was made, if a copy of it has to count these, too.
    fn dropped(&self) -> DroppedRecords {
        DroppedRecords::default()
    }

    /// Reads only the records with these ids from now on, if they can be found without reading the others; returns
    /// `None` if not.
    fn select_ids(&mut self, _ids: &HashSet<&str>) -> Result<Option<SelectedRecords>> {
        Ok(None)
    }

    /// Reads only these ascending runs of its records from now on, counted from its first record. Returns false if it
    /// would have to read the others, too. It must be called before the first batch.
    fn read_runs(&mut self, _runs: &[Range<u64>]) -> Result<bool> {
        Ok(false)
    }

    /// Decodes on this many threads from now on, if it can. It must be called before the first batch.
    fn decode_on(&mut self, _threads: NonZeroUsize) {}

    /// Returns notes for people: what is on disk and not in the records.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
