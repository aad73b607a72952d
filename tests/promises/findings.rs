//! Ways in which data was lost or misread once, where no test of their topic had them, and the table
//! of all of them (FINDINGS.md): each has a test that is there.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::samples::masked_line;
use crate::common::{
    Edit, Outcome, TempDir, assert_same_datasets, bash, copy_scripts, files_in, installed,
    unchecked_sink, wrap, write_shards,
};
use crate::faults::inputs;
use crate::games::{Folder, GameText};

/// Small datasets of every kind in `in`.
fn prepared() -> TempDir {
    let dir = TempDir::new();
    inputs::make(&dir.path().join("in"));
    dir
}

/// A command in `in`, without an output of before. What hangs ends with 124.
fn run(dir: &TempDir, command: &str) -> Outcome {
    bash(&format!("cd {}/in; rm -rf out; timeout 60 {command}", dir.path().display()))
}

#[test]
fn each_finding_and_rule_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("tests/FINDINGS.md")).unwrap();
    let mut ids: Vec<(char, u32)> = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, id, _, tests, ..] = cells[..] else { panic!("{line}") };
        if ["no.", "id"].contains(&id) {
            continue;
        }
        let (class, number) = id.split_at(1);
        ids.push((class.chars().next().unwrap(), number.parse().unwrap()));
        let names: Vec<&str> =
            tests.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
        assert!(!names.is_empty(), "no test: {line}");
        for name in names {
            let (file, test) = name.split_once("::").unwrap();
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            let is_there = text.contains(&format!("#[test]\nfn {test}("))
                || text.contains(&format!("#[test]\n    fn {test}("));
            assert!(is_there, "{name} is no test: {line}");
        }
    }
    ids.sort_unstable();
    ids.dedup();
    let classes =
        [('A', 13), ('B', 8), ('C', 8), ('D', 7), ('E', 4), ('R', 16), ('T', 14), ('U', 17)];
    let of = |(class, last)| (1..=last).map(move |number| (class, number));
    let all = classes.into_iter().flat_map(of);
    assert_eq!(ids, all.collect::<Vec<_>>());
}

/// Every filter that fails in NDJSON leaves a stream that is seen to be cut, without pipefail.
#[test]
fn every_filter_that_fails_leaves_no_last_newline() {
    let dir = prepared();
    bash(&format!(
        "cd {}/in; printf '{{' > raw/z.meta.json; printf x > raw/z.jsonl.gz
         (cat raw_rows/a.ndjson; echo '{{\"query\": 5}}') > bad.rows
         (cat a.masked; echo '{{\"tokens\": \"none\"}}') > bad.tokens
         harmony-tok a.ndjson > t; (cat t; echo '{{\"tokens\": \"none\"}}') > bad.unmasked
         (cat a.ndjson; echo '{{}}') > bad.ndjson
         (cat sudoku/train.csv; echo made,1,2,3) > bad.csv
         printf '\\t' | dd of=sharded/steps-00001.npy bs=1 seek=$((384 + 48 * 3 + 22)) conv=notrunc",
        dir.path().display()
    ))
    .ok();
    for (filter, sink) in [
        ("harmony-tok bad.ndjson", "ds-cat -o out/x.ndjson"),
        ("harmony-tok --decode bad.tokens", "ds-cat -o out/x.ndjson"),
        ("span-mask bad.unmasked", "mmidx-write --prefix out/p"),
        ("ds-cat bad.tokens", "mmidx-write --root out --shard s"),
        ("ds-cat sharded", "npy-pack -o out"),
        ("synth-harmony bad.rows", "ds-cat --to parquet -o out/x.parquet"),
        ("mx-decode raw", "npy-pack -o out"),
        ("puzzle-encode sudoku --train bad.csv", "npy-pack -o out"),
    ] {
        for jobs in ["", " -j 2"] {
            if !jobs.is_empty() && ["ds-cat", "span-mask"].iter().any(|f| filter.starts_with(f)) {
                continue;
            }
            let script = format!("bash -c '{filter}{jobs} | {sink}; echo ${{PIPESTATUS[@]}}'");
            let told = run(&dir, &script);
            assert_eq!(told.text(), "1 75\n", "{told:?}");
            assert!(!dir.path().join("in/out").exists(), "{told:?}");
            let alone = run(&dir, &format!("{filter}{jobs}"));
            assert_ne!(alone.stdout.last(), Some(&b'\n'), "{alone:?}");
        }
    }
}

/// The encoding by flags: what comes after a stage that could not begin does not know it, and no
/// bytes are no stream.
#[test]
fn a_stage_that_cannot_begin_is_no_empty_stream() {
    let dir = prepared();
    fs::write(dir.at("in/none.parquet"), "").unwrap();
    for (input, code) in [("nowhere", 2), ("none.parquet", 1), ("<(:)", 75)] {
        for flags in [["--to arrow"; 2], ["--to arrow", ""], ["", "--to arrow"], [""; 2]] {
            let [first, second] = flags;
            let pipe = format!(
                "bash -c 'harmony-tok {first} {input} | span-mask {second} \
                 | mmidx-write --root out --shard s; echo ${{PIPESTATUS[@]}}'"
            );
            let told = run(&dir, &pipe);
            let codes = told.text();
            assert!(codes.starts_with(&format!("{code} ")), "{told:?}");
            assert!(codes.trim().split(' ').all(|code| code != "0"), "{told:?}");
            assert!(!dir.path().join("in/out").exists(), "{told:?}");
        }
    }
    for filter in ["harmony-tok", "ds-cat", "synth-harmony", "ds-stat", "ds-view"] {
        run(&dir, &format!("{filter} none.parquet")).fails(1, &[filter, "none.parquet: there are"]);
    }
}

/// A build whose shell is killed while its filters live, or go with it: there is no short part.
#[test]
fn a_build_whose_shell_is_killed_keeps_no_short_part() {
    for killed in ["$PPID", "$PPID $$"] {
        let dir = TempDir::new();
        copy_scripts(&dir);
        write_shards(&dir, &[300, 3]);
        let script = |root: &str, more: &str| {
            let line = format!(
                "cd {}; PATH=$PWD/bin:$PATH; bash scripts/synth-kd.sh in {root} --on-error skip \
                 --valid-fraction 0.3 --jobs 1 -q {more}",
                dir.path().display()
            );
            bash(&line)
        };
        script("whole", "").ok();
        wrap(&dir, "harmony-tok", &format!("[ -e again ] || kill -KILL {killed}"));
        let run = script("out", "");
        assert_eq!(run.code(), Some(75), "{run:?}");
        let parts = || -> Vec<String> {
            // (What the filters have finished without their shell is no part yet.)
            let is_part = |name: &String| name.starts_with("parts/") || name.ends_with("done.json");
            files_in(&dir.path().join("out")).into_iter().filter(is_part).collect()
        };
        assert_eq!(parts(), [""; 0]);
        dir.write("again", "");
        script("out", "--resume").ok();
        assert_same_datasets(&dir.path().join("out"), &dir.path().join("whole"));
        assert_eq!(parts().len(), 2);
        assert_eq!(dir.json("out/manifest.json")["records"]["read"], 303);
    }
}

/// The datasets, the names of their manifests, and a sink that reads them.
const DATASETS: [(&str, &[&str], &str); 7] = [
    ("root", &["manifest.json", "parts/a.json", "parts/b.json"], "mmidx-write root --prefix out/p"),
    ("p", &["a.part.json", "b.part.json"], "mmidx-write p --prefix out/p"),
    ("pack", &["manifest.json"], "npy-pack pack -o out"),
    ("sharded", &["manifest.json"], "npy-pack sharded -o out"),
    ("selfplay", &["manifest.json"], "npy-pack selfplay -o out"),
    ("domino", &["build.json"], "npy-pack domino -o out"),
    ("arc_set", &["build.json"], "npy-pack arc_set -o out"),
];

/// Without any file that its own manifest names, no dataset is read as a smaller good one: each file
/// in turn, then all of a split and all of a shard.
#[test]
fn without_a_file_that_its_manifest_names_no_dataset_is_read() {
    let dir = prepared();
    let mut wrong = Vec::new();
    for (dataset, manifests, sink) in DATASETS {
        let base = dir.path().join("in").join(dataset);
        let members = || {
            let all = files_in(&base).into_iter();
            all.filter(|name| !manifests.contains(&name.as_str())).collect::<Vec<_>>()
        };
        let shard = |name: &str| name.contains("b_") || name.contains("/b.");
        let mut lost: Vec<Vec<String>> = members().into_iter().map(|name| vec![name]).collect();
        let together: [&dyn Fn(&str) -> bool; 4] = [
            &|name| name.starts_with("valid/"),
            &|name| name.starts_with("test/"),
            &|name| name.starts_with("ids/"),
            &shard,
        ];
        let groups = together.map(|is| members().into_iter().filter(|n| is(n)).collect());
        lost.extend(groups.into_iter().filter(|group: &Vec<String>| !group.is_empty()));
        let readers = ["ds-cat", "ds-stat -q", "ds-view --limit 1"];
        let commands = readers.map(|reader| format!("{reader} {dataset}"));
        for names in lost {
            let away = dir.path().join("away");
            fs::rename(&base, &away).unwrap();
            bash(&format!("cp -r {} {}", away.display(), base.display())).ok();
            names.iter().for_each(|name| fs::remove_file(base.join(name)).unwrap());
            for command in commands.iter().map(String::as_str).chain([sink]) {
                let told = run(&dir, command);
                let file = |name: &String| name.rsplit('/').next().unwrap().to_string();
                let is_named = names.iter().any(|name| told.stderr.contains(&file(name)))
                    || told.stderr.contains(&format!("{dataset}: no files of rows"));
                if !matches!(told.code(), Some(1 | 2)) || !is_named && names.len() == 1 {
                    wrong.push(format!("{dataset} without {names:?}: {told:?}"));
                }
            }
            fs::remove_dir_all(&base).unwrap();
            fs::rename(&away, &base).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.concat());
}

/// A file that a manifest places outside of the dataset is not there, though it is, and with the
/// right bytes; nor is a FIFO there waited for.
#[test]
fn nothing_outside_of_a_dataset_is_followed() {
    let dir = prepared();
    for (dataset, manifest, file, readers) in [
        ("root", "parts/a.json", "train/a_tokens.bin", ["ds-manifest root", "ds-cat root"]),
        (
            "p",
            "a.part.json",
            "a_span.bin",
            ["ds-cat p", "mmidx-write --concat p/a p/b --prefix out/x"],
        ),
        ("pack", "manifest.json", "valuation_types.json", ["ds-cat pack", "npy-pack pack -o out"]),
        ("sharded", "manifest.json", "steps-00001.npy", ["ds-cat sharded", "ds-stat -q sharded"]),
        ("domino", "build.json", "identifiers.json", ["ds-cat domino", "npy-pack domino -o out"]),
    ] {
        let outside = dir.at("in/outside");
        for elsewhere in ["../outside", "sub/../../outside", outside.as_str()] {
            for is_fifo in [false, true] {
                bash(&format!(
                    "set -e; cd {}/in; rm -rf outside kept; cp -r {dataset} kept
                     mv {dataset}/{file} outside; {}
                     sed -i 's#\"{file}\"#\"{elsewhere}\"#' {dataset}/{manifest}
                     grep -q outside {dataset}/{manifest}",
                    dir.path().display(),
                    if is_fifo { "rm outside; mkfifo outside" } else { "true" },
                ))
                .ok();
                let told = run(&dir, &format!("ds-check -q {dataset}"));
                assert_eq!(told.code(), Some(1), "{told:?}");
                assert!(told.text().contains("is not there"), "{told:?}");
                for reader in readers {
                    let told = run(&dir, reader);
                    assert!(matches!(told.code(), Some(1 | 2)), "{told:?}");
                }
                bash(&format!(
                    "cd {}/in; rm -r {dataset}; mv kept {dataset}",
                    dir.path().display()
                ))
                .ok();
            }
        }
    }
}

/// What manifests say may be as large as a number can be: its sums are not small numbers.
#[test]
fn sums_of_what_manifests_say_never_wrap() {
    let dir = prepared();
    let most = |value: &mut Value| *value = u64::MAX.into();
    let (concat, check) =
        ("mmidx-write --concat root/train/a root/train/b --prefix out/x", "ds-check -q root");
    for field in ["rejected", "read", "rows", "tokens"] {
        let edit: Edit = &|part| match field {
            "rejected" | "read" => most(&mut part["records"][field]),
            _ => most(&mut part["splits"]["train"][field]),
        };
        let kept = ["a", "b"].map(|name| dir.text(&format!("in/root/parts/{name}.json")));
        for name in ["a", "b"] {
            let path = format!("in/root/parts/{name}.json");
            let mut part = dir.json(&path);
            // The masks came as NDJSON, without what was dropped before.
            let written = part["records"]["written"].clone();
            part["records"] = json!({"read": written, "written": written, "rejected": 0});
            edit(&mut part);
            dir.write(&path, part.to_string());
        }
        fs::remove_file(dir.at("in/root/manifest.json")).unwrap();
        let mut commands = vec!["ds-manifest root", check];
        // What was read and the tokens are counted anew.
        commands.extend(["rejected", "rows"].contains(&field).then_some(concat));
        for command in commands {
            let told = run(&dir, command);
            assert_eq!(told.code(), Some(1), "{field}: {told:?}");
        }
        for (name, text) in ["a", "b"].iter().zip(kept) {
            dir.write(&format!("in/root/parts/{name}.json"), text);
        }
        run(&dir, "ds-manifest root").ok();
    }
    let mut manifest = dir.json("in/sharded/manifest.json");
    manifest["files"].as_array_mut().unwrap().iter_mut().for_each(|file| most(&mut file["rows"]));
    dir.write("in/sharded/manifest.json", manifest.to_string());
    let told = run(&dir, "ds-check sharded");
    assert!(told.code() == Some(1) && told.text().contains("more than 2^64"), "{told:?}");
    let mut manifest = dir.json("in/shards/manifest.json");
    for shard in manifest["storage"]["shards"].as_array_mut().unwrap() {
        most(&mut shard["rows"]);
        most(&mut shard["bytes"]);
    }
    dir.write("in/shards/manifest.json", manifest.to_string());
    for command in ["ds-check -q shards", "harmony-tok shards", "ds-manifest --check-input shards"]
    {
        let told = run(&dir, command);
        assert_eq!(told.code(), Some(1), "{told:?}");
    }
}

/// No sink takes a name of its own output for its rejects.
#[test]
fn no_output_of_a_run_is_its_file_of_rejects() {
    let dir = prepared();
    for (command, names) in [
        (
            "npy-pack games.ndjson -o out",
            &["out/steps.npy", "out/metadata.db", "out/manifest.json", "out/valuation_types.json"]
                [..],
        ),
        (
            "npy-pack domino.ndjson -o out",
            &["out/identifiers.json", "out/build.json", "out/train/dataset.json"][..],
        ),
        (
            "mmidx-write bad.masked --root out --shard s",
            &["out/parts/s.json", "out/ids/train/s.parquet"][..],
        ),
        ("mmidx-write bad.masked --prefix out/p", &["out/p_ids.parquet", "out/p.part.json"][..]),
        ("synth-harmony raw_rows/a.ndjson -o out/x.ndjson", &["out/x.ndjson"][..]),
    ] {
        for name in names {
            let told = run(&dir, &format!("{command} -q --on-error skip --rejects {name}"));
            told.fails(2, &[name]);
            assert!(!dir.path().join("in/out").exists(), "{command}, {name}");
        }
    }
}

/// Games with a valuation name that some readers do not know.
fn warned_of() -> Folder {
    let folder = Folder::new();
    for name in ["a", "b", "c"] {
        let mut game = GameText::played(9);
        game.steps.iter_mut().for_each(|step| *step = step.replace("\"search\"", "\"other\""));
        game.write(&folder, name);
    }
    folder
}

/// What filters warn of comes out of the scripts too, once, and they say what they have made.
#[test]
fn scripts_pass_warnings_on_and_say_what_was_made() {
    let (dir, folder) = (TempDir::new(), warned_of());
    copy_scripts(&dir);
    let raw = folder.path.display();
    let script = |line: &str| dir.bash(&format!("bash scripts/{line}"));
    let warning = "npy-pack: warning: valuation types beyond search, tuple10 and tuple11 (other)";
    for (line, made) in [
        (format!("macroxue.sh {raw} one --no-check --jobs 1"), "one: 3 games read; "),
        (format!("macroxue.sh {raw} many --no-check --games-per-task 1"), "many: 3 games read; "),
        ("merge-packs.sh --output two one many --no-check".into(), "two: 6 games read; "),
    ] {
        let told = script(&line).ok();
        assert!(told.text().contains(made), "{told:?}");
        assert_eq!(told.stderr.matches(warning).count(), 1, "{told:?}");
    }
    let quiet = script(&format!("macroxue.sh {raw} quiet --no-check -q"));
    assert_eq!((quiet.text(), quiet.stderr.as_str()), (String::new(), ""));
}

/// On a terminal the closing check shows how far it is; elsewhere it is still.
#[test]
fn the_closing_check_of_scripts_shows_its_progress() {
    if !installed("script") {
        return;
    }
    let (dir, folder) = (TempDir::new(), warned_of());
    copy_scripts(&dir);
    write_shards(&dir, &[3]);
    wrap(&dir, "ds-check", "echo \"$*\" >> checked; exit 0");
    let raw = folder.path.display();
    for (number, line) in [
        "synth-kd.sh in OUT --valid-fraction 0.5".to_string(),
        format!("macroxue.sh {raw} OUT"),
        "puzzles.sh OUT --domino 3".into(),
        "merge-packs.sh --output OUT out1-here".into(),
    ]
    .into_iter()
    .enumerate()
    {
        for (place, shown) in [("here", "--progress never"), ("terminal", "--progress always")] {
            let line = line.replace("OUT", &format!("out{number}-{place}"));
            dir.write("line", format!("PATH=$PWD/bin:$PATH; bash scripts/{line}"));
            let line = match place {
                "here" => "bash line",
                _ => "TERM=xterm script -qec 'bash line' /dev/null < /dev/null",
            };
            dir.bash(&format!("rm -f checked; {line}")).ok();
            let checked = dir.text("checked");
            assert!(checked.lines().all(|call| call.contains(shown)), "{line}: {checked}");
        }
    }
}

/// What jq 1.6 rounds nobody can see afterwards: there it is said. What we write and read is exact.
#[test]
fn numbers_above_2_to_the_53_are_exact() {
    for page in ["lib/stream/stream/SPEC.md", "docs/recipes.md"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("jq 1.6") && text.contains("integers above 2^53"), "{page}");
    }
    let (dir, folder) = (TempDir::new(), Folder::new());
    for (number, seed) in [(1u64 << 53) + 1, u64::MAX - 1, (1 << 63) + 1].into_iter().enumerate() {
        let mut game = GameText::played(3);
        for text in game.steps.iter_mut().chain([&mut game.meta]) {
            *text = text.replace("\"seed\":77", &format!("\"seed\":{seed}"));
        }
        game.write(&folder, &format!("g{number}"));
    }
    let script = format!(
        "set -o pipefail; cd {}; mx-decode {} | ds-cat | ds-cat --to arrow | ds-cat | npy-pack -o a; \
         ds-cat a | npy-pack -o b; cmp a/metadata.db b/metadata.db; ds-cat b",
        dir.path().display(),
        folder.path.display()
    );
    let games = bash(&script).silent().records();
    let seeds: Vec<u64> = games.iter().map(|game| game["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [(1 << 53) + 1, u64::MAX - 1, (1 << 63) + 1]);
    // A number that a double cannot hold is not rounded on the way in either.
    let line =
        masked_line("a", &[1, 2, 3]).replace("\"tokens\":[1,", "\"tokens\":[9007199254740993,");
    let sink = unchecked_sink().args(&["--prefix", &dir.at("p")]).input(line).run();
    sink.fails(1, &["9007199254740993 is not"]);
}
