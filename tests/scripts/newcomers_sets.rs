//! What newcomers met with datasets and scripts: the scripts have the options of their filters, and these
//! do what they say; a folder of datasets is checked, one of shards is read; puzzles of other domains.

use std::fs;
use std::path::Path;

use crate::common::{Outcome, TempDir, bash, bin_dir, copy_scripts, data, write_shards};

/// What no script has of its filters: what the script gives them, provenance (parts are compared by it), and
/// what is for a look at one input by hand.
const OF_FILTERS: &str = "--slice --to --progress-to --allow-empty --no-provenance --version --verbose \
                          --max-record-bytes --expect-records --limit";
/// The script names its inputs.
const INPUTS: &str = "--train --test --num-games --hash-inputs";
/// The script names its outputs. (As the contract prints it, macroxue.sh has --output.)
const OUTPUTS: &str = "--shard --output";
/// The domains of the script are known, and the whole is checked at the end.
const OF_PACKS: &str =
    "--seq-len --vocab-size --pad-id --ignore-label-id --blank-identifier-id --check";

/// A script, the filters that it runs, and what of their options it does not have.
const SCRIPTS: [(&str, &str, &[&str]); 5] = [
    (
        "synth-kd.sh",
        "synth-harmony chat-harmony chat-tok harmony-tok span-mask mmidx-write",
        &[
            OUTPUTS,
            "--hash-inputs",
            // The published datasets are of one kind.
            "--vocab --align --dtype --tokens-only --no-ids",
            // Other tasks of the filters.
            "--decode --concat --foreign",
            // The root is the one that is named.
            "--root --prefix --row-group-rows",
        ],
    ),
    ("synth-raw.sh", "synth-harmony", &[INPUTS, OUTPUTS]),
    ("macroxue.sh", "mx-decode npy-pack", &[INPUTS, OF_PACKS]),
    ("merge-packs.sh", "npy-pack", &[OF_PACKS]),
    (
        "puzzles.sh",
        "puzzle-encode_sudoku puzzle-encode_maze puzzle-encode_arc puzzle-encode_domino npy-pack",
        // Options of games; a folder is given whole.
        &[INPUTS, OUTPUTS, OF_PACKS, "--shard-rows --layout --lossy --solutions"],
    ),
];

/// The options that a help text explains.
fn options(help: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in help.lines().filter(|line| line.starts_with("  ")) {
        for word in line.split([' ', ',', '=']).filter(|word| !word.is_empty()) {
            match word.strip_prefix('-') {
                Some(rest) if rest.starts_with('-') => all.push(word.to_string()),
                // The short form stands before the long one.
                Some(_) => {}
                None => break,
            }
        }
    }
    all
}

#[test]
fn the_scripts_have_the_options_of_their_filters() {
    for (name, filters, without) in SCRIPTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name);
        let help = bash(&format!("bash {} --help", path.display())).ok().text();
        let words: Vec<&str> =
            help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).collect();
        let without: Vec<&str> = without.iter().flat_map(|flags| flags.split(' ')).collect();
        for filter in filters.split(' ').map(|filter| filter.replace('_', " ")) {
            let all = options(&bash(&format!("{filter} --help")).ok().text());
            assert!(all.len() > 10, "{filter}: {all:?}");
            for option in all {
                let has = words.contains(&option.as_str());
                let is_listed = without.contains(&option.as_str());
                let may_lack = is_listed || OF_FILTERS.split(' ').any(|other| other == option);
                assert!(has || may_lack, "{name}: lacks {option} of {filter}");
                assert!(!(has && is_listed), "{name}: has {option} of {filter}, and is listed");
            }
        }
    }
}

/// Options are declared by the filters (`ForPipelines`); a value that one does not take is told before
/// anything is made, in one line.
#[test]
fn values_that_are_passed_on_are_looked_at_first() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let dir = TempDir::new();
    let games = scripts.join("example/games");
    let cases = [
        ("synth-kd.sh", "in out --raw --reference", "synth-harmony"),
        ("synth-kd.sh", "plan in out --raw --reasoning-effort", "synth-harmony"),
        ("synth-kd.sh", "in out --chat --thinking", "chat-harmony"),
        ("synth-kd.sh", "in out --chat --model m --turns", "chat-tok"),
        ("synth-kd.sh", "in out --policy", "harmony-tok"),
        ("synth-kd.sh", "in out --span", "span-mask"),
        ("synth-raw.sh", "in out --reasoning-effort", "synth-harmony"),
        ("macroxue.sh", "GAMES out --legality", "mx-decode"),
        ("macroxue.sh", "GAMES out --layout", "npy-pack"),
        ("merge-packs.sh", "GAMES --output out --shard-rows", "npy-pack"),
    ];
    dir.write("in/raw.ndjson", fs::read(scripts.join("example/raw.ndjson")).unwrap());
    for (script, arguments, filter) in cases {
        let arguments = arguments.replace("GAMES", &games.display().to_string());
        let path = scripts.join(script);
        let line = format!("cd {} && bash {} {arguments}", dir.path().display(), path.display());
        let flag = arguments.split(' ').next_back().unwrap();
        let missing = format!("ds-plan: a value is required for '{flag}");
        for (value, cause) in
            [(" '?'", &*format!("ds-plan: invalid value '?' for '{flag}")), ("", &*missing)]
        {
            let outcome = bash(&format!("{line}{value}"));
            assert_eq!(outcome.code(), Some(2), "{outcome:?}");
            assert!(outcome.stderr.starts_with(cause), "{outcome:?}");
            let way = format!("; see {filter} --help");
            assert!(
                value.is_empty() || script == "merge-packs.sh" || outcome.stderr.contains(&way)
            );
        }
        assert!(!dir.path().join("out").exists(), "{script} {arguments}");
    }
}

/// A directory with the scripts and inputs of each in which one record is bad.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = TempDir::new();
        copy_scripts(&dir);
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/example");
        let place = Place { dir };
        place.run(&format!("cp -r --no-preserve=mode {} example", example.display())).ok();
        place
    }

    fn run(&self, script: &str) -> Outcome {
        let path = bin_dir();
        self.dir.bash(&format!("set -o pipefail; PATH={}:$PATH; {script}", path.display()))
    }

    /// The input of each script with a bad record: what is wrong with it, and how the script is called.
    fn bad_inputs(&self) -> [(&'static str, &'static str); 4] {
        let dir = &self.dir;
        write_shards(dir, &[3, 2]);
        let bad = r#"{"synth_id": "bad", "messages_json": "{\"messages\": [{\"role\": 5}]}"}"#;
        let lines = self.run("ds-cat in/synth_harmony_shard_01.parquet").ok().text();
        dir.write("lines", format!("{lines}{bad}\n"));
        self.run("ds-cat lines --to parquet -o in/synth_harmony_shard_01.parquet --overwrite").ok();
        let raw = dir.text("example/raw.ndjson");
        dir.write("raw/a.ndjson", format!("{raw}{{\"synth_id\": 1.5, \"query\": {{}}}}\n"));
        self.run("mkdir games && for i in 1 2 3; do cp -r example/games games/$i; done").ok();
        let bad = "games/2/depth02_worker00_seed20261101_game000000.jsonl.gz";
        let bytes = dir.read(bad);
        dir.write(bad, &bytes[..bytes.len() / 2]);
        let rows = dir.text("example/sudoku/train.csv");
        dir.write("sudoku/train.csv", format!("{rows}example,1,2,3\n"));
        dir.write("sudoku/test.csv", dir.read("example/sudoku/test.csv"));
        [
            ("role: a number", "synth-kd.sh in out --valid-fraction 0.5"),
            ("synth_id: a number", "synth-raw.sh raw out"),
            ("broken gzip", "macroxue.sh games out --tasks 3"),
            ("question has 1 character,", "puzzles.sh out --sudoku sudoku --domino 5"),
        ]
    }
}

#[test]
fn what_a_script_drops_is_kept() {
    let place = Place::new();
    for (reason, call) in place.bad_inputs() {
        let call = format!("bash scripts/{call}");
        let failed = place.run(&call);
        assert!([1, 75].contains(&failed.code().unwrap()), "{failed:?}");
        place
            .run(&format!("{call} --overwrite --rejects r"))
            .fails(2, &["--rejects needs --on-error skip"]);
        place
            .run(&format!("{call} --overwrite --on-error no"))
            .exits(2, &["invalid value 'no' for '--on-error <fail|skip>'"]);
        let skip = format!("{call} --overwrite --on-error skip --rejects=r --no-check -q");
        let skip = if call.contains("synth-raw") { skip.replace(" --no-check", "") } else { skip };
        let made = place.run(&skip).ok();
        assert!(made.text().is_empty() && made.stderr.is_empty(), "{call}: {made:?}");
        let kept = place.dir.records("r");
        assert_eq!(kept.len(), 1, "{call}: {kept:?}");
        assert!(kept[0]["reason"].as_str().unwrap().contains(reason), "{kept:?}");
        assert!(!place.dir.path().join("out/tasks").exists());
        // A file that is no file of rejects stays, and so does what was made.
        place.dir.write("mine", "notes\n");
        place
            .run(&skip.replace("=r", "=mine"))
            .fails(2, &["mine: is no file of rejects, so it is not replaced"]);
        assert_eq!(place.dir.text("mine"), "notes\n");
        fs::remove_dir_all(place.dir.path().join("out")).unwrap();
        if call.contains("puzzles") {
            continue;
        }
        // On many machines each task keeps its own, and finish collects them.
        let plan = call.replace(".sh ", ".sh plan ");
        place.run(&format!("{plan} --on-error skip --rejects r")).fails(2, &["finish --rejects"]);
        let made = place.run(&format!("{plan} --on-error skip > tasks; bash tasks")).ok();
        assert_eq!(made.stderr, "", "{call}");
        let script = call.split(' ').nth(1).unwrap();
        let check = if call.contains("synth-raw") { "" } else { "--no-check" };
        place.run(&format!("bash {script} finish out tasks --rejects r2 {check} -q")).silent();
        assert_eq!(place.dir.records("r2"), kept, "{call}");
        fs::remove_dir_all(place.dir.path().join("out")).unwrap();
    }
}

#[test]
fn a_script_says_as_much_as_is_wanted() {
    let place = Place::new();
    place.dir.write("sudoku/train.csv", place.dir.read("example/sudoku/train.csv"));
    place.dir.write("sudoku/test.csv", place.dir.read("example/sudoku/train.csv"));
    write_shards(&place.dir, &[3, 2]);
    place.dir.write("rows/a.ndjson", place.dir.read("example/raw.ndjson"));
    place.run("mx-decode example/games --to arrow | npy-pack -o pack").ok();
    for (call, shards, summary) in [
        ("synth-kd.sh in out --valid-fraction 0.5", 2, "out: 5 rows read; "),
        ("synth-raw.sh rows out", 1, "out: 6 rows read"),
        ("macroxue.sh example/games out", 1, "out: 2 games read; "),
        ("puzzles.sh out --sudoku example/sudoku --arc example/arc --domino 5", 3, "groups read; "),
        ("merge-packs.sh --output out pack pack", 0, "out: 4 games read; "),
    ] {
        let run = |more: &str| place.run(&format!("bash scripts/{call} --overwrite {more}"));
        place.run("rm -rf out").silent();
        run("--progress sometimes").exits(2, &["invalid value 'sometimes' for '--progress "]);
        let quiet = run("-q").ok();
        assert!(quiet.text().is_empty(), "{call}: {quiet:?}");
        let never = run("--progress never").ok();
        assert!(never.text().lines().last().unwrap().contains(summary), "{call}: {never:?}");
        for told in [run("--progress=always").ok(), run("-q --progress always").ok()] {
            let lines = told.stderr.lines().filter(|line| line.starts_with("ds-plan: "));
            assert_eq!(lines.count(), shards, "{call}: {told:?}");
        }
        for silent in [quiet, never] {
            assert!(!silent.stderr.contains("/s"), "{call}: {silent:?}");
        }
    }
    place.run("cp in/synth_harmony_shard_00.parquet in/synth_harmony_shard_01.parquet").ok();
    // What ds-check warns of is shown, however quiet the script is.
    for (call, warning) in [
        ("puzzles.sh warned --sudoku sudoku", "warning  puzzle.overlap"),
        ("synth-kd.sh in warned --no-input-check", "warning  kd.ids.repeated"),
    ] {
        for more in ["", "-q"] {
            let run = place.run(&format!("bash scripts/{call} --overwrite {more}")).ok();
            assert!(run.stderr.contains(warning), "{call}: {run:?}");
        }
    }
}

#[test]
fn options_of_the_filters_reach_them() {
    let place = Place::new();
    let sudoku = "--train example/sudoku/train.csv --test example/sudoku/test.csv --num-aug 3";
    let of_sudoku =
        |flags: &str| format!("puzzle-encode sudoku {sudoku} {flags} | npy-pack -o direct/sudoku");
    for (call, filters) in [
        (
            "macroxue.sh example/games out --tasks 2 --layout selfplay-v1 --lossy",
            "mx-decode example/games | npy-pack -o direct --layout selfplay-v1 --lossy",
        ),
        (
            "macroxue.sh example/games out --layout macroxue-packed --tasks 2",
            "mx-decode example/games | npy-pack -o direct --layout macroxue-packed",
        ),
        (
            "merge-packs.sh --output out pack pack --layout=selfplay-v1 --lossy",
            "npy-pack pack pack -o direct --layout selfplay-v1 --lossy",
        ),
        (
            "puzzles.sh out --sudoku example/sudoku --subsample 1 --jobs 2",
            &of_sudoku("--subsample 1"),
        ),
        (
            "puzzles.sh out --sudoku example/sudoku --min-difficulty 2 --no-check",
            &of_sudoku("--min-difficulty 2"),
        ),
        ("puzzles.sh out --sudoku example/sudoku --unique", &of_sudoku("--unique")),
        (
            "puzzles.sh out --arc example/arc/training --arc=example/arc/evaluation --seed 7 --num-aug 4",
            "puzzle-encode arc example/arc/training example/arc/evaluation --seed 7 --num-aug 4 | npy-pack -o direct/arc",
        ),
    ] {
        // (Arrays are compared, and of a merge all files.)
        let same = if call.starts_with("merge") { "*" } else { "*.npy" };
        place.run("rm -rf out direct pack; mx-decode example/games | npy-pack -o pack").ok();
        place.run(&format!("bash scripts/{call} -q")).ok();
        place.run(filters).ok();
        let list = |root: &str| {
            let find = format!(
                "cd {root}; find . -name '{same}' -type f ! -name manifest.json ! -name build.json -exec sha256sum {{}} +"
            );
            let mut lines: Vec<String> =
                place.run(&find).ok().text().lines().map(str::to_string).collect();
            lines.sort();
            lines
        };
        let (ours, direct) = (list("out"), list("direct"));
        assert!(!ours.is_empty() && ours == direct, "{call}: {ours:?} {direct:?}");
        if call.starts_with("macroxue") {
            let lost =
                |root: &str| place.dir.json(&format!("{root}/manifest.json"))["lost"].clone();
            assert_eq!(lost("out"), lost("direct"), "{call}");
        }
    }
    place
        .run("bash scripts/puzzles.sh x --domino 5 --unique")
        .fails(2, &["--unique is for --sudoku"]);
    let lossy = place.run("bash scripts/macroxue.sh example/games x --layout selfplay-v1");
    lossy.exits(1, &["the layout selfplay-v1 would lose board_eval, "]);
}

#[test]
fn a_folder_of_datasets_is_checked() {
    let place = Place::new();
    place.run("mkdir -p all/of/them all/z_kd; mx-decode example/games | npy-pack -o all/pack").ok();
    place.run("puzzle-encode domino --num-games 5 | npy-pack -o all/of/them/domino").ok();
    place.run("harmony-tok example/conversations.ndjson | span-mask | mmidx-write --prefix all/z_kd/p").ok();
    place.run("ln -s .. all/of/loop; echo hello > all/README").ok();
    let checked = place.run("ds-check all").ok().text();
    let named = checked.lines().filter(|line| line.starts_with("all/"));
    let named: Vec<&str> = named.filter_map(|line| line.split(':').next()).collect();
    assert_eq!(named, ["all/of/them/domino", "all/pack", "all/z_kd"], "{checked}");
    assert!(checked.contains("in 3 datasets"), "{checked}");
    // A defect in any of them is an error.
    let steps = "all/pack/steps.npy";
    let mut bytes = place.dir.read(steps);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    place.dir.write(steps, bytes);
    let found = place.run("ds-check all");
    assert_eq!(found.code(), Some(1), "{found:?}");
    assert!(
        found.text().contains("pool.sha256") || found.text().contains("steps.npy"),
        "{found:?}"
    );
    place.run("mkdir empty; ds-check empty").fails(2, &["is a directory without a dataset"]);
}

#[test]
fn a_folder_of_shards_is_read() {
    let place = Place::new();
    write_shards(&place.dir, &[3, 2]);
    let files = "in/synth_harmony_shard_00.parquet in/synth_harmony_shard_01.parquet";
    for filter in ["ds-cat", "harmony-tok", "ds-cat --slice 1/2", "harmony-tok --limit 4"] {
        let (folder, each) =
            (place.run(&format!("{filter} in")), place.run(&format!("{filter} {files}")));
        assert_eq!(folder.ok().text(), each.ok().text(), "{filter}");
    }
}

/// Records of a domain of one's own.
fn line(split: &str, name: usize, length: usize) -> String {
    let tokens = vec![1 + name % 3; length];
    serde_json::json!({
        "domain": "mine", "split": split, "set": "all", "group": name.to_string(),
        "puzzle": name.to_string(), "identifier": format!("p{name}"), "inputs": tokens, "labels": tokens,
    })
    .to_string()
        + "\n"
}

#[test]
fn a_domain_of_ones_own_needs_only_its_vocabulary() {
    let place = Place::new();
    let lines: String = (0..4).map(|n| line(if n < 3 { "train" } else { "test" }, n, 6)).collect();
    place.dir.write("mine.ndjson", lines);
    let pack = |more: &str| place.run(&format!("npy-pack mine.ndjson -o out --overwrite {more}"));
    pack("").fails(2, &["domain \"mine\" is not known", "try: --vocab-size V"]);
    pack("--vocab-size 5").ok();
    for (flags, expected) in [
        ("--vocab-size 5", [0, 0, 0]),
        ("--vocab-size 5 --pad-id 4", [4, 0, 0]),
        ("--vocab-size 5 --ignore-label-id 3", [0, 3, 0]),
        ("--vocab-size 5 --blank-identifier-id 2", [0, 0, 2]),
    ] {
        pack(flags).ok();
        for split in ["train", "test"] {
            let constants = place.dir.json(&format!("out/{split}/dataset.json"));
            let names = ["pad_id", "ignore_label_id", "blank_identifier_id"];
            assert_eq!(names.map(|name| constants[name].as_i64().unwrap()), expected, "{flags}");
            assert_eq!((&constants["seq_len"], &constants["vocab_size"]), (&6.into(), &5.into()));
        }
    }
    pack("--vocab-size 5 --ignore-label-id none").ok();
    assert!(place.dir.json("out/test/dataset.json")["ignore_label_id"].is_null());
    pack("--vocab-size 3").fails(1, &["vocab_size is 3"]);
}

#[test]
fn splits_may_differ_in_their_length() {
    let place = Place::new();
    let lines: String =
        (0..6).map(|n| if n < 4 { line("train", n, 9) } else { line("test", n, 5) }).collect();
    place.dir.write("mine.ndjson", &lines);
    place.run("npy-pack mine.ndjson -o set --vocab-size 5").ok();
    for (split, length) in [("train", 9), ("test", 5)] {
        assert_eq!(place.dir.json(&format!("set/{split}/dataset.json"))["seq_len"], length);
    }
    // One that has another length than the first of its split is no example of it.
    place.dir.write("more.ndjson", format!("{lines}{}", line("test", 7, 9)));
    place
        .run("npy-pack more.ndjson -o x --vocab-size 5")
        .fails(1, &["inputs has 9 tokens, seq_len is 5"]);
    place.run("npy-pack mine.ndjson -o x --vocab-size 5 --seq-len 9").fails(1, &["seq_len is 9"]);

    let mut sets = vec![("set".to_string(), 6, [4, 2])];
    if let Some(data) = data("hrm/gridops") {
        sets.push((data.display().to_string(), 1230, [1200, 30]));
    }
    for (set, examples, groups) in sets {
        let found = place.run(&format!("ds-check {set}")).ok().text();
        assert!(found.contains("warning  puzzle.dataset.agree"), "{found}");
        place.run(&format!("ds-check {set} --strict")).fails(1, &[]);
        assert_eq!(
            place.run(&format!("ds-cat --count {set}")).ok().text().trim(),
            examples.to_string()
        );
        for to in ["ndjson", "arrow"] {
            // What is read is written again, with what is known of it.
            place
                .run(&format!(
                    "rm -rf again; ds-cat {set} --to {to} > s; npy-pack s -o again --vocab-size 40"
                ))
                .ok();
            for (split, groups) in ["train", "test"].into_iter().zip(groups) {
                let read = |root: &str| -> serde_json::Value {
                    let path = place.dir.path().join(root).join(split).join("dataset.json");
                    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
                };
                let (ours, theirs) = (read("again"), read(&set));
                assert_eq!(
                    (&ours["seq_len"], &ours["total_groups"]),
                    (&theirs["seq_len"], &groups.into())
                );
                assert_eq!(ours["sets"], theirs["sets"]);
            }
            if set == "set" {
                break;
            }
        }
        let stated: serde_json::Value =
            serde_json::from_str(&place.run(&format!("ds-stat {set} --format json")).ok().text())
                .unwrap();
        assert!(stated.to_string().contains(&examples.to_string()), "{stated}");
        let view = place.run(&format!("ds-view {set} --limit 2")).ok().text();
        assert!(!view.is_empty());
    }
}
