//! Where `ds-cat` writes: stdout or a file, in any encoding.

use std::ffi::OsStr;
use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use arrow_schema::{Schema, SchemaRef};
use clap::{Args, ValueEnum};

use super::Writer;
use crate::batch::{Batch, Counts, Header, Sink, SinkSummary, file_metadata};
use crate::cli::{Encoding, NoStream, Rejects, Tool, WithoutEffect};
use crate::error::{Error, Result, shown};
use crate::format::parquet::ParquetSink;
use crate::ordered::Flow;
use crate::publish::{PendingFile, publish_file, refuse_existing_file};
use crate::record::stated::{with_value, without_stated};
use crate::wording::counted;

/// The encodings of files of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileEncoding {
    Ndjson,
    Arrow,
    Parquet,
}

impl FileEncoding {
    /// Returns the encoding of files with this ending.
    fn of_name(path: &Path) -> Option<FileEncoding> {
        match path.extension()?.to_str()? {
            "ndjson" | "jsonl" => Some(FileEncoding::Ndjson),
            "arrows" => Some(FileEncoding::Arrow),
            "parquet" => Some(FileEncoding::Parquet),
            _ => None,
        }
    }

    /// Refuses the endings of formats that are not written: readers go by them.
    fn refuse_names(path: &Path) -> Result<()> {
        let Some(ending) = path.extension().and_then(OsStr::to_str) else { return Ok(()) };
        let is_name = |(endings, ..): &&(&[&str], _, _)| endings.contains(&ending);
        let Some((_, of, way)) = OTHER_NAMES.iter().find(is_name) else { return Ok(()) };
        let way = way.replace("STREAM", &shown(&path.with_extension("arrows")));
        let way = way.replace("FILE", &shown(path));
        Err(Error::usage(format!("is the name of {of}, which is not written")).at(path).hint(way))
    }

    fn name(self) -> &'static str {
        match self {
            FileEncoding::Ndjson => "ndjson",
            FileEncoding::Arrow => "arrow",
            FileEncoding::Parquet => "parquet",
        }
    }
}

/// Endings of other forms of files, and how to make them.
const OTHER_NAMES: [(&[&str], &str, &str); 6] = [
    (&["arrow", "feather", "ipc"], "an Arrow file", "-o STREAM (an Arrow stream)"),
    (&["gz"], "compressed data", "-o - | gzip > FILE"),
    (&["zst"], "compressed data", "-o - | zstd > FILE"),
    (&["bz2"], "compressed data", "-o - | bzip2 > FILE"),
    (&["xz"], "compressed data", "-o - | xz > FILE"),
    (
        &["csv", "tsv", "npy", "bin", "idx", "db"],
        "another format",
        "*.ndjson, *.arrows or *.parquet",
    ),
];

/// Where records go.
#[derive(Debug, Clone, Args)]
pub struct FileOutputArgs {
    /// ndjson, arrow or parquet, if FILE's name does not say it
    ///
    /// GRISTMILL_TO sets it for a whole pipeline.
    #[arg(long, value_enum, env = "GRISTMILL_TO", hide_env = true, default_value = "ndjson")]
    #[arg(value_name = "ENCODING", hide_possible_values = true, add = WithoutEffect)]
    pub to: FileEncoding,

    /// Write this file instead of stdout (`-`)
    ///
    /// Parquet needs a file. Names with .ndjson, .jsonl, .arrows and .parquet decide the encoding.
    #[arg(short, long, value_name = "FILE", add = WithoutEffect, add = NoStream)]
    pub output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, requires = "output", add = WithoutEffect)]
    pub overwrite: bool,

    /// Leave the provenance chain out of the header
    #[arg(long, help_heading = "Output", add = WithoutEffect)]
    pub no_provenance: bool,
}

/// An open output.
pub struct Output {
    /// The path, if it is a file.
    path: Option<PathBuf>,
    to: Destination,
    overwrite: bool,
    written: u64,
}

enum Destination {
    Stdout(Writer<File>),
    File(Writer<BufWriter<PendingFile>>),
    Parquet(Box<ParquetSink>, SchemaRef, Header),
}

impl FileOutputArgs {
    pub fn open(&self, schema: &Schema, header: &Header, tool: &Tool) -> Result<Output> {
        self.open_grouped(schema, header, tool, None)
    }

    /// Opens the output; a Parquet file has row groups of `group_rows` rows.
    pub fn open_grouped(
        &self,
        schema: &Schema,
        header: &Header,
        tool: &Tool,
        group_rows: Option<NonZeroUsize>,
    ) -> Result<Output> {
        let path = self.output.as_deref().filter(|path| path.as_os_str() != "-");
        path.map_or(Ok(()), FileEncoding::refuse_names)?;
        let encoding = self.encoding(path, tool)?;
        if let Some(path) = path {
            refuse_existing_file(path, self.overwrite)?;
        }
        let to = match (encoding, path) {
            (FileEncoding::Parquet, None) => {
                return Err(Error::usage("--to parquet needs -o FILE"));
            }
            (FileEncoding::Parquet, Some(path)) => {
                let schema = without_stated(schema);
                let sink = ParquetSink::create(path, schema.clone(), group_rows)?;
                Destination::Parquet(Box::new(sink), schema, header.clone())
            }
            (FileEncoding::Ndjson, to) => self.stream(to, Encoding::Ndjson, schema, header)?,
            (FileEncoding::Arrow, to) => self.stream(to, Encoding::Arrow, schema, header)?,
        };
        Ok(Output { path: path.map(Path::to_path_buf), to, overwrite: self.overwrite, written: 0 })
    }

    /// Whether Arrow goes to stdout.
    pub fn is_arrow_pipe(&self) -> bool {
        self.is_stdout() && self.to == FileEncoding::Arrow
    }

    /// Whether records are shown as they come.
    pub fn shows(&self) -> bool {
        self.is_stdout() && self.to == FileEncoding::Ndjson
    }

    fn is_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(|path| path.as_os_str() == "-")
    }

    /// Returns the encoding of the file's name, if it shows one, else of `--to`, or of the variable
    /// for pipelines.
    fn encoding(&self, path: Option<&Path>, tool: &Tool) -> Result<FileEncoding> {
        let Some((path, named)) = path.and_then(|path| Some((path, FileEncoding::of_name(path)?)))
        else {
            return Ok(self.to);
        };
        if tool.is_given("to") && self.to != named {
            let [named, said] = [named, self.to].map(FileEncoding::name);
            let cause = format!("is the name of {named} and --to says {said}");
            return Err(Error::usage(cause).at(path).hint("one of the two"));
        }
        Ok(named)
    }

    fn stream(
        &self,
        path: Option<&Path>,
        to: Encoding,
        schema: &Schema,
        header: &Header,
    ) -> Result<Destination> {
        let Some(path) = path else {
            return Ok(Destination::Stdout(Writer::to_stdout(to, schema, header)?));
        };
        let file = BufWriter::new(PendingFile::create(path)?);
        Ok(Destination::File(Writer::new(file, &shown(path), to, schema, header)?))
    }
}

impl Sink for Output {
    fn uses_stdout(&self) -> bool {
        matches!(self.to, Destination::Stdout(_))
    }

    fn write(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Flow> {
        rejects.take(batch.rejected)?;
        self.written += batch.records.num_rows() as u64;
        match &mut self.to {
            Destination::Stdout(writer) => writer.write_records(&batch.records, &batch.origin)?,
            Destination::File(writer) => writer.write_records(&batch.records, &batch.origin)?,
            Destination::Parquet(sink, schema, _) => {
                sink.write(&with_value(&batch.records, (schema, ""))?)?;
            }
        }
        Ok(Flow::Continue)
    }

    fn finish(self, counts: Counts) -> Result<SinkSummary> {
        match self.to {
            Destination::Stdout(writer) => {
                writer.finish(&counts)?;
            }
            Destination::File(writer) => {
                let file = writer.finish(&counts)?.into_inner();
                let file = file.map_err(|e| Error::write("output", e.error()))?;
                publish_file(file, self.overwrite)?;
            }
            Destination::Parquet(sink, _, header) => {
                let header = header.with_counts(&counts);
                sink.publish(self.overwrite, file_metadata(&header, &counts))?;
            }
        }
        let made = |path: PathBuf| format!("{}: {}", shown(&path), counted(self.written, "record"));
        Ok(SinkSummary { made: self.path.map(made), ..SinkSummary::default() })
    }
}
