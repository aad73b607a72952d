//! ds-cat: any dataset or stream in, records out: the one reader and converter.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use clap::{Parser, ValueEnum};
use serde_json::{Value, json};

use gristmill::cli::{
    self, CommonArgs, Encoding, Error, InputArgs, PendingFile, Result, publish, refuse_existing,
    shown,
};
use gristmill::format::kd_root::{KdReader, is_megatron};
use gristmill::format::parquet::ParquetSink;
use gristmill::record::TOKENS;
use gristmill::stream::{Header, Reader, Writer, project, provenance_entry};

/// Read any dataset or stream as records
///
/// PATHs are Parquet files, Megatron prefixes (out/train/shard_00) or roots, NDJSON files and
/// Arrow streams. Several are read one after another into one stream. A triple comes back as
/// tokens records with masks; its ids are not stored, so they are null, and its segments are
/// derived from the tokens.
#[derive(Parser)]
#[command(name = "ds-cat", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Keep only these top-level columns, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Vec<String>,

    /// Read the first N records only
    #[arg(long, value_name = "N", help_heading = "Input")]
    limit: Option<u64>,

    /// Print the number of records instead of the records
    #[arg(long, conflicts_with_all = ["columns", "output"])]
    count: bool,

    /// Encoding of the output
    #[arg(
        long,
        value_enum,
        env = "GRISTMILL_TO",
        default_value = "ndjson",
        hide_env_values = true
    )]
    #[arg(value_name = "ndjson|arrow|parquet", hide_possible_values = true)]
    #[arg(help_heading = "Output")]
    to: Form,

    /// Write this file instead of stdout (Parquet needs one)
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, requires = "output", help_heading = "Output")]
    overwrite: bool,

    /// Write binary even to a terminal
    #[arg(long, help_heading = "Output")]
    force: bool,

    /// Leave the provenance chain out of the header
    #[arg(long, help_heading = "Output")]
    no_provenance: bool,

    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  ds-cat shard_00.parquet --columns synth_id,language --limit 3
  ds-cat out/train/shard_00 | harmony-tok --decode | jq -r .text
  ds-cat out --count
  ds-cat a.arrows b.arrows --to arrow > whole.arrows
  ds-cat a.ndjson --to parquet -o a.parquet

In: anything that holds records. Out: the same records.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Form {
    Ndjson,
    Arrow,
    Parquet,
}

fn main() -> ExitCode {
    cli::main(|args: Args| if args.count { count(&args) } else { run(&args) })
}

fn run(args: &Args) -> Result<()> {
    let mut records = Records::open(args)?;
    let mut schema = records.schema();
    if !args.columns.is_empty() {
        schema = SchemaRef::new(project(&schema, &args.columns).map_err(Error::usage)?);
        records.select(schema.clone());
    }
    let mut header = records.header();
    if args.no_provenance {
        header.provenance.clear();
    } else {
        header.provenance.push(provenance_entry("ds-cat"));
    }
    let mut sink = Sink::open(args, &schema, &header)?;
    let mut progress = args.common.progress("records", records.total());
    while let Some(batch) = records.next_batch()? {
        progress.add(batch.num_rows() as u64, 0);
        sink.write(&batch)?;
    }
    sink.finish(records.rejected())?;
    progress.finish();
    Ok(())
}

fn count(args: &Args) -> Result<()> {
    let mut records = Records::open(args)?;
    let total = match records.total() {
        Some(total) => total,
        None => {
            let mut total = 0;
            while let Some(batch) = records.next_batch()? {
                total += batch.num_rows() as u64;
            }
            total
        }
    };
    let line = format!("{total}\n");
    std::io::stdout().write_all(line.as_bytes()).map_err(|e| Error::write("stdout", &e))
}

/// Where records come from.
enum Records {
    Streams(Reader),
    Megatron { reader: KdReader, left: u64, columns: Option<SchemaRef> },
}

impl Records {
    fn open(args: &Args) -> Result<Records> {
        let paths = &args.input.files;
        let megatron = paths.iter().filter(|path| is_megatron(path)).count();
        if megatron == 0 {
            if let Some(directory) = paths.iter().find(|path| path.is_dir()) {
                return Err(Error::usage(format!(
                    "{}: no dataset that ds-cat knows (no train/ or valid/ with shards)",
                    shown(directory)
                )));
            }
            return Ok(Records::Streams(Reader::open_any(&args.input)?.limited(args.limit)));
        }
        if megatron < paths.len() {
            return Err(Error::usage("Megatron datasets and other files cannot be read together"));
        }
        let reader = KdReader::open(paths, args.input.slice)?;
        let left = reader.rows().min(args.limit.unwrap_or(u64::MAX));
        Ok(Records::Megatron { reader, left, columns: None })
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Records::Streams(reader) => reader.schema().clone(),
            Records::Megatron { reader, .. } => reader.schema(),
        }
    }

    fn select(&mut self, schema: SchemaRef) {
        match self {
            Records::Streams(reader) => reader.select(schema),
            Records::Megatron { columns, .. } => *columns = Some(schema),
        }
    }

    fn header(&self) -> Header {
        match self {
            Records::Streams(reader) => reader.header().clone(),
            Records::Megatron { reader, .. } => {
                let mut header = Header::default().through(&TOKENS, None);
                header.set("alignment", "label");
                if let Some(part) = reader.part() {
                    let source = &part.source;
                    header.set("policy", source.policy.clone());
                    header.set("inputs", source.inputs.clone());
                    header.set("input_manifest", source.manifest.clone().unwrap_or(Value::Null));
                    header.set("tokenizer", source.tokenizer.clone().unwrap_or(Value::Null));
                    header.set("limits", json!(source.limits));
                    header.provenance = part.provenance.clone();
                }
                header
            }
        }
    }

    fn total(&self) -> Option<u64> {
        match self {
            Records::Streams(reader) => reader.total(),
            Records::Megatron { left, .. } => Some(*left),
        }
    }

    /// Records that were dropped before, as far as the streams tell.
    fn rejected(&self) -> u64 {
        match self {
            Records::Streams(reader) => reader.rejected(),
            Records::Megatron { .. } => 0,
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            Records::Streams(reader) => {
                let Some(batch) = reader.next_batch()? else { return Ok(None) };
                match batch.rejected.first() {
                    Some(rejection) => Err(Error::data(rejection)),
                    None => Ok(Some(batch.records)),
                }
            }
            Records::Megatron { left: 0, .. } => Ok(None),
            Records::Megatron { reader, left, columns } => {
                let Some(batch) = reader.next_batch()? else { return Ok(None) };
                let rows = (batch.num_rows() as u64).min(*left);
                *left -= rows;
                let batch = batch.slice(0, rows as usize);
                let Some(schema) = columns else { return Ok(Some(batch)) };
                let indices: std::result::Result<Vec<usize>, _> =
                    schema.fields().iter().map(|f| batch.schema_ref().index_of(f.name())).collect();
                Ok(Some(batch.project(&indices?)?))
            }
        }
    }
}

/// Where records go.
enum Sink {
    Stdout(Writer<File>),
    File(Writer<BufWriter<PendingFile>>),
    Parquet(ParquetSink),
}

impl Sink {
    fn open(args: &Args, schema: &SchemaRef, header: &Header) -> Result<Sink> {
        let to = match args.to {
            Form::Ndjson => Encoding::Ndjson,
            Form::Arrow => Encoding::Arrow,
            Form::Parquet => {
                let Some(path) = &args.output else {
                    return Err(Error::usage("--to parquet wants -o FILE"));
                };
                refuse_existing(path, args.overwrite)?;
                let schema = header.put_into(schema);
                return Ok(Sink::Parquet(ParquetSink::create(path, schema)?));
            }
        };
        match &args.output {
            Some(path) => {
                refuse_existing(path, args.overwrite)?;
                let file = BufWriter::new(PendingFile::create(path)?);
                Ok(Sink::File(Writer::new(file, &shown(path), to, schema, header)?))
            }
            None => Ok(Sink::Stdout(Writer::stdout(to, args.force, schema, header)?)),
        }
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Sink::Stdout(writer) => writer.write(batch),
            Sink::File(writer) => writer.write(batch),
            Sink::Parquet(sink) => sink.write(batch),
        }
    }

    fn finish(self, rejected: u64) -> Result<()> {
        match self {
            Sink::Stdout(writer) => writer.finish(rejected).map(|_| ()),
            Sink::File(writer) => {
                let file = writer.finish(rejected)?.into_inner();
                publish(vec![file.map_err(|e| Error::write("output", e.error()))?])
            }
            Sink::Parquet(sink) => sink.publish(),
        }
    }
}
