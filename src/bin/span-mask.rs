//! span-mask: token sequences in, the same with `loss_mask` and `span_id` out.

use std::process::ExitCode;

use clap::Parser;

use gristmill::batch::WantedRecords;
use gristmill::cli::{self, CommonArgs, ForPipelines, InputArgs, OnErrorArgs, OutputArgs, Tool};
use gristmill::dataset;
use gristmill::error::Result;
use gristmill::harmony::{Alignment, ChannelSpan};
use gristmill::record::TOKENS;
use gristmill::record::tokens::{masked_schema, unmasked_schema};
use gristmill::runner::Runner;
use gristmill::stage::MaskRules;
use gristmill::stream::Writer;

/// Add loss_mask and span_id to token sequences
///
/// span_id is 1 in an assistant's analysis message, 2 in a final message (wrapper tokens included),
/// else 0. loss_mask is 1 exactly where span_id is not 0. Both are label-aligned: position t is about
/// tokens[t+1]. Tokens pass through unchanged.
#[derive(Parser)]
#[command(name = "span-mask", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// What position t of the masks is about: the label tokens[t+1], or tokens[t]
    #[arg(long, value_enum, default_value = "label", value_name = "label|token")]
    #[arg(hide_possible_values = true)]
    align: Alignment,

    /// Train on an assistant channel under this span id; 0 ignores it (repeatable)
    #[arg(long, add = ForPipelines, value_name = "CHANNEL=ID")]
    span: Vec<ChannelSpan>,

    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  harmony-tok a.parquet | span-mask | jq -c '[.tokens, .span_id] | transpose'
  harmony-tok shard_00.parquet --to arrow | span-mask --to arrow |
      mmidx-write --prefix out/p
  harmony-tok chat.ndjson --policy chat | span-mask --span commentary=1

In: token sequences {id, tokens, segments}.
Out: the same with loss_mask and span_id.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    args.input.shows_at_once = args.output.shows();
    let masking = MaskRules::new(&args.span, args.align);
    let mut reader = dataset::open_with_plans(&args.input, WantedRecords::records(&TOKENS))?;
    if reader.is_dataset() {
        // The masks of a triple are made again.
        reader.keep_columns(unmasked_schema().into());
    }
    let mut header = reader.header().through(&TOKENS, args.output.entry(tool));
    masking.describe(&mut header);
    let writer = Writer::stdout(&args.output, &masked_schema(), &header)?;
    let stage = || |batch| masking.mask(batch);
    Runner::new(tool, &args.common, "sequences")
        .on_error(&args.on_error)
        .run(reader, stage, writer)?;
    tool.warn(&masking.warnings(), &args.common);
    Ok(())
}
