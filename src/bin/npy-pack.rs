//! npy-pack: records in, a dataset directory out: games become a pool (structured `.npy` rows and
//! `metadata.db`), puzzles a puzzle set.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use gristmill::batch::{Counts, DroppedRecords, RecordSource, Sink, WantedRecords};
use gristmill::check::{GameGate, PuzzleGate};
use gristmill::cli::{
    self, CommonArgs, InputArgs, OnErrorArgs, Rejects, SinkArgs, Tool, WithoutEffect,
};
use gristmill::dataset;
use gristmill::error::{Error, Result};
use gristmill::format::pack::{PackOptions, PackSink};
use gristmill::format::pools::PoolReader;
use gristmill::format::puzzle_dir::{AssertedConstants, PuzzleWriter};
use gristmill::game2048::CopyError;
use gristmill::inputs;
use gristmill::record::{GAME, PUZZLE};
use gristmill::runner::Runner;
use gristmill::stream::{Reader, Request};

/// Make a pack (steps.npy, metadata.db) from games, or a puzzle set from puzzles
///
/// The type of the first record decides which. All files appear at the end, or none do.
///
/// Games: DIR receives steps.npy (or steps-00000.npy, steps-00001.npy, ... with --shard-rows), one
/// 48-byte row per step, valuation_types.json, metadata.db and, last, manifest.json. Runs are
/// numbered 0, 1, 2, ... in the order in which the games are read. The layout selfplay-v1 has only
/// boards: steps-000001.npy, ..., no lookup. Inputs may also be pools on disk (directories with rows
/// of steps). They are merged, with the same result as through ds-cat, and faster.
///
/// Puzzles: DIR receives train/ and test/ with dataset.json and five int32 arrays for each set,
/// identifiers.json and, last, build.json. Groups, puzzles and identifiers are numbered in the
/// order in which they are read, train before test; consecutive records with the same name are one
/// group or one puzzle.
#[derive(Parser)]
#[command(name = "npy-pack", version, after_long_help = HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Directory of the dataset; created if it is missing
    #[arg(short, long, value_name = "DIR", add = WithoutEffect, value_parser = cli::on_disk())]
    output: PathBuf,

    #[command(flatten)]
    sink: SinkArgs,

    /// Refuse records that ds-check calls wrong; the default for puzzles of known domains
    #[arg(long, overrides_with = "no_check", help_heading = "Checks")]
    check: bool,

    /// Write records that ds-check calls wrong; the default for games
    #[arg(long, overrides_with = "check", help_heading = "Checks")]
    no_check: bool,

    #[command(flatten)]
    games: PackOptions,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    puzzles: AssertedConstants,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  mx-decode raw --to arrow -j 8 | npy-pack -o pack --shard-rows 10000000
  set -o pipefail; mx-decode raw | jq -c 'select(.score > 100000)' |
      npy-pack -o good
  npy-pack d6 d7 -o merged --shard-rows 10000000
  ds-cat pack --to arrow | npy-pack -o boards --layout selfplay-v1 --lossy
  puzzle-encode arc training evaluation --num-aug 1000 --to arrow |
      npy-pack -o arc

In: game records {seed, score, max_tile, steps, ...}, or puzzle records {split,
group, puzzle, identifier, inputs, labels, ...}.
Out: files, nothing on stdout. A program in between that ends its lines itself
(jq, grep) hides the failure of the one before it: with NDJSON use set -o
pipefail, or --expect-records N.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error, input cut short).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    inputs::name(&args.input.files);
    let reader = open(&args)?;
    if reader.lacks_header() {
        tool.advise_arrow(&args.common);
    }
    let (for_games, for_puzzles) = (args.games.first_given(), args.puzzles.first_given());
    let are_puzzles = match reader.record() {
        Some(record) => record.name == PUZZLE.name,
        // There are no records, so only a flag can tell which type they would have had.
        None if for_games.or(for_puzzles).is_none() => {
            return Err(Error::data("got no record, so that it is not known what to write"));
        }
        None => for_puzzles.is_some(),
    };
    match (are_puzzles, for_games, for_puzzles) {
        (true, Some(flag), _) => Err(Error::usage(format!("{flag} is for games; got puzzles"))),
        (false, _, Some(flag)) => Err(Error::usage(format!("{flag} is for puzzles; got games"))),
        (true, ..) => write_puzzles(args, reader, tool),
        (false, ..) => write_games(&args, reader, tool),
    }
}

fn open(args: &Args) -> Result<Reader> {
    dataset::open_with_plans(
        &args.input,
        Request::OneOf([&GAME, &PUZZLE].map(WantedRecords::records).to_vec()),
    )
}

fn write_games(args: &Args, mut reader: Reader, tool: &Tool) -> Result<()> {
    let is_merged = match merge(args, &mut reader, false, tool) {
        // Nothing is published yet.
        Err(CopyError::Misplaced(_)) => merge(args, &mut open(args)?, true, tool),
        done => done,
    };
    if is_merged? {
        return Ok(());
    }
    let sink = pack_sink(args, &reader, None, tool)?;
    let runner = Runner::new(tool, &args.common, "games").on_error(&args.on_error);
    runner.expect(args.sink.expect_records).copy(reader, sink)
}

/// Copies the games of pools; returns false if the input is no pool. `counted`: whether all rows are looked at to find
/// the games before the first is read; otherwise games are found by the statements of the pools.
fn merge(args: &Args, reader: &mut Reader, counted: bool, tool: &Tool) -> Result<bool, CopyError> {
    let Some(mut pools) = reader.take_source::<PoolReader>() else { return Ok(false) };
    let mut sink = pack_sink(args, reader, pools.steps(), tool)?;
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress(tool, "games", reader.total(), false)?;
    let form = args.games.game_form(counted);
    let mut read = 0;
    reader.read_beside(|| {
        while let Some((games, origin)) = pools.next_games(form)? {
            let came = games.len() as u64;
            read += came;
            progress.add(came, sink.write_games(games, origin, &mut rejects)?);
        }
        Ok::<(), CopyError>(())
    })?;
    cli::expect_records(args.sink.expect_records, read)?;
    let own = DroppedRecords { rejected: Some(rejects.count()), ..DroppedRecords::default() };
    let counts = Counts::of_run(read, &pools.dropped(), &own);
    rejects.publish()?;
    let summary = sink.finish(counts)?;
    progress.finish();
    summary.tell(tool, &args.common, rejects);
    Ok(true)
}

/// Begins a pack; `rows` is how many there will be, if that is known.
fn pack_sink(args: &Args, reader: &Reader, rows: Option<u64>, tool: &Tool) -> Result<PackSink> {
    let header = reader.header().through(&GAME, Some(tool.entry()));
    let mut sink = PackSink::create(&args.output, &args.games, args.sink.overwrite, header, rows)?;
    // (The check would take a fifth of the time of packing. Logs of a player follow the rules of the game, and the
    // scripts check the pack.)
    if args.check {
        let gate = GameGate::new()?;
        sink = sink.rule(Box::new(move |game| gate.check(game)));
    }
    Ok(sink)
}

fn write_puzzles(args: Args, reader: Reader, tool: &Tool) -> Result<()> {
    for note in reader.notes().iter().filter(|_| !args.common.quiet) {
        tool.tell(note);
    }
    let asserted = args.puzzles.or_header(reader.header());
    let sink = PuzzleWriter::create(&args.output, asserted, args.sink.overwrite)?;
    let mut sink = sink.header(reader.header());
    if !args.no_check {
        let gate = PuzzleGate::new(reader.header().has_made("puzzle-encode"))?;
        sink = sink.rule(Box::new(move |example| gate.check(example)));
    }
    let runner = Runner::new(tool, &args.common, "examples").on_error(&args.on_error);
    runner.expect(args.sink.expect_records).copy(reader, sink)
}
