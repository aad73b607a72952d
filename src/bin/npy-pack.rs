//! npy-pack: records in, a dataset directory out: games become a Macroxue pack (structured `.npy`
//! rows and `metadata.db`), puzzles a puzzle set.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args as Arguments, Parser, ValueEnum};
use serde_json::json;

use gristmill::cli::{self, CommonArgs, Error, InputArgs, OnErrorArgs, Rejects, Result};
use gristmill::format::pack::Pack;
use gristmill::format::puzzle_dir::{Asserted, PuzzleWriter};
use gristmill::game2048::Game;
use gristmill::record::game::Games;
use gristmill::record::puzzle::Puzzles;
use gristmill::record::{GAME, PUZZLE};
use gristmill::stream::Reader;

/// Write game records as a pack, puzzle records as a puzzle set
///
/// The first record says which of the two it is. Everything appears at the end or not at all.
///
/// Games: DIR receives steps.npy (or steps-00000.npy, steps-00001.npy, ... with --shard-rows), one 48-byte
/// row a step, metadata.db and valuation_types.json. Runs are numbered 0, 1, 2, ... in the order
/// in which the games come. The database appears last.
///
/// Puzzles: DIR receives train/ and test/ with dataset.json and five int32 arrays for each set,
/// identifiers.json, and build.json last. Groups, puzzles and identifiers are numbered in the order
/// in which the records come, train before test; records with the same names stand together.
#[derive(Parser)]
#[command(name = "npy-pack", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Directory of the dataset; made where it is missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Games: rows in each file but the last; without it all rows are in one
    #[arg(long, value_name = "N")]
    shard_rows: Option<NonZeroU64>,

    /// Games: layout of the rows
    #[arg(long, value_enum, default_value = "macroxue", value_name = "macroxue")]
    #[arg(hide_possible_values = true)]
    layout: Layout,

    /// Replace what stands in DIR
    #[arg(long)]
    overwrite: bool,

    /// Fail unless exactly N records come (NDJSON has no end marker)
    #[arg(long, value_name = "N")]
    expect_records: Option<u64>,

    #[command(flatten)]
    puzzles: PuzzleArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    common: CommonArgs,
}

/// The constants of a puzzle domain that is not known; those of a known one must be its own.
#[derive(Arguments)]
#[command(next_help_heading = "Puzzles of a domain that is not known")]
struct PuzzleArgs {
    /// Tokens of each side of an example
    #[arg(long, value_name = "N")]
    seq_len: Option<i64>,

    /// Tokens lie in 0..N
    #[arg(long, value_name = "N")]
    vocab_size: Option<i64>,

    /// Token of padding
    #[arg(long, value_name = "TOKEN")]
    pad_id: Option<i64>,

    /// Label that stands for no label, or none
    #[arg(long, value_name = "TOKEN|none", value_parser = token_or_none)]
    ignore_label_id: Option<Ignored>,

    /// Identifier of puzzles without a name
    #[arg(long, value_name = "ID")]
    blank_identifier_id: Option<i64>,
}

#[derive(Clone, Copy)]
struct Ignored(Option<i64>);

fn token_or_none(text: &str) -> Result<Ignored, String> {
    match text {
        "none" => Ok(Ignored(None)),
        _ => text.parse().map(|id| Ignored(Some(id))).map_err(|_| "no token".to_string()),
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Layout {
    /// 48 bytes, aligned
    Macroxue,
}

const HELP: &str = "\
Examples:
  mx-decode raw --to arrow -j 8 | npy-pack -o pack --shard-rows 10000000
  mx-decode raw | jq -c 'select(.score > 100000)' | npy-pack -o good
  mx-decode d6 d7 | npy-pack -o both --overwrite
  puzzle-encode arc training evaluation --num-aug 1000 --to arrow | npy-pack -o arc

In: game records {seed, score, max_tile, steps, ...}, or puzzle records {split, group, puzzle,
identifier, inputs, labels, ...}. Out: files, nothing on stdout.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args) -> Result<()> {
    let (reader, record) = Reader::open_one_of(&args.input, &[&GAME, &PUZZLE])?;
    if record.name == PUZZLE.name { puzzles(args, reader) } else { games(args, reader) }
}

fn games(args: Args, mut reader: Reader) -> Result<()> {
    if let Some(flag) = args.puzzles.first_given() {
        return Err(Error::usage(format!("{flag} is for puzzle records; game records came")));
    }
    let shard_rows = args.shard_rows.map(NonZeroU64::get);
    let mut pack = match args.layout {
        Layout::Macroxue => Pack::create(&args.output, shard_rows, args.overwrite)?,
    };
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("games", reader.total());
    let mut game = Game::default();
    let mut came = 0;
    while let Some(mut batch) = reader.next_batch()? {
        let arrived = batch.records.clone();
        let view = Games::of(&arrived)?;
        came += (view.len() + batch.rejected.len()) as u64;
        for row in 0..view.len() {
            let prepared = match view.read(row, &mut game) {
                Ok(()) => pack.prepare(&game).map_err(|e| e.at(batch.origin.place(row)))?,
                Err(reason) => Err(reason),
            };
            match prepared {
                Ok(()) => pack.push(&game)?,
                Err(reason) => {
                    let input = json!({"run_id": view.run_id.get(row), "source": view.source(row)});
                    batch.reject(row, view.source(row), reason, input);
                }
            }
        }
        rejects.take(batch.rejected)?;
        progress.add(view.len() as u64, batch.bytes);
    }
    cli::expect_records(args.expect_records, came)?;
    if let [_, ..] = pack.new_names() {
        let names = pack.new_names().join(", ");
        if !args.common.quiet {
            cli::tell(&format!(
                "npy-pack: warning: valuation types beyond search, tuple10 and tuple11 ({names}): \
                 some readers of packs fail on them"
            ));
        }
    }
    pack.finish()?;
    progress.finish();
    rejects.finish("npy-pack")
}

fn puzzles(args: Args, mut reader: Reader) -> Result<()> {
    if args.shard_rows.is_some() {
        return Err(Error::usage("--shard-rows is for game records; puzzle records came"));
    }
    let asserted = args.puzzles.asserted().or_header(&reader.header().parameters);
    let mut set = PuzzleWriter::create(&args.output, asserted, args.overwrite)?;
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("examples", reader.total());
    let mut came = 0;
    while let Some(mut batch) = reader.next_batch()? {
        let arrived = batch.records.clone();
        let view = Puzzles::of(&arrived)?;
        came += (view.len() + batch.rejected.len()) as u64;
        for row in 0..view.len() {
            let example = view.get(row);
            let pushed = set.push(&example).map_err(|e| e.at(batch.origin.place(row)))?;
            if let Err(reason) = pushed {
                batch.reject(row, Some(example.puzzle), reason, example.to_json());
            }
        }
        rejects.take(batch.rejected)?;
        progress.add(view.len() as u64, batch.bytes);
    }
    cli::expect_records(args.expect_records, came)?;
    let notes = set.notes();
    set.finish()?;
    progress.finish();
    if !args.common.quiet {
        notes.iter().for_each(|note| cli::tell(&format!("npy-pack: warning: {note}")));
    }
    rejects.finish("npy-pack")
}

impl PuzzleArgs {
    fn asserted(&self) -> Asserted {
        Asserted {
            seq_len: self.seq_len,
            vocab_size: self.vocab_size,
            pad_id: self.pad_id,
            ignore_label_id: self.ignore_label_id.map(|Ignored(id)| id),
            blank_identifier_id: self.blank_identifier_id,
        }
    }

    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.seq_len.is_some(), "--seq-len"),
            (self.vocab_size.is_some(), "--vocab-size"),
            (self.pad_id.is_some(), "--pad-id"),
            (self.ignore_label_id.is_some(), "--ignore-label-id"),
            (self.blank_identifier_id.is_some(), "--blank-identifier-id"),
        ];
        given.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }
}
