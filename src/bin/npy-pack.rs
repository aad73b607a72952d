//! npy-pack: game records in, a Macroxue pack out: structured `.npy` rows and `metadata.db`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde_json::json;

use gristmill::cli::{self, CommonArgs, InputArgs, OnErrorArgs, Rejects, Result};
use gristmill::format::pack::Pack;
use gristmill::game2048::Game;
use gristmill::record::GAME;
use gristmill::record::game::Games;
use gristmill::stream::{Reader, Wanted};

/// Write game records as a pack: rows for a trainer, and a database of the runs
///
/// DIR receives steps.npy (or steps-00000.npy, steps-00001.npy, ... with --shard-rows), one 48-byte
/// row a step, metadata.db and valuation_types.json. Runs are numbered 0, 1, 2, ... in the order
/// in which the games come. Everything appears at the end or not at all, the database last.
#[derive(Parser)]
#[command(name = "npy-pack", version, after_long_help = HELP)]
struct Args {
    #[command(flatten)]
    input: InputArgs,

    /// Directory of the pack; made where it is missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Rows in each file but the last; without it all rows are in one
    #[arg(long, value_name = "N")]
    shard_rows: Option<NonZeroU64>,

    /// Layout of the rows
    #[arg(long, value_enum, default_value = "macroxue", value_name = "macroxue")]
    #[arg(hide_possible_values = true)]
    layout: Layout,

    /// Replace the pack that stands in DIR
    #[arg(long)]
    overwrite: bool,

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
}

const HELP: &str = "\
Examples:
  mx-decode raw --to arrow -j 8 | npy-pack -o pack --shard-rows 10000000
  mx-decode raw | jq -c 'select(.score > 100000)' | npy-pack -o good
  mx-decode d6 d7 | npy-pack -o both --overwrite

In: game records {seed, score, max_tile, steps, ...}. Out: files, nothing on stdout.
Exit codes: 0 done, 1 bad data, 2 usage or a missing input, 75 not now (I/O error, input cut short).";

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args) -> Result<()> {
    let shard_rows = args.shard_rows.map(NonZeroU64::get);
    let mut pack = match args.layout {
        Layout::Macroxue => Pack::create(&args.output, shard_rows, args.overwrite)?,
    };
    let mut reader = Reader::open(&args.input, Wanted::records(&GAME))?;
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
