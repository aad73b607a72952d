//! The SYNTH pipeline gives the bytes of the original builder: through every kind of pipe, with any
//! number of threads, whole and in slices. Needs GRISTMILL_DATA; some tests also GRISTMILL_PYTHON.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{
    TempDir, assert_no_temporaries, assert_same_datasets, bash, bash_with, conversations, data,
    datasets_in, oracle, python, tool,
};

const CONFIG_HASH_0_1: &str = "faa2ee2ea0adc1b2dc2f171d31e4ab4d6b6a3a320d09a35776cceb34c006ecdc";

fn shard(data: &Path) -> PathBuf {
    data.join("synth_harmony/synth_harmony_shard_00.parquet")
}

/// A part manifest without what changes from run to run.
fn part(dir: &TempDir, name: &str) -> Value {
    let mut part = dir.json(name);
    assert!(part["run"]["created_unix_s"].as_u64().unwrap() > 1_700_000_000);
    part.as_object_mut().unwrap().remove("run");
    part
}

/// Every pipe, every number of threads: the same files, and the same part manifest.
#[test]
fn pipes_and_threads_give_the_original_bytes() {
    let Some(data) = data("") else { return };
    for (fraction, flag) in [("valid_0.1", "--valid-fraction 0.1"), ("valid_0.001", "")] {
        for to in ["ndjson", "arrow"] {
            let mut manifests = Vec::new();
            for jobs in ["1", "2"] {
                let dir = TempDir::new();
                let script = format!(
                    "set -eo pipefail; cd {}; harmony-tok {} -j {jobs} | span-mask | \
                     mmidx-write --root out --shard shard_00 {flag}",
                    dir.path().display(),
                    shard(&data).display(),
                );
                let out = bash_with(&script, &[("GRISTMILL_TO", to)]).silent();
                assert!(out.stdout.is_empty(), "{out:?}");
                let theirs = data.join("synth_kd").join(fraction);
                assert_same_datasets(&dir.path().join("out"), &theirs);
                manifests.push(part(&dir, "out/parts/shard_00.json"));
            }
            assert_eq!(manifests[0], manifests[1]);
            if fraction == "valid_0.1" {
                // What is not wholly known has no hash.
                let hash = if to == "arrow" { CONFIG_HASH_0_1.into() } else { Value::Null };
                assert_eq!(manifests[0]["config_hash"], hash);
            }
            assert_eq!(manifests[0]["records"]["written"], 250);
        }
    }
}

/// The output of one filter may be kept in a file and read from there, in either encoding.
#[test]
fn files_between_the_filters_change_nothing() {
    let Some(data) = data("") else { return };
    let dir = TempDir::new();
    for (first, second) in [("ndjson", "arrow"), ("arrow", "ndjson")] {
        dir.bash(&format!(
            "set -eo pipefail; harmony-tok {} --to {first} > tokens; \
             span-mask tokens --to {second} | gzip > masked; \
             mmidx-write masked --root {first} --shard shard_00 --valid-fraction 0.1",
            shard(&data).display()
        ))
        .silent();
        assert_same_datasets(&dir.path().join(first), &data.join("synth_kd/valid_0.1"));
    }
}

/// Builds the slices of `input` side by side and concatenates both splits into `whole`.
fn build_slices(dir: &TempDir, input: &str, slices: usize, fraction: &str) {
    bash(&format!(
        "set -eo pipefail; export GRISTMILL_TO=arrow; cd {}; rm -rf part* whole; \
         for i in $(seq 0 {}); do \
         harmony-tok {input} --slice $i/{slices} | span-mask | \
         mmidx-write --root part$i --shard shard_00 {fraction}; parts+=(part$i); done; \
         for split in train valid; do mmidx-write --prefix whole/$split/shard_00 \
         --concat \"${{parts[@]/%//$split/shard_00}}\"; done",
        dir.path().display(),
        slices - 1
    ))
    .silent();
}

#[test]
fn slices_concatenated_are_the_whole() {
    let Some(data) = data("") else { return };
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let groups_of_64 = dir.at("rg64.parquet");
    let original = shard(&data).to_str().unwrap().to_string();
    oracle(&python, "streams.py", &["row-groups", &original, &groups_of_64, "64"]).ok();
    for input in [&original, &groups_of_64] {
        for (name, flag, slices) in [
            ("valid_0.1", "--valid-fraction 0.1", 3),
            ("valid_0.001", "", 3),
            ("valid_0.1", "--valid-fraction 0.1", 7),
        ] {
            build_slices(&dir, input, slices, flag);
            assert_same_datasets(&dir.path().join("whole"), &data.join("synth_kd").join(name));
            // A slice is never the whole, and each has a manifest.
            let rows: Vec<u64> = (0..slices)
                .map(|i| dir.json(&format!("part{i}/parts/shard_00.json")))
                .map(|part| part["records"]["written"].as_u64().unwrap())
                .collect();
            assert_eq!(rows.iter().sum::<u64>(), 250);
            assert!(rows.iter().all(|rows| (250 / slices as u64..).contains(rows)), "{rows:?}");
            let whole = dir.json("whole/train/shard_00.part.json");
            assert_eq!(whole["source"]["limits"]["slice"], Value::Null);
            let hash = dir.json("part0/parts/shard_00.json")["config_hash"].clone();
            assert_eq!(whole["config_hash"], hash);
        }
    }
    // The root's manifest is made from concatenations too.
    let summary = tool("ds-manifest").args(&[dir.at("whole")]).run().silent().text();
    assert!(summary.starts_with("train ") && summary.contains("\nvalid "), "{summary}");
    oracle(&python, "manifest.py", &[&dir.at("whole")]).ok();
}

#[test]
fn slices_may_be_empty() {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(5));
    let input = dir.at("in.parquet");
    tool("ds-cat").args(&[&dir.at("in.ndjson"), "--to", "parquet", "-o", &input]).run().silent();
    bash(&format!(
        "harmony-tok {input} | span-mask | mmidx-write --root {} --shard shard_00 --valid-fraction 0.5",
        dir.at("expected")
    ))
    .silent();
    for slices in [1, 2, 5, 8, 13] {
        build_slices(&dir, &input, slices, "--valid-fraction 0.5");
        assert_same_datasets(&dir.path().join("whole"), &dir.path().join("expected"));
    }
    // 13 slices of 5 rows: 8 parts have no rows, no files, and a manifest all the same.
    let without_files =
        (0..13).filter(|i| datasets_in(&dir.path().join(format!("part{i}"))).is_empty()).count();
    assert_eq!(without_files, 8);
}

#[test]
fn every_parquet_variant_gives_what_is_expected() {
    let Some(data) = data("parquet_variants") else { return };
    let expected: Value =
        serde_json::from_slice(&fs::read(data.join("expected.json")).unwrap()).unwrap();
    let mut built = 0;
    for (name, expected) in expected.as_object().unwrap().iter().filter(|(k, _)| *k != "_about") {
        let file = data.join(format!("{name}.parquet"));
        for to in ["ndjson", "arrow"] {
            let dir = TempDir::new();
            let out = dir.path().join("out");
            // No records are no bytes in NDJSON.
            let empty = if name == "zero_rows" && to == "ndjson" { "--allow-empty" } else { "" };
            let script = format!(
                "set -o pipefail; harmony-tok {} | span-mask {empty} | mmidx-write --root {} {empty} \
                 --shard shard_03 --valid-fraction 0.1; echo \"${{PIPESTATUS[@]}}\"",
                file.display(),
                out.display()
            );
            let run = bash_with(&script, &[("GRISTMILL_TO", to)]);
            let codes = run.text();
            if expected["outcome"] == "refused" {
                assert!(codes.starts_with("1 "), "{run:?}");
                let ours = run.stderr.lines().filter(|line| line.starts_with("harmony-tok: "));
                let ours: Vec<&str> = ours.collect();
                assert_eq!(ours.len(), 1, "{run:?}");
                assert!(ours[0].contains(&file.display().to_string()), "{run:?}");
                // Arrow shows the sink why its producer has failed; NDJSON only that it has.
                let after = if to == "arrow" { 1 } else { 75 };
                assert_eq!(codes, format!("1 {after} {after}\n"), "{run:?}");
                assert!(dir.files().is_empty(), "{:?}", dir.files());
                continue;
            }
            built += 1;
            assert_eq!((codes.as_str(), run.stderr.as_str()), ("0 0 0\n", ""), "{run:?}");
            let files = expected["files"].as_object().unwrap();
            let names: Vec<&String> = files.keys().collect();
            assert_eq!(datasets_in(&out).iter().collect::<Vec<_>>(), names, "{name}");
            for (path, hash) in files {
                use sha2::Digest;
                let digest = sha2::Sha256::digest(fs::read(out.join(path)).unwrap());
                let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(&digest, hash.as_str().unwrap(), "{name}: {path}");
            }
            assert!(out.join("parts/shard_03.json").is_file());
            assert_no_temporaries(&out);
        }
    }
    assert_eq!(built, 12, "the variants that can be built");
}

/// A bad shard alone, its errors by their text.
#[test]
fn refused_variants_say_why() {
    let Some(data) = data("parquet_variants") else { return };
    let file = |name: &str| data.join(name).to_str().unwrap().to_string();
    let run = |name: &str| tool("harmony-tok").args(&[file(name)]).run();
    run("no_synth_id.parquet")
        .fails(1, &["no_synth_id.parquet", "record 1", "id is missing or null"]);
    run("null_synth_id.parquet")
        .fails(1, &["null_synth_id.parquet: record ", "id is missing or null"]);
    run("truncated.parquet").fails(1, &["truncated.parquet: "]);
}
