//! mx-decode: raw Macroxue self-play logs in, game records out.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use gristmill::batch::{Batch, Header};
use gristmill::cli::{
    self, CommonArgs, ForPipelines, JobsArgs, MAX_RECORD_BYTES, OnErrorArgs, OutputArgs, Slice,
    Tool, WithoutEffect,
};
use gristmill::error::Result;
use gristmill::format::raw_games::{self, Decoder, GameFile, Legality};
use gristmill::game2048::Game;
use gristmill::inputs;
use gristmill::record::GAME;
use gristmill::record::game::GamesBuilder;
use gristmill::record::statements::LEGALITY;
use gristmill::runner::{Items, Runner};
use gristmill::stream::Writer;

/// Decode raw Macroxue self-play logs into game records
///
/// Every X.meta.json (or .meta.json.gz) pairs with X.jsonl.gz in its folder. Games come in the order
/// of their paths below RAW_DIR, folders in the order given; run_id is the place in that listing.
/// Every step is checked against its board, its place and the metadata, and board_eval is computed
/// again. (ds-check checks in the pack that boards follow from each other.) An error anywhere in a
/// game makes the whole game a bad record.
#[derive(Parser)]
#[command(name = "mx-decode", version, after_long_help = HELP, mut_arg("verbose", |verbose| verbose.hide(true)))]
pub struct Args {
    /// Folders of games, searched through all their subfolders
    #[arg(value_name = "RAW_DIR", required = true)]
    directories: Vec<PathBuf>,

    /// Legal branches: board (the board can move there, and they have a value) or values (have one)
    ///
    /// values is the older rule.
    #[arg(long, value_enum, default_value = "board", value_name = "RULE")]
    #[arg(add = ForPipelines)]
    #[arg(hide_possible_values = true)]
    legality: Legality,

    /// Decode only part I of N of the games, I from 0
    ///
    /// The parts are contiguous. A..B decodes the games from A to B, B not included.
    #[arg(long, value_name = "I/N|A..B")]
    slice: Option<Slice>,

    /// Stop after N games (of the slice)
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// The most bytes of a line of steps; a longer one makes its game a bad record
    #[arg(
        long,
        value_name = "N",
        default_value_t = MAX_RECORD_BYTES,
        help_heading = "Input",
        add = WithoutEffect
    )]
    max_record_bytes: u64,

    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const HELP: &str = "\
Examples:
  mx-decode raw --to arrow -j 8 | npy-pack -o pack
  mx-decode raw | jq -c '{run_id, seed, score, steps: (.steps | length)}'
  mx-decode raw --slice 0/2 --on-error skip --rejects bad.ndjson |
      npy-pack -o half0

In: folders of X.meta.json[.gz] and X.jsonl.gz.
Out: game records {run_id, seed, score, steps, ...}.
Exit codes: 0 done, 1 bad data (or no games), 2 usage or a missing folder,
75 temporary failure (I/O error).";

pub fn main() -> ExitCode {
    cli::keep_freed_memory();
    gristmill::main(gristmill::sources!(), run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    inputs::name(&args.directories);
    let games = list_games(&args)?;
    let mut header = Header::default().through(&GAME, args.output.entry(tool));
    header.set(&LEGALITY, args.legality);
    if args.on_error.rejects.is_some() {
        let files = games.iter().flat_map(|game| [game.meta().to_path_buf(), game.steps()]);
        inputs::name(&files.collect::<Vec<PathBuf>>());
    }
    let writer = Writer::stdout(&args.output, &GAME.schema(), &header)?;
    let feed = Items { total: games.len() as u64, items: games.into_iter().map(Ok) };
    let stage = || {
        let mut decoder = Decoder::new(args.legality).with_longest_line(args.max_record_bytes);
        let (mut game, mut builder) = (Game::default(), GamesBuilder::default());
        move |file: GameFile| match decoder.decode(&file, &mut game) {
            Ok(()) => {
                builder.push(&game)?;
                Ok(Batch::made(builder.finish()?))
            }
            Err(error) => {
                Ok(Batch::of_rejection(GAME.schema(), raw_games::rejection(&file, error)?))
            }
        }
    };
    let runner = Runner::new(tool, &args.common, "games").on_error(&args.on_error);
    runner.jobs(args.jobs.jobs).run(feed, stage, writer)
}

/// Returns the games of the slice, up to the limit.
fn list_games(args: &Args) -> Result<Vec<GameFile>> {
    let mut games = raw_games::list(&args.directories)?;
    if let Some(slice) = args.slice {
        let part = slice.of(games.len() as u64);
        games.truncate(part.end as usize);
        games.drain(..part.start as usize);
    }
    if let Some(limit) = args.limit {
        games.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(games)
}
