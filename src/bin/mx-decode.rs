//! mx-decode: raw Macroxue self-play logs in, game records out.

use std::path::PathBuf;
use std::process::ExitCode;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use clap::{Parser, ValueEnum};
use serde_json::json;

use gristmill::cli::{
    self, CommonArgs, Error, Flow, JobsArgs, OnErrorArgs, OutputArgs, Place, Position, Rejection,
    Rejects, Result, Slice, ordered_map,
};
use gristmill::format::raw_games::{self, Cause, Decoder, GameFile, Legality};
use gristmill::game2048::Game;
use gristmill::record::GAME;
use gristmill::record::game::GamesBuilder;
use gristmill::stream::{Header, Writer, provenance_entry};

/// Decode raw Macroxue self-play logs into game records
///
/// Every X.meta.json (or .meta.json.gz) pairs with X.jsonl.gz in its folder. Games come in the
/// order of their paths below RAW_DIR, folders in the order given; run_id is the place in that
/// listing. Every step is checked against its board, the step before it and the metadata, and
/// board_eval is computed anew. What is wrong anywhere in a game makes the whole game a bad record.
#[derive(Parser)]
#[command(name = "mx-decode", version, after_long_help = HELP)]
struct Args {
    /// Folders of games, searched through all their subfolders
    #[arg(value_name = "RAW_DIR", required = true)]
    directories: Vec<PathBuf>,

    /// Which branches count as legal: those that the board can move and that have a value, or
    /// all that have a value (the older rule)
    #[arg(long, value_enum, default_value = "board", value_name = "board|values")]
    #[arg(hide_possible_values = true)]
    legality: LegalityArg,

    /// Decode only the I-th of N contiguous parts of the games, I from 0
    #[arg(long, value_name = "I/N", help_heading = "Input")]
    slice: Option<Slice>,

    /// Stop after N games (of the slice)
    #[arg(long, value_name = "N", help_heading = "Input")]
    limit: Option<u64>,

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
  mx-decode raw --slice 0/2 --on-error skip --rejects bad.ndjson | npy-pack -o half0

In: folders of X.meta.json[.gz] and X.jsonl.gz. Out: game records {run_id, seed, score, steps, ...}.
Exit codes: 0 done, 1 bad data (no games too), 2 usage or a missing folder, 75 not now (I/O error).";

#[derive(Clone, Copy, ValueEnum)]
enum LegalityArg {
    Board,
    Values,
}

/// A decoded game, or why there is none.
enum Outcome {
    Decoded(Result<RecordBatch, ArrowError>),
    Bad(GameFile, raw_games::Error),
}

fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(run)
}

fn run(args: Args) -> Result<()> {
    let games = listed(&args)?;
    let entry = (!args.output.no_provenance).then(|| provenance_entry("mx-decode"));
    let mut header = Header::default().through(&GAME, entry);
    let legality = match args.legality {
        LegalityArg::Board => Legality::Board,
        LegalityArg::Values => Legality::Values,
    };
    header.set(
        "legality",
        match legality {
            Legality::Board => "board",
            Legality::Values => "values",
        },
    );
    let mut writer = Writer::stdout(args.output.to, args.output.force, &GAME.schema(), &header)?;
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("games", Some(games.len() as u64));
    let worker = || {
        let mut decoder = Decoder::new(legality);
        let (mut game, mut builder) = (Game::default(), GamesBuilder::default());
        move |file: GameFile| match decoder.decode(&file, &mut game) {
            Ok(()) => Outcome::Decoded(builder.push(&game).and_then(|()| builder.finish())),
            Err(error) => Outcome::Bad(file, error),
        }
    };
    let sink = |outcome: Outcome| -> Result<Flow> {
        match outcome {
            Outcome::Decoded(records) => {
                let records = records?;
                progress.add(1, records.get_array_memory_size() as u64);
                writer.write(&records)?;
            }
            Outcome::Bad(file, error) => rejects.take(vec![rejection(&file, error)?])?,
        }
        Ok(Flow::Continue)
    };
    ordered_map(args.jobs.jobs, games.into_iter().map(Ok::<_, Error>), worker, sink)?;
    writer.finish(rejects.count())?;
    progress.finish();
    rejects.finish("mx-decode")
}

/// The games of the slice, as far as the limit goes.
fn listed(args: &Args) -> Result<Vec<GameFile>> {
    let mut games = raw_games::list(&args.directories).map_err(fatal)?;
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

/// A bad game by its file and line; what is no fault of the game ends the run.
fn rejection(file: &GameFile, error: raw_games::Error) -> Result<Rejection> {
    match error.defect() {
        Some(defect) => Ok(Rejection {
            place: Place {
                source: cli::shown(&error.path).into(),
                position: error.line.map_or(Position::Whole, Position::Line),
            },
            id: None,
            reason: defect.to_string(),
            input: Some(json!({"run_id": file.run_id, "source": cli::shown(file.name())})),
        }),
        None => Err(fatal(error)),
    }
}

fn fatal(error: raw_games::Error) -> Error {
    match &error.cause {
        Cause::Missing | Cause::NotAFolder => Error::usage(error),
        Cause::Io(cause) => Error::io(cli::shown(&error.path), cause),
        Cause::NoGames | Cause::Cycle(_) | Cause::Bad(_) => Error::data(error),
    }
}
