//! npy-pack: game records in, a pool on disk out: structured `.npy` rows and `metadata.db`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};

use gristmill::cli::{self, CommonArgs, Error, InputArgs, OnErrorArgs, Rejects, Result};
use gristmill::format::pack::{self, Options, Pack, Records};
use gristmill::game2048::Game;
use gristmill::record::GAME;
use gristmill::record::game::Games;
use gristmill::stream::{Reader, Wanted, provenance_entry};

/// Write game records as a pack: rows for a trainer, and a database of the runs
///
/// DIR receives steps.npy (or steps-00000.npy, steps-00001.npy, ... with --shard-rows), one 48-byte
/// row a step, valuation_types.json, metadata.db and manifest.json. Runs are numbered 0, 1, 2, ...
/// in the order in which the games come. Everything appears at the end or not at all, the manifest
/// last. The layout selfplay-v1 has boards and nothing else: steps-000001.npy, ..., no lookup.
#[derive(Parser)]
#[command(name = "npy-pack", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Directory of the pack; made where it is missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Rows in each file but the last; without it all rows are in one (selfplay-v1: 1,000,000)
    #[arg(long, value_name = "N")]
    shard_rows: Option<NonZeroU64>,

    /// Layout of the rows
    #[arg(long, value_enum, default_value = "macroxue", value_name = "macroxue|selfplay-v1")]
    #[arg(hide_possible_values = true)]
    layout: Layout,

    /// Write what the layout can hold, where some of the input would be lost; say what is lost
    #[arg(long)]
    lossy: bool,

    /// Replace the pack that stands in DIR
    #[arg(long)]
    overwrite: bool,

    /// Leave the provenance chain out of manifest.json
    #[arg(long)]
    no_provenance: bool,

    /// Fail unless exactly N records come (NDJSON has no end marker)
    #[arg(long, value_name = "N")]
    expect_records: Option<u64>,

    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    common: CommonArgs,
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
  ds-cat d6 d7 --to arrow | npy-pack -o merged --overwrite
  ds-cat pack --to arrow | npy-pack -o boards --layout selfplay-v1 --lossy

In: game records {seed, score, max_tile, steps, ...}. Out: files, nothing on stdout.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

fn main() -> ExitCode {
    cli::keep_freed_memory();
    cli::main(run)
}

fn run(args: Args) -> Result<()> {
    let mut pack = Pack::create(&args.output, &options(&args))?;
    let mut reader = Reader::open(&args.input, Wanted::records(&GAME))?;
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
    cli::expect_records(args.expect_records, records.read)?;
    // What was dropped before this filter came into the pipeline all the same.
    records.rejected = rejects.count() + reader.rejected();
    records.read += reader.rejected();
    let warnings = if args.common.quiet { Vec::new() } else { warnings(&pack) };
    let provenance = header.through(&GAME, Some(provenance_entry("npy-pack"))).provenance;
    let legality = header.text("legality").map(str::to_string);
    pack.finish(records, legality, (!args.no_provenance).then_some(provenance))?;
    progress.finish();
    warnings.iter().for_each(|line| cli::tell(&format!("npy-pack: warning: {line}")));
    rejects.finish("npy-pack")
}

fn options(args: &Args) -> Options {
    Options {
        layout: match args.layout {
            Layout::Macroxue => pack::Layout::Macroxue,
            Layout::SelfplayV1 => pack::Layout::SelfplayV1,
        },
        shard_rows: args.shard_rows.map(NonZeroU64::get),
        overwrite: args.overwrite,
        lossy: args.lossy,
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
