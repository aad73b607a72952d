//! mmidx-write: masked token sequences in, Megatron `.bin/.idx` triples out; also concatenates.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use gristmill::batch::{Batch, Header, WantedRecords};
use gristmill::check::SequenceGate;
use gristmill::cli::{self, CommonArgs, ForPipelines, InputArgs, OnErrorArgs, SinkArgs, Tool};
use gristmill::dataset;
use gristmill::error::{Error, Result};
use gristmill::format::kd_root::{
    AssertedSource, KdPart, KdTarget, KdTargetArgs, NO_MASKS, PartSink, concatenate, publish_part,
    publish_tokenizer_of_parts,
};
use gristmill::format::mmidx::{MmidxDtype, PrefixLayout};
use gristmill::model::{Vocabulary, state_end, state_model};
use gristmill::provenance::BuildRun;
use gristmill::publish::refuse_existing;
use gristmill::record::TOKENS;
use gristmill::record::statements::TOKENIZER;
use gristmill::record::tokens::with_end;
use gristmill::runner::Runner;
use gristmill::way_on;

/// Make Megatron indexed datasets (.bin and .idx) from masked token sequences
///
/// Makes three aligned datasets: P_tokens (int32, or uint16 for a small vocabulary), P_lossmask and
/// P_span (uint8). Every record is one sequence (and one document). P_ids.parquet and P.part.json
/// stand beside them. With --root there are three datasets for train and three for valid, and the
/// hash of the id decides where a record goes. No file gets its final name before all are written;
/// the part manifest is published last. When all shards of a root are there, run ds-manifest ROOT:
/// without the manifest.json that it writes nobody can tell that a shard is missing.
#[derive(Parser)]
#[command(name = "mmidx-write", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: KdTargetArgs,

    /// Concatenate these datasets instead of reading records
    #[arg(long, value_name = "PREFIX", num_args = 1.., requires = "prefix", help_heading = "Concatenate")]
    #[arg(conflicts_with_all = ["files", "tokens_only"])]
    concat: Vec<PathBuf>,

    /// Concatenate datasets of other programs, which have no part manifest
    #[arg(long, requires = "concat", help_heading = "Concatenate")]
    foreign: bool,

    /// Also write sequences that ds-check calls wrong (of other programs)
    #[arg(long, conflicts_with = "concat", help_heading = "Checks")]
    no_check: bool,

    /// Write a dataset in which nothing is supervised
    #[arg(long, add = ForPipelines, help_heading = "Checks")]
    allow_unsupervised: bool,

    #[command(flatten)]
    sink: SinkArgs,

    /// The model of the tokens, which NDJSON does not state: gpt-oss, a folder, or a tokenizer.json
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "What the header of an Arrow stream says, for NDJSON"
    )]
    #[arg(conflicts_with = "concat")]
    model: Option<PathBuf>,

    /// The chat template that was used, if not the one in the model's folder: a root keeps it with the tokenizer
    #[arg(long, value_name = "FILE", requires = "model", hide_short_help = true)]
    #[arg(help_heading = "What the header of an Arrow stream says, for NDJSON")]
    template: Option<PathBuf>,

    /// End each sequence with this token of the model, by its text or id, as Megatron's --append-eod
    ///
    /// It is always appended, also to a sequence that ends in it already. It is never trained on; the stop token of
    /// an answer is. The part manifest states it, and ds-check looks for it.
    #[arg(long, add = ForPipelines, value_name = "TOKEN", help_heading = "Form")]
    #[arg(conflicts_with = "concat")]
    append_eod: Option<String>,

    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    asserted: AssertedSource,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  harmony-tok shard_00.parquet | span-mask |
      mmidx-write --root out --shard shard_00
  harmony-tok a.ndjson | span-mask | mmidx-write --prefix out/a
  harmony-tok a.ndjson | mmidx-write --prefix out/a --tokens-only --dtype int32
  mmidx-write --concat part0/train/shard_00 part1/train/shard_00 \\
      --prefix out/shard_00

In: token sequences {id, tokens, segments, loss_mask, span_id}.
Out: files, nothing on stdout. A program in between that ends its lines itself
(jq, grep) hides the failure of the one before it: with NDJSON use set -o
pipefail, or --expect-records N.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), |args: Args, tool| {
        if args.concat.is_empty() { write(args, tool) } else { concat(&args, tool) }
    })
}

fn write(args: Args, tool: &Tool) -> Result<()> {
    let target = args.target.target()?;
    refuse_existing(&target, args.sink.overwrite)?;
    let reader = dataset::open_with_plans(&args.input, WantedRecords::records(&TOKENS))?;
    if reader.lacks_header() {
        tool.advise_arrow(&args.common);
    }
    let mut header = reader.header().through(&TOKENS, Some(tool.entry()));
    let end = args.state(&mut header)?;
    let overwrite = args.sink.overwrite;
    let vocabulary = Vocabulary::of(header.parameters.value(&TOKENIZER));
    let (layout, dtype) = args.target.layout(vocabulary);
    let mut gate = SequenceGate::of(&header)?;
    let mut sink = PartSink::create(target, layout, dtype, args.target.ids(), overwrite, header)?
        .allow_unsupervised(args.allow_unsupervised)
        .keeping(args.model.as_deref(), args.template.as_deref())?;
    // (Tokens of two bytes without masks come from other programs.)
    let is_checked = layout == PrefixLayout::Triple || dtype == MmidxDtype::Int32;
    if !args.no_check && is_checked {
        sink = sink.rule(Box::new(move |view, row| gate.check(view, row)));
    }
    let runner = Runner::new(tool, &args.common, "sequences").on_error(&args.on_error);
    let stage = || move |batch| ended(batch, end);
    let written = runner.expect(args.sink.expect_records).run(reader, stage, sink);
    written.map_err(|error| match error.place() {
        Some(place) if error.cause() == NO_MASKS => {
            let way = way_on::through("span-mask", &place.source);
            error.hint(format!("{way}, or --tokens-only"))
        }
        _ => error,
    })
}

impl Args {
    /// States in a header what the user says about its tokens; returns the token with which each sequence must end.
    fn state(&self, header: &mut Header) -> Result<Option<i32>> {
        let model = state_model(header, self.model.as_deref())?;
        self.asserted.state(header)?;
        let end = self.append_eod.as_deref();
        end.map(|token| state_end(header, model, ("--append-eod", token))).transpose()
    }
}

/// Returns a batch with this token at the end of each sequence.
fn ended(mut batch: Batch, end: Option<i32>) -> Result<Batch> {
    if let Some(token) = end {
        batch.records = with_end(&batch.records, token)?;
    }
    Ok(batch)
}

fn concat(args: &Args, tool: &Tool) -> Result<()> {
    let start = Instant::now();
    let target = args.target.target()?;
    let KdTarget::Prefix(prefix) = &target else {
        return Err(Error::usage("--concat needs --prefix P"));
    };
    refuse_existing(&target, args.sink.overwrite)?;
    let ids = args.target.ids();
    let (mut files, part) =
        concatenate(&args.concat, prefix, args.foreign, ids, BuildRun::since(start))?;
    let mut part = KdPart { run: BuildRun::since(start), ..part };
    let nothing = part.unsupervised();
    if let Some(cause) = nothing.as_deref().filter(|_| !args.allow_unsupervised) {
        let hint = "span-mask --span CHANNEL=ID";
        return Err(Error::data(cause).at(target.name()).hint(hint));
    }
    publish_tokenizer_of_parts(&args.concat, &target, &mut part)?;
    files.push(part.pending(&target.manifest())?);
    let mut warnings = Vec::from_iter(nothing);
    warnings.extend(publish_part(&target, files, args.sink.overwrite)?);
    tool.tell_made(Some(&part.summary()), &args.common);
    tool.warn(&warnings, &args.common);
    Ok(())
}
