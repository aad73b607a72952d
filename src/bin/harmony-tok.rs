//! harmony-tok: Harmony conversations in, o200k tokens out; `--decode` goes back.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};

use gristmill::cli::{
    self, CommonArgs, Error, Flow, InputArgs, JobsArgs, OnErrorArgs, OutputArgs, Rejects, Result,
    ordered_map,
};
use gristmill::harmony::{self, Policy, Rendered, Renderer};
use gristmill::record::conversation::{self, Conversations};
use gristmill::record::decoded::{DecodedBuilder, Message};
use gristmill::record::tokens::{self, Tokens, TokensBuilder};
use gristmill::record::{CONVERSATION, DECODED, TOKENS};
use gristmill::stream::{Batch, Header, Reader, Wanted, Writer, input_manifest, provenance_entry};
use gristmill::tokenizer::{EOD, PADDED_VOCABULARY_SIZE, VOCABULARY_SHA256, verify_vocabulary};

/// Render Harmony conversations and tokenize them with o200k
///
/// Reads conversation records (a Parquet shard, NDJSON or an Arrow stream: an id and messages),
/// renders each as the official openai-harmony does, appends <|endoftext|>, and writes tokens
/// records: id, tokens, and one segment (role, channel, start, end) for each message.
#[derive(Parser)]
#[command(name = "harmony-tok", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Go back: tokens records in, {id, text, messages} out
    #[arg(long, conflicts_with_all = ["policy", "id_field", "vocab", "max_tokens"])]
    decode: bool,

    /// Which conversations are accepted: those of the SYNTH dataset, or all that the official
    /// renderer accepts
    #[arg(long, value_enum, default_value = "synth-kd-v1")]
    policy: PolicyName,

    /// Take the id from this field instead of synth_id, else id
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,

    /// Check this vocabulary file against the embedded one (else $TIKTOKEN_ENCODINGS_BASE/
    /// o200k_base.tiktoken, else $O200K_HARMONY_VOCAB_PATH, where they are set)
    #[arg(long, value_name = "FILE")]
    vocab: Option<PathBuf>,

    /// Read the first N records only
    #[arg(long, value_name = "N", help_heading = "Input")]
    limit: Option<u64>,

    /// Stop behind the record with which N tokens are reached
    #[arg(long, value_name = "N", help_heading = "Input")]
    max_tokens: Option<u64>,

    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  harmony-tok shard_00.parquet | head -1 | jq .tokens
  harmony-tok shard_00.parquet -j 4 --to arrow | span-mask | mmidx-write --prefix out/shard_00
  ds-cat out/train/shard_00 | harmony-tok --decode | jq -r .text
  echo '{\"id\":\"a\",\"messages\":[{\"role\":\"assistant\",\"channel\":\"final\",\"content\":\"hi\"}]}' | harmony-tok

In: conversation records {id or synth_id, messages or messages_json}; with --decode tokens records.
Out: tokens records {id, tokens, segments}; with --decode {id, text, messages}.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

#[derive(Clone, Copy, ValueEnum)]
enum PolicyName {
    #[value(name = "synth-kd-v1")]
    SynthKdV1,
    Chat,
}

impl PolicyName {
    fn policy(self) -> Policy {
        match self {
            PolicyName::SynthKdV1 => Policy::SynthKdV1,
            PolicyName::Chat => Policy::Chat,
        }
    }
}

fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(|args: Args| if args.decode { decode(args) } else { tokenize(args) })
}

fn tokenize(args: Args) -> Result<()> {
    let tokenizer = tokenizer(args.vocab.as_deref())?;
    let ids = conversation::id_fields(args.id_field.as_deref());
    let wanted =
        Wanted { record: &CONVERSATION, schema: conversation::schema(&ids), parquet: true };
    let mut reader = Reader::open(&args.input, wanted)?.limited(args.limit);
    let header = header(&args, &reader, tokenizer)?;
    let mut writer =
        Writer::stdout(args.output.to, args.output.force, &tokens::unmasked_schema(), &header)?;
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("conversations", reader.total());
    let mut tokens_left = args.max_tokens.unwrap_or(u64::MAX);
    let policy = args.policy.policy();
    ordered_map(
        args.jobs.jobs,
        &mut reader,
        || {
            let mut renderer = Renderer::new(policy);
            move |batch: Batch| render(&mut renderer, batch)
        },
        |rendered| {
            let mut batch = rendered?;
            let flow = spend(&mut batch, &mut tokens_left)?;
            rejects.take(batch.rejected)?;
            progress.add(batch.records.num_rows() as u64, batch.bytes);
            writer.write(&batch.records)?;
            Ok(flow)
        },
    )?;
    writer.finish(reader.rejected() + rejects.count())?;
    progress.finish();
    rejects.finish("harmony-tok")
}

/// No batch is expected to have more tokens.
const MOST_RESERVED: usize = 1 << 20;

/// One batch of conversations as tokens; what is refused stands in its `rejected`.
fn render(renderer: &mut Renderer, mut batch: Batch) -> Result<Batch> {
    let records = batch.records.clone();
    let conversations = Conversations::of(&records);
    let mut rendered = Rendered::default();
    let mut builder = TokensBuilder::default();
    // A token mostly stands for more than four bytes: growing would copy, and what is reserved and
    // not used costs nothing.
    builder.tokens.reserve((batch.bytes as usize / 4).min(MOST_RESERVED));
    for row in 0..conversations.len() {
        let id = conversations.id(row);
        let outcome = match (id, conversations.messages_json(row)) {
            (None, _) => Err("the id is missing or null".to_string()),
            (_, None) => Err("messages is missing or null".to_string()),
            (Some(_), Some(messages)) => {
                // The tokens are appended where the batch will have them.
                std::mem::swap(&mut rendered.tokens, &mut builder.tokens);
                let outcome = renderer.render(messages, &mut rendered);
                std::mem::swap(&mut rendered.tokens, &mut builder.tokens);
                outcome.map_err(|e| e.to_string())
            }
        };
        match outcome {
            Ok(()) => {
                for segment in &rendered.segments.list {
                    let channel = rendered.segments.channel(segment);
                    builder.segment(segment.role.as_str(), channel, segment.start, segment.end);
                }
                builder.finish_record(id)?;
            }
            Err(reason) => batch.reject(row, id, reason, conversations.to_json(row)),
        }
        rendered.segments.clear();
    }
    batch.records = builder.finish()?;
    Ok(batch)
}

/// Cuts the batch behind the record with which the limit of tokens is reached.
fn spend(batch: &mut Batch, tokens_left: &mut u64) -> Result<Flow> {
    let view = Tokens::of(&batch.records)?;
    for row in 0..view.len() {
        *tokens_left = tokens_left.saturating_sub(view.tokens(row).len() as u64);
        if *tokens_left == 0 {
            batch.end_behind(row);
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// What everyone downstream needs to know.
fn header(args: &Args, reader: &Reader, tokenizer: Value) -> Result<Header> {
    let manifest = input_manifest(&args.input.files)?;
    let entry = (!args.output.no_provenance).then(|| {
        let mut entry = provenance_entry("harmony-tok");
        if let Some(sha256) = manifest.get("sha256") {
            entry["input_manifest_sha256"] = sha256.clone();
        }
        entry
    });
    let mut header = reader.header().through(&TOKENS, entry);
    let policy = args.policy.to_possible_value();
    header.set("policy", policy.map(|value| value.get_name().to_string()));
    header.set("eod_token_id", EOD);
    header.set("tokenizer", tokenizer);
    header.set("inputs", reader.sources().to_vec());
    header.set("input_manifest", manifest);
    let slice = args.input.slice.map(|slice| slice.to_string());
    header.set("limits", json!({"rows": args.limit, "tokens": args.max_tokens, "slice": slice}));
    Ok(header)
}

/// Proves the vocabulary that the user names; without one the embedded stands for itself.
fn tokenizer(named: Option<&Path>) -> Result<Value> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let path = named
        .map(Path::to_path_buf)
        .or_else(|| {
            variable("TIKTOKEN_ENCODINGS_BASE")
                .map(|directory| Path::new(&directory).join("o200k_base.tiktoken"))
        })
        .or_else(|| variable("O200K_HARMONY_VOCAB_PATH").map(PathBuf::from));
    if let Some(path) = &path {
        let bytes = std::fs::read(path).map_err(|e| Error::io(cli::shown(path), &e))?;
        verify_vocabulary(&bytes).map_err(|e| Error::data(e).at(cli::shown(path)))?;
    }
    Ok(json!({
        "type": "o200k_harmony",
        "model_path": path.map_or("embedded".to_string(), |path| cli::shown(&path)),
        "model_sha256": VOCABULARY_SHA256,
        "vocab_size": PADDED_VOCABULARY_SIZE,
    }))
}

fn decode(args: Args) -> Result<()> {
    let mut reader = Reader::open(&args.input, Wanted::records(&TOKENS))?.limited(args.limit);
    let entry = (!args.output.no_provenance).then(|| provenance_entry("harmony-tok"));
    let header = reader.header().through(&DECODED, entry);
    let mut writer = Writer::stdout(args.output.to, args.output.force, &DECODED.schema(), &header)?;
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("sequences", reader.total());
    ordered_map(
        args.jobs.jobs,
        &mut reader,
        || decode_batch,
        |decoded| {
            let batch = decoded?;
            rejects.take(batch.rejected)?;
            progress.add(batch.records.num_rows() as u64, batch.bytes);
            writer.write(&batch.records)?;
            Ok(Flow::Continue)
        },
    )?;
    writer.finish(reader.rejected() + rejects.count())?;
    progress.finish();
    rejects.finish("harmony-tok")
}

/// One batch of tokens as text.
fn decode_batch(mut batch: Batch) -> Result<Batch> {
    let records = batch.records.clone();
    let view = Tokens::of(&records)?;
    let mut builder = DecodedBuilder::default();
    for row in 0..view.len() {
        match harmony::decode(view.tokens(row)) {
            Ok(decoded) => {
                let message = |message: harmony::DecodedMessage| Message {
                    role: message.role.as_str().to_string(),
                    channel: message.channel,
                    recipient: message.recipient,
                    content_type: message.content_type,
                    text: message.text,
                };
                let messages = decoded.messages.into_iter().map(message).collect();
                builder.push(view.id(row), decoded.text, messages);
            }
            Err(error) => {
                let input = json!({"tokens": view.tokens(row)});
                batch.reject(row, view.id(row), error.to_string(), input);
            }
        }
    }
    batch.records = builder.finish()?;
    Ok(batch)
}
