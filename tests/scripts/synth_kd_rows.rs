//! scripts/synth-kd.sh --rows: rows at the end of a build, and of a plan, are those that seq-pack makes
//! of the root; what is wrong with their options is said before any work.

use std::fs;

use crate::common::{Outcome, TempDir, bin_dir, copy_scripts, files_in, tool, write_shards};

/// A directory with an input and a copy of the scripts.
fn place() -> TempDir {
    let dir = TempDir::new();
    copy_scripts(&dir);
    write_shards(&dir, &[40, 25]);
    dir
}

/// A script in the directory; KD is the pipeline.
fn run(dir: &TempDir, script: &str) -> Outcome {
    dir.bash(&format!("export PATH={}:$PATH KD=scripts/synth-kd.sh; {script}", bin_dir().display()))
        .without_shards()
}

/// The files of `ROOT/rows` are those that seq-pack makes by itself, and ds-check has nothing to say.
#[track_caller]
fn rows_are(dir: &TempDir, root: &str, forms: &[&str], options: &str) {
    let rows = dir.path().join(root).join("rows");
    let mut wanted = Vec::new();
    for split in ["train", "valid"] {
        for form in forms {
            let name = format!("{split}.{form}.parquet");
            // Beside the others: a manifest names its datasets as they are seen from its folder.
            let own = format!("own.{split}.parquet");
            let flags = format!("--form {form} {options} -j 1 -q");
            run(dir, &format!("seq-pack {root}/{split} -o {root}/rows/{own} {flags}")).silent();
            assert!(fs::read(rows.join(&name)).unwrap() == fs::read(rows.join(&own)).unwrap());
            fs::remove_file(rows.join(&own)).unwrap();
            let checked = tool("ds-check").args(&[&dir.at(&format!("{root}/rows/{name}"))]).run();
            assert_eq!(checked.code(), Some(0), "{checked:?}");
            wanted.push(name);
        }
    }
    wanted.sort();
    assert_eq!(files_in(&rows), wanted);
}

#[test]
fn rows_at_the_end_of_a_build() {
    let dir = place();
    let forms = ["megatron-bridge", "rows", "trl"];
    let all = "--rows trl --rows rows --rows megatron-bridge --rows trl";
    let build = "bash $KD in out --valid-fraction 0.3";
    run(&dir, &format!("{build} {all} --seq-length 512")).silent();
    rows_are(&dir, "out", &forms, "--seq-length 512");
    // What is there is kept, and rows are made anew with what is said now.
    let more = "--rows trl --seq-length 100 --overflow=split";
    run(&dir, &format!("{build} {more}")).fails(2, &["out: is not empty"]);
    run(&dir, &format!("{build} {more} --resume")).ok();
    fs::remove_file(dir.path().join("out/rows/train.rows.parquet")).unwrap();
    fs::remove_file(dir.path().join("out/rows/valid.rows.parquet")).unwrap();
    let bridge =
        ["train", "valid"].map(|split| format!("out/rows/{split}.megatron-bridge.parquet"));
    bridge.iter().for_each(|name| fs::remove_file(dir.path().join(name)).unwrap());
    rows_are(&dir, "out", &["trl"], "--seq-length 100 --overflow split");
    // Sequences that do not fit: the root is whole, and so is what was there.
    let before = files_in(&dir.path().join("out"));
    let long = run(&dir, &format!("{build} --resume --rows trl --seq-length 20"));
    assert_eq!(long.code(), Some(1), "{long:?}");
    for part in ["longer than 20 tokens", "out: is finished, its rows are not"] {
        assert!(long.stderr.contains(part), "{long:?}");
    }
    assert_eq!(files_in(&dir.path().join("out")), before);
    rows_are(&dir, "out", &["trl"], "--seq-length 100 --overflow split");
    // A shard that is made again: rows of the one before are removed, if no others are asked for.
    run(&dir, "rm out/parts/shard_00.json").silent();
    let again = run(&dir, &format!("{build} --resume"));
    assert_eq!(again.code(), Some(0), "{again:?}");
    let removed = "out/rows/train.trl.parquet was made of other data and is removed; try: --rows";
    assert!(again.stderr.contains(removed), "{again:?}");
    assert!(!dir.path().join("out/rows").exists());
    run(&dir, &format!("{build} --resume --rows trl --seq-length 100 --overflow split")).ok();
    rows_are(&dir, "out", &["trl"], "--seq-length 100 --overflow split");
    // A root that is made anew has no rows of the one before.
    run(&dir, &format!("{build} --overwrite")).silent();
    assert!(!files_in(&dir.path().join("out")).iter().any(|name| name.starts_with("rows/")));
    // A name that is a pattern.
    run(&dir, "bash $KD in 'o[1]' --valid-fraction 0.3 --rows rows").silent();
    assert_eq!(files_in(&dir.path().join("o[1]/rows")).len(), 2);
}

#[test]
fn nothing_is_written_or_removed_through_rows_that_are_a_link() {
    let dir = place();
    let build = "bash $KD in out --valid-fraction 0.3 --rows rows";
    run(&dir, build).silent();
    dir.bash("mv out/rows others; ln -s ../others out/rows; touch -d 2020-01-01 others/*").ok();
    let before = files_in(&dir.path().join("others"));
    let plan =
        "bash $KD plan in planned --valid-fraction 0.3 --tasks 2 > tasks.txt && sh tasks.txt";
    run(&dir, plan).ok();
    dir.bash("ln -s ../others planned/rows").ok();
    for (command, root) in [
        (format!("{build} --resume"), "out"),
        (format!("{build} --overwrite"), "out"),
        ("bash $KD in out --valid-fraction 0.2 --overwrite".to_string(), "out"),
        ("bash $KD finish planned".to_string(), "planned"),
        ("bash $KD finish planned --rows rows".to_string(), "planned"),
    ] {
        run(&dir, &command).fails(2, &[&format!("{root}/rows: is a link")]);
        assert_eq!(files_in(&dir.path().join("others")), before);
    }
}

/// A file that cannot be looked up is not one that is missing.
#[test]
fn what_cannot_be_looked_up_is_not_missing() {
    for (command, looping) in [
        ("bash $KD in out", "in/manifest.json"),
        ("bash $KD in loop/out", "loop"),
        ("bash $KD --raw loop/in out", "loop"),
        ("bash scripts/synth-raw.sh loop/in out", "loop"),
        ("bash scripts/merge-packs.sh --output out loop/in loop/in2", "loop"),
        ("bash $KD finish loop/out", "loop"),
    ] {
        let dir = place();
        dir.bash(&format!("ln -sfn $(basename {looping}) {looping}")).ok();
        run(&dir, command).fails(75, &["Too many levels of symbolic links"]);
    }
}

#[test]
fn too_few_open_files_are_one_line() {
    let dir = place();
    for script in ["synth-kd", "synth-raw", "macroxue", "puzzles", "merge-packs"] {
        let output = if script == "merge-packs" { "--output" } else { "" };
        let made = run(&dir, &format!("ulimit -n 8; bash scripts/{script}.sh in {output} out"));
        made.says(75, "ds-plan: only 8 files may be open at once; try: ulimit -n 1024");
    }
}

#[test]
fn rows_at_the_end_of_a_plan() {
    let dir = place();
    let plan = "bash $KD plan in many --valid-fraction 0.3 --tasks 4 > tasks && bash tasks";
    run(&dir, plan).ok();
    let finish = "bash $KD finish many tasks";
    let before = files_in(&dir.path().join("many"));
    run(&dir, &format!("{finish} --rows trl --seq-length 1")).fails(2, &["2 to 16777216"]);
    run(&dir, &format!("{finish} --rows trl")).fails(2, &["--rows trl needs --seq-length N"]);
    assert_eq!(files_in(&dir.path().join("many")), before, "nothing is joined");
    // Rows that cannot be made: the parts are kept, and finish may be called again.
    let long = run(&dir, &format!("{finish} --rows trl --seq-length 20 --delete-parts"));
    long.exits(1, &["many: is finished, its rows are not"]);
    assert!(dir.path().join("many/tasks").exists());
    run(&dir, &format!("{finish} --rows=trl --seq-length=300 --delete-parts")).silent();
    rows_are(&dir, "many", &["trl"], "--seq-length 300");
    assert!(!dir.path().join("many/tasks").exists());
    // The plan is done and its parts are gone: rows may be made all the same.
    run(&dir, &format!("{finish} --rows rows --delete-parts")).silent();
    run(&dir, "rm many/rows/*.trl.parquet").silent();
    rows_are(&dir, "many", &["rows"], "");
    // Every option of seq-pack that is for pipelines.
    let padded =
        "--seq-length 304 --pad-seq-to-mult 8 --algorithm ffd --keep-eod --compression zstd";
    run(&dir, &format!("rm -r many/rows; {finish} --rows megatron-bridge {padded}")).silent();
    rows_are(&dir, "many", &["megatron-bridge"], padded);
}

#[test]
fn bad_options_are_refused_before_any_work() {
    let dir = place();
    for (options, cause) in [
        ("--rows arrow --seq-length 64", "invalid value 'arrow' for '--rows <FORM>'"),
        ("--rows trl", "--rows trl needs --seq-length N"),
        ("--rows rows --rows megatron-bridge", "--rows megatron-bridge needs --seq-length N"),
        ("--seq-length 64", "--seq-length is for --rows"),
        ("--overflow drop", "--overflow is for --rows"),
        ("--keep-eod", "--keep-eod is for --rows"),
        (
            "--rows trl --seq-length 64 --pad-seq-to-mult 8",
            "--rows trl: --pad-seq-to-mult 8 is for",
        ),
        ("--rows trl --seq-length 1", "--seq-length 1: a row has 2 to 16777216 positions"),
        ("--rows rows --seq-length 99999999", "--seq-length 99999999: a row has 2 to"),
        ("--rows trl --seq-length x", "invalid value 'x' for '--seq-length <N>'"),
        ("--rows trl --seq-length 64 --seq-length 65", "cannot be used multiple times"),
        ("--rows trl --seq-length 64 --overflow lose", "invalid value 'lose' for '--overflow"),
        ("--rows trl --seq-length", "a value is required for '--seq-length <N>'"),
    ] {
        let refused = run(&dir, &format!("bash $KD in out {options}"));
        refused.exits(2, &[cause]);
        assert!(!dir.path().join("out").exists(), "{options}");
    }
    run(&dir, "bash $KD plan in out --rows rows").fails(2, &["try: finish --rows"]);
    run(&dir, "bash scripts/synth-raw.sh in out --rows rows").exits(2, &["--rows"]);
    let others = "bash scripts/synth-raw.sh finish out --seq-length 64";
    run(&dir, others).fails(2, &["--seq-length is for --rows"]);
}
