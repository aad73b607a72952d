//! A packer of raw 2048 games written with the usual crates: flate2, a derived serde
//! type for a step, a table of line scores, all rows in memory until they are written.
//!
//!     pack_games RAW_DIR OUT.npy
//!
//! It takes complete games in the usual order of keys and checks almost nothing; the rows are
//! those of gristmill's npy-pack, byte for byte, header included.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

#[derive(Deserialize)]
struct Meta {
    num_moves: usize,
}

#[derive(Deserialize)]
struct Step<'a> {
    seed: u64,
    step_index: u32,
    max_rank: u8,
    #[serde(rename = "move")]
    direction: &'a str,
    valuation_type: &'a str,
    board: [u8; 16],
    branch_evs: BranchEvs,
}

#[derive(Deserialize)]
struct BranchEvs {
    up: Option<f32>,
    down: Option<f32>,
    left: Option<f32>,
    right: Option<f32>,
}

const LINES: [[usize; 4]; 8] = [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
    [8, 9, 10, 11],
    [12, 13, 14, 15],
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
];

/// The score of a line of four exponents, and whether it moves towards its first or last cell.
#[derive(Clone, Copy, Default)]
struct Line {
    score: i32,
    to_first: bool,
    to_last: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, out] = &arguments[..] else { return Err("pack_games RAW_DIR OUT.npy".into()) };
    let mut metas = Vec::new();
    find(Path::new(root), &mut metas)?;
    let lines = lines();
    let mut rows = Vec::new();
    let mut text = String::new();
    for (run, path) in metas.iter().enumerate() {
        let meta: Meta = serde_json::from_str(&fs::read_to_string(path)?)?;
        let name = path.to_string_lossy();
        let steps = name.strip_suffix(".meta.json").ok_or("no meta")?.to_owned() + ".jsonl.gz";
        let mut reader = BufReader::with_capacity(1 << 18, MultiGzDecoder::new(File::open(steps)?));
        let before = rows.len();
        loop {
            text.clear();
            if reader.read_line(&mut text)? == 0 {
                break;
            }
            push_row(&mut rows, run as u32, &serde_json::from_str(&text)?, &lines)?;
        }
        if rows.len() - before != 48 * meta.num_moves {
            return Err(format!("{name}: the number of steps differs").into());
        }
    }
    let mut file = File::create(out)?;
    file.write_all(&header(rows.len() / 48))?;
    file.write_all(&rows)?;
    Ok(())
}

fn find(directory: &Path, metas: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            find(&path, metas)?;
        } else if path.to_string_lossy().ends_with(".meta.json") {
            metas.push(path);
        }
    }
    Ok(())
}

fn lines() -> Vec<Line> {
    let value = |rank: usize| (rank as i32) << rank;
    (0..1 << 16)
        .map(|packed: usize| {
            let cells = [packed >> 12, packed >> 8 & 15, packed >> 4 & 15, packed & 15];
            let mut line = Line { score: value(cells[0]), ..Line::default() };
            for pair in cells.windows(2) {
                let (x, y) = (value(pair[0]), value(pair[1]));
                line.score += if x >= y { x + y } else { 12 * (x - y) };
                line.score += if x == y { x } else { 0 };
                let merges = pair[0] == pair[1] && pair[0] != 0;
                line.to_first |= merges || pair[0] == 0 && pair[1] != 0;
                line.to_last |= merges || pair[1] == 0 && pair[0] != 0;
            }
            line
        })
        .collect()
}

fn push_row(
    rows: &mut Vec<u8>,
    run: u32,
    step: &Step,
    lines: &[Line],
) -> Result<(), Box<dyn Error>> {
    if step.board.iter().any(|&rank| rank > 15) {
        return Err("a tile over 2^15".into());
    }
    let board = step.board.iter().fold(0, |board: u64, &rank| board << 4 | u64::from(rank));
    let mut score = 0;
    // Up, down, left, right: columns towards their first and last cell, then rows.
    let mut moves = [false; 4];
    for (at, cells) in LINES.iter().enumerate() {
        let packed = cells.iter().fold(0, |line, &cell| line << 4 | usize::from(step.board[cell]));
        let line = lines[packed];
        score += line.score;
        let first = if at < 4 { 2 } else { 0 };
        moves[first] |= line.to_first;
        moves[first + 1] |= line.to_last;
    }
    let direction = match step.direction {
        "up" => 0,
        "down" => 1,
        "left" => 2,
        "right" => 3,
        other => return Err(format!("the move {other}").into()),
    };
    let valuation = match step.valuation_type {
        "search" => 0,
        "tuple10" => 1,
        "tuple11" => 2,
        other => return Err(format!("the valuation {other}").into()),
    };
    let evs = &step.branch_evs;
    let mut legal = 0;
    let mut values = [0f32; 4];
    for (at, value) in [evs.up, evs.down, evs.left, evs.right].into_iter().enumerate() {
        if let (true, Some(value)) = (moves[at], value) {
            legal |= 1 << at;
            values[at] = value;
        }
    }
    rows.extend_from_slice(&run.to_le_bytes());
    rows.extend_from_slice(&step.step_index.to_le_bytes());
    rows.extend_from_slice(&board.to_le_bytes());
    rows.extend_from_slice(&score.to_le_bytes());
    rows.extend_from_slice(&[0, 0, direction, valuation, legal, step.max_rank, 0, 0]);
    rows.extend_from_slice(&(step.seed as u32).to_le_bytes());
    values.iter().for_each(|value| rows.extend_from_slice(&value.to_le_bytes()));
    Ok(())
}

/// What numpy writes before rows of this type.
fn header(rows: usize) -> Vec<u8> {
    let text = format!(
        "{{'descr': [('run_id', '<u4'), ('step_index', '<u4'), ('board', '<u8'), \
         ('board_eval', '<i4'), ('tile_65536_mask', '<u2'), ('move_dir', '|u1'), \
         ('valuation_type', '|u1'), ('ev_legal', '|u1'), ('max_rank', '|u1'), ('', '|V2'), \
         ('seed', '<u4'), ('branch_evs', '<f4', (4,))], 'fortran_order': False, \
         'shape': ({rows},), }}"
    );
    let mut header = b"\x93NUMPY\x01\x00\x76\x01".to_vec();
    header.extend_from_slice(text.as_bytes());
    header.resize(383, b' ');
    header.push(b'\n');
    header
}
