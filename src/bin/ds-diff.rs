//! ds-diff: two datasets in, what differs out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use gristmill::check::ReportFormat;
use gristmill::cli::{self, CommonArgs, InputArgs, Tool};
use gristmill::dataset;
use gristmill::diff::{self, DiffOptions};
use gristmill::error::{Error, Result, shown};
use gristmill::model::state_location;
use gristmill::raw_files::raw_files;
use gristmill::record::TOKENS;
use gristmill::stage::{Preparation, PreparationArgs};
use gristmill::stream::{Reader, Request};

/// Compare two datasets or streams: the same records, or where they differ
///
/// A and B may be anything that holds records of one type. Records are matched by id if both sides have
/// ids, else by content, so that one more record on a side is one difference. These are counted: records
/// only in A or only in B, records in another order, and parts that differ (tokens, mask, span, segments,
/// messages, other fields beside these, inputs, labels, names, steps, sidecar). The first ones are shown.
/// Another encoding (uint8 for int32, rows of 46 bytes for 48, spaces in JSON) is reported, but is no
/// difference. These are not compared: where records came from (input and row, the source of games), the
/// numbers of runs, and segments that only one side states (datasets on disk do not).
///
/// With --model B may be chats: they are prepared as chat-tok prepares them, and their sequences are compared with the
/// rows A of any tool.
#[derive(Parser)]
#[command(name = "ds-diff", version, after_long_help = HELP)]
pub struct Args {
    /// The first dataset; `-` is a stream on stdin
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The other
    #[arg(value_name = "B")]
    b: PathBuf,

    /// Count another encoding as different
    #[arg(long)]
    strict: bool,

    /// Show the first N differences; all are counted
    #[arg(long, value_name = "N", default_value = "10")]
    max_differences: usize,

    /// Text for people, or one JSON object
    #[arg(long, value_enum, default_value = "text", value_name = "text|json")]
    #[arg(hide_possible_values = true)]
    format: ReportFormat,

    #[command(flatten)]
    preparation: PreparationArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  ds-diff out out.old
  ds-diff -q out out.old && echo the same
  ds-diff pack46 pack48 --strict
  harmony-tok shard_00.parquet | span-mask | ds-diff - out --format json |
      jq .differences
  ds-diff rows.parquet chats.jsonl --model Qwen3-8B --turns all

In: two datasets or streams of records of one type; or rows, and the chats that
they were made of.
Out: the counts and the first differences, or one object {same, a, b,
differences, first}; with -q nothing. Without ids the partner of a record is
searched for among 262,144 records.
Exit codes: 0 the same, 1 different or bad data, 2 usage or a missing input,
75 temporary failure (I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), |args: Args, tool| run(&args, tool))
}

fn run(args: &Args, tool: &Tool) -> Result<()> {
    if [&args.a, &args.b].iter().all(|path| path.as_os_str() == "-") {
        return Err(Error::usage("only one of the two can be stdin"));
    }
    let a = args.open(&args.a)?;
    let preparation = args.preparation(&a)?;
    let b = match &preparation {
        Some(preparation) => args.open_chats(preparation)?,
        None => args.open(&args.b)?,
    };
    let readers = [a, b];
    for note in readers.iter().flat_map(Reader::notes).filter(|_| !args.common.quiet) {
        tool.tell(note);
    }
    let total = readers.iter().map(Reader::total).sum();
    let mut progress = args.common.progress(tool, "records", total, false)?;
    let options = DiffOptions { strict: args.strict, most: args.max_differences };
    let found = diff::compare(readers, options, &mut progress)?;
    progress.finish();
    if let Some(preparation) = preparation {
        preparation.finish(tool, &args.common)?;
    }
    if !args.common.quiet {
        let names = [&args.a, &args.b].map(|path| shown(path));
        cli::print(&match args.format {
            ReportFormat::Text => found.text(&names),
            ReportFormat::Json => format!("{}\n", found.json(&names)),
        })?;
    }
    if found.is_same() { Ok(()) } else { Err(Error::data("the two differ")) }
}

impl Args {
    fn open(&self, path: &Path) -> Result<Reader> {
        let input = InputArgs { files: vec![path.to_path_buf()], ..InputArgs::default() };
        let reader = dataset::open_with_plans(&input, Request::Any)?;
        self.of_model(reader)
    }

    /// States the model of the tokens, if their reader does not know it.
    fn of_model(&self, reader: Reader) -> Result<Reader> {
        reader.stating(|header| state_location(header, self.preparation.model.named()))
    }

    /// Returns how the chats of B are prepared, if it may hold chats.
    fn preparation(&self, a: &Reader) -> Result<Option<Arc<Preparation>>> {
        let has_sequences = a.known_type().is_some_and(|record| record.name == TOKENS.name);
        let may_be = self.preparation.model.named().is_some() && has_sequences;
        match may_be && !dataset::holds_sets(&self.b)? {
            true => self.preparation.open(a.header()).map(Some),
            false => Ok(None),
        }
    }

    /// Opens B, which holds chats, or sequences that were prepared from chats.
    fn open_chats(&self, preparation: &Arc<Preparation>) -> Result<Reader> {
        let files = raw_files(std::slice::from_ref(&self.b))?;
        let input = InputArgs { files, ..Preparation::input() };
        let reader = dataset::open(&input, preparation.request())?;
        self.of_model(preparation.read(reader, shown(&self.b))?)
    }
}
