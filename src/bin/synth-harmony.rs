//! synth-harmony: raw rows of SYNTH in, Harmony conversations out.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use gristmill::batch::{Header, Wanted};
use gristmill::cli::{
    self, CommonArgs, InputArgs, JobsArgs, LimitArgs, OnErrorArgs, Slice, Tool, WithoutEffect,
};
use gristmill::dataset::{describe_raw, raw_files, shard_of};
use gristmill::error::{Error, Result};
use gristmill::format::synth_shards::{CONVERSION, is_finished};
use gristmill::record::{CONVERSATION, RAW_SYNTH};
use gristmill::runner::Runner;
use gristmill::stage::{SynthArgs, SynthHarmony, SynthSettings};
use gristmill::stream::{FileOutputArgs, Reader};

/// Make Harmony conversations of raw SYNTH rows
///
/// Reads rows (query, synthetic_reasoning, synthetic_answer and metadata fields) of Parquet files,
/// NDJSON or Arrow streams, with whatever types their columns have, and writes conversations in the
/// columns of the published synth_harmony shards: messages_json, metadata_json, and each metadata
/// field as text. Rows without a query, a reasoning or an answer are skipped and counted.
#[derive(Parser)]
#[command(name = "synth-harmony", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    conversation: SynthArgs,

    /// Read only the I-th of N contiguous parts of the files, whole ones (with --slice: part of
    /// those); the types of columns are those of the first file of all
    #[arg(long, value_name = "I/N", help_heading = "Input", hide_short_help = true)]
    shard: Option<Slice>,

    /// State name, size, rows and sha256 of each file in the header, for which all are read once more
    #[arg(long, help_heading = "Input", hide_short_help = true, add = WithoutEffect)]
    hash_inputs: bool,

    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    output: FileOutputArgs,

    /// Do nothing if the FILE of -o is finished, with these settings and of these inputs
    #[arg(long, requires = "output", conflicts_with = "overwrite", help_heading = "Output")]
    #[arg(hide_short_help = true, add = WithoutEffect)]
    resume: bool,

    /// Rows of each row group of a Parquet file
    #[arg(long, value_name = "N", default_value = "1000", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    row_group_rows: NonZeroUsize,

    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  synth-harmony raw/synth_001.parquet | head -1 | jq -r .messages_json | jq .messages
  synth-harmony raw | harmony-tok | span-mask | mmidx-write --root out --shard shard_00
  synth-harmony rows.ndjson --reference append --keep-without-reasoning --to parquet -o s.parquet

In: rows of any types; of a folder, all files below it. Out: conversation records {messages_json, metadata_json, FIELDS...}, all text.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(gristmill::sources!(), run)
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    let files = raw_files(&args.input.files)?;
    let first = match args.shard {
        Some(_) if files.iter().all(|path| path.as_os_str() == "-") => {
            return Err(Error::usage("--shard divides files: give FILEs or folders"));
        }
        Some(shard) => {
            args.input.files = shard_of(&files, shard).to_vec();
            files.first().filter(|first| args.input.files.first() != Some(*first))
        }
        None => {
            args.input.files.clone_from(&files);
            None
        }
    };
    let settings = args.conversation.settings()?;
    let wanted = Wanted {
        schema: settings.wanted_columns(),
        any_types: true,
        ..Wanted::records(&RAW_SYNTH)
    };
    let reader = Reader::open_typed(&args.input, first.map(PathBuf::as_path), wanted)?
        .limited(args.limit.limit);
    let mut header = header(&args, &settings, &reader, tool);
    if args.hash_inputs {
        header.set("inputs", describe_raw(&args.input.files)?);
    }
    if let Some(path) = args.output.output.as_deref().filter(|_| args.resume)
        && is_finished(path, &header)?
    {
        return Ok(());
    }
    // A pipe of Arrow leads back to the raw rows; a file is as the published converter writes it.
    let with_places = args.output.is_arrow_pipe();
    let schema = settings.schema_with(with_places);
    let output = args.output.open_grouped(&schema, &header, tool, Some(args.row_group_rows))?;
    let harmony = SynthHarmony::new(settings, with_places);
    Runner::new(tool, &args.common, "rows")
        .on_error(args.on_error.apart_from(&args.input.files)?)
        .jobs(args.jobs.jobs)
        .run(reader, || |batch| harmony.convert(batch), output)
}

/// The header for the filters that follow.
fn header(args: &Args, settings: &SynthSettings, reader: &Reader, tool: &Tool) -> Header {
    let entry = (!args.output.no_provenance).then(|| tool.entry());
    let mut header = reader.header().through(&CONVERSATION, entry);
    let slice = args.input.slice.map(|slice| slice.to_string());
    let conversion = json!({
        "metadata_fields": settings.metadata_fields,
        "system_message": settings.system_message(),
        "developer_message": settings.developer_message(),
        "keep_without_reasoning": settings.keep_without_reasoning,
        "reference": settings.reference.name(),
        "shard": args.shard.map(|shard| shard.to_string()),
        "inputs": reader.sources(),
        "limits": {"rows": args.limit.limit, "slice": slice},
    });
    header.set(CONVERSION, conversion);
    header
}
