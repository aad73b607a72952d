//! scripts/synth-kd.sh: all shards of a directory, in any order and with any limit, give what the
//! filters give shard by shard; what is finished is kept, and nothing else is.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::run::Tool;
use crate::common::{
    Outcome, TempDir, assert_no_temporaries, assert_same_datasets, bash, bin_dir, conversations,
    copy_ds_plan, copy_scripts, data, datasets_in, files_in, oracle, python, tool, wrap,
    write_shards,
};

/// A directory with an input of small shards and a copy of the script. (Beside the original there
/// may be a release build, which the script would prefer.)
struct Bench {
    dir: TempDir,
}

const ROWS: [usize; 3] = [9, 1, 7];

impl Bench {
    fn new() -> Bench {
        let bench = Bench::without_input();
        write_shards(&bench.dir, &ROWS);
        bench
    }

    fn without_input() -> Bench {
        let dir = TempDir::new();
        copy_scripts(&dir);
        Bench { dir }
    }

    fn root(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, arguments: &str) -> Outcome {
        self.run_with(arguments, &[])
    }

    /// `scripts/synth-kd.sh in ARGUMENTS` in the directory.
    fn run_with(&self, arguments: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut command = std::process::Command::new("/bin/bash");
        command.arg("-c").arg(format!("bash scripts/synth-kd.sh {arguments}"));
        let mut tool = Tool::new(command, arguments).in_directory(self.dir.path());
        for (name, value) in variables {
            tool = tool.env(name, value);
        }
        tool.run().without_shards()
    }

    /// What the filters give, shard by shard.
    fn expected(&self, name: &str, limits: [&str; 3], flags: &str) -> PathBuf {
        for (shard, limit) in limits.iter().enumerate() {
            bash(&format!(
                "set -eo pipefail; export GRISTMILL_TO=arrow; cd {}; harmony-tok in/synth_harmony_shard_{shard:02}.parquet \
                 {limit} | span-mask | mmidx-write --root {name} --shard shard_{shard:02} {flags}",
                self.dir.path().display()
            ))
            .silent();
        }
        self.root(name)
    }

    fn manifest(&self, root: &str) -> Value {
        self.dir.json(&format!("{root}/manifest.json"))
    }
}

/// A PATH that has what the script needs, and no more.
fn path_with(dir: &TempDir) -> String {
    let bin = dir.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for program in ["bash", "dirname", "readlink"] {
        let found = bash(&format!("command -v {program}")).ok().text();
        let _ = symlink(found.trim(), bin.join(program));
    }
    format!("{}:{}", bin_dir().display(), bin.display())
}

#[test]
fn one_shard_gives_the_original_bytes() {
    let Some(data) = data("") else { return };
    let Some(python) = python() else { return };
    let bench = Bench::without_input();
    symlink(data.join("synth_harmony"), bench.root("in")).unwrap();
    for (name, flag) in [("valid_0.1", "--valid-fraction 0.1"), ("valid_0.001", "")] {
        for to in ["arrow", "ndjson"] {
            let root = format!("{name}-{to}");
            let out =
                bench.run_with(&format!("in {root} {flag}"), &[("GRISTMILL_TO", to)]).silent();
            assert_same_datasets(&bench.root(&root), &data.join("synth_kd").join(name));
            let manifest = bench.manifest(&root);
            if name == "valid_0.1" {
                let hash = "faa2ee2ea0adc1b2dc2f171d31e4ab4d6b6a3a320d09a35776cceb34c006ecdc";
                assert_eq!(manifest["config_hash"], hash);
                let text = out.text();
                let made = "train 219 rows, 189817 tokens, 100901 in analysis, 56909 in final\n\
                            valid 31 rows, 25876 tokens, 13088 in analysis, 8351 in final\n";
                let summary = text.strip_prefix(made).unwrap();
                assert!(
                    summary.starts_with(&format!("{root}: 250 rows read; 1.3 MB in ")),
                    "{text}"
                );
            }
            assert_eq!(manifest["tokenizer"]["vocab_size"], 201_088);
            assert_eq!(manifest["input"]["dataset_dir"], "in");
            assert_eq!(
                manifest["limits"],
                serde_json::json!({"rows": null, "tokens": null, "slice": null})
            );
            let checked = std::process::Command::new(&python)
                .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/manifest.py"))
                .arg(&root)
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .current_dir(bench.dir.path())
                .output()
                .unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
}

#[test]
fn shards_side_by_side() {
    let bench = Bench::new();
    let expected = bench.expected("expected", ["", "", ""], "--valid-fraction 0.5");
    let bare = TempDir::new();
    let plain = path_with(&bare);
    let mut manifests = Vec::new();
    for jobs in [1, 2] {
        for to in ["arrow", "ndjson"] {
            let root = format!("plain{jobs}{to}");
            bench
                .run_with(
                    &format!("in {root} --valid-fraction=0.5 --jobs {jobs}"),
                    &[("PATH", &plain), ("GRISTMILL_TO", to)],
                )
                .silent();
            assert_same_datasets(&bench.root(&root), &expected);
            manifests.push(bench.manifest(&root)["splits"].clone());
        }
    }
    assert!(manifests.iter().all(|splits| *splits == manifests[0]));
    if let Some(python) = python() {
        let root = bench.dir.at("plain2arrow");
        // The input's manifest is named as the script was called, so it is checked from there.
        let manifest = bench.manifest("plain2arrow");
        assert_eq!(manifest["input"]["manifest_path"], "in/manifest.json");
        let text =
            manifest.to_string().replace("in/manifest.json", &bench.dir.at("in/manifest.json"));
        fs::write(bench.root("plain2arrow/manifest.json"), text).unwrap();
        let told = oracle(&python, "manifest.py", &[&root]).ok().text();
        assert!(told.starts_with("{\"rows\": 17"), "{told}");
    }
}

#[test]
fn limits_of_rows_and_tokens() {
    let bench = Bench::new();
    for (root, flags, limits, rows) in [
        ("rows", "--max-rows 12", ["--limit 9", "--limit 1", "--limit 2"], 12),
        ("first", "--max-rows 4", ["--limit 4", "--limit 0", "--limit 0"], 4),
        ("more", "--max-rows 1000", ["--limit 9", "--limit 1", "--limit 7"], 17),
        ("each", "--max-rows-per-shard 3", ["--limit 3", "--limit 3", "--limit 3"], 7),
        (
            "both",
            "--max-rows 12 --max-rows-per-shard 8",
            ["--limit 8", "--limit 1", "--limit 2"],
            11,
        ),
        (
            "tokens",
            "--max-tokens 500",
            ["--max-tokens 167", "--max-tokens 167", "--max-tokens 167"],
            0,
        ),
    ] {
        let expected = bench.expected(&format!("{root}-expected"), limits, "--valid-fraction 0.5");
        bench.run(&format!("in {root} {flags} --valid-fraction 0.5")).silent();
        assert_same_datasets(&bench.root(root), &expected);
        let manifest = bench.manifest(root);
        let of = |split: &str, what: &str| manifest["splits"][split][what].as_u64().unwrap();
        if rows > 0 {
            assert_eq!(of("train", "rows") + of("valid", "rows"), rows, "{flags}");
        } else {
            let tokens = of("train", "tokens") + of("valid", "tokens");
            assert!((501..3000).contains(&tokens), "{tokens}");
            assert_eq!(manifest["limits"]["tokens"], 500);
        }
        assert_eq!(files_in(&bench.root(root).join("parts")).len(), 3);
    }
    assert_eq!(bench.manifest("rows")["limits"]["rows"], 12);
}

/// A build without any valid row, where some were to be expected, says so, as ds-manifest does.
#[test]
fn a_build_says_that_nothing_is_valid() {
    let bench = Bench::without_input();
    // Of these ids none is in the first tenth.
    let lines = conversations(7);
    bench.dir.write("in/a.ndjson", &lines[..lines.find("{\"id\":\"id-6\"").unwrap()]);
    let line = "valid has no rows: none of 6 ids is in its share of 0.1\n";
    let told = bench.run("in out --valid-fraction 0.1").ok();
    assert_eq!(told.stderr, format!("ds-plan: {line}"));
    let told = tool("ds-manifest").args(&[bench.dir.at("out")]).run().ok();
    assert_eq!(told.stderr, format!("ds-manifest: {line}"));
    let plan = "bash scripts/synth-kd.sh plan in planned --valid-fraction 0.1 > tasks && bash tasks && \
                bash scripts/synth-kd.sh finish planned tasks";
    let path = format!("{}:$PATH", bin_dir().display());
    let told = bench.dir.bash(&format!("export PATH={path}; {plan}")).ok();
    assert!(told.stderr.ends_with(&format!("ds-plan: {line}")), "{told:?}");
    // Where none are wanted there is nothing to say.
    bench.run("in none --valid-fraction 0").silent();
    bench.run("in quiet --valid-fraction 0.1 -q").silent();
}

/// Whoever reads rows or chats is cut off when there are tokens enough, which is no failure.
#[test]
fn enough_tokens_end_a_large_input() {
    let bench = Bench::without_input();
    let words = "the mill grinds the grain ".repeat(60);
    let raw = |number: usize| {
        format!(
            "{{\"synth_id\":\"{number}\",\"query\":\"{words}\",\"synthetic_reasoning\":\"r {number}\",\
             \"synthetic_answer\":\"{words}\"}}\n"
        )
    };
    let chat = |number: usize| {
        format!("{{\"instruction\":\"{number} {words}\",\"output\":\"{words}\"}}\n")
    };
    bench.dir.write("raw/a.ndjson", (0..2000).map(raw).collect::<String>());
    bench.dir.write("chats/a.ndjson", (0..2000).map(chat).collect::<String>());
    for way in ["raw", "chat"] {
        let input = if way == "raw" { "raw" } else { "chats" };
        let options = format!("--{way} --max-tokens 10000 --valid-fraction 0 -q");
        bench.run(&format!("{input} {way}-root {options}")).ok();
        let manifest = bench.manifest(&format!("{way}-root"));
        let tokens = manifest["splits"]["train"]["tokens"].as_u64().unwrap();
        assert!((10_000..12_000).contains(&tokens), "{way}: {tokens}");
        assert_eq!(manifest["limits"]["tokens"], 10_000);
    }
    // Other failures of the reader are failures.
    let bad = format!("{}{{\"synth_id\":7}}\n", raw(0));
    bench.dir.write("bad/a.ndjson", bad);
    let run = bench.run("bad out --raw --max-tokens 10000 -q");
    assert_eq!(run.code(), Some(1), "{run:?}");
}

/// Which files a run has written anew.
fn identities(root: &Path) -> Vec<(String, u64)> {
    let identity = |name: String| (name.clone(), fs::metadata(root.join(&name)).unwrap().ino());
    datasets_in(root).into_iter().map(identity).collect()
}

fn renewed(before: &[(String, u64)], after: &[(String, u64)]) -> Vec<String> {
    let mut shards: Vec<String> = after
        .iter()
        .filter(|file| !before.contains(file))
        .map(|(name, _)| name.split('/').nth(1).unwrap()[..8].to_string())
        .collect();
    shards.dedup();
    shards.sort();
    shards.dedup();
    shards
}

#[test]
fn resume_keeps_what_is_finished_with_these_settings() {
    let bench = Bench::new();
    let root = bench.root("out");
    bench.run("in out --valid-fraction 0.5").silent();
    let first = identities(&root);
    let again = bench.run("in out --valid-fraction 0.5 --resume").silent();
    assert_eq!(identities(&root), first);
    assert!(again.text().starts_with("train "), "{again:?}");

    // One shard was lost, one is short by a byte.
    fs::remove_file(root.join("parts/shard_00.json")).unwrap();
    let short = root.join(&first.iter().find(|(name, _)| name.contains("shard_02")).unwrap().0);
    let bytes = fs::read(&short).unwrap();
    fs::write(&short, &bytes[1..]).unwrap();
    bench.run("in out --valid-fraction 0.5 --resume").silent();
    let second = identities(&root);
    assert_eq!(renewed(&first, &second), ["shard_00", "shard_02"]);
    assert_eq!(fs::read(&short).unwrap(), bytes);

    // Other settings: all parts are redone, and equal the parts of a fresh run.
    for (number, flags) in
        ["--valid-fraction 0.25", "--max-rows-per-shard 2", "--max-tokens 900", ""]
            .iter()
            .enumerate()
    {
        let before = identities(&root);
        let made = bench.run(&format!("in out --resume {flags}")).ok();
        assert!(
            made.stderr.contains("made again: shard_00 was made with other options"),
            "{made:?}"
        );
        let fresh = format!("fresh{number}");
        bench.run(&format!("in {fresh} {flags}")).silent();
        assert_same_datasets(&root, &bench.root(&fresh));
        assert!(renewed(&before, &identities(&root)).contains(&"shard_00".to_string()), "{flags}");
        assert_eq!(bench.manifest("out")["splits"], bench.manifest(&fresh)["splits"]);
    }
    // Another input under the same name.
    let before = identities(&root);
    fs::copy(
        bench.root("in/synth_harmony_shard_00.parquet"),
        bench.root("in/synth_harmony_shard_01.parquet"),
    )
    .unwrap();
    let again = bench.run("in out --resume").ok();
    assert_eq!(renewed(&before, &identities(&root)), ["shard_01"]);
    assert!(again.stderr.contains("kd.root.repeated"), "ds-check reports it: {again:?}");
}

#[test]
fn what_stands_is_overwritten_only_when_told_so() {
    let bench = Bench::new();
    bench.run("in out --valid-fraction 0").silent();
    let before = identities(&bench.root("out"));
    bench.run("in out").says(2, "ds-plan: out: is not empty; try: --resume, or --overwrite");
    assert_eq!(identities(&bench.root("out")), before);
    // All rows go to the other split, and the files of the first are gone.
    let quiet = bench.run("in out --overwrite --valid-fraction 1 -q").silent();
    assert_eq!(quiet.text(), "");
    assert!(datasets_in(&bench.root("out")).iter().all(|name| name.starts_with("valid/")));
    bench.run("in out --overwrite --resume").exits(2, &["cannot be used with"]);
}

/// What a root is built of decides what is in it, not what was there: shards of before go when the new ones are
/// there, and without --overwrite they bar the build before anything changes.
#[test]
fn fewer_shards_leave_none_of_before() {
    let bench = Bench::without_input();
    let lines = conversations(24);
    let (first, second) = lines.split_at(lines.find("{\"id\":\"id-12\"").unwrap());
    bench.dir.write("in/a.ndjson", first);
    bench.dir.write("in/b.ndjson", second);
    let options = "--valid-fraction 0.5 --jobs 2";
    bench.run(&format!("in one --shards 1 {options}")).ok();
    let expected = files_in(&bench.root("one"));
    let without_run = |root: &str, name: &str| {
        let mut manifest = bench.dir.json(&format!("{root}/{name}"));
        manifest.as_object_mut().unwrap().remove("run");
        manifest
    };
    bench.run(&format!("in root --shards 2 {options}")).ok();
    // (What is made meanwhile is below tasks/.)
    let stands = || -> Vec<(String, u64)> {
        let all = identities(&bench.root("root")).into_iter();
        all.filter(|(name, _)| !name.starts_with("tasks/")).collect()
    };
    let before = stands();
    assert!(before.iter().any(|(name, _)| name.contains("shard_01")));

    // The old dataset stands, whole.
    let kept = bench.run(&format!("in root --shards 1 --resume {options}"));
    let told = [
        "made again: shard_00",
        "parts/shard_01.json: is not one of the shards expected; try: --overwrite",
    ];
    kept.exits(1, &told);
    assert_eq!(stands(), before);
    tool("ds-check").args(&["-q", &bench.dir.at("root")]).run().ok();

    // What nothing names is not known to be of the old dataset.
    let stray = bench.root("root/train/other_tokens.bin");
    fs::write(&stray, "").unwrap();
    let kept = bench.run(&format!("in root --shards 1 --overwrite {options}"));
    kept.fails(1, &["train/other: no part manifest names it"]);
    assert_eq!(stands().len(), before.len() + 1);
    assert!(bench.root("root/manifest.json").exists());
    fs::remove_file(stray).unwrap();

    // A manifest may name anything: what is not in the root stays.
    let manifest = bench.dir.text("root/manifest.json").replace("shard_01", "../../outside");
    bench.dir.write("root/manifest.json", manifest);
    bench.dir.write("outside_tokens.bin", "");
    bench.run(&format!("in root --shards 1 --overwrite {options}")).ok();
    assert!(bench.root("outside_tokens.bin").exists());
    assert_same_datasets(&bench.root("root"), &bench.root("one"));
    assert_eq!(files_in(&bench.root("root")), expected);
    for name in ["manifest.json", "parts/shard_00.json"] {
        assert_eq!(without_run("root", name), without_run("one", name), "{name}");
    }
}

#[test]
fn wrong_calls_exit_2_and_write_nothing() {
    let bench = Bench::new();
    fs::remove_file(bench.root("in/manifest.json")).unwrap();
    bench.run("in out").says(
        2,
        "ds-plan: in/manifest.json: is missing: the input's manifest must be recorded; \
         try: --no-input-check, without it",
    );
    bench.run("in unrecorded --no-input-check").ok();
    bench.dir.write("in/manifest.json", "{}");
    for (arguments, message) in [
        ("in", "INPUT and ROOT are required"),
        ("in out more", "out: no such file or directory"),
        ("missing out", "missing: no such file or directory"),
    ] {
        bench.run(arguments).fails(2, &[message]);
    }
    for (arguments, message) in [
        ("in out --fast", "unexpected argument '--fast'"),
        ("in out --jobs x", "invalid value 'x' for '--jobs <N>'"),
        ("in out --jobs 0", "invalid value '0' for '--jobs <N>'"),
        ("in out --max-rows", "a value is required for '--max-rows <N>'"),
        ("in out --valid-fraction 2", "expected a decimal number from 0 to 1"),
    ] {
        bench.run(arguments).exits(2, &[message]);
    }
    assert!(datasets_in(&bench.root("out")).is_empty());
    bench.dir.write("empty/manifest.json", "{}");
    bench.run("empty out").fails(2, &["empty: is a folder without files of rows"]);
}

/// A bad shard: the script exits with its code, the others are kept, and there is no manifest.
#[test]
fn a_bad_shard_fails_the_build() {
    let bench = Bench::new();
    let bad = bench.root("in/synth_harmony_shard_01.parquet");
    let good = fs::read(&bad).unwrap();
    // What its footer does not tell.
    let mut damaged = good.clone();
    damaged[4..200].fill(0xff);
    fs::write(&bad, &damaged).unwrap();
    let bare = TempDir::new();
    let plain = path_with(&bare);
    let all = std::env::var("PATH").unwrap();
    let with = format!("{}:{all}", bin_dir().display());
    for (number, (path, to)) in
        [(&plain, "arrow"), (&plain, "ndjson"), (&with, "arrow"), (&with, "ndjson")]
            .iter()
            .enumerate()
    {
        let root = format!("out{number}");
        let variables = [("PATH", path.as_str()), ("GRISTMILL_TO", *to)];
        let run = bench.run_with(&format!("in {root} --jobs 2"), &variables);
        run.exits(1, &["synth_harmony_shard_01.parquet: "]);
        assert!(run.stderr.contains("a shard failed"), "{run:?}");
        let mut files = files_in(&bench.root(&root));
        assert!(files.iter().any(|name| name.ends_with("shard_00_tokens.bin")), "{files:?}");
        files.retain(|name| !name.ends_with("/failed.json") && !name.ends_with("/lock"));
        assert!(!files.iter().any(|name| name.contains("shard_01")), "{files:?}");
        assert!(!files.contains(&"manifest.json".to_string()), "{files:?}");
        assert_no_temporaries(&bench.root(&root));
        // After the repair the build goes on.
        fs::write(&bad, &good).unwrap();
        bench.run_with(&format!("in {root} --resume"), &variables).silent();
        assert_eq!(files_in(&bench.root(&root).join("parts")).len(), 3);
        assert!(!bench.root(&root).join("tasks").exists());
        fs::write(&bad, &damaged).unwrap();
    }
    // What a footer tells is known before any work.
    fs::write(&bad, &good[..good.len() - 9]).unwrap();
    bench.run("in none").fails(1, &["in/synth_harmony_shard_01.parquet: "]);
    assert!(!bench.root("none").exists());
}

/// A signal for the script stops all that it has started; what is finished is kept for --resume.
#[test]
fn a_signal_stops_every_shard() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let bench = Bench::new();
        // The second shard does not end by itself.
        let slow = "case \"$*\" in *shard_01*) echo $$ > slow; exec sleep 60 ;; esac";
        wrap(&bench.dir, "harmony-tok", slow);
        let script = format!(
            "cd {}; export PATH=$PWD/bin:{}:$PATH; set -m; \
             bash scripts/synth-kd.sh in out --jobs 2 & \
             until [ -s slow ]; do sleep 0.05; done; SECONDS=0; kill -s {signal} $!; \
             code=0; wait $! || code=$?; ((SECONDS < 40)) || echo late; \
             for i in {{1..100}}; do grep -qs 'State:.[^Z]' /proc/$(cat slow)/status || break; \
             sleep 0.05; done; ((i < 100)) || echo alive; echo $code",
            bench.dir.path().display(),
            bin_dir().display()
        );
        let run = bash(&script);
        assert_eq!(run.text(), format!("{code}\n"), "{run:?}");
        assert_no_temporaries(&bench.root("out"));
        assert!(!bench.root("out/manifest.json").exists());
        bench.run("in out --resume").silent();
        assert_eq!(files_in(&bench.root("out/parts")).len(), 3);
    }
}

/// Puts a program into `bin` that waits for a signal if it is called with these words.
fn waiting(bench: &Bench, name: &str, words: &str) {
    copy_ds_plan(&bench.dir);
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *{words}*) echo $$ > slow; exec sleep 60 ;; esac\n\
         exec {}/{name} \"$@\"\n",
        bin_dir().display()
    );
    let wrapper = bench.dir.write(&format!("bin/{name}"), script);
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Starts the script with these options, and sends it a signal when a program waits. Returns what it said, and its exit
/// code as a shell sees it.
fn stopped(bench: &Bench, options: &str, signal: &str) -> (String, String) {
    let script = format!(
        "cd {}; rm -f slow; export PATH=$PWD/bin:{}:$PATH; set -m; \
         bash scripts/synth-kd.sh in out --jobs 2 -q {options} 2> said & \
         until [ -s slow ]; do sleep 0.05; done; SECONDS=0; kill -s {signal} $!; \
         code=0; wait $! || code=$?; ((SECONDS < 40)) || echo late; \
         for i in {{1..100}}; do grep -qs 'State:.[^Z]' /proc/$(cat slow)/status || break; \
         sleep 0.05; done; ((i < 100)) || echo alive; echo $code",
        bench.dir.path().display(),
        bin_dir().display()
    );
    let run = bash(&script);
    (bench.dir.text("said"), run.text())
}

/// The same in each phase. One line says what is finished and how to go on, as long as it is not all finished.
#[test]
fn a_signal_stops_every_phase() {
    for (name, words, keeps, signal, code) in [
        ("gristmill", "harmony-tok", true, "INT", 130),
        ("ds-check", "--input-manifest", false, "TERM", 143),
        ("seq-pack", "out/train", false, "HUP", 129),
    ] {
        let bench = Bench::new();
        waiting(&bench, name, words);
        let rows = if name == "seq-pack" { "--rows rows" } else { "" };
        let (said, ended) = stopped(&bench, rows, signal);
        assert_eq!(ended, format!("{code}\n"), "{name}: {said}");
        let way_on = format!(
            "ds-plan: stopped by {signal}; no shard is finished; try: the same command with --resume\n"
        );
        assert_eq!(said, if keeps { way_on } else { String::new() }, "{name}");
        bench.run("in out --resume -q").ok();
        assert_eq!(files_in(&bench.root("out/parts")).len(), 3);
    }
}

/// What it says is to be tried is taken, and nothing is called kept where nothing is.
#[test]
fn a_stopped_build_names_a_way_on_that_is_taken() {
    let bench = Bench::new();
    bench.run("in out -q").ok();
    waiting(&bench, "gristmill", "harmony-tok");
    for (flag, way) in [
        ("--overwrite", "--resume in place of --overwrite"),
        ("--resume --valid-fraction 0.5", "--resume"),
    ] {
        let told = format!(
            "ds-plan: stopped by TERM; no shard is finished; try: the same command with {way}\n"
        );
        let (said, _) = stopped(&bench, flag, "TERM");
        assert!(said.ends_with(&told), "{said}");
    }
    bench.run("in out --resume -q").ok();
}
