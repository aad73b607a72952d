//! The puzzle domains on real data, and an independent oracle in Python (`tests/oracle/puzzle.py`).

use std::collections::HashSet;
use std::path::Path;

use gristmill::puzzle::picture::{CellKind, Picture};
use gristmill::puzzle::{BuildContext, Domain, PuzzleSource, Side, Split, domain, expand};

use crate::common::{bash, data, oracle, python};

/// Whether a picture shows a token that cannot stand where it is.
fn has_wrong_cells(picture: &Picture) -> bool {
    let cells = match picture {
        Picture::Grid(grid) => grid.cells.iter().collect(),
        Picture::Lines(lines) => lines.iter().flat_map(|line| &line.cells).collect::<Vec<_>>(),
    };
    cells.is_empty() || cells.iter().any(|cell| cell.kind == CellKind::Wrong)
}

fn the(name: &str) -> &'static dyn Domain {
    domain(name).expect("a domain of that name")
}

/// The arguments of a build of everything there is.
fn arguments(raw: &Path, name: &str, num_aug: u64) -> Vec<String> {
    let file = |part: &str| raw.join(name).join(part).display().to_string();
    let inputs = match name {
        "arc" => vec![raw.join("arc").display().to_string()],
        "domino" => vec!["--num-games".to_string(), "200".to_string()],
        _ => vec!["--train".into(), file("train.csv"), "--test".into(), file("test.csv")],
    };
    [inputs, vec!["--num-aug".to_string(), num_aug.to_string()]].concat()
}

fn open(name: &str, arguments: &[String]) -> PuzzleSource {
    open_with(name, arguments, BuildContext::default())
}

fn open_with(name: &str, arguments: &[String], mut build: BuildContext<'_>) -> PuzzleSource {
    let matches = the(name).command().no_binary_name(true).get_matches_from(arguments);
    the(name).open(&matches, &mut build).unwrap_or_else(|error| panic!("{error}"))
}

/// One example with the names of all it belongs to.
#[derive(Debug, PartialEq)]
struct Record {
    split: Split,
    group: String,
    puzzle: String,
    inputs: Vec<i32>,
    labels: Vec<i32>,
}

fn records(source: &PuzzleSource) -> Vec<Record> {
    let mut records = Vec::new();
    for group in source.groups(0..source.group_count) {
        let group = group.unwrap();
        for puzzle in expand(&group) {
            for example in puzzle.examples {
                assert_eq!(example.split, group.split);
                records.push(Record {
                    split: group.split,
                    group: group.name.clone(),
                    puzzle: puzzle.name.clone(),
                    inputs: example.inputs,
                    labels: example.labels,
                });
            }
        }
    }
    records
}

#[test]
fn augmented_puzzles_are_what_they_claim() {
    let Some(raw) = data("hrm/raw") else { return };
    for (name, num_aug) in [("sudoku", 6), ("maze", 7), ("arc", 25), ("domino", 6)] {
        let source = open(name, &arguments(&raw, name, num_aug));
        let found = records(&source);
        let groups = found.iter().map(|r| (r.split, &r.group)).collect::<HashSet<_>>().len();
        assert_eq!(groups as u64, source.group_count);
        let puzzles: HashSet<_> = found.iter().map(|r| (r.split, &r.puzzle)).collect();
        let augmented = source
            .groups(0..source.group_count)
            .filter(|group| {
                let group = group.as_ref().unwrap();
                name == "arc" || group.split == Split::Train
            })
            .count();
        assert_eq!(puzzles.len(), groups + augmented * num_aug as usize, "{name}");
        let constants = the(name).constants();
        for record in &found {
            assert_eq!(record.inputs.len(), source.seq_len);
            assert_eq!(record.labels.len(), source.seq_len);
            let vocabulary = 0..constants.vocab_size as i32;
            assert!(record.inputs.iter().chain(&record.labels).all(|t| vocabulary.contains(t)));
            let broken = the(name).check(&record.inputs, &record.labels, Some(record.split));
            assert_eq!(broken, [], "{name} {}", record.puzzle);
            for (side, tokens) in [(Side::Inputs, &record.inputs), (Side::Labels, &record.labels)] {
                assert!(the(name).decode(side, tokens).is_ok());
                let picture = the(name).picture(side, &record.inputs, &record.labels).unwrap();
                assert!(!has_wrong_cells(&picture), "{name} {}", record.puzzle);
            }
        }
        // Train first, and the records of a group and of a puzzle together.
        let runs = |key: &dyn Fn(&Record) -> (Split, String)| {
            let mut keys: Vec<_> = found.iter().map(key).collect();
            assert!(keys.is_sorted_by_key(|(split, _)| *split));
            keys.dedup();
            keys.len()
        };
        assert_eq!(runs(&|r| (r.split, r.group.clone())), groups);
        assert_eq!(runs(&|r| (r.split, r.puzzle.clone())), puzzles.len());
        // The oracle takes what the filter writes of them.
        let Some(python) = python() else { continue };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/puzzle.py");
        let line = ["puzzle-encode", name, &arguments(&raw, name, num_aug).join(" ")].join(" ");
        bash(&format!(
            "set -eo pipefail; {line} | {} {script} augmented {name} {}",
            python.display(),
            raw.display()
        ))
        .ok();
    }
}

#[test]
fn most_sample_puzzles_have_several_solutions() {
    let Some(raw) = data("hrm/raw") else { return };
    let arguments = |more: &[&str]| {
        let more = more.iter().map(|argument| argument.to_string());
        arguments(&raw, "sudoku", 0).into_iter().chain(more).collect::<Vec<_>>()
    };
    let unique = arguments(&["--unique"]);
    let source = open("sudoku", &unique);
    assert_eq!(source.group_count, 500 - 447, "{:?}", source.notes);
    let build = BuildContext { jobs: 2, ..BuildContext::default() };
    assert_eq!(records(&open_with("sudoku", &unique, build)), records(&source));
    let few = open("sudoku", &arguments(&["--min-difficulty", "10", "--subsample", "7"]));
    let splits: Vec<_> = records(&few).iter().map(|r| r.split).collect();
    assert_eq!(splits.iter().filter(|split| **split == Split::Train).count(), 7);
    assert!(splits.len() > 7);
}

/// The bytes of these exact options, for ever: a change here is a change of published sets.
#[test]
fn bytes_stay_as_they_are() {
    let Some(raw) = data("hrm/raw") else { return };
    use sha2::{Digest, Sha256};
    for (name, expected) in [
        ("sudoku", "f1443c6e61e76cc3d474c099d113833f525b26b1ae698fbcecb0f57fb1aec52a"),
        ("arc", "86e134f769069f93500e9c6dfffd2cc651a2ba1605947da9378f1bc30bfb0ed1"),
        ("maze", "eb259f68df3432bc67dac490d580b6b24084f4950eadcfd4091eabe719cffe32"),
        ("domino", "61a041474b3be8cbff9af4b19634ce6943dc5c5ab22d25116914b5d3a7f59f2b"),
    ] {
        let mut hash = Sha256::new();
        for record in records(&open(name, &arguments(&raw, name, 2))) {
            hash.update(record.puzzle.as_bytes());
            for token in record.inputs.iter().chain(&record.labels) {
                hash.update(token.to_le_bytes());
            }
        }
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, expected, "{name}");
    }
}

#[test]
fn the_oracle_agrees_with_the_published_builder() {
    let (Some(raw), Some(wild)) = (data("hrm/raw"), data("hrm/wild")) else { return };
    let Some(python) = python() else { return };
    let set = wild.join("arc-sub-aug3").display().to_string();
    oracle(&python, "puzzle.py", &["published", raw.to_str().unwrap(), &set]).ok();
}
