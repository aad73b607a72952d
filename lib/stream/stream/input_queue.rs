//! The inputs of a reader: which part of each is read, and how it is opened.

use std::collections::VecDeque;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use serde_json::Value;

use super::arrow_source::{ArrowSource, FrameSource};
use super::bytes::Bytes;
use super::frames::Frames;
use super::input::{Content, Input};
use super::joined::{joined, surplus, with_rest};
use super::json_values::{Form, Starts};
use super::ndjson_source::NdjsonSource;
use super::parquet_source::ParquetSource;
use super::slices::{cut_inputs, lines_between};
use super::whole_file::{self, FileContent};
use crate::batch::{Header, RecordSource};
use crate::chain::{self, Stdin};
use crate::cli::{FileForms, InputArgs, Slice, runs_within};
use crate::error::{At, Error, Kind, Result, shown};
use crate::files;
use crate::format::checked_sum;
use crate::format::parquet::describe;
use crate::record::RecordType;
use crate::record::stated::stated_columns;
use crate::wording::size;

/// The inputs that are still to be read.
pub(super) struct InputQueue {
    /// The first input, which is opened at once.
    first: Option<InputPart>,
    waiting: VecDeque<InputPart>,
    /// What `-` is among the inputs.
    stdin: Stdin,
    /// The files that are read; empty if stdin is read.
    pub files: Vec<PathBuf>,
    /// The identities of the Parquet files among the inputs.
    pub sources: Vec<Value>,
    /// All columns, if inputs of any schema are read. Any other column of an input would be lost.
    pub known: Option<SchemaRef>,
    /// The most bytes of a record.
    most: u64,
    /// Whether the lines of pipes are shown as they come.
    shows_at_once: bool,
    /// Forms of files that are read whole.
    file_forms: FileForms,
    /// How many threads decode an input, if it can use several.
    pub threads: NonZeroUsize,
    allow_empty: bool,
    /// Inputs that were kept in files without a name, in words.
    pub spooled: Vec<String>,
}

/// An input, and the part of it that is read.
#[derive(Clone)]
struct InputPart {
    path: PathBuf,
    /// The part of it that belongs to the slice, in records; for NDJSON in bytes.
    range: Option<Range<u64>>,
    /// A place before the range, and how many newlines come before it.
    newlines: (u64, u64),
    /// The records of it that are read, if not all.
    runs: Option<Vec<Range<u64>>>,
}

impl InputPart {
    fn of(path: PathBuf, range: Option<Range<u64>>) -> InputPart {
        InputPart { path, range, newlines: (0, 0), runs: None }
    }
}

impl Default for InputQueue {
    fn default() -> InputQueue {
        InputQueue {
            first: None,
            waiting: VecDeque::new(),
            stdin: Stdin::default(),
            files: Vec::new(),
            sources: Vec::new(),
            known: None,
            most: u64::MAX,
            shows_at_once: false,
            file_forms: FileForms::default(),
            threads: NonZeroUsize::MIN,
            allow_empty: false,
            spooled: Vec::new(),
        }
    }
}

impl InputQueue {
    /// Returns the inputs, and how many records they have, if that is known. Of a file `first` only
    /// the header is read.
    pub fn of(
        args: &InputArgs,
        files: Vec<PathBuf>,
        first: Option<&Path>,
    ) -> Result<(InputQueue, Option<u64>)> {
        let sources = describe_parquet_files(&files)?;
        let mut total = if sources.len() == files.len() {
            checked_sum(sources.iter().filter_map(|source| source["rows"].as_u64()))
        } else {
            None
        };
        // (On the thread of the filter: inputs are opened on another.)
        let reads_stdin = files.iter().any(|path| path.as_os_str() == "-");
        let stdin = if reads_stdin { chain::take_stdin() } else { Stdin::OfProcess };
        let slices: Vec<Slice> = args.shard.into_iter().chain(args.slice).collect();
        let waiting = match slices.is_empty() {
            false => cut_inputs(&files, &slices, args, &mut total)?,
            true => files.into_iter().map(|path| (path, None)).collect(),
        };
        let waiting = waiting.into_iter().map(|(path, range)| {
            let start = range.as_ref().map_or(0, |range| range.start);
            let newlines = args.known.newlines_before(&path, start);
            InputPart { path, range, newlines, runs: None }
        });
        let first = first.map(|path| InputPart::of(path.to_path_buf(), Some(0..0)));
        let waiting: VecDeque<InputPart> = first.into_iter().chain(waiting).collect();
        let inputs = InputQueue {
            first: waiting.front().cloned(),
            waiting,
            stdin,
            files: args.files.clone(),
            sources,
            most: args.max_record_bytes,
            shows_at_once: args.shows_at_once,
            file_forms: args.file_forms,
            allow_empty: args.allow_empty,
            ..InputQueue::default()
        };
        Ok((inputs, total))
    }

    /// Opens the next input; `None` if there are no more.
    pub fn open_next(&mut self) -> Result<Option<Box<dyn RecordSource>>> {
        match self.waiting.pop_front() {
            Some(input) => self.open(&input).map(Some),
            None => Ok(None),
        }
    }

    /// Reads only these ascending runs of the records of all inputs. Starts with the first input again, although it
    /// is open already and was asked for its header.
    pub fn keep_runs(&mut self, runs: &[Range<u64>]) {
        let inputs: Vec<InputPart> =
            self.first.take().into_iter().chain(self.waiting.drain(..)).collect();
        let mut start = 0;
        for (input, source) in inputs.into_iter().zip(&self.sources) {
            let rows = match &input.range {
                Some(range) => range.end - range.start,
                None => source["rows"].as_u64().unwrap_or(0),
            };
            let own = runs_within(runs, &(start..start + rows));
            start += rows;
            if !own.is_empty() {
                self.waiting.push_back(InputPart { runs: Some(own), ..input });
            }
        }
    }

    /// Returns the common header of all inputs, including the inputs of other slices. A parameter is null if inputs
    /// differ in it. (For pipes, which can be read only once, and NDJSON, which has no header, returns the header of
    /// the first input.)
    pub fn header_of_all(&self, first: &Header) -> Result<Header> {
        let is_pipe = |path: &PathBuf| Ok(path.as_os_str() == "-" || !files::is_file(path)?);
        if self.files.len() < 2 || files::find(&self.files, is_pipe)?.is_some() {
            return Ok(first.clone());
        }
        let mut all: Option<Header> = None;
        for path in &self.files {
            let input = InputPart::of(path.clone(), None);
            let opened = Input::open(path, self.allow_empty)?;
            if matches!(opened.content, Content::Ndjson(_) | Content::Values(_)) {
                return Ok(first.clone());
            }
            let header = open(opened, &input, self.most, None, self.file_forms)?.begin(None)?.0;
            all = Some(match all {
                Some(all) => {
                    let mut stated = stated_columns();
                    let refused =
                        stated.try_for_each(|(_, stated)| (stated.refuse_two)(&all, &header));
                    refused.at(path.as_path())?;
                    all.and(&header)
                }
                None => header,
            });
        }
        let all = all.unwrap_or_default();
        Ok(Header { parameters: all.parameters, provenance: all.provenance, ..first.clone() })
    }

    /// Returns the columns of all inputs, if all are Parquet files. Otherwise returns the columns of the first
    /// input, and the column of the rest if a later input has fields that its record type lacks. (A pipe
    /// cannot be looked at beforehand, so it may have such fields.)
    pub fn columns_of_all(
        &self,
        first: &SchemaRef,
        record: Option<&RecordType>,
    ) -> Result<SchemaRef> {
        let mut schema = first.clone();
        if self.files.len() < 2 {
            return Ok(schema);
        }
        let are_parquet = self.sources.len() == self.files.len();
        if !are_parquet && !record.is_some_and(|record| record.has_others) {
            return Ok(schema);
        }
        for path in self.files.iter().skip(1) {
            if path.as_os_str() == "-" || !files::is_file(path)? {
                if let Some(record) = record {
                    schema = with_rest(&schema, &record.whole_schema());
                }
                continue;
            }
            let input = InputPart::of(path.clone(), None);
            let opened = Input::open(path, self.allow_empty)?;
            let (_, own) = open(opened, &input, self.most, None, self.file_forms)?.begin(None)?;
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

    fn open(&mut self, input: &InputPart) -> Result<Box<dyn RecordSource>> {
        let mut opened = match input.path.as_os_str() == "-" {
            true => Input::stdin(self.stdin.take(), self.allow_empty)?,
            false => Input::open(&input.path, self.allow_empty)?,
        };
        if let Some(bytes) = opened.spooled {
            let (name, bytes) = (&opened.name, size(bytes as f64));
            let folder = shown(&std::env::temp_dir());
            let what = "Parquet, whose end is read first";
            self.spooled.push(format!("{name}: {bytes} of {what}, kept in {folder} meanwhile"));
        }
        let name = opened.name.clone();
        let pipe = opened.pipe.take().filter(|_| self.shows_at_once);
        let mut source = open(opened, input, self.most, pipe, self.file_forms)?;
        if let Some(known) = &self.known
            && let Some(surplus) = surplus(source.begin(None)?.1.as_ref(), known)
        {
            let cause = format!("column {surplus:?} is not in the first input: it would be lost");
            return Err(Error::data(cause).at(&name));
        }
        source.decode_on(self.threads);
        // (Only Parquet files have runs, and they find their rows.)
        if let Some(runs) = &input.runs {
            source.read_runs(runs)?;
        }
        Ok(source)
    }
}

/// Opens the records of an input; each may have `most` bytes. If a pipe is given, its lines are shown as
/// they come.
fn open(
    input: Input,
    of: &InputPart,
    most: u64,
    shown: Option<File>,
    forms: FileForms,
) -> Result<Box<dyn RecordSource>> {
    let InputPart { path, range, newlines, .. } = of;
    let (name, is_piped) = (input.name.clone(), input.is_piped);
    let lines = |bytes: Bytes| -> Result<NdjsonSource> {
        let part = range.clone().map(|range| lines_between(path, range, *newlines)).transpose()?;
        let source = NdjsonSource::open(name, is_piped, bytes, path, part, most);
        Ok(match shown {
            Some(pipe) => source.showing(pipe),
            None => source,
        })
    };
    let arrow = |frames| -> Box<dyn RecordSource> {
        Box::new(ArrowSource::open(input.name.clone(), is_piped, frames, range.clone(), most))
    };
    Ok(match input.content {
        Content::Ndjson(bytes) => {
            let place = (&input.name, input.is_piped);
            // (Only a part of the lines is no session.)
            let forms = if range.is_some() { FileForms::default() } else { forms };
            match whole_file::read(forms, bytes, place, most)? {
                FileContent::Lines(bytes) => Box::new(lines(bytes)?),
                FileContent::Records(bytes, count) => {
                    Box::new(lines(bytes)?.of_values(Form::Array, Starts::numbers(count)))
                }
            }
        }
        Content::Values(values) => {
            let (form, starts) = (values.form, values.starts.clone());
            Box::new(lines(Box::new(values))?.of_values(form, starts))
        }
        Content::Arrow(bytes) => arrow(FrameSource::Bytes(Frames::new(bytes, most))),
        Content::ArrowFile(bytes) => arrow(FrameSource::Bytes(Frames::new(bytes, most).of_file())),
        Content::Linked(link) => arrow(FrameSource::Link(link)),
        Content::Parquet(file) => {
            Box::new(ParquetSource::open(input.name, file, range.clone(), most)?)
        }
    })
}

/// Returns the descriptions of the Parquet files among the inputs. A file that is missing or damaged
/// is left out here: reading it reports its error.
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
