//! Runs a case with every fault and says what was wrong afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::preload::{Fault, Watch, What, counts, hits, noted, variables};
use crate::common::run::Tool;
use crate::common::{Outcome, Random};

/// One command on one state of its output.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: String,
    /// Makes the state that the output has before: `$OUT`.
    pub before: String,
    /// In bash; reads `$IN`, writes `$OUT` or stdout.
    pub command: String,
    /// The names of the processes whose calls fail.
    pub process: &'static str,
    /// Whether calls on the inputs fail; else those on the outputs.
    pub reads: bool,
    /// Whether it publishes several datasets, one after another.
    pub is_script: bool,
}

impl Case {
    pub fn reader(name: &str, process: &'static str, command: &str) -> Case {
        let (before, command) = (String::new(), command.to_string());
        Case { name: name.into(), before, command, process, reads: true, is_script: false }
    }

    pub fn sink(name: &str, process: &'static str, before: &str, command: &str) -> Case {
        let (before, command) = (before.to_string(), command.to_string());
        Case { name: name.into(), before, command, process, reads: false, is_script: false }
    }

    pub fn script(name: &str, process: &'static str, before: &str, command: &str) -> Case {
        Case { is_script: true, ..Case::sink(name, process, before, command) }
    }

    /// The errors that each kind of call is given.
    fn faults(&self, call: &str) -> &'static [What] {
        use What::{Errno, ErrnoFromNowOn};
        use libc::{EAGAIN, EINTR, EIO, ENOSPC};
        match (call, self.reads) {
            ("read" | "piperead", _) => &[Errno(EIO), Errno(EINTR)],
            ("open", true) => &[Errno(EIO), Errno(EINTR)],
            ("open" | "list" | "stat", _) => &[Errno(EIO)],
            ("mmap", _) => &[Errno(EIO)],
            ("pipewrite", _) => &[Errno(EIO), Errno(EINTR)],
            ("thread", _) => &[Errno(EAGAIN)],
            (_, true) => &[],
            ("write", _) => &[Errno(EIO), Errno(ENOSPC), ErrnoFromNowOn(ENOSPC), Errno(EINTR)],
            ("create" | "mkdir", _) => &[Errno(EIO), ErrnoFromNowOn(ENOSPC)],
            ("sync", _) => &[Errno(EIO), ErrnoFromNowOn(ENOSPC)],
            ("rename", _) => &[Errno(EIO), ErrnoFromNowOn(ENOSPC)],
            ("unlink" | "truncate" | "lock", _) => &[Errno(EIO)],
            _ => &[],
        }
    }
}

/// The ending of the marker of a half-published dataset (lib/stream/publish/FORMAT.md).
const HALF: &str = ".gristmill-half";

/// The files of a directory: their bytes, but for what manifests say of one run.
pub type Files = BTreeMap<String, Vec<u8>>;

pub fn snapshot(directory: &Path) -> Files {
    let mut files = Files::new();
    for name in crate::common::files_in(directory) {
        if name.ends_with(HALF) || name.contains(".gristmill-tmp.") {
            continue;
        }
        let bytes = fs::read(directory.join(&name)).unwrap();
        files.insert(name.clone(), without_run(&name, bytes));
    }
    files
}

/// A manifest without its `run` object.
fn without_run(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    if !name.ends_with(".json") {
        return bytes;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) else { return bytes };
    if let Some(object) = value.as_object_mut() {
        object.remove("run");
    }
    remove_runs(&mut value);
    serde_json::to_vec(&value).unwrap()
}

fn remove_runs(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("run");
            // Of a part manifest, whose `run` differs, the digest and the size do too.
            members.remove("manifest_sha256");
            // The published manifest of conversations has it outside of `run`.
            members.remove("created_unix_s");
            let is_manifest = |path: &Value| path.as_str().is_some_and(|it| it.ends_with(".json"));
            if members.get("path").is_some_and(is_manifest) {
                members.remove("bytes");
            }
            members.values_mut().for_each(remove_runs);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_runs),
        _ => {}
    }
}

fn copy(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    fs::create_dir_all(to).unwrap();
    for entry in entries {
        let path = entry.unwrap().path();
        let there = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &there),
            false => drop(fs::copy(&path, &there).unwrap()),
        }
    }
}

/// A place to run a case in: inputs, output, the output as it was before, counters.
pub struct Bench {
    directory: PathBuf,
    input: PathBuf,
}

impl Bench {
    pub fn new(directory: &Path, input: &Path) -> Bench {
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory.join("scratch")).unwrap();
        Bench { directory: directory.to_path_buf(), input: input.to_path_buf() }
    }

    pub fn out(&self) -> PathBuf {
        self.directory.join("work/out")
    }

    pub fn scratch(&self) -> PathBuf {
        self.directory.join("scratch")
    }

    /// Puts the output back into the state before.
    pub fn restore(&self) {
        let _ = fs::remove_dir_all(self.directory.join("work"));
        fs::create_dir_all(self.directory.join("work")).unwrap();
        copy(&self.directory.join("before"), &self.out());
    }

    pub fn keep_as_before(&self) {
        let _ = fs::remove_dir_all(self.directory.join("before"));
        copy(&self.out(), &self.directory.join("before"));
    }

    /// Runs bash with `$IN` and `$OUT`. What hangs ends after a minute with 124.
    pub fn run(&self, script: &str, variables: &[(String, String)]) -> Outcome {
        let mut command = std::process::Command::new("timeout");
        command.args(["-k", "5", "60", "bash", "-c", script]);
        let mut tool = Tool::new(command, script)
            .env("SCRIPTS", concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"))
            .env("IN", self.input.to_str().unwrap())
            .env("OUT", self.out().to_str().unwrap());
        for (name, value) in variables {
            tool = tool.env(name, value);
        }
        tool.run_whatever()
    }

    /// What of ours is left below the place of the output.
    pub fn temporaries(&self) -> Vec<String> {
        fn walk(directory: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.file_name().unwrap().to_string_lossy().contains("gristmill") {
                    found.push(path.display().to_string());
                }
                if path.is_dir() {
                    walk(&path, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.directory.join("work"), &mut found);
        found
    }
}

/// What came of a case: (call, error, tries, what was wrong).
pub struct Row {
    pub case: String,
    pub call: &'static str,
    pub what: String,
    pub tried: u64,
    pub wrong: Vec<String>,
}

/// Which faults are tried: one of `share`, chosen by the seed.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    pub seed: u64,
    pub of: usize,
    /// Calls of this kind alone.
    pub only: Option<&'static str>,
}

/// Tries a case with every fault of the share.
pub fn drive(case: &Case, bench: &Bench, share: Share) -> Vec<Row> {
    let mut random =
        Random(share.seed ^ case.name.bytes().fold(1, |a, b| a * 31 % 65521 + u64::from(b)));
    let (expected, watch) = match undisturbed(case, bench) {
        Ok(known) => known,
        Err(wrong) => {
            let (call, what) = ("any", "none".to_string());
            return vec![Row { case: case.name.clone(), call, what, tried: 1, wrong: vec![wrong] }];
        }
    };
    let mut rows = Vec::new();
    let all = counts(&bench.scratch()).into_iter();
    for (call, count) in all.filter(|(call, _)| share.only.is_none_or(|only| only == *call)) {
        for what in case.faults(call) {
            let mut row = Row {
                case: case.name.clone(),
                call,
                what: what.name(),
                tried: 0,
                wrong: Vec::new(),
            };
            // Threads are few: all of them.
            let of = if call == "thread" { 1 } else { share.of };
            for at in (1..=count).filter(|_| random.below(of) == 0) {
                row.tried += 1;
                let fault = Fault { call, at, what: *what };
                if let Err(wrong) = try_one(case, bench, &watch, fault, &expected) {
                    let wrong = wrong.replace(bench.directory.to_str().unwrap_or("\0"), "");
                    let wrong = wrong.replace(bench.input.to_str().unwrap_or("\0"), "IN");
                    row.wrong.push(format!("{}: {call} {at} {}: {wrong}", case.name, what.name()));
                }
            }
            rows.push(row);
        }
    }
    rows
}

/// Runs a case as it should be, and once more to count its calls.
fn undisturbed(case: &Case, bench: &Bench) -> Result<(Expected, Watch), String> {
    let _ = fs::remove_dir_all(bench.directory.join("before"));
    bench.restore();
    if !case.before.is_empty() {
        bench.run(&case.before, &[]).ok();
    }
    bench.keep_as_before();
    let old = snapshot(&bench.out());
    let whole = bench.run(&case.command, &[]);
    if whole.code() != Some(0) {
        return Err(format!("{}: {whole:?}", case.name));
    }
    let new = snapshot(&bench.out());
    let under = if case.reads { bench.input.clone() } else { bench.directory.join("work") };
    let watch = Watch { process: case.process.into(), under };
    bench.restore();
    bench.run(&case.command, &variables(&bench.scratch(), &watch, None)).ok();
    Ok((Expected { old, new, stdout: without_seconds(&whole.stdout) }, watch))
}

/// Signals that end a run.
const SIGNALS: [i32; 4] = [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// Stops a case `tries` times at one of its calls, runs it again, and says what was wrong.
pub fn kill(case: &Case, bench: &Bench, tries: u64, random: &mut Random) -> Vec<String> {
    let (expected, watch) = match undisturbed(case, bench) {
        Ok(known) => known,
        Err(wrong) => return vec![wrong],
    };
    let count = counts(&bench.scratch()).last().map_or(1, |(_, count)| *count).max(1);
    let mut wrong = Vec::new();
    for _ in 0..tries {
        let at = 1 + random.below(count as usize) as u64;
        let signal = SIGNALS[random.below(SIGNALS.len())];
        let fault = Fault { call: "any", at, what: What::Signal(signal) };
        bench.restore();
        let run = bench.run(&case.command, &variables(&bench.scratch(), &watch, Some(fault)));
        let now = snapshot(&bench.out());
        let came = match run.code() {
            Some(0) if now != expected.new => {
                Err(format!("exit 0, but {}", differ(&now, &expected.new)))
            }
            Some(124) => Err("it hangs".to_string()),
            _ => recovers(case, bench, &now, &expected),
        };
        if let Err(cause) = came {
            wrong.push(format!("{}: signal {signal} at call {at}: {cause}", case.name));
        }
    }
    wrong
}

/// Raises a signal at each rename of a case: it waits until the dataset is whole, then ends the run.
pub fn signals_at_renames(case: &Case, bench: &Bench) -> Vec<String> {
    let (expected, watch) = match undisturbed(case, bench) {
        Ok(known) => known,
        Err(wrong) => return vec![wrong],
    };
    let calls = counts(&bench.scratch());
    let renames = calls.iter().find(|(call, _)| *call == "rename").map_or(0, |(_, count)| *count);
    let mut wrong = Vec::new();
    if renames == 0 {
        wrong.push(format!("{}: nothing was renamed", case.name));
    }
    for (at, signal) in (1..=renames).zip(SIGNALS[1..].iter().cycle().copied()) {
        let fault = Fault { call: "rename", at, what: What::Signal(signal) };
        bench.restore();
        let run = bench.run(&case.command, &variables(&bench.scratch(), &watch, Some(fault)));
        let now = snapshot(&bench.out());
        let left = bench.temporaries();
        if run.signal() != Some(signal) || now != expected.new || !left.is_empty() {
            let how = differ(&now, &expected.new);
            wrong.push(format!(
                "{}: signal {signal} at rename {at}: {run:?}, {how}, left {left:?}",
                case.name
            ));
        }
    }
    wrong
}

/// Kills a case at each of its renames: what it leaves is no mixture under a manifest, and the next run
/// makes it whole.
pub fn kills_at_renames(case: &Case, bench: &Bench) -> Vec<String> {
    let (expected, watch) = match undisturbed(case, bench) {
        Ok(known) => known,
        Err(wrong) => return vec![wrong],
    };
    let calls = counts(&bench.scratch());
    let renames = calls.iter().find(|(call, _)| *call == "rename").map_or(0, |(_, count)| *count);
    let kill = |at| {
        let fault = Fault { call: "rename", at, what: What::Signal(libc::SIGKILL) };
        bench.restore();
        bench.run(&case.command, &variables(&bench.scratch(), &watch, Some(fault)));
        let now = snapshot(&bench.out());
        let came = recovers(case, bench, &now, &expected);
        came.err().map(|cause| format!("{}: killed at rename {at}: {cause}", case.name))
    };
    (1..=renames).filter_map(kill).collect()
}

/// The files that a case makes, without those that it forces to the disk.
pub fn not_synced(case: &Case, bench: &Bench) -> Result<Vec<String>, String> {
    let (expected, watch) = undisturbed(case, bench)?;
    // A signal that does nothing, at every call: all of them are noted.
    let fault = Fault { call: "sync", at: 1, what: What::Signal(libc::SIGWINCH) };
    let mut variables = variables(&bench.scratch(), &watch, Some(fault));
    variables.push(("FAULT_STICKY".into(), "1".into()));
    bench.restore();
    bench.run(&case.command, &variables).ok();
    let mut synced = noted(&bench.scratch());
    synced.retain(|(call, path)| call == "sync" && path.contains("gristmill-tmp"));
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let is_synced = |file: &String| synced.iter().any(|(_, path)| name(path) == name(file));
    Ok(expected.new.into_keys().filter(|file| !is_synced(file)).collect())
}

/// Runs a case twice at once: the result is right, and who loses says 75 or 2.
pub fn twice(case: &Case, bench: &Bench) -> Result<(), String> {
    let (expected, _) = undisturbed(case, bench)?;
    bench.restore();
    let codes = std::thread::scope(|scope| {
        let copies = [(); 2].map(|()| scope.spawn(|| bench.run(&case.command, &[])));
        copies.map(|copy| copy.join().unwrap())
    });
    let now = snapshot(&bench.out());
    let fail = |what: String| Err(format!("{}: {what}: {codes:?}", case.name));
    if codes.iter().any(|run| !matches!(run.code(), Some(0 | 2 | 75))) {
        return fail("wrong exit code".into());
    }
    if codes.iter().all(|run| run.code() != Some(0)) {
        return recovers(case, bench, &now, &expected).or_else(fail);
    }
    match (now == expected.new, bench.temporaries()) {
        (true, left) if left.is_empty() => Ok(()),
        (_, left) => fail(format!("{}, left {left:?}", differ(&now, &expected.new))),
    }
}

struct Expected {
    old: Files,
    new: Files,
    stdout: Vec<u8>,
}

fn try_one(
    case: &Case,
    bench: &Bench,
    watch: &Watch,
    fault: Fault,
    expected: &Expected,
) -> Result<(), String> {
    bench.restore();
    let run = bench.run(&case.command, &variables(&bench.scratch(), watch, Some(fault)));
    let files = hits(&bench.scratch());
    let Some(file) = files.first() else { return Ok(()) };
    let stderr = run.stderr.trim().to_string();
    let fail = |wrong: &str| Err(format!("{wrong} (at {file}; exit {:?}, {stderr:?})", run.code()));
    let now = snapshot(&bench.out());
    match run.code() {
        Some(0) if now != expected.new => {
            return fail(&format!("exit 0, but {}", differ(&now, &expected.new)));
        }
        Some(0) if without_seconds(&run.stdout) != expected.stdout => {
            return fail("exit 0, but other output");
        }
        Some(0 | 75) => {}
        _ => return fail("wrong exit code"),
    }
    if run.code() == Some(75) {
        if stderr.is_empty() || (!case.is_script && stderr.lines().count() != 1) {
            return fail("not one line");
        }
        // (Of calls that fail from one on, the first may be one that does no harm.)
        if !files.iter().any(|file| names(&stderr, file, fault.call)) {
            return fail("the file is not named");
        }
    }
    // All bytes reach the disk before anything that stands is changed.
    let is_staged = file.contains("gristmill-tmp") && !["rename", "unlink"].contains(&fault.call);
    let is_kept = same_dataset(&now, &expected.old) || now == expected.new;
    if !case.is_script && is_staged && run.code() == Some(75) && !is_kept {
        return fail("what stood there is lost before the new one is complete");
    }
    if !case.is_script && fault.call == "sync" && run.code() == Some(0) {
        return fail("a sync that failed is taken for one that was done");
    }
    // What cannot be removed stays until the next run.
    let mut left = if fault.call == "unlink" { Vec::new() } else { bench.temporaries() };
    // (A shard without its manifest is half published, also if its bytes are the same.)
    if case.is_script || now != expected.old && now != expected.new {
        left.retain(|path| !path.ends_with(HALF));
    }
    if !left.is_empty() {
        return fail(&format!("left behind: {left:?}"));
    }
    if case.reads && now != expected.old && now != expected.new {
        return fail("a reader has failed and there is output");
    }
    recovers(case, bench, &now, expected).or_else(|wrong| fail(&wrong))
}

/// What a failed run has left is whole, or the next run makes it so.
fn recovers(case: &Case, bench: &Bench, now: &Files, expected: &Expected) -> Result<(), String> {
    if *now == expected.new {
        return Ok(());
    }
    let begun = !same_dataset(now, &expected.old);
    if begun && !case.is_script && manifest_stands(now) {
        return Err(format!("a mixture under a manifest: {}", differ(now, &expected.new)));
    }
    // What was begun is completed without --overwrite.
    let command = match begun && !case.is_script {
        true => case.command.replace("--overwrite", ""),
        false => case.command.clone(),
    };
    let again = bench.run(&command, &[]);
    let then = snapshot(&bench.out());
    if again.code() != Some(0) || then != expected.new {
        let how = differ(&then, &expected.new);
        return Err(format!("then again: exit {:?}, {:?}, {how}", again.code(), again.stderr));
    }
    match bench.temporaries() {
        left if left.is_empty() => Ok(()),
        left => Err(format!("left behind after the next run: {left:?}")),
    }
}

/// What was printed, but for how long it took: the last line of a script ends with ` in 1.2 s`.
fn without_seconds(printed: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(printed);
    match text.strip_suffix(" s\n").and_then(|text| text.rsplit_once(" in ")) {
        Some((before, seconds)) if seconds.parse::<f64>().is_ok() => before.as_bytes().to_vec(),
        _ => printed.to_vec(),
    }
}

/// Whether two outputs hold the same dataset; the file of rejects is no part of it.
fn same_dataset(a: &Files, b: &Files) -> bool {
    let dataset = |(name, _): &(&String, &Vec<u8>)| *name != "r";
    a.iter().filter(dataset).eq(b.iter().filter(dataset))
}

fn manifest_stands(files: &Files) -> bool {
    files.keys().any(|name| {
        let name = name.rsplit('/').next().unwrap_or(name);
        name == "manifest.json" || name == "build.json" || name.ends_with(".part.json")
    }) || files.keys().any(|name| name.starts_with("parts/"))
}

/// Whether a message names a file, the one it is a temporary of, or the folder that it is in.
fn names(message: &str, file: &str, call: &str) -> bool {
    if call == "thread" || file == "-" {
        return true;
    }
    let mut parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty()).collect();
    parts.retain(|part| !part.contains("gristmill-tmp"));
    let last: Vec<&str> = parts.iter().rev().take(2).copied().collect();
    let own = file.rsplit('/').next().and_then(|name| name.strip_prefix('.'));
    let target = own.and_then(|name| name.split(".gristmill-tmp").next());
    last.iter().chain(&target).any(|name| message.contains(name))
}

/// In what two snapshots differ, in words.
pub fn differ(now: &Files, wanted: &Files) -> String {
    let missing: Vec<_> = wanted.keys().filter(|name| !now.contains_key(*name)).collect();
    let more: Vec<_> = now.keys().filter(|name| !wanted.contains_key(*name)).collect();
    let other: Vec<_> = wanted
        .iter()
        .filter(|(name, bytes)| now.get(*name).is_some_and(|b| b != *bytes))
        .map(|(n, _)| n)
        .collect();
    format!("missing {missing:?}, more {more:?}, other {other:?}")
}

/// Drives all cases on a few threads, each in a place of its own.
pub fn drive_all(cases: &[Case], directory: &Path, input: &Path, share: Share) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let (next, rows) = (&next, &rows);
            scope.spawn(move || {
                let bench = Bench::new(&directory.join(worker.to_string()), input);
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let came = drive(case, &bench, share);
                    came.iter().flat_map(|row| &row.wrong).for_each(|line| println!("{line}"));
                    rows.lock().unwrap().extend(came);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    let place = |row: &Row| cases.iter().position(|case| case.name == row.case);
    rows.sort_by_key(place);
    rows
}
