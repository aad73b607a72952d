//! What is outside of `run` is the same wherever, whenever and with however many threads a dataset
//! is built.

mod common;

use common::{TempDir, bash, conversations};
use serde_json::Value;

/// Builds a root, a prefix, puzzle sets and files in a directory of its own name.
fn build(jobs: &str) -> TempDir {
    let dir = TempDir::new();
    let input = TempDir::new();
    input.write("in.ndjson", conversations(30));
    bash(&format!(
        "set -eo pipefail; cd {input}; export GRISTMILL_TO=arrow; out={out}
         harmony-tok in.ndjson {jobs} | span-mask \
             | mmidx-write --root $out/root --shard s --valid-fraction 0.3 -q
         ds-manifest $out/root -q
         harmony-tok in.ndjson {jobs} | span-mask | mmidx-write --prefix $out/p
         puzzle-encode domino --num-games 9 --seed 3 {jobs} | npy-pack -o $out/domino
         for to in arrow ndjson parquet; do ds-cat in.ndjson --to $to -o $out/a.$to; done
         ds-cat in.ndjson --to arrow -o $out/b.arrow",
        input = input.path().display(),
        out = dir.path().display(),
    ))
    .ok();
    dir
}

#[test]
fn equal_builds_are_equal() {
    let (one, two) = (build("-j1"), build("-qj4"));
    assert_eq!(one.files(), two.files());
    assert!(one.files().len() > 30);
    for name in one.files() {
        if one.read(&name) == two.read(&name) {
            continue;
        }
        let without_run = |dir: &TempDir| -> Value {
            let mut value = dir.json(&name);
            value.as_object_mut().unwrap().remove("run").unwrap();
            value
        };
        assert_eq!(without_run(&one), without_run(&two), "{name}");
    }
    assert_eq!(one.read("a.arrow"), one.read("b.arrow"));
}

#[test]
fn a_run_says_how_long_and_with_what() {
    let dir = build("-j2");
    let (root, part) = (dir.json("root/manifest.json"), dir.json("root/parts/s.json"));
    for run in [&root["run"], &part["run"]] {
        assert_eq!(run["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(run["git_sha"].is_string(), run["git_dirty"].is_boolean(), "{run}");
    }
    let seconds = |manifest: &Value| manifest["run"]["seconds"].as_f64().unwrap();
    assert!(seconds(&root) >= seconds(&part), "{root} {part}");
}
