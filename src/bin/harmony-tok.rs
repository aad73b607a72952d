//! harmony-tok: Harmony conversations in, o200k tokens out; `--decode` goes back.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use gristmill::batch::{Header, WantedRecords, input_manifest};
use gristmill::cli::{
    self, CommonArgs, ForPipelines, InputCheckArgs, JobsArgs, OnErrorArgs, OutputArgs, Tool,
};
use gristmill::dataset;
use gristmill::error::{Error, Result};
use gristmill::format::parquet::compare_inputs;
use gristmill::harmony::{Alignment, IgnoredFields, Policy, Renderer};
use gristmill::model::{Vocabulary, is_assumed, open_of_header};
use gristmill::record::statements::{ID_FIELD, INPUT_MANIFEST, TOKENIZER};
use gristmill::record::{CONVERSATION, DECODED, TOKENS, conversation, tokens};
use gristmill::runner::Runner;
use gristmill::stage::{Budget, SourceArgs, TokensOf, decode, render};
use gristmill::stream::{Reader, Writer};
use gristmill::wording::times;

/// Render Harmony conversations and tokenize them with o200k
///
/// Reads conversation records (a Parquet shard, NDJSON or an Arrow stream: an id and messages),
/// renders each as the official openai-harmony does, appends <|endoftext|>, and writes records of
/// tokens: id, tokens, and one segment (role, channel, start, end) for each message.
#[derive(Parser)]
#[command(name = "harmony-tok", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Decode: token sequences in, texts out
    ///
    /// Writes records {id, text, messages, spans}.
    #[arg(long, conflicts_with_all = ["policy", "id_field", "ignore_field", "content_is_text", "vocab", "max_tokens"])]
    decode: bool,

    /// The model whose tokens these are, if they are not of o200k: a folder, or a tokenizer.json
    #[arg(long, value_name = "DIR", requires = "decode", hide_short_help = true)]
    model: Option<PathBuf>,

    /// What position t of the masks is about, if the stream does not say it (NDJSON): the label
    /// tokens[t+1], or tokens[t] [default: label]
    #[arg(long, value_enum, requires = "decode", value_name = "label|token")]
    #[arg(hide_possible_values = true, hide_short_help = true)]
    align: Option<Alignment>,

    /// What is accepted: synth-kd-v1, the rules of SYNTH, or chat [default: what the header says, else
    /// synth-kd-v1]
    ///
    /// chat accepts everything that the official renderer accepts. The header of chat-harmony says chat.
    #[arg(long, value_enum, value_name = "POLICY", hide_possible_values = true)]
    #[arg(add = ForPipelines)]
    policy: Option<Policy>,

    /// Take the id from this field [default: synth_id, else id]
    #[arg(long, add = ForPipelines, value_name = "NAME")]
    id_field: Option<String>,

    /// Ignore this field of messages (thinking, tool_calls, weight, ...). Otherwise it is refused, as
    /// it would change what is trained on (repeatable)
    #[arg(long, add = ForPipelines, value_name = "NAME", hide_short_help = true)]
    ignore_field: Vec<String>,

    /// Take a content that looks like a JSON array of parts as plain text. Otherwise it is refused: a
    /// JSON column that was read as text looks like this
    #[arg(long, add = ForPipelines, hide_short_help = true)]
    content_is_text: bool,

    /// Check this vocabulary file against the embedded one (else $TIKTOKEN_ENCODINGS_BASE/
    /// o200k_base.tiktoken, else $O200K_HARMONY_VOCAB_PATH, if set)
    #[arg(long, value_name = "FILE", help_heading = "Vocabulary")]
    vocab: Option<PathBuf>,

    #[command(flatten)]
    input_check: InputCheckArgs,

    /// Stop after the record that reaches N tokens in total
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
  harmony-tok shard_00.parquet -j 4 --to arrow | span-mask |
      mmidx-write --prefix out/shard_00
  ds-cat out/train/shard_00 | harmony-tok --decode | jq -r .text
  echo '{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}' |
      harmony-tok --policy chat

In: conversation records {id or synth_id, messages or messages_json}; with
--decode token sequences.
Out: token sequences {id, tokens, segments}; with --decode {id, text, messages,
spans, control}.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), |args: Args, tool| {
        if args.decode { to_text(args, tool) } else { to_tokens(args, tool) }
    })
}

fn to_tokens(mut args: Args, tool: &Tool) -> Result<()> {
    if !args.input_check.no_input_check {
        compare_inputs(&args.source.input.files)?;
    }
    args.source.input.is_compared = true;
    args.source.input.shows_at_once = args.output.shows();
    let ids = conversation::id_fields(args.id_field.as_deref());
    let schema = conversation::schema(&ids);
    // A user who states a policy knows that the records are conversations.
    let user_fields = args.policy.map(|_| "messages".to_string()).into_iter().collect();
    let wanted = WantedRecords { schema, user_fields, ..WantedRecords::records(&CONVERSATION) };
    let reader = if args.source.is_of_files() {
        args.source.open(wanted)?
    } else {
        dataset::open_with_plans(&args.source.input, wanted)?.first(args.source.limit())
    };
    let reader = reader.feeding(args.jobs.jobs);
    let policy = args.policy.or_else(|| Policy::of_header(reader.header()));
    let policy = policy.unwrap_or(Policy::SynthKdV1);
    let of = TokensOf::harmony(args.vocab.as_deref(), policy)?;
    let header = header(&args, &reader, of, tool)?;
    let writer = Writer::stdout(&args.output, &tokens::unmasked_schema(), &header)?;
    let sink = Budget { sink: writer, tokens: args.max_tokens.unwrap_or(u64::MAX) };
    let ignored = Arc::new(IgnoredFields::new(&args.ignore_field));
    let stage = || {
        let mut renderer =
            Renderer::ignoring(policy, ignored.clone()).content_is_text(args.content_is_text);
        move |batch| render(&mut renderer, batch)
    };
    let runner = Runner::new(tool, &args.common, "conversations").on_error(&args.on_error);
    runner.jobs(args.jobs.jobs).run(reader, stage, sink)?;
    for (name, count) in ignored.counts().filter(|(_, count)| *count > 0) {
        tool.warn(&[format!("{name} was left out {}", times(count))], &args.common);
    }
    Ok(())
}

fn to_text(mut args: Args, tool: &Tool) -> Result<()> {
    args.source.input.is_compared = args.input_check.no_input_check;
    args.source.input.shows_at_once = args.output.shows();
    let reader = dataset::open_with_plans(&args.source.input, WantedRecords::records(&TOKENS))?;
    let reader = reader.first(args.source.limit());
    let stated = reader.header().parameters.value(&TOKENIZER);
    let tokenizer = match open_of_header(reader.header(), args.model.as_deref())? {
        Some(folder) => Some(folder.tokenizer().clone()),
        None if Vocabulary::of(stated).is_o200k() => None,
        None => {
            let cause = "--decode: these are tokens of another tokenizer than o200k";
            return Err(Error::usage(cause).hint("--model DIR, the folder of their model"));
        }
    };
    let is_assumed = is_assumed(reader.header());
    let alignment = Alignment::of(reader.header(), args.align)?;
    let header = reader.header().through(&DECODED, args.output.entry(tool));
    let writer = Writer::stdout(&args.output, &DECODED.schema(), &header)?;
    let runner = Runner::new(tool, &args.common, "sequences").on_error(&args.on_error);
    let of = (tokenizer.as_ref(), is_assumed);
    runner.jobs(args.jobs.jobs).run(reader, || move |batch| decode(batch, alignment, of), writer)
}

/// Returns the header for the filters that follow.
fn header(args: &Args, reader: &Reader, of: TokensOf, tool: &Tool) -> Result<Header> {
    let manifest = input_manifest(reader.files(), !args.input_check.no_input_check)?;
    let entry = args.output.entry(tool).map(|mut entry| {
        if let Some(manifest) = &manifest {
            entry["input_manifest_sha256"] = manifest.sha256.as_str().into();
        }
        entry
    });
    let mut header = reader.header().through(&TOKENS, entry);
    of.state(&mut header, (&args.source, reader), args.max_tokens)?;
    if let Some(name) = &args.id_field {
        header.set(&ID_FIELD, name.clone());
    }
    header.set(&INPUT_MANIFEST, manifest);
    args.source.state_cut(&mut header);
    Ok(header)
}
