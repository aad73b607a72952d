//! ds-cat: any dataset or stream in, records out: the one reader and converter.

use std::process::ExitCode;

use arrow_schema::SchemaRef;
use clap::Parser;

use gristmill::batch::Batch;
use gristmill::cli::{self, CommonArgs, InputArgs, NoStream, SelectArgs, Tool};
use gristmill::dataset;
use gristmill::error::{Error, Result};
use gristmill::record::{Grids, RECORD_TYPES};
use gristmill::runner::Runner;
use gristmill::stage::check_json_members;
use gristmill::stream::{FileOutputArgs, Reader, Request, project};

/// Read any dataset or stream as records
///
/// FILEs are Parquet files, Megatron prefixes (out/train/shard_00) or roots, pools of 2048 games,
/// puzzle sets, folders of Parquet shards (also divided into splits, as a root's ids), NDJSON files
/// and Arrow streams. Several are read one after another into one stream. A triple becomes token
/// sequences with masks; ids come from the ids file beside it, and segments are derived from the
/// tokens. A pool (Macroxue pack, self-play v1, legacy) becomes game records; fields that it does
/// not store are null.
#[derive(Parser)]
#[command(name = "ds-cat", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Keep only these top-level columns, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Vec<String>,

    #[command(flatten)]
    select: SelectArgs,

    /// Write puzzles as grids, digits or tiles, not tokens
    #[arg(long, conflicts_with = "columns")]
    grid: bool,

    /// Print only the number of records
    #[arg(long, conflicts_with_all = ["columns", "grid", "output", "id"], add = NoStream)]
    count: bool,

    #[command(flatten)]
    output: FileOutputArgs,

    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  ds-cat shard_00.parquet --columns synth_id,language --limit 3
  ds-cat out --id synth-00000042 | harmony-tok --decode | jq -r .text
  ds-cat pack | jq -c '.steps[] | select(.max_rank >= 14)'
  ds-cat arc/test --grid --limit 1 | jq -c '.inputs[]'
  ds-cat a.ndjson -o a.parquet; ds-cat pack --sample 100 --seed 7 -o some.arrows

In: anything that holds records.
Out: the same records.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    gristmill::main(
        gristmill::sources!(),
        |args: Args, tool| if args.count { count(&args) } else { run(args, tool) },
    )
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    args.input.shows_at_once = args.output.shows();
    let mut reader = open(&args)?;
    for note in reader.notes().iter().filter(|_| !args.common.quiet) {
        tool.tell(note);
    }
    let mut schema = reader.schema().clone();
    if !args.columns.is_empty() {
        schema = SchemaRef::new(project(&schema, &args.columns).map_err(Error::usage)?);
        reader.keep_columns(schema.clone());
    }
    let mut header = reader.header().clone();
    let record = RECORD_TYPES.iter().find(|record| args.grid && record.schema() == schema);
    let grids = record.and_then(|record| record.grids);
    if args.grid && grids.is_none() {
        return Err(Error::usage("--grid: these are not puzzle records"));
    }
    if let Some(grids) = grids {
        schema = (grids.schema)();
        header.record = None;
    }
    if args.output.no_provenance {
        header.provenance.clear()
    } else {
        header.provenance.push(tool.entry())
    }
    let output = args.output.open(&schema, &header, tool)?;
    let runner = Runner::new(tool, &args.common, "records");
    match grids {
        Some(grids) => runner.run(reader, || draw(grids), output),
        None => runner.run(reader, || check_json_members, output),
    }
}

fn open(args: &Args) -> Result<Reader> {
    dataset::open_with_plans(&args.input, Request::Any)?.selected(&args.select)
}

/// Returns a stage that turns batches of puzzles into grids.
fn draw(grids: Grids) -> impl FnMut(Batch) -> Result<Batch> {
    let mut before = 0;
    move |mut batch| {
        let records = (grids.of)(&batch.records, before)?;
        before += records.num_rows() as u64;
        batch.records = records;
        Ok(batch)
    }
}

fn count(args: &Args) -> Result<()> {
    cli::print(&format!("{}\n", open(args)?.count_records()?))
}
