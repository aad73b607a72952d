//! Reading records: inputs one after another, whatever their encoding, as batches of one schema.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use serde_json::Value;

use super::arrow_source::ArrowSource;
use super::choose::Chooser;
use super::conform::ColumnMapping;
use super::fitting::BatchFitter;
use super::ids::{IdFilter, all_found};
use super::input::{Bytes, Content, Input};
use super::joined::{joined, surplus, with_rest};
use super::ndjson_source::NdjsonSource;
use super::parquet_source::ParquetSource;
use super::slices::cut_inputs;
use super::typed::with_stated;
use crate::batch::{Batch, DroppedRecords, Header, RecordSource, WantedRecords};
use crate::cli::{Choice, InputArgs, SelectArgs, records_in, runs_within, size};
use crate::error::{Error, Kind, Result, shown};
use crate::files;
use crate::format::checked_sum;
use crate::format::parquet::describe;
use crate::format::stated::Comparison;
use crate::format::unchanged::InputSnapshot;
use crate::record::{JsonForm, RecordType, ndjson_name, record_type, record_type_with};

/// Which records are asked for.
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

/// An input, and the part of it that is read.
#[derive(Clone)]
struct InputPart {
    path: PathBuf,
    /// The part of it that belongs to the slice, in records; for NDJSON in bytes.
    range: Option<Range<u64>>,
    /// The records of it that are read, if not all.
    runs: Option<Vec<Range<u64>>>,
}

/// Reads the records of all inputs, in order.
pub struct Reader {
    /// `None`: records of any type are read as they are.
    wanted: Option<WantedRecords>,
    record: Option<&'static RecordType>,
    /// The first input, which is opened at once.
    first: Option<InputPart>,
    waiting: VecDeque<InputPart>,
    current: Option<Box<dyn RecordSource>>,
    header: Header,
    encoding: String,
    schema: SchemaRef,
    /// All columns, if inputs of any schema are read: a column of an input beyond these would be
    /// lost.
    known: Option<SchemaRef>,
    sources: Vec<Value>,
    total: Option<u64>,
    /// How many more records may be handed out.
    left: u64,
    /// The most bytes of a record.
    most: u64,
    /// Whether the lines of pipes are shown as they come.
    is_shown: bool,
    /// How many threads decode an input, if it can use several.
    threads: NonZeroUsize,
    /// Records that earlier filters dropped, counted over the inputs already read.
    dropped: DroppedRecords,
    /// For datasets: converts their batches to the wanted schema.
    dataset: Option<BatchFitter>,
    /// Whether no records are left out.
    is_whole: bool,
    allow_empty: bool,
    files: Vec<PathBuf>,
    notes: Vec<String>,
    /// Inputs that were kept in files without a name, in words.
    spooled: Vec<String>,
    unchanged: InputSnapshot,
    /// The files that must fit their manifest, if all of them is read.
    comparison: Comparison,
    /// The columns that are handed out, if they are not all that are read.
    cut_to: Option<SchemaRef>,
    /// Chooses records by their ids, if that is asked for.
    ids: Option<IdFilter>,
    /// Chooses records as they come, if that is asked for.
    chooser: Option<Chooser>,
}

impl Reader {
    /// Opens files and streams, the first at once, so that its header and a wrong pipe are known
    /// early. (Datasets on disk: [`crate::dataset::open`].)
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
        let sources = describe_parquet_files(&files)?;
        let mut total = if sources.len() == files.len() {
            checked_sum(sources.iter().filter_map(|source| source["rows"].as_u64()))
        } else {
            None
        };
        let waiting = match args.slice {
            Some(slice) => cut_inputs(&files, (slice, args.allow_empty), &mut total)?,
            None => files.into_iter().map(|path| (path, None)).collect(),
        };
        let waiting =
            waiting.into_iter().map(|(path, range)| InputPart { path, range, runs: None });
        let first =
            first.map(|path| InputPart { path: path.into(), range: Some(0..0), runs: None });
        let waiting = first.into_iter().chain(waiting).collect();
        let (files, allow_empty) = (args.files.clone(), args.allow_empty);
        let (most, is_shown) = (args.max_record_bytes, args.is_shown);
        let reader = Reader { waiting, sources, total, files, unchanged, ..Reader::new() };
        let mut reader = Reader { allow_empty, most, is_shown, ..reader };
        reader.first = reader.waiting.front().cloned();
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
        let reader = Reader { current: Some(source), total, notes, dataset, ..Reader::new() };
        reader.begin(request.into())
    }

    fn new() -> Reader {
        Reader {
            wanted: None,
            record: None,
            first: None,
            waiting: VecDeque::new(),
            current: None,
            header: Header::default(),
            encoding: String::new(),
            schema: SchemaRef::new(Schema::empty()),
            known: None,
            sources: Vec::new(),
            total: None,
            left: u64::MAX,
            most: u64::MAX,
            is_shown: false,
            threads: NonZeroUsize::MIN,
            dropped: DroppedRecords::default(),
            dataset: None,
            is_whole: true,
            allow_empty: false,
            files: Vec::new(),
            notes: Vec::new(),
            spooled: Vec::new(),
            unchanged: InputSnapshot::default(),
            comparison: Comparison::default(),
            cut_to: None,
            ids: None,
            chooser: None,
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
            self.header = self.header_of_all()?;
        }
        match &self.wanted {
            Some(wanted) if wanted.any_types => self.schema = with_stated(&self.schema, wanted),
            Some(wanted) => self.schema = wanted.schema.clone(),
            None if self.is_dataset() => {}
            None => {
                self.schema = self.with_columns_of_all()?;
                self.known = Some(self.schema.clone());
            }
        }
        Ok(self)
    }

    /// Returns what all inputs state, also those of other slices: a parameter is null if it
    /// differs. (For pipes, which can be read only once, and NDJSON, which has no header, returns
    /// what the first input states.)
    fn header_of_all(&self) -> Result<Header> {
        let is_pipe = |path: &PathBuf| Ok(path.as_os_str() == "-" || !files::is_file(path)?);
        if self.files.len() < 2 || files::find(&self.files, is_pipe)?.is_some() {
            return Ok(self.header.clone());
        }
        let mut all: Option<Header> = None;
        for path in &self.files {
            let input = InputPart { path: path.clone(), range: None, runs: None };
            let opened = Input::open(path, self.allow_empty)?;
            if matches!(opened.content, Content::Ndjson(_) | Content::Values(_)) {
                return Ok(self.header.clone());
            }
            let header = open(opened, &input, self.most, None)?.begin(None)?.0;
            all = Some(match all {
                Some(all) => all.and(&header),
                None => header,
            });
        }
        let all = all.unwrap_or_default();
        Ok(Header { parameters: all.parameters, provenance: all.provenance, ..self.header.clone() })
    }

    /// Returns the columns of all inputs, if all are Parquet files. Otherwise returns the columns
    /// of the first input, and the column of the rest if a later one has fields beyond its records'
    /// type. (A pipe cannot be looked at before: it may have such fields.)
    fn with_columns_of_all(&self) -> Result<SchemaRef> {
        let mut schema = self.schema.clone();
        if self.files.len() < 2 {
            return Ok(schema);
        }
        let are_parquet = self.sources.len() == self.files.len();
        if !are_parquet && !self.known_type().is_some_and(RecordType::may_have_others) {
            return Ok(schema);
        }
        for path in self.files.iter().skip(1) {
            if path.as_os_str() == "-" || !files::is_file(path)? {
                if let Some(record) = self.known_type() {
                    schema = with_rest(&schema, &record.whole_schema());
                }
                continue;
            }
            let input = InputPart { path: path.clone(), range: None, runs: None };
            let opened = Input::open(path, self.allow_empty)?;
            let (_, own) = open(opened, &input, self.most, None)?.begin(None)?;
            if own == schema {
                continue;
            }
            schema = match joined(&schema, &own) {
                Some(joined) if are_parquet => SchemaRef::new(joined),
                _ => with_rest(&schema, &own),
            };
        }
        Ok(schema)
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

    /// Makes the reader compare files while all of them is read.
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
    pub fn limited(mut self, records: Option<u64>) -> Reader {
        self.left = records.unwrap_or(u64::MAX);
        self.is_whole &= records.is_none();
        self.total = self.total.map(|total| total.min(self.left));
        self
    }

    /// Decodes for this many threads that work on the batches: one decoder alone cannot keep many
    /// of them busy.
    pub fn feeding(mut self, jobs: NonZeroUsize) -> Reader {
        self.threads = decoders(jobs);
        if let Some(current) = &mut self.current {
            current.decode_on(self.threads);
        }
        self
    }

    /// Hands out the records that the arguments choose. Other records are not read, if it is known
    /// beforehand how many records there are and each can be found (datasets, Parquet).
    pub fn choose(mut self, args: &SelectArgs) -> Result<Reader> {
        if !args.id.is_empty() {
            return self.only(&args.id);
        }
        let choice = args.choice();
        if let Choice::All = choice {
            return Ok(self);
        }
        self.is_whole = false;
        // Arrow streams that are cut into slices have a total too.
        let is_indexed = self.is_dataset() || self.sources.len() == self.files.len().max(1);
        match self.total.filter(|_| is_indexed) {
            Some(total) => self.read_runs(choice.of(total)?)?,
            None => {
                self.total = None;
                self.chooser = Some(Chooser::new(choice));
            }
        }
        Ok(self)
    }

    /// Reads only these ascending runs of the records, without reading the others.
    fn read_runs(&mut self, runs: Vec<Range<u64>>) -> Result<()> {
        self.total = Some(records_in(&runs));
        if self.is_dataset() {
            return match &mut self.current {
                Some(current) => current.read_runs(&runs).map(drop),
                None => Ok(()),
            };
        }
        // The first input is open already, and was asked for its header.
        let inputs: Vec<InputPart> =
            self.first.take().into_iter().chain(self.waiting.drain(..)).collect();
        let mut start = 0;
        for (input, source) in inputs.into_iter().zip(&self.sources) {
            let rows = match &input.range {
                Some(range) => range.end - range.start,
                None => source["rows"].as_u64().unwrap_or(0),
            };
            let own = runs_within(&runs, &(start..start + rows));
            start += rows;
            if !own.is_empty() {
                self.waiting.push_back(InputPart { runs: Some(own), ..input });
            }
        }
        self.advance()
    }

    /// Hands out the records with these ids only; a reader of a dataset that knows where they are
    /// reads no others. A missing id is an error: at once, or after the last record.
    pub fn only(mut self, ids: &[String]) -> Result<Reader> {
        if ids.is_empty() {
            return Ok(self);
        }
        self.is_whole = false;
        let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let selected = self.current.as_mut().map(|current| current.select(&wanted)).transpose()?;
        match selected.flatten() {
            Some(selected) => {
                all_found(ids, &selected.found)?;
                self.total = Some(selected.records);
            }
            None => {
                self.total = None;
                self.ids = Some(IdFilter::new(ids, &self.schema)?);
                self.select(self.schema.clone());
            }
        }
        Ok(self)
    }

    /// Hands out these columns only, a part of [`Reader::schema`]. It must be called before the
    /// first batch.
    pub fn select(&mut self, schema: SchemaRef) {
        // Fields without a column of their own are known only if all columns are read.
        let read = if JsonForm::takes_all(&schema) { &self.schema } else { &schema };
        self.read_as(read.clone(), schema);
    }

    /// Hands out all of records of a type, in its columns. It must be called before the first
    /// batch.
    pub fn select_whole(&mut self, record: &RecordType) {
        let schema = record.whole_schema();
        self.read_as(schema.clone(), schema);
    }

    /// Reads some columns, and the columns of ids that are looked for; hands out `handed_out`.
    fn read_as(&mut self, read: SchemaRef, handed_out: SchemaRef) {
        self.schema = match &self.ids {
            Some(ids) => ids.with_ids(read),
            None => read,
        };
        self.cut_to = (self.schema != handed_out).then_some(handed_out);
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
        self.is_whole && self.left == u64::MAX
    }

    /// Returns the steps of all games, if they are known beforehand (pools that are read as a
    /// whole).
    pub fn steps(&self) -> Option<u64> {
        self.current.as_ref().filter(|_| self.is_whole).and_then(|current| current.steps())
    }

    /// Whether records of another filter came through a pipe without its header.
    pub fn lacks_header(&self) -> bool {
        self.files.is_empty() && self.header.provenance.first().is_some_and(Value::is_null)
    }

    /// Returns the identities of the Parquet files among the inputs: name, size, rows, footer hash.
    pub fn sources(&self) -> &[Value] {
        &self.sources
    }

    /// Whether these are datasets on disk, not files or streams of records.
    pub fn is_dataset(&self) -> bool {
        self.dataset.is_some()
    }

    /// Returns the files that are read; empty if stdin is read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the records that the filters before this one have dropped; known after the last
    /// batch, as far as it came with the records (see [`DroppedRecords::without_header`]).
    pub fn dropped(&self) -> DroppedRecords {
        let dropped = match &self.current {
            Some(current) => self.dropped.and(&current.dropped()),
            None => self.dropped.clone(),
        };
        // If records are chosen, it is not known which dropped records belong to them.
        let are_chosen = self.ids.is_some() || self.chooser.is_some();
        match are_chosen || (self.is_dataset() && !self.is_whole) {
            true => dropped.of_part(),
            false => dropped,
        }
    }

    /// Returns the next batch; it may have no rows. `None` after the last record of the last input.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.is_whole {
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

    fn next_of_inputs(&mut self) -> Result<Option<Batch>> {
        loop {
            let is_done = self.left == 0 || self.chooser.as_ref().is_some_and(Chooser::is_done);
            let Some(current) = self.current.as_mut().filter(|_| !is_done) else {
                return self.finish();
            };
            match current.next(self.wanted.as_ref(), &self.schema, self.left)? {
                Some(mut batch) => {
                    if let Some(dataset) = &mut self.dataset {
                        dataset.apply(&mut batch, &self.schema)?;
                    }
                    self.left -= batch.truncate(self.left);
                    if let Some(ids) = &mut self.ids {
                        ids.apply(&mut batch)?;
                    }
                    if let Some(columns) = &self.cut_to {
                        batch.records = cut(&batch.records, columns)?;
                    }
                    match &mut self.chooser {
                        None => return Ok(Some(batch)),
                        Some(chooser) => {
                            if let Some(chosen) = chooser.take(batch)? {
                                return Ok(Some(chosen));
                            }
                        }
                    }
                }
                None => self.advance()?,
            }
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
        Ok(current.records().map_or(total, |counted| counted.min(self.left)))
    }

    fn advance(&mut self) -> Result<()> {
        self.dropped = self.dropped();
        self.current = match self.waiting.pop_front() {
            Some(input) => Some(self.open_input(&input)?),
            None => None,
        };
        Ok(())
    }

    /// Returns which inputs were kept in files without a name since the last call, in words.
    pub fn take_spooled(&mut self) -> Vec<String> {
        std::mem::take(&mut self.spooled)
    }

    fn open_input(&mut self, input: &InputPart) -> Result<Box<dyn RecordSource>> {
        let mut opened = Input::open(&input.path, self.allow_empty)?;
        if let Some(bytes) = opened.spooled {
            let (name, bytes) = (&opened.name, size(bytes as f64));
            let folder = shown(&std::env::temp_dir());
            let what = "Parquet, whose end is read first";
            self.spooled.push(format!("{name}: {bytes} of {what}, kept in {folder} meanwhile"));
        }
        let name = opened.name.clone();
        let pipe = opened.pipe.take().filter(|_| self.is_shown);
        let mut source = open(opened, input, self.most, pipe)?;
        if let Some(known) = &self.known
            && let Some(surplus) = surplus(source.begin(None)?.1.as_ref(), known)
        {
            let cause = format!("column {surplus:?} is not in the first input: it would be lost");
            return Err(Error::data(cause).at(&name));
        }
        source.decode_on(self.threads);
        if let Some(runs) = &input.runs {
            source.read_runs(runs)?;
        }
        Ok(source)
    }
}

impl Iterator for Reader {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        self.next_batch().transpose()
    }
}

/// Returns some columns of a batch.
fn cut(records: &RecordBatch, columns: &Schema) -> Result<RecordBatch> {
    let places = columns.fields().iter().map(|field| records.schema_ref().index_of(field.name()));
    Ok(records.project(&places.collect::<Result<Vec<usize>, ArrowError>>()?)?)
}

/// Returns how many threads decode. Decoding Parquet takes a quarter of the time of encoding its
/// text: one decoder feeds up to three threads of work.
fn decoders(jobs: NonZeroUsize) -> NonZeroUsize {
    match jobs.get() {
        0..4 => NonZeroUsize::MIN,
        jobs => NonZeroUsize::MIN.saturating_add((jobs - 1) / 3),
    }
}

/// Opens the records of an input; each may have `most` bytes. If a pipe is given, its lines are shown as
/// they come.
fn open(
    input: Input,
    of: &InputPart,
    most: u64,
    shown: Option<File>,
) -> Result<Box<dyn RecordSource>> {
    let InputPart { path, range, .. } = of;
    let range = range.clone();
    let (name, is_piped) = (input.name.clone(), input.is_piped);
    let lines = |bytes: Bytes, range| -> Result<NdjsonSource> {
        let source = NdjsonSource::open(name, is_piped, bytes, path, range, most)?;
        Ok(match shown {
            Some(pipe) => source.showing(pipe),
            None => source,
        })
    };
    Ok(match input.content {
        Content::Ndjson(bytes) => Box::new(lines(bytes, range)?),
        Content::Values(values) => {
            let starts = values.starts.clone();
            Box::new(lines(Box::new(values), range)?.of_values(starts))
        }
        Content::Arrow(bytes) => {
            Box::new(ArrowSource::open(input.name, input.is_piped, bytes, range, most))
        }
        Content::Parquet(file) => Box::new(ParquetSource::open(input.name, file, range, most)?),
    })
}

/// The descriptions of the Parquet files among the inputs. One that is missing or damaged gives its
/// error when it is read.
fn describe_parquet_files(paths: &[PathBuf]) -> Result<Vec<Value>> {
    let mut described = Vec::new();
    for path in paths.iter().filter(|path| path.as_os_str() != "-") {
        if files::is_file(path)? {
            match describe(path) {
                Err(error) if error.kind() == Kind::Unavailable => return Err(error),
                other => described.extend(other.ok().flatten()),
            }
        }
    }
    Ok(described)
}
