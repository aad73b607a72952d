//! `npy-pack --layout selfplay-v1` against numpy, what it refuses to lose, and the manifest that
//! every pack has.
//!
//! Runs when `GRISTMILL_PYTHON` names a Python with numpy; else it says that it was skipped.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{
    Outcome, TempDir, assert_no_temporaries, assert_npyz_reads, bash, oracle, python, python_code,
    tool,
};
use crate::games::{Folder, GameText};

/// The pools of the oracle.
fn pools() -> Option<(PathBuf, TempDir)> {
    let python = python()?;
    let directory = TempDir::new();
    oracle(&python, "pools.py", &[directory.path().to_str().unwrap()]).ok();
    Some((python, directory))
}

/// ds-cat and npy-pack in a pipe, with flags for each.
fn pipe(cat: &str, pack: &str) -> Outcome {
    bash(&format!("set -o pipefail; ds-cat -q {cat} | npy-pack {pack}"))
}

/// Runs and session of a pool, by sqlite3.
fn database(python: &Path, pool: &str) -> Value {
    oracle(python, "database.py", &[pool]).silent().records().remove(0)
}

fn shards(directory: &TempDir, pool: &str) -> Vec<String> {
    let files = directory.files().into_iter();
    files
        .filter_map(|name| Some(name.strip_prefix(&format!("{pool}/steps"))?.to_string()))
        .collect()
}

/// A pool written anew is what numpy makes of it: the rows, and the runs.
#[track_caller]
fn assert_is_numpys(python: &Path, directory: &TempDir, ours: &str, most: &str, pools: &[&str]) {
    let expected = format!("{ours}-expected");
    fs::create_dir(directory.path().join(&expected)).unwrap();
    let pools: Vec<String> = pools.iter().map(|pool| directory.at(pool)).collect();
    let mut arguments = vec![directory.at(&expected), most.to_string()];
    arguments.extend(pools);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runs = oracle(python, "selfplay.py", &arguments).silent().records().remove(0);
    assert_eq!(shards(directory, ours), shards(directory, &expected));
    for shard in shards(directory, &expected) {
        let [a, b] = [ours, &expected].map(|pool| directory.read(&format!("{pool}/steps{shard}")));
        assert!(a == b, "{ours}/steps{shard}: {} bytes, not {}", a.len(), b.len());
    }
    assert_eq!(database(python, &directory.at(ours))["runs"], runs, "{ours}");
}

#[test]
fn selfplay_pools_are_what_numpy_writes() {
    let Some((python, directory)) = pools() else { return };
    // Interleaved rows, gaps in the steps, run ids of 64 bits, runs without rows.
    for (name, flags, most) in [
        ("by-million", "", "1000000"),
        ("by-50", "--shard-rows 50", "50"),
        ("by-7", "--shard-rows 7", "7"),
    ] {
        for to in ["ndjson", "arrow"] {
            let ours = format!("{name}-{to}");
            let to = format!("{} --to {to}", directory.at("selfplay"));
            let out = directory.at(&ours);
            pipe(&to, &format!("-q -o {out} --layout selfplay-v1 --lossy {flags}")).silent();
            assert_is_numpys(&python, &directory, &ours, most, &["selfplay"]);
            assert!(assert_npyz_reads(Path::new(&out)) > 0);
        }
    }
    assert_eq!(shards(&directory, "by-million-arrow"), ["-000001.npy"]);
    // Written and read again it is the same, and nothing is lost any more.
    let (once, twice) = (directory.at("by-50-arrow"), directory.at("twice"));
    pipe(&once, &format!("-o {twice} --layout selfplay-v1 --shard-rows 50")).silent();
    for name in ["metadata.db", "steps-000001.npy", "steps-000002.npy"] {
        let [a, b] = ["by-50-arrow", "twice"].map(|pool| directory.read(&format!("{pool}/{name}")));
        assert!(a == b, "{name}");
    }
    // Several pools are one.
    let (empty, both) = (directory.at("selfplay-empty"), directory.at("both"));
    pipe(&format!("{empty} {once} {twice}"), &format!("-o {both} --layout selfplay-v1")).silent();
    let inputs = ["selfplay-empty", "by-50-arrow", "twice"];
    assert_is_numpys(&python, &directory, "both", "1000000", &inputs);
    // No rows are one shard without rows.
    let none = directory.at("none");
    pipe(&empty, &format!("-o {none} --layout selfplay-v1")).silent();
    assert_is_numpys(&python, &directory, "none", "1000000", &["selfplay-empty"]);
    assert_no_temporaries(directory.path());
}

/// Rows without padding, as the published packer writes them: numpy's conversion of the aligned ones.
#[test]
fn packed_rows_are_what_numpy_writes() {
    let Some((python, directory)) = pools() else { return };
    let root = directory.path().display();
    let script = "import sys, numpy as np\n\
        rows = np.load(sys.argv[1])\n\
        packed = np.dtype([(name, rows.dtype[name]) for name in rows.dtype.names])\n\
        assert packed.itemsize == 46\n\
        np.save(sys.argv[2], rows.astype(packed))\n";
    for flags in ["", "--shard-rows 50"] {
        bash(&format!(
            "set -e; cd {root}; rm -rf wide narrow again; npy-pack aligned -o wide {flags}; \
             npy-pack aligned -o narrow --layout macroxue-packed {flags}; \
             ds-check -q narrow --only pool.manifest,pool.shard,pool.files; npy-pack narrow -o again {flags}"
        ))
        .silent();
        assert!(shards(&directory, "wide").len() > usize::from(!flags.is_empty()));
        for shard in shards(&directory, "wide") {
            let name = directory.at(&format!("wide/steps{shard}"));
            python_code(&python, script, &[&name, &directory.at("expected.npy")]).ok();
            let packed = directory.read(&format!("narrow/steps{shard}"));
            assert!(packed == directory.read("expected.npy"), "{shard}");
            let again = directory.read(&format!("again/steps{shard}"));
            assert!(again == directory.read(&format!("wide/steps{shard}")), "{shard}");
        }
        for name in ["metadata.db", "valuation_types.json"] {
            let [a, b] = ["wide", "narrow"].map(|pack| directory.read(&format!("{pack}/{name}")));
            assert!(a == b, "{name}");
        }
        assert_eq!(directory.json("narrow/manifest.json")["layout"], "macroxue-packed");
        assert!(assert_npyz_reads(Path::new(&directory.at("narrow"))) > 0);
    }
}

#[test]
fn packs_become_selfplay_pools_only_with_lossy() {
    let Some((python, directory)) = pools() else { return };
    let lost = "board_eval, move_dir, valuation_type, ev_legal, max_rank, branch_evs";
    // A pool without names has no valuation types to lose.
    let lost =
        |name| if name == "bare" { lost.replace("valuation_type, ", "") } else { lost.into() };
    for name in ["aligned", "shards", "packed", "bare"] {
        let lost = lost(name);
        let (from, ours) = (directory.at(name), format!("{name}-boards"));
        let out = directory.at(&ours);
        let flags = format!("-o {out} --layout selfplay-v1");
        pipe(&from, &flags).says(
            1,
            &format!("npy-pack: stdin:1: the layout selfplay-v1 would lose {lost}; try: --lossy"),
        );
        assert!(!Path::new(&out).exists());
        let run = pipe(&from, &format!("{flags} --lossy")).ok();
        assert_eq!(run.stderr, format!("npy-pack: warning: lost: {lost}\n"));
        assert_is_numpys(&python, &directory, &ours, "1000000", &[name]);
        let session = |pool: &str| database(&python, pool)["session"].clone();
        assert_eq!(names(&session(&out)), names(&session(&from)), "{name}");
        let manifest = directory.json(&format!("{ours}/manifest.json"));
        assert_eq!(manifest["lost"], json!(lost.split(", ").collect::<Vec<_>>()));
        assert!(!Path::new(&format!("{out}/valuation_types.json")).exists());
        // There is no way back: what a row of a pack needs is not known any more.
        let back = directory.at(&format!("{name}-back"));
        pipe(&out, &format!("-o {back}")).fails(
            1,
            &[
                "stdin:1: ",
                "step 0: `ev_legal` is null, and the row needs it",
                "--layout selfplay-v1",
            ],
        );
        assert!(!Path::new(&back).exists());
        // Rows of one layout do not stay beside those of the other.
        let named = directory.at(if name == "bare" { "aligned" } else { name });
        pipe(&named, &format!("-q -o {out} --overwrite")).silent();
        assert_eq!(shards(&directory, &ours), [".npy"]);
        pipe(&from, &format!("-q -o {out} --overwrite --layout selfplay-v1 --lossy")).silent();
        assert_eq!(shards(&directory, &ours), ["-000001.npy"]);
    }
}

/// Boards that are not known are named as lost: those of a pool whose tiles end at 32768, and those with several
/// tiles over it of a pack, which does not say which of them is 131072.
#[test]
fn tiles_over_32768_are_named_as_lost() {
    let Some(python) = python() else { return };
    let directory = TempDir::new();
    let run = |line: &str| bash(&format!("set -o pipefail; cd {}; {line}", directory.at("")));
    let script = r#"
import numpy as np, os, sqlite3
def pool(name, boards, highest):
    os.mkdir(name)
    rows = np.zeros(len(boards), [('board', '<u8'), ('run_id', '<u4'), ('step_index', '<u4')])
    rows['board'] = [sum(min(c, 15) << (4 * (15 - i)) for i, c in enumerate(b)) for b in boards]
    rows['step_index'] = range(len(boards))
    np.save(f'{name}/steps.npy', rows)
    d = sqlite3.connect(f'{name}/metadata.db')
    d.execute('create table runs(id integer primary key, seed bigint, steps int, max_score int, highest_tile int)')
    d.execute('insert into runs values(0, 1, ?, 4, ?)', (len(boards), highest))
    d.commit()
pool('past', [[16, 15, 1, 1] + [0] * 12, [16, 15, 2, 0, 1] + [0] * 11], 65536)
pool('merged', [[15, 15, 1, 1] + [0] * 12, [16, 2, 0, 0, 1] + [0] * 11], 65536)
pool('below', [[15, 14, 1, 1] + [0] * 12, [15, 14, 2, 0, 1] + [0] * 11], 32768)
"#;
    directory.write("pools.py", script);
    run(&format!("{} pools.py", python.display())).silent();
    let v1 = "--layout selfplay-v1";
    run(&format!("npy-pack below -o below-v1 {v1} && ds-check -q below-v1")).ok();
    let refused = ["the layout selfplay-v1 would lose tiles over 32768; try: --lossy"];
    let checked = |pool: &str| {
        let checked = run(&format!("ds-check {pool}")).ok();
        assert!(checked.text().contains("pool.step.lost"), "{checked:?}");
        assert!(!checked.text().contains(" error "), "{checked:?}");
    };
    for pool in ["past", "merged"] {
        run(&format!("npy-pack {pool} -o no {v1}")).fails(1, &refused);
        run(&format!("ds-cat -q {pool} | npy-pack -o no {v1}")).fails(1, &refused);
        let made = run(&format!("npy-pack {pool} -o {pool}-v1 {v1} --lossy")).ok();
        assert_eq!(made.stderr, "npy-pack: warning: lost: tiles over 32768\n");
        let manifest = directory.json(&format!("{pool}-v1/manifest.json"));
        assert_eq!(manifest["lost"], json!(["tiles over 32768"]));
        checked(&format!("{pool}-v1"));
        // What was lost stays so.
        run(&format!("npy-pack {pool}-v1 -o no {v1}")).fails(1, &refused);
        run(&format!("ds-cat -q {pool}-v1 | npy-pack -o no {v1}")).fails(1, &refused);
    }
    directory.write("raw/g.meta.json", r#"{"seed":1,"num_moves":2,"score":4,"max_tile":131072}"#);
    let steps = r#"{"move":"left","board":[17,16,1,1,0,0,0,0,0,0,0,0,0,0,0,0]}
{"move":"down","board":[17,16,2,0,2,0,0,0,0,0,0,0,0,0,0,0]}
"#;
    directory.write("raw/g.jsonl", steps);
    run("gzip raw/g.jsonl && mx-decode raw | npy-pack -o pack -q").ok();
    // A log says which is which.
    let exact = run(&format!("mx-decode raw | npy-pack -o exact {v1} --lossy")).ok();
    assert!(!exact.stderr.contains("32768"), "{exact:?}");
    for line in ["npy-pack pack", "ds-cat -q pack | npy-pack"] {
        let made = run(&format!("{line} -o known {v1} --lossy --overwrite")).ok();
        assert!(made.stderr.ends_with("max_rank, tiles over 32768\n"), "{made:?}");
        let checked = run("ds-check known").ok();
        assert!(!checked.text().contains(" error "), "{checked:?}");
    }
    run(&format!("npy-pack known -o no {v1}")).fails(1, &refused);
    assert!(!directory.path().join("no").exists());
}

fn names(session: &Value) -> Vec<&String> {
    session.as_object().unwrap().keys().collect()
}

#[test]
fn what_games_have_no_place_for_is_told_through_the_pipe() {
    let Some((python, directory)) = pools() else { return };
    let (selfplay, legacy) = (directory.at("selfplay"), directory.at("legacy"));
    let out = directory.at("out");
    let v1 = format!("-o {out} --layout selfplay-v1");
    let would = "npy-pack: the layout selfplay-v1 would lose";
    for to in ["--to ndjson", "--to arrow", "--to ndjson --limit 1", "--to arrow --slice 1/2"] {
        for (pool, lost) in [(&selfplay, "embeddings-*.npy"), (&legacy, "score, move_dir")] {
            let run = pipe(&format!("{pool} {to}"), &v1);
            run.exits(1, &[&format!("the layout selfplay-v1 would lose {lost};")]);
            assert!(!Path::new(&out).exists());
        }
    }
    // The header alone is enough, and so is a pool without games.
    pipe(&format!("{selfplay} --to arrow --limit 0"), &v1)
        .says(1, &format!("{would} embeddings-*.npy; try: --lossy"));
    let run = pipe(&format!("{legacy} {selfplay}"), &format!("{v1} --lossy")).ok();
    assert_eq!(run.stderr, "npy-pack: warning: lost: score, move_dir, embeddings-*.npy\n");
    assert_eq!(database(&python, &out)["session"], json!({}), "the list is not a key of the pool");
    // The order of moves given as numbers is not known, so they are left out too.
    let script = "import sys, numpy as np; rows = np.zeros(2, [('board', '<u8'), ('move', 'u1')]); \
                  np.save(sys.argv[1], rows)";
    let numeric = directory.write("numeric/x", "");
    bash(&format!("{} -c \"{script}\" {}", python.display(), numeric.replace("/x", "/steps.npy")))
        .silent();
    pipe(&directory.at("numeric"), &format!("{v1} --overwrite"))
        .fails(1, &["would lose move; try: --lossy"]);
    // Raw logs have more for a step than its board.
    let folder = Folder::new();
    GameText::played(3).write(&folder, "g");
    let line = tool("mx-decode").args(&[folder.path.to_str().unwrap()]).run().silent().stdout;
    let flags = ["-o", &directory.at("raw"), "--layout", "selfplay-v1"];
    let run = tool("npy-pack").args(&flags).input(&line).run();
    run.fails(1, &["stdin:1: ", "valuation_type, valuation, ev_legal", "branch_evs; try: --lossy"]);
    tool("npy-pack").args(&flags).args(&["--lossy", "-q"]).input(&line).run().silent();
    // The steps' seed is the run's; another one would be lost.
    let line = r#"{"seed":7,"steps":[{"step_index":3,"board":[0,0,0,0,1,2,3,4,5,6,7,8,9,10,16,17],"seed":S}]}"#;
    let seeded = |seed: &str| {
        let line = format!("{}\n", line.replace('S', seed));
        tool("npy-pack")
            .args(&["-o", &directory.at("seeds"), "--layout", "selfplay-v1", "--overwrite"])
            .input(line)
            .run()
    };
    seeded("8").fails(1, &["would lose seed; try: --lossy"]);
    for same in ["7", "null"] {
        seeded(same).silent();
    }
    assert!(
        directory
            .read("seeds/steps-000001.npy")
            .ends_with(&[0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17])
    );
}

#[test]
fn a_manifest_says_what_was_written() {
    let Some((python, directory)) = pools() else { return };
    let hash = |path: &str| {
        let script = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
        bash(&format!("{} -c \"{script}\" {path}", python.display()))
            .silent()
            .text()
            .trim()
            .to_string()
    };
    let from = format!("{} --to arrow", directory.at("aligned"));
    for (flags, files) in [
        (
            "--shard-rows 20",
            vec![
                "steps-00000.npy",
                "steps-00001.npy",
                "steps-00002.npy",
                "steps-00003.npy",
                "valuation_types.json",
                "metadata.db",
            ],
        ),
        ("--layout selfplay-v1 --lossy", vec!["steps-000001.npy", "metadata.db"]),
        ("", vec!["steps.npy", "valuation_types.json", "metadata.db"]),
    ] {
        let out = directory.at("out");
        pipe(&from, &format!("-q -o {out} --overwrite {flags}")).silent();
        assert!(assert_npyz_reads(Path::new(&out)) > 0);
        let manifest = directory.json("out/manifest.json");
        assert_eq!((&manifest["runs"], &manifest["rows"]), (&5.into(), &63.into()));
        // The pool has no manifest: what was dropped before is not known.
        let records = json!({"read": null, "written": 5, "rejected": null, "skipped": null});
        assert_eq!(manifest["records"], records);
        assert_eq!(manifest["schema_version"], "gristmill_pack_v1");
        let described: Vec<&str> = manifest["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["path"].as_str().unwrap())
            .collect();
        assert_eq!(described, files);
        for file in manifest["files"].as_array().unwrap() {
            let path = format!("{out}/{}", file["path"].as_str().unwrap());
            assert_eq!(file["bytes"], fs::metadata(&path).unwrap().len());
            assert_eq!(file["sha256"], hash(&path), "{path}");
        }
        let rows = manifest["files"].as_array().unwrap().iter().filter_map(|f| f["rows"].as_u64());
        assert_eq!(rows.sum::<u64>(), 63);
        let chain: Vec<&Value> =
            manifest["provenance"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
        assert_eq!(chain, ["ds-cat", "npy-pack"]);
        // Nothing in it depends on this run.
        let first = directory.read("out/manifest.json");
        pipe(&from, &format!("-q -o {out} --overwrite {flags}")).silent();
        assert!(directory.read("out/manifest.json") == first);
        pipe(&from, &format!("-q -o {out} --overwrite {flags} --no-provenance")).silent();
        assert_eq!(directory.json("out/manifest.json").get("provenance"), None);
    }
    // What any filter has dropped is counted.
    let folder = Folder::new();
    GameText::played(2).write(&folder, "a");
    let mut bad = GameText::played(2);
    bad.steps.pop();
    bad.write(&folder, "b");
    let raw = folder.path.display();
    let out = directory.at("skipped");
    bash(&format!("mx-decode {raw} --on-error skip -q --to arrow | npy-pack -o {out}")).ok();
    let manifest = directory.json("skipped/manifest.json");
    assert_eq!(manifest["records"], json!({"read": 2, "written": 1, "rejected": 1}));
}
