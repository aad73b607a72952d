//! `npy-pack POOL...`: pools merged without a stream between, against `ds-cat POOL... | npy-pack`.
//!
//! Runs when `GRISTMILL_PYTHON` names a Python with numpy; else it says that it was skipped.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{TempDir, assert_no_temporaries, bash, files_in, oracle, python, tool};

/// The pools of the oracle.
fn pools() -> Option<TempDir> {
    let python = python()?;
    let directory = TempDir::new();
    oracle(&python, "pools.py", &[directory.path().to_str().unwrap()]).ok();
    Some(directory)
}

fn paths(directory: &TempDir, pools: &str) -> String {
    let paths: Vec<String> = pools.split(' ').map(|pool| directory.at(pool)).collect();
    paths.join(" ")
}

/// Packs pools both ways into `name-direct` and `name-piped`.
#[track_caller]
fn both(directory: &TempDir, name: &str, pools: &str, input: &str, flags: &str) {
    let pools = paths(directory, pools);
    let [direct, piped] = ["direct", "piped"].map(|way| directory.at(&format!("{name}-{way}")));
    bash(&format!("npy-pack -q --no-provenance {pools} {input} -o {direct} {flags}")).ok();
    bash(&format!(
        "set -o pipefail; ds-cat -q {pools} {input} --to arrow | \
         npy-pack -q --no-provenance -o {piped} {flags}"
    ))
    .ok();
    let files = files_in(Path::new(&piped));
    assert_eq!(files_in(Path::new(&direct)), files, "{name}");
    assert!(files.len() > 2, "{name}: {files:?}");
    for file in files {
        let [a, b] = ["direct", "piped"].map(|way| directory.read(&format!("{name}-{way}/{file}")));
        assert!(a == b, "{name}: {file}: {} bytes, not {}", a.len(), b.len());
    }
}

#[test]
fn every_pool_becomes_what_the_pipe_makes_of_it() {
    let Some(directory) = pools() else { return };
    let mut names: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_string())
        .collect();
    names.sort();
    assert!(names.len() > 9, "{names:?}");
    for (number, name) in names.iter().enumerate() {
        both(&directory, &format!("v1-{number}"), name, "", "--layout selfplay-v1 --lossy");
    }
    both(&directory, "all", &names.join(" "), "", "--layout selfplay-v1 --lossy --shard-rows 20");
    let packs = "aligned packed shards packed-shards";
    both(&directory, "one", packs, "", "");
    both(&directory, "shards", packs, "", "--shard-rows 7");
    for part in 0..3 {
        both(&directory, &format!("part-{part}"), packs, &format!("--slice {part}/3"), "");
    }
    assert_no_temporaries(directory.path());
}

/// Overwrites bytes of a file, counted from its end.
fn patch(directory: &TempDir, file: &str, from_end: usize, bytes: &[u8]) {
    let mut content = directory.read(file);
    let at = content.len() - from_end;
    content[at..at + bytes.len()].copy_from_slice(bytes);
    directory.write(file, content);
}

#[test]
fn what_the_pipe_refuses_is_refused() {
    let Some(directory) = pools() else { return };
    let out = directory.at("out");
    let run = |pools: &str, flags: &str| {
        bash(&format!("npy-pack -q {} -o {out} {flags}", paths(&directory, pools)))
    };
    let sound = directory.read("aligned/steps.npy");
    // Fields of the last row, by their offset from the end of the file.
    for (from_end, bytes, what) in [
        (26, &[4u8][..], "move_dir is 4, over 3"),
        (24, &[16], "ev_legal is 16, over 15"),
        (28, &[0xff, 0xff], "tile_65536_mask has the bit of a cell that is not 15"),
    ] {
        patch(&directory, "aligned/steps.npy", from_end, bytes);
        let place = "npy-pack: ";
        run("shards aligned", "").fails(1, &[place, "aligned/steps.npy: row 62: ", what]);
        assert!(!Path::new(&out).exists());
        directory.write("aligned/steps.npy", &sound);
    }
    directory.write("aligned/steps.npy", &sound[..sound.len() - 1]);
    run("shards aligned", "").fails(1, &["aligned/steps.npy: the .npy file is cut"]);
    // Ids that have no name, without the file that has them: no pack, bad games.
    directory.write("aligned/steps.npy", &sound);
    fs::remove_file(directory.at("aligned/valuation_types.json")).unwrap();
    let line = "`valuation_type` is null, and the row needs it; try: a valuation_types.json";
    run("shards aligned", "").fails(1, &["aligned: record 1: step 0: ", line]);
    let rejects = directory.at("rejects");
    let skip = format!("--on-error skip --rejects {rejects}");
    both(&directory, "skipped", "shards aligned", "", &skip);
    let manifest = directory.json("skipped-direct/manifest.json");
    // The pools have no manifest: what was dropped before is not known.
    let unknown =
        serde_json::json!({"read": null, "written": 6, "rejected": null, "skipped": null});
    assert_eq!(manifest["records"], unknown);
    assert_eq!(fs::read_to_string(&rejects).unwrap().lines().count(), 4);
    assert_no_temporaries(directory.path());
}

/// Rows are copied from pack to pack; what a writer would have made otherwise is made so.
#[test]
fn rows_of_other_writers_become_what_the_pipe_makes_of_them() {
    let Some(directory) = pools() else { return };
    // Of the last row: padding, and values of branches that are not legal.
    let values = [-0.0f32, f32::NAN, 7.5, f32::INFINITY].map(f32::to_le_bytes).concat();
    patch(&directory, "aligned/steps.npy", 24, &[0b0101]);
    patch(&directory, "aligned/steps.npy", 22, &[1, 2]);
    patch(&directory, "aligned/steps.npy", 16, &values);
    let row = |name: &str| {
        let rows = directory.read(&format!("{name}/steps.npy"));
        rows[rows.len() - 48..].to_vec()
    };
    both(&directory, "made", "packed aligned", "", "");
    let expected = [-0.0f32, 0.0, 7.5, 0.0].map(f32::to_le_bytes).concat();
    assert_eq!(row("made-direct")[24..28], [0b0101, row("aligned")[25], 0, 0]);
    assert_eq!(row("made-direct")[32..], expected);
    both(&directory, "without-padding", "packed aligned", "", "--layout macroxue-packed");
    // The same names under other numbers.
    let names = r#"{"tuple11": 0, "tuple10": 1, "other": 2, "search": 3}"#;
    directory.write("aligned/valuation_types.json", names);
    patch(&directory, "aligned/steps.npy", 25, &[2]);
    both(&directory, "renamed", "packed aligned", "", "");
    assert_eq!(row("renamed-direct")[23], 3);
    // Rows that are not where metadata.db says: two runs have changed places.
    let sound = directory.read("aligned/steps.npy");
    let mut rows = sound[384..].chunks(48).map(<[u8]>::to_vec).collect::<Vec<_>>();
    rows.rotate_left(3);
    directory.write("aligned/steps.npy", [sound[..384].to_vec(), rows.concat()].concat());
    both(&directory, "moved", "packed aligned", "", "");
    assert_no_temporaries(directory.path());
}

#[test]
fn inputs_that_do_not_go_together_are_refused() {
    let Some(directory) = pools() else { return };
    let [pool, games] = ["aligned", "aligned.ndjson"].map(|name| directory.at(name));
    let pack = |args: &[&str]| tool("npy-pack").args(args).run();
    let out = directory.at("out");
    let line = "aligned.ndjson: pools of games and other files cannot be read together";
    pack(&[&pool, &games, "-o", &out]).fails(2, &[line]);
    pack(&[&pool, "-o", &out, "--seq-len", "3"]).fails(2, &["--seq-len is for puzzles"]);
    pack(&[&pool, "-o", &out, "--expect-records", "4"]).fails(1, &["expected 4 records, got 5"]);
    pack(&[&directory.at("selfplay"), "-o", &out]).fails(1, &["would lose embeddings-*.npy"]);
    assert!(!Path::new(&out).exists());
    let before = directory.read("aligned/steps.npy");
    let dotted = format!("{pool}/.");
    for to in [&pool, &dotted] {
        let line = "aligned, an input of this run";
        pack(&[&directory.at("shards"), &pool, "-o", to, "--overwrite"]).fails(2, &[line]);
    }
    assert!(directory.read("aligned/steps.npy") == before);
    // The chain says who has done what.
    bash(&format!("set -o pipefail; ds-cat -q {pool} --to arrow | npy-pack -q -o {out}")).ok();
    let again = directory.at("again");
    pack(&["-q", &out, &pool, "-o", &again]).silent();
    let manifest = directory.json("again/manifest.json");
    let chain: Vec<&Value> =
        manifest["provenance"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(chain, ["ds-cat", "npy-pack", "npy-pack"]);
    assert_no_temporaries(directory.path());
}
