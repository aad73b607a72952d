//! npy-pack: records in, a dataset directory out: games become a pool (structured `.npy` rows and
//! `metadata.db`), puzzles a puzzle set.

use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args as Arguments, Parser, ValueEnum};
use serde_json::{Value, json};

use gristmill::cli::{
    self, CommonArgs, Error, InputArgs, OnErrorArgs, Progress, Rejection, Rejects, Result,
};
use gristmill::format::pack::{self, Options, Pack, Records};
use gristmill::format::pools::{self, PoolReader};
use gristmill::format::puzzle_dir::{Asserted, PuzzleWriter};
use gristmill::game2048::Game;
use gristmill::record::game::Games;
use gristmill::record::puzzle::Puzzles;
use gristmill::record::{GAME, PUZZLE};
use gristmill::stream::{Header, Reader, provenance_entry};

/// Write game records as a pack, puzzle records as a puzzle set
///
/// What the first record is decides. Everything appears at the end or not at all.
///
/// Games: DIR receives steps.npy (or steps-00000.npy, steps-00001.npy, ... with --shard-rows), one
/// 48-byte row a step, valuation_types.json, metadata.db and, last, manifest.json. Runs are numbered
/// 0, 1, 2, ... in the order in which the games come. The layout selfplay-v1 has boards and nothing
/// else: steps-000001.npy, ..., no lookup. Inputs may also be pools on disk, directories with rows
/// of steps: they are merged, as from ds-cat, and faster.
///
/// Puzzles: DIR receives train/ and test/ with dataset.json and five int32 arrays for each set,
/// identifiers.json and, last, build.json. Groups, puzzles and identifiers are numbered in the
/// order in which they come, train before test; a group and a puzzle are records of one name that
/// stand together.
#[derive(Parser)]
#[command(name = "npy-pack", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Directory of the dataset; made where it is missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Replace what stands in DIR
    #[arg(long)]
    overwrite: bool,

    /// Fail unless exactly N records come (NDJSON has no end marker)
    #[arg(long, value_name = "N")]
    expect_records: Option<u64>,

    #[command(flatten)]
    games: GameArgs,
    #[command(flatten)]
    puzzles: PuzzleArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Arguments)]
#[command(next_help_heading = "Games")]
struct GameArgs {
    /// Rows in each file but the last; without it all rows are in one (selfplay-v1: 1,000,000)
    #[arg(long, value_name = "N")]
    shard_rows: Option<NonZeroU64>,

    /// Layout of the rows [default: macroxue]
    #[arg(long, value_enum, value_name = "macroxue|selfplay-v1", hide_possible_values = true)]
    layout: Option<Layout>,

    /// Write what the layout can hold, where some of the input would be lost; say what is lost
    #[arg(long)]
    lossy: bool,

    /// Leave the provenance chain out of manifest.json
    #[arg(long)]
    no_provenance: bool,
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
    /// Run, step, sixteen exponents
    SelfplayV1,
}

const HELP: &str = "\
Examples:
  mx-decode raw --to arrow -j 8 | npy-pack -o pack --shard-rows 10000000
  mx-decode raw | jq -c 'select(.score > 100000)' | npy-pack -o good
  npy-pack d6 d7 -o merged --shard-rows 10000000
  ds-cat pack --to arrow | npy-pack -o boards --layout selfplay-v1 --lossy
  puzzle-encode arc training evaluation --num-aug 1000 --to arrow | npy-pack -o arc

In: game records {seed, score, max_tile, steps, ...}, or puzzle records {split, group, puzzle,
identifier, inputs, labels, ...}. Out: files, nothing on stdout.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(run)
}

fn run(args: Args) -> Result<()> {
    if args.input.files.iter().any(|path| path.is_dir()) {
        return match args.puzzles.first_given() {
            Some(flag) => Err(Error::usage(format!("{flag} is for puzzles; games came"))),
            None => write_pools(args),
        };
    }
    let (reader, record) = Reader::open_one_of(&args.input, &[&GAME, &PUZZLE])?;
    let (for_games, for_puzzles) = (args.games.first_given(), args.puzzles.first_given());
    let are_puzzles = match record {
        Some(record) => record.name == PUZZLE.name,
        // No record at all: only a flag says what they would have been.
        None if for_games.or(for_puzzles).is_none() => {
            return Err(Error::data("no record came, so that it is not known what to write"));
        }
        None => for_puzzles.is_some(),
    };
    match (are_puzzles, for_games, for_puzzles) {
        (true, Some(flag), _) => Err(Error::usage(format!("{flag} is for games; puzzles came"))),
        (false, _, Some(flag)) => Err(Error::usage(format!("{flag} is for puzzles; games came"))),
        (true, ..) => write_puzzles(args, reader),
        (false, ..) => write_games(args, reader),
    }
}

fn write_games(args: Args, mut reader: Reader) -> Result<()> {
    let mut pack = Pack::create(&args.output, &options(&args))?;
    let header = reader.header().clone();
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("games", reader.total());
    pack.left_out(&names(header.parameters.get("left_out")));
    let mut game = Game::default();
    let mut records = Records::default();
    while let Some(mut batch) = reader.next_batch()? {
        let arrived = batch.records.clone();
        let view = Games::of(&arrived)?;
        records.read += (view.len() + batch.rejected.len()) as u64;
        for row in 0..view.len() {
            let fatal = |error: Error| error.at(batch.origin.place(row));
            if let Some(session) = view.session(row) {
                pack.put_session(session).map_err(fatal)?;
            }
            let prepared = match view.read(row, &mut game) {
                Ok(()) => pack.prepare(&game).map_err(fatal)?,
                Err(reason) => Err(reason),
            };
            match prepared {
                Ok(()) => {
                    pack.push(&game)?;
                    records.written += 1;
                }
                Err(reason) => {
                    let input = json!({"run_id": view.run_id.get(row), "source": view.source(row)});
                    batch.reject(row, view.source(row), reason, input);
                }
            }
        }
        rejects.take(batch.rejected)?;
        progress.add(view.len() as u64, batch.bytes);
    }
    // What was dropped before this filter came into the pipeline all the same.
    let dropped = reader.rejected();
    let legality = header.text("legality").map(str::to_string);
    let provenance = header.through(&GAME, Some(provenance_entry("npy-pack"))).provenance;
    finish_games(&args, pack, rejects, progress, Summary { records, dropped, legality, provenance })
}

/// The games of pools, which are read here without a stream between.
fn write_pools(args: Args) -> Result<()> {
    let inputs = &args.input.files;
    if let Some(other) = inputs.iter().find(|path| !pools::is_pool(path)) {
        let reason = match other.is_dir() {
            true => "no pool of 2048 games (no steps.npy, no steps-*.npy)",
            false => "pools and other inputs cannot be read together",
        };
        return Err(Error::usage(format!("{}: {reason}", cli::shown(other))));
    }
    if let Some(input) = inputs.iter().find(|input| is_same(input, &args.output)) {
        return Err(Error::usage(format!("{}: is an input and the output", cli::shown(input))));
    }
    let mut games = PoolReader::open(inputs, args.input.slice)?;
    let mut pack = Pack::create(&args.output, &options(&args))?;
    let mut rejects = Rejects::open(&args.on_error)?;
    let mut progress = args.common.progress("games", Some(games.games()));
    pack.left_out(&games.left_out());
    let mut game = Game::default();
    let mut records = Records::default();
    while let Some(place) = games.next_game(&mut game)? {
        records.read += 1;
        if let Some(session) = &game.session {
            pack.put_session(session).map_err(|error| error.at(&place))?;
        }
        let bytes = pack.bytes();
        match pack.prepare(&game).map_err(|error| error.at(&place))? {
            Ok(()) => {
                pack.push(&game)?;
                records.written += 1;
            }
            Err(reason) => {
                let input = Some(json!({"run_id": game.run_id, "source": game.source}));
                rejects.take(vec![Rejection { place, id: None, reason, input }])?;
            }
        }
        progress.add(1, pack.bytes() - bytes);
    }
    let chain = Header { provenance: games.provenance(), ..Header::default() };
    let provenance = chain.through(&GAME, Some(provenance_entry("npy-pack"))).provenance;
    let legality = games.legality().map(str::to_string);
    let summary = Summary { records, dropped: 0, legality, provenance };
    finish_games(&args, pack, rejects, progress, summary)
}

/// Whether both paths lead to one directory.
fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// What is known of the games when all of them have come.
struct Summary {
    records: Records,
    /// Games that the filters before this one have dropped.
    dropped: u64,
    legality: Option<String>,
    provenance: Vec<Value>,
}

fn finish_games(
    args: &Args,
    pack: Pack,
    rejects: Rejects,
    mut progress: Progress,
    summary: Summary,
) -> Result<()> {
    let Summary { mut records, dropped, legality, provenance } = summary;
    cli::expect_records(args.expect_records, records.read)?;
    records.rejected = rejects.count() + dropped;
    records.read += dropped;
    let warnings = if args.common.quiet { Vec::new() } else { warnings(&pack) };
    pack.finish(records, legality, (!args.games.no_provenance).then_some(provenance))?;
    progress.finish();
    warnings.iter().for_each(|line| cli::tell(&format!("npy-pack: warning: {line}")));
    rejects.finish("npy-pack")
}

fn options(args: &Args) -> Options {
    Options {
        layout: match args.games.layout {
            Some(Layout::SelfplayV1) => pack::Layout::SelfplayV1,
            Some(Layout::Macroxue) | None => pack::Layout::Macroxue,
        },
        shard_rows: args.games.shard_rows.map(NonZeroU64::get),
        overwrite: args.overwrite,
        lossy: args.games.lossy,
    }
}

/// A list of names in the stream's header.
fn names(parameter: Option<&Value>) -> Vec<&str> {
    let names = parameter.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

fn warnings(pack: &Pack) -> Vec<String> {
    let mut lines = Vec::new();
    if !pack.new_names().is_empty() {
        lines.push(format!(
            "valuation types beyond search, tuple10 and tuple11 ({}): some readers of packs fail \
             on them",
            pack.new_names().join(", ")
        ));
    }
    if !pack.lost().is_empty() {
        lines.push(format!("lost: {}", pack.lost().join(", ")));
    }
    lines
}

fn write_puzzles(args: Args, mut reader: Reader) -> Result<()> {
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

impl GameArgs {
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.shard_rows.is_some(), "--shard-rows"),
            (self.layout.is_some(), "--layout"),
            (self.lossy, "--lossy"),
            (self.no_provenance, "--no-provenance"),
        ];
        given.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }
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
