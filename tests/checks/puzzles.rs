//! Puzzle sets of the four domains, and one defect for each check of them.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::defects::{Defect, defect};
use super::edit::{edit, edit_json, edit_line};
use crate::common::TempDir;

/// Bytes before the values of the arrays.
const HEADER: usize = 128;
/// Makes `domino/`, `sudoku/`, `maze/`, `arc/`, and the records of the first.
pub fn make(dir: &TempDir) {
    let answer: String = (0..81)
        .map(|cell| char::from(b'1' + ((cell / 9 % 3 * 3 + cell / 27 + cell % 9) % 9) as u8))
        .collect();
    let question = |answer: &str| -> String {
        answer.chars().enumerate().map(|(at, c)| if at % 3 == 0 { '.' } else { c }).collect()
    };
    let other: String = answer.chars().rev().collect();
    let header = "source,question,answer,rating\n";
    for (name, answer) in [("train", answer), ("test", other)] {
        let lines = format!("{header}own,{},{answer},1\n", question(&answer));
        dir.write(&format!("raw/sudoku/{name}.csv"), lines);
    }
    let maze = ["#####", "#S  #", "### #", "#G  #", "#####"];
    let solved = ["#####", "#Soo#", "###o#", "#Goo#", "#####"];
    let turned = |maze: [&str; 5]| -> String { maze.into_iter().rev().collect() };
    for (name, question, answer) in
        [("train", maze.concat(), solved.concat()), ("test", turned(maze), turned(solved))]
    {
        dir.write(&format!("raw/maze/{name}.csv"), format!("{header}own,{question},{answer},1\n"));
    }
    let pair = |a: u8| json!({"input": [[a, 1], [2, 3]], "output": [[3, a], [1, 2]]});
    let task = |a: u8| json!({"train": [pair(a)], "test": [pair(a + 1)]}).to_string();
    dir.write("raw/arc/training/one.json", task(4));
    dir.write("raw/arc/evaluation/two.json", task(6));
    dir.bash(
        "set -eo pipefail; puzzle-encode domino --num-games 12 --num-aug 1 > z.ndjson
         puzzle-encode domino --num-games 12 --num-aug 1 --to arrow > z.arrows
         for domain in sudoku maze; do
             puzzle-encode $domain --train raw/$domain/train.csv --test raw/$domain/test.csv |
             npy-pack -o $domain; done
         puzzle-encode arc raw/arc --num-aug 1 | npy-pack -o arc
         npy-pack z.arrows -o domino; rm -r raw",
    )
    .ok();
}

/// Makes `build.json` correct again: sizes and hashes of the files that it names and that exist.
fn resum(dir: &TempDir, set: &str) {
    edit_json(dir, &format!("{set}/build.json"), |build| {
        let files = build["files"].as_array_mut().unwrap();
        let at = |file: &Value| format!("{set}/{}", file["name"].as_str().unwrap());
        files.retain(|file| dir.path().join(at(file)).exists());
        for file in files {
            let content = dir.read(&at(file));
            file["bytes"] = json!(content.len());
            let digest = Sha256::digest(&content);
            file["sha256"] = json!(digest.iter().map(|b| format!("{b:02x}")).collect::<String>());
        }
    });
}

const fn mended(id: &'static str, set: &'static str, change: fn(&TempDir)) -> Defect {
    defect(id, set, change).mended(resum)
}

fn files(build: &mut Value) -> &mut Vec<Value> {
    build["files"].as_array_mut().unwrap()
}

fn build(dir: &TempDir, change: impl FnOnce(&mut Value)) {
    edit_json(dir, "domino/build.json", change);
}

/// Puts values into an array of a set.
fn values(dir: &TempDir, name: &str, changes: &[(usize, i32)]) {
    edit(dir, name, |npy| {
        for &(place, value) in changes {
            npy[HEADER + 4 * place..][..4].copy_from_slice(&value.to_le_bytes());
        }
    });
}

/// Writes an array anew.
fn array(dir: &TempDir, name: &str, shape: &str, values: &[i32]) {
    let fields = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}");
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(format!("{fields:117}\n").into_bytes());
    npy.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    dir.write(name, npy);
}

fn read(dir: &TempDir, name: &str) -> Vec<i32> {
    let values = dir.read(name)[HEADER..].to_vec();
    values.chunks(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Changes fields of `dataset.json` of these splits.
fn dataset(dir: &TempDir, splits: &[&str], change: impl Fn(&mut Value)) {
    for split in splits {
        edit_json(dir, &format!("domino/{split}/dataset.json"), &change);
    }
}

const BOTH: [&str; 2] = ["train", "test"];
const INPUTS: &str = "domino/test/all__inputs.npy";
const LABELS: &str = "domino/test/all__labels.npy";
const IDENTIFIERS: &str = "domino/test/all__puzzle_identifiers.npy";
const PUZZLES: &str = "domino/test/all__puzzle_indices.npy";
const GROUPS: &str = "domino/train/all__group_indices.npy";

pub const PUZZLES_AND_SETS: &[Defect] = &[
    mended("puzzle.file.missing", "domino", |dir| fs::remove_file(dir.at(LABELS)).unwrap()),
    mended("puzzle.file.surplus", "domino", |dir| {
        fs::copy(dir.at(INPUTS), dir.at("domino/test/other__inputs.npy")).unwrap();
        build(dir, |build| files(build).push(json!({"name": "test/other__inputs.npy"})));
    }),
    mended("puzzle.npy", "domino", |dir| edit(dir, INPUTS, |npy| npy.truncate(npy.len() - 5))),
    mended("puzzle.dtype", "domino", |dir| {
        edit(dir, INPUTS, |npy| {
            let at = npy.windows(3).position(|bytes| bytes == b"<i4").unwrap();
            npy[at + 1] = b'u';
        })
    }),
    mended("puzzle.shape", "domino", |dir| {
        array(dir, IDENTIFIERS, "(12, 1)", &read(dir, IDENTIFIERS))
    }),
    mended("puzzle.rows", "domino", |dir| array(dir, LABELS, "(11, 72)", &read(dir, LABELS)[72..])),
    mended("puzzle.empty", "domino", |dir| {
        for name in [INPUTS, LABELS] {
            array(dir, name, "(0, 72)", &[]);
        }
        array(dir, IDENTIFIERS, "(0,)", &[]);
        array(dir, PUZZLES, "(1,)", &[0]);
        array(dir, "domino/test/all__group_indices.npy", "(1,)", &[0]);
        dataset(dir, &["test"], |fields| fields["total_groups"] = json!(0));
        build(dir, |build| {
            build["records"]["read"] = json!(24);
            build["records"]["written"] = json!(24);
        });
    }),
    mended("puzzle.indices.length", "domino", |dir| {
        array(dir, IDENTIFIERS, "(11,)", &[0; 11]);
        let groups: Vec<i32> = (0..12).collect();
        array(dir, "domino/test/all__group_indices.npy", "(12,)", &groups);
        dataset(dir, &["test"], |fields| {
            fields["total_groups"] = json!(11);
            fields["mean_puzzle_examples"] = json!(12.0 / 11.0);
        });
    }),
    mended("puzzle.indices.start", "domino", |dir| values(dir, GROUPS, &[(0, 1)])),
    mended("puzzle.indices.order", "domino", |dir| values(dir, GROUPS, &[(1, 4), (2, 2)])),
    mended("puzzle.indices.end", "domino", |dir| values(dir, GROUPS, &[(12, 25)])),
    mended("puzzle.indices.empty_puzzle", "domino", |dir| values(dir, PUZZLES, &[(1, 0)])),
    mended("puzzle.indices.empty_group", "domino", |dir| values(dir, GROUPS, &[(1, 0)])),
    mended("puzzle.indices.narrow", "domino", |dir| {
        // The same numbers in a byte each.
        edit(dir, PUZZLES, |npy| {
            let values: Vec<u8> = npy[128..].iter().step_by(4).copied().collect();
            npy.truncate(128);
            let at = npy.windows(3).position(|bytes| bytes == b"<i4").unwrap();
            npy[at..at + 3].copy_from_slice(b"|u1");
            npy.extend(values);
        });
    })
    .also(&["puzzle.dtype"]),
    mended("puzzle.identifier.range", "domino", |dir| values(dir, IDENTIFIERS, &[(3, 1)])),
    mended("puzzle.dataset.missing", "domino", |dir| {
        fs::remove_file(dir.at("domino/test/dataset.json")).unwrap()
    }),
    mended("puzzle.dataset.form", "domino", |dir| {
        dataset(dir, &["test"], |fields| fields["seq_len"] = json!("72"))
    }),
    mended("puzzle.dataset.pad_id", "domino", |dir| {
        dataset(dir, &BOTH, |f| f["pad_id"] = json!(8))
    }),
    mended("puzzle.dataset.blank_identifier_id", "domino", |dir| {
        dataset(dir, &BOTH, |fields| fields["blank_identifier_id"] = json!(1))
    }),
    mended("puzzle.dataset.ignore_label_id", "domino", |dir| {
        dataset(dir, &BOTH, |fields| fields["ignore_label_id"] = json!(null))
    }),
    mended("puzzle.dataset.seq_len", "domino", |dir| {
        dataset(dir, &BOTH, |f| f["seq_len"] = json!(71))
    }),
    mended("puzzle.dataset.num_puzzle_identifiers", "domino", |dir| {
        dataset(dir, &BOTH, |fields| fields["num_puzzle_identifiers"] = json!(2))
    }),
    mended("puzzle.dataset.total_groups", "domino", |dir| {
        dataset(dir, &["test"], |fields| fields["total_groups"] = json!(13))
    }),
    mended("puzzle.dataset.mean_puzzle_examples", "domino", |dir| {
        dataset(dir, &["test"], |fields| fields["mean_puzzle_examples"] = json!(2.0))
    }),
    mended("puzzle.dataset.agree", "domino", |dir| {
        dataset(dir, &["test"], |fields| fields["vocab_size"] = json!(9))
    }),
    mended("puzzle.token.range", "domino", |dir| values(dir, INPUTS, &[(5, 8)])),
    mended("puzzle.label.range", "domino", |dir| values(dir, LABELS, &[(5, 8)])),
    mended("puzzle.label.minus_100", "domino", |dir| values(dir, LABELS, &[(5, -100)])),
    mended("puzzle.label.ignored", "sudoku", |dir| {
        let labels: Vec<(usize, i32)> = (0..81).map(|at| (at, 0)).collect();
        values(dir, SUDOKU[1], &labels);
    })
    .also(&["puzzle.sudoku.unlabelled"]),
    mended("puzzle.split.missing", "domino", |dir| {
        fs::remove_dir_all(dir.at("domino/test")).unwrap()
    }),
    mended("puzzle.identifiers.missing", "domino", |dir| {
        fs::remove_file(dir.at("domino/identifiers.json")).unwrap()
    }),
    mended("puzzle.identifiers.form", "domino", |dir| {
        drop(dir.write("domino/identifiers.json", "{}"))
    }),
    mended("puzzle.identifiers.blank", "domino", |dir| {
        drop(dir.write("domino/identifiers.json", "[\"x\"]"))
    }),
    defect("puzzle.build.form", "domino", |dir| {
        edit(dir, "domino/build.json", |text| text.truncate(50))
    }),
    defect("puzzle.build.foreign", "domino", |dir| {
        drop(dir.write("domino/build.json", "{\"made_by\": \"another program\"}"))
    }),
    defect("puzzle.build.file", "domino", |dir| {
        build(dir, |build| {
            files(build).push(json!({"name": "test/lost.npy", "bytes": 1, "sha256": ""}))
        })
    }),
    defect("puzzle.build.bytes", "domino", |dir| {
        build(dir, |build| files(build)[1]["bytes"] = json!(1))
    }),
    defect("puzzle.build.sha256", "domino", |dir| {
        build(dir, |build| files(build)[1]["sha256"] = json!(""))
    }),
    defect("puzzle.build.surplus", "domino", |dir| {
        build(dir, |build| drop(files(build).remove(1)))
    }),
    defect("puzzle.build.counts", "domino", |dir| {
        build(dir, |build| build["records"]["read"] = json!(7))
    }),
    mended("puzzle.overlap", "domino", |dir| {
        for (name, from) in [(INPUTS, "all__inputs"), (LABELS, "all__labels")] {
            let trained = read(dir, &format!("domino/train/{from}.npy"));
            let row: Vec<(usize, i32)> = trained[..72].iter().copied().enumerate().collect();
            values(dir, name, &row);
        }
    }),
    mended("puzzle.repeated", "domino", |dir| {
        for side in ["inputs", "labels"] {
            let rows = read(dir, &format!("domino/train/all__{side}.npy"));
            let length = 72;
            let row: Vec<(usize, i32)> = rows[..length]
                .iter()
                .copied()
                .enumerate()
                .map(|(at, v)| (length + at, v))
                .collect();
            values(dir, &format!("domino/train/all__{side}.npy"), &row);
        }
    }),
    defect("puzzle.temporary", "domino", |dir| {
        drop(dir.write("domino/test/.all__inputs.npy.gristmill-tmp.host.1.0123456789abcdef", ""))
    }),
    defect("stream.puzzle.length", "z.ndjson", |dir| {
        edit_line(dir, "z.ndjson", 2, |line| drop(line["labels"].as_array_mut().unwrap().pop()))
    }),
    defect("stream.puzzle.split", "z.ndjson", |dir| {
        edit_line(dir, "z.ndjson", 2, |line| line["split"] = json!("dev"))
    }),
];

const SUDOKU: [&str; 2] = ["sudoku/test/all__inputs.npy", "sudoku/test/all__labels.npy"];
const MAZES: [&str; 2] = ["maze/train/all__inputs.npy", "maze/train/all__labels.npy"];
const ARC: [&str; 2] = ["arc/test/all__inputs.npy", "arc/test/all__labels.npy"];

/// The set again with the sides of another domain, whose length is wrong for this one.
fn as_domain(dir: &TempDir, set: &str, domain: &str) {
    edit_json(dir, &format!("{set}/build.json"), |build| build["domain"] = json!(domain));
}

pub const DOMAINS: &[Defect] = &[
    defect("puzzle.sudoku.shape", "maze", |dir| as_domain(dir, "maze", "sudoku")),
    mended("puzzle.sudoku.question", "sudoku", |dir| values(dir, SUDOKU[0], &[(0, 0)])),
    mended("puzzle.sudoku.answer", "sudoku", |dir| values(dir, SUDOKU[1], &[(0, 1)])),
    mended("puzzle.sudoku.unlabelled", "sudoku", |dir| values(dir, SUDOKU[1], &[(0, 0)])),
    mended("puzzle.sudoku.given", "sudoku", |dir| {
        // Two digits change places everywhere.
        let labels = read(dir, SUDOKU[1]);
        let other = |value: i32| match value {
            2 => 3,
            3 => 2,
            value => value,
        };
        let changes = labels.iter().enumerate().map(|(at, &value)| (at, other(value)));
        values(dir, SUDOKU[1], &changes.collect::<Vec<_>>());
    }),
    mended("puzzle.sudoku.repeated", "sudoku", |dir| {
        let labels = read(dir, SUDOKU[1]);
        values(dir, SUDOKU[1], &[(0, labels[1])]);
    }),
    defect("puzzle.arc.shape", "maze", |dir| as_domain(dir, "maze", "arc")),
    mended("puzzle.arc.grid", "arc", |dir| values(dir, ARC[0], &[(500, 5)])),
    mended("puzzle.arc.offset", "arc", |dir| shift(dir, "arc/train/all__labels.npy")),
    mended("puzzle.arc.test_offset", "arc", |dir| ARC.iter().for_each(|name| shift(dir, name))),
    defect("puzzle.maze.shape", "domino", |dir| as_domain(dir, "domino", "maze")),
    mended("puzzle.maze.token", "maze", |dir| {
        values(dir, MAZES[0], &[(0, 0)]);
        values(dir, MAZES[1], &[(0, 0)]);
    }),
    mended("puzzle.maze.ends", "maze", |dir| values(dir, MAZES[0], &[(7, 3)])),
    mended("puzzle.maze.answer_ends", "maze", |dir| values(dir, MAZES[1], &[(6, 5)])),
    mended("puzzle.maze.walls", "maze", |dir| values(dir, MAZES[1], &[(0, 2)])),
    mended("puzzle.maze.path", "maze", |dir| values(dir, MAZES[1], &[(13, 2)])),
    mended("puzzle.maze.shortest", "maze", |dir| {
        // A second way, shorter, opens.
        values(dir, MAZES[0], &[(11, 2)]);
        values(dir, MAZES[1], &[(11, 2)]);
    }),
    mended("puzzle.maze.given_away", "maze", |dir| values(dir, MAZES[0], &[(7, 5)])),
    defect("puzzle.domino.shape", "maze", |dir| as_domain(dir, "maze", "domino")),
    // In a set it would be outside the vocabulary.
    defect("puzzle.domino.token", "z.ndjson", |dir| {
        edit_line(dir, "z.ndjson", 2, |line| line["inputs"][5] = json!(8))
    }),
    mended("puzzle.domino.tile", "domino", |dir| {
        // Half of a tile of the hand, not the one to play.
        let (inputs, labels) = (read(dir, INPUTS), read(dir, LABELS));
        let is_played = |at: usize| {
            let (a, b) = (inputs[at], inputs[at + 1]);
            (a, b) == (labels[0], labels[1]) || (b, a) == (labels[0], labels[1])
        };
        let there = (56..70).step_by(2).filter(|&at| inputs[at] > 0);
        values(dir, INPUTS, &[(there.rev().find(|&at| !is_played(at)).unwrap() + 1, 0)]);
    }),
    mended("puzzle.domino.distinct", "domino", |dir| {
        let inputs = read(dir, INPUTS);
        values(dir, INPUTS, &[(58, inputs[56]), (59, inputs[57])]);
    }),
    mended("puzzle.domino.chain", "domino", |dir| {
        let inputs = read(dir, INPUTS);
        let other = other_tile(&inputs, inputs[0], Some(inputs[1]));
        values(dir, INPUTS, &[(1, other)]);
    }),
    mended("puzzle.domino.ends", "domino", |dir| {
        let inputs = read(dir, INPUTS);
        values(dir, INPUTS, &[(70, inputs[70] % 7 + 1)]);
    }),
    mended("puzzle.domino.rest", "domino", |dir| values(dir, LABELS, &[(5, 3)])),
    mended("puzzle.domino.target", "domino", |dir| {
        let other = other_tile(&read(dir, INPUTS), read(dir, LABELS)[0], None);
        values(dir, LABELS, &[(1, other)]);
    }),
    mended("puzzle.domino.fits", "domino", |dir| values(dir, LABELS, &[(2, 3)])),
    mended("puzzle.domino.no_move", "domino", |dir| values(dir, LABELS, &[(0, 0), (1, 0), (2, 0)]))
        .also(&["puzzle.label.ignored"]),
];

/// Moves the grid of the first example one row down.
fn shift(dir: &TempDir, name: &str) {
    edit(dir, name, |npy| npy[HEADER..HEADER + 3600].rotate_right(30 * 4));
}

/// A value that makes with this one a tile that is nowhere in the state.
fn other_tile(inputs: &[i32], half: i32, but: Option<i32>) -> i32 {
    let tiles: Vec<(i32, i32)> = inputs[..70].chunks(2).map(|tile| (tile[0], tile[1])).collect();
    let is_new = |value: &i32| !tiles.contains(&(half, *value)) && !tiles.contains(&(*value, half));
    (1..=7).filter(|value| Some(*value) != but).find(is_new).unwrap()
}
