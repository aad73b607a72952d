//! chat-tok: chats in, tokens of any model out, by its own chat template and tokenizer.

use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use gristmill::batch::{WEIGHTS, WantedRecords};
use gristmill::chat::AnswerChoice;
use gristmill::cli::{self, CommonArgs, ForPipelines, JobsArgs, OnErrorArgs, OutputArgs, Tool};
use gristmill::error::Result;
use gristmill::model::ChatModel;
use gristmill::record::{CHAT, TOKENS, chat, tokens};
use gristmill::runner::Runner;
use gristmill::stage::{Budget, ChatReadArgs, ChatTok, ModelArgs, SourceArgs};
use gristmill::stream::Writer;

/// Render chats with a model's own chat template, and tokenize them
///
/// Reads chats in the shapes that chat-harmony reads, renders each with the chat template of a Hugging Face
/// folder as transformers does, and writes records of tokens: id, tokens, and segments (role, channel, start,
/// end). Segments that the model itself would have generated in that place have a channel: analysis for
/// reasoning, commentary for calls, final for the rest with the stop token.
#[derive(Parser)]
#[command(name = "chat-tok", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    read: ChatReadArgs,

    /// Take the id from this field [default: the first of id, synth_id, conversation_id, prompt_id,
    /// uuid and metadata_json.synth_id that is there, else a hash of the chat]
    #[arg(long, add = ForPipelines, value_name = "NAME", help_heading = "Conversations")]
    id_field: Option<String>,

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
  chat-tok --model Qwen3-8B chats.jsonl | head -1 | jq .tokens
  chat-tok --model Qwen3-8B chats.jsonl | span-mask |
      mmidx-write --prefix out/a --model Qwen3-8B
  chat-tok --model Llama-3.1-8B-Instruct --date 2024-07-26 chats.jsonl |
      span-mask --span commentary=3 | ds-stat -
  chat-tok --model Qwen3-8B --set enable_thinking=false --turns split c.jsonl
  chat-tok --model tokenizer.json --template chat.jinja chats.parquet

In: chats in any of the shapes that chat-harmony reads; of a folder, all files
below it.
Out: token sequences {id, tokens, segments}.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    let model = ChatModel::open(&args.model.model())?;
    let chats = args.model.chats(&args.read, &model);
    if args.common.verbose {
        tool.tell(&model.note());
    }
    let known_by = chats.read.fields.names();
    let wanted =
        WantedRecords { schema: chat::schema(), known_by, ..WantedRecords::records(&CHAT) };
    args.source.input.is_shown = args.output.shows();
    let reader = args.source.open(wanted)?.feeding(args.jobs.jobs);
    let mut chat = chats.read.to_json();
    if let (Value::Object(all), Value::Object(of_model)) = (&mut chat, args.model.to_json()) {
        all.extend(of_model);
    }
    let stated = json!({"chat": chat, "id_field": args.id_field});
    let mut header = args.source.header(&TOKENS, &reader, stated, args.output.entry(tool))?;
    header.set("tokenizer", model.describe());
    header.tokenizer_location = Some(model.location());
    header.set(WEIGHTS, true);
    if !reader.sources().is_empty() && !header.parameters.contains_key("inputs") {
        header.set("inputs", reader.sources().to_vec());
    }
    let slice = args.source.input.slice.map(|slice| slice.to_string());
    let (rows, tokens) = (args.source.limit(), args.max_tokens);
    header.set("limits", json!({"rows": rows, "tokens": tokens, "slice": slice}));
    if args.model.is_split() || chats.read.take.contains(&AnswerChoice::Wanted) {
        // The number of sequences is not known beforehand: each turn may become one, and some chats are
        // not wanted.
        args.source.forget_rows(&mut header);
    }
    let writer = Writer::stdout(&args.output, &tokens::unmasked_schema(), &header)?;
    let sink = Budget { sink: writer, tokens: tokens.unwrap_or(u64::MAX) };
    let stage = ChatTok::new(model, chats, args.id_field, args.model.settings());
    let make = || {
        let mut worker = stage.worker();
        move |batch| worker.convert(batch)
    };
    let runner = Runner::new(tool, &args.common, "chats").on_error(&args.on_error);
    runner.jobs(args.jobs.jobs).run(reader, make, sink)?;
    tool.warn(&stage.warnings(), &args.common);
    let told = [stage.unread(), stage.summary()].into_iter().flatten();
    told.filter(|_| !args.common.quiet).for_each(|line| tool.tell(&line));
    Ok(())
}
