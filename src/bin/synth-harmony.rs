//! synth-harmony: raw rows of SYNTH in, Harmony conversations out.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use gristmill::batch::{Header, Wanted};
use gristmill::cli::{
    self, CommonArgs, Error, InputArgs, JobsArgs, LimitArgs, OnErrorArgs, Slice, Tool,
    WithoutEffect,
};
use gristmill::dataset::{raw_files, shard_of};
use gristmill::error::Result;
use gristmill::format::synth_shards::{CONVERSION, is_finished};
use gristmill::record::{CONVERSATION, RAW_SYNTH};
use gristmill::runner::Runner;
use gristmill::stage::{ReasoningEffort, Reference, SynthHarmony, SynthSettings};
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

    /// What the system message asks for: low, medium or high
    #[arg(long, value_enum, default_value = "high", value_name = "LEVEL")]
    #[arg(hide_possible_values = true)]
    reasoning_effort: ReasoningEffort,

    /// Who the system message says the model is
    #[arg(long, value_name = "TEXT", hide_default_value = true, hide_short_help = true)]
    #[arg(default_value = "You are vpMoE, a large language model trained by Veer Pareek.")]
    model_identity: String,

    /// The knowledge cutoff in the system message
    #[arg(long, value_name = "TEXT", default_value = "2024-06", hide_short_help = true)]
    knowledge_cutoff: String,

    /// The start date in the system message
    #[arg(long, value_name = "TEXT", default_value = "2026-01-01", alias = "current-date")]
    #[arg(hide_short_help = true)]
    conversation_start_date: String,

    /// The text of the developer message
    #[arg(long, value_name = "TEXT", default_value = INSTRUCTIONS, hide_default_value = true)]
    #[arg(hide_short_help = true)]
    developer_instructions: String,

    /// Leave the developer message out
    #[arg(long)]
    omit_developer: bool,

    /// The fields that are kept beside the messages, in this order
    #[arg(long, value_name = "A,B,...", hide_default_value = true)]
    #[arg(
        default_value = "synth_id,language,exercise,model,constraints,seed_license,query_seed_url"
    )]
    metadata_fields: String,

    /// Keep rows without reasoning, with their answers alone
    #[arg(long)]
    keep_without_reasoning: bool,

    /// What becomes of query_seed_text, which a query is about (drop)
    ///
    /// `append` puts it after the query: a blank line, `Reference:`, a new line and the text.
    #[arg(
        long,
        value_enum,
        default_value = "drop",
        value_name = "append|drop",
        hide_default_value = true
    )]
    #[arg(hide_possible_values = true)]
    reference: Reference,

    /// Read only the I-th of N contiguous parts of the files, whole ones (with --slice: part of
    /// those); the types of columns are those of the first file of all
    #[arg(long, value_name = "I/N", help_heading = "Input", hide_short_help = true)]
    shard: Option<Slice>,

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

const INSTRUCTIONS: &str = "\
Follow the user's request. When you provide an answer, produce both:
- reasoning in the analysis channel
- the user-facing answer in the final channel";

const HELP: &str = "\
Examples:
  synth-harmony raw/synth_001.parquet | head -1 | jq -r .messages_json | jq .messages
  synth-harmony raw | harmony-tok | span-mask | mmidx-write --root out --shard shard_00
  synth-harmony rows.ndjson --reference append --keep-without-reasoning --to parquet -o s.parquet

In: rows of any types; of a folder, all files below it. Out: conversation records {messages_json, metadata_json, FIELDS...}, all text.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(run)
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
    let settings = args.settings()?;
    let wanted = Wanted {
        schema: settings.wanted_columns(),
        any_types: true,
        ..Wanted::records(&RAW_SYNTH)
    };
    let reader = Reader::open_typed(&args.input, first.map(PathBuf::as_path), wanted)?
        .limited(args.limit.limit);
    let header = header(&args, &settings, &reader, tool);
    if let Some(path) = args.output.output.as_deref().filter(|_| args.resume)
        && is_finished(path, &header)?
    {
        return Ok(());
    }
    let output =
        args.output.open_grouped(&settings.schema(), &header, tool, Some(args.row_group_rows))?;
    let harmony = SynthHarmony::new(settings);
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

impl Args {
    fn settings(&self) -> Result<SynthSettings> {
        let fields = self.metadata_fields.split(',').map(str::trim).filter(|name| !name.is_empty());
        let metadata_fields: Vec<String> = fields.map(str::to_string).collect();
        if metadata_fields.is_empty() {
            return Err(Error::usage("No metadata fields specified."));
        }
        let instructions = self.developer_instructions.clone();
        let settings = SynthSettings {
            model_identity: self.model_identity.clone(),
            reasoning_effort: self.reasoning_effort,
            conversation_start_date: self.conversation_start_date.clone(),
            knowledge_cutoff: self.knowledge_cutoff.clone(),
            developer_instructions: (!self.omit_developer).then_some(instructions),
            metadata_fields,
            keep_without_reasoning: self.keep_without_reasoning,
            reference: self.reference,
        };
        match settings.repeated_column() {
            Some(name) => {
                Err(Error::usage(format!("--metadata-fields: there would be two columns {name}")))
            }
            None => Ok(settings),
        }
    }
}
