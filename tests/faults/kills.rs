//! Kills, company, readers beside writers.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::drive::{Bench, Case, kill, kills_at_renames, signals_at_renames, twice};
use super::{cases, inputs, preload};
use crate::common::{Random, TempDir};

/// How many runs are stopped: `GRISTMILL_KILLS`, or the share of a usual run.
fn tries() -> u64 {
    std::env::var("GRISTMILL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Calls `each` with every case on a few threads; collects what was wrong.
fn all(
    cases: &[Case],
    dir: &TempDir,
    each: impl Fn(usize, &Case, &Bench) -> Vec<String> + Sync,
) -> Vec<String> {
    let input = dir.path().join("in");
    inputs::make(&input);
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (next, wrong, input, each) = (&next, &wrong, &input, &each);
            scope.spawn(move || {
                let bench = Bench::new(&dir.path().join(format!("place{worker}")), input);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(number) else { return };
                    let came = each(number, case, &bench);
                    came.iter().for_each(|line| println!("{line}"));
                    wrong.lock().unwrap().extend(came);
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

#[test]
fn what_is_stopped_anywhere_is_made_whole_by_the_next_run() {
    if preload::library().is_none() {
        return;
    }
    let cases = [cases::sinks(), cases::scripts(), cases::plans()].concat();
    let (tries, of) = (tries(), cases.len() as u64);
    let dir = TempDir::new();
    let wrong = all(&cases, &dir, |number, case, bench| {
        let mut random = Random(0x9e37_79b9 + number as u64);
        let mine = tries / of + u64::from((number as u64) < tries % of);
        kill(case, bench, mine, &mut random)
    });
    println!("kills: {tries} in {of} cases, {} wrong", wrong.len());
    if let Ok(path) = std::env::var("GRISTMILL_FAULTS_TABLE") {
        let line = format!(
            "\n## kills\n\n{tries} runs of {of} cases stopped by KILL, TERM, INT or HUP: {} wrong\n",
            wrong.len()
        );
        std::fs::write(format!("{path}.kills"), line).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One case that replaces several files of each kind of dataset.
fn replacing() -> Vec<Case> {
    let mut cases = cases::sinks();
    let names =
        ["mmidx-write --root", "mmidx-write --prefix", "npy-pack games", "npy-pack puzzles"];
    cases.retain(|case| names.iter().any(|name| case.name == format!("{name}, over another")));
    assert_eq!(cases.len(), names.len());
    cases
}

#[test]
fn a_signal_between_renames_waits_for_the_last() {
    if preload::library().is_none() {
        return;
    }
    let dir = TempDir::new();
    let wrong = all(&replacing(), &dir, |_, case, bench| signals_at_renames(case, bench));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// No signal that can wait.
#[test]
fn a_kill_between_renames_leaves_no_mixture_under_a_manifest() {
    if preload::library().is_none() {
        return;
    }
    let dir = TempDir::new();
    let wrong = all(&replacing(), &dir, |_, case, bench| kills_at_renames(case, bench));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn two_copies_at_once_make_one_result() {
    let mut cases = [cases::sinks(), cases::scripts()].concat();
    // A script stands there once for each of its filters.
    cases.dedup_by_key(|case| (case.before.clone(), case.command.clone()));
    let dir = TempDir::new();
    let wrong = all(&cases, &dir, |_, case, bench| twice(case, bench).err().into_iter().collect());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// While a dataset is replaced again and again, a reader gets one of the two whole, or says 75.
#[test]
fn a_reader_beside_a_writer_gets_one_dataset_or_none() {
    let dir = TempDir::new();
    let input = dir.path().join("in");
    inputs::make(&input);
    for (name, read, writes) in [
        (
            "root",
            "ds-cat $OUT",
            [
                "mmidx-write -q $IN/a.masked --root $OUT --shard s --overwrite",
                "mmidx-write -q $IN/b.masked --root $OUT --shard s --valid-fraction 0.5 --overwrite",
            ],
        ),
        (
            "pack",
            "ds-cat $OUT",
            [
                "npy-pack -q $IN/games.ndjson -o $OUT --overwrite",
                "npy-pack -q $IN/pack $IN/pack -o $OUT --shard-rows 10 --overwrite",
            ],
        ),
        (
            "puzzles",
            "ds-cat $OUT",
            [
                "npy-pack -q $IN/domino.ndjson -o $OUT --overwrite",
                "npy-pack -q $IN/arc_set -o $OUT --overwrite",
            ],
        ),
        (
            "check",
            "ds-check -q --skip pool.step.next,pool.temporary $OUT",
            [
                "npy-pack -q $IN/games.ndjson -o $OUT --overwrite",
                "npy-pack -q $IN/pack $IN/pack -o $OUT --shard-rows 10 --overwrite",
            ],
        ),
    ] {
        let bench = Bench::new(&dir.path().join(name), &input);
        bench.restore();
        let whole = writes.map(|write| {
            bench.run(write, &[]).ok();
            bench.run(read, &[]).ok().stdout
        });
        beside(&bench, Path::new(name), read, writes, &whole);
    }
}

fn beside(bench: &Bench, name: &Path, read: &str, writes: [&str; 2], whole: &[Vec<u8>; 2]) {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for write in writes.into_iter().cycle().take(20) {
                bench.run(write, &[]).ok();
            }
            ended.store(true, Ordering::SeqCst);
        });
        while !ended.load(Ordering::SeqCst) {
            let run = bench.run(read, &[]);
            match run.code() {
                Some(0) => assert!(whole.contains(&run.stdout), "a mixture of {name:?}: {run:?}"),
                Some(75) => assert_eq!(run.stderr.lines().count(), 1, "{run:?}"),
                _ => panic!("{name:?}: {run:?}"),
            }
        }
    });
}
