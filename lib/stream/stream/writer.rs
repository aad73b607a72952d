//! Writing a stream of records to stdout or into a file, in either encoding.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::links::LinkWriter;
use super::ndjson_writer::NdjsonEncoder;
use crate::batch::{Batch, Counts, Header, Origin, Sink, SinkSummary};
use crate::chain;
use crate::cli::{self, Encoding, OutputArgs, Rejects, STDOUT};
use crate::error::{Error, Result};
use crate::ordered::Flow;
use crate::record::stated::{StatedColumn, stated_columns, with_value, without_stated};

/// About how large the written pieces of NDJSON are.
const BUFFER: usize = 1 << 20;
/// Buffers of an Arrow batch below this size are written together, larger ones directly.
const GATHERED: usize = 1 << 16;

/// A sink of batches. Only [`Writer::finish`] completes the stream: a writer that is dropped before
/// leaves no end marker (Arrow), or a last record without its `}` (NDJSON), and every reader refuses the
/// stream.
pub struct Writer<W: Write> {
    form: Form<W>,
    schema: SchemaRef,
    /// What each record states in NDJSON, and the header in Arrow: the tokenizer of tokens.
    stated: Option<String>,
    name: String,
    /// Whether this is the stream of a filter to the next.
    is_stdout: bool,
}

enum Form<W: Write> {
    Ndjson(Lines<W>),
    Arrow(Box<StreamWriter<BufWriter<W>>>),
    /// To the next filter in this process; nothing is written to the other.
    Linked(LinkWriter, W),
}

impl Writer<File> {
    /// Opens stdout.
    pub fn stdout(args: &OutputArgs, schema: &Schema, header: &Header) -> Result<Writer<File>> {
        Writer::to_stdout(args.to, schema, header)
    }

    /// Opens stdout.
    pub(super) fn to_stdout(
        to: Encoding,
        schema: &Schema,
        header: &Header,
    ) -> Result<Writer<File>> {
        let link = chain::stdout();
        if link.is_none() {
            cli::refuse_closed_stdout()?;
            cli::refuse_terminal(to)?;
        }
        let stdout = io::stdout();
        let owned = stdout.as_fd().try_clone_to_owned().map_err(|e| Error::write(STDOUT, &e))?;
        let file = File::from(owned);
        if let Some(link) = link {
            let schema = without_stated(&header.put_into(schema));
            let form = Form::Linked(LinkWriter::begin(link, &schema)?, file);
            let (stated, name) = (None, STDOUT.to_string());
            return Ok(Writer { form, schema, stated, name, is_stdout: true });
        }
        super::widen_pipe(&file);
        let is_terminal = file.is_terminal();
        let mut writer = Writer::new(file, STDOUT, to, schema, header)?;
        writer.is_stdout = true;
        if let Form::Ndjson(lines) = &mut writer.form {
            lines.holds_back = !is_terminal;
        }
        Ok(writer)
    }
}

impl<W: Write> Writer<W> {
    pub fn new(
        out: W,
        name: &str,
        to: Encoding,
        schema: &Schema,
        header: &Header,
    ) -> Result<Writer<W>> {
        let own = header.put_into(schema);
        let stating = |(_, column): (_, &StatedColumn)| {
            Some(((column.of)(header)?, SchemaRef::new((column.schema)(&own)?)))
        };
        let (stated, schema) = match to {
            Encoding::Ndjson => stated_columns().find_map(stating).unzip(),
            Encoding::Arrow => (None, Some(without_stated(&own))),
        };
        let schema = schema.unwrap_or(own);
        let form = match to {
            Encoding::Ndjson => {
                let (encoder, buffer) = (NdjsonEncoder::new(schema.clone()), Vec::new());
                Form::Ndjson(Lines { encoder, buffer, out, holds_back: true, is_held: false })
            }
            Encoding::Arrow => {
                let out = BufWriter::with_capacity(GATHERED, out);
                let writer = StreamWriter::try_new(out, &schema);
                let mut writer = writer.map_err(|e| arrow_error(name, e))?;
                // The next filter can begin with the header.
                writer.flush().map_err(|e| arrow_error(name, e))?;
                Form::Arrow(Box::new(writer))
            }
        };
        Ok(Writer { form, schema, stated, name: name.to_string(), is_stdout: false })
    }

    /// Writes a batch of the writer's schema (its metadata does not matter).
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let name = self.name.as_str();
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let stated =
            || with_value(batch, (&self.schema, self.stated.as_deref().unwrap_or_default()));
        let written = match &mut self.form {
            Form::Ndjson(lines) if self.stated.is_none() => lines.write(batch),
            Form::Ndjson(lines) => stated().and_then(|batch| lines.write(&batch)),
            Form::Arrow(writer) => {
                stated().and_then(|batch| writer.write(&batch)).and_then(|()| writer.flush())
            }
            Form::Linked(link, _) => {
                return link.write(stated().map_err(|e| arrow_error(name, e))?);
            }
        };
        written.map_err(|e| arrow_error(name, e))
    }

    /// Writes a batch; if NDJSON cannot have one of its records, the error has its place from
    /// `origin`.
    pub fn write_records(&mut self, records: &RecordBatch, origin: &Origin) -> Result<()> {
        let written = Writer::write(self, records);
        written.map_err(|error| match self.no_json(records) {
            Some((row, cause)) => Error::data(cause).at(origin.place(row)),
            None => error,
        })
    }

    /// Returns the first row of a batch that NDJSON cannot have, and why.
    fn no_json(&self, batch: &RecordBatch) -> Option<(usize, String)> {
        let Form::Ndjson(Lines { encoder, .. }) = &self.form else { return None };
        (0..batch.num_rows()).find_map(|row| {
            match encoder.encode(&batch.slice(row, 1), &mut Vec::new()) {
                Err(ArrowError::JsonError(cause)) => Some((row, cause)),
                _ => None,
            }
        })
    }

    /// Ends the stream: writes the end marker of Arrow, or the end of the last record, and flushes.
    ///
    /// If records were rejected or skipped on the way, or may have been, an empty Arrow stream follows, whose header
    /// has the counts. Other readers stop before it, the next filter adds its own counts, and a sink records the sum.
    /// NDJSON has no place for this.
    pub fn finish(self, counts: &Counts) -> Result<W> {
        let name = self.name.as_str();
        if self.is_stdout {
            cli::stream_ends();
        }
        // The schema of the empty stream, if one follows.
        let last_schema = || -> Result<Option<SchemaRef>> {
            if counts.dropped().is_nothing() {
                return Ok(None);
            }
            let header = Header::of(&self.schema)?.with_counts(counts);
            Ok(Some(header.put_into(&self.schema)))
        };
        let mut out = match self.form {
            Form::Linked(link, out) => {
                link.finish(last_schema()?)?;
                return Ok(out);
            }
            Form::Ndjson(lines) => lines.finish().map_err(|e| Error::write(name, &e))?,
            Form::Arrow(writer) => {
                let out = writer.into_inner().map_err(|e| arrow_error(name, e))?;
                let out = match last_schema()? {
                    None => out,
                    Some(schema) => {
                        let empty = StreamWriter::try_new(out, &schema);
                        let empty = empty.map_err(|e| arrow_error(name, e))?;
                        empty.into_inner().map_err(|e| arrow_error(name, e))?
                    }
                };
                out.into_inner().map_err(|e| Error::write(name, e.error()))?
            }
        };
        out.flush().map_err(|e| Error::write(name, &e))?;
        Ok(out)
    }
}

/// The end of a record and its line, which is held back.
const END: &[u8] = b"}\n";

/// Lines of NDJSON. The `}` of the last record is written, with its newline, when the next record follows, or at the
/// end: what a writer leaves that has not finished is no record.
struct Lines<W> {
    encoder: NdjsonEncoder,
    buffer: Vec<u8>,
    out: W,
    /// False on a terminal, where the cursor would stay in the last line.
    holds_back: bool,
    is_held: bool,
}

impl<W: Write> Lines<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        // Slices of rows keep the buffer bounded however large the batch is.
        let rows = batch.num_rows();
        let step = rows.div_ceil(batch.get_array_memory_size() / BUFFER + 1).max(1);
        for start in (0..rows).step_by(step) {
            let part = batch.slice(start, step.min(rows - start));
            self.buffer.extend_from_slice(if self.is_held { END } else { b"" });
            self.encoder.encode(&part, &mut self.buffer)?;
            self.is_held = self.holds_back && self.buffer.ends_with(END);
            self.buffer.truncate(self.buffer.len() - if self.is_held { END.len() } else { 0 });
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<W> {
        if self.is_held {
            // `head -1` has all that it wants, and may have gone.
            crate::signals::survive_closed_pipes();
            match self.out.write_all(END) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written?,
            }
        }
        Ok(self.out)
    }
}

impl<W: Write> Sink for Writer<W> {
    fn uses_stdout(&self) -> bool {
        true
    }

    fn write(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        rejects.take(batch.rejected)?;
        self.write_records(&batch.records, &batch.origin)?;
        Ok(Flow::Continue)
    }

    fn finish(self, counts: Counts) -> Result<SinkSummary> {
        Writer::finish(self, &counts)?;
        Ok(SinkSummary::default())
    }
}

fn arrow_error(name: &str, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::write(name, &error),
        ArrowError::JsonError(cause) => Error::data(cause).at(name),
        other => Error::data(other).at(name),
    }
}
