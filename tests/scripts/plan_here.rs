//! A build on one machine is a plan that the script makes itself: slices of a large shard side by side,
//! of which a rerun makes those that are missing; a line a shard, or one line on a terminal.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::common::{Outcome, TempDir, copy_scripts, data, installed, wrap, write_shards};

struct Place {
    dir: TempDir,
}

impl Place {
    fn new(rows: &[usize]) -> Place {
        let place = Place { dir: TempDir::new() };
        copy_scripts(&place.dir);
        write_shards(&place.dir, rows);
        place
    }

    /// A script in the directory, which finds the filters of `bin` first.
    fn run(&self, script: &str) -> Outcome {
        self.dir.bash(&format!("PATH=$PWD/bin:$PATH; {script}"))
    }

    /// The lines in which a filter has noted its calls since the last time.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("calls")).unwrap_or_default();
        let _ = fs::remove_file(self.dir.path().join("calls"));
        // Scripts ask what options there are, and whether their values are good.
        let is_work = |call: &&str| !call.starts_with("--generate") && !call.ends_with("--help");
        text.lines().filter(is_work).map(str::to_string).collect()
    }
}

/// The value of a flag in each of the calls.
fn values<'a>(calls: &'a [String], flag: &str) -> Vec<&'a str> {
    let value = |call: &'a String| call.split(' ').skip_while(|word| *word != flag).nth(1);
    let mut values: Vec<&str> = calls.iter().filter_map(value).collect();
    values.sort();
    values
}

/// Notes how it is called, and fails for what `unless` says.
fn noting(unless: &str) -> String {
    format!("echo \"$*\" >> calls; case \"$*\" in {unless}) echo 'no luck' >&2; exit 1 ;; esac")
}

#[test]
fn only_missing_slices_of_a_huge_shard_are_made_again() {
    let place = Place::new(&[11, 3]);
    place.run("bash scripts/synth-kd.sh in one --valid-fraction 0.5 -q").silent();
    wrap(&place.dir, "harmony-tok", &noting("*'--slice 4..6'*"));
    let line = "bash scripts/synth-kd.sh in many --valid-fraction 0.5 --rows-per-task 2 --jobs 1";
    let failed = place.run(line);
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    assert!(failed.stderr.contains("no luck\n") && failed.stderr.contains("a shard failed"));
    assert_eq!(values(&place.calls(), "--slice"), ["0..2", "2..4", "4..6"]);
    assert!(!place.dir.path().join("many/manifest.json").exists());
    // With other options it is another plan.
    place
        .run(&line.replace("0.5", "0.25"))
        .fails(2, &["many: has a plan with other options: --valid-fraction 0.5"]);

    // With other threads, and of another size, what was begun is continued.
    wrap(&place.dir, "harmony-tok", &noting("nothing"));
    let line = "bash scripts/synth-kd.sh in many --valid-fraction 0.5 --jobs 2 --resume";
    place.run(&format!("{line} -q")).silent();
    assert_eq!(
        values(&place.calls(), "--slice"),
        ["0..2", "10..11", "2..3", "4..6", "6..8", "8..10"]
    );
    place.run("diff -r -x '*.json' one many && test ! -e many/tasks").silent();

    // Now all is there. What is lost is made again, as with other options.
    let again = place.run(line).ok();
    assert_eq!(again.stderr, "ds-plan: shard_00: kept\nds-plan: shard_01: kept\n");
    assert!(place.calls().is_empty());
    fs::remove_file(place.dir.path().join("many/train/shard_01_span.idx")).unwrap();
    let again = place.run(line).ok();
    assert!(again.stderr.starts_with("ds-plan: shard_00: kept\nds-plan: shard_01: 3 rows, "));
    assert_eq!(place.calls().len(), 1);
    let said = "2 finished shards: not kept, made again: shard_00 was made with other options\n";
    let again = place.run(&format!("{line} --on-error skip -q")).ok();
    assert_eq!(again.stderr, format!("ds-plan: many: {said}"));
    assert_eq!(place.calls().len(), 2);
    place.run(&format!("{} --overwrite -q", line.replace(" --resume", ""))).silent();
    assert_eq!(place.calls().len(), 2);
    place.run("diff -r -x '*.json' one many").silent();
}

/// Shards side by side, and threads in each.
#[test]
fn all_processors_are_used() {
    let place = Place::new(&[2, 2, 2]);
    wrap(&place.dir, "harmony-tok", &noting("nothing"));
    for (jobs, threads) in [("1", "1"), ("3", "1"), ("4", "2"), ("28", "10")] {
        place.run(&format!("bash scripts/synth-kd.sh in out{jobs} --jobs {jobs} -q")).silent();
        assert_eq!(values(&place.calls(), "--jobs"), [threads; 3]);
    }
}

#[test]
fn a_pack_is_resumed() {
    let Some(data) = data("macroxue") else { return };
    let place = Place::new(&[]);
    symlink(data.join("raw_small"), place.dir.path().join("raw")).unwrap();
    let mx = |more: &str| place.run(&format!("bash scripts/macroxue.sh raw {more}"));
    mx("one -q").ok();
    wrap(&place.dir, "mx-decode", &noting("*'--slice 4..6'*"));
    let failed = mx("many --games-per-task 2 --jobs 1");
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    assert_eq!(values(&place.calls(), "--slice"), ["0..2", "2..4", "4..6"]);
    wrap(&place.dir, "mx-decode", &noting("nothing"));
    mx("many --resume -q").ok();
    assert_eq!(values(&place.calls(), "--slice"), ["4..6", "6..8"]);
    place.run("diff -r one many").silent();
    let kept = mx("many --resume --no-check").ok();
    assert!(place.calls().is_empty() && kept.stderr == "ds-plan: games: kept\n", "{kept:?}");
    let steps = || fs::metadata(place.dir.path().join("many/steps.npy")).unwrap().ino();
    let before = steps();
    // What the same command has made is mended; what another has made is not replaced.
    place.run("rm many/valuation_types.json").silent();
    mx("many --resume -q").ok();
    assert!(steps() != before && place.calls().len() == 1);
    place.run("diff -r one many").silent();
    let before = steps();
    mx("many --resume --legality values -q")
        .says(2, "ds-plan: many: was made with other options; try: --overwrite");
    assert!(steps() == before && place.calls().is_empty());
    mx("many --overwrite --legality values -q").ok();
    assert!(steps() != before && values(&place.calls(), "--legality") == ["values"]);
    mx("many").fails(2, &["many: is not empty; try: --resume, or --overwrite"]);
    mx("many --overwrite -q").ok();
    place.run("diff -r one many").silent();
}

/// --resume goes on with what its plan has begun: a finished pack is replaced with --overwrite alone.
#[test]
fn packs_of_others_are_not_resumed() {
    let place = Place::new(&[]);
    for (game, seed) in [("a/g1", 1), ("a/g2", 2), ("b/g3", 3)] {
        let meta = format!(r#"{{"seed":{seed},"num_moves":1,"score":4,"max_tile":4}}"#);
        place.dir.write(&format!("{game}.meta.json"), meta);
        let board = "[1,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0]";
        let step = format!(r#"{{"move":"left","board":{board},"branch_evs":{{"left":1.0}}}}"#);
        place.dir.write(&format!("{game}.jsonl"), step + "\n");
        place.run(&format!("gzip {game}.jsonl")).silent();
    }
    let mx = |more: &str| place.run(&format!("bash scripts/macroxue.sh {more} -q"));
    mx("a pack").ok();
    place.run("cp -r pack before; mx-decode a | npy-pack -o own; rm own/manifest.json").ok();
    let database = rusqlite::Connection::open(place.dir.path().join("own/metadata.db")).unwrap();
    database.execute("insert into session values('mine', 'precious')", []).unwrap();
    database.close().unwrap();
    place.run("cp -r own own_before").silent();
    mx("b pack --resume").says(2, "ds-plan: pack: was made of another input; try: --overwrite");
    mx("b own --resume").says(2, "ds-plan: own: was not made by this command; try: --overwrite");
    mx("a own --resume").says(2, "ds-plan: own: was not made by this command; try: --overwrite");
    place.run("diff -r before pack && diff -r own_before own").silent();
    // The same of what was only begun.
    place.run("bash scripts/macroxue.sh plan a begun > tasks.txt").ok();
    mx("b begun --resume").fails(2, &["begun: has a plan of another input, "]);
    mx("a begun --resume").ok();
    place.run("diff -r before begun").silent();
    // A pack that is to be replaced, but by another command.
    place.run("mkdir c; cp b/* c; bash scripts/macroxue.sh plan c pack --overwrite").ok();
    mx("b pack --resume").fails(2, &["pack: was made of another input; try: --overwrite"]);
    place.run("rm -r pack/tasks; diff -r before pack").silent();
    mx("b pack --overwrite").ok();
    assert_eq!(place.dir.json("pack/manifest.json")["runs"], 1);

    // Puzzle sets, each by itself.
    let puzzles = |more: &str| place.run(&format!("bash scripts/puzzles.sh sets {more} -q"));
    puzzles("--domino 5").ok();
    place.run("cp -r sets sets_before").silent();
    puzzles("--domino 6 --resume")
        .says(2, "ds-plan: sets/domino: was made of another input; try: --overwrite");
    puzzles("--domino 5 --seed 1 --resume")
        .says(2, "ds-plan: sets/domino: was made with other options; try: --overwrite");
    place.run("diff -r sets_before sets").silent();
    puzzles("--domino 5 --resume").ok();

    // Datasets of another kind are refused before any work, with --overwrite too.
    let refused = "belongs to a puzzle set: nothing else is written there; try: another directory";
    wrap(&place.dir, "mx-decode", &noting("nothing"));
    for way in ["--overwrite", "--resume"] {
        let told = mx(&format!("a sets/domino {way}"));
        assert!(told.code() == Some(2) && told.stderr.contains(refused), "{told:?}");
    }
    let told = place.run("bash scripts/macroxue.sh plan a sets/domino --overwrite");
    assert!(told.code() == Some(2) && told.stderr.contains(refused), "{told:?}");
    for script in ["puzzles.sh into --domino 2", "synth-raw.sh raw into/domino"] {
        place.run("rm -rf into; mkdir -p into raw; cp -r own into/domino; touch raw/a.jsonl").ok();
        let told = place.run(&format!("bash scripts/{script} --overwrite -q"));
        assert!(told.stderr.contains("belongs to a pool of games: "), "{told:?}");
        place.run("diff -r own into/domino; test ! -e into/tasks").silent();
    }
    place.run("mkdir lain; touch lain/embeddings-000001.npy").silent();
    mx("a lain --overwrite")
        .fails(2, &["belongs to the rows of another pool; try: remove it first"]);
    assert!(place.calls().is_empty());
    place.run("diff -r sets_before sets && test ! -e lain/tasks").silent();
}

/// What puzzles.sh makes is a folder of sets, which every reader opens.
#[test]
fn the_folder_of_all_sets_is_opened_by_every_reader() {
    let place = Place::new(&[]);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/example");
    let inputs = format!("--sudoku {0}/sudoku --arc {0}/arc --domino 20", example.display());
    for set in ["one", "two"] {
        place.run(&format!("bash scripts/puzzles.sh {set} -q {inputs}")).ok();
    }
    let each = "one/arc one/domino one/sudoku";
    let count = |what: &str| place.run(&format!("ds-cat --count {what}")).ok().text();
    assert_eq!(count("one"), count(each));
    assert_eq!(
        place.run("ds-cat one").ok().text(),
        place.run(&format!("ds-cat {each}")).ok().text()
    );
    let numbers = |what: &str| place.run(&format!("ds-stat {what} | tail -n +2")).ok().text();
    assert_eq!(numbers("one"), numbers(each));
    assert!(place.run("ds-view one --nth 0").ok().text().contains("puzzles"));
    place.run("ds-diff one two").ok();
    place.run("ds-check one").ok();
}

/// Puzzle sets: each is a task of its own, made of all its inputs.
#[test]
fn puzzle_sets_are_resumed() {
    let place = Place::new(&[]);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/example");
    place.run(&format!("cp -r --no-preserve=mode {} example", example.display())).ok();
    let inputs = "--sudoku example/sudoku --arc example/arc --domino 20 --jobs 1";
    let puzzles = |more: &str| place.run(&format!("bash scripts/puzzles.sh {more} {inputs}"));
    puzzles("one -q").ok();
    // It ends in the middle of the second set.
    let killed = "case \"$*\" in arc*) kill -KILL $$ ;; esac";
    wrap(&place.dir, "puzzle-encode", &format!("echo \"$*\" >> calls; {killed}"));
    let failed = puzzles("many");
    failed.exits(75, &["ds-plan: a set failed; 1 finished set is kept for --resume"]);
    let domains = || -> Vec<String> {
        let calls = place.calls();
        calls.iter().map(|call| call.split(' ').next().unwrap().to_string()).collect()
    };
    assert_eq!(domains(), ["sudoku", "arc"]);
    assert!(!place.dir.path().join("many/sudoku").exists());
    wrap(&place.dir, "puzzle-encode", &noting("nothing"));
    let told = puzzles("many --resume").ok();
    assert_eq!(domains(), ["arc", "domino"]);
    assert!(told.text().contains("\nmany: ") && told.text().contains(" groups read; "), "{told:?}");
    assert!(told.stderr.contains("ds-plan: sudoku: kept\n"), "{told:?}");
    place.run("diff -r -x build.json one many && test ! -e many/tasks").silent();
    let bare = |set: &str| {
        let mut build = place.dir.json(&format!("{set}/build.json"));
        build.as_object_mut().unwrap().remove("run");
        build
    };
    for domain in ["sudoku", "arc", "domino"] {
        assert_eq!(bare(&format!("one/{domain}")), bare(&format!("many/{domain}")));
    }
    // Now all is there; what is lost is made again, what is of another input or of other settings is refused.
    let quiet = "many --resume -q --no-check";
    puzzles(quiet).silent();
    assert!(domains().is_empty());
    fs::remove_file(place.dir.path().join("many/arc/train/all__labels.npy")).unwrap();
    puzzles(quiet).ok();
    assert_eq!(domains(), ["arc"]);
    let csv = place.dir.text("example/sudoku/train.csv");
    place.dir.write(
        "example/sudoku/train.csv",
        csv.lines().take(2).collect::<Vec<_>>().join("\n") + "\n",
    );
    puzzles(quiet).says(2, "ds-plan: many/sudoku: was made of another input; try: --overwrite");
    place.dir.write("example/sudoku/train.csv", csv);
    puzzles(&format!("{quiet} --seed 3"))
        .says(2, "ds-plan: many/sudoku: was made with other options; try: --overwrite");
    assert!(domains().is_empty());
    puzzles(&format!("{} --seed 3", quiet.replace("resume", "overwrite"))).ok();
    assert_eq!(domains().len(), 3);
    // Without --resume or --overwrite nothing is replaced, and other sets may come beside what is there.
    puzzles("many").fails(2, &["many/sudoku: is not empty; try: --resume, or --overwrite"]);
    puzzles("many --resume --overwrite").exits(2, &["cannot be used with"]);
    let beside = "bash scripts/puzzles.sh beside -q --no-check";
    place.run(&format!("{beside} --domino 20 && {beside} --arc example/arc")).ok();
    place
        .run("diff -r -x build.json one/domino beside/domino; test -e beside/arc/build.json")
        .silent();
}

/// What a terminal is sent while a shard takes its time.
#[test]
fn one_line_for_all_of_it_on_a_terminal() {
    if !installed("script") {
        return;
    }
    let place = Place::new(&[40, 2]);
    // The second shard waits until the line was seen, and then a while.
    let waits = "case \"$*\" in *shard_01*) sleep 1.8 ;; esac";
    wrap(&place.dir, "harmony-tok", waits);
    place.dir.write(
        "inside",
        "stty cols 100 rows 24; bash scripts/synth-kd.sh in out --no-check --jobs 2 > made",
    );
    let terminal = "TERM=xterm script -qec 'bash inside' /dev/null < /dev/null";
    let sent = place.run(terminal).ok().text();
    let states: Vec<&str> = sent.split("\r\x1b[2K").collect();
    assert!(states.len() > 2, "{sent:?}");
    let (last, shown) = states.split_last().unwrap();
    assert_eq!(*last, "", "it goes");
    assert!(shown[0].starts_with("ds-plan: 40 of 42 rows (95%), "), "{sent:?}");
    for state in shown {
        assert!(state.starts_with("ds-plan: 4") && state.contains(" of 42 rows ("), "{state:?}");
        assert!(state.trim_end().ends_with(" tokens") && state.contains("/s, "), "{state:?}");
        assert!(state.contains(" of 2 shards, ") && state.len() <= 100, "{state:?}");
        // What is asked first is there on a narrow terminal too.
        let is_done = state.contains("42 of 42");
        assert!(is_done || state[..60].contains(" left, "), "{state:?}");
    }
    assert!(place.dir.text("made").starts_with("train "));
    // Elsewhere a line a shard, and none with -q.
    let told = place.run("bash scripts/synth-kd.sh in out --no-check --overwrite --jobs 2").ok();
    let lines: Vec<&str> = told.stderr.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("ds-plan: shard_00: 40 rows, "), "{told:?}");
    assert!(lines[1].starts_with("ds-plan: shard_01: 2 rows, ") && lines[1].ends_with("(2 of 2)"));
    place.run(&format!("rm -r out; sed -i 's/sh in/sh in -q/' inside; {terminal}")).silent();
}
