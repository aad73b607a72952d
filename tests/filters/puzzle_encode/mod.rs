//! Puzzle sets as a user builds them: puzzle-encode into npy-pack, read back by ds-cat and by an
//! independent loader (`tests/oracle/puzzle_set.py`, with numpy and the contract's text).

mod domains;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use gristmill::puzzle;
use serde_json::{Value, json};

use crate::common::{
    Outcome, TempDir, assert_no_temporaries, assert_npyz_reads, bash, bin_dir, data, files_in,
    oracle, peak, python, python_code, tool,
};

const DOMAINS: [&str; 4] = ["sudoku", "arc", "maze", "domino"];

/// The command line of a build from `raw`.
fn encode(domain: &str, raw: &Path, num_aug: u64) -> String {
    let raw = raw.display();
    let input = match domain {
        "arc" => format!("{raw}/arc"),
        "domino" => "--num-games 60".to_string(),
        _ => format!("--train {raw}/{domain}/train.csv --test {raw}/{domain}/test.csv"),
    };
    format!("puzzle-encode {domain} {input} --num-aug {num_aug}")
}

/// A pipeline that has to end well.
#[track_caller]
fn pipe(script: &str) -> Outcome {
    bash(&format!("set -eo pipefail; {script}")).ok()
}

/// All files of two directories, byte for byte; of `build.json` all but `run`.
#[track_caller]
fn assert_same(ours: &Path, theirs: &Path) {
    let counts = |directory: &Path| -> Value {
        let build = fs::read(directory.join("build.json")).unwrap();
        serde_json::from_slice::<Value>(&build).unwrap()["records"].clone()
    };
    // What was dropped before a pipe of NDJSON is not known.
    let is_known = !counts(ours)["read"].is_null() && !counts(theirs)["read"].is_null();
    assert_eq!(counts(ours)["written"], counts(theirs)["written"]);
    assert_eq!(files_in(ours), files_in(theirs));
    assert!(!files_in(ours).is_empty(), "{}", ours.display());
    for name in files_in(ours) {
        let content = |directory: &Path| {
            let bytes = fs::read(directory.join(&name)).unwrap();
            if name != "build.json" {
                return bytes;
            }
            let mut build: Value = serde_json::from_slice(&bytes).unwrap();
            build.as_object_mut().unwrap().remove("run");
            if !is_known {
                build.as_object_mut().unwrap().remove("records");
            }
            serde_json::to_vec(&build).unwrap()
        };
        let same = content(ours) == content(theirs);
        assert!(same, "{name} of {} differs from {}", ours.display(), theirs.display());
    }
}

/// The hash that `build.json` gives of every other file is the file's.
#[track_caller]
fn assert_hashes(root: &Path) {
    let build: Value = serde_json::from_slice(&fs::read(root.join("build.json")).unwrap()).unwrap();
    let mut listed = vec!["build.json".to_string()];
    for file in build["files"].as_array().unwrap() {
        let name = file["name"].as_str().unwrap();
        let content = fs::read(root.join(name)).unwrap();
        assert_eq!(file["bytes"], content.len());
        use sha2::{Digest, Sha256};
        let digest: String = Sha256::digest(&content).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(file["sha256"], json!(digest), "{name}");
        listed.push(name.to_string());
    }
    listed.sort();
    assert_eq!(listed, files_in(root));
    assert!(assert_npyz_reads(root) > 0);
}

fn loaded(python: &Path, root: &str) -> Value {
    let run = oracle(python, "puzzle_set.py", &["load", root]).ok();
    serde_json::from_slice(&run.stdout).unwrap()
}

#[test]
fn without_augmentation_the_sets_are_the_contracts_encoding() {
    let (Some(raw), Some(python)) = (data("hrm/raw"), python()) else { return };
    let dir = TempDir::new();
    for (domain, count) in [("sudoku", "500"), ("maze", "80"), ("arc", "169")] {
        let root = dir.at(domain);
        pipe(&format!("{} | npy-pack -o {root}", encode(domain, &raw, 0)));
        assert_hashes(Path::new(&root));
        let arguments = ["encoding", domain, raw.to_str().unwrap(), &root];
        let run = oracle(&python, "puzzle_set.py", &arguments).ok();
        assert_eq!(run.text().trim(), count, "{domain}");
    }
}

#[test]
fn an_independent_loader_reads_every_set() {
    let (Some(raw), Some(python)) = (data("hrm/raw"), python()) else { return };
    let dir = TempDir::new();
    for (domain, groups, puzzles) in [
        ("sudoku", [400, 100], [1200, 100]),
        ("arc", [40, 20], [120, 60]),
        ("maze", [60, 20], [180, 20]),
        ("domino", [60, 60], [180, 60]),
    ] {
        let root = dir.at(domain);
        let run = pipe(&format!("{} --to arrow | npy-pack -o {root}", encode(domain, &raw, 2)));
        let seen = loaded(&python, &root);
        for (split, index) in [("train", 0), ("test", 1)] {
            let split = &seen[split];
            assert_eq!(split["groups"], groups[index], "{domain} {seen} {run:?}");
            assert_eq!(split["puzzles"], puzzles[index], "{domain} {seen}");
            assert!(split["batches"].as_u64() > Some(0), "{domain} {seen}");
        }
        let constants = dir.json(&format!("{domain}/train/dataset.json"));
        assert_eq!(constants["sets"], json!(["all"]));
        let build = dir.json(&format!("{domain}/build.json"));
        assert_eq!((&build["domain"], &build["seed"]), (&json!(domain), &json!(42)));
        assert_eq!(build["parameters"]["num_aug"], 2);
        assert_hashes(Path::new(&root));
    }
}

#[test]
fn threads_slices_encodings_and_copies_change_nothing() {
    let Some(raw) = data("hrm/raw") else { return };
    let dir = TempDir::new();
    let copy = dir.path().join("copy");
    copy_backwards(&raw, &copy);
    for domain in DOMAINS {
        let line = encode(domain, &raw, 3);
        let at = |name: &str| dir.at(&format!("{domain}-{name}"));
        pipe(&format!("{line} | npy-pack -o {}", at("whole")));
        let whole = Path::new(&at("whole")).to_path_buf();
        for (name, script) in [
            ("j2", format!("{line} -j 2 --to arrow")),
            ("copy", encode(domain, &copy, 3)),
            ("slices", format!("for i in 0 1 2; do {line} --slice $i/3 -j 2; done")),
            ("arrows", format!("for i in 0 1 2 3; do {line} --slice $i/4 --to arrow; done")),
        ] {
            let to = at(name);
            pipe(&format!("({script}) | npy-pack -o {to}"));
            assert_same(Path::new(&to), &whole);
        }
        // The streams themselves, not only what becomes of them.
        let stream = |flags: &str| pipe(&format!("{line} {flags}")).stdout;
        assert!(stream("") == stream("-j 2"), "{domain}");
        assert!(stream("--to arrow") == stream("--to arrow -j 3"), "{domain}");
        assert!(stream("") == pipe(&format!("{line} --to arrow | ds-cat")).stdout, "{domain}");
        let seeded = stream("--seed 43");
        // Mazes draw nothing, so that only the build differs.
        assert!(seeded != stream(""), "{domain}");
        let bare = |bytes: &[u8]| -> Vec<Value> {
            let lines = std::str::from_utf8(bytes).unwrap().lines();
            lines
                .map(|line| serde_json::from_str::<Value>(line).unwrap()["labels"].take())
                .collect()
        };
        assert_eq!(bare(&seeded) == bare(&stream("")), domain == "maze", "{domain}");
    }
}

/// Copies a folder, the last entry first.
fn copy_backwards(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut entries: Vec<_> = fs::read_dir(from).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for entry in entries.iter().rev() {
        let target = to.join(entry.file_name().unwrap());
        match entry.is_dir() {
            true => copy_backwards(entry, &target),
            false => drop(fs::copy(entry, target).unwrap()),
        }
    }
}

#[test]
fn a_set_comes_back_and_goes_again() {
    let (Some(raw), Some(python)) = (data("hrm/raw"), python()) else { return };
    let dir = TempDir::new();
    for domain in DOMAINS {
        let root = dir.at(domain);
        pipe(&format!("{} | npy-pack -o {root}", encode(domain, &raw, 2)));
        for to in ["ndjson", "arrow"] {
            let again = dir.at(&format!("{domain}-{to}"));
            pipe(&format!("ds-cat {root} --to {to} | npy-pack -o {again}"));
            assert_same(Path::new(&again), Path::new(&root));
        }
        // What an independent reader finds.
        let ours = tool("ds-cat").args(&[&root]).run().silent().records();
        let theirs = oracle(&python, "puzzle_set.py", &["records", &root]).ok().records();
        assert_eq!(ours.len(), theirs.len());
        for (ours, mut theirs) in ours.iter().zip(theirs) {
            if domain == "arc" {
                // Identifiers are the names of groups and puzzles too.
                theirs["puzzle"] = theirs["identifier"].clone();
                let name = theirs["identifier"].as_str().unwrap();
                theirs["group"] = json!(name.split('_').next());
            }
            for key in ["split", "set", "group", "puzzle", "identifier", "inputs", "labels"] {
                let text =
                    |value: &Value| value.as_u64().map_or(value.clone(), |n| json!(n.to_string()));
                assert_eq!(ours[key], text(&theirs[key]), "{domain} {key}");
            }
            assert_eq!(ours["domain"], domain);
        }
        // One split, parts, counts.
        let count = |arguments: &str| -> usize {
            pipe(&format!("ds-cat {arguments} --count")).text().trim().parse().unwrap()
        };
        assert_eq!(count(&root), ours.len());
        assert_eq!(count(&format!("{root}/train")) + count(&format!("{root}/test/")), ours.len());
        assert_eq!(count(&format!("{root} --limit 7")), 7);
        pipe(&format!(
            "cd {root}/train && ds-cat . | cmp - <(ds-cat {root} | grep '\"split\":\"train\"')"
        ));
        pipe(&format!(
            "cmp <(ds-cat {root}) <(for i in 0 1 2 3 4; do ds-cat {root} --slice $i/5; done)"
        ));
        // A slice never cuts a group.
        let slice = pipe(&format!("ds-cat {root} --slice 1/5")).records();
        let rest = pipe(&format!("ds-cat {root} --slice 2/5")).records();
        let last = slice.last().unwrap();
        let first = &rest[0];
        assert!(last["group"] != first["group"] || last["split"] != first["split"]);
        assert!(slice[0]["build"].is_null() && ours[0]["build"]["seed"] == 42);
    }
}

#[test]
fn published_sets_come_back_and_go_again() {
    let (Some(wild), Some(python)) = (data("hrm/wild"), python()) else { return };
    let dir = TempDir::new();
    for set in ["arc-sub-aug3", "sudoku-aug3", "domino-aug2"] {
        let (from, to) = (wild.join(set), dir.at(set));
        let run = pipe(&format!("ds-cat {} | npy-pack -o {to}", from.display()));
        let note = "identifiers.json calls the blank identifier \"<domino_game>\"";
        assert_eq!(run.stderr.contains(note), set == "domino-aug2", "{run:?}");
        assert!(loaded(&python, &to)["train"]["groups"].as_u64() > Some(50));
        for name in files_in(&from) {
            // The published Domino builder names the blank identifier, and its mean is not true.
            let differs = ["identifiers.json", "train/dataset.json"].contains(&name.as_str());
            if name.ends_with(".json") && !(set == "domino-aug2" && differs) {
                assert_eq!(dir.read(&format!("{set}/{name}")), fs::read(from.join(&name)).unwrap());
            }
        }
        let records = |root: &str| oracle(&python, "puzzle_set.py", &["records", root]).ok().stdout;
        assert!(records(&to) == records(from.to_str().unwrap()), "{set}");
        // The same in other widths and orders.
        for how in ["int64", "big", "fortran", "uint8"] {
            let cast = dir.at(&format!("{set}-{how}"));
            oracle(&python, "puzzle_set.py", &["recast", &to, &cast, how]).ok();
            pipe(&format!("cmp <(ds-cat {to}) <(ds-cat {cast})"));
        }
        let grid = pipe(&format!("ds-cat {} --grid --limit 1", from.display())).records();
        let domain = set.split('-').next().unwrap();
        assert_eq!(grid[0]["domain"], domain);
        let shown = grid[0]["inputs"].to_string();
        let expected = match domain {
            "sudoku" => shown.len() == 83,
            "arc" => grid[0]["inputs"]["grid"][0].is_array(),
            _ => grid[0]["inputs"].is_object(),
        };
        assert!(expected, "{domain}: {shown}");
    }
}

/// A record of a domain that no table knows: two tokens a side.
fn chess(split: &str, group: &str, puzzle: &str, identifier: &str, token: i32) -> String {
    let record = json!({
        "domain": "chess", "split": split, "set": "all", "group": group, "puzzle": puzzle,
        "identifier": identifier, "inputs": [token, 1], "labels": [0, token],
    });
    format!("{record}\n")
}

const CHESS: [&str; 10] = [
    "--seq-len",
    "2",
    "--vocab-size",
    "5",
    "--pad-id",
    "0",
    "--ignore-label-id",
    "none",
    "--blank-identifier-id",
    "1",
];

#[test]
fn sets_of_any_domain() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let root = dir.at("set");
    // Test first, two sets, a name that only test has, names that come again.
    let lines = [
        chess("test", "g", "p", "late", 1),
        chess("train", "g", "p", "b", 2),
        chess("train", "g", "p", "b", 3),
        chess("train", "g", "q", "<blank>", 4),
        chess("test", "g", "q", "a", 1),
        chess("train", "h", "q", "a", 1).replace("\"all\"", "\"more\""),
        chess("train", "h", "q", "a", 0),
        chess("train", "g", "p", "b", 2),
    ]
    .concat();
    let flags = [&["-o", &root][..], &CHESS].concat();
    tool("npy-pack").args(&flags).input(&lines).run().silent();
    let seen = loaded(&python, &root);
    assert_eq!(seen["train"]["groups"], 4);
    assert_eq!(seen["test"]["puzzles"], 2);
    let identifiers: Value = dir.json("set/identifiers.json");
    assert_eq!(identifiers, json!(["b", "<blank>", "a", "late"]));
    let dataset = dir.json("set/train/dataset.json");
    assert_eq!(dataset["sets"], json!(["all", "more"]));
    assert_eq!((&dataset["ignore_label_id"], &dataset["seq_len"]), (&json!(null), &json!(2)));
    let found = oracle(&python, "puzzle_set.py", &["records", &root]).ok().records();
    let brief: Vec<String> = found
        .iter()
        .map(|r| {
            format!(
                "{}{}{}{}{}",
                r["set"], r["group"], r["puzzle"], r["identifier"], r["inputs"][0]
            )
            .replace('"', " ")
        })
        .collect();
    assert_eq!(
        brief,
        [
            " all 00 b 2",
            " all 00 b 3",
            " all 01 <blank> 4",
            " all 12 a 0",
            " all 23 b 2",
            " more 00 a 1",
            " all 00 late 1",
            " all 01 a 1"
        ]
    );
    // Arrow carries the constants, NDJSON needs the number of tokens.
    let again = dir.at("again");
    pipe(&format!("ds-cat {root} --to arrow | npy-pack -o {again}"));
    assert_same(Path::new(&again), Path::new(&root));
    let known: Vec<&str> = puzzle::DOMAINS.iter().map(|domain| domain.constants().name).collect();
    assert_eq!(known[..4], DOMAINS);
    bash(&format!("ds-cat {root} | npy-pack -o {}", dir.at("never"))).fails(
        2,
        &[
            &format!("domain \"chess\" is not known (known: {})", known.join(", ")),
            "try: --vocab-size V",
        ],
    );
    bash(&format!("ds-cat {root} --grid"))
        .fails(1, &["record 1 (0): domain \"chess\" is not known"]);
}

#[test]
fn several_sets_become_one() {
    let Some(raw) = data("hrm/raw") else { return };
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    // One group each, of the same name: the build tells them apart.
    for seed in [1, 2] {
        pipe(&format!(
            "puzzle-encode domino --num-games 1 --seed {seed} | npy-pack -o {}",
            dir.at(&seed.to_string())
        ));
    }
    let script = format!("ds-cat {} {} | npy-pack -o {}", dir.at("1"), dir.at("2"), dir.at("both"));
    pipe(&script);
    let groups = |root: &str| loaded(&python, root)["train"]["groups"].clone();
    assert_eq!(groups(&dir.at("both")), 2);
    let build = dir.json("both/build.json");
    assert_eq!(build["builds"][1]["seed"], 2);
    let (both, again) = (dir.at("both"), dir.at("again"));
    pipe(&format!("ds-cat {both} | npy-pack -o {again}"));
    assert_same(Path::new(&again), Path::new(&both));
    // Two streams straight into the sink.
    let games = "puzzle-encode domino --num-games 1 --to arrow";
    pipe(&format!("({games} --seed 1; {games} --seed 2) | npy-pack -o {}", dir.at("cat")));
    assert_same(Path::new(&dir.at("cat")), Path::new(&both));
    // A set about which nothing is known has its beginning too.
    for seed in [1, 2] {
        fs::remove_file(dir.at(&format!("{seed}/build.json"))).unwrap();
    }
    pipe(&format!("{script} --overwrite"));
    assert_eq!(groups(&both), 2);
    // Other domains cannot join.
    let sudoku = dir.at("sudoku");
    pipe(&format!("{} | npy-pack -o {sudoku}", encode("sudoku", &raw, 0)));
    let stated = dir.at("cat");
    bash(&format!("ds-cat {stated} {sudoku} | npy-pack -o {}", dir.at("never")))
        .fails(1, &["stdin:5: examples of domino and of sudoku cannot be one set"]);
    assert!(!Path::new(&dir.at("never")).exists());
}

#[test]
fn records_that_fit_nowhere() {
    let dir = TempDir::new();
    let root = dir.at("set");
    let good = chess("train", "g", "p", "b", 2);
    let flags = [&["-o", &root][..], &CHESS].concat();
    let cases = [
        (good.replace("[2,1]", "[2]"), "inputs has 1 token, seq_len is 2"),
        (good.replace("[0,2]", "[0,2,3]"), "labels has 3 tokens, seq_len is 2"),
        (good.replace("[2,1]", "[5,1]"), "inputs[0] is 5, vocab_size is 5"),
        (good.replace("[0,2]", "[0,-100]"), "labels[1] is -100, vocab_size is 5"),
        (
            good.replace("\"train\"", "\"valid\""),
            "split \"valid\" is neither \"train\" nor \"test\"",
        ),
        (good.replace("\"all\"", "\"../x\""), "set \"../x\" cannot be part of a file's name"),
        (
            good.replace("\"b\"", "\"c\""),
            "identifier \"c\" differs from the earlier examples of puzzle \"p\"",
        ),
        (good.replace("[2,1]", "[2,1.5]"), "inputs: 1.5 is not"),
        (good.replace("[2,1]", "null"), "inputs is null"),
        (good.replace("\"group\":\"g\",", ""), "group is missing"),
        ("{\"inputs\"\n".to_string(), "invalid JSON"),
    ];
    for (bad, reason) in &cases {
        let run = tool("npy-pack").args(&flags).input(format!("{good}{bad}{good}")).run();
        run.fails(1, &["npy-pack: stdin:2: ", reason]);
        assert!(!Path::new(&root).exists(), "{reason}");
    }
    // With a skip the rest is the set; a name that only a skipped record had is not in it.
    let identifier = cases[6].0.as_str();
    let bad = cases.iter().map(|(bad, _)| bad.as_str()).filter(|bad| *bad != identifier);
    let lines: String = bad.collect();
    let rejects = dir.at("rejects.ndjson");
    let skip = [&flags[..], &["--on-error", "skip", "--rejects", &rejects]].concat();
    let run = tool("npy-pack").args(&skip).input(format!("{good}{lines}{good}")).run().ok();
    assert!(run.stderr.contains("10 bad records dropped"), "{run:?}");
    assert_eq!(dir.text("rejects.ndjson").lines().count(), 10);
    assert_eq!(dir.json("set/identifiers.json"), json!(["b", "<blank>"]));
    assert_eq!(dir.json("set/train/dataset.json")["total_groups"], 1);
    assert_eq!(dir.json("set/train/dataset.json")["mean_puzzle_examples"], 2.0);
    assert!(run.stderr.contains("no test example came"), "{run:?}");
    fs::remove_dir_all(&root).unwrap();
    // No records at all are not a set.
    tool("npy-pack")
        .args(&skip)
        .input(lines)
        .run()
        .fails(1, &["got no example, nothing is written"]);
    assert!(!Path::new(&root).exists());
    // Constants that are not the domain's.
    let sudoku = json!({"domain": "sudoku", "split": "train", "group": "1", "puzzle": "1",
        "inputs": vec![1; 81], "labels": vec![2; 81]});
    let pack = |flags: &[&str]| {
        let flags = [&["-o", &root][..], flags].concat();
        tool("npy-pack").args(&flags).input(format!("{sudoku}\n")).run()
    };
    pack(&["--vocab-size", "12"]).fails(2, &["--vocab-size 12: sudoku has 11"]);
    pack(&["--ignore-label-id", "none"]).fails(2, &["--ignore-label-id none: sudoku has 0"]);
    pack(&["--shard-rows", "5"]).fails(2, &["--shard-rows is for games; got puzzles"]);
    // An example that is none of its domain; nothing is asked of one of no domain.
    pack(&[]).fails(1, &["stdin:1: (1) ", "(puzzle.sudoku."]);
    assert!(!Path::new(&root).exists());
    pack(&["--no-check", "--seq-len", "81", "--vocab-size", "11", "--pad-id", "0", "-q"]).silent();
    let lone = tool("npy-pack").args(&flags).input(&good).run();
    lone.fails(2, &["build.json: exists already; try: --overwrite"]);
    let before = files_in(Path::new(&root));
    let nine: Vec<&str> = flags.iter().map(|f| if *f == "1" { "9" } else { f }).collect();
    let run = tool("npy-pack").args(&nine).args(&["--overwrite"]).input(&good).run();
    run.fails(2, &["--blank-identifier-id 9: there are only 2 identifiers"]);
    assert_eq!(files_in(Path::new(&root)), before);
    // A game stream has no use for them.
    tool("npy-pack")
        .args(&["-o", &dir.at("pack"), "--pad-id", "0"])
        .input("{\"steps\": []}\n")
        .run()
        .fails(2, &["--pad-id is for puzzles; got games"]);
    tool("npy-pack")
        .args(&["-o", &dir.at("pack")])
        .input("{\"text\": \"x\", \"messages\": []}\n")
        .run()
        .fails(2, &["expected games of 2048, got decoded sequences"]);
}

#[test]
fn replacing_a_set_leaves_nothing_of_it() {
    let dir = TempDir::new();
    let root = dir.at("set");
    let flags = [&["-o", &root][..], &CHESS, &["-q"]].concat();
    let both = [chess("train", "g", "p", "b", 2), chess("test", "g", "p", "b", 2)].concat();
    let more = both.clone() + &both.replace("\"all\"", "\"more\"");
    tool("npy-pack").args(&flags).input(more).run().silent();
    dir.write("set/notes.txt", "kept");
    let train = chess("train", "g", "p", "b", 3);
    tool("npy-pack").args(&flags).args(&["--overwrite"]).input(&train).run().silent();
    fs::remove_file(dir.at("set/notes.txt")).unwrap();
    let fresh = dir.at("fresh");
    let flags = [&["-o", &fresh][..], &CHESS, &["-q"]].concat();
    tool("npy-pack").args(&flags).input(&train).run().silent();
    assert_same(Path::new(&root), Path::new(&fresh));
    assert!(!Path::new(&dir.at("set/test")).exists());
}

#[test]
fn malformed_inputs_are_told_and_nothing_is_published() {
    let Some(raw) = data("hrm/raw") else { return };
    let dir = TempDir::new();
    let csv = fs::read_to_string(raw.join("sudoku/train.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().take(6).collect();
    let fields: Vec<&str> = lines[2].split(',').collect();
    let broken = |index: usize, field: &str| {
        let mut fields = fields.clone();
        fields[index] = field;
        let mut lines = lines.clone();
        let line = fields.join(",");
        lines[2] = &line;
        dir.write("bad.csv", lines.join("\n") + "\n")
    };
    let digit = fields[2].as_bytes()[0] as char;
    let given = fields[1].find(|c: char| c.is_ascii_digit() && c != '0').unwrap();
    let mut other = fields[2].to_string();
    let wrong = if other.as_bytes()[given] == b'1' { "2" } else { "1" };
    other.replace_range(given..given + 1, wrong);
    let short = format!("question has 80 characters, expected 81: \"{}\"...", &fields[1][1..61]);
    for (index, field, reason) in [
        (1, &fields[1][1..], short.as_str()),
        (1, &format!("{} ", fields[1]), "question has 82 characters, expected 81"),
        (1, &format!("x{}", &fields[1][1..]), "x\" at character 1, expected 1 to 9, or 0 or . for"),
        (2, &format!(".{}", &fields[2][1..]), "answer has \".\" at character 1, expected 1 to 9"),
        (2, &other, ": the question has "),
        (2, &format!("{digit}{digit}{}", &fields[2][2..]), " appears twice in row 1 of the answer"),
    ] {
        let path = broken(index, field);
        let flags = ["sudoku", "--train", &path];
        let run = tool("puzzle-encode").args(&flags).run();
        assert!(run.stdout.is_empty());
        run.fails(1, &["puzzle-encode: ", "bad.csv:3: ", reason]);
        let to = dir.at("never");
        let piped =
            bash(&format!("puzzle-encode sudoku --train {path} --to arrow | npy-pack -o {to}"));
        piped.fails(1, &["puzzle-encode: ", reason]);
        assert!(!Path::new(&to).exists(), "{reason}");
        let rejects = dir.at("rejects.ndjson");
        let skip = ["--on-error", "skip", "--rejects", &rejects];
        let run = tool("puzzle-encode").args(&flags).args(&skip).run().ok();
        let groups: Vec<Value> =
            run.records().iter().map(|record| record["group"].clone()).collect();
        assert_eq!(groups, ["2", "4", "5", "6"]);
        assert!(run.stderr.contains("1 bad record dropped: "), "{run:?}");
        assert!(run.stderr.contains("bad.csv: 1 of 5 rows malformed, left out"), "{run:?}");
        let reject = dir.json("rejects.ndjson");
        assert_eq!((&reject["line"], &reject["source"]), (&json!(3), &json!(path)));
        assert!(reject["input"].as_str().unwrap().contains(field));
    }
    let task = |name: &str, grid: &str| {
        dir.write(
            name,
            format!("{{\"train\": [{{\"input\": {grid}, \"output\": [[1]]}}], \"test\": []}}"),
        );
    };
    let wide = format!("[[{}]]", vec!["0"; 31].join(","));
    for (grid, reason) in [
        ("[[1, 2], [3]]", "task bad: train pair 1: input row 2 has 1 cell, row 1 has 2"),
        (wide.as_str(), "31"),
        ("[[10]]", "10"),
        ("[[-1]]", "-1"),
        ("[]", ""),
        ("[[1]", ""),
    ] {
        task("arc/bad.json", grid);
        task("arc/good.json", "[[1]]");
        tool("puzzle-encode")
            .args(&["arc", &dir.at("arc")])
            .run()
            .fails(1, &["puzzle-encode: ", "arc/bad.json", reason]);
        let skip = ["arc", &dir.at("arc"), "--on-error", "skip"];
        assert_eq!(tool("puzzle-encode").args(&skip).run().ok().records().len(), 1, "{grid}");
    }
    let header = dir.write("header.csv", "source,question,answer,rating\n");
    for (arguments, code, reason) in [
        ("sudoku", 2, "<--train <CSV>|--test <CSV>>"),
        ("arc", 2, "<DIR>..."),
        ("", 2, ""),
        ("domino", 2, "--num-games <N>"),
        ("domino --num-games 0", 2, "0 is not in 1.."),
        ("maze --train x --num-aug 8", 2, "8 is not in 0..=7"),
        ("sudoku --train /nonexistent", 2, "/nonexistent: No such file"),
        ("sudoku --train /", 2, "is a directory"),
        (&format!("sudoku --train {header}"), 1, "header.csv: has no rows"),
        ("arc /nonexistent", 2, "/nonexistent: No such file"),
        ("sudoku --train x --slice 2/2", 2, "I must be less than N"),
        ("arc x --rejects y", 2, "--rejects needs --on-error skip"),
    ] {
        let run = bash(&format!("puzzle-encode {arguments}"));
        assert_eq!(run.code(), Some(code), "{run:?}");
        assert!(run.stderr.contains(reason) && !run.stderr.contains("os error"), "{run:?}");
    }
    fs::create_dir_all(dir.at("empty")).unwrap();
    tool("puzzle-encode").args(&["arc", &dir.at("empty")]).run().fails(1, &["no .json file in it"]);
}

#[test]
fn cut_streams_full_disks_and_closed_pipes() {
    let Some(raw) = data("hrm/raw") else { return };
    let dir = TempDir::new();
    let line = format!("{} -q", encode("maze", &raw, 1));
    pipe(&format!("{line} --to arrow > {}", dir.at("stream")));
    let stream = dir.read("stream");
    let to = dir.at("set");
    for length in [4, 1000, stream.len() / 2, stream.len() - 8, stream.len() - 1] {
        let run = tool("npy-pack").args(&["-o", &to]).input(&stream[..length]).run();
        run.fails(75, &["npy-pack: stdin: "]);
        assert!(!Path::new(&to).exists());
        dir.write("cut", &stream[..length]);
        tool("npy-pack").args(&["-o", &to, &dir.at("cut")]).run().fails(1, &["truncated"]);
        assert!(!Path::new(&to).exists());
    }
    let count = "set -o pipefail; {line} | npy-pack -o {to} --expect-records ";
    let count = count.replace("{line}", &line).replace("{to}", &to);
    bash(&format!("{count} 141")).fails(75, &["expected 141 records, got 140"]);
    bash(&format!("{count} 139")).fails(1, &["expected 139 records, got 140"]);
    assert!(!Path::new(&to).exists());
    bash(&format!("{count} 140")).silent();
    for command in [line.clone(), format!("ds-cat {to}"), format!("ds-cat {to} --grid")] {
        for encoding in ["ndjson", "arrow"] {
            bash(&format!("{command} --to {encoding} > /dev/full"))
                .fails(75, &["stdout: No space left on device"]);
        }
    }
    // More than a pipe holds.
    let (many, large) = (format!("{} -q", encode("arc", &raw, 40)), dir.at("large"));
    pipe(&format!("{many} --to arrow | npy-pack -o {large}"));
    for command in [many, format!("ds-cat {large}"), format!("ds-cat {large} --grid")] {
        for encoding in ["ndjson", "arrow"] {
            let script = format!("{command} --to {encoding} | head -c 100 > /dev/null");
            let closed = bash(&format!("{script}; echo ${{PIPESTATUS[0]}}"));
            assert_eq!((closed.text().trim(), closed.stderr.as_str()), ("141", ""), "{script}");
        }
    }
    // A disk that fills up: existing files stay as they were.
    let before = dir.read("set/build.json");
    let limited = bash(&format!(
        "trap '' XFSZ; ulimit -f 64; npy-pack -o {to} --overwrite {}",
        dir.at("stream")
    ));
    limited.fails(75, &["npy-pack: ", "File too large"]);
    assert_eq!(dir.read("set/build.json"), before);
    assert_no_temporaries(dir.path());
}

#[test]
fn compressed_inputs_are_seen_through() {
    let Some(raw) = data("hrm/raw") else { return };
    let dir = TempDir::new();
    let train = raw.join("sudoku/train.csv");
    pipe(&format!("gzip -c {} > {}", train.display(), dir.at("train.csv")));
    let labels = |path: &str| {
        let run = tool("puzzle-encode").args(&["sudoku", "--train", path]).run().ok();
        run.records().into_iter().map(|mut record| record["labels"].take()).collect::<Vec<_>>()
    };
    assert_eq!(labels(&dir.at("train.csv")), labels(train.to_str().unwrap()));
    // What is hashed is the file.
    let packed = dir.read("train.csv");
    let run = tool("puzzle-encode").args(&["sudoku", "--train", &dir.at("train.csv")]).run().ok();
    let sha256 = pipe(&format!("sha256sum < {}", dir.at("train.csv"))).text()[..64].to_string();
    let hashed = json!([{"name": "train.csv", "bytes": packed.len(), "sha256": sha256}]);
    let build = &run.records()[0]["build"];
    assert_eq!(build["inputs"], hashed);
    let plain = json!({"num_aug": 0, "subsample": null, "min_difficulty": null, "unique": false});
    assert_eq!(build["parameters"], plain);
    // (As programs write that quote every field.)
    let text = fs::read_to_string(&train).unwrap();
    let quoted = text.replacen(
        "source,question,answer,rating",
        "\"source\",\"question\",\"answer\",\"rating\"",
        1,
    );
    assert_ne!(quoted, text);
    assert_eq!(labels(&dir.write("quoted.csv", quoted)), labels(train.to_str().unwrap()));
}

/// A file of the ARC Prize has all tasks, and the outputs of their test pairs stand in a second one.
#[test]
fn files_of_many_tasks() {
    let dir = TempDir::new();
    let pair = |input: u8, output: u8| json!({"input": [[input, 1]], "output": [[output, 2]]});
    let task = |colour: u8| json!({"train": [pair(colour, 3)], "test": [pair(colour, 4)]});
    let without =
        |colour: u8| json!({"train": [pair(colour, 3)], "test": [{"input": [[colour, 1]]}]});
    dir.write("one/training/aaaa.json", format!("\u{feff}{}", task(5)));
    dir.write("one/evaluation/bbbb.json", task(6).to_string());
    dir.write("whole/arc-agi_training_challenges.json", json!({"aaaa": task(5)}).to_string());
    dir.write("whole/arc-agi_evaluation_challenges.json", json!({"bbbb": task(6)}).to_string());
    dir.write("prize/arc-agi_training_challenges.json", json!({"aaaa": without(5)}).to_string());
    dir.write("prize/arc-agi_evaluation_challenges.json", json!({"bbbb": without(6)}).to_string());
    let training = json!({"aaaa": [[[4, 2]]]}).to_string();
    let training = dir.write("prize/arc-agi_training_solutions.json", training);
    let evaluation = json!({"bbbb": [[[4, 2]]], "cccc": [[[0]]]}).to_string();
    let evaluation = dir.write("prize/arc-agi_evaluation_solutions.json", evaluation);
    let arc = |folder: &str, more: &[&str]| {
        let folder = dir.at(folder);
        let arguments = ["arc", &folder, "--num-aug", "2", "-q"];
        tool("puzzle-encode").args(&arguments).args(more).run()
    };
    let expected = arc("one", &[]).silent().records();
    assert_eq!(expected.len(), 12);
    let same = |run: Outcome| {
        let found = run.silent().records();
        let bare = |records: &[Value]| -> Vec<Value> {
            let parts = ["split", "puzzle", "identifier", "inputs", "labels"];
            records.iter().map(|r| parts.iter().map(|part| r[*part].clone()).collect()).collect()
        };
        assert_eq!(bare(&found), bare(&expected));
    };
    same(arc("whole", &[]));
    let solutions = ["--solutions", &training, "--solutions", &evaluation];
    same(arc("prize", &solutions));
    let lacks = "task bbbb: test pair 1: output is missing; try: --solutions FILE";
    arc("prize", &solutions[..2]).fails(1, &["arc-agi_evaluation_challenges.json", lacks]);
    let broken = dir.write("broken.json", "{\"aaaa\": 1}");
    let told = "broken.json: task aaaa has a number, expected a list of grids";
    arc("prize", &["--solutions", &broken]).fails(1, &[told]);
}

#[test]
fn broken_sets_are_told() {
    let Some(malformed) = data("malformed/hrm") else { return };
    for (set, parts) in [
        ("labels_fewer_rows", ["all__labels.npy: has ", " examples, the inputs "]),
        ("inputs_3d", ["all__inputs.npy: has the shape [", ""]),
        (
            "pidx_last_long",
            ["all__puzzle_indices.npy: ends at ", ", not at the number of examples, "],
        ),
        (
            "pidx_empty_puzzle",
            ["all__puzzle_indices.npy: entry ", " is there twice, so it has no examples"],
        ),
        ("pidx_first_not0", ["all__puzzle_indices.npy: starts at 1, not 0", ""]),
        ("gidx_nonmonotonic", ["all__group_indices.npy: entry ", " comes after "]),
        ("pid_negative", ["all__puzzle_identifiers.npy: entry", "is -3"]),
        ("sets_missing_set", ["No such file or directory", ".npy"]),
        ("json_missing_key", ["dataset.json: missing field `vocab_size`", ""]),
        ("file_trailing", ["all__inputs.npy: the .npy file is too long", ""]),
        ("npy_bad_magic", ["all__inputs.npy: not a .npy file", ""]),
    ] {
        let run = tool("ds-cat").args(&[malformed.join(set).to_str().unwrap()]).run();
        let code = if set == "sets_missing_set" { 2 } else { 1 };
        run.fails(code, &parts);
    }
    for set in ["ok", "dtype_int64", "dtype_big_endian", "dtype_indices_int64", "fortran_order"] {
        let path = malformed.join(set);
        let path = path.to_str().unwrap();
        let records = tool("ds-cat").args(&[path]).run().silent().stdout;
        let ok = malformed.join("ok");
        let expected = tool("ds-cat").args(&[ok.to_str().unwrap()]).run().stdout;
        assert!(records == expected, "{set}");
    }
}

#[test]
fn memory_is_that_of_a_few_batches() {
    let Some(raw) = data("hrm/raw") else { return };
    let dir = TempDir::new();
    let root = dir.at("arc");
    let peaks = |num_aug: u64| {
        let line = format!("exec {} --to arrow -j 2 -q", encode("arc", &raw, num_aug));
        let mut bash = Command::new("bash");
        bash.env("PATH", format!("{}:/usr/bin:/bin", bin_dir().display()));
        let mut encode = bash.args(["-c", &line]).stdout(Stdio::piped()).spawn().unwrap();
        let mut pack = Command::new(bin_dir().join("npy-pack"))
            .args(["-q", "-o", &root, "--overwrite"])
            .stdin(encode.stdout.take().unwrap())
            .spawn()
            .unwrap();
        let encoded = std::thread::spawn(move || peak(&mut encode));
        let packed = peak(&mut pack);
        let mut cat = Command::new(bin_dir().join("ds-cat"));
        let cat = cat.args([&root, "--to", "arrow"]).stdout(Stdio::null()).spawn();
        [encoded.join().unwrap(), packed, peak(&mut cat.unwrap())]
    };
    // (A run that ended before it was first looked at has no peak.)
    let seen = |num_aug| {
        let runs = std::iter::repeat_with(|| peaks(num_aug));
        runs.take(20).find(|all| all.iter().all(|&peak| peak > 0)).expect("a run that is seen")
    };
    let (few, many) = (seen(5), seen(100));
    println!("peak memory in KiB of [puzzle-encode, npy-pack, ds-cat]: 5 {few:?}, 100 {many:?}");
    for (few, many) in few.into_iter().zip(many) {
        assert!(many < few + few / 2 + 8192, "{few} KiB for 5 augmentations, {many} KiB for 100");
    }
}

#[test]
fn the_script_builds_a_set_of_each_domain() {
    let (Some(raw), Some(python)) = (data("hrm/raw"), python()) else { return };
    let dir = TempDir::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/puzzles.sh");
    let (script, raw, out) = (script.display(), raw.display(), dir.at("out"));
    let inputs = format!("--sudoku {raw}/sudoku --maze={raw}/maze --arc {raw}/arc --domino 30");
    pipe(&format!("{script} {out} {inputs} --num-aug 8 --seed 5"));
    for domain in DOMAINS {
        loaded(&python, &format!("{out}/{domain}"));
        let num_aug = match domain {
            "maze" => 7,
            "domino" => 6,
            _ => 8,
        };
        let build = dir.json(&format!("out/{domain}/build.json"));
        assert_eq!((&build["seed"], &build["parameters"]["num_aug"]), (&json!(5), &json!(num_aug)));
    }
    let again = bash(&format!("{script} {out} --domino 30"));
    assert_eq!(again.code(), Some(2), "{again:?}");
    pipe(&format!("{script} {out} --domino 20 --overwrite"));
    assert_eq!(dir.json("out/domino/train/dataset.json")["total_groups"], 20);
    for (arguments, code, message) in [
        ("", 2, "OUT_DIR is required"),
        (out.as_str(), 2, "nothing to build"),
        (&format!("{out} --domino x"), 2, "invalid value 'x' for '--domino <N>'"),
        (&format!("{out}/x --arc /nonexistent"), 2, "/nonexistent: No such file"),
        (&format!("{out}/x --arc {out}/domino/train"), 1, "dataset.json"),
    ] {
        let run = bash(&format!("{script} {arguments}"));
        run.exits(code, &[message]);
    }
    assert!(!Path::new(&dir.at("out/x/arc")).exists());
}

#[test]
fn what_was_made_is_said() {
    let dir = TempDir::new();
    let pair = r#"[{"input": [[1]], "output": [[1]]}]"#;
    let task = format!("{{\"train\": {pair}, \"test\": {pair}}}");
    let path = dir.write("tasks/evaluation/one.json", task);
    let encode = |flags: &[&str]| {
        tool("puzzle-encode").args(&["arc", &path, "--num-aug", "20"]).args(flags).run().ok()
    };
    // One cell of one colour is one of nine, in both splits.
    let run = encode(&[]);
    assert_eq!(run.records().len(), 18);
    assert_eq!(
        run.stderr,
        "puzzle-encode: warning: 12 augmentations fewer than asked for, in 1 group: no more different \
         ones were found\npuzzle-encode: train: 1 group, 9 puzzles, 9 examples; test: 1 group, 9 puzzles, \
         9 examples\n"
    );
    // A domino game has six other shifts.
    let games = pipe("puzzle-encode domino --num-games 3 --num-aug 9");
    let fewer = "9 augmentations fewer than asked for, in 3 groups";
    assert!(games.stderr.contains(fewer), "{games:?}");
    let records = run.records();
    assert!(records[0]["build"]["inputs"][0]["sha256"].is_string());
    assert!(records[1..].iter().all(|record| record["build"].is_null()));
    encode(&["-q"]).silent();
    // The chain and the constants, for whoever reads the header.
    let header = encode(&["-q", "--to", "arrow", "-j", "2"]).lossy();
    for part in ["\"name\":\"puzzle-encode\"", "\"--num-aug\",\"20\"", "\"seq_len\":900"] {
        assert!(header.contains(part), "{part}");
    }
    let bare = encode(&["-q", "--to", "arrow", "--no-provenance"]).lossy();
    assert!(!bare.contains("gristmill.provenance") && bare.contains("\"vocab_size\":12"));
    let progress = encode(&["--progress", "always"]).stderr;
    assert!(progress.contains("2 of 2 groups (100%)"), "{progress}");
}

/// A set whose examples have no tokens is one that no reader takes.
#[test]
fn examples_without_tokens_are_refused() {
    let dir = TempDir::new();
    let line =
        "{\"split\":\"train\",\"group\":\"g\",\"puzzle\":\"p\",\"inputs\":[],\"labels\":[]}\n";
    for flags in [&[][..], &["--seq-len", "0"]] {
        let run = tool("npy-pack").args(&["-o", &dir.at("set")]).args(flags).input(line).run();
        assert!(matches!(run.code(), Some(1 | 2)) && run.stderr.lines().count() == 1, "{run:?}");
    }
    assert!(dir.files().is_empty());
}

/// A set of a domain that is not known here is checked by no rules, whatever its constants are; and who
/// says so has none checked.
#[test]
fn the_stated_domain_wins() {
    let dir = TempDir::new();
    // As long as a Sudoku, with its vocabulary, and none.
    let cells: Vec<i64> = (0..81).map(|cell| 2 + cell % 9).collect();
    let line = |split: &str, domain: Value| {
        json!({"domain": domain, "split": split, "set": "all", "group": split, "puzzle": split,
               "identifier": null, "inputs": cells, "labels": cells})
        .to_string()
            + "\n"
    };
    for (name, domain) in [("stated", json!("latin9")), ("guessed", Value::Null)] {
        let lines = line("train", domain.clone()) + &line("test", domain);
        let flags = ["--vocab-size", "11", "-o", &dir.at(name)];
        tool("npy-pack").args(&flags).input(lines).run().ok();
    }
    let check =
        |set: &str, flags: &[&str]| tool("ds-check").args(&[&dir.at(set)]).args(flags).run();
    let stated = check("stated", &[]);
    assert!(stated.text().contains("no rules of latin9 are known here"), "{stated:?}");
    assert!(!stated.text().contains("puzzle.sudoku"), "{stated:?}");
    assert!(check("stated", &["--domain", "sudoku"]).text().contains("puzzle.sudoku"));
    check("guessed", &["--domain", "chess"]).fails(2, &["sudoku, arc, maze, domino, none"]);
    // That it states none is stated, too: nothing calls it a Sudoku, and nothing that is made of it.
    let read = format!("ds-cat {} --to arrow", dir.at("guessed"));
    bash(&format!("set -o pipefail; {read} | npy-pack -o {} -q", dir.at("again"))).silent();
    for set in ["guessed", "again"] {
        assert_eq!(dir.json(&format!("{set}/build.json"))["domain"], Value::Null);
        let run = check(set, &[]);
        assert!(run.text().contains("states no domain"), "{run:?}");
        assert!(!run.text().contains("sudoku"), "{run:?}");
        let view = tool("ds-view").args(&[&dir.at(set)]).run().silent().text();
        assert!(!view.contains("sudoku"), "{view}");
    }
    // Only where no file says anything of it the constants count, and what is made of that does not state it.
    fs::remove_file(dir.at("guessed/build.json")).unwrap();
    assert!(check("guessed", &[]).text().contains("puzzle.sudoku"));
    let none = check("guessed", &["--domain", "none"]);
    assert!(none.code() == Some(0) && !none.text().contains("puzzle.sudoku"), "{none:?}");
    bash(&format!("set -o pipefail; {read} | npy-pack -o {} --overwrite -q", dir.at("again")))
        .silent();
    assert_eq!(dir.json("again/build.json")["domain"], Value::Null);
    // A stream, too, is checked by the rules that the user names, or by none.
    dir.write("stream", line("train", json!("sudoku")));
    assert!(check("stream", &[]).text().contains("puzzle.sudoku"));
    let none = check("stream", &["--domain", "none"]);
    assert!(none.code() == Some(0) && !none.text().contains("puzzle.sudoku"), "{none:?}");
    check("stream", &["--domain", "chess"]).fails(2, &["sudoku, arc, maze, domino, none"]);
    dir.write("stream", line("train", Value::Null));
    assert!(check("stream", &["--domain", "sudoku"]).text().contains("puzzle.sudoku"));
}

/// Two puzzles have one identifier only where a file says that they are one.
#[test]
fn puzzles_without_names_of_their_own_stay_apart() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    for (name, from) in [("x", 1), ("y", 5)] {
        let lines: String = (from..from + 3)
            .map(|at| chess("train", "g", &format!("p{at}"), &format!("{name}{at}"), at - from + 1))
            .collect();
        let root = dir.at(name);
        let flags = [&["-o", &root][..], &CHESS].concat();
        tool("npy-pack").args(&flags).input(&lines).run().ok();
    }
    let identifiers = |name: &str| {
        let code = "import sys, numpy; print(numpy.load(sys.argv[1]).tolist())";
        let array = dir.at(&format!("{name}/train/all__puzzle_identifiers.npy"));
        let printed = python_code(&python, code, &[&array]).ok();
        serde_json::from_slice::<Vec<i64>>(&printed.stdout).unwrap()
    };
    let different = |name: &str| identifiers(name).into_iter().collect::<HashSet<_>>().len();
    // A name that stands twice, and one that is that of the blank identifier. (No builder of ours says otherwise.)
    ["x", "y"]
        .iter()
        .for_each(|name| fs::remove_file(dir.at(&format!("{name}/build.json"))).unwrap());
    let blank = dir.json("x/train/dataset.json")["blank_identifier_id"].as_u64().unwrap() as usize;
    let mut names: Vec<String> = serde_json::from_value(dir.json("x/identifiers.json")).unwrap();
    let others: Vec<usize> = (0..names.len()).filter(|place| *place != blank).collect();
    names[others[1]] = names[others[0]].clone();
    names[others[2]] = "<blank>".to_string();
    dir.write("x/identifiers.json", json!(names).to_string());
    let copied = tool("npy-pack").args(&[&dir.at("x"), "-o", &dir.at("copy")]).run().ok();
    assert!(copied.stderr.contains("identifiers.json repeats 2 names"), "{copied:?}");
    assert_eq!((different("copy"), identifiers("copy").contains(&(blank as i64))), (3, false));
    // None at all.
    for name in ["x", "y"] {
        fs::remove_file(dir.at(&format!("{name}/identifiers.json"))).unwrap();
    }
    let flags = ["x", "y"].map(|name| dir.at(name));
    tool("npy-pack").args(&[&flags[0], &flags[1], "-o", &dir.at("merged")]).run().ok();
    assert_eq!(different("merged"), 6);
}
