//! puzzle-encode: Sudoku and Maze CSV, ARC tasks or played Domino games in, puzzle records out.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::error::{Error as ArgsError, ErrorKind};
use clap::{ArgMatches, Args as Arguments, Command, FromArgMatches, Parser, Subcommand};
use serde_json::Value;

use gristmill::batch::{Batch, Header};
use gristmill::cli::{
    CommonArgs, JobsArgs, OnErrorArgs, OutputArgs, RejectedContent, Rejection, Rejects, Slice, Tool,
};
use gristmill::error::{Error, Result};
use gristmill::format::puzzle_dir::AssertedConstants;
use gristmill::inputs;
use gristmill::ordered::Flow;
use gristmill::puzzle::{
    self, BuildContext, DOMAINS, Domain, EncodedPuzzles, GroupChunk, Opener, PuzzleCounts,
    PuzzleSource, RejectedInput, chunks,
};
use gristmill::record::PUZZLE;
use gristmill::record::statements::DOMAIN;
use gristmill::runner::{Items, Runner};
use gristmill::stream::{Writer, open_bytes};
use gristmill::wording::counted;

/// Encode puzzles as sequences of tokens, with reproducible augmentation
///
/// Every original puzzle becomes one group: the puzzle, then its augmentations. Train comes before test.
/// All inputs are checked before anything is written, also against the rules of their game. The
/// same inputs, options and seed give the same records with any number of threads and slices.
#[derive(Parser)]
#[command(name = "puzzle-encode", version, after_long_help = HELP)]
#[command(subcommand_required = true, disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    domain: DomainArgs,
}

const HELP: &str = "\
Examples:
  puzzle-encode sudoku --train train.csv --test test.csv --num-aug 3 |
      npy-pack -o sudoku
  puzzle-encode arc training evaluation --num-aug 1000 -j 8 --to arrow |
      npy-pack -o arc
  puzzle-encode arc arc-agi_training_challenges.json \\
      --solutions arc-agi_training_solutions.json | npy-pack -o arc
  puzzle-encode maze --train train.csv --test test.csv --num-aug 7 |
      npy-pack -o maze
  puzzle-encode domino --num-games 1000 --seed 7 | ds-cat --grid | jq -c .labels

In: CSV files with the header source,question,answer,rating; folders of ARC
tasks; nothing.
Out: puzzle records {domain, split, set, group, puzzle, identifier, inputs,
labels, build}.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 temporary failure
(I/O error).";

/// A domain with its own arguments, and the arguments that every domain has.
struct DomainArgs {
    domain: &'static dyn Domain,
    own: ArgMatches,
    on_error: OnErrorArgs,
    run: RunArgs,
}

/// One subcommand for each domain: its arguments, then the others.
impl Subcommand for DomainArgs {
    fn augment_subcommands(command: Command) -> Command {
        let with_all = |domain: &&dyn Domain| {
            let mut command = domain.command();
            let about = command.get_about().cloned();
            if domain.reads_inputs() {
                command = OnErrorArgs::augment_args(command);
            }
            RunArgs::augment_args(command).about(about.unwrap_or_default())
        };
        command.subcommands(DOMAINS.iter().map(with_all))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        puzzle::domain(name).is_some()
    }
}

impl FromArgMatches for DomainArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<DomainArgs, ArgsError> {
        let found = matches.subcommand().and_then(|(name, own)| Some((puzzle::domain(name)?, own)));
        let (domain, own) = found.ok_or_else(|| ArgsError::new(ErrorKind::MissingSubcommand))?;
        let on_error = if domain.reads_inputs() {
            OnErrorArgs::from_arg_matches(own)?
        } else {
            OnErrorArgs::default()
        };
        let run = RunArgs::from_arg_matches(own)?;
        Ok(DomainArgs { domain, own: own.clone(), on_error, run })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), ArgsError> {
        *self = DomainArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(Arguments)]
struct RunArgs {
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value = "42")]
    seed: u64,

    /// Encode only part I of N of the groups, I from 0
    ///
    /// The parts are contiguous. A..B encodes the groups from A to B, B not included.
    #[arg(long, value_name = "I/N|A..B")]
    slice: Option<Slice>,

    #[command(flatten)]
    jobs: JobsArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub fn main() -> ExitCode {
    gristmill::main(gristmill::sources!(), run)
}

fn run(args: Args, tool: &Tool) -> Result<()> {
    let DomainArgs { domain, own, on_error, run } = args.domain;
    let mut rejects = Rejects::open(&on_error)?;
    let mut take = |bad: RejectedInput| {
        let RejectedInput { place, cause, text } = bad;
        let input = text.map(|text| RejectedContent::json(move || Value::from(text).to_string()));
        let input = input.unwrap_or(RejectedContent::Nothing);
        rejects.take(vec![Rejection { place, id: None, reason: cause, input }])
    };
    let opener: Opener = Arc::new(|path: &Path| {
        inputs::name([&path.to_path_buf()]);
        open_bytes(path)
    });
    let mut build = BuildContext {
        seed: run.seed,
        jobs: run.jobs.jobs.get(),
        opener: opener.clone(),
        rejects: Some(&mut take),
    };
    let source = domain.open(&own, &mut build)?;
    on_error.rejects.as_deref().map_or(Ok(()), inputs::refuse_target)?;
    let say = |line: &str| {
        if !run.common.quiet {
            tool.tell(line);
        }
    };
    source.notes.iter().for_each(|note| say(note));
    let groups = source.group_count;
    let range = run.slice.map_or(0..groups, |slice| slice.of(groups));
    let header = header(&source, &run, tool)?;
    let writer = Writer::stdout(&run.output, &PUZZLE.schema(), &header)?;
    let counts = Mutex::new(PuzzleCounts::default());
    let stage = || {
        |chunk: GroupChunk, send: &mut dyn FnMut(_) -> Flow| {
            chunk.encode(|encoded| {
                let batch = encoded.map_err(Error::from).map(|made: EncodedPuzzles| {
                    *counts.lock().unwrap_or_else(PoisonError::into_inner) += made.counts;
                    let groups = made.counts.groups.iter().sum();
                    Batch { progress: Some(groups), ..Batch::made(made.records) }
                });
                send(batch) == Flow::Continue
            })
        }
    };
    let total = range.end - range.start;
    let items = chunks(&source, range).map(|chunk| chunk.map_err(Error::from));
    let runner = Runner::new(tool, &run.common, "groups").rejects(rejects);
    runner.jobs(run.jobs.jobs).run_many(Items { total, items }, stage, writer)?;
    let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    if counts.shortfall > 0 {
        let PuzzleCounts { short_groups, shortfall, .. } = counts;
        say(&format!(
            "warning: {} fewer than asked for, in {}: no more different ones were found",
            counted(shortfall, "augmentation"),
            counted(short_groups, "group")
        ));
    }
    say(&counts.summary());
    Ok(())
}

/// Puts the constants of the set into the header, as for every domain.
fn header(source: &PuzzleSource, run: &RunArgs, tool: &Tool) -> Result<Header> {
    let mut header = Header::default().through(&PUZZLE, run.output.entry(tool));
    let domain = source.domain.constants().name;
    header.set(&DOMAIN, domain.to_string());
    let constants = AssertedConstants::default().resolve(Some(domain), source.seq_len)?;
    constants.statements().into_iter().for_each(|(of, value)| header.set(of, value));
    Ok(header)
}
