//! The inputs are compared with the manifest beside them before any work.

use std::fs;

use serde_json::json;

use crate::common::{TempDir, conversations, tool};

/// Three shards of four conversations in `in`, with their manifest.
fn shards() -> TempDir {
    let dir = TempDir::new();
    let mut stated = Vec::new();
    for shard in 0..3 {
        let name = format!("in/synth_harmony_shard_0{shard}.parquet");
        let lines = dir.write("lines", conversations(4).replace("id-", &format!("id-{shard}-")));
        fs::create_dir_all(dir.at("in")).unwrap();
        let arguments = [&lines, "--to", "parquet", "-o", &dir.at(&name)].map(str::to_string);
        tool("ds-cat").args(&arguments).run().silent();
        // The paths are those of the place where the shards were made.
        let path = format!("data/{name}");
        stated.push(
            json!({"path": path, "bytes": dir.read(&name).len(), "rows": 4, "row_groups": 1}),
        );
    }
    let storage = json!({"shards": stated, "total_rows": 12, "total_bytes": 0});
    let manifest = json!({"schema_version": "synth_harmony_v1", "storage": storage});
    dir.write("in/manifest.json", manifest.to_string());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/synth-kd.sh");
    dir.write("synth-kd.sh", fs::read(script).unwrap());
    dir
}

fn build(dir: &TempDir, flags: &str) -> crate::common::Outcome {
    dir.bash(&format!("bash synth-kd.sh in root --no-check {flags}"))
}

/// Shard 1 is missing, another file, or has other rows of the same number of bytes.
const DEFECTS: [(Damage, &str); 4] = [
    (|dir| fs::remove_file(dir.at(SECOND)).unwrap(), "synth_harmony_shard_01.parquet is missing"),
    (|dir| drop(dir.write(SECOND, dir.read(SECOND).repeat(2))), "bytes, not"),
    (|dir| edit(dir, "\"rows\":4", "\"rows\":5"), "has 4 rows, not 5"),
    (|dir| edit(dir, "data/in/synth_harmony_shard_01.parquet", "../.."), "../.. is no name"),
];
type Damage = fn(&TempDir);

const SECOND: &str = "in/synth_harmony_shard_01.parquet";

fn edit(dir: &TempDir, from: &str, to: &str) {
    dir.write("in/manifest.json", dir.text("in/manifest.json").replace(from, to));
}

#[test]
fn a_build_stops_before_it_begins() {
    for (defect, cause) in DEFECTS {
        let dir = shards();
        defect(&dir);
        let run = build(&dir, "");
        assert_eq!(run.code(), Some(1), "{run:?}");
        assert!(run.stderr.contains(cause) && run.stderr.contains("in/manifest.json"), "{run:?}");
        assert!(!dir.files().iter().any(|name| name.starts_with("root")), "{:?}", dir.files());
        let check = ["--check-input", &dir.at("in")].map(str::to_string);
        tool("ds-manifest").args(&check).run().fails(1, &[cause]);
        // A folder is compared as a whole.
        tool("harmony-tok").args(&[dir.at("in")]).run().fails(1, &[cause]);
        tool("harmony-tok").args(&["--no-input-check", &dir.at("in")]).run().code();
    }
}

/// Where nothing is compared nothing is right, and the way on is one that there is.
#[test]
fn a_folder_that_is_not_there_is_not_as_its_manifest_says() {
    let dir = shards();
    let check = |path: &str| tool("ds-manifest").args(&["--check-input", path]).run();
    check(&dir.at("in")).silent();
    fs::create_dir(dir.at("empty")).unwrap();
    for (path, found) in [("nowhere", "nothing"), ("empty", "one without it"), (SECOND, "a file")] {
        let cause = format!("{path}: expected a folder with manifest.json, got {found}; try: ");
        check(&dir.at(path)).fails(2, &[&cause]);
    }
    fs::remove_file(dir.at(SECOND)).unwrap();
    check(&dir.at("in")).fails(1, &["try: the shards again\n"]);
}

/// Whatever reads a folder does not take what is left of it for a smaller good one; its files can be
/// named.
#[test]
fn every_reader_compares_a_folder() {
    let readers = [
        "ds-cat in",
        "ds-cat --count in",
        "ds-cat --nth 0 in",
        "ds-cat --id id-0-0 in",
        "ds-stat in",
        "ds-view in",
        "ds-view --html - in",
        "ds-diff in in",
        "harmony-tok in",
        "harmony-tok --decode in",
        "span-mask in",
        "npy-pack in -o out",
        "mmidx-write in --prefix out",
    ];
    for (defect, cause) in DEFECTS {
        let dir = shards();
        let run = |command: &str| dir.bash(command);
        run("ds-cat in").silent();
        defect(&dir);
        for reader in readers {
            let told = run(reader).fails(1, &["in/manifest.json", cause]);
            assert!(told.stdout.is_empty(), "{reader}: {told:?}");
            if !reader.contains("harmony-tok") {
                assert!(told.stderr.contains("try: in/*.parquet"), "{reader}: {told:?}");
            }
        }
        for reader in ["ds-cat in/*.parquet", "ds-stat in/*.parquet", "ds-view -q in/*.parquet"] {
            run(reader).silent();
        }
    }
    // A manifest of something else says nothing of the shards.
    let dir = shards();
    fs::remove_file(dir.at(SECOND)).unwrap();
    dir.write("in/manifest.json", "{\"storage\": {}, \"shards\": 7}");
    dir.bash("ds-cat in").silent();
}

#[test]
fn a_file_is_compared_by_itself() {
    let dir = shards();
    let file = |shard: u32| dir.at(&format!("in/synth_harmony_shard_0{shard}.parquet"));
    fs::remove_file(file(1)).unwrap();
    tool("harmony-tok").args(&[file(0)]).run().silent();
    edit(&dir, "\"rows\":4", "\"rows\":3");
    tool("harmony-tok").args(&[file(0)]).run().fails(1, &["shard_00.parquet has 4 rows, not 3"]);
    // What the manifest does not name, and a folder without one, is not compared.
    fs::rename(file(0), dir.at("in/other.parquet")).unwrap();
    tool("harmony-tok").args(&[dir.at("in/other.parquet")]).run().silent();
    fs::remove_file(dir.at("in/manifest.json")).unwrap();
    tool("harmony-tok").args(&[file(2)]).run().silent();
}

#[test]
fn a_manifest_says_whether_its_inputs_were_compared() {
    for to in ["arrow", "ndjson"] {
        let dir = shards();
        fs::remove_file(dir.at(SECOND)).unwrap();
        dir.bash(&format!(
            "GRISTMILL_TO={to} bash synth-kd.sh in root --no-check --no-input-check"
        ))
        .ok();
        let compared = |dir: &TempDir| {
            dir.json("root/parts/shard_00.json")["source"]["manifest"]["compared"].clone()
        };
        assert_eq!(compared(&dir), json!(false), "{to}");
        let dir = shards();
        dir.bash(&format!("GRISTMILL_TO={to} bash synth-kd.sh in root")).ok();
        assert_eq!(compared(&dir), json!(true), "{to}");
    }
}
