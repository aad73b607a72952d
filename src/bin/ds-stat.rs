//! ds-stat: any dataset or stream in, its numbers out.

use std::process::ExitCode;

use clap::Parser;

use gristmill::check::ReportFormat;
use gristmill::cli::{self, CommonArgs, InputArgs, JobsArgs, SelectArgs, Tool};
use gristmill::dataset;
use gristmill::error::{Result, shown};
use gristmill::stat::{self, Answer, StatOptions};
use gristmill::stream::Request;

/// Statistics of a dataset or stream: how many, how long, of what
///
/// FILEs may be anything that ds-cat reads; several make one answer. One pass, in memory that does
/// not grow, counts records, tokens, lengths with quantiles and a histogram, tokens by span, role
/// and channel, sequences without reasoning, final or anything that is trained on, duplicate ids and
/// texts; for games also steps, scores, tiles, valuations; for puzzles groups, tokens, given cells.
#[derive(Parser)]
#[command(name = "ds-stat", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    select: SelectArgs,

    /// Also one line for each value of a column, role or channel
    ///
    /// (language, exercise, depth, or `role` or `channel` of the messages.)
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,

    /// Count the sequences of more than S tokens
    #[arg(long, value_name = "S")]
    seq_length: Option<u64>,

    /// Do not search for duplicate ids and texts
    ///
    /// For more than 2 million records the search needs disk (in TMPDIR).
    #[arg(long)]
    no_repeats: bool,

    /// Text for people, or one JSON object
    #[arg(long, value_enum, default_value = "text", value_name = "text|json")]
    #[arg(hide_possible_values = true)]
    format: ReportFormat,

    /// Add up answers: the FILEs are JSON answers for the parts of a whole, in order
    #[arg(long, conflicts_with_all = ["slice", "limit", "skip", "tail", "nth", "sample", "id"])]
    #[arg(conflicts_with_all = ["by", "seq_length"], requires = "files", help_heading = "Parts")]
    merge: bool,

    /// Write an answer for --merge: JSON with a key for each record, also if there are many (up to
    /// 262,144 records every JSON answer has them)
    #[arg(long, conflicts_with = "no_repeats", help_heading = "Parts")]
    part: bool,

    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  ds-stat out --seq-length 4096
  ds-stat shard_00.parquet --by language
  ds-stat pack --format json | jq .numbers.game.scores.median
  ds-stat out --slice 0/2 --part > a; ds-stat out --slice 1/2 --part > b
  ds-stat --merge a b

In: anything that holds records; with --merge answers of ds-stat in JSON.
Out: text as wide as the terminal, 50 to 80 columns, or one object {kind,
records, bytes, numbers, repeated, by}. Quantiles are exact for up to 65,536
different lengths (else at most 1/1024 too small: \"exact\": false).
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), |args: Args, tool| run(&args, tool))
}

fn run(args: &Args, tool: &Tool) -> Result<()> {
    let options = StatOptions {
        seq_length: args.seq_length,
        by: args.by.clone(),
        repeats: !args.no_repeats,
        part: args.part,
    };
    let mut answer = if args.merge {
        stat::merge(&args.input.files, &options)?
    } else {
        measure(args, tool, &options)?
    };
    if args.part || args.format == ReportFormat::Json {
        answer.write_json(cli::print)
    } else {
        let (columns, _) = cli::screen_size();
        cli::print(&stat::report(&answer, args.by.as_deref(), columns))
    }
}

fn measure(args: &Args, tool: &Tool, options: &StatOptions) -> Result<Answer> {
    let reader = dataset::open_with_plans(&args.input, Request::Any)?.selected(&args.select)?;
    for note in reader.notes().iter().filter(|_| !args.common.quiet) {
        tool.tell(note);
    }
    let is_whole = reader.is_whole();
    let mut progress = args.common.progress(tool, "records", reader.total(), false)?;
    let mut answer = stat::measure(reader, options, args.jobs.jobs, &mut progress)?;
    progress.finish();
    answer.inputs = args.input.files.iter().map(|path| shown(path)).collect();
    if is_whole {
        answer.size_on_disk = dataset::size_on_disk(&args.input.files)?;
    }
    Ok(answer)
}
