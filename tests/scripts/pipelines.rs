//! A line of a task list is a pipeline that a person could type; a user may change it, and a filter that is killed is
//! never taken for one that is done. The scripts show their pipelines, in plain bash.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{
    Outcome, TempDir, assert_same_datasets, assert_same_roots, bash, bin_dir, copy_ds_plan,
    copy_scripts, installed, write_shards,
};

/// A directory with an input and a copy of the scripts.
fn place() -> TempDir {
    let dir = TempDir::new();
    copy_scripts(&dir);
    write_shards(&dir, &[23, 12]);
    dir
}

fn run(dir: &TempDir, script: &str) -> Outcome {
    let path = format!("export PATH=$PWD/bin:{}:$PATH KD=scripts/synth-kd.sh", bin_dir().display());
    dir.bash(&format!("{path}; {script}")).without_shards()
}

/// A program in `bin`.
fn program(dir: &TempDir, name: &str, script: &str) {
    let path = dir.write(&format!("bin/{name}"), format!("#!/bin/bash\n{script}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const PLAN: &str = "bash $KD plan in many --valid-fraction 0.3 --tasks 5 > tasks";

#[test]
fn what_is_behind_a_line_runs_by_itself() {
    let dir = place();
    run(&dir, PLAN).ok();
    let lines = dir.text("tasks");
    assert_eq!(lines.lines().count(), 5);
    // What a person would type, in the directory of the plan.
    for line in lines.lines() {
        let (_, pipeline) = line.split_once(" -- ").unwrap();
        let pipeline = pipeline.replace("'|'", "|");
        assert!(pipeline.starts_with("harmony-tok in/synth_harmony_shard_0"), "{pipeline}");
        assert!(pipeline.contains(" | span-mask | mmidx-write --root "), "{pipeline}");
        run(&dir, &format!("export GRISTMILL_TO=arrow; {pipeline} -q")).silent();
    }
    run(&dir, "cp -r many typed; rm -r many/tasks/*/part; bash tasks").silent();
    for part in fs::read_dir(dir.path().join("typed/tasks")).unwrap() {
        let name = part.unwrap().file_name();
        let part = Path::new(&name).join("part");
        let [typed, made] = ["typed", "many"].map(|root| dir.path().join(root).join("tasks"));
        if typed.join(&part).exists() {
            assert_same_datasets(&typed.join(&part), &made.join(&part));
        }
    }
    run(&dir, "bash $KD finish many tasks -q; bash $KD in one --valid-fraction 0.3 -q").silent();
    assert_same_roots(&dir.path().join("many"), &dir.path().join("one"));
    // Lines of their own, with nothing but what they name.
    run(&dir, "rm -r many; bash $KD plan in many --valid-fraction 0.3 --tasks 5 > tasks").ok();
    let bare = format!("cd /; env -i PATH=/usr/bin:/bin sh -c \"$(cat {})\"", dir.at("tasks"));
    bash(&bare).silent();
    run(&dir, "bash $KD finish many tasks -q").silent();
    assert_same_roots(&dir.path().join("many"), &dir.path().join("one"));
}

/// A line of which the pipeline was changed is not a task of the plan; the pipeline is changed where it is planned.
#[test]
fn a_changed_line_is_refused() {
    let dir = place();
    run(&dir, PLAN).ok();
    for change in ["s/ --valid-fraction 0.3//", "s/ --slice [0-9.]*//", "s/'|' span-mask//"] {
        let told = run(&dir, &format!("sed \"{change}\" tasks | head -1 | bash"));
        told.fails(2, &["the plan has another pipeline for shard_00.part-00000-of-0000"]);
    }
    run(&dir, "sed 's/ -- .*//' tasks | bash").silent();
    let other = "ds-plan plan kd-root in many --valid-fraction 0.3 --tasks 5 -- harmony-tok '|' mmidx-write";
    run(&dir, other).fails(2, &["has a plan with another pipeline: harmony-tok "]);
    for (pipeline, cause) in [
        ("ds-cat '|' harmony-tok '|' mmidx-write", "the pipeline begins with ds-cat, not with"),
        ("harmony-tok '|' span-mask", "the pipeline ends with span-mask, not with mmidx-write"),
        ("harmony-tok '|' '|' mmidx-write", "a filter is missing beside '|'"),
    ] {
        run(&dir, &format!("ds-plan build kd-root in out -- {pipeline}")).fails(2, &[cause]);
    }
    assert!(!dir.path().join("out").exists());
}

/// A program of the user's own, which passes on what it reads.
#[test]
fn a_program_of_ones_own_is_a_filter() {
    let dir = place();
    program(&dir, "mine", "echo $$ >> calls; cat");
    let pipeline = "-- harmony-tok '|' mine '|' span-mask '|' mmidx-write";
    let build = format!("ds-plan build kd-root in out --valid-fraction 0.3 {pipeline}");
    run(&dir, &build).ok();
    assert_eq!(dir.text("calls").lines().count(), 2);
    run(&dir, "bash $KD in one --valid-fraction 0.3 -q").silent();
    assert_same_datasets(&dir.path().join("out"), &dir.path().join("one"));
    // Its lines are the user's; a plan alone makes nobody run it.
    let plan = format!("ds-plan plan kd-root in many --valid-fraction 0.3 --tasks 4 {pipeline}");
    run(&dir, &format!("{plan} > tasks; head -2 tasks | bash")).ok();
    let cause =
        "pipeline: \"mine\" is none of gristmill's filters; try: the lines of the task list";
    run(&dir, "ds-plan status many --todo").fails(2, &[cause]);
    run(&dir, "sed -n 's/ -- .*//; 3p' tasks | bash").fails(2, &[cause]);
    run(&dir, "ds-plan status many tasks --todo > todo; bash todo; ds-plan finish many tasks -q --delete-parts")
        .ok();
    assert_eq!(dir.text("todo").lines().count(), 2);
    assert_same_datasets(&dir.path().join("many"), &dir.path().join("one"));
    // One that fails, or that ends early, fails its task.
    for (script, code) in
        [("cat > /dev/null; exit 1", 1), ("head -c 900", 75), ("kill -KILL $$", 75)]
    {
        program(&dir, "mine", script);
        let failed = run(&dir, &format!("rm -rf out; {build}"));
        assert_eq!(failed.code(), Some(code), "{script}: {failed:?}");
        assert!(!dir.path().join("out/manifest.json").exists(), "{script}");
    }
}

/// Whichever filter is killed, in whatever way the pipeline is run: the line fails, and nothing counts as done.
#[test]
fn a_killed_filter_fails_its_line() {
    for (filter, of_stdin) in [("harmony-tok", false), ("span-mask", true), ("mmidx-write", true)] {
        let dir = place();
        copy_ds_plan(&dir);
        let real = bin_dir().join(filter).display().to_string();
        // Before it reads, and with a part of its output written.
        let early = "kill -KILL $$".to_string();
        let late = match of_stdin {
            true => format!("head -c 2000 > half; {real} \"$@\" < half; kill -KILL $$"),
            false => format!("{real} \"$@\" | head -c 2000; kill -KILL $$"),
        };
        run(&dir, PLAN).ok();
        for script in [early, late] {
            program(&dir, filter, &script);
            let line = dir.text("tasks").lines().next().unwrap().to_string();
            let line = line.replace(&bin_dir().display().to_string(), "bin");
            assert_eq!(run(&dir, &line).code(), Some(75), "{filter}: {script}");
            run(&dir, "test ! -e many/tasks/*/done.json").silent();
            // By hand, without any pipefail: the last filter notices.
            let (_, pipeline) = line.split_once(" -- ").unwrap();
            let typed = format!("export GRISTMILL_TO=arrow; {}", pipeline.replace("'|'", "|"));
            let typed = run(&dir, &typed);
            assert_ne!(typed.code(), Some(0), "{filter}: {script}: {typed:?}");
        }
        fs::remove_file(dir.path().join("bin").join(filter)).unwrap();
        run(&dir, "bash tasks && bash $KD finish many tasks -q").ok();
        run(&dir, "bash $KD in one --valid-fraction 0.3 -q").silent();
        assert_same_roots(&dir.path().join("many"), &dir.path().join("one"));
    }
}

/// The scripts are short, and in the bash that every system has (3.2).
#[test]
fn scripts_are_plain() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let entries = fs::read_dir(&scripts).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some()).collect();
    paths.push(scripts.join("slurm/task.sbatch"));
    let mut all = 0;
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        bash(&format!("bash -n {}", path.display())).silent();
        all += text.lines().count();
        if ["test.sh", "quickstart.sh", "task.sbatch"].contains(&name) {
            continue;
        }
        assert!(text.lines().count() <= 60, "{name}");
        assert!(text.lines().last().unwrap().starts_with("exec ds-plan "), "{name}");
        for word in [
            ";;&",
            "declare -A",
            "local -n",
            "mapfile",
            "readarray",
            "flock",
            "find ",
            "|&",
            "&>",
            "EPOCH",
        ] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
    assert!(all <= 350, "{all} lines");
    if installed("shellcheck") {
        let all: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        bash(&format!("shellcheck {}", all.join(" "))).silent();
    }
}
