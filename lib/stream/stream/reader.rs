//! Reads records: inputs of any encoding, one after another, as batches of one schema.

use std::any::Any;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use serde_json::Value;

use super::choose::Chooser;
use super::conform::ColumnMapping;
use super::fitting::BatchFitter;
use super::ids::{IdFilter, all_found};
use super::input_queue::InputQueue;
use super::ndjson_writer::row_json;
use super::typed::with_stated;
use crate::batch::{Batch, DroppedRecords, Header, RecordSource, WantedRecords};
use crate::cli::{Choice, InputArgs, SelectArgs, records_in};
use crate::error::{Error, Position, Result};
use crate::format::stated::Comparison;
use crate::format::unchanged::InputSnapshot;
use crate::record::stated::stated_values;
use crate::record::{JsonForm, RecordType, ndjson_name, record_type, record_type_with};

/// Which records the caller wants.
#[derive(Debug, Clone)]
pub enum Request {
    /// Records of any type, and Parquet files of any schema. Several Parquet files have the columns
    /// of all of them; other inputs must have no column that the first one lacks.
    Any,
    /// Records of one of these types: the type of the first input, or the first in this list if the
    /// input does not show its type (its first lines are bad).
    OneOf(Vec<WantedRecords>),
}

impl From<WantedRecords> for Request {
    fn from(wanted: WantedRecords) -> Request {
        Request::OneOf(vec![wanted])
    }
}

/// Reads the records of all inputs, in order.
pub struct Reader {
    /// `None`: records of any type are read as they are.
    wanted: Option<WantedRecords>,
    record: Option<&'static RecordType>,
    inputs: InputQueue,
    current: Option<Box<dyn RecordSource>>,
    header: Header,
    encoding: String,
    schema: SchemaRef,
    total: Option<u64>,
    /// Records that earlier filters dropped, counted over the inputs already read.
    dropped: DroppedRecords,
    /// For datasets: converts their batches to the wanted schema.
    dataset: Option<BatchFitter>,
    selection: RecordSelection,
    notes: Vec<String>,
    unchanged: InputSnapshot,
    /// The files that must fit their manifest, if they are read whole.
    comparison: Comparison,
}

/// Which records are handed out, and in which columns.
struct RecordSelection {
    /// How many more records may be handed out.
    left: u64,
    /// Whether no records are left out.
    is_whole: bool,
    /// The columns that are handed out, if they are not all that are read.
    cut_to: Option<SchemaRef>,
    /// Chooses records by their ids, if the user wants that.
    ids: Option<IdFilter>,
    /// Chooses records as they come, if the user wants that.
    chooser: Option<Chooser>,
}

impl Default for RecordSelection {
    fn default() -> RecordSelection {
        RecordSelection { left: u64::MAX, is_whole: true, cut_to: None, ids: None, chooser: None }
    }
}

impl RecordSelection {
    /// Whether no later record can be handed out.
    fn is_done(&self) -> bool {
        self.left == 0 || self.chooser.as_ref().is_some_and(Chooser::is_done)
    }

    /// Returns the records of a batch that are handed out at once, if any are.
    fn take(&mut self, mut batch: Batch) -> Result<Option<Batch>> {
        self.left -= batch.truncate(self.left);
        if let Some(ids) = &mut self.ids {
            ids.apply(&mut batch)?;
        }
        if let Some(columns) = &self.cut_to {
            batch.records = cut(&batch.records, columns)?;
        }
        match &mut self.chooser {
            None => Ok(Some(batch)),
            Some(chooser) => chooser.take(batch),
        }
    }

    /// Returns the records that are left after the last record was read.
    fn finish(&mut self) -> Result<Option<Batch>> {
        if let Some(ids) = &self.ids {
            ids.finish()?;
        }
        match &mut self.chooser {
            Some(chooser) => chooser.finish(),
            None => Ok(None),
        }
    }
}

impl Reader {
    /// Opens files and streams, the first one at once, so that its header is known, and a wrong pipe noticed,
    /// early. (For datasets on disk: `dataset::open`.)
    pub fn open(args: &InputArgs, request: impl Into<Request>) -> Result<Reader> {
        Reader::open_typed(args, None, request)
    }

    /// Opens files and streams. If a file `first` is named, its header and the types of its columns
    /// are used, and nothing else of it is read.
    pub fn open_typed(
        args: &InputArgs,
        first: Option<&Path>,
        request: impl Into<Request>,
    ) -> Result<Reader> {
        let files = if args.files.is_empty() && first.is_none() {
            vec![PathBuf::from("-")]
        } else {
            args.files.clone()
        };
        let unchanged = InputSnapshot::of(&files)?;
        let (inputs, total) = InputQueue::of(args, files, first)?;
        let mut reader = Reader { unchanged, ..Reader::new(inputs, total) };
        reader.advance()?;
        reader.begin(request.into())
    }

    /// Reads datasets that are open already; `name` is the name of the first.
    pub fn of_datasets(
        source: Box<dyn RecordSource>,
        name: String,
        request: impl Into<Request>,
    ) -> Result<Reader> {
        let (total, notes) = (source.records(), source.notes());
        let dataset = Some(BatchFitter::of(name));
        let reader = Reader::new(InputQueue::default(), total);
        let reader = Reader { current: Some(source), notes, dataset, ..reader };
        reader.begin(request.into())
    }

    fn new(inputs: InputQueue, total: Option<u64>) -> Reader {
        Reader {
            inputs,
            total,
            wanted: None,
            record: None,
            current: None,
            header: Header::default(),
            encoding: String::new(),
            schema: SchemaRef::new(Schema::empty()),
            dropped: DroppedRecords::default(),
            dataset: None,
            selection: RecordSelection::default(),
            notes: Vec::new(),
            unchanged: InputSnapshot::default(),
            comparison: Comparison::default(),
        }
    }

    /// Decides by the first input what is read.
    fn begin(mut self, request: Request) -> Result<Reader> {
        self.wanted = match request {
            Request::Any => None,
            Request::OneOf(mut types) => {
                let chosen = match (types.as_slice(), &mut self.current) {
                    ([only], _) => Some(only.record),
                    ([first, ..], Some(current)) => current.record(first.record)?,
                    _ => None,
                };
                self.record = chosen;
                let is_chosen =
                    |wanted: &WantedRecords| chosen.is_some_and(|r| r.name == wanted.record.name);
                let place = types.iter().position(is_chosen).unwrap_or(0);
                Some(types.swap_remove(place))
            }
        };
        if let Some(current) = &mut self.current {
            if let (Some(dataset), Some(wanted)) = (&self.dataset, &self.wanted)
                && let Some(came) = current.record(wanted.record)?
            {
                dataset.refuse_others(wanted, came)?;
            }
            let (header, schema) = current.begin(self.wanted.as_ref())?;
            (self.header, self.schema) = (header, schema);
            self.encoding = current.encoding();
            self.header = self.inputs.header_of_all(&self.header)?;
        }
        match &self.wanted {
            Some(wanted) if wanted.any_types => self.schema = with_stated(&self.schema, wanted),
            Some(wanted) => self.schema = wanted.schema.clone(),
            None if self.is_dataset() => {}
            None => {
                self.schema = self.inputs.columns_of_all(&self.schema, self.known_type())?;
                self.inputs.known = Some(self.schema.clone());
            }
        }
        Ok(self)
    }

    /// Returns the type of the records, one of those asked for; `None` if the input is empty and
    /// does not state it.
    pub fn record(&self) -> Option<&'static RecordType> {
        self.record
    }

    /// Makes the reader check at its end that these files are unchanged.
    pub fn with_unchanged(mut self, unchanged: InputSnapshot) -> Reader {
        self.unchanged = unchanged;
        self
    }

    /// States more in the header, such as what the user says of the records.
    pub fn stating(mut self, state: impl FnOnce(&mut Header) -> Result<()>) -> Result<Reader> {
        state(&mut self.header)?;
        Ok(self)
    }

    /// Adds notes for people.
    pub fn noting(mut self, notes: Vec<String>) -> Reader {
        self.notes.extend(notes);
        self
    }

    /// Makes the reader compare files with their hashes while they are read whole.
    pub fn comparing(mut self, comparison: Comparison) -> Reader {
        self.comparison = comparison;
        self
    }

    /// Switches off the comparison of hashes, for users who want to look at damaged data too.
    pub fn uncompared(self) -> Reader {
        self.comparing(Comparison::default())
    }

    /// Returns notes for people: what is on disk and not in the records.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Hands out the first `records` records only.
    pub fn first(mut self, records: Option<u64>) -> Reader {
        self.selection.left = records.unwrap_or(u64::MAX);
        self.selection.is_whole &= records.is_none();
        self.total = self.total.map(|total| total.min(self.selection.left));
        self
    }

    /// Sets how many threads work on the batches: one decoder cannot keep many of them busy.
    pub fn feeding(mut self, jobs: NonZeroUsize) -> Reader {
        self.inputs.threads = decoders(jobs);
        if let Some(current) = &mut self.current {
            current.decode_on(self.inputs.threads);
        }
        self
    }

    /// Hands out only the records that the arguments choose. Other records are not even read if the number of
    /// records is known beforehand and each can be found (datasets, Parquet).
    pub fn selected(mut self, args: &SelectArgs) -> Result<Reader> {
        if !args.id.is_empty() {
            return self.with_ids(&args.id);
        }
        let choice = args.choice();
        if let Choice::All = choice {
            return Ok(self);
        }
        self.selection.is_whole = false;
        // Arrow streams that are cut into slices have a total too.
        let is_indexed =
            self.is_dataset() || self.inputs.sources.len() == self.inputs.files.len().max(1);
        let is_found = match self.total.filter(|_| is_indexed) {
            Some(total) => self.read_runs(choice.of(total)?)?,
            None => false,
        };
        if !is_found {
            self.total = None;
            self.selection.chooser = Some(Chooser::new(choice));
        }
        Ok(self)
    }

    /// Reads only these ascending runs of the records, without reading the others. Returns false if the dataset cannot
    /// find them.
    fn read_runs(&mut self, runs: Vec<Range<u64>>) -> Result<bool> {
        self.total = Some(records_in(&runs));
        if self.is_dataset() {
            return self.current.as_mut().map_or(Ok(true), |current| current.read_runs(&runs));
        }
        self.inputs.keep_runs(&runs);
        self.advance()?;
        Ok(true)
    }

    /// Hands out only the records with these ids; a reader of a dataset that knows where they are reads no
    /// others. A missing id is an error, at once or after the last record.
    pub fn with_ids(mut self, ids: &[String]) -> Result<Reader> {
        if ids.is_empty() {
            return Ok(self);
        }
        self.selection.is_whole = false;
        let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let selected =
            self.current.as_mut().map(|current| current.select_ids(&wanted)).transpose()?;
        match selected.flatten() {
            Some(selected) => {
                all_found(ids, &selected.found)?;
                self.total = Some(selected.records);
            }
            None => {
                self.total = None;
                self.selection.ids = Some(IdFilter::new(ids, &self.schema)?);
                self.keep_columns(self.schema.clone());
            }
        }
        Ok(self)
    }

    /// Hands out these columns only, a part of [`Reader::schema`]. It must be called before the
    /// first batch.
    pub fn keep_columns(&mut self, schema: SchemaRef) {
        // Fields without a column of their own are known only if all columns are read.
        let read = if JsonForm::takes_all(&schema) { &self.schema } else { &schema };
        self.read_as(read.clone(), schema);
    }

    /// Hands out whole records of a type, in its columns. It must be called before the first batch.
    pub fn keep_whole_columns(&mut self, record: &RecordType) {
        let schema = record.whole_schema();
        self.read_as(schema.clone(), schema);
    }

    /// Reads some columns, and the columns of ids that are looked for; hands out `handed_out`.
    fn read_as(&mut self, read: SchemaRef, handed_out: SchemaRef) {
        self.schema = match &self.selection.ids {
            Some(ids) => ids.with_ids(read),
            None => read,
        };
        self.selection.cut_to = (self.schema != handed_out).then_some(handed_out);
    }

    /// Returns the type of the records that the header states, or else that the columns show.
    pub fn known_type(&self) -> Option<&'static RecordType> {
        if let Some((name, _)) = &self.header.record {
            return record_type(name);
        }
        let fields = self.schema.fields();
        record_type_with(|name| fields.iter().any(|f| f.name() == name || ndjson_name(f) == name))
    }

    /// Returns the type of the records, if their columns fit it.
    pub fn fitting_type(&self) -> Option<&'static RecordType> {
        self.known_type()
            .filter(|record| ColumnMapping::new(&self.schema, &record.schema()).is_ok())
    }

    /// Returns how the first input stores its values, see [`RecordSource::encoding`].
    pub fn encoding(&self) -> &str {
        &self.encoding
    }

    /// Returns the header of the first input.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns how many records there are, if that is known beforehand (Parquet, datasets).
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Whether no record was left out.
    pub fn is_whole(&self) -> bool {
        self.selection.is_whole && self.selection.left == u64::MAX
    }

    /// Whether records of another filter came through a pipe without its header.
    pub fn lacks_header(&self) -> bool {
        self.inputs.files.is_empty() && self.header.provenance.first().is_some_and(Value::is_null)
    }

    /// Returns the identities of the Parquet files among the inputs: name, size, rows, footer hash.
    pub fn sources(&self) -> &[Value] {
        &self.inputs.sources
    }

    /// Whether these are datasets on disk, not files or streams of records.
    pub fn is_dataset(&self) -> bool {
        self.dataset.is_some()
    }

    /// Returns the files that are read; empty if stdin is read.
    pub fn files(&self) -> &[PathBuf] {
        &self.inputs.files
    }

    /// Returns how many records the filters before this one dropped. It is known after the last batch, if the
    /// counts came with the records (see [`DroppedRecords::without_header`]).
    pub fn dropped(&self) -> DroppedRecords {
        let dropped = match &self.current {
            Some(current) => self.dropped.and(&current.dropped()),
            None => self.dropped.clone(),
        };
        // If records are chosen, it is not known which dropped records belong to them.
        let are_chosen = self.selection.ids.is_some() || self.selection.chooser.is_some();
        match are_chosen || (self.is_dataset() && !self.selection.is_whole) {
            true => dropped.of_part(),
            false => dropped,
        }
    }

    /// Returns the next batch; it may have no rows. `None` after the last record of the last input.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.selection.is_whole {
            self.comparison.begin();
        }
        match self.next_of_inputs() {
            Ok(Some(batch)) => Ok(Some(batch)),
            Ok(None) => {
                self.unchanged.check()?;
                self.unchanged.confirm(self.comparison.finish())?;
                Ok(None)
            }
            failed => self.unchanged.confirm(failed),
        }
    }

    /// Takes the datasets out of the reader, to be read in another way than record by record, if they are of this
    /// format; see [`Reader::read_beside`].
    pub fn take_source<T: RecordSource>(&mut self) -> Option<Box<T>> {
        let current: &dyn Any = self.current.as_deref()?;
        if !current.is::<T>() {
            return None;
        }
        let source: Box<dyn Any> = self.current.take()?;
        source.downcast().ok()
    }

    /// Reads the datasets in another way than record by record: `read` is called between the checks that they are
    /// unchanged, and beside the comparison with their hashes.
    pub fn read_beside<T, E: From<Error>>(
        &mut self,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if self.selection.is_whole {
            self.comparison.begin();
        }
        let read = read();
        self.unchanged.check()?;
        let done = read?;
        self.unchanged.confirm(self.comparison.finish())?;
        Ok(done)
    }

    fn next_of_inputs(&mut self) -> Result<Option<Batch>> {
        loop {
            let is_done = self.selection.is_done();
            let Some(current) = self.current.as_mut().filter(|_| !is_done) else {
                return self.selection.finish();
            };
            match current.next(self.wanted.as_ref(), &self.schema, self.selection.left)? {
                Some(mut batch) => {
                    if let Some(dataset) = &mut self.dataset {
                        dataset.apply(&mut batch, &self.schema)?;
                    }
                    refuse_others(&mut batch, &self.header)?;
                    if let Some(taken) = self.selection.take(batch)? {
                        return Ok(Some(taken));
                    }
                }
                None => self.advance()?,
            }
        }
    }

    /// Returns how many records there are: known beforehand, or found by reading them all.
    pub fn count_records(mut self) -> Result<u64> {
        let Some(total) = self.total else {
            let mut total = 0;
            while let Some(batch) = self.next_batch()? {
                if let Some(rejection) = batch.rejected.first() {
                    return Err(rejection.to_error());
                }
                total += batch.len() as u64;
            }
            return Ok(total);
        };
        let Some(current) = &mut self.current else { return Ok(total) };
        current.count()?;
        Ok(current.records().map_or(total, |counted| counted.min(self.selection.left)))
    }

    fn advance(&mut self) -> Result<()> {
        self.dropped = self.dropped();
        self.current = self.inputs.open_next()?;
        Ok(())
    }

    /// Returns which inputs were kept in files without a name since the last call, in words.
    pub fn take_spooled(&mut self) -> Vec<String> {
        std::mem::take(&mut self.inputs.spooled)
    }
}

impl Iterator for Reader {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        self.next_batch().transpose()
    }
}

/// Rejects records that state another value for all (their tokenizer) than the first: nothing behind a filter could tell
/// them apart.
fn refuse_others(batch: &mut Batch, header: &Header) -> Result<()> {
    let records = batch.records.clone();
    let Some((what, column, stated)) = stated_values(&records) else { return Ok(()) };
    // (Only lines of NDJSON state it in each record.)
    let are_lines =
        !batch.is_empty() && matches!(batch.origin.place(0).position, Position::Line(_));
    let own = (column.of)(header);
    let is_by_records = are_lines && (column.is_by_records)(header);
    if stated.null_count() == stated.len() && !is_by_records {
        return Ok(());
    }
    let name = |row: usize| stated.is_valid(row).then(|| stated.value(row));
    let is_other = |row: &usize| match name(*row) {
        Some(name) => Some(name) != own.as_deref(),
        None => is_by_records,
    };
    let (others, kept): (Vec<usize>, Vec<usize>) = (0..stated.len()).partition(is_other);
    for row in &others {
        let [name, first] = [name(*row), own.as_deref()].map(|name| name.unwrap_or("not stated"));
        let reason = format!("its {what} is {name}, the first record's is {first}");
        batch.reject_row((&records, *row), None, reason, row_json);
    }
    if others.is_empty() {
        return Ok(());
    }
    batch.keep_rows(&kept)?;
    batch.rejected.sort_by_key(|rejection| rejection.place.position);
    Ok(())
}

/// Returns some columns of a batch.
fn cut(records: &RecordBatch, columns: &Schema) -> Result<RecordBatch> {
    let places = columns.fields().iter().map(|field| records.schema_ref().index_of(field.name()));
    Ok(records.project(&places.collect::<Result<Vec<usize>, ArrowError>>()?)?)
}

/// Returns how many threads decode. Decoding Parquet takes a quarter of the time of encoding its text, so
/// one decoder feeds up to three threads of work.
fn decoders(jobs: NonZeroUsize) -> NonZeroUsize {
    match jobs.get() {
        0..4 => NonZeroUsize::MIN,
        jobs => NonZeroUsize::MIN.saturating_add((jobs - 1) / 3),
    }
}
