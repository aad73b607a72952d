//! The puzzle domains on real data: `$GRISTMILL_DATA/hrm`, and an independent oracle in Python
//! (`tests/oracle/puzzle.py`, run by `$GRISTMILL_PYTHON`, which needs numpy). Without them the
//! tests say that they are skipped.

use gristmill::puzzle::picture::{CellKind, Picture};
use gristmill::puzzle::{
    self, BuildContext, Domain, Error, PuzzleSource, Severity, Side, Split, domain, expand,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NAMES: [&str; 4] = ["sudoku", "arc", "maze", "domino"];

/// `$GRISTMILL_DATA/hrm/...`, or a line that says what is skipped.
fn data(part: &str) -> Option<PathBuf> {
    let path =
        std::env::var_os("GRISTMILL_DATA").map(|data| Path::new(&data).join("hrm").join(part));
    let path = path.filter(|path| path.is_dir());
    if path.is_none() {
        eprintln!("skipped: GRISTMILL_DATA names no folder with hrm/{part}");
    }
    path
}

fn python() -> Option<Command> {
    let Some(python) = std::env::var_os("GRISTMILL_PYTHON") else {
        eprintln!("skipped: GRISTMILL_PYTHON is not set");
        return None;
    };
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/puzzle.py"));
    Some(command)
}

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
    domain: &'static str,
    split: Split,
    group: String,
    puzzle: String,
    identifier: String,
    inputs: Vec<i32>,
    labels: Vec<i32>,
}

fn records(source: &PuzzleSource) -> Vec<Record> {
    part(source, 0..source.group_count)
}

fn part(source: &PuzzleSource, range: std::ops::Range<u64>) -> Vec<Record> {
    let groups: Result<Vec<_>, Error> = source.groups(range).collect();
    groups.unwrap().iter().flat_map(expanded).collect()
}

fn expanded(group: &puzzle::PuzzleGroup) -> Vec<Record> {
    let mut records = Vec::new();
    for puzzle in expand(group) {
        for example in puzzle.examples {
            assert_eq!(example.split, group.split);
            records.push(Record {
                domain: group.domain.constants().name,
                split: group.split,
                group: group.name.clone(),
                puzzle: puzzle.name.clone(),
                identifier: group.domain.identifier(&puzzle.name).to_string(),
                inputs: example.inputs,
                labels: example.labels,
            });
        }
    }
    records
}

fn ndjson(records: &[Record]) -> String {
    let line = |r: &Record| {
        json!({
            "domain": r.domain, "split": r.split.name(), "set": puzzle::SET, "group": r.group,
            "puzzle": r.puzzle, "identifier": r.identifier, "inputs": r.inputs, "labels": r.labels,
        })
    };
    records.iter().map(|record| format!("{}\n", line(record))).collect()
}

/// The record with its grids at 0,0.
fn at_origin(mut record: Record) -> Record {
    for tokens in [&mut record.inputs, &mut record.labels] {
        *tokens = puzzle::arc::Grid::decode(tokens).unwrap().0.encode(0, 0);
    }
    record
}

#[test]
fn without_augmentation_equal_to_the_oracle() {
    let (Some(raw), Some(_)) = (data("raw"), python()) else { return };
    for (name, count) in [("sudoku", 500), ("maze", 80), ("arc", 169)] {
        let mut oracle = python().unwrap();
        let output = oracle.args(["encode", name]).arg(&raw).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let expected: Vec<Value> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let mut found = records(&open(name, &arguments(&raw, name, 0)));
        assert_eq!((found.len(), expected.len()), (count, count), "{name}");
        if name == "arc" {
            // Train grids are moved; test grids may not be.
            found = found
                .into_iter()
                .map(|r| if r.split == Split::Train { at_origin(r) } else { r })
                .collect();
        }
        for (record, expected) in found.iter().zip(&expected) {
            assert_eq!(
                json!({"split": record.split.name(), "group": record.group,
                       "inputs": record.inputs, "labels": record.labels}),
                *expected,
            );
            let identifier = if name == "arc" { record.group.as_str() } else { "<blank>" };
            assert_eq!(
                (&*record.puzzle, &*record.identifier, puzzle::SET, record.domain),
                (&*record.group, identifier, "all", name)
            );
        }
    }
}

#[test]
fn augmented_puzzles_are_what_they_claim() {
    let Some(raw) = data("raw") else { return };
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
        let Some(mut oracle) = python() else { continue };
        oracle.args(["augmented", name]).arg(&raw).stdin(Stdio::piped());
        let mut oracle = oracle.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = oracle.stdin.take().unwrap();
        let written = stdin.write_all(ndjson(&found).as_bytes());
        drop(stdin);
        let output = oracle.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && written.is_ok(), "{name}: {stderr}");
    }
}

#[test]
fn threads_slices_and_copies_change_nothing() {
    let Some(raw) = data("raw") else { return };
    let copy = std::env::temp_dir().join(format!("gristmill-puzzle-copy-{}", std::process::id()));
    copy_backwards(&raw, &copy);
    for name in NAMES {
        let arguments = arguments(&raw, name, 3);
        let source = open(name, &arguments);
        let whole = ndjson(&records(&source));
        // Another run on a copy made in another order.
        let other = open(name, &self::arguments(&copy, name, 3));
        assert_eq!(ndjson(&records(&other)), whole, "{name}");
        assert_eq!(other.build(), source.build());
        // Groups expanded on two threads, backwards.
        let groups: Vec<_> = source.groups(0..source.group_count).map(|g| g.unwrap()).collect();
        let backwards = |groups: &[puzzle::PuzzleGroup]| {
            let mut parts: Vec<String> =
                groups.iter().rev().map(|group| ndjson(&expanded(group))).collect();
            parts.reverse();
            parts.concat()
        };
        let (first, second) = groups.split_at(groups.len() / 2);
        let [first, second] = std::thread::scope(|scope| {
            [first, second]
                .map(|half| scope.spawn(move || backwards(half)))
                .map(|thread| thread.join().unwrap())
        });
        assert!(first + &second == whole, "{name}");
        // Slices, more than there are groups among them.
        for slices in [2, 7, source.group_count + 3] {
            let cut = |i: u64| source.group_count * i / slices;
            let parts: String =
                (0..slices).map(|i| ndjson(&part(&source, cut(i)..cut(i + 1)))).collect();
            assert!(parts == whole, "{name} in {slices}");
        }
        // Another seed gives other bytes, wherever something is drawn.
        let build = BuildContext { seed: 43, ..BuildContext::default() };
        let seeded = open_with(name, &arguments, build);
        if name == "maze" {
            assert!(ndjson(&records(&seeded)) == whole, "mazes draw nothing");
        } else {
            assert!(ndjson(&records(&seeded)) != whole, "{name} with another seed");
        }
        assert_ne!(seeded.build(), source.build());
    }
    fs::remove_dir_all(copy).unwrap();
}

/// Copies a folder, the last entry first.
fn copy_backwards(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut entries: Vec<_> = fs::read_dir(from).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for entry in entries.iter().rev() {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy_backwards(entry, &target);
        } else {
            fs::copy(entry, target).unwrap();
        }
    }
}

#[test]
fn most_sample_puzzles_have_several_solutions() {
    let Some(raw) = data("raw") else { return };
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
    let Some(raw) = data("raw") else { return };
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
fn published_sets_break_no_rule_that_is_an_error_there() {
    let Some(wild) = data("wild") else { return };
    let mut sets = 0;
    for set in fs::read_dir(wild).unwrap().map(|entry| entry.unwrap().path()) {
        let mut broken: BTreeMap<&str, usize> = BTreeMap::new();
        let mut examples = 0;
        let mut name = "";
        for split in [Split::Train, Split::Test] {
            let folder = set.join(split.name());
            let dataset = fs::read(folder.join("dataset.json")).unwrap();
            let dataset: Value = serde_json::from_slice(&dataset).unwrap();
            let constant = |key: &str| dataset[key].as_u64().unwrap() as usize;
            let (seq_len, vocab_size) = (constant("seq_len"), constant("vocab_size"));
            let domain = puzzle::guess(seq_len, vocab_size).unwrap();
            name = domain.constants().name;
            assert!(set.file_name().unwrap().to_str().unwrap().starts_with(name));
            let inputs = read_npy(&folder.join("all__inputs.npy"));
            let labels = read_npy(&folder.join("all__labels.npy"));
            assert_eq!(inputs.len(), labels.len());
            for (inputs, labels) in inputs.chunks(seq_len).zip(labels.chunks(seq_len)) {
                examples += 1;
                for finding in domain.check(inputs, labels, Some(split)) {
                    assert_eq!(finding.rule.foreign, Severity::Warning, "{set:?} {finding:?}");
                    *broken.entry(finding.rule.id).or_default() += 1;
                }
                let picture = domain.picture(Side::Inputs, inputs, labels).unwrap();
                assert!(!has_wrong_cells(&picture), "{set:?}");
                let _ = domain.decode(Side::Labels, labels).unwrap();
            }
        }
        eprintln!("{name}: {examples} examples, {broken:?}");
        if name == "domino" {
            let share = broken["chain"] as f64 / examples as f64;
            assert!((0.42..0.44).contains(&share), "{share}");
        } else {
            assert_eq!(broken, BTreeMap::new());
        }
        sets += 1;
    }
    assert!(sets >= 3);
}

#[test]
fn the_oracle_agrees_with_the_published_builder() {
    let (Some(raw), Some(wild)) = (data("raw"), data("wild")) else { return };
    let Some(mut oracle) = python() else { return };
    let output = oracle.arg("published").arg(raw).arg(wild.join("arc-sub-aug3")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A little-endian, C-ordered array of integers, flat.
fn read_npy(path: &Path) -> Vec<i32> {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..start]).unwrap();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let width = [("'|u1'", 1), ("'<i4'", 4), ("'<i8'", 8)]
        .into_iter()
        .find_map(|(name, width)| header.contains(name).then_some(width))
        .unwrap();
    let value =
        |item: &[u8]| item.iter().rev().fold(0i64, |value, &byte| value << 8 | i64::from(byte));
    bytes[start..].chunks_exact(width).map(|item| value(item) as i32).collect()
}
