//! Pools of games: ds-cat against what numpy and sqlite3 put into them.
//!
//! Runs when `GRISTMILL_PYTHON` names a Python with numpy; else it says that it was skipped.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{TempDir, bash, oracle, python, tool};

/// All pools of the oracle, with their games.
fn pools() -> Option<TempDir> {
    let python = python()?;
    let directory = TempDir::new();
    oracle(&python, "pools.py", &[directory.path().to_str().unwrap()]).ok();
    Some(directory)
}

fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let pools = entries.filter(|path| path.is_dir());
    pools.map(|path| path.file_name().unwrap().to_str().unwrap().to_string()).collect()
}

fn expected(directory: &TempDir, name: &str) -> Vec<Value> {
    let text = directory.text(&format!("{name}.ndjson"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn assert_games(name: &str, found: &[Value], expected: &[Value]) {
    for (found, expected) in found.iter().zip(expected) {
        for (key, value) in expected.as_object().unwrap() {
            if key != "steps" {
                assert_eq!(&found[key], value, "{name}: {key} of run {}", found["run_id"]);
            }
        }
        let (ours, theirs) = (&found["steps"], &expected["steps"]);
        let pairs = ours.as_array().unwrap().iter().zip(theirs.as_array().unwrap());
        for (number, (ours, theirs)) in pairs.enumerate() {
            let place = format!("{name}: row {number} of run {}", found["run_id"]);
            assert_eq!(ours, theirs, "{place}");
        }
        assert_eq!(found, expected, "{name}: run {}", found["run_id"]);
    }
    assert_eq!(found.len(), expected.len(), "{name}");
}

#[test]
fn every_pool_comes_back_as_the_games_that_were_put_in() {
    let Some(directory) = pools() else { return };
    let names = names(&directory);
    assert!(names.len() > 9, "{names:?}");
    for name in &names {
        let path = directory.at(name);
        let outcome = tool("ds-cat").args(&[&path, "-q"]).run().silent();
        let games = expected(&directory, name);
        assert_games(name, &outcome.records(), &games);
        let count = tool("ds-cat").args(&[&path, "-q", "--count"]).run().silent();
        assert_eq!(count.text(), format!("{}\n", games.len()), "{name}");
        // Arrow and back is the same.
        let arrow = tool("ds-cat").args(&[&path, "-q", "--to", "arrow"]).run().silent();
        let back = tool("ds-cat").input(arrow.stdout).run().silent();
        assert!(back.stdout == outcome.stdout, "{name}");
    }
}

#[test]
fn pools_follow_one_another_and_slices_make_the_whole() {
    let Some(directory) = pools() else { return };
    let mut names = names(&directory);
    names.sort();
    let paths: Vec<String> = names.iter().map(|name| directory.at(name)).collect();
    let whole = tool("ds-cat").args(&paths).args(&["-q"]).run().silent();
    let games: Vec<Value> = names.iter().flat_map(|name| expected(&directory, name)).collect();
    assert_games("all", &whole.records(), &games);
    for count in [1, 4, 100] {
        let mut joined = Vec::new();
        for index in 0..count {
            let slice = format!("{index}/{count}");
            let part = tool("ds-cat").args(&paths).args(&["-q", "--slice", &slice]).run().silent();
            joined.extend(part.stdout);
        }
        assert!(joined == whole.stdout, "{count} slices");
    }
    let first = tool("ds-cat").args(&paths).args(&["-q", "--limit", "7"]).run().silent();
    assert_games("limit", &first.records(), &games[..7]);
    let some =
        tool("ds-cat").args(&paths).args(&["-q", "--columns", "score,run_id"]).run().silent();
    let columns: Vec<Value> = games
        .iter()
        .map(|game| serde_json::json!({"score": game["score"], "run_id": game["run_id"]}))
        .collect();
    assert_eq!(some.records(), columns);
}

#[test]
fn what_games_cannot_hold_is_said() {
    let Some(directory) = pools() else { return };
    let said =
        |name: &str| tool("ds-cat").args(&[&directory.at(name), "--limit", "1"]).run().ok().stderr;
    let line = "left out, games have no place for it:";
    assert!(said("selfplay").contains(&format!("selfplay: {line} embeddings-*.npy\n")));
    assert!(said("legacy").contains(&format!("legacy: {line} score\n")));
    assert_eq!(said("aligned"), "");
}

/// ds-cat on a pool after a change to it.
fn changed(name: &str, change: impl FnOnce(&Path), code: i32, parts: &[&str]) {
    let Some(directory) = pools() else { return };
    let path = directory.path().join(name);
    change(&path);
    tool("ds-cat").args(&[&directory.at(name), "-q"]).run().fails(code, parts);
}

/// Overwrites bytes of a file, counted from its end if `at` is negative.
fn patch(path: &Path, at: i64, bytes: &[u8]) {
    let mut content = fs::read(path).unwrap();
    let start = usize::try_from(if at < 0 { content.len() as i64 + at } else { at }).unwrap();
    content[start..start + bytes.len()].copy_from_slice(bytes);
    fs::write(path, content).unwrap();
}

#[test]
fn steps_in_one_file_and_in_shards_are_refused() {
    let both = |pool: &Path| drop(fs::copy(pool.join("steps-00000.npy"), pool.join("steps.npy")));
    changed("shards", both, 1, &["shards: both steps.npy and steps-*.npy"]);
}

#[test]
fn truncated_and_foreign_files_are_named() {
    let cut = |pool: &Path| {
        let path = pool.join("steps.npy");
        let content = fs::read(&path).unwrap();
        fs::write(&path, &content[..content.len() - 1]).unwrap();
    };
    changed("aligned", cut, 1, &["aligned/steps.npy: the .npy file is cut: "]);
    let foreign = |pool: &Path| fs::write(pool.join("steps.npy"), "run_id,step\n1,2\n").unwrap();
    changed("aligned", foreign, 1, &["aligned/steps.npy: not a .npy file"]);
    let empty = |pool: &Path| fs::write(pool.join("steps.npy"), "").unwrap();
    changed("aligned", empty, 1, &["aligned/steps.npy: the file ends inside its .npy header"]);
    let others = |pool: &Path| {
        let other = pool.parent().unwrap().join("packed/steps.npy");
        fs::copy(other, pool.join("steps-00003.npy")).unwrap();
    };
    changed("shards", others, 1, &["steps-00003.npy: its rows differ from ", "steps-00000.npy"]);
    let embeddings = |pool: &Path| {
        let other = pool.parent().unwrap().join("selfplay/embeddings-000001.npy");
        fs::copy(other, pool.join("steps.npy")).unwrap();
    };
    changed("aligned", embeddings, 1, &["aligned/steps.npy: shape [50, 8], no rows"]);
}

#[test]
fn bad_rows_are_named() {
    let file = |pool: &Path| pool.join("steps.npy");
    // The last row: its fields by their offset from the end of the file.
    let (move_dir, kind, legal, evs) = (22 - 48, 23 - 48, 24 - 48, 32 - 48);
    let row = "aligned/steps.npy: row 62: ";
    let bad = |at: i64, bytes: &[u8], what: &str| {
        changed("aligned", |pool| patch(&file(pool), at, bytes), 1, &[row, what]);
    };
    bad(move_dir, &[4], "move_dir is 4, over 3");
    bad(legal, &[16], "ev_legal is 16, over 15");
    bad(20 - 48, &[0xff, 0xff], "tile_65536_mask has the bit of a cell that is not 15");
    let nan = [&[1u8][..], &[0; 7], &f32::NAN.to_le_bytes()].concat();
    assert_eq!(legal + 8, evs);
    bad(legal, &nan, "branch_evs has NaN for up");
    let lookup = |pool: &Path| {
        fs::write(pool.join("valuation_types.json"), r#"{"search": 0}"#).unwrap();
        patch(&file(pool), kind, &[9]);
    };
    changed("aligned", lookup, 1, &["steps.npy: row ", "is not in valuation_types.json"]);
    let broken = |pool: &Path| fs::write(pool.join("valuation_types.json"), "[1]").unwrap();
    changed("aligned", broken, 1, &["valuation_types.json: neither name to id, nor"]);
    let exponent = |pool: &Path| patch(&pool.join("steps-000001.npy"), -1, &[18]);
    changed("selfplay", exponent, 1, &["steps-000001.npy: row 49: cell 15 has the exponent 18"]);
}

/// A field of the rows of a legacy pool that games have, but no number that JSON lacks.
#[test]
fn a_valuation_that_is_not_finite_is_named() {
    let Some(python) = python() else { return };
    for value in ["nan", "inf", "-inf"] {
        let directory = TempDir::new();
        let make = format!(
            "import numpy as np; rows = np.zeros(3, [('run_id', '<u4'), ('step_index', '<u4'), \
             ('board', '<u8'), ('valuation', '<f4')]); rows['step_index'] = range(3); \
             rows['board'] = 17; rows['valuation'] = [1, 0.5, float('{value}')]; \
             np.save('steps.npy', rows)"
        );
        let script = format!("cd {} && {} -c \"{make}\"", directory.at("."), python.display());
        bash(&script).ok();
        let run = tool("ds-cat").args(&[&directory.at("."), "-q"]).run();
        run.fails(1, &["steps.npy: row 2: valuation"]);
    }
}

#[test]
fn an_unknown_valuation_without_lookup_is_null() {
    let Some(directory) = pools() else { return };
    patch(&directory.path().join("aligned/steps.npy"), 23 - 48, &[9]);
    fs::remove_file(directory.at("aligned/valuation_types.json")).unwrap();
    let outcome = tool("ds-cat").args(&[&directory.at("aligned")]).run().silent();
    let games = outcome.records();
    assert_eq!(games[4]["steps"][0]["valuation_type"], Value::Null);
}

#[test]
fn a_pack_without_its_database_is_refused() {
    let gone = |pool: &Path| fs::remove_file(pool.join("metadata.db")).unwrap();
    changed("aligned", gone, 2, &["aligned/metadata.db: no such file"]);
    changed("selfplay", gone, 2, &["selfplay/metadata.db: no such file"]);
    let other = |pool: &Path| fs::write(pool.join("metadata.db"), "x".repeat(5000)).unwrap();
    changed("aligned", other, 1, &["aligned/metadata.db: not a valid SQLite database"]);
    let steps = |pool: &Path| {
        let other = pool.parent().unwrap().join("aligned/metadata.db");
        fs::copy(other, pool.join("metadata.db")).unwrap();
    };
    let parts = ["legacy-boards: the rows have no run_id", "63 steps for 7 rows"];
    changed("legacy-boards", steps, 1, &parts);
}

#[test]
fn pools_and_other_inputs_are_not_mixed() {
    let Some(directory) = pools() else { return };
    let (pool, games) = (directory.at("aligned"), directory.at("aligned.ndjson"));
    let line = "pools of games and other files cannot be read together";
    tool("ds-cat").args(&[&pool, &games]).run().fails(2, &[line]);
    fs::create_dir(directory.path().join("nothing")).unwrap();
    let nothing = directory.at("nothing");
    tool("ds-cat")
        .args(&[&nothing])
        .run()
        .fails(2, &["nothing: is a directory without a dataset (no train/"]);
}

/// Packs a pool's games.
fn repack(directory: &TempDir, from: &str, to: &str) {
    let games = tool("ds-cat").args(&[&directory.at(from), "-q", "--to", "arrow"]).run().silent();
    tool("npy-pack").args(&["-q", "-o", &directory.at(to)]).input(games.stdout).run().silent();
}

#[test]
fn a_pack_read_and_packed_again_is_the_same() {
    let Some(directory) = pools() else { return };
    for name in ["aligned", "shards", "packed", "packed-shards", "no-rows"] {
        let (once, twice) = (format!("{name}-once"), format!("{name}-twice"));
        repack(&directory, name, &once);
        repack(&directory, &once, &twice);
        for file in ["steps.npy", "metadata.db", "valuation_types.json"] {
            let (once, twice) = (format!("{once}/{file}"), format!("{twice}/{file}"));
            assert!(directory.read(&once) == directory.read(&twice), "{name}: {file}");
        }
        let cat = |name: &str| tool("ds-cat").args(&[&directory.at(name)]).run().silent().records();
        assert_games(name, &cat(&once), &expected(&directory, name));
    }
    // numpy's own bytes.
    assert!(directory.read("aligned-once/steps.npy") == directory.read("aligned/steps.npy"));
}
