//! chat-harmony: chats of all common shapes in, Harmony conversations out.

use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use gristmill::batch::WantedRecords;
use gristmill::chat::SESSIONS;
use gristmill::cli::{self, CommonArgs, FileForms, JobsArgs, OnErrorArgs, Tool};
use gristmill::error::{Error, Result};
use gristmill::harmony::Policy;
use gristmill::record::statements::POLICY;
use gristmill::record::{CHAT, CONVERSATION, chat};
use gristmill::runner::Runner;
use gristmill::stage::{ChatArgs, ChatHarmony, ConversationOutputArgs, OldChatArgs, SourceArgs};

/// Turn chats into Harmony conversations
///
/// Reads chats (JSONL, Parquet or Arrow) in all common shapes: OpenAI messages, ShareGPT, prompt
/// and completion, Alpaca, query and response, items of the Responses API, columns user and final,
/// tau-bench's traj, or chosen and rejected answers; with thinking or reasoning_content, tools and
/// their calls, and weights. Writes conversations for harmony-tok. Whatever would change training
/// is kept, or refused, or left out and counted: nothing is dropped without a message.
#[derive(Parser)]
#[command(name = "chat-harmony", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    chat: ChatArgs,
    #[command(flatten)]
    old: OldChatArgs,

    /// Keep these fields beside the messages, each as text, and all in metadata_json
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', help_heading = "Conversations")]
    metadata_fields: Vec<String>,

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
  chat-harmony chats.jsonl | head -1 | jq .messages
  chat-harmony chats.jsonl | harmony-tok | span-mask |
      mmidx-write --prefix out/a
  chat-harmony folder --turns all --on-error skip --rejects bad.ndjson \\
      -o c.parquet
  chat-harmony sharegpt.parquet | harmony-tok | ds-stat -
  chat-harmony dpo.jsonl --prompt-field question --take chosen -o c.parquet

In: chats in any of the shapes; of a folder, all files below it.
Out: conversation records {id, messages, policy}.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(mut args: Args, tool: &Tool) -> Result<()> {
    args.old.put_into(&mut args.chat)?;
    let (read, settings) = (args.chat.read_settings(), args.chat.harmony_settings()?);
    if read.takes_pairs() {
        let cause = "--take pair: pairs are made of tokens";
        return Err(Error::usage(cause).hint("chat-tok --take pair"));
    }
    let user_fields = read.fields.names();
    let wanted =
        WantedRecords { schema: chat::schema(), user_fields, ..WantedRecords::records(&CHAT) };
    args.source.input.file_forms = FileForms(SESSIONS);
    args.source.input.shows_at_once = args.output.output.shows();
    let reader = args.source.open(wanted)?;
    let stated = json!({
        "chat": read.stated_with(settings.to_json()),
        "id_field": args.chat.id_field,
        "metadata_fields": args.metadata_fields,
    });
    let mut header = args.source.header(&CONVERSATION, &reader, stated, args.output.entry(tool))?;
    header.set(&POLICY, Policy::Chat.name().to_string());
    if read.changes_number() {
        args.source.forget_rows(&mut header);
    }
    if args.output.is_finished(&header, &args.source, &reader)? {
        return Ok(());
    }
    let with_places = args.output.has_places();
    let (id, metadata) = (args.chat.id_field, args.metadata_fields);
    let harmony = ChatHarmony::new((read, settings), id, metadata, with_places)?;
    let output = args.output.open(harmony.schema(), &header, tool)?;
    Runner::new(tool, &args.common, "chats").on_error(&args.on_error).jobs(args.jobs.jobs).run(
        reader,
        || |batch| harmony.convert(batch),
        output,
    )?;
    tool.warn(&harmony.warnings(), &args.common);
    let told = [harmony.unread(), harmony.summary()].into_iter().flatten();
    told.filter(|_| !args.common.quiet).for_each(|line| tool.tell(&line));
    Ok(())
}
