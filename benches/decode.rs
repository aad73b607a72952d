//! Rows per second of decoding raw games on one core, without any output.
//!
//! `GRISTMILL_DATA=DIR cargo bench --bench decode`: reads `DIR/macroxue/raw_bench`, prints
//! the median of several runs over all of its games, and what each part takes.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use gristmill::format::raw_games::{Decoder, GameFile, Legality, list};
use gristmill::game2048::{Game, StepRow};

const RUNS: usize = 21;

fn main() -> ExitCode {
    let Some(data) = std::env::var_os("GRISTMILL_DATA") else {
        println!("skipped: GRISTMILL_DATA is not set");
        return ExitCode::SUCCESS;
    };
    match run(&Path::new(&data).join("macroxue/raw_bench")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("decode: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let files = list(&[root])?;
    let mut decoder = Decoder::new(Legality::Board);
    let mut game = Game::default();
    let rows = median("decode", || decode(&files, &mut decoder, &mut game, |_| ()))?;
    let mut bytes = Vec::new();
    median("decode and build rows", || {
        decode(&files, &mut decoder, &mut game, |game| {
            bytes.clear();
            let ids: Vec<u8> = (0..game.valuation_names.len() as u8).collect();
            for i in 0..game.steps.len() {
                if let Ok(row) = StepRow::of_step(game, i, 0, &ids) {
                    bytes.extend_from_slice(&row.to_aligned());
                }
            }
        })
    })?;
    println!("{rows} rows, {} games", files.len());
    Ok(())
}

fn decode(
    files: &[GameFile],
    decoder: &mut Decoder,
    game: &mut Game,
    mut use_game: impl FnMut(&Game),
) -> Result<usize, Box<dyn std::error::Error>> {
    let mut rows = 0;
    for file in files {
        decoder.decode(file, game)?;
        use_game(game);
        rows += game.steps.len();
    }
    Ok(rows)
}

fn median(
    what: &str,
    mut work: impl FnMut() -> Result<usize, Box<dyn std::error::Error>>,
) -> Result<usize, Box<dyn std::error::Error>> {
    let mut seconds = Vec::new();
    let mut rows = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        rows = work()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[RUNS / 2];
    let rate = |seconds: f64| rows as f64 / seconds / 1e6;
    println!("{what}: {:.2} M rows/s, best {:.2}", rate(median), rate(seconds[0]));
    Ok(rows)
}
