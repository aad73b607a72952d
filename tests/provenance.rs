//! What is outside of `run` is the same wherever, whenever and with however many threads a dataset
//! is built.

mod common;
mod games;
#[path = "faults/inputs.rs"]
mod inputs;

use common::{TempDir, bash, conversations};
use serde_json::Value;

/// Builds packs and sets of every source.
fn packs(input: &TempDir, first: &str, last: &str) -> String {
    format!(
        "set -eo pipefail; cd {input}/in; export GRISTMILL_TO=arrow
         mx-decode {first} -q raw {last} > games; npy-pack -q games -o $out/pack
         npy-pack -o $out/sharded --shard-rows 20 -q games
         puzzle-encode arc {first} arc --num-aug 2 {last} | npy-pack -o $out/arc
         for domain in sudoku maze; do
             puzzle-encode $domain {first} --train $domain/train.csv --test $domain/test.csv {last} \
                 | npy-pack -o $out/$domain; done
         npy-pack $out/arc -o $out/arc_again",
        input = input.path().display(),
    )
}

fn run(script: &str) -> TempDir {
    let dir = TempDir::new();
    bash(&format!("out={}; {script}", dir.path().display())).ok();
    dir
}

/// The same on a machine of another name, where names can be changed.
fn run_elsewhere(script: &str) -> TempDir {
    match bash("unshare -u hostname elsewhere").code() {
        Some(0) => run(&format!(
            "export out; unshare -u bash <<'END'\nhostname elsewhere; {script}\nEND\n"
        )),
        _ => run(script),
    }
}

#[test]
fn equal_packs_and_sets_are_equal() {
    let input = TempDir::new();
    inputs::make(&input.path().join("in"));
    let one = run(&packs(&input, "", "-j1"));
    let two = run_elsewhere(&packs(&input, "-j4", "-v"));
    assert_equal(&one, &two, 31);
    // A set that is packed again was made by one build, and has its own run.
    let build = one.json("arc_again/build.json");
    assert!(build.get("builds").is_none() && build["parameters"].get("run").is_none(), "{build}");
    assert_eq!(build["run"]["version"], env!("CARGO_PKG_VERSION"));
}

/// Builds a root, a prefix, puzzle sets and files in a directory of its own name.
fn build(jobs: &str) -> TempDir {
    let dir = TempDir::new();
    let input = TempDir::new();
    input.write("in.ndjson", conversations(30));
    let row =
        r#"{"synth_id": "a", "query": "?", "synthetic_reasoning": "r", "synthetic_answer": "a"}"#;
    input.write("raw.ndjson", format!("{row}\n").repeat(9));
    bash(&format!(
        "set -eo pipefail; cd {input}; export GRISTMILL_TO=arrow; out={out}
         harmony-tok in.ndjson {jobs} | span-mask \
             | mmidx-write --root $out/root --shard s --valid-fraction 0.3 -q
         ds-manifest $out/root -q
         harmony-tok in.ndjson {jobs} | span-mask | mmidx-write --prefix $out/p
         puzzle-encode domino --num-games 9 --seed 3 {jobs} | npy-pack -o $out/domino
         for to in arrows ndjson parquet; do
             synth-harmony raw.ndjson {jobs} -o $out/raw.$to
             ds-cat in.ndjson -o $out/a.$to; done
         ds-cat in.ndjson -o $out/b.arrows",
        input = input.path().display(),
        out = dir.path().display(),
    ))
    .ok();
    dir
}

#[test]
fn equal_builds_are_equal() {
    let (one, two) = (build("-j1"), build("-qj4"));
    assert_equal(&one, &two, 33);
    assert_eq!(one.read("a.arrows"), one.read("b.arrows"));
}

/// Two directories have the same files, more than `least`, but for `run`.
fn assert_equal(one: &TempDir, two: &TempDir, least: usize) {
    assert_eq!(one.files(), two.files());
    assert!(one.files().len() > least, "{:?}", one.files());
    for name in one.files() {
        if one.read(&name) == two.read(&name) {
            continue;
        }
        assert!(name.ends_with(".json"), "{name} differs");
        let without_run = |dir: &TempDir| -> Value {
            let mut value = dir.json(&name);
            value.as_object_mut().and_then(|fields| fields.remove("run"));
            value
        };
        assert_eq!(without_run(one), without_run(two), "{name}");
    }
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
