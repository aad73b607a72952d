//! mmidx-write: masked tokens records in, Megatron `.bin/.idx` triples out; also concatenates.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args as ClapArgs, Parser, ValueEnum};
use serde_json::{Value, json};

use gristmill::cli::{
    self, CommonArgs, Error, InputArgs, OnErrorArgs, PendingFile, Rejects, Result, Slice, publish,
};
use gristmill::format::kd_root::{
    Config, Limits, PART_SCHEMA, Part, Records, Run, Sink, Source, Target, ValidFraction,
    concatenate, git_sha, manifest_beside,
};
use gristmill::format::mmidx::{Dtype, Layout};
use gristmill::record::TOKENS;
use gristmill::record::tokens::Tokens;
use gristmill::stream::{
    Header, Reader, Wanted, describe_parquet, input_manifest, provenance_entry,
};
use gristmill::tokenizer::{EOD, PADDED_VOCABULARY_SIZE, VOCABULARY_SHA256};

/// Write masked tokens records as Megatron indexed datasets
///
/// Every record becomes one sequence (and one document) of three aligned datasets: P_tokens
/// (int32), P_lossmask and P_span (uint8). With --root the hash of the id decides between train
/// and valid. Nothing appears under its final name before everything is written; the part
/// manifest comes last.
#[derive(Parser)]
#[command(name = "mmidx-write", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Concatenate these datasets instead of reading records
    #[arg(long, value_name = "PREFIX", num_args = 1.., requires = "prefix", help_heading = "Concatenate")]
    #[arg(conflicts_with_all = ["files", "tokens_only", "status"])]
    concat: Vec<PathBuf>,

    /// Concatenate datasets of other programs, which have no part manifest
    #[arg(long, requires = "concat", help_heading = "Concatenate")]
    foreign: bool,

    /// Replace what stands under the output's names
    #[arg(long)]
    overwrite: bool,

    /// Fail unless exactly N records come (NDJSON has no end marker)
    #[arg(long, value_name = "N")]
    expect_records: Option<u64>,

    /// Write nothing; say whether this very part is finished: done (exit 0), missing or stale (1)
    #[arg(long, requires = "root")]
    status: bool,

    #[command(flatten)]
    asserted: AssertedArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(ClapArgs)]
#[group(skip)]
struct TargetArgs {
    /// Write ROOT/{train,valid}/SHARD_{tokens,lossmask,span}.{bin,idx} and ROOT/parts/SHARD.json
    #[arg(long, value_name = "ROOT", requires = "shard", required_unless_present = "prefix")]
    root: Option<PathBuf>,

    /// The shard's name, as in shard_00
    #[arg(long, value_name = "SHARD", requires = "root")]
    shard: Option<String>,

    /// Which share of the ids is valid
    #[arg(long, value_name = "F", default_value = "0.001")]
    valid_fraction: ValidFraction,

    /// Write P_{tokens,lossmask,span}.{bin,idx} and P.part.json, without a split
    #[arg(long, value_name = "P", conflicts_with = "root")]
    prefix: Option<PathBuf>,

    /// Write P.bin and P.idx only; the records need no masks
    #[arg(long, requires = "prefix")]
    tokens_only: bool,

    /// Type of the tokens with --tokens-only
    #[arg(long, value_enum, default_value = "int32", requires = "tokens_only")]
    dtype: TokenDtype,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TokenDtype {
    Int32,
    Uint16,
}

/// What an Arrow stream's header says; NDJSON has none, so there it may be asserted.
#[derive(ClapArgs)]
#[command(next_help_heading = "What the header of an Arrow stream says, for NDJSON and --status")]
struct AssertedArgs {
    /// The records come from this Parquet file
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    source: Vec<PathBuf>,

    /// They were accepted under this policy
    #[arg(long, hide_short_help = true, value_name = "POLICY")]
    source_policy: Option<String>,

    /// harmony-tok had this --limit
    #[arg(long, hide_short_help = true, value_name = "N")]
    source_limit: Option<u64>,

    /// harmony-tok had this --max-tokens
    #[arg(long, hide_short_help = true, value_name = "N")]
    source_max_tokens: Option<u64>,

    /// harmony-tok had this --slice
    #[arg(long, hide_short_help = true, value_name = "I/N")]
    source_slice: Option<Slice>,
}

const HELP: &str = "\
Examples:
  harmony-tok shard_00.parquet | span-mask | mmidx-write --root out --shard shard_00
  harmony-tok a.ndjson | span-mask | mmidx-write --prefix out/a
  harmony-tok a.ndjson | mmidx-write --prefix out/a --tokens-only --dtype int32
  mmidx-write --concat part0/train/shard_00 part1/train/shard_00 --prefix out/shard_00

In: tokens records {id, tokens, segments, loss_mask, span_id}. Out: files, nothing on stdout.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(|args: Args| {
        if args.status {
            status(&args)
        } else if args.concat.is_empty() {
            write(args)
        } else {
            concat(&args)
        }
    })
}

fn write(args: Args) -> Result<()> {
    let start = Instant::now();
    let target = args.target.target()?;
    let (layout, dtype) = args.target.layout();
    target.refuse_existing(layout, args.overwrite)?;
    let mut reader = Reader::open(&args.input, Wanted::records(&TOKENS))?;
    let header = reader.header().clone();
    refuse_token_alignment(&header)?;
    let source = source(&header, &args)?;
    let mut sink = Sink::new(&target, layout, dtype);
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("sequences", reader.total());
    let mut records = Records::default();
    while let Some(mut batch) = reader.next_batch()? {
        let arrived = batch.records.clone();
        let view = Tokens::of(&arrived)?;
        records.read += (view.len() + batch.rejected.len()) as u64;
        records.written += sink.write(&view, |row, reason| {
            batch.reject(row, view.id(row), reason, json!({"tokens": view.tokens(row)}));
        })?;
        rejects.take(batch.rejected)?;
        progress.add(view.len() as u64, batch.bytes);
    }
    cli::expect_records(args.expect_records, records.read)?;
    // What was dropped before this filter came into the pipeline all the same.
    records.rejected = rejects.count() + reader.rejected();
    records.read += reader.rejected();
    let (mut files, splits) = sink.finish(&target)?;
    let (config, config_hash) = match layout {
        Layout::Triple => {
            let config = config(&target, &header, &source);
            let hash = config.sha256(target.valid_fraction());
            (Some(config), Some(hash))
        }
        Layout::Single => (None, None),
    };
    let part = Part {
        schema_version: PART_SCHEMA.to_string(),
        name: target.name(),
        git_sha: git_sha(),
        config,
        config_hash,
        dtype: dtype.name().to_string(),
        source,
        records,
        splits,
        provenance: header.through(&TOKENS, Some(provenance_entry("mmidx-write"))).provenance,
        run: Run::since(start),
    };
    files.push(part.pending(&target.manifest())?);
    replace(&target, files, args.overwrite)?;
    progress.finish();
    rejects.finish("mmidx-write")
}

fn concat(args: &Args) -> Result<()> {
    let start = Instant::now();
    let Some(prefix) = &args.target.prefix else {
        return Err(Error::usage("--concat wants --prefix P"));
    };
    let target = Target::Prefix(prefix.clone());
    for layout in [Layout::Triple, Layout::Single] {
        target.refuse_existing(layout, args.overwrite)?;
    }
    let (mut files, part) = concatenate(&args.concat, prefix, args.foreign, Run::since(start))?;
    let part = Part { run: Run::since(start), ..part };
    files.push(part.pending(&manifest_beside(prefix))?);
    replace(&target, files, args.overwrite)
}

/// Publishes the files, the manifest last; what an earlier run left goes first.
fn replace(target: &Target, files: Vec<PendingFile>, overwrite: bool) -> Result<()> {
    if overwrite {
        let replaced: Vec<PathBuf> = files.iter().map(|file| file.path().to_path_buf()).collect();
        let kept = &replaced[..replaced.len().saturating_sub(1)];
        target.withdraw(kept)?;
    }
    publish(files)
}

/// Whether the part that these arguments would make is finished.
fn status(args: &Args) -> Result<()> {
    let target = args.target.target()?;
    let path = target.manifest();
    let answer = if path.is_file() {
        let header = Header::default();
        let source = source(&header, args)?;
        let hash = config(&target, &header, &source).sha256(target.valid_fraction());
        let root = args.target.root.clone().unwrap_or_default();
        match Part::read(&path)?.differs(&root, &hash, &source) {
            None => "done".to_string(),
            Some(what) => format!("stale: {what}"),
        }
    } else {
        "missing".to_string()
    };
    let line = format!("{} {answer}\n", target.name());
    std::io::stdout().write_all(line.as_bytes()).map_err(|e| Error::write("stdout", &e))?;
    match answer.as_str() {
        "done" => Ok(()),
        _ => Err(Error::data(format!("{}: {answer}", target.name()))),
    }
}

impl TargetArgs {
    fn target(&self) -> Result<Target> {
        match (&self.root, &self.shard, &self.prefix) {
            (Some(root), Some(name), _) => {
                if name.is_empty() || name.starts_with('.') || name.contains('/') {
                    return Err(Error::usage(format!("--shard {name:?}: no name of a file")));
                }
                let (root, name) = (root.clone(), name.clone());
                Ok(Target::Root { root, name, valid_fraction: self.valid_fraction })
            }
            (_, _, Some(prefix)) if prefix.file_name().is_some() => {
                Ok(Target::Prefix(prefix.clone()))
            }
            _ => Err(Error::usage("give --root ROOT --shard SHARD, or --prefix P")),
        }
    }

    fn layout(&self) -> (Layout, Dtype) {
        match (self.tokens_only, self.dtype) {
            (false, _) => (Layout::Triple, Dtype::Int32),
            (true, TokenDtype::Int32) => (Layout::Single, Dtype::Int32),
            (true, TokenDtype::Uint16) => (Layout::Single, Dtype::UInt16),
        }
    }
}

fn refuse_token_alignment(header: &Header) -> Result<()> {
    match header.text("alignment") {
        Some("token") => Err(Error::usage(
            "the masks are token-aligned (span-mask --align token); try: span-mask --align label",
        )),
        _ => Ok(()),
    }
}

/// Where the records came from: what the header says, else what is asserted. The two may not
/// contradict each other.
fn source(header: &Header, args: &Args) -> Result<Source> {
    let asserted = &args.asserted;
    let described: Result<Vec<Value>> =
        asserted.source.iter().map(|path| describe_parquet(path)).collect();
    let told = |name: &str| header.parameters.get(name).filter(|value| !value.is_null());
    let limit = |name: &str| told("limits").and_then(|limits| limits.get(name));
    let number = |name: &str| limit(name).and_then(Value::as_u64);
    let slice = asserted.source_slice.map(|slice| slice.to_string());
    let told_slice = limit("slice").and_then(Value::as_str).map(str::to_string);
    let told_inputs = told("inputs").and_then(Value::as_array).cloned().filter(|v| !v.is_empty());
    let inputs = Some(described?).filter(|inputs| !inputs.is_empty());
    let manifest = Some(input_manifest(&asserted.source)?).filter(|manifest| !manifest.is_null());
    let told_manifest = told("input_manifest").cloned();
    let policy = told("policy").and_then(Value::as_str).map(str::to_string);
    let rows = agree("--source-limit", number("rows"), asserted.source_limit)?;
    let tokens = agree("--source-max-tokens", number("tokens"), asserted.source_max_tokens)?;
    let embedded = json!({
        "type": "o200k_harmony",
        "model_path": "embedded",
        "model_sha256": VOCABULARY_SHA256,
        "vocab_size": PADDED_VOCABULARY_SIZE,
    });
    Ok(Source {
        inputs: agree("--source", told_inputs, inputs)?.unwrap_or_default(),
        manifest: told_manifest.or(manifest),
        policy: agree("--source-policy", policy, asserted.source_policy.clone())?
            .or(Some("synth-kd-v1".to_string())),
        limits: Limits { rows, tokens, slice: agree("--source-slice", told_slice, slice)? },
        tokenizer: Some(told("tokenizer").cloned().unwrap_or(embedded)),
        spans: told("spans").cloned(),
    })
}

fn agree<T: PartialEq>(flag: &str, told: Option<T>, asserted: Option<T>) -> Result<Option<T>> {
    match (&told, &asserted) {
        (Some(told), Some(asserted)) if told != asserted => {
            Err(Error::usage(format!("{flag} is not what the stream's header says")))
        }
        _ => Ok(told.or(asserted)),
    }
}

/// The config of the contract; under another policy its roles and supervised channels.
fn config(target: &Target, header: &Header, source: &Source) -> Config {
    let mut config = Config::synth_kd_v1(target.valid_fraction());
    config.eod_token_id = EOD;
    if source.policy.as_deref() == Some("chat") {
        config.roles_preserved.push("tool".to_string());
    }
    if let Some(Value::Object(spans)) = header.parameters.get("spans") {
        let supervised = spans.iter().filter(|(_, id)| id.as_u64() != Some(0));
        config.assistant_channels = supervised.map(|(channel, _)| channel.clone()).collect();
    }
    config
}
