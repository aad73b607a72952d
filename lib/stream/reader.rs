//! Reading records: inputs one after another, whatever their encoding, as batches of one schema.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use serde_json::Value;

use super::conform::Conform;
use super::frames::{Frame, FrameError, Frames};
use super::header::Header;
use super::input::{Bytes, Content, Input, cut, read_error};
use super::ndjson_reader::{Decoder, Lines, member_names};
use crate::cli::{Error, InputArgs, Place, Position, Rejection, Result, Slice};
use crate::format::parquet::ParquetFile;
use crate::record::{RECORD_TYPES, RecordType};

/// A batch of records and where they come from.
#[derive(Debug)]
pub struct Batch {
    pub records: RecordBatch,
    pub origin: Origin,
    /// Lines that are no records of the type, in their order.
    pub rejected: Vec<Rejection>,
    /// Size of the input that the batch was made of.
    pub bytes: u64,
}

impl Batch {
    /// Refuses one of the records.
    pub fn reject(&mut self, row: usize, id: Option<&str>, reason: String, input: Value) {
        self.rejected.push(Rejection {
            place: self.origin.place(row),
            id: id.map(str::to_string),
            reason,
            input: Some(input),
        });
    }

    /// Keeps the first `most` records, refused ones counted too; says how many there are now.
    fn truncate(&mut self, most: u64) -> u64 {
        let came = self.records.num_rows();
        let (mut rows, mut rejected) = (0, 0);
        while ((rows + rejected) as u64) < most {
            let refused = self.rejected.get(rejected).map(|rejection| rejection.place.position);
            match (rows < came).then(|| self.origin.place(rows).position) {
                Some(row) if refused.is_none_or(|refused| row < refused) => rows += 1,
                _ if refused.is_some() => rejected += 1,
                _ => break,
            }
        }
        self.records = self.records.slice(0, rows);
        self.rejected.truncate(rejected);
        (rows + rejected) as u64
    }

    /// Ends a batch without its refused rows behind the row `last`: what was refused there did not
    /// come.
    pub fn end_behind(&mut self, last: usize) {
        let refused: HashSet<Position> =
            self.rejected.iter().map(|rejection| rejection.place.position).collect();
        let mut kept = (0..).map(|row| self.origin.place(row).position);
        let end = kept.by_ref().filter(|position| !refused.contains(position)).nth(last);
        self.rejected.retain(|rejection| Some(rejection.place.position) < end);
        self.records = self.records.slice(0, last + 1);
    }
}

/// The places of a batch's records.
#[derive(Debug)]
pub struct Origin {
    source: Arc<str>,
    numbering: Numbering,
}

#[derive(Debug)]
enum Numbering {
    /// The line of each row.
    Lines(Vec<u64>),
    /// The number of the first row.
    Records(u64),
}

impl Origin {
    pub fn place(&self, row: usize) -> Place {
        let position = match &self.numbering {
            Numbering::Lines(lines) => Position::Line(lines.get(row).copied().unwrap_or(0)),
            Numbering::Records(first) => Position::Record(first + row as u64),
        };
        Place { source: self.source.clone(), position }
    }
}

/// What a filter wants to read.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub record: &'static RecordType,
    /// The record type's schema, or a part of it.
    pub schema: SchemaRef,
    /// Whether Parquet files hold such records.
    pub parquet: bool,
}

impl Wanted {
    pub fn records(record: &'static RecordType) -> Wanted {
        Wanted { record, schema: record.schema(), parquet: false }
    }
}

/// Reads the records of all inputs, in order.
pub struct Reader {
    /// `None`: whatever comes is taken as it is.
    wanted: Option<Wanted>,
    waiting: VecDeque<(PathBuf, Option<Range<u64>>)>,
    current: Option<Current>,
    header: Header,
    schema: SchemaRef,
    sources: Vec<Value>,
    total: Option<u64>,
    /// How many more records may be handed out.
    left: u64,
}

impl Reader {
    /// Opens the first input, so that the header and what is wrong with the pipe are known early.
    pub fn open(args: &InputArgs, wanted: Wanted) -> Result<Reader> {
        Reader::start(args, Some(wanted))
    }

    /// Reads records of any type, and Parquet files of any schema. All inputs must have the
    /// schema of the first.
    pub fn open_any(args: &InputArgs) -> Result<Reader> {
        Reader::start(args, None)
    }

    fn start(args: &InputArgs, wanted: Option<Wanted>) -> Result<Reader> {
        let files = if args.files.is_empty() {
            vec![PathBuf::from("-")]
        } else {
            args.files.clone()
        };
        let sources = describe_parquet_files(&files);
        let mut total = match sources.len() == files.len() {
            true => sources.iter().map(|source| source["rows"].as_u64()).sum(),
            false => None,
        };
        let waiting = match args.slice {
            Some(slice) => cut_inputs(&files, slice, &mut total)?,
            None => files.into_iter().map(|path| (path, None)).collect(),
        };
        let schema = match &wanted {
            Some(wanted) => wanted.schema.clone(),
            None => SchemaRef::new(Schema::empty()),
        };
        let mut reader = Reader {
            wanted,
            waiting,
            current: None,
            header: Header::default(),
            schema,
            sources,
            total,
            left: u64::MAX,
        };
        reader.advance()?;
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
        self.current = match self.waiting.pop_front() {
            Some((path, range)) => Some(Current::open(&path, range)?),
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

/// The input being read.
struct Current {
    name: Arc<str>,
    is_stdin: bool,
    form: Form,
}

enum Form {
    Ndjson {
        lines: Lines<Bytes>,
        /// Made when the schema is known, which may be told by the first line.
        decoder: Option<Decoder>,
        next_line: u64,
        /// A block that was read to look at its first line.
        pending: Option<Vec<u8>>,
    },
    Arrow {
        frames: Frames<Bytes>,
        conform: Option<Conform>,
        next_record: u64,
        rows: Range<u64>,
        /// The first schema, once it was looked at before its stream is read.
        begun: Option<SchemaRef>,
    },
    Parquet {
        file: ParquetFile,
        rows: Range<u64>,
        batches: Option<ParquetRecordBatchReader>,
        conform: Option<Conform>,
        next_record: u64,
    },
}

impl Current {
    fn open(path: &Path, range: Option<Range<u64>>) -> Result<Current> {
        let input = Input::open(path)?;
        let Input { name, is_stdin, content, .. } = input;
        let form = match content {
            Content::Ndjson(bytes) => {
                let (bytes, first_line) = match range {
                    Some(range) => lines_between(path, range)?,
                    None => (bytes, 1),
                };
                Form::Ndjson {
                    lines: Lines::new(bytes),
                    decoder: None,
                    next_line: first_line,
                    pending: None,
                }
            }
            Content::Arrow(bytes) => Form::Arrow {
                frames: Frames::new(bytes),
                conform: None,
                next_record: 1,
                rows: range.unwrap_or(0..u64::MAX),
                begun: None,
            },
            Content::Parquet(file) => {
                let file = open_parquet(&name, file)?;
                let rows = range.unwrap_or(0..file.rows());
                let next_record = rows.start + 1;
                Form::Parquet { file, rows, batches: None, conform: None, next_record }
            }
        };
        Ok(Current { name, is_stdin, form })
    }

    /// Looks at the header and schema of the first input before any record is asked for.
    fn begin(&mut self, wanted: Option<&Wanted>) -> Result<(Header, SchemaRef)> {
        let (name, is_stdin) = (self.name.clone(), self.is_stdin);
        match &mut self.form {
            Form::Parquet { file, .. } => Ok((Header::default(), file.schema().clone())),
            Form::Arrow { frames, begun, .. } => {
                let frame = frames.next().map_err(|e| frame_error(&name, is_stdin, e))?;
                let Some(Frame::Schema(schema)) = frame else {
                    return Err(Error::data(format!("{name}: an Arrow stream without a schema")));
                };
                let header = Header::of(&schema).map_err(|e| e.at(&name))?;
                *begun = Some(schema.clone());
                let mut bare = schema.as_ref().clone();
                bare.metadata.clear();
                Ok((header, SchemaRef::new(bare)))
            }
            Form::Ndjson { lines, pending, .. } => {
                if wanted.is_none() {
                    let block = lines.next_block().map_err(|e| read_error(&name, is_stdin, &e))?;
                    *pending = block.map(<[u8]>::to_vec);
                }
                let record = match pending.as_deref().and_then(first_line) {
                    Some(line) => Some(record_of(line).ok_or_else(|| {
                        let names: Vec<&str> = RECORD_TYPES.iter().map(|r| r.name).collect();
                        Error::data(format!(
                            "{name}: its first line is no record of a known type ({})",
                            names.join(", ")
                        ))
                    })?),
                    None => None,
                };
                let mut header = Header::default();
                header.record = record.map(|record| (record.name.to_string(), record.version));
                let schema = record.map_or_else(|| SchemaRef::new(Schema::empty()), |r| r.schema());
                Ok((header, schema))
            }
        }
    }

    fn next(&mut self, wanted: Option<&Wanted>, schema: &SchemaRef) -> Result<Option<Batch>> {
        let (name, is_stdin) = (self.name.clone(), self.is_stdin);
        match &mut self.form {
            Form::Ndjson { lines, decoder, next_line, pending } => {
                let block = match pending.take() {
                    Some(block) => block,
                    None => match lines.next_block() {
                        Ok(Some(block)) => block.to_vec(),
                        Ok(None) => return Ok(None),
                        Err(error) => return Err(read_error(&name, is_stdin, &error)),
                    },
                };
                let decoder = match decoder {
                    Some(decoder) => decoder,
                    None => {
                        refuse_wrong_lines(&name, &block, wanted)?;
                        let made = Decoder::new(schema.clone());
                        decoder.insert(made.map_err(|e| arrow_error(&name, e))?)
                    }
                };
                decode_block(&name, is_stdin, &block, decoder, next_line).map(Some)
            }
            Form::Arrow { frames, conform, next_record, rows, begun } => loop {
                let frame = match begun.take() {
                    Some(schema) => Some(Frame::Schema(schema)),
                    None => frames.next().map_err(|e| frame_error(&name, is_stdin, e))?,
                };
                match frame {
                    None => return Ok(None),
                    Some(Frame::Schema(found)) => {
                        check_record(&name, &found, wanted)?;
                        let made = Conform::new(&found, schema);
                        *conform = Some(made.map_err(|e| Error::data(format!("{name}: {e}")))?);
                    }
                    Some(Frame::Batch(batch)) => {
                        let Some(conform) = conform else { continue };
                        let first = *next_record;
                        *next_record += batch.num_rows() as u64;
                        let Some((batch, first)) = overlap(batch, first, rows) else { continue };
                        let records = conform.apply(&batch).map_err(|e| {
                            Error::data(format!("{name}: records from {first}: {e}"))
                        })?;
                        return Ok(Some(numbered(name, records, first)));
                    }
                }
            },
            Form::Parquet { file, rows, batches, conform, next_record } => {
                let batches = match batches {
                    Some(batches) => batches,
                    None => {
                        let made = begin_parquet(&name, file, rows.clone(), wanted, schema)?;
                        *conform = Some(made.1);
                        batches.insert(made.0)
                    }
                };
                let Some(conform) = conform else { return Ok(None) };
                match batches.next() {
                    None if *next_record <= rows.end => Err(Error::data(format!(
                        "{name}: ends at record {next_record} of {}; the file is damaged",
                        rows.end
                    ))),
                    None => Ok(None),
                    Some(Err(error)) => Err(Error::data(format!(
                        "{name}: records from {next_record}: {error}"
                    ))),
                    Some(Ok(batch)) => {
                        let first = *next_record;
                        *next_record += batch.num_rows() as u64;
                        let records = conform.apply(&batch).map_err(|e| {
                            Error::data(format!("{name}: records from {first}: {e}"))
                        })?;
                        Ok(Some(numbered(name, records, first)))
                    }
                }
            }
        }
    }
}

fn numbered(source: Arc<str>, records: RecordBatch, first: u64) -> Batch {
    let bytes = records.get_array_memory_size() as u64;
    let origin = Origin { source, numbering: Numbering::Records(first) };
    Batch { records, origin, rejected: Vec::new(), bytes }
}

/// The rows of a batch that lie in a range of records (counted from 0), and the number of the
/// first (counted from 1).
fn overlap(batch: RecordBatch, first: u64, rows: &Range<u64>) -> Option<(RecordBatch, u64)> {
    let start = first - 1;
    let end = start + batch.num_rows() as u64;
    let (from, to) = (start.max(rows.start), end.min(rows.end));
    if from >= to {
        return None;
    }
    Some((batch.slice((from - start) as usize, (to - from) as usize), from + 1))
}

fn decode_block(
    name: &Arc<str>,
    is_stdin: bool,
    block: &[u8],
    decoder: &mut Decoder,
    next_line: &mut u64,
) -> Result<Batch> {
    let mut places = Vec::new();
    let mut rejected = Vec::new();
    for line in block.split_inclusive(|&byte| byte == b'\n') {
        let number = *next_line;
        *next_line += 1;
        if line.last() != Some(&b'\n') {
            let place = format!("{name}:{number}");
            return Err(cut(&place, is_stdin, "the last line has no newline"));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match decoder.line(line) {
            Ok(()) => places.push(number),
            Err(reason) => {
                let text = String::from_utf8_lossy(line).trim_end().to_string();
                let place = Place { source: name.clone(), position: Position::Line(number) };
                let input = Some(serde_json::from_str(&text).unwrap_or(Value::String(text)));
                rejected.push(Rejection { place, id: None, reason, input });
            }
        }
    }
    let records = decoder.finish().map_err(|e| arrow_error(name, e))?;
    let origin = Origin { source: name.clone(), numbering: Numbering::Lines(places) };
    Ok(Batch { records, origin, rejected, bytes: block.len() as u64 })
}

fn first_line(block: &[u8]) -> Option<&[u8]> {
    block.split(|&byte| byte == b'\n').find(|line| !line.iter().all(u8::is_ascii_whitespace))
}

/// The type of an NDJSON record, told by its fields.
fn record_of(line: &[u8]) -> Option<&'static RecordType> {
    let names = member_names(line)?;
    RECORD_TYPES.into_iter().find(|record| is_known_by(record, &names))
}

fn is_known_by(record: &RecordType, names: &[String]) -> bool {
    record.known_by.iter().any(|known| names.iter().any(|name| name == known))
}

/// A wrong pipe: the first line is clearly a record of another type.
fn refuse_wrong_lines(name: &str, block: &[u8], wanted: Option<&Wanted>) -> Result<()> {
    let (Some(wanted), Some(line)) = (wanted, first_line(block)) else { return Ok(()) };
    let Some(names) = member_names(line) else { return Ok(()) };
    if is_known_by(wanted.record, &names) {
        return Ok(());
    }
    match RECORD_TYPES.into_iter().find(|record| is_known_by(record, &names)) {
        Some(record) => Err(wrong_record(name, record.name, wanted)),
        None => Ok(()),
    }
}

fn wrong_record(name: &str, came: &str, wanted: &Wanted) -> Error {
    Error::usage(format!(
        "{name}: {came} records came, {} records are wanted; they are made by {}",
        wanted.record.name, wanted.record.made_by
    ))
}

/// An Arrow stream that says what it holds must hold what is wanted. One that does not say (it
/// comes from elsewhere) is judged by its columns.
fn check_record(name: &str, schema: &Schema, wanted: Option<&Wanted>) -> Result<()> {
    let header = Header::of(schema).map_err(|e| e.at(name))?;
    let (Some(wanted), Some((came, version))) = (wanted, &header.record) else { return Ok(()) };
    if came != wanted.record.name {
        return Err(wrong_record(name, came, wanted));
    }
    if *version != wanted.record.version {
        return Err(Error::data(format!(
            "{name}: {came} records of version {version}; this program reads version {}",
            wanted.record.version
        )));
    }
    Ok(())
}

fn begin_parquet(
    name: &str,
    file: &ParquetFile,
    rows: Range<u64>,
    wanted: Option<&Wanted>,
    schema: &SchemaRef,
) -> Result<(ParquetRecordBatchReader, Conform)> {
    if let Some(wanted) = wanted.filter(|wanted| !wanted.parquet) {
        return Err(Error::usage(format!(
            "{name}: a Parquet file came, {} records are wanted; they are made by {}",
            wanted.record.name, wanted.record.made_by
        )));
    }
    let columns: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .filter(|name| file.schema().column_with_name(name).is_some())
        .collect();
    if columns.is_empty() {
        let wanted: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        return Err(Error::data(format!(
            "{name}: none of the columns {} is there",
            wanted.join(", ")
        )));
    }
    let bad = |e: parquet::errors::ParquetError| Error::data(format!("{name}: {e}"));
    let batches = file.read(rows, Some(&columns)).map_err(bad)?;
    let conform = Conform::new(&arrow_array::RecordBatchReader::schema(&batches), schema)
        .map_err(|e| Error::data(format!("{name}: {e}")))?;
    Ok((batches, conform))
}

fn open_parquet(name: &str, file: File) -> Result<ParquetFile> {
    ParquetFile::open(file).map_err(|e| Error::data(format!("{name}: {e}")))
}

/// What identifies a Parquet input without reading all of it.
fn describe(name: &str, path: &Path, file: &ParquetFile) -> Result<Value> {
    let bad = |e: std::io::Error| Error::io(name, &e);
    Ok(serde_json::json!({
        "name": path.file_name().map(|name| name.to_string_lossy()),
        "bytes": file.bytes().map_err(bad)?,
        "rows": file.rows(),
        "footer_sha256": file.footer_sha256().map_err(bad)?,
    }))
}

/// The description of a Parquet file, see [`Reader::sources`].
pub fn describe_parquet(path: &Path) -> Result<Value> {
    let input = Input::open(path)?;
    match input.content {
        Content::Parquet(file) => describe(&input.name, path, &open_parquet(&input.name, file)?),
        _ => Err(Error::usage(format!("{}: not a Parquet file", input.name))),
    }
}

/// The descriptions of those inputs that are Parquet files. One that cannot be opened has its
/// error when it is read.
fn describe_parquet_files(files: &[PathBuf]) -> Vec<Value> {
    let regular = |path: &&PathBuf| path.as_os_str() != "-" && path.is_file();
    files.iter().filter(regular).filter_map(|path| describe_parquet(path).ok()).collect()
}

/// Shares all inputs out: the range of units of each that lies in the slice.
fn cut_inputs(
    files: &[PathBuf],
    slice: Slice,
    total: &mut Option<u64>,
) -> Result<VecDeque<(PathBuf, Option<Range<u64>>)>> {
    let mut kinds = Vec::new();
    let mut sizes = Vec::new();
    for path in files {
        let input = Input::open(path)?;
        if input.path.is_none() {
            return Err(Error::usage(format!(
                "{}: cannot be cut into slices (only files that are not compressed can)",
                input.name
            )));
        }
        let (kind, size) = match input.content {
            Content::Parquet(file) => ("Parquet", open_parquet(&input.name, file)?.rows()),
            Content::Arrow(bytes) => ("Arrow", count_rows(&input.name, bytes)?),
            Content::Ndjson(_) => {
                let metadata = std::fs::metadata(path).map_err(|e| Error::io(&input.name, &e))?;
                ("NDJSON", metadata.len())
            }
        };
        kinds.push(kind);
        sizes.push(size);
    }
    if let Some(other) = kinds.iter().find(|kind| **kind != kinds[0]) {
        return Err(Error::usage(format!(
            "--slice: {} and {other} files cannot be cut together",
            kinds[0]
        )));
    }
    let wanted = slice.of(sizes.iter().sum());
    if kinds.first() != Some(&"NDJSON") {
        *total = Some(wanted.end - wanted.start);
    }
    let mut start = 0;
    let mut parts = VecDeque::new();
    for (path, size) in files.iter().zip(sizes) {
        let from = wanted.start.clamp(start, start + size) - start;
        let to = wanted.end.clamp(start, start + size) - start;
        parts.push_back((path.clone(), Some(from..to)));
        start += size;
    }
    Ok(parts)
}

fn count_rows(name: &str, bytes: Bytes) -> Result<u64> {
    let mut frames = Frames::new(bytes);
    let mut rows = 0;
    loop {
        match frames.next().map_err(|e| frame_error(name, false, e))? {
            None => return Ok(rows),
            Some(Frame::Batch(batch)) => rows += batch.num_rows() as u64,
            Some(Frame::Schema(_)) => {}
        }
    }
}

/// The lines that begin in a range of bytes, and the number of the first. A line belongs to the
/// slice in which its first byte lies.
fn lines_between(path: &Path, range: Range<u64>) -> Result<(Bytes, u64)> {
    let place = path.display();
    let bad = |e: std::io::Error| Error::io(&place, &e);
    let mut file = File::open(path).map_err(bad)?;
    let (start, mut line) = line_start(&mut file, 0, 1, range.start).map_err(bad)?;
    let first = line;
    let (end, _) = line_start(&mut file, start, line, range.end).map_err(bad)?;
    line = first;
    file.seek(SeekFrom::Start(start)).map_err(bad)?;
    Ok((Box::new(file.take(end - start)), line))
}

/// The first line start at or behind `target`, walking from a known line start; with its number.
fn line_start(
    file: &mut File,
    from: u64,
    line: u64,
    target: u64,
) -> std::io::Result<(u64, u64)> {
    if target <= from {
        return Ok((from, line));
    }
    file.seek(SeekFrom::Start(from))?;
    let mut buffer = vec![0u8; 1 << 18];
    let (mut offset, mut line) = (from, line);
    loop {
        let read = match file.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if read == 0 {
            return Ok((offset, line));
        }
        for newline in memchr::memchr_iter(b'\n', &buffer[..read]) {
            line += 1;
            let start = offset + newline as u64 + 1;
            if start >= target {
                return Ok((start, line));
            }
        }
        offset += read as u64;
    }
}

fn frame_error(name: &str, is_stdin: bool, error: FrameError) -> Error {
    match error {
        FrameError::Cut => cut(name, is_stdin, "the Arrow stream ends without its end marker"),
        FrameError::Io(error) => read_error(name, is_stdin, &error),
        FrameError::Malformed(cause) => Error::data(format!("{name}: broken Arrow stream: {cause}")),
    }
}

fn arrow_error(name: &str, error: ArrowError) -> Error {
    Error::data(format!("{name}: {error}"))
}
