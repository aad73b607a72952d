//! ds-cat: any dataset or stream in, records out: the one reader and converter.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use clap::{Parser, ValueEnum};

use gristmill::cli::{
    self, CommonArgs, Encoding, Error, InputArgs, PendingFile, Result, publish, refuse_existing,
    shown,
};
use gristmill::format::parquet::ParquetSink;
use gristmill::format::puzzle_dir::grids;
use gristmill::record::PUZZLE;
use gristmill::record::puzzle::grid_schema;
use gristmill::stream::{Dataset, Header, Reader, Writer, project, provenance_entry};

/// Read any dataset or stream as records
///
/// PATHs are Parquet files, Megatron prefixes (out/train/shard_00) or roots, directories of
/// pools of 2048 games, puzzle sets, NDJSON files and Arrow streams. Several are read one after another into
/// one stream. A triple comes back as tokens records with masks; its ids are not stored, so they
/// are null, and its segments are derived from the tokens. A pool (Macroxue pack, self-play v1,
/// legacy) comes back as game records; what it does not know is null.
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

    /// Puzzles as grids, digits, characters or tiles instead of tokens
    #[arg(long, conflicts_with = "columns")]
    grid: bool,

    /// Print the number of records instead of the records
    #[arg(long, conflicts_with_all = ["columns", "grid", "output"])]
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
  ds-cat pack | jq -c '.steps[] | select(.max_rank >= 14)'
  ds-cat arc/test --grid --limit 1 | jq -c '.inputs[]'
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
    if args.grid {
        if schema != PUZZLE.schema() {
            return Err(Error::usage("--grid: these are no puzzle records"));
        }
        schema = SchemaRef::new(grid_schema());
        header.record = None;
    }
    if args.no_provenance {
        header.provenance.clear();
    } else {
        header.provenance.push(provenance_entry("ds-cat"));
    }
    let mut sink = Sink::open(args, &schema, &header)?;
    let mut progress = args.common.progress("records", records.total());
    let mut read = 0;
    while let Some(batch) = records.next_batch()? {
        let batch = if args.grid { grids(&batch, read)? } else { batch };
        read += batch.num_rows() as u64;
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
    Streams(Box<Reader>),
    Dataset(Dataset),
}

impl Records {
    fn open(args: &Args) -> Result<Records> {
        let paths = &args.input.files;
        if let Some(dataset) = Dataset::open(paths, args.input.slice, args.limit)? {
            if !args.common.quiet {
                dataset.notes().iter().for_each(|note| cli::tell(&format!("ds-cat: {note}")));
            }
            return Ok(Records::Dataset(dataset));
        }
        if let Some(directory) = paths.iter().find(|path| path.is_dir()) {
            return Err(Error::usage(format!(
                "{}: no dataset that ds-cat knows (no train/ or valid/ with shards, no steps.npy, \
                 no dataset.json)",
                shown(directory)
            )));
        }
        let reader = Reader::open_any(&args.input)?.limited(args.limit);
        Ok(Records::Streams(Box::new(reader)))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Records::Streams(reader) => reader.schema().clone(),
            Records::Dataset(dataset) => dataset.schema(),
        }
    }

    fn select(&mut self, schema: SchemaRef) {
        match self {
            Records::Streams(reader) => reader.select(schema),
            Records::Dataset(dataset) => dataset.select(schema),
        }
    }

    fn header(&self) -> Header {
        match self {
            Records::Streams(reader) => reader.header().clone(),
            Records::Dataset(dataset) => dataset.header(),
        }
    }

    fn total(&self) -> Option<u64> {
        match self {
            Records::Streams(reader) => reader.total(),
            Records::Dataset(dataset) => Some(dataset.left()),
        }
    }

    /// Records that were dropped before, as far as the streams tell.
    fn rejected(&self) -> u64 {
        match self {
            Records::Streams(reader) => reader.rejected(),
            Records::Dataset(_) => 0,
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
            Records::Dataset(dataset) => dataset.next_batch(),
        }
    }
}

/// Where records go.
enum Sink {
    Stdout(Writer<File>),
    File(Writer<BufWriter<PendingFile>>),
    Parquet(Box<ParquetSink>),
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
                return Ok(Sink::Parquet(Box::new(ParquetSink::create(path, schema)?)));
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
