//! chat-tok: chats in, tokens of any model out.

use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use gristmill::chat::SESSIONS;
use gristmill::cli::{self, CommonArgs, FileForms, JobsArgs, OnErrorArgs, OutputArgs, Tool};
use gristmill::error::Result;
use gristmill::record::{PAIR, TOKENS, tokens};
use gristmill::runner::Runner;
use gristmill::stage::{Budget, ChatArgs, ChatTok, LengthArgs, ModelArgs, SourceArgs};
use gristmill::stream::Writer;

/// Render chats as a model reads them, and tokenize them
///
/// Reads chats in all common shapes and renders each: for gpt-oss as openai-harmony does, for a Hugging Face folder
/// with its own chat template, as transformers does. Writes records of tokens: id, tokens, and segments (role,
/// channel, start, end). Segments that the model itself would have generated in that place have a channel:
/// analysis for reasoning, commentary for calls, final for the rest with the stop token.
#[derive(Parser)]
#[command(name = "chat-tok", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    chat: ChatArgs,
    #[command(flatten)]
    lengths: LengthArgs,

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
  chat-tok --model gpt-oss chats.jsonl | head -1 | jq .tokens
  chat-tok --model Qwen3-8B --set enable_thinking=false c.jsonl | span-mask |
      mmidx-write --prefix out/a --model Qwen3-8B
  chat-tok --model Llama-3.1-8B-Instruct --date 2024-07-26 chats.jsonl |
      span-mask --span commentary=3 | ds-stat -
  chat-tok --model tokenizer.json --template chat.jinja chats.parquet
  chat-tok --model Qwen3-8B --take pair dpo.jsonl |
      seq-pack --form trl-dpo -o pairs.parquet

In: chats in any of the shapes; of a folder, all files below it.
Out: token sequences {id, tokens, segments}; with --take pair, pairs
{id, prompt, chosen, rejected}.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    let model = args.model.open(&args.chat)?;
    if args.common.verbose {
        tool.tell(&model.note);
    }
    let read = model.rendering.read_settings();
    let (record, schema) = match read.takes_pairs() {
        true => (&PAIR, PAIR.schema()),
        false => (&TOKENS, tokens::unmasked_schema().into()),
    };
    args.lengths.check(record)?;
    args.source.input.file_forms = FileForms(SESSIONS);
    args.source.input.shows_at_once = args.output.shows();
    let reader = args.source.open(model.wanted())?.feeding(args.jobs.jobs);
    let mut header = reader.header().through(record, args.output.entry(tool));
    let mut stated = json!({"chat": model.stated, "id_field": args.chat.id_field});
    args.lengths.state(&mut stated["chat"]);
    args.source.state_conversion(&mut header, &reader, stated);
    model.tokens.state(&mut header, (&args.source, &reader), args.max_tokens)?;
    if read.changes_number() || args.lengths.changes_number() {
        args.source.forget_rows(&mut header);
    }
    let writer = Writer::stdout(&args.output, &schema, &header)?;
    let sink = Budget { sink: writer, tokens: args.max_tokens.unwrap_or(u64::MAX) };
    let stage = ChatTok::new(model.rendering, model.chats, args.lengths.limit());
    let make = || {
        let mut worker = stage.worker();
        move |batch| worker.convert(batch)
    };
    let runner = Runner::new(tool, &args.common, "chats").on_error(&args.on_error);
    runner.jobs(args.jobs.jobs).run(reader, make, sink)?;
    tool.warn(&stage.warnings(), &args.common);
    stage.told().filter(|_| !args.common.quiet).for_each(|line| tool.tell(&line));
    Ok(())
}
