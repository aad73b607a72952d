//! scripts/synth-raw.sh, ds-manifest of what it makes, and scripts/synth-kd.sh --raw: the published
//! shards and the published bytes, through files or without. Needs GRISTMILL_DATA; some tests also
//! GRISTMILL_PYTHON.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{
    Outcome, TempDir, assert_same_datasets, bash, bash_with, data, files_in, masked_answer, oracle,
    python, tool,
};

/// Runs a script of the pipeline in a directory.
fn script(dir: &TempDir, line: &str, variables: &[(&str, &str)]) -> Outcome {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    bash_with(&format!("cd {} && {}/{line}", dir.path().display(), scripts.display()), variables)
        .without_shards()
}

fn raw_files() -> Option<PathBuf> {
    data("synth_raw/raw_files")
}

/// The published rows of a shard, without their places.
fn published(run: &Path, shard: &str) -> Vec<Value> {
    let text = fs::read_to_string(run.join("rows.ndjson")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_shard = rows.filter(|row| row["shard"] == shard);
    of_shard
        .map(|mut row| {
            row.as_object_mut().unwrap().retain(|name, _| name != "shard" && name != "row");
            row
        })
        .collect()
}

/// The fields that say when, where and of how many bytes.
fn without_run(mut manifest: Value) -> Value {
    let storage = &mut manifest["storage"];
    storage["total_bytes"] = Value::Null;
    for shard in storage["shards"].as_array_mut().unwrap() {
        shard["bytes"] = Value::Null;
        let path = shard["path"].as_str().unwrap().rsplit('/').next().unwrap().to_string();
        shard["path"] = json!(path);
    }
    for field in ["created_unix_s", "git_sha", "dataset_dir"] {
        manifest[field] = Value::Null;
    }
    manifest
}

/// Everything that `theirs` says, `ours` says too.
fn assert_says(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, value) in theirs {
                let place = format!("{place}.{name}");
                assert_says(ours.get(name).unwrap_or_else(|| panic!("no {place}")), value, &place);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{place}");
            ours.iter().zip(theirs).for_each(|(ours, theirs)| assert_says(ours, theirs, place));
        }
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

#[test]
fn the_shards_are_the_published_ones() {
    let Some(raw) = raw_files() else { return };
    let run = raw.parent().unwrap().join("runs/real4");
    for jobs in ["1", "3"] {
        let dir = TempDir::new();
        let line = format!(
            "synth-raw.sh {} out --shards 4 --row-group-rows=2000 --jobs {jobs}",
            raw.display()
        );
        let made = script(&dir, &line, &[]).ok();
        let told = "4 shards, 402 conversations\nout: 420 rows read, 18 skipped (2 without answer, \
                    6 without query, 10 without reasoning); ";
        assert!(made.text().starts_with(told), "{made:?}");
        for shard in 0..4 {
            let name = format!("synth_harmony_shard_0{shard}.parquet");
            let ours = tool("ds-cat").args(&[dir.at(&format!("out/{name}"))]).run().silent();
            assert!(ours.records() == published(&run, &name), "{name}");
        }
        let manifest = dir.json("out/manifest.json");
        let theirs = fs::read_to_string(run.join("data/manifest.json")).unwrap();
        let theirs: Value = serde_json::from_str(&theirs).unwrap();
        assert_says(&without_run(manifest.clone()), &without_run(theirs), "manifest");
        let skipped = json!({"without answer": 2, "without query": 6, "without reasoning": 10});
        let records = json!({"read": 420, "written": 402, "rejected": 0, "skipped": skipped});
        assert_eq!(manifest["records"], records);
        for shard in manifest["storage"]["shards"].as_array().unwrap() {
            let path = dir.path().join(shard["path"].as_str().unwrap());
            let sum = bash(&format!("sha256sum < {}", path.display())).silent().text();
            assert_eq!(shard["sha256"], sum.split(' ').next().unwrap());
            assert_eq!(shard["bytes"], fs::metadata(&path).unwrap().len());
            assert_eq!(shard["records"]["written"], shard["rows"]);
        }
        assert_eq!(manifest["inputs"].as_array().unwrap().len(), 5);
        assert_eq!(files_in(dir.path()).len(), 5);
    }
}

/// As the published footers: types, compression, row groups, and what is in them besides.
#[test]
fn other_readers_see_the_published_schema() {
    let (Some(raw), Some(python)) = (raw_files(), python()) else { return };
    let dir = TempDir::new();
    let line = format!("synth-raw.sh {} out --shards 4", raw.display());
    script(&dir, &format!("{line} --row-group-rows 40"), &[]).ok();
    let theirs = raw.parent().unwrap().join("runs/real4/data");
    let theirs = theirs.display().to_string();
    let run = oracle(&python, "synth_shards.py", &[&dir.at("out"), &theirs, "40"]);
    assert_eq!(run.silent().text(), "4 shards\n");
}

/// The whole way to the trainer's files: through our shards, through the published ones, and without
/// files between.
#[test]
fn the_bytes_of_the_pipeline_are_the_same_by_every_way() {
    let Some(raw) = raw_files() else { return };
    let published = raw.parent().unwrap().join("runs/real4/data");
    let dir = TempDir::new();
    let flags = "--on-error skip --valid-fraction 0.1 --no-check";
    script(&dir, &format!("synth-raw.sh {} folder --shards 4", raw.display()), &[]).ok();
    script(&dir, &format!("synth-kd.sh {} published {flags}", published.display()), &[]).ok();
    let of = |name: &str| dir.path().join(name);
    for to in ["arrow", "ndjson"] {
        let variables = [("GRISTMILL_TO", to)];
        script(&dir, &format!("synth-kd.sh folder through-{to} {flags}"), &variables).ok();
        assert_same_datasets(&of(&format!("through-{to}")), &of("published"));
        let line = format!("synth-kd.sh {} raw-{to} --raw --shards 4 {flags}", raw.display());
        script(&dir, &line, &variables).ok();
        assert_same_datasets(&of(&format!("raw-{to}")), &of("published"));
        // What is finished is kept, a shard without rows is a part, and ds-check finds no error.
        let index = of(&format!("raw-{to}/train/shard_00_tokens.idx"));
        let before = fs::metadata(&index).unwrap().modified().unwrap();
        script(&dir, &format!("{line} --resume"), &variables).ok();
        assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), before);
        let line = format!("synth-kd.sh {} more-{to} --raw --shards 7", raw.display());
        script(&dir, &format!("{line} --on-error skip"), &variables).ok();
        assert_eq!(dir.json(&format!("more-{to}/parts/shard_06.json"))["records"]["written"], 0);
        assert_eq!(dir.json(&format!("more-{to}/manifest.json"))["records"]["written"], 401);
    }
    // A row without an id ends it.
    let run = script(&dir, &format!("synth-kd.sh {} bad --raw", raw.display()), &[]);
    run.exits(1, &["the id is missing or null"]);
    assert!(!of("bad/manifest.json").exists());
}

/// The order of the files and the types of the first rule in shards too.
#[test]
fn shards_are_of_whole_files() {
    let Some(data) = data("synth_raw") else { return };
    let input = data.join("odd/v_order/input").display().to_string();
    let whole = tool("synth-harmony").args(&[&input]).run().silent().text();
    for shards in 1..12 {
        let shard = |index: usize| {
            let shard = format!("{index}/{shards}");
            tool("synth-harmony").args(&[&input, "--shard", &shard]).run().silent().text()
        };
        let parts: Vec<String> = (0..shards).map(shard).collect();
        assert_eq!(parts.concat(), whole, "{shards}");
        let most = whole.lines().count().div_ceil(shards);
        assert_eq!(parts[0].lines().count(), most, "{shards}");
    }
    // The second file lacks a column that the first has.
    let less = data.join("odd/v_mixed_less/input").display().to_string();
    let whole = tool("synth-harmony").args(&[&less]).run().silent().text();
    let second = tool("synth-harmony").args(&[&less, "--shard", "1/2"]).run().silent().text();
    assert!(whole.ends_with(&second) && second.contains(r#"\"constraints\": null"#));
    tool("synth-harmony").args(&["--shard", "0/2"]).run().fails(2, &["--shard divides files"]);
}

#[test]
fn a_folder_is_finished_by_its_manifest() {
    let Some(raw) = raw_files() else { return };
    let dir = TempDir::new();
    let line = format!("synth-raw.sh {} out --shards 7", raw.display());
    script(&dir, &line, &[]).ok();
    // More shards than files: the last have no rows.
    let last = dir.at("out/synth_harmony_shard_06.parquet");
    assert_eq!(tool("ds-cat").args(&["--count", &last]).run().silent().text(), "0\n");
    let first = dir.at("out/synth_harmony_shard_00.parquet");
    script(&dir, &line, &[]).fails(2, &["out: is not empty; try: --resume, or --overwrite"]);
    let before = fs::metadata(&first).unwrap().modified().unwrap();
    fs::remove_file(&last).unwrap();
    let manifest = tool("ds-manifest").args(&[dir.at("out")]);
    manifest.run().fails(1, &["shard 6/7 is missing"]);
    script(&dir, &format!("{line} --resume"), &[]).ok();
    assert_eq!(fs::metadata(&first).unwrap().modified().unwrap(), before);
    // With other settings all are made anew.
    script(&dir, &format!("{line} --resume --omit-developer"), &[]).ok();
    assert_ne!(fs::metadata(&first).unwrap().modified().unwrap(), before);
    let conversion = &dir.json("out/manifest.json")["conversion"];
    assert_eq!(
        (&conversion["developer_message"], &conversion["num_shards"]),
        (&json!(null), &json!(7))
    );
    let fewer = format!("synth-raw.sh {} out --shards 2 --overwrite", raw.display());
    script(&dir, &fewer, &[]).fails(2, &["shard_02.parquet: is none of 2 shards"]);
    // A shard of other settings does not belong to it.
    fs::remove_file(dir.at("out/manifest.json")).unwrap();
    let flags = ["--shard", "0/7", "-o", &first, "--overwrite"];
    tool("synth-harmony").args(&[raw.to_str().unwrap(), "-q"]).args(&flags).run().silent();
    tool("ds-manifest").args(&[dir.at("out")]).run().fails(1, &["its settings are not those of"]);
    // One of another writer says nothing of itself.
    fs::copy(raw.parent().unwrap().join("runs/one/data/synth_harmony_shard_00.parquet"), &first)
        .unwrap();
    let refused = ["does not say how it was made: synth-harmony did not write it"];
    tool("ds-manifest").args(&[dir.at("out")]).run().fails(1, &refused);
}

/// A folder of conversations and a dataset of another kind do not share a directory.
#[test]
fn other_kinds_are_not_written_into() {
    let dir = TempDir::new();
    let row = r#"{"synth_id":"a","query":"q","synthetic_reasoning":"r","synthetic_answer":"s"}"#;
    dir.write("raw/a.ndjson", format!("{row}\n"));
    script(&dir, "synth-raw.sh raw folder", &[]).ok();
    script(&dir, "synth-kd.sh raw root --raw --valid-fraction 0", &[]).ok();
    let set = "puzzle-encode domino --num-games 20 --seed 1 -q | npy-pack -q -o set";
    dir.bash(set).ok();
    let all = || -> Vec<(String, Vec<u8>)> {
        let files = ["folder", "root", "set"].map(|name| {
            let files = files_in(&dir.path().join(name)).into_iter();
            files.map(|file| format!("{name}/{file}")).collect::<Vec<String>>()
        });
        files.concat().into_iter().map(|name| (name.clone(), dir.read(&name))).collect()
    };
    let before = all();
    let is_last = "nothing else is written there; try: another directory";
    for (place, kind) in [("root", "Megatron datasets"), ("set", "a puzzle set")] {
        let line = format!("synth-raw.sh raw {place} --overwrite");
        script(&dir, &line, &[]).fails(2, &[&format!("belongs to {kind}: {is_last}")]);
    }
    let cause = format!("manifest.json: belongs to a folder of Parquet shards: {is_last}");
    script(&dir, "synth-kd.sh raw folder --raw --overwrite", &[]).fails(2, &[&cause]);
    for target in [["--root=folder", "--shard=s"], ["--prefix=folder/p", "-q"]] {
        let sink = tool("mmidx-write").args(&target).in_directory(dir.path());
        sink.input(masked_answer("a", &[64])).run().fails(2, &[&cause]);
    }
    assert!(all() == before, "something has changed");
    // Parquet files of one's own are no dataset of ours.
    dir.write("own/mine.parquet", dir.read("folder/synth_harmony_shard_00.parquet"));
    let sink = tool("mmidx-write").args(&["--prefix=own/p", "-q"]).in_directory(dir.path());
    sink.input(masked_answer("a", &[64])).run().ok();
    assert!(dir.path().join("own/mine.parquet").exists());
}

#[test]
fn a_bad_file_publishes_nothing() {
    let Some(raw) = raw_files() else { return };
    let dir = TempDir::new();
    for file in files_in(&raw) {
        dir.write(&format!("raw/{file}"), fs::read(raw.join(&file)).unwrap());
    }
    let cut = dir.read("raw/synth_003.parquet");
    dir.write("raw/synth_003.parquet", &cut[..cut.len() / 2]);
    let line = "synth-raw.sh raw out --shards 5 --jobs 1";
    let run = script(&dir, line, &[]);
    run.exits(1, &["raw/synth_003.parquet: "]);
    assert!(!dir.path().join("out").exists(), "its footer tells it before any work");
    let mut damaged = cut.clone();
    damaged[4..3000].fill(0xff);
    dir.write("raw/synth_003.parquet", damaged);
    let run = script(&dir, line, &[]);
    run.exits(1, &["raw/synth_003.parquet: "]);
    let stands = files_in(&dir.path().join("out"));
    let made = stands.iter().filter(|name| name.ends_with(".parquet")).count();
    assert!(made == 2 && !stands.contains(&"manifest.json".to_string()), "{stands:?}");
    dir.write("raw/synth_003.parquet", cut);
    script(&dir, &format!("{line} --resume"), &[]).ok();
    assert_eq!(dir.json("out/manifest.json")["records"]["written"], 402);
}
