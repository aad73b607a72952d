//! The arguments of puzzle sets.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{BuildOptions, Pipelined, words};
use crate::Product;
use crate::error::{Error, Result};
use crate::jobs::BuildJob;

const PUZZLES_HELP: &str = "\
Examples:
  scripts/puzzles.sh puzzles --sudoku data/sudoku --arc data/arc --num-aug 10
  scripts/puzzles.sh puzzles --domino 1000 --seed 7
  ds-plan build puzzles out --domino 1000 -- puzzle-encode '|' npy-pack

In: puzzles, or a number of states that are played.
Out: puzzle sets.
Exit codes: 0 done, 1 bad data (what fails ds-check is kept), 2 usage or a missing
input, 75 temporary failure, try again.";

/// Puzzle sets for the HRM loader: one for each domain for which inputs are given
///
/// OUT_DIR receives sudoku/, maze/, arc/ and domino/, each with train/, test/, identifiers.json and build.json.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = PUZZLES_HELP)]
#[command(override_usage = "ds-plan build puzzles OUT_DIR [OPTIONS] -- FILTER '|' FILTER")]
pub struct PuzzlesArgs {
    /// The folder of the sets; sets of other domains may be there already
    #[arg(value_name = "OUT_DIR")]
    pub(super) paths: Vec<PathBuf>,

    /// train.csv and test.csv with the fields source,question,answer,rating
    #[arg(long, value_name = "DIR")]
    pub(super) sudoku: Option<PathBuf>,

    /// The same of mazes
    #[arg(long, value_name = "DIR")]
    pub(super) maze: Option<PathBuf>,

    /// Tasks of ARC (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(super) arc: Vec<PathBuf>,

    /// N states in each split; the games are played by the filter
    #[arg(long, value_name = "N")]
    pub(super) domino: Option<u64>,

    /// Augmentations of each puzzle; at most 7 for mazes, 6 for Domino states
    #[arg(long, value_name = "K", default_value = "3")]
    pub(super) num_aug: u64,

    /// N Sudokus of train, chosen at random
    #[arg(long, value_name = "N")]
    pub(super) subsample: Option<u64>,

    /// Sudokus of that rating or more
    #[arg(long, value_name = "R")]
    pub(super) min_difficulty: Option<u64>,

    /// Sudokus with exactly one solution
    #[arg(long)]
    pub(super) unique: bool,

    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value = "42")]
    pub(super) seed: u64,

    #[command(flatten)]
    pub(super) options: BuildOptions,
}

impl PuzzlesArgs {
    pub(super) fn job(&self, pipeline: &mut Pipelined) -> Result<BuildJob> {
        let [out] = self.paths.as_slice() else {
            return Err(Error::usage("OUT_DIR is required; see --help"));
        };
        let of_csv = |name: &str, folder: &Option<PathBuf>| {
            let files = folder
                .iter()
                .flat_map(|folder| ["train.csv", "test.csv"].map(|file| folder.join(file)));
            files.map(|file| (name.to_string(), file)).collect::<Vec<_>>()
        };
        let mut sources = [of_csv("sudoku", &self.sudoku), of_csv("maze", &self.maze)].concat();
        sources.extend(self.arc.iter().map(|folder| ("arc".to_string(), folder.clone())));
        sources.extend(self.domino.map(|states| ("domino".to_string(), states.to_string().into())));
        if sources.is_empty() {
            let cause = "nothing to build: give --sudoku, --maze, --arc or --domino";
            return Err(Error::usage(cause));
        }
        let number = |flag: &str, value: Option<u64>| {
            value.map_or(Vec::new(), |value| words(&[flag, &value.to_string()]))
        };
        let mut sudoku = number("--subsample", self.subsample);
        sudoku.extend(number("--min-difficulty", self.min_difficulty));
        sudoku.extend(self.unique.then(|| "--unique".to_string()));
        if let (Some(flag), None) = (sudoku.first(), &self.sudoku) {
            return Err(Error::usage(format!("{flag} is for --sudoku")));
        }
        pipeline.refuse_other_ends(&["puzzle-encode"], "npy-pack")?;
        let whole = pipeline.whole(|_| Vec::new(), |_| Vec::new());
        let mut request = self.options.request(Product::Puzzles, out, Path::new("."), whole);
        let (num_aug, seed) =
            (number("--num-aug", Some(self.num_aug)), number("--seed", Some(self.seed)));
        request.options = [num_aug, seed, sudoku, self.options.on_error()].concat();
        let mut targets: Vec<PathBuf> = sources.iter().map(|(name, _)| out.join(name)).collect();
        targets.dedup();
        request.sources = sources;
        Ok(BuildJob { targets, ..self.options.job(request) })
    }
}
