//! Merging packs: `ds-cat A B | npy-pack` against decoding both inputs at once, and the script that
//! deletes inputs only when it may.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::{
    Edit, Outcome, TempDir, assert_no_temporaries, bash, bash_with, bin_dir, copy_ds_plan, data,
    files_in, oracle, python, tool,
};
use crate::games::{Folder, GameText};

/// Raw games whose steps have these valuation names in turn.
fn raw(games: &[&[&str]]) -> Folder {
    let folder = Folder::new();
    for (number, names) in games.iter().enumerate() {
        let mut game = GameText::played(names.len());
        for (step, name) in game.steps.iter_mut().zip(*names) {
            *step = step.replace("\"search\"", &format!("\"{name}\""));
        }
        game.meta = game.meta.replace("\"game_index\":0", &format!("\"game_index\":{number}"));
        game.write(&folder, &format!("g{number}"));
    }
    folder
}

/// Packs what a command writes.
#[track_caller]
fn pack(from: &str, to: &str) {
    bash(&format!("set -o pipefail; {from} | npy-pack -q -o {to}")).silent();
}

/// Rows and names of two packs are the same bytes; their databases have the same content.
#[track_caller]
fn assert_same_packs(directory: &TempDir, ours: &str, expected: &str) {
    let files = |pack: &str| {
        let mut names = files_in(&directory.path().join(pack));
        names.retain(|name| name != "manifest.json");
        names
    };
    assert_eq!(files(ours), files(expected));
    for name in files(ours).iter().filter(|name| *name != "metadata.db") {
        let [a, b] = [ours, expected].map(|pack| directory.read(&format!("{pack}/{name}")));
        assert!(a == b, "{name}: {} bytes, not {}", a.len(), b.len());
    }
    let Some(python) = python() else { return };
    let content = oracle(&python, "database.py", &[&directory.at(ours), &directory.at(expected)]);
    let content = content.silent().records();
    assert_eq!(content[0], content[1], "metadata.db of {ours}");
}

#[test]
fn merged_packs_are_what_decoding_both_gives() {
    let Some(data) = data("macroxue") else { return };
    let [small, bench] =
        ["raw_small", "raw_bench"].map(|name| data.join(name).display().to_string());
    let names: [&[&str]; 3] = [&["zeta", "tuple11"], &[], &["alpha", "search", "zeta", "beta"]];
    let others: [&[&str]; 2] = [&["beta", "omega"], &["alpha", "tuple10"]];
    let (names, others) = (raw(&names), raw(&others));
    let [names, others] = [&names, &others].map(|folder| folder.path.display().to_string());
    let out = TempDir::new();
    for (case, (left, right, shards)) in [
        (&names, &others, ""),
        (&others, &names, "--shard-rows 3"),
        (&small, &bench, ""),
        (&bench, &names, "--shard-rows 100000"),
    ]
    .into_iter()
    .enumerate()
    {
        let [a, b, c] = ["a", "b", "c"].map(|name| out.at(&format!("{name}{case}")));
        pack(&format!("mx-decode {left} --to arrow"), &format!("{a} --shard-rows 5000"));
        pack(&format!("mx-decode {right} --to arrow"), &b);
        pack(&format!("mx-decode {left} {right} --to arrow"), &format!("{c} {shards}"));
        // The large ones go through NDJSON once: that takes its time.
        for to in ["arrow", "ndjson"].into_iter().take(if case == 3 { 1 } else { 2 }) {
            let merged = format!("merged-{case}-{to}");
            pack(&format!("ds-cat {a} {b} --to {to}"), &format!("{} {shards}", out.at(&merged)));
            assert_same_packs(&out, &merged, &format!("c{case}"));
        }
    }
    let types = out.json("merged-0-arrow/valuation_types.json");
    let expected = json!({"search": 0, "tuple10": 1, "tuple11": 2, "zeta": 3, "alpha": 4, "beta": 5, "omega": 6});
    assert_eq!(types, expected);
    assert_eq!(out.json("a1/valuation_types.json")["beta"], 3, "ids differ between the packs");
    assert_no_temporaries(out.path());
}

#[test]
fn more_names_than_a_row_can_number_are_refused() {
    let kinds = |from: usize| (from..from + 150).map(|kind| format!("kind-{kind}")).collect();
    let all: [Vec<String>; 2] = [kinds(0), kinds(150)];
    let [a, b] = all.map(|names| raw(&[&names.iter().map(String::as_str).collect::<Vec<_>>()]));
    let out = TempDir::new();
    let [left, right] = ["a", "b"].map(|name| out.at(name));
    for (folder, to) in [(&a, &left), (&b, &right)] {
        pack(&format!("mx-decode {}", folder.path.display()), to);
    }
    for to in ["arrow", "ndjson"] {
        let merged = out.at("merged");
        let run = bash(&format!(
            "set -o pipefail; ds-cat {left} {right} --to {to} | npy-pack -o {merged}"
        ));
        let said = "\"kind-252\" is one valuation name more than the 255 of a pack";
        run.fails(1, &["npy-pack: stdin:", said]);
        assert!(!Path::new(&merged).exists());
    }
}

/// Writes keys of a pool's own into its database.
fn put_keys(python: &Path, pool: &str, keys: &Value) {
    let script = "import json, sqlite3, sys; db = sqlite3.connect(sys.argv[1] + '/metadata.db'); \
                  db.executemany('INSERT INTO session VALUES (?, ?)', json.loads(sys.argv[2]).items()); \
                  db.commit(); db.close()";
    // The database is another than that of its manifest from here on.
    fs::remove_file(format!("{pool}/manifest.json")).unwrap();
    bash(&format!("{} -c \"{script}\" {pool} '{keys}'", python.display())).silent();
}

#[test]
fn own_keys_of_the_packs_are_kept_and_runs_renumbered() {
    let Some(python) = python() else { return };
    let out = TempDir::new();
    let keys = [
        json!({"packer": "one", "same": "x", "only.a": "a", "run.x": "no run", "empty": ""}),
        json!({"packer": "two", "same": "x", "only.b": "{\"b\": 1}", "1.packer": "own", "run.x": "no run"}),
        json!({"packer": "three", "same": null, "2.packer": "three"}),
    ];
    let packs = ["a", "b", "c"];
    for (name, keys) in packs.iter().zip(&keys) {
        let folder = raw(&[&["search"], &["search", "tuple11"]]);
        pack(&format!("mx-decode {}", folder.path.display()), &out.at(name));
        put_keys(&python, &out.at(name), keys);
    }
    let inputs = packs.map(|name| out.at(name)).join(" ");
    let content =
        |pack: &str| oracle(&python, "database.py", &[&out.at(pack)]).silent().records().remove(0);
    for to in ["arrow", "ndjson"] {
        let merged = format!("merged-{to}");
        pack(&format!("ds-cat {inputs} --to {to}"), &out.at(&merged));
        let content = content(&merged);
        let mut expected = json!({
            "packer": "one", "same": "x", "only.a": "a", "run.x": "no run", "empty": "",
            "only.b": "{\"b\": 1}", "1.packer": "own", "1.1.packer": "two",
            "2.packer": "three", "2.same": null,
        });
        for id in 0..6 {
            let sidecar =
                format!(r#"{{"depth":6,"max_rank":11,"seconds":1.5,"game_index":{}}}"#, id % 2);
            expected[format!("run.{id}")] = sidecar.into();
        }
        assert_eq!(content["session"], expected);
        let runs: Vec<Value> = (0..6).map(|id| json!([id, 77, 1 + id % 2, 100, 2048])).collect();
        assert_eq!(content["runs"], json!(runs));
    }
}

/// A separate checkout for the script, with the filters of these tests, but with `check` as its
/// ds-check.
struct Checkout(TempDir);

impl Checkout {
    fn new(check: Option<&str>) -> Checkout {
        let place = TempDir::new();
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
        symlink(scripts, place.path().join("scripts")).unwrap();
        copy_ds_plan(&place);
        symlink(bin_dir().join("npy-pack"), place.path().join("bin/npy-pack")).unwrap();
        if let Some(check) = check {
            let path = place.write("bin/ds-check", format!("#!/bin/sh\n{check}\n"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Checkout(place)
    }

    /// Two packs, `a` and `b`, and what their merge has to be, `expected`.
    fn with_packs(check: Option<&str>) -> Checkout {
        let place = Checkout::new(check);
        let folders = [raw(&[&["x"], &["search", "y"]]), raw(&[&["y", "x", "tuple10"]])];
        let [left, right] = folders.each_ref().map(|folder| folder.path.display().to_string());
        pack(&format!("mx-decode {left}"), &format!("{} --shard-rows 1", place.at("a")));
        pack(&format!("mx-decode {right}"), &place.at("b"));
        pack(&format!("mx-decode {left} {right}"), &place.at("expected"));
        place
    }

    fn at(&self, name: &str) -> String {
        self.0.at(name)
    }

    /// The script from its directory, with its arguments.
    fn run(&self, arguments: &str) -> Outcome {
        let root = self.0.path().display();
        let path = format!("{root}/bin:/usr/bin:/bin");
        let script = format!("cd {root} && PATH={path} exec scripts/merge-packs.sh {arguments}");
        bash_with(&script, &[("GRISTMILL_TO", "ndjson")])
    }

    /// The output, then the inputs and flags.
    fn merge(&self, arguments: &str) -> Outcome {
        self.run(&format!("--output {arguments}"))
    }

    /// All files of the packs, with their bytes.
    fn content(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let packs = ["a", "b", "out", "real"].map(|name| self.0.path().join(name));
        let files =
            packs.iter().flat_map(|pack| files_in(pack).into_iter().map(|name| pack.join(name)));
        files.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect()
    }
}

#[test]
fn the_script_merges_checks_and_deletes() {
    let place = Checkout::with_packs(Some("echo \"$@\" >> checked; exit 0"));
    place.merge("out a b --no-check").ok();
    assert_same_packs(&place.0, "out", "expected");
    assert!(!Path::new(&place.at("checked")).exists());
    place.merge("out a b").fails(2, &["out/", "exists already; try: --overwrite"]);
    place.merge("out a b --overwrite --shard-rows=2").ok();
    // The run before has checked its inputs only.
    let checked = place.0.text("checked");
    let checked = checked.lines().skip(2).collect::<Vec<_>>().join("\n");
    let of = |what: &str| checked.lines().filter(|line| line.contains(what)).count();
    assert_eq!((of("a --only"), of("b --only"), of("out --jobs")), (1, 1, 1), "{checked}");
    assert_eq!(files_in(Path::new(&place.at("out"))).len(), 3 + 3);
    let before = place.content();
    place.merge("out a b --delete-inputs").fails(2, &["exists already"]);
    assert!(place.content() == before);
    // Files that are not part of a pack stay.
    place.0.write("b/notes.txt", "mine");
    place.0.write("b/sub/steps-00000.npy", "mine");
    place.merge("out a b --overwrite --delete-inputs").ok();
    assert_same_packs(&place.0, "out", "expected");
    assert!(!Path::new(&place.at("a")).exists());
    assert_eq!(files_in(Path::new(&place.at("b"))), ["notes.txt", "sub/steps-00000.npy"]);
    place.run("a b --overwrite").exits(2, &["--output <OUT>"]);
    place.run("--output out").exits(2, &["<IN>"]);
    place.run("--output out --left a").exits(2, &["--right <IN>"]);
    place.run("--output out --left a --right b c").exits(2, &["cannot be used with"]);
    place.merge("out none").fails(2, &["none: no such folder"]);
    place.merge("out2 out --shard-rows 0").exits(2, &["invalid value '0' for '--shard-rows <N>'"]);
    place.merge("out2 out --fast").exits(2, &["unexpected argument '--fast'"]);
    let run = place.merge("out2 b");
    run.fails(2, &["npy-pack: b: is a directory without a dataset"]);
    assert!(!Path::new(&place.at("out2")).exists());
    assert!(place.run("--help").silent().text().contains("--delete-inputs"));
    // One pack alone is copied, never deleted: it may be the output of a call that forgot it.
    place.merge("copy out --delete-inputs").fails(2, &["with one input alone"]);
    place.merge("-out out --workers 2").ok();
    assert_same_packs(&place.0, "-out", "expected");
    assert!(Path::new(&place.at("out")).exists());
}

/// The flags of the published packer's merge.
#[test]
fn left_and_right_are_the_inputs() {
    let place = Checkout::with_packs(Some("exit 0"));
    place.run("--left a --right b --output out --shard-rows 2 --overwrite --delete-inputs").ok();
    assert!(!Path::new(&place.at("a")).exists() && !Path::new(&place.at("b")).exists());
    let count = tool("ds-cat").args(&["--count", &place.at("out")]).run().silent();
    assert_eq!(count.text(), "3\n");
}

/// What an input's own manifest says is broken is not merged, and nothing is deleted.
#[test]
fn inputs_that_are_not_what_their_manifests_say_are_refused() {
    for damage in [
        "rm a/steps-00001.npy",
        "rm a/metadata.db",
        "truncate -s -48 a/steps-00000.npy",
        "printf x | dd of=a/steps-00000.npy bs=1 seek=200 conv=notrunc",
        "sqlite3 a/metadata.db 'UPDATE runs SET max_score = 1' || \
         printf x | dd of=a/metadata.db bs=1 seek=8000 conv=notrunc",
        "cp a/steps-00000.npy a/steps-00009.npy",
        "cp b/steps.npy a/",
    ] {
        let place = Checkout::with_packs(None);
        symlink(bin_dir().join("ds-check"), place.at("bin/ds-check")).unwrap();
        place.0.bash(damage);
        let before = place.content();
        for (flag, what) in
            [("", "is not what its manifest says"), ("--delete-inputs", "has not passed ds-check")]
        {
            let run = place.merge(&format!("out a b {flag}"));
            assert_eq!(run.code(), Some(1), "{damage}: {run:?}");
            let line = format!("ds-plan: a: {what}; nothing was merged\n");
            assert!(run.stderr.ends_with(&line), "{damage}: {run:?}");
            assert!(place.content() == before, "{damage}");
        }
    }
}

/// Damages the pack `a`: the rows of its file from one on are gone (`left N`, and its header says so), a bit
/// of a file is another (`flip FILE`), a file is gone (`remove FILE`), its database is changed (SQL).
fn damage(place: &TempDir, how: &str) {
    match how.split_once(' ').unwrap() {
        ("left", rows) => {
            let bytes = place.read("a/steps.npy");
            let is_packed = place.text("a/layout").starts_with("macroxue-packed");
            let row = if is_packed { 46 } else { 48 };
            let (start, left) = (bytes.len() - 65 * row, rows.parse::<usize>().unwrap());
            let header = String::from_utf8(bytes[10..start].to_vec()).unwrap();
            let header = header.replace("(65,)", &format!("({left},)"));
            let kept = &bytes[start..start + left * row];
            place.write("a/steps.npy", [&bytes[..10], header.as_bytes(), kept].concat());
        }
        ("flip", name) => {
            let mut bytes = place.read(name);
            let last = bytes.len() - 2;
            bytes[last] ^= 1;
            place.write(name, bytes);
        }
        ("remove", name) => fs::remove_file(place.at(name)).unwrap(),
        _ => {
            let database = Connection::open(place.at("a/metadata.db")).unwrap();
            assert!(database.execute(how, []).unwrap() > 0, "{how}");
        }
    }
}

/// What `metadata.db` or the manifest of a pack says and its files do not: no copy of it is made, and it
/// stays, whoever merges it and in whatever form.
#[test]
fn a_pack_that_is_not_what_it_states_is_not_merged() {
    // Without a manifest, what the database says of runs; with one, every byte.
    let of_runs = [
        ("left 55", "run 1: expected 25 steps, got 15"),
        ("left 40", "run 1: expected 25 steps, got 0"),
        ("UPDATE runs SET steps = steps + 1 WHERE id = 0", "run 0: expected 41 steps, got 40"),
        ("UPDATE runs SET steps = 41 - 16 * id", "run 0: expected 41 steps, got 40"),
        ("UPDATE runs SET max_score = max_score + 4 WHERE id = 1", "run 1: expected the score "),
        ("UPDATE runs SET highest_tile = 2 * highest_tile WHERE id = 1", "run 1: expected "),
        ("DELETE FROM runs WHERE id = 0", "run 0: has rows, and is not in metadata.db"),
        ("DELETE FROM runs WHERE id = 1", "run 1: has rows, and is not in metadata.db"),
    ];
    let of_bytes = [
        ("flip a/steps.npy", "a/steps.npy: expected sha256 "),
        ("flip a/valuation_types.json", "valuation_types.json"),
        ("flip a/metadata.db", "a/metadata.db"),
        ("DELETE FROM session WHERE meta_key = 'run.0'", "a/metadata.db: expected sha256 "),
        (
            "remove a/valuation_types.json",
            "manifest.json: valuation_types.json is missing, which it names",
        ),
        ("left 40; DELETE FROM runs WHERE id = 1", "a/steps.npy: expected "),
    ];
    let place = Checkout::new(None);
    symlink(bin_dir().join("ds-check"), place.at("bin/ds-check")).unwrap();
    crate::checks::games::make(&place.0);
    for layout in ["macroxue", "macroxue-packed"] {
        place
            .0
            .bash(&format!(
                "rm -rf kept; npy-pack g.arrows -o kept --layout {layout}; \
             echo {layout} > kept/layout; cp -r pack b"
            ))
            .ok();
        let cases = of_runs.map(|case| (false, case)).into_iter();
        for (has_manifest, (name, told)) in cases.chain(of_bytes.map(|case| (true, case))) {
            place.0.bash("rm -rf a out; cp -r kept a").ok();
            if !has_manifest {
                fs::remove_file(place.at("a/manifest.json")).unwrap();
            }
            name.split("; ").for_each(|how| damage(&place.0, how));
            let before = place.content();
            let [a, b, out] = ["a", "b", "out"].map(|name| place.at(name));
            for flags in [&[][..], &["--slice", "0/1"], &["--layout", "selfplay-v1", "--lossy"]] {
                for inputs in [&[&a, &b], &[&b, &a]] {
                    let run = tool("npy-pack").args(inputs).args(&["-o", &out]).args(flags).run();
                    assert_eq!(run.code(), Some(1), "{layout}, {name}, {flags:?}: {run:?}");
                    assert!(run.stderr.contains(told), "{layout}, {name}, {flags:?}: {run:?}");
                    assert!(!Path::new(&out).exists(), "{name}");
                }
            }
            for flags in ["", " --delete-inputs", " --no-check"] {
                let run = place.merge(&format!("out a b{flags}"));
                assert_eq!(run.code(), Some(1), "{layout}, {name}{flags}: {run:?}");
                assert!(place.content() == before, "{layout}, {name}{flags}");
            }
        }
        place.0.bash("rm -r a; cp -r kept a").ok();
        place.merge("out a b --delete-inputs").ok();
    }
}

/// A game that ds-check calls wrong is in no pack with `--check`; what may be otherwise is written.
#[test]
fn games_that_ds_check_calls_wrong_are_refused() {
    let place = Checkout::new(None);
    crate::checks::games::make(&place.0);
    let games = place.0.records("g.ndjson");
    let pack = |games: &[Value], flags: &[&str]| {
        let lines: String = games.iter().map(|game| format!("{game}\n")).collect();
        let out = place.at("out");
        let flags = [&["-o", out.as_str(), "-q", "--overwrite"][..], flags].concat();
        tool("npy-pack").args(&flags).input(lines).run()
    };
    let cases: [(&str, Edit); 7] = [
        ("(pool.step.", &|game| game["steps"][5]["board"] = game["steps"][6]["board"].clone()),
        ("(pool.step.board_eval)", &|game| game["steps"][2]["board_eval"] = json!(1)),
        ("(pool.step.max_rank)", &|game| game["steps"][3]["max_rank"] = json!(9)),
        ("it has the seed 99, the step before the seed 8 (pool.step.seed)", &|game| {
            game["steps"][4]["seed"] = json!(99)
        }),
        ("(pool.run.seed)", &|game| game["seed"] = json!(99)),
        ("(pool.run.highest_tile)", &|game| game["max_tile"] = json!(65_536)),
        ("(pool.run.steps)", &|game| {
            game["steps"] = json!([]);
            game["num_moves"] = Value::Null;
        }),
    ];
    for (id, change) in cases {
        let mut games = games.clone();
        change(&mut games[1]);
        pack(&games, &["--check"]).fails(1, &["npy-pack: stdin:2: ", id]);
        assert!(!place.0.path().join("out").exists(), "{id}");
        pack(&games, &["--check", "--on-error", "skip"]).ok();
        assert_eq!(crate::checks::found(&[&place.at("out")]).code, Some(0), "{id}");
        pack(&games, &[]).silent();
        fs::remove_dir_all(place.at("out")).unwrap();
    }
    // Nothing of a game that is refused is in the pack, its names of valuations neither.
    let mut others = games.clone();
    others[0]["max_tile"] = json!(65_536);
    for step in others[0]["steps"].as_array_mut().unwrap() {
        step["valuation_type"] = json!("another");
    }
    pack(&others, &["--check", "--on-error", "skip"]).ok();
    assert!(!place.0.text("out/valuation_types.json").contains("another"));
    // Steps may be left out.
    let mut others = games.clone();
    others[0]["steps"].as_array_mut().unwrap().remove(7);
    pack(&others, &["--check"]).ok();
    // A board without place for more than 32768: two of them become one.
    let moved = |large: u8| {
        let board = |first: [u8; 4]| [&first[..], &[0; 12]].concat();
        let step =
            |index: u32, first| json!({"step_index": index, "board": board(first), "move_dir": 2});
        json!({"steps": [step(0, [large, large, 0, 0]), step(1, [large, 1, 0, 0])]})
    };
    let boards = ["--check", "--layout", "selfplay-v1", "--lossy"];
    pack(&[moved(15)], &boards).ok();
    pack(&[moved(14)], &boards).fails(1, &["(pool.step."]);
}

/// A score that the log has is merged as one pack has it (of several tasks of a plan as of one); so are
/// games from which steps were left out, and keys of the session that belong to no run.
#[test]
fn what_a_pack_may_state_is_merged() {
    let place = Checkout::new(None);
    crate::checks::games::make(&place.0);
    let games = place.0.records("g.ndjson");
    let pack = |name: &str, change: Edit| {
        let mut games = games.clone();
        games.iter_mut().for_each(change);
        let lines: String = games.iter().map(|game| format!("{game}\n")).collect();
        tool("npy-pack").args(&["-o", &place.at(name)]).input(lines).run()
    };
    let found = |name: &str| {
        let found = crate::checks::found(&[&place.at(name)]);
        (found.code, found.ids())
    };
    let expected = |ids: &[&str]| (Some(0), ids.iter().map(|id| id.to_string()).collect());
    let more = |game: &mut Value| game["score"] = (game["score"].as_u64().unwrap() + 4).into();
    pack("score", &more).ok();
    let first = |game: &mut Value| {
        game["steps"].as_array_mut().unwrap().truncate(10);
    };
    let odd = |game: &mut Value| {
        let mut number = 0;
        game["steps"].as_array_mut().unwrap().retain(|_| {
            number += 1;
            number % 2 == 1
        });
    };
    let told = ["2 games with fewer or more steps than num_moves states"];
    for (name, change) in [("first", &first as &dyn Fn(&mut _)), ("odd", &odd)] {
        assert!(pack(name, change).ok().stderr.contains(told[0]), "{name}");
    }
    let cases: [(&str, &[&str]); 3] = [
        ("score", &["pool.run.score"]),
        ("first", &["pool.run.shortened"]),
        ("odd", &["pool.run.shortened", "pool.step.index"]),
    ];
    for (name, ids) in cases {
        assert_eq!(found(name), expected(ids), "{name}");
        let [input, out] = [name.to_string(), format!("{name}-out")].map(|name| place.at(&name));
        tool("npy-pack").args(&["-q", &input, &place.at("pack"), "-o", &out]).run().ok();
        assert_eq!(found(&format!("{name}-out")), expected(ids), "{name}");
    }
    // Without a manifest nobody knows whose score it is.
    fs::remove_file(place.at("score/manifest.json")).unwrap();
    tool("npy-pack")
        .args(&[&place.at("score"), "-o", &place.at("no")])
        .run()
        .fails(1, &["run 0: expected the score "]);
    // A key of a run that is not there stays, under the number of its pool.
    place.0.bash("cp -r pack a; rm a/manifest.json").ok();
    damage(&place.0, "INSERT INTO session VALUES ('run.9', '{\"by\":1}')");
    tool("npy-pack").args(&["-q", &place.at("a"), "-o", &place.at("keys")]).run().ok();
    let database = Connection::open(place.at("keys/metadata.db")).unwrap();
    let value: String = database
        .query_row("SELECT meta_value FROM session WHERE meta_key = '0.run.9'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(value, "{\"by\":1}");
}

/// What is deleted has passed every rule, those of single rows too.
#[test]
fn inputs_are_checked_by_every_rule_before_they_are_deleted() {
    let place = Checkout::with_packs(Some("echo \"$@\" >> checked; exit 0"));
    place.merge("out a b --delete-inputs").ok();
    let checked = place.0.text("checked");
    for name in ["a", "b", "out"] {
        let of_it = checked.lines().filter(|line| line.starts_with(&format!("{name} --jobs")));
        assert_eq!(of_it.count(), 1, "{checked}");
    }
    assert!(!checked.contains("--only"), "{checked}");
}

/// An input that is not the same at the end, or that somebody writes just then.
#[test]
fn inputs_that_change_meanwhile_are_kept() {
    for change in [
        "cp -r a c; rm -r a; mv c a",
        "touch -d @1 b/steps.npy",
        "echo '{}' > b/manifest.json",
        "rm a/valuation_types.json",
        "echo > a/more.txt",
    ] {
        // The change comes while OUT is checked.
        let check = format!("case $1 in out) {change} ;; esac");
        let place = Checkout::with_packs(Some(&check));
        let run = place.merge("out a b --delete-inputs");
        assert_eq!(run.code(), Some(75), "{change}: {run:?}");
        assert!(run.stderr.contains(": was changed while it was merged; the inputs are kept"));
        for pack in ["a", "b"] {
            let rows = files_in(Path::new(&place.at(pack))).iter().any(|n| n.ends_with(".npy"));
            assert!(rows, "{change}: {pack}");
        }
    }
    let place = Checkout::with_packs(Some("exit 0"));
    let holder = fs::File::open(place.at("b")).unwrap();
    holder.lock().unwrap();
    let run = place.merge("out a b --delete-inputs");
    assert_eq!(run.code(), Some(75), "{run:?}");
    assert!(run.stderr.ends_with("b: is being written; the inputs are kept\n"), "{run:?}");
    assert!(Path::new(&place.at("a")).exists() && Path::new(&place.at("b")).exists());
}

#[test]
fn nothing_is_deleted_unchecked() {
    let place = Checkout::with_packs(None);
    let before = place.content();
    place.merge("out a b --delete-inputs").fails(2, &["ds-check is not there"]);
    place.merge("out a b").fails(2, &["ds-check is not there"]);
    let line = "'--delete-inputs' cannot be used with '--no-check'";
    place.merge("out a b --delete-inputs --no-check").exits(2, &[line]);
    assert!(place.content() == before, "nothing was done at all");
    for (check, code) in
        [("echo bad >&2; exit 1", 1), ("echo later >&2; exit 75", 75), ("kill -9 $$", 75)]
    {
        let place = Checkout::with_packs(Some(&format!("case $1 in out) {check} ;; esac")));
        let before = place.content();
        let run = place.merge("out a b --delete-inputs");
        assert_eq!(run.code(), Some(code), "{run:?}");
        assert!(
            run.stderr.ends_with("out: has not passed ds-check; the inputs are kept\n"),
            "{run:?}"
        );
        let after: Vec<_> = place
            .content()
            .into_iter()
            .filter(|(path, _)| !path.starts_with(place.at("out")))
            .collect();
        assert!(after == before, "{check}");
    }
    // A merge that fails before has no result to check.
    let place = Checkout::with_packs(Some("case $1 in out) touch checked ;; esac"));
    let bytes = place.0.read("b/steps.npy");
    place.0.write("b/steps.npy", &bytes[..bytes.len() - 1]);
    let before = place.content();
    let run = place.merge("out a b --delete-inputs");
    run.exits(1, &["b/steps.npy: the .npy file is cut"]);
    assert!(place.content() == before);
    assert!(!Path::new(&place.at("checked")).exists());
}

/// Wherever a merge is stopped, its games stand whole in the inputs or in the output.
#[test]
fn a_merge_that_is_stopped_loses_nothing() {
    let place = Checkout::with_packs(Some("exit 0"));
    let inputs =
        || place.content().into_iter().filter(|(path, _)| !path.starts_with(place.at("out")));
    let before: Vec<_> = inputs().collect();
    let keep = format!("cd {} && cp -r a b kept", place.0.path().display());
    bash(&format!("mkdir {} && {keep}", place.at("kept"))).ok();
    let started = Instant::now();
    place.merge("out a b --delete-inputs").ok();
    let whole = started.elapsed();
    for part in 0..16 {
        let root = place.0.path().display();
        bash(&format!("cd {root} && rm -rf a b out && cp -r kept/a kept/b .")).ok();
        let signal = ["KILL", "TERM", "INT", "HUP"][part % 4];
        let script = format!(
            "cd {root} && PATH={root}/bin:/usr/bin:/bin exec timeout -s {signal} {:.3} \
             scripts/merge-packs.sh --output out a b --delete-inputs",
            whole.as_secs_f64() * (part + 1) as f64 / 16.0
        );
        let run = bash(&script);
        if !inputs().eq(before.iter().cloned()) {
            assert_same_packs(&place.0, "out", "expected");
        }
        // What a stopped merge has begun is done by the next.
        if Path::new(&place.at("a")).exists() && Path::new(&place.at("b")).exists() {
            bash(&format!("cd {root} && rm -rf a b && cp -r kept/a kept/b .")).ok();
            let mut again = place.merge("out a b --overwrite --delete-inputs");
            while again.code() == Some(75) {
                // The filter of the stopped script still runs.
                again = place.merge("out a b --overwrite --delete-inputs");
            }
            assert_eq!(again.code(), Some(0), "{signal} {part}: {run:?}, then {again:?}");
            assert_same_packs(&place.0, "out", "expected");
        }
    }
}

#[test]
fn an_output_that_overlaps_an_input_is_refused_before_anything_is_done() {
    let place = Checkout::with_packs(Some("touch checked"));
    let at = |name: &str| place.0.path().join(name);
    symlink("a", at("link")).unwrap();
    symlink("link", at("link-to-link")).unwrap();
    fs::create_dir(at("real")).unwrap();
    symlink(at("real"), at("a/inner")).unwrap();
    let before = place.content();
    let absolute = place.at("a");
    for flags in ["", " --overwrite", " --overwrite --delete-inputs", " --overwrite --no-check"] {
        for paths in [
            "a a b",
            "b a b",
            "./b/../a/ a b",
            &format!("{absolute} b a"),
            "link b a",
            "a link-to-link b",
            "a/sub a b",
            "link/sub/deeper a b",
            ". a b",
            "/ a b",
        ] {
            place.merge(&format!("{paths}{flags}")).fails(2, &[" and ", " overlap"]);
        }
    }
    assert!(place.content() == before);
    // Files of one directory in another, by another name.
    fs::create_dir(at("out")).unwrap();
    symlink(at("a/steps-00000.npy"), at("out/steps-00000.npy")).unwrap();
    let line = "overlap: a file of one is a file of the other";
    place.merge("out a b --overwrite --delete-inputs").fails(2, &[line]);
    fs::remove_file(at("out/steps-00000.npy")).unwrap();
    fs::hard_link(at("b/metadata.db"), at("out/metadata.db")).unwrap();
    place.merge("out a b --overwrite --delete-inputs").fails(2, &[line]);
    fs::remove_dir_all(at("out")).unwrap();
    assert!(place.content() == before);
    assert!(!Path::new(&place.at("checked")).exists());
    // Neighbours with like names do not overlap; a link to an input is an input.
    fs::remove_file(at("a/inner")).unwrap();
    place.merge("a-b link b --delete-inputs").ok();
    assert_same_packs(&place.0, "a-b", "expected");
    assert!(!at("a").exists() && !at("b").exists() && at("link").symlink_metadata().is_err());
}

#[test]
fn a_damaged_input_is_found_by_ds_check_and_kept() {
    let Some(data) = data("macroxue") else { return };
    let [small, bench] =
        ["raw_small", "raw_bench"].map(|name| data.join(name).display().to_string());
    let place = Checkout::new(None);
    symlink(bin_dir().join("ds-check"), place.at("bin/ds-check")).unwrap();
    let packs = || {
        pack(&format!("mx-decode {small} --to arrow"), &format!("{} --overwrite", place.at("a")));
        pack(&format!("mx-decode {bench} --to arrow"), &format!("{} --overwrite", place.at("b")));
    };
    packs();
    // board_eval of the first row, in a pack that does not know better.
    let mut rows = place.0.read("b/steps.npy");
    rows[384 + 16] ^= 1;
    place.0.write("b/steps.npy", &rows);
    fs::remove_file(place.at("b/manifest.json")).unwrap();
    let before = place.content();
    let run = place.merge("out a b --delete-inputs");
    run.exits(1, &["pool.step.board_eval"]);
    assert!(run.stderr.ends_with("b: has not passed ds-check; nothing was merged\n"), "{run:?}");
    assert!(place.content() == before, "the inputs are as they were");
    // Where nothing is to be deleted, the rows are checked once, in what was made.
    let run = place.merge("out a b");
    run.exits(1, &["pool.step.board_eval"]);
    assert!(run.stderr.ends_with("out: has not passed ds-check; the inputs are kept\n"), "{run:?}");
    assert!(place.content().starts_with(&before), "the inputs are as they were");
    packs();
    pack(&format!("mx-decode {small} {bench} --to arrow"), &place.at("expected"));
    place.merge("out a b --overwrite --delete-inputs").ok();
    assert_same_packs(&place.0, "out", "expected");
    assert!(!Path::new(&place.at("a")).exists() && !Path::new(&place.at("b")).exists());
    // The content of the inputs' manifests is not lost with them.
    let manifest = place.0.json("out/manifest.json");
    assert_eq!(manifest["legality"], "board");
    let chain: Vec<&Value> =
        manifest["provenance"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(chain, ["mx-decode", "npy-pack", "mx-decode", "npy-pack", "npy-pack"]);
}

#[test]
fn what_a_pack_cannot_hold_is_not_merged_away() {
    let Some(python) = python() else { return };
    let place = Checkout::new(Some("exit 0"));
    oracle(&python, "pools.py", &[place.0.path().to_str().unwrap()]).ok();
    let run = place.merge("out aligned selfplay --delete-inputs");
    run.exits(1, &["the layout macroxue would lose embeddings-*.npy"]);
    assert!(Path::new(&place.at("selfplay/metadata.db")).exists());
    assert!(!Path::new(&place.at("out")).exists());
    let count = tool("ds-cat").args(&["--count", &place.at("aligned")]).run().silent();
    assert_eq!(count.text(), "5\n");
}
