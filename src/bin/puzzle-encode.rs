//! puzzle-encode: Sudoku and Maze CSV, ARC tasks or played Domino games in, puzzle records out.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args as Arguments, Parser, Subcommand};
use serde_json::Value;

use gristmill::batch::{Batch, Header};
use gristmill::cli::{
    self, CommonArgs, Error, Flow, JobsArgs, Kind, OnError, OnErrorArgs, OutputArgs, Place,
    Position, Rejection, Rejects, Result, Slice, Tool,
};
use gristmill::format::puzzle_dir::AssertedConstants;
use gristmill::puzzle::{self, Counts, Domain, ErrorKind, Options, Reject, Source, chunks};
use gristmill::record::PUZZLE;
use gristmill::runner::{Items, Runner};
use gristmill::stream::{Writer, open_bytes};

/// Encode puzzles as sequences of tokens, with reproducible augmentation
///
/// Every original puzzle becomes one group: itself, then its augmentations. Train comes before test.
/// Inputs are checked whole before anything is written, also against the rules of their game. The
/// same inputs, options and seed give the same records, whatever the threads and slices.
#[derive(Parser)]
#[command(name = "puzzle-encode", version, after_long_help = HELP)]
#[command(subcommand_required = true, disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    domain: DomainArgs,
}

const HELP: &str = "\
Examples:
  puzzle-encode sudoku --train train.csv --test test.csv --num-aug 3 | npy-pack -o sudoku
  puzzle-encode arc training evaluation --num-aug 1000 -j 8 --to arrow | npy-pack -o arc
  puzzle-encode maze --train train.csv --test test.csv --num-aug 7 | npy-pack -o maze
  puzzle-encode domino --num-games 1000 --seed 7 | ds-cat --grid | jq -c .labels

In: CSV files with the header source,question,answer,rating; folders of ARC tasks; nothing.
Out: puzzle records {domain, split, set, group, puzzle, identifier, inputs, labels, build}.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error).";

#[derive(Subcommand)]
enum DomainArgs {
    /// Sudoku: 81 cells, digit d as d + 1
    Sudoku {
        #[command(flatten)]
        files: FileArgs,

        /// Augmentations of each train puzzle: digits, bands, stacks, rows and columns shuffled
        #[arg(long, value_name = "K", default_value = "0")]
        num_aug: u64,

        /// Take N train puzzles at random
        #[arg(long, value_name = "N")]
        subsample: Option<u64>,

        /// Take puzzles with this rating or a higher one, in both splits
        #[arg(long, value_name = "R")]
        min_difficulty: Option<i64>,

        /// Take puzzles with exactly one solution, in both splits
        #[arg(long)]
        unique: bool,

        #[command(flatten)]
        on_error: OnErrorArgs,
        #[command(flatten)]
        run: RunArgs,
    },
    /// ARC: grids of up to 30 x 30 colours on a canvas of 900, colour c as c + 2
    Arc {
        /// Folders of tasks; `test` pairs below a folder named evaluation are the test split
        #[arg(value_name = "DIR", required = true)]
        dirs: Vec<PathBuf>,

        /// Augmentations of each task: rotated or mirrored, colours permuted
        #[arg(long, value_name = "K", default_value = "0")]
        num_aug: u64,

        #[command(flatten)]
        on_error: OnErrorArgs,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Maze: n x n characters, `# SGo` as 1 to 5
    Maze {
        #[command(flatten)]
        files: FileArgs,

        /// Augmentations of each train maze: the rotations and mirrorings t1, t2, ...
        #[arg(long, value_name = "K", default_value = "0", value_parser = clap::value_parser!(u64).range(..=7))]
        num_aug: u64,

        #[command(flatten)]
        on_error: OnErrorArgs,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Domino: states of games that are played here, with the tile to play
    Domino {
        /// States in each split, each of a game of its own
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        num_games: u64,

        /// Augmentations of each train state: pips shifted modulo 7
        #[arg(long, value_name = "K", default_value = "0")]
        num_aug: u64,

        #[command(flatten)]
        run: RunArgs,
    },
}

#[derive(Arguments)]
#[group(required = true, multiple = true)]
struct FileArgs {
    /// Puzzles of the train split
    #[arg(long, value_name = "CSV")]
    train: Option<PathBuf>,

    /// Puzzles of the test split
    #[arg(long, value_name = "CSV")]
    test: Option<PathBuf>,
}

#[derive(Arguments)]
struct RunArgs {
    /// Decides every draw
    #[arg(long, value_name = "S", default_value = "42")]
    seed: u64,

    /// Encode only the I-th of N contiguous parts of the groups, I from 0
    #[arg(long, value_name = "I/N")]
    slice: Option<Slice>,

    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    let Parsed { domain, options, on_error, run } = args.domain.parsed();
    let mut rejects = Rejects::open(&on_error)?;
    let source = open(domain, &options, on_error.on_error, &mut rejects)?;
    let say = |line: &str| {
        if !run.common.quiet {
            tool.tell(line);
        }
    };
    source.notes().iter().for_each(|note| say(note));
    let range = run.slice.map_or(0..source.len(), |slice| slice.of(source.len()));
    let header = header(&*source, &run, tool)?;
    let writer = Writer::stdout(&run.output, &PUZZLE.schema(), &header)?;
    let counts = Mutex::new(Counts::default());
    let stage = || {
        |chunk: puzzle::Chunk, send: &mut dyn FnMut(_) -> Flow| {
            chunk.encode(|encoded| {
                let batch = encoded.map_err(Error::from).map(
                    |puzzle::Encoded { records, counts: made }| {
                        *counts.lock().unwrap_or_else(PoisonError::into_inner) += made;
                        Batch { progress: Some(made.groups.iter().sum()), ..Batch::made(records) }
                    },
                );
                send(batch) == Flow::Continue
            })
        }
    };
    let total = range.end - range.start;
    let feed = Items { total, items: chunks(&*source, range).map(|chunk| chunk.map_err(fatal)) };
    let runner = Runner::new(tool, &run.common, "groups").rejects(rejects);
    runner.jobs(run.jobs.jobs).run_many(feed, stage, writer)?;
    let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    if counts.shortfall > 0 {
        let Counts { short_groups, shortfall, .. } = counts;
        say(&format!(
            "warning: {shortfall} augmentations fewer than wanted, in {short_groups} groups: no \
             more different ones were found"
        ));
    }
    say(&counts.summary());
    Ok(())
}

/// A domain, and what the command line says for it.
struct Parsed {
    domain: &'static dyn Domain,
    options: Options,
    on_error: OnErrorArgs,
    run: RunArgs,
}

impl DomainArgs {
    fn parsed(self) -> Parsed {
        let options = Options { opener: Arc::new(open_bytes), ..Options::default() };
        let (domain, options, on_error, run): (&dyn Domain, _, _, _) = match self {
            DomainArgs::Sudoku {
                files: FileArgs { train, test },
                num_aug,
                subsample,
                min_difficulty,
                unique,
                on_error,
                run,
            } => {
                let own = Options { train, test, num_aug, subsample, ..options };
                let options = Options { min_difficulty, unique, ..own };
                (&puzzle::sudoku::Sudoku, options, on_error, run)
            }
            DomainArgs::Arc { dirs, num_aug, on_error, run } => {
                (&puzzle::arc::Arc, Options { dirs, num_aug, ..options }, on_error, run)
            }
            DomainArgs::Maze { files: FileArgs { train, test }, num_aug, on_error, run } => {
                (&puzzle::maze::Maze, Options { train, test, num_aug, ..options }, on_error, run)
            }
            DomainArgs::Domino { num_games, num_aug, run } => {
                let options = Options { num_games, num_aug, ..options };
                // It reads nothing that could be bad.
                let on_error = OnErrorArgs { on_error: OnError::Fail, rejects: None };
                (&puzzle::domino::Domino, options, on_error, run)
            }
        };
        let options = Options { seed: run.seed, jobs: run.jobs.jobs.get(), ..options };
        Parsed { domain, options, on_error, run }
    }
}

/// Opens the inputs; malformed rows and tasks go to the rejects, or end the run.
fn open(
    domain: &'static dyn Domain,
    options: &Options,
    on_error: OnError,
    rejects: &mut Rejects,
) -> Result<Box<dyn Source>> {
    if on_error == OnError::Fail {
        return domain.open(options, None).map_err(fatal);
    }
    let mut taken = Ok(());
    let mut take = |bad: Reject| {
        if taken.is_ok() {
            taken = rejects.take(vec![rejection(bad)]);
        }
    };
    let opened = domain.open(options, Some(&mut take)).map_err(fatal);
    taken?;
    opened
}

fn rejection(bad: Reject) -> Rejection {
    let Reject { error, text } = bad;
    let position = error.line_number().map_or(Position::Whole, Position::Line);
    let input = (!text.is_empty()).then(|| Value::from(String::from_utf8_lossy(&text)));
    let place = Place { source: error.place().into(), position };
    Rejection { place, id: None, reason: error.cause().to_string(), input }
}

/// The constants of the set stand in the header, as for a set of any other domain.
fn header(source: &dyn Source, run: &RunArgs, tool: &Tool) -> Result<Header> {
    let mut header = Header::default().through(&PUZZLE, run.output.entry(tool));
    let domain = source.domain().constants().name;
    header.set("domain", domain);
    let constants = AssertedConstants::default().resolve(Some(domain), source.seq_len())?;
    constants.parameters().into_iter().for_each(|(name, value)| header.set(name, value));
    Ok(header)
}

fn fatal(error: puzzle::Error) -> Error {
    match error.kind() {
        ErrorKind::Data => Error::data(error),
        ErrorKind::Option => Error::usage(error),
        ErrorKind::Io(kind) => match Error::io("", &io::Error::from(kind)).kind() {
            Kind::Data => Error::data(error),
            Kind::Usage => Error::usage(error),
            Kind::Unavailable => Error::unavailable(error),
        },
    }
}
