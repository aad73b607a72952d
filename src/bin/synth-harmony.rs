//! synth-harmony: raw rows of SYNTH in, Harmony conversations out.

use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use gristmill::cli::{self, CommonArgs, JobsArgs, OnErrorArgs, Tool};
use gristmill::error::Result;
use gristmill::record::CONVERSATION;
use gristmill::runner::Runner;
use gristmill::stage::{ConversationOutputArgs, SourceArgs, SynthArgs, SynthHarmony};

/// Turn raw SYNTH rows into Harmony conversations
///
/// Reads rows (query, synthetic_reasoning, synthetic_answer and metadata fields) from Parquet files,
/// NDJSON or Arrow streams; their columns may have any types. Writes conversations in the columns of
/// the published synth_harmony shards: messages_json, metadata_json, and each metadata field as text.
/// Rows without a query, a reasoning or an answer are skipped and counted.
#[derive(Parser)]
#[command(name = "synth-harmony", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    conversation: SynthArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    output: ConversationOutputArgs,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  synth-harmony raw/synth_001.parquet | head -1 | jq -r .messages_json |
      jq .messages
  synth-harmony raw | harmony-tok | span-mask |
      mmidx-write --root out --shard shard_00
  synth-harmony rows.ndjson --reference append --keep-without-reasoning \\
      --to parquet -o s.parquet

In: rows of any types; of a folder, all files below it.
Out: conversation records {messages_json, metadata_json, FIELDS...}, all text.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    let settings = args.conversation.settings()?;
    let reader = args.source.open(args.conversation.wanted(&settings)?)?;
    let mut stated = json!({
        "metadata_fields": settings.metadata_fields,
        "system_message": settings.system_message(),
        "developer_message": settings.developer_message(),
        "keep_without_reasoning": settings.keep_without_reasoning,
        "reference": settings.reference.name(),
    });
    if !args.conversation.columns.is_empty() {
        stated["columns"] = json!(args.conversation.columns);
    }
    let header = args.source.header(&CONVERSATION, &reader, stated, args.output.entry(tool))?;
    if args.output.is_finished(&header, &args.source, &reader)? {
        return Ok(());
    }
    let with_places = args.output.has_places();
    let output = args.output.open(&settings.schema_with(with_places), &header, tool)?;
    let harmony = SynthHarmony::new(settings, with_places);
    Runner::new(tool, &args.common, "rows").on_error(&args.on_error).jobs(args.jobs.jobs).run(
        reader,
        || |batch| harmony.convert(batch),
        output,
    )
}
