//! Every filter opens every dataset that holds its records, without ds-cat: the output is the same
//! as with the pipe.

use std::path::Path;

use serde_json::Value;

use crate::common::{
    TempDir, assert_no_temporaries, assert_same_datasets, bash, conversations, files_in, tool,
};

/// Conversations as a file, a folder of Parquet shards, and a root.
fn place() -> TempDir {
    let dir = TempDir::new();
    let file = dir.write("all.ndjson", conversations(40));
    let at = |name: &str| dir.at(name);
    let (a, b) = (at("shards/shard_00.parquet"), at("shards/shard_01.parquet"));
    bash(&format!(
        "set -e -o pipefail
         head -25 {file} > {0}; tail -15 {file} > {1}
         ds-cat {0} --to parquet -o {a}; ds-cat {1} --to parquet -o {b}
         for shard in {a} {b}; do
             harmony-tok $shard --to arrow | span-mask --to arrow |
                 mmidx-write --root {2} --shard $(basename $shard .parquet) --valid-fraction 0.3
         done",
        at("0.ndjson"),
        at("1.ndjson"),
        at("root")
    ))
    .ok();
    dir
}

/// A command prints the same in both encodings as when ds-cat reads its inputs.
#[track_caller]
fn same_as_piped(filter: &str, flags: &str, inputs: &str) {
    for to in ["ndjson", "arrow"] {
        let flags = format!("{flags} --to {to} --no-provenance");
        let direct = bash(&format!("{filter} {inputs} {flags}")).ok().stdout;
        let piped = format!("ds-cat -q {inputs} --no-provenance --to arrow | {filter} {flags}");
        let piped = bash(&format!("set -o pipefail; {piped}")).ok().stdout;
        assert!(!direct.is_empty(), "{filter} {inputs} {flags}");
        assert!(direct == piped, "{filter} {inputs} {flags}");
    }
}

#[test]
fn a_root_and_its_prefixes_are_tokens() {
    let dir = place();
    let root = dir.at("root");
    same_as_piped("harmony-tok --decode", "-j 2", &root);
    same_as_piped("harmony-tok --decode", "", &format!("{root}/train/shard_01"));
    same_as_piped("harmony-tok --decode", "", &format!("{root} --slice 1/3"));
    // A split's directory is its triples.
    same_as_piped("harmony-tok --decode", "", &format!("{root}/train"));
    // Any file of a prefix names it.
    same_as_piped("harmony-tok --decode", "", &format!("{root}/train/shard_01_tokens.idx"));
    same_as_piped("harmony-tok --decode", "", &format!("{root}/train/shard_01_span.bin"));
    // A prefix with tokens alone has no masks to begin with.
    let tokens = dir.at("tokens");
    bash(&format!("mmidx-write {root} --prefix {tokens} --tokens-only --dtype int32")).ok();
    same_as_piped("span-mask", "--align token", &tokens);
}

/// The masks of a triple are made again; a stream that has masks is refused as before.
#[test]
fn span_mask_makes_the_masks_of_a_triple_anew() {
    let dir = place();
    let prefix = dir.at("root/train/shard_00");
    let plain = tool("ds-cat").args(&[&prefix]).run().ok();
    let same = tool("span-mask").args(&[&prefix]).run().ok();
    assert!(plain.stdout == same.stdout);
    let other = tool("span-mask").args(&[&prefix, "--align", "token"]).run().ok().records();
    let plain = plain.records();
    assert_eq!(other.len(), plain.len());
    for (other, plain) in other.iter().zip(&plain) {
        let [theirs, ours] = [other, plain].map(|r| r["loss_mask"].as_array().unwrap());
        assert_eq!(theirs[1..], ours[..ours.len() - 1]);
    }
    bash(&format!("ds-cat {prefix} | span-mask")).fails(1, &["has masks already"]);
}

#[test]
fn a_prefix_is_written_again() {
    let dir = place();
    let at = |name: &str| dir.at(name);
    bash(&format!("mmidx-write {} --prefix {}", at("root/train/shard_00"), at("again/shard_00")))
        .silent();
    bash(&format!(
        "mkdir {0}; cp {1}/shard_00_* {0}; rm -f {0}/*.json",
        at("expected"),
        at("root/train")
    ))
    .ok();
    assert_same_datasets(Path::new(&at("again")), Path::new(&at("expected")));
    // What is known of the records goes with them.
    let [old, new] = ["root/parts/shard_00.json", "again/shard_00.part.json"].map(|p| dir.json(p));
    for field in ["policy", "inputs", "tokenizer", "spans"] {
        assert_eq!(old["source"][field], new["source"][field], "{field}");
    }
}

#[test]
fn a_folder_of_parquet_shards_is_its_files() {
    let dir = place();
    let [folder, a, b] =
        ["shards", "shards/shard_00.parquet", "shards/shard_01.parquet"].map(|name| dir.at(name));
    for filter in ["harmony-tok -j 2", "ds-cat", "harmony-tok --slice 1/3", "ds-cat --count"] {
        let whole = bash(&format!("{filter} {folder}")).silent();
        let files = bash(&format!("{filter} {a} {b}")).silent();
        assert!(!whole.stdout.is_empty() && whole.stdout == files.stdout, "{filter}");
    }
    // Other files in it are left alone.
    dir.write("shards/.hidden.parquet", "no Parquet");
    dir.write("shards/manifest.json", "{}");
    assert_eq!(tool("ds-cat").args(&[&folder, "--count"]).run().text(), "40\n");
}

/// A file's bytes; of a `build.json` what is the same in every run.
fn content(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap();
    if !file.ends_with("build.json") {
        return bytes;
    }
    let mut build: Value = serde_json::from_slice(&bytes).unwrap();
    assert!(build.as_object_mut().unwrap().remove("run").is_some());
    build.to_string().into_bytes()
}

#[test]
fn a_puzzle_set_is_packed_again() {
    let dir = TempDir::new();
    let [set, direct, piped] = ["set", "direct", "piped"].map(|name| dir.at(name));
    bash(&format!("puzzle-encode domino -q --num-games 30 --num-aug 2 | npy-pack -o {set}")).ok();
    bash(&format!("npy-pack -q {set} -o {direct}")).ok();
    bash(&format!("ds-cat -q {set} --to arrow | npy-pack -q -o {piped}")).ok();
    let files = files_in(Path::new(&set));
    for made in [&direct, &piped] {
        assert_eq!(files_in(Path::new(made)), files);
        for file in &files {
            let [ours, theirs] = [made, &set].map(|at| content(&Path::new(at).join(file)));
            assert!(ours == theirs, "{file}");
        }
    }
    assert_no_temporaries(dir.path());
    tool("npy-pack").args(&[&set, "-o", &set]).run().fails(2, &["an input of this run"]);
}

/// A dataset of other records is named for what it holds.
#[test]
fn other_records_are_refused() {
    let dir = place();
    let (root, set) = (dir.at("root"), dir.at("set"));
    bash(&format!("puzzle-encode domino -q --num-games 3 | npy-pack -q -o {set}")).ok();
    for (line, came, wanted) in [
        (format!("harmony-tok {root}"), "token sequences", "conversations"),
        (format!("span-mask {set}"), "puzzles", "token sequences"),
        (format!("mmidx-write {set} --prefix {root}/x"), "puzzles", "token sequences"),
        (format!("npy-pack {root} -o {root}/x"), "token sequences", "games of 2048"),
    ] {
        let part = format!("expected {wanted}, got {came}; try: ");
        bash(&line).fails(2, &[&part]);
    }
}
