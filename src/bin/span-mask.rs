//! span-mask: tokens records in, the same with `loss_mask` and `span_id` out.

use std::process::ExitCode;

use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;
use clap::{Parser, ValueEnum};
use serde_json::{Map, Value, json};

use gristmill::cli::{self, CommonArgs, InputArgs, OnErrorArgs, OutputArgs, Rejects, Result};
use gristmill::harmony::{Alignment, ChannelSpan, Spans, loss_mask};
use gristmill::record::TOKENS;
use gristmill::record::tokens::{self, Tokens, with_masks};
use gristmill::stream::{Batch, Reader, Wanted, Writer, provenance_entry};

/// Add the supervision signals to tokens records
///
/// span_id is 1 in an assistant's analysis message, 2 in a final one (wrapper tokens included),
/// else 0; loss_mask is 1 exactly where span_id is not 0. Both are label-aligned: position t
/// speaks of tokens[t+1]. Tokens pass through untouched.
#[derive(Parser)]
#[command(name = "span-mask", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Of which token position t speaks: the label tokens[t+1], or tokens[t]
    #[arg(long, value_enum, default_value = "label", value_name = "label|token")]
    #[arg(hide_possible_values = true)]
    align: Align,

    /// Supervise an assistant channel under this span id; 0 ignores it (repeatable)
    #[arg(long, value_name = "CHANNEL=ID")]
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
  harmony-tok shard_00.parquet | span-mask | jq -c '[.tokens, .span_id] | transpose' | head -1
  harmony-tok shard_00.parquet --to arrow | span-mask --to arrow | mmidx-write --prefix out/p
  harmony-tok chat.ndjson --policy chat | span-mask --span commentary=1

In: tokens records {id, tokens, segments}. Out: the same with loss_mask and span_id.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

#[derive(Clone, Copy, ValueEnum)]
enum Align {
    Label,
    Token,
}

fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(run)
}

fn run(args: Args) -> Result<()> {
    let spans = Spans::synth_kd_v1(&args.span);
    let alignment = match args.align {
        Align::Label => Alignment::Label,
        Align::Token => Alignment::Token,
    };
    let mut reader = Reader::open(&args.input, Wanted::records(&TOKENS))?;
    let entry = (!args.output.no_provenance).then(|| provenance_entry("span-mask"));
    let mut header = reader.header().through(&TOKENS, entry);
    header.set("alignment", alignment.name());
    let ids: Map<String, Value> =
        spans.channels().iter().map(|span| (span.channel.clone(), json!(span.id))).collect();
    header.set("spans", ids);
    let mut writer =
        Writer::stdout(args.output.to, args.output.force, &tokens::masked_schema(), &header)?;
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("sequences", reader.total());
    while let Some(batch) = reader.next_batch()? {
        let batch = mask(&spans, alignment, batch)?;
        rejects.take(batch.rejected)?;
        progress.add(batch.records.num_rows() as u64, batch.bytes);
        writer.write(&batch.records)?;
    }
    writer.finish(reader.rejected() + rejects.count())?;
    progress.finish();
    rejects.finish("span-mask")
}

/// The batch with its masks, without the rows that are refused.
fn mask(spans: &Spans, alignment: Alignment, mut batch: Batch) -> Result<Batch> {
    let records = batch.records.clone();
    let view = Tokens::of(&records)?;
    let mut kept = Vec::with_capacity(view.len());
    let mut span_id = Vec::with_capacity(view.all_tokens());
    for row in 0..view.len() {
        let outcome = match view.segments(row) {
            _ if view.loss_mask(row).is_some() || view.span_id(row).is_some() => {
                Err("has masks already".to_string())
            }
            None => Err("has no segments; try: harmony-tok".to_string()),
            Some(segments) => {
                spans.append(segments, view.tokens(row).len(), alignment, &mut span_id)
            }
        };
        kept.push(outcome.is_ok());
        if let Err(reason) = outcome {
            batch.reject(row, view.id(row), reason, json!({"tokens": view.tokens(row)}));
        }
    }
    let loss_mask = loss_mask(&span_id);
    let kept_records = if kept.contains(&false) {
        filter_record_batch(&records, &BooleanArray::from(kept))?
    } else {
        records
    };
    batch.records = with_masks(&kept_records, loss_mask, span_id)?;
    Ok(batch)
}
