//! Packs of games that were really played, and one defect for each check of pools.

use std::fs;

use gristmill::game2048::{Board, Direction, StepRow};
use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::defects::{Defect, defect};
use super::edit::{edit, edit_json, patch};
use crate::common::TempDir;

/// Bytes before the rows, and bytes of a row.
const HEADER: usize = 384;
const ROW: usize = 48;
const SHARD_ROWS: usize = 32;
const MOVES: [usize; 2] = [40, 25];

/// Where the fields of a row begin.
const STEP_INDEX: usize = 4;
const BOARD_EVAL: usize = 16;
const MASK: usize = 20;
const MOVE_DIR: usize = 22;
const VALUATION: usize = 23;
const EV_LEGAL: usize = 24;
const MAX_RANK: usize = 25;
const SEED: usize = 28;
const BRANCH_EVS: usize = 32;

/// Makes `pack/` of two games in three shards, `pack46/` and the pool `v1/` of the same, and the
/// games as records.
pub fn make(dir: &TempDir) {
    for (number, moves) in MOVES.into_iter().enumerate() {
        let (meta, steps) = play(number as u64 + 7, moves);
        dir.write(&format!("raw/g{number}.meta.json"), meta);
        dir.write(&format!("raw/g{number}.jsonl"), steps);
    }
    dir.bash(&format!(
        "set -eo pipefail; gzip raw/*.jsonl; mx-decode raw > g.ndjson
         mx-decode raw --to arrow > g.arrows; npy-pack g.arrows -o pack --shard-rows {SHARD_ROWS}
         npy-pack g.arrows -o v1 --layout selfplay-v1 --lossy; rm -r raw"
    ))
    .ok();
}

/// Writes a legacy pool of one game: boards by their first row, without overflow mask, and moves.
fn legacy(dir: &TempDir, steps: &[([u8; 4], u8)]) {
    let fields =
        "[('run_id', '<u4'), ('step_index', '<u4'), ('board', '<u8'), ('move_dir', '|u1')]";
    let shape = steps.len();
    let mut header =
        format!("{{'descr': {fields}, 'fortran_order': False, 'shape': ({shape},), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.bytes());
    for (index, (first, direction)) in steps.iter().enumerate() {
        let mut cells = [0; 16];
        cells[..4].copy_from_slice(first);
        npy.extend(0u32.to_le_bytes());
        npy.extend((index as u32).to_le_bytes());
        npy.extend(Board::new(cells).unwrap().pack().nibbles.to_le_bytes());
        npy.push(*direction);
    }
    dir.write("legacy/steps.npy", npy);
}

/// The sidecar and the steps of a game.
fn play(seed: u64, moves: usize) -> (String, String) {
    let mut cells = [0u8; 16];
    (cells[0], cells[5]) = (1, 1);
    let (mut score, mut steps, mut highest) = (0, String::new(), 0);
    for index in 0..moves {
        let board = Board::new(cells).unwrap();
        // Into the corner: then some directions are illegal.
        let legal = |direction: &Direction| board.legal() & direction.bit() != 0;
        let direction = Direction::ALL.into_iter().find(legal).unwrap();
        let evs: serde_json::Map<String, Value> = (Direction::ALL.iter())
            .map(|d| {
                (
                    d.name().to_string(),
                    if legal(d) { json!(index as f64 + 0.5) } else { Value::Null },
                )
            })
            .collect();
        let step = json!({
            "seed": seed, "step_index": index, "max_rank": board.max_rank(),
            "move": direction.name(), "valuation_type": "search", "valuation": 0.5,
            "board": cells, "branch_evs": evs,
        });
        steps += &format!("{step}\n");
        let slide = board.slide(direction);
        score += slide.gained;
        cells = slide.cells;
        highest = *cells.iter().max().unwrap();
        let empty = cells.iter().enumerate().filter(|(_, cell)| **cell == 0).map(|(at, _)| at);
        let empty: Vec<usize> = empty.collect();
        cells[empty[(index * 7 + seed as usize) % empty.len()]] = 1;
    }
    let meta = json!({
        "seed": seed, "depth": 6, "game_index": 0, "num_moves": moves, "score": score,
        "max_tile": 1 << highest, "max_rank": highest, "seconds": 1.5,
    });
    (meta.to_string(), steps)
}

/// Makes the manifest of a pack correct again: sizes and hashes of what it names.
fn resum(dir: &TempDir, pack: &str) {
    edit_json(dir, &format!("{pack}/manifest.json"), |manifest| {
        for file in manifest["files"].as_array_mut().unwrap() {
            let content = dir.read(&format!("{pack}/{}", file["path"].as_str().unwrap()));
            file["bytes"] = json!(content.len());
            let digest = Sha256::digest(&content);
            file["sha256"] = json!(digest.iter().map(|b| format!("{b:02x}")).collect::<String>());
        }
    });
}

const fn mended(id: &'static str, pack: &'static str, change: fn(&TempDir)) -> Defect {
    defect(id, pack, change).mended(resum)
}

fn files(manifest: &mut Value) -> &mut Vec<Value> {
    manifest["files"].as_array_mut().unwrap()
}

fn shard(row: usize) -> (String, usize) {
    (format!("pack/steps-{:05}.npy", row / SHARD_ROWS), HEADER + row % SHARD_ROWS * ROW)
}

fn rows(dir: &TempDir) -> Vec<[u8; ROW]> {
    (0..MOVES.iter().sum())
        .map(|row| {
            let (name, start) = shard(row);
            dir.read(&name)[start..start + ROW].try_into().unwrap()
        })
        .collect()
}

/// Changes bytes of a row.
fn row(dir: &TempDir, row: usize, field: usize, bytes: &[u8]) {
    let (name, start) = shard(row);
    patch(dir, &name, start + field, bytes);
}

/// A row whose board cannot move in some direction, that direction, and its legal moves.
fn blocked(dir: &TempDir) -> (usize, usize, u8) {
    let rows = rows(dir);
    let found = rows.iter().enumerate().find_map(|(number, row)| {
        let legal = StepRow::from_aligned(row).exponents().legal();
        (legal != 15).then(|| (number, legal.trailing_ones() as usize, legal))
    });
    found.unwrap()
}

fn sql(dir: &TempDir, text: &str) {
    Connection::open(dir.at("pack/metadata.db")).unwrap().execute_batch(text).unwrap();
}

const LAST: usize = MOVES[0] + MOVES[1] - 1;

pub const POOLS: &[Defect] = &[
    defect("pool.files.both", "pack", |dir| {
        fs::copy(dir.at("pack/steps-00000.npy"), dir.at("pack/steps.npy")).unwrap();
    }),
    defect("pool.shard.gap", "pack", |dir| {
        fs::rename(dir.at("pack/steps-00002.npy"), dir.at("pack/steps-00003.npy")).unwrap();
        edit_json(dir, "pack/manifest.json", |manifest| {
            for file in files(manifest).iter_mut().filter(|f| f["path"] == "steps-00002.npy") {
                file["path"] = json!("steps-00003.npy");
            }
        });
    }),
    mended("pool.shard.npy", "pack", |dir| {
        edit(dir, "pack/steps-00001.npy", |npy| npy.truncate(npy.len() - 5))
    }),
    mended("pool.shard.dtype", "pack", |dir| {
        edit(dir, "pack/steps-00001.npy", |npy| {
            let at = npy.windows(3).position(|bytes| bytes == b"<i4").unwrap();
            npy[at + 1] = b'u';
        })
    }),
    defect("pool.embeddings", "pack", |dir| {
        for number in 0..3 {
            let from = dir.at(&format!("pack/steps-{number:05}.npy"));
            fs::copy(from, dir.at(&format!("pack/embeddings-{number:05}.npy"))).unwrap();
        }
    }),
    mended("pool.valuations.form", "pack", |dir| {
        drop(dir.write("pack/valuation_types.json", r#"{"search": 0, "tuple10": 1, "tuple11": 1}"#))
    }),
    mended("pool.valuations.dialect", "pack", |dir| {
        edit_json(dir, "pack/valuation_types.json", |names| names["other"] = json!(3))
    }),
    defect("pool.valuations.missing", "pack", |dir| {
        fs::remove_file(dir.at("pack/valuation_types.json")).unwrap();
        edit_json(dir, "pack/manifest.json", |manifest| {
            files(manifest).retain(|file| file["path"] != "valuation_types.json");
        });
    }),
    defect("pool.manifest.form", "pack", |dir| {
        edit(dir, "pack/manifest.json", |text| text.truncate(30))
    }),
    defect("pool.manifest.foreign", "pack", |dir| {
        drop(dir.write("pack/manifest.json", "{\"made_by\": \"another program\"}"))
    }),
    defect("pool.manifest.file", "pack", |dir| {
        edit_json(dir, "pack/manifest.json", |manifest| {
            files(manifest).push(json!({"path": "lost.txt", "bytes": 3, "sha256": ""}));
        })
    }),
    defect("pool.manifest.bytes", "pack", |dir| {
        edit_json(dir, "pack/manifest.json", |manifest| files(manifest)[0]["bytes"] = json!(1))
    }),
    defect("pool.manifest.sha256", "pack", |dir| {
        edit_json(dir, "pack/manifest.json", |manifest| files(manifest)[0]["sha256"] = json!("0"))
    }),
    defect("pool.manifest.counts", "pack", |dir| {
        edit_json(dir, "pack/manifest.json", |manifest| manifest["runs"] = json!(3))
    }),
    defect("pool.manifest.surplus", "pack", |dir| {
        edit_json(dir, "pack/manifest.json", |manifest| {
            let is = |file: &Value, number: usize| file["path"] == format!("steps-{number:05}.npy");
            let files = files(manifest);
            files.retain(|file| !is(file, 2));
            let first = files.iter_mut().find(|file| is(file, 0)).unwrap();
            first["rows"] = json!(LAST + 1 - SHARD_ROWS);
        })
    }),
    defect("pool.temporary", "pack", |dir| {
        drop(dir.write("pack/.steps.npy.gristmill-tmp.host.1.0123456789abcdef", ""))
    }),
    defect("pool.database.form", "pack", |dir| {
        fs::remove_file(dir.at("pack/metadata.db")).unwrap();
        edit_json(dir, "pack/manifest.json", |manifest| {
            files(manifest).retain(|file| file["path"] != "metadata.db");
        });
    }),
    defect("pool.database.journal", "pack", |dir| drop(dir.write("pack/metadata.db-journal", ""))),
    mended("pool.session", "pack", |dir| sql(dir, "INSERT INTO session VALUES ('run.9', '{}')")),
    mended("pool.run.unknown", "pack", |dir| {
        edit_json(dir, "pack/manifest.json", |manifest| {
            manifest["runs"] = json!(1);
            manifest["records"] = json!({"read": 1, "written": 1, "rejected": 0});
        });
        sql(dir, "DELETE FROM runs WHERE id = 1; DELETE FROM session WHERE meta_key = 'run.1'");
    }),
    mended("pool.run.split", "pack", |dir| {
        // The last steps of the first run after the second.
        let mut all = rows(dir);
        all[MOVES[0] - 5..].rotate_left(5);
        for (number, bytes) in all.iter().enumerate() {
            let (name, start) = shard(number);
            patch(dir, &name, start, bytes);
        }
    })
    .also(&["pool.run.steps", "pool.step.index"]),
    mended("pool.run.ids", "pack", |dir| {
        for number in MOVES[0]..=LAST {
            row(dir, number, 0, &[2]);
        }
        sql(
            dir,
            "UPDATE runs SET id = 2 WHERE id = 1;
             UPDATE session SET meta_key = 'run.2' WHERE meta_key = 'run.1'",
        );
    }),
    mended("pool.run.steps", "pack", |dir| {
        sql(dir, "UPDATE runs SET steps = steps + 1 WHERE id = 1")
    }),
    // A game that has a score and no steps.
    mended("pool.run.steps", "pack", |dir| {
        sql(
            dir,
            "CREATE TEMP TABLE t AS SELECT * FROM runs WHERE id = 1;
             UPDATE t SET id = 2, steps = 0; INSERT INTO runs SELECT * FROM t",
        )
    })
    .also(&["pool.manifest.counts"]),
    mended("pool.run.seed", "pack", |dir| sql(dir, "UPDATE runs SET seed = seed + 1 WHERE id = 1")),
    mended("pool.run.highest_tile", "pack", |dir| {
        sql(dir, "UPDATE runs SET highest_tile = highest_tile * 2 WHERE id = 1")
    }),
    mended("pool.run.score", "pack", |dir| {
        sql(dir, "UPDATE runs SET max_score = max_score + 4 WHERE id = 1")
    }),
    mended("pool.run.shortened", "pack", |dir| {
        sql(
            dir,
            "UPDATE session SET meta_value = '{\"num_moves\":99,' || substr(meta_value, 2)
             WHERE meta_key = 'run.1'",
        )
    }),
    mended("pool.step.row", "v1", |dir| {
        // The cells of a v1 row begin after its ids.
        let is_shard = |name: &String| name.starts_with("v1/steps-");
        let shard = dir.files().into_iter().find(is_shard).unwrap();
        edit(dir, &shard, |npy| {
            let end = npy.len();
            npy[end - 16] = 18;
        });
    }),
    mended("pool.step.mask", "pack", |dir| row(dir, 3, MASK, &[1])),
    mended("pool.step.board_eval", "pack", |dir| row(dir, 3, BOARD_EVAL + 3, &[1])),
    mended("pool.step.max_rank", "pack", |dir| row(dir, 3, MAX_RANK, &[9])),
    mended("pool.step.move", "pack", |dir| row(dir, 3, MOVE_DIR, &[4])),
    mended("pool.step.ev_legal", "pack", |dir| row(dir, blocked(dir).0, EV_LEGAL, &[15])),
    mended("pool.step.ev.finite", "pack", |dir| {
        let (number, _, legal) = blocked(dir);
        let legal = legal.trailing_zeros() as usize;
        row(dir, number, BRANCH_EVS + 4 * legal, &f32::NAN.to_le_bytes());
    }),
    mended("pool.step.ev.zero", "pack", |dir| {
        let (number, illegal, _) = blocked(dir);
        row(dir, number, BRANCH_EVS + 4 * illegal, &1f32.to_le_bytes());
    }),
    defect("pool.step.lost", "legacy", |dir| {
        // Two tiles of 32768 merge. What the last move leads to is of the real board alone.
        legacy(dir, &[([15, 15, 0, 0], 2), ([15, 15, 0, 0], 2), ([15, 15, 1, 0], 2)]);
    }),
    mended("pool.step.index", "pack", |dir| row(dir, LAST, STEP_INDEX, &[99])),
    mended("pool.step.next", "pack", |dir| {
        // The board and all that belongs to it, but the place in the game, from another row.
        let all = rows(dir);
        let step = |row: usize| StepRow::from_aligned(&all[row]);
        let gained = |row: usize| {
            let direction = Direction::from_index(step(row).move_dir).unwrap();
            step(row).exponents().slide(direction).gained
        };
        let of_one = |a: usize| (a + 3..MOVES[0] - 1).map(move |b| (a, b));
        let other =
            |&(a, b): &(usize, usize)| gained(a) == gained(b) && step(a).board != step(b).board;
        let (a, b) = (1..MOVES[0]).flat_map(of_one).find(other).unwrap();
        row(dir, b, 8, &all[a][8..SEED]);
        row(dir, b, BRANCH_EVS, &all[a][BRANCH_EVS..]);
    }),
    mended("pool.step.seed", "pack", |dir| row(dir, 3, SEED, &[99])),
    mended("pool.step.valuation", "pack", |dir| row(dir, 3, VALUATION, &[9])),
];
