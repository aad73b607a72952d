//! Puzzle sets of the four domains, and one defect for each check of them.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::defects::{Defect, defect, path};
use super::edit::{edit, edit_json, edit_line};
use crate::common::{TempDir, bash};

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
    bash(&format!(
        "set -eo pipefail; cd {}; puzzle-encode domino --num-games 12 --num-aug 1 > z.ndjson
         puzzle-encode domino --num-games 12 --num-aug 1 --to arrow > z.arrows
         for domain in sudoku maze; do
             puzzle-encode $domain --train raw/$domain/train.csv --test raw/$domain/test.csv |
             npy-pack -o $domain; done
         puzzle-encode arc raw/arc --num-aug 1 | npy-pack -o arc
         npy-pack z.arrows -o domino; rm -r raw",
        dir.path().display()
    ))
    .ok();
}

/// Makes `build.json` correct again: sizes and hashes of the files that it names and that exist.
fn resum(dir: &TempDir, set: &str) -> Vec<String> {
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
    path(dir, set)
}

fn files(build: &mut Value) -> &mut Vec<Value> {
    build["files"].as_array_mut().unwrap()
}

fn build(dir: &TempDir, change: impl FnOnce(&mut Value)) -> Vec<String> {
    edit_json(dir, "domino/build.json", change);
    path(dir, "domino")
}

/// Puts values into an array of a set.
fn values(dir: &TempDir, name: &str, changes: &[(usize, i32)]) -> Vec<String> {
    edit(dir, name, |npy| {
        for &(place, value) in changes {
            npy[HEADER + 4 * place..][..4].copy_from_slice(&value.to_le_bytes());
        }
    });
    resum(dir, name.split('/').next().unwrap())
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
fn dataset(dir: &TempDir, splits: &[&str], change: impl Fn(&mut Value)) -> Vec<String> {
    for split in splits {
        edit_json(dir, &format!("domino/{split}/dataset.json"), &change);
    }
    resum(dir, "domino")
}

const BOTH: [&str; 2] = ["train", "test"];
const INPUTS: &str = "domino/test/all__inputs.npy";
const LABELS: &str = "domino/test/all__labels.npy";
const IDENTIFIERS: &str = "domino/test/all__puzzle_identifiers.npy";
const PUZZLES: &str = "domino/test/all__puzzle_indices.npy";
const GROUPS: &str = "domino/train/all__group_indices.npy";

pub const PUZZLES_AND_SETS: &[Defect] = &[
    defect("puzzle.file.missing", |dir| {
        fs::remove_file(dir.at(LABELS)).unwrap();
        resum(dir, "domino")
    }),
    defect("puzzle.file.surplus", |dir| {
        fs::copy(dir.at(INPUTS), dir.at("domino/test/other__inputs.npy")).unwrap();
        build(dir, |build| files(build).push(json!({"name": "test/other__inputs.npy"})));
        resum(dir, "domino")
    }),
    defect("puzzle.npy", |dir| {
        edit(dir, INPUTS, |npy| npy.truncate(npy.len() - 5));
        resum(dir, "domino")
    }),
    defect("puzzle.dtype", |dir| {
        edit(dir, INPUTS, |npy| {
            let at = npy.windows(3).position(|bytes| bytes == b"<i4").unwrap();
            npy[at + 1] = b'u';
        });
        resum(dir, "domino")
    }),
    defect("puzzle.shape", |dir| {
        array(dir, IDENTIFIERS, "(12, 1)", &read(dir, IDENTIFIERS));
        resum(dir, "domino")
    }),
    defect("puzzle.rows", |dir| {
        array(dir, LABELS, "(11, 72)", &read(dir, LABELS)[72..]);
        resum(dir, "domino")
    }),
    defect("puzzle.empty", |dir| {
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
        })
    }),
    defect("puzzle.indices.length", |dir| {
        array(dir, IDENTIFIERS, "(11,)", &[0; 11]);
        let groups: Vec<i32> = (0..12).collect();
        array(dir, "domino/test/all__group_indices.npy", "(12,)", &groups);
        dataset(dir, &["test"], |fields| {
            fields["total_groups"] = json!(11);
            fields["mean_puzzle_examples"] = json!(12.0 / 11.0);
        })
    }),
    defect("puzzle.indices.start", |dir| values(dir, GROUPS, &[(0, 1)])),
    defect("puzzle.indices.order", |dir| values(dir, GROUPS, &[(1, 4), (2, 2)])),
    defect("puzzle.indices.end", |dir| values(dir, GROUPS, &[(12, 25)])),
    defect("puzzle.indices.empty_puzzle", |dir| values(dir, PUZZLES, &[(1, 0)])),
    defect("puzzle.indices.empty_group", |dir| values(dir, GROUPS, &[(1, 0)])),
    defect("puzzle.indices.narrow", |dir| {
        // The same numbers in a byte each.
        edit(dir, PUZZLES, |npy| {
            let values: Vec<u8> = npy[128..].iter().step_by(4).copied().collect();
            npy.truncate(128);
            let at = npy.windows(3).position(|bytes| bytes == b"<i4").unwrap();
            npy[at..at + 3].copy_from_slice(b"|u1");
            npy.extend(values);
        });
        resum(dir, "domino")
    })
    .also(&["puzzle.dtype"]),
    defect("puzzle.identifier.range", |dir| values(dir, IDENTIFIERS, &[(3, 1)])),
    defect("puzzle.dataset.missing", |dir| {
        fs::remove_file(dir.at("domino/test/dataset.json")).unwrap();
        resum(dir, "domino")
    }),
    defect("puzzle.dataset.form", |dir| {
        dataset(dir, &["test"], |fields| fields["seq_len"] = json!("72"))
    }),
    defect("puzzle.dataset.pad_id", |dir| dataset(dir, &BOTH, |f| f["pad_id"] = json!(8))),
    defect("puzzle.dataset.blank_identifier_id", |dir| {
        dataset(dir, &BOTH, |fields| fields["blank_identifier_id"] = json!(1))
    }),
    defect("puzzle.dataset.ignore_label_id", |dir| {
        dataset(dir, &BOTH, |fields| fields["ignore_label_id"] = json!(null))
    }),
    defect("puzzle.dataset.seq_len", |dir| dataset(dir, &BOTH, |f| f["seq_len"] = json!(71))),
    defect("puzzle.dataset.num_puzzle_identifiers", |dir| {
        dataset(dir, &BOTH, |fields| fields["num_puzzle_identifiers"] = json!(2))
    }),
    defect("puzzle.dataset.total_groups", |dir| {
        dataset(dir, &["test"], |fields| fields["total_groups"] = json!(13))
    }),
    defect("puzzle.dataset.mean_puzzle_examples", |dir| {
        dataset(dir, &["test"], |fields| fields["mean_puzzle_examples"] = json!(2.0))
    }),
    defect("puzzle.dataset.agree", |dir| {
        dataset(dir, &["test"], |fields| fields["vocab_size"] = json!(9))
    }),
    defect("puzzle.token.range", |dir| values(dir, INPUTS, &[(5, 8)])),
    defect("puzzle.label.range", |dir| values(dir, LABELS, &[(5, 8)])),
    defect("puzzle.label.minus_100", |dir| values(dir, LABELS, &[(5, -100)])),
    defect("puzzle.label.ignored", |dir| {
        let labels: Vec<(usize, i32)> = (0..81).map(|at| (at, 0)).collect();
        values(dir, SUDOKU[1], &labels)
    })
    .also(&["puzzle.sudoku.unlabelled"]),
    defect("puzzle.split.missing", |dir| {
        fs::remove_dir_all(dir.at("domino/test")).unwrap();
        resum(dir, "domino")
    }),
    defect("puzzle.identifiers.missing", |dir| {
        fs::remove_file(dir.at("domino/identifiers.json")).unwrap();
        resum(dir, "domino")
    }),
    defect("puzzle.identifiers.form", |dir| {
        dir.write("domino/identifiers.json", "{}");
        resum(dir, "domino")
    }),
    defect("puzzle.identifiers.blank", |dir| {
        dir.write("domino/identifiers.json", "[\"x\"]");
        resum(dir, "domino")
    }),
    defect("puzzle.build.form", |dir| {
        edit(dir, "domino/build.json", |text| text.truncate(50));
        path(dir, "domino")
    }),
    defect("puzzle.build.foreign", |dir| {
        dir.write("domino/build.json", "{\"made_by\": \"another program\"}");
        path(dir, "domino")
    }),
    defect("puzzle.build.file", |dir| {
        build(dir, |build| {
            files(build).push(json!({"name": "test/lost.npy", "bytes": 1, "sha256": ""}))
        })
    }),
    defect("puzzle.build.bytes", |dir| build(dir, |build| files(build)[1]["bytes"] = json!(1))),
    defect("puzzle.build.sha256", |dir| build(dir, |build| files(build)[1]["sha256"] = json!(""))),
    defect("puzzle.build.surplus", |dir| build(dir, |build| drop(files(build).remove(1)))),
    defect("puzzle.build.counts", |dir| {
        build(dir, |build| build["records"]["read"] = json!(7));
        path(dir, "domino")
    }),
    defect("puzzle.overlap", |dir| {
        for (name, from) in [(INPUTS, "all__inputs"), (LABELS, "all__labels")] {
            let trained = read(dir, &format!("domino/train/{from}.npy"));
            let row: Vec<(usize, i32)> = trained[..72].iter().copied().enumerate().collect();
            values(dir, name, &row);
        }
        path(dir, "domino")
    }),
    defect("puzzle.repeated", |dir| {
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
        path(dir, "domino")
    }),
    defect("puzzle.temporary", |dir| {
        dir.write("domino/test/.all__inputs.npy.gristmill-tmp.host.1.0123456789abcdef", "");
        path(dir, "domino")
    }),
    defect("stream.puzzle.length", |dir| {
        edit_line(dir, "z.ndjson", 2, |line| drop(line["labels"].as_array_mut().unwrap().pop()));
        path(dir, "z.ndjson")
    }),
    defect("stream.puzzle.split", |dir| {
        edit_line(dir, "z.ndjson", 2, |line| line["split"] = json!("dev"));
        path(dir, "z.ndjson")
    }),
];

const SUDOKU: [&str; 2] = ["sudoku/test/all__inputs.npy", "sudoku/test/all__labels.npy"];
const MAZES: [&str; 2] = ["maze/train/all__inputs.npy", "maze/train/all__labels.npy"];
const ARC: [&str; 2] = ["arc/test/all__inputs.npy", "arc/test/all__labels.npy"];

/// The set again with the sides of another domain, whose length is wrong for this one.
fn as_domain(dir: &TempDir, set: &str, domain: &str) -> Vec<String> {
    edit_json(dir, &format!("{set}/build.json"), |build| build["domain"] = json!(domain));
    path(dir, set)
}

pub const DOMAINS: &[Defect] = &[
    defect("puzzle.sudoku.shape", |dir| as_domain(dir, "maze", "sudoku")),
    defect("puzzle.sudoku.question", |dir| values(dir, SUDOKU[0], &[(0, 0)])),
    defect("puzzle.sudoku.answer", |dir| values(dir, SUDOKU[1], &[(0, 1)])),
    defect("puzzle.sudoku.unlabelled", |dir| values(dir, SUDOKU[1], &[(0, 0)])),
    defect("puzzle.sudoku.given", |dir| {
        // Two digits change places everywhere.
        let labels = read(dir, SUDOKU[1]);
        let other = |value: i32| match value {
            2 => 3,
            3 => 2,
            value => value,
        };
        let changes = labels.iter().enumerate().map(|(at, &value)| (at, other(value)));
        values(dir, SUDOKU[1], &changes.collect::<Vec<_>>())
    }),
    defect("puzzle.sudoku.repeated", |dir| {
        let labels = read(dir, SUDOKU[1]);
        values(dir, SUDOKU[1], &[(0, labels[1])])
    }),
    defect("puzzle.arc.shape", |dir| as_domain(dir, "maze", "arc")),
    defect("puzzle.arc.grid", |dir| values(dir, ARC[0], &[(500, 5)])),
    defect("puzzle.arc.offset", |dir| {
        shift(dir, "arc/train/all__labels.npy");
        resum(dir, "arc")
    }),
    defect("puzzle.arc.test_offset", |dir| {
        ARC.iter().for_each(|name| shift(dir, name));
        resum(dir, "arc")
    }),
    defect("puzzle.maze.shape", |dir| as_domain(dir, "domino", "maze")),
    defect("puzzle.maze.token", |dir| {
        values(dir, MAZES[0], &[(0, 0)]);
        values(dir, MAZES[1], &[(0, 0)])
    }),
    defect("puzzle.maze.ends", |dir| values(dir, MAZES[0], &[(7, 3)])),
    defect("puzzle.maze.answer_ends", |dir| values(dir, MAZES[1], &[(6, 5)])),
    defect("puzzle.maze.walls", |dir| values(dir, MAZES[1], &[(0, 2)])),
    defect("puzzle.maze.path", |dir| values(dir, MAZES[1], &[(13, 2)])),
    defect("puzzle.maze.shortest", |dir| {
        // A second way, shorter, opens.
        values(dir, MAZES[0], &[(11, 2)]);
        values(dir, MAZES[1], &[(11, 2)])
    }),
    defect("puzzle.maze.given_away", |dir| values(dir, MAZES[0], &[(7, 5)])),
    defect("puzzle.domino.shape", |dir| as_domain(dir, "maze", "domino")),
    // In a set it would be outside the vocabulary.
    defect("puzzle.domino.token", |dir| {
        edit_line(dir, "z.ndjson", 2, |line| line["inputs"][5] = json!(8));
        path(dir, "z.ndjson")
    }),
    defect("puzzle.domino.tile", |dir| {
        // Half of a tile of the hand, not the one to play.
        let (inputs, labels) = (read(dir, INPUTS), read(dir, LABELS));
        let is_played = |at: usize| {
            let (a, b) = (inputs[at], inputs[at + 1]);
            (a, b) == (labels[0], labels[1]) || (b, a) == (labels[0], labels[1])
        };
        let there = (56..70).step_by(2).filter(|&at| inputs[at] > 0);
        values(dir, INPUTS, &[(there.rev().find(|&at| !is_played(at)).unwrap() + 1, 0)])
    }),
    defect("puzzle.domino.distinct", |dir| {
        let inputs = read(dir, INPUTS);
        values(dir, INPUTS, &[(58, inputs[56]), (59, inputs[57])])
    }),
    defect("puzzle.domino.chain", |dir| {
        let inputs = read(dir, INPUTS);
        let other = other_tile(&inputs, inputs[0], Some(inputs[1]));
        values(dir, INPUTS, &[(1, other)])
    }),
    defect("puzzle.domino.ends", |dir| {
        let inputs = read(dir, INPUTS);
        values(dir, INPUTS, &[(70, inputs[70] % 7 + 1)])
    }),
    defect("puzzle.domino.rest", |dir| values(dir, LABELS, &[(5, 3)])),
    defect("puzzle.domino.target", |dir| {
        let other = other_tile(&read(dir, INPUTS), read(dir, LABELS)[0], None);
        values(dir, LABELS, &[(1, other)])
    }),
    defect("puzzle.domino.fits", |dir| values(dir, LABELS, &[(2, 3)])),
    defect("puzzle.domino.no_move", |dir| values(dir, LABELS, &[(0, 0), (1, 0), (2, 0)]))
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
