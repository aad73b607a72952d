//! Publishing: what stands stays until something whole takes its place, whoever writes beside it
//! and whatever ends the writer; and nothing is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output};

use crate::common::samples::{Random, masked_answer, masked_line, tokens_line};
use crate::common::writers::{has_temporaries, send, wait_until, waiting, waiting_writer};
use crate::common::{
    TempDir, Tool, assert_no_temporaries, bash, conversations, copy_scripts, files_in, installed,
    skip, tool, write_shards,
};
use crate::games::{Folder, GameText};

/// The files below a directory with their bytes, without what says when they were made.
fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| {
        let bytes = fs::read(directory.join(&name)).unwrap();
        (name, bytes)
    };
    files_in(directory).into_iter().map(read).collect()
}

/// A sink with input for it: enough to begin with, and other input of the same kind.
struct SinkCase {
    command: &'static str,
    input: String,
    other: String,
}

fn game_lines(moves: usize) -> String {
    let folder = Folder::new();
    GameText::played(moves).write(&folder, "game");
    tool("mx-decode").args(&[folder.path.to_str().unwrap()]).run().silent().text()
}

fn puzzle_lines(seed: u64) -> String {
    let seed = seed.to_string();
    tool("puzzle-encode")
        .args(&["domino", "--num-games", "3000", "--seed", &seed])
        .run()
        .ok()
        .text()
}

/// Tokens that do not compress well.
fn records(seed: u64, line: fn(&str, &[i64]) -> String) -> String {
    let mut random = Random(seed);
    let mut tokens = || -> Vec<i64> { (0..300).map(|_| random.below(199_000) as i64).collect() };
    (0..2000).map(|number| line(&number.to_string(), &tokens())).collect()
}

/// Every sink; each writes below `out`.
fn sinks() -> Vec<SinkCase> {
    let masked = |seed| records(seed, masked_answer);
    let games = |moves| game_lines(moves).repeat(100);
    let tokens = |seed| records(seed, tokens_line);
    let case = |command, [input, other]: [String; 2]| SinkCase { command, input, other };
    vec![
        case(
            "mmidx-write --no-check --root out --shard s --valid-fraction 0.5",
            [masked(7), masked(8)],
        ),
        case("mmidx-write --no-check --prefix out/p", [masked(7), masked(8)]),
        case("mmidx-write --no-check --prefix out/p --tokens-only", [tokens(7), tokens(8)]),
        case("npy-pack -q -o out", [games(300), games(200)]),
        case("npy-pack -q -o out --shard-rows 1000", [games(300), games(200)]),
        case("npy-pack -q -o out", [puzzle_lines(1), puzzle_lines(2)]),
        case("ds-cat -o out/x.ndjson", [tokens(7), tokens(8)]),
        case("ds-cat --to arrow -o out/x.arrows", [tokens(7), tokens(8)]),
        case("ds-cat --to parquet -o out/x.parquet", [tokens(7), tokens(8)]),
    ]
}

fn sink(dir: &TempDir, command: &str) -> Tool {
    shell(dir, &format!("exec {command}"))
}

fn shell(dir: &TempDir, script: &str) -> Tool {
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(script);
    Tool::new(bash, script).in_directory(dir.path())
}

/// The sink has begun in `dir` and waits for more.
fn begun(dir: &TempDir, case: &SinkCase) -> Child {
    let command = format!("exec env -C {} {}", dir.path().display(), case.command);
    waiting(&dir.path().join("out"), &command, case.input.as_bytes())
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    drop(child.stdin.take());
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Without --overwrite whoever comes second replaces nothing, though nothing was there at its
/// start; what is already there because another copy of the run has made it is no failure.
#[test]
fn of_two_writers_the_first_stays() {
    for case in sinks() {
        let dir = TempDir::new();
        let second = begun(&dir, &case);
        sink(&dir, case.command).input(&case.other).run().ok();
        let first = content(&dir.path().join("out"));
        let (code, stderr) = ended(second);
        assert_eq!(code, Some(2), "{}: {stderr}", case.command);
        assert!(stderr.contains("exists already; try: --overwrite"), "{stderr}");
        // What the second has in its staging goes with it.
        let stays = |(name, _): &(String, Vec<u8>)| !name.contains("gristmill-tmp");
        let first: BTreeMap<_, _> = first.into_iter().filter(stays).collect();
        assert_eq!(content(&dir.path().join("out")), first, "{}", case.command);

        let dir = TempDir::new();
        let second = begun(&dir, &case);
        sink(&dir, case.command).input(&case.input).run().ok();
        let (code, stderr) = ended(second);
        assert_eq!(code, Some(0), "{}: {stderr}", case.command);
        assert_no_temporaries(dir.path());
    }
}

/// Two tasks with one directory never give one dataset together.
#[test]
fn two_kinds_of_files_never_mix() {
    let cases = sinks();
    let games: Vec<&SinkCase> =
        cases.iter().filter(|case| case.command.contains("npy-pack")).collect();
    let [whole, shards, ..] = games[..] else { panic!() };
    for (first, second) in [(whole, shards), (shards, whole)] {
        for overwrite in ["", " --overwrite"] {
            let dir = TempDir::new();
            let command =
                format!("exec env -C {} {}{overwrite}", dir.path().display(), second.command);
            let waiter = waiting(&dir.path().join("out"), &command, second.input.as_bytes());
            sink(&dir, first.command).input(&first.input).run().ok();
            let (code, stderr) = ended(waiter);
            let stays = if overwrite.is_empty() { first } else { second };
            assert_eq!(code, Some(if overwrite.is_empty() { 2 } else { 0 }), "{stderr}");
            let alone = TempDir::new();
            sink(&alone, stays.command).input(&stays.input).run().ok();
            let [left, right] = [&dir, &alone].map(|dir| content(&dir.path().join("out")));
            assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
            assert_eq!(left, right, "{}", stays.command);
        }
    }
}

/// Whatever ends a writer, its temporaries go, and it dies of the same signal.
#[test]
fn signals_take_the_temporaries_along() {
    for signal in [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGPIPE,
        libc::SIGXFSZ,
        libc::SIGALRM,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGXCPU,
        libc::SIGQUIT,
    ] {
        let dir = TempDir::new();
        let child = waiting_writer(&dir, "out", "ulimit -c 0; exec");
        send(child.id(), signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal));
        assert!(output.stderr.is_empty() && output.stdout.is_empty(), "{output:?}");
        assert_eq!(dir.files(), [""; 0], "signal {signal}");
        assert!(!dir.path().join("out").exists(), "signal {signal}");
    }
}

/// A write itself raises these.
#[test]
fn a_closed_pipe_or_a_limit_leaves_nothing() {
    let dir = TempDir::new();
    dir.write("in.ndjson", "{}\n".to_string() + &conversations(6000));
    let run = dir.bash(
        "harmony-tok in.ndjson --on-error skip --rejects r | head -1 >/dev/null; \
         echo \"${PIPESTATUS[@]}\"",
    );
    assert_eq!(run.text(), "141 0\n", "{run:?}");
    assert_eq!(dir.files(), ["in.ndjson"]);
    // The default of SIGXFSZ ends the writer; what was written goes.
    dir.write("masked", records(7, masked_line));
    for sink in
        ["mmidx-write --no-check --prefix out/p", "npy-pack -o out", "ds-cat --to parquet -o out/x"]
    {
        let input =
            if sink.starts_with("npy") { game_lines(300).repeat(20) } else { dir.text("masked") };
        let input = dir.write("input", input);
        let script = format!("cd {}; ulimit -c 0 -f 4; exec {sink} {input}", dir.path().display());
        let run = bash(&script);
        assert_eq!(run.status.signal(), Some(libc::SIGXFSZ), "{run:?}");
        assert!(!dir.path().join("out").exists(), "{sink}: {:?}", dir.files());
    }
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    use std::io::Write;
    let dir = TempDir::new();
    let mut child = waiting_writer(&dir, "out", "trap '' HUP; exec");
    send(child.id(), libc::SIGHUP);
    std::thread::sleep(std::time::Duration::from_millis(100));
    child.stdin.as_mut().unwrap().write_all(masked_answer("b", &[64]).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(dir.json("out/p.part.json")["records"]["written"], 2001);
}

fn temporaries(dir: &TempDir) -> usize {
    dir.files().iter().filter(|name| name.contains("gristmill-tmp")).count()
}

/// One that no parent has waited for has ended too.
#[test]
fn what_a_kill_leaves_the_next_run_sweeps() {
    let dir = TempDir::new();
    let mut zombie = waiting_writer(&dir, "out", "exec");
    zombie.kill().unwrap();
    // It has ended when its pipe is closed; nobody has waited for it.
    std::io::Read::read_to_end(zombie.stderr.as_mut().unwrap(), &mut Vec::new()).unwrap();
    // Four files and the lock of their owner.
    assert_eq!((dir.files().len(), temporaries(&dir)), (5, 5), "{:?}", dir.files());
    // One whose process lives stays.
    let living = waiting_writer(&dir, "out", "exec");
    wait_until("the sweep", || temporaries(&dir) == 5);
    let prefix = dir.at("out/other");
    let line = masked_answer("a", &[64]);
    tool("mmidx-write").args(&["--prefix", &prefix]).input(line).run().silent();
    assert_eq!((dir.files().len(), temporaries(&dir)), (13, 5));
    assert!(living.wait_with_output().unwrap().status.success());
    assert_eq!(temporaries(&dir), 0);
    assert_eq!(dir.json("out/p.part.json")["records"]["written"], 2000);
    zombie.wait().unwrap();
}

/// A staging is removed with its lock last, but something may have come into it meanwhile.
#[test]
fn what_lost_its_lock_is_swept() {
    let dir = TempDir::new();
    for (name, file) in [("0", Some("metadata.db-journal")), ("1", None)] {
        let staging = dir.path().join(format!("out/.gristmill-tmp.{name}"));
        std::fs::create_dir_all(&staging).unwrap();
        if let Some(file) = file {
            std::fs::write(staging.join(file), "x").unwrap();
        }
    }
    let prefix = dir.at("out/p");
    tool("mmidx-write")
        .args(&["--prefix", &prefix])
        .input(masked_answer("a", &[64]))
        .run()
        .silent();
    let left: Vec<_> = std::fs::read_dir(dir.path().join("out")).unwrap().flatten().collect();
    assert!(
        left.iter().all(|entry| !entry.file_name().to_str().unwrap().starts_with('.')),
        "{left:?}"
    );
}

/// Two containers with one host name: process ids say nothing there.
#[test]
fn a_writer_in_another_namespace_lives() {
    let namespace = "unshare --user --map-root-user --pid --fork";
    if !installed("unshare") || bash(&format!("{namespace} true")).code() != Some(0) {
        return;
    }
    let dir = TempDir::new();
    let living = waiting_writer(&dir, "out", &format!("exec {namespace}"));
    let line = masked_answer("a", &[64]);
    tool("mmidx-write").args(&["--prefix", &dir.at("out/x")]).input(&line).run().silent();
    let prefix = dir.at("out/y");
    bash(&format!("{namespace} mmidx-write --no-check --prefix {prefix} <<< '{}'", line.trim()))
        .silent();
    assert_eq!(temporaries(&dir), 5, "{:?}", dir.files());
    assert!(living.wait_with_output().unwrap().status.success());
    assert_eq!(temporaries(&dir), 0);
}

/// A failure while writing leaves the old dataset, with --overwrite too.
#[test]
fn the_old_stands_until_the_new_is_complete() {
    for case in sinks() {
        let dir = TempDir::new();
        sink(&dir, case.command).input(&case.other).run().ok();
        let before = content(&dir.path().join("out"));
        let limited =
            format!("bash -c 'trap \"\" XFSZ; ulimit -f 4; exec {} --overwrite'", case.command);
        // SQLite does not say which error it was.
        let cause = if case.input.contains("score") { "disk I/O error" } else { "File too large" };
        sink(&dir, &limited).input(&case.input).run().fails(75, &[cause]);
        assert_eq!(content(&dir.path().join("out")), before, "{}", case.command);
        sink(&dir, &format!("{} --overwrite", case.command)).input(&case.input).run().ok();
        assert_ne!(content(&dir.path().join("out")), before, "{}", case.command);
        assert_no_temporaries(dir.path());
    }
}

/// A writer waits for whoever publishes there, and may be stopped meanwhile.
#[test]
fn a_target_is_locked_while_it_changes() {
    for case in sinks() {
        let dir = TempDir::new();
        sink(&dir, case.command).input(&case.other).run().ok();
        let before = content(&dir.path().join("out"));
        let lock = File::open(dir.path().join("out")).unwrap();
        lock.lock().unwrap();
        let overwriting = SinkCase {
            command: Box::leak(format!("{} --overwrite", case.command).into_boxed_str()),
            input: case.input.clone(),
            other: String::new(),
        };
        let mut child = begun(&dir, &overwriting);
        drop(child.stdin.take());
        // Its files are complete when the manifest is there, and nothing has changed.
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none(), "{}", case.command);
        let visible = |content: BTreeMap<String, Vec<u8>>| -> BTreeMap<_, _> {
            content.into_iter().filter(|(name, _)| !name.contains("gristmill-tmp")).collect()
        };
        assert_eq!(visible(content(&dir.path().join("out"))), before, "{}", case.command);
        send(child.id(), libc::SIGTERM);
        assert_eq!(child.wait_with_output().unwrap().status.signal(), Some(libc::SIGTERM));
        assert_eq!(content(&dir.path().join("out")), before, "{}", case.command);
        drop(lock);
    }
}

/// The manifest of each sink, its marker, and the files that the marker names.
fn half_published(dir: &TempDir, manifest: &str) -> String {
    let manifest = Path::new(manifest);
    let names: String = files_in(&dir.path().join("out"))
        .into_iter()
        .filter(|name| Path::new(name) != manifest)
        .map(|name| name + "\0")
        .collect();
    fs::remove_file(dir.path().join("out").join(manifest)).unwrap();
    let name = manifest.file_name().unwrap().to_str().unwrap();
    let marker = manifest.with_file_name(format!(".{name}.gristmill-half"));
    dir.write(&format!("out/{}", marker.display()), names);
    marker.to_str().unwrap().to_string()
}

/// The manifests of the sinks that publish more than one file.
const MANIFESTS: [&str; 6] =
    ["parts/s.json", "p.part.json", "p.part.json", "manifest.json", "manifest.json", "build.json"];

/// Whoever reads a folder, a file or a prefix of a dataset reads the dataset, also through a link: nothing of one that
/// is half published is read.
#[test]
fn nothing_below_what_is_half_published_is_read() {
    for (case, manifest) in sinks().into_iter().zip(MANIFESTS) {
        let dir = TempDir::new();
        let lines: String = case.other.split_inclusive('\n').take(24).collect();
        sink(&dir, case.command).input(&lines).run().ok();
        std::os::unix::fs::symlink("out", dir.path().join("link")).unwrap();
        let mut below = BTreeSet::from([String::new()]);
        for file in files_in(&dir.path().join("out")) {
            let folders = Path::new(&file).ancestors().skip(1);
            below.extend(folders.map(|folder| folder.to_str().unwrap().to_string()));
            let prefix = file.strip_suffix(".idx").map(|stem| stem.replace("_tokens", ""));
            below.extend(prefix);
            below.insert(file);
        }
        below.remove(manifest);
        let commands = below.iter().flat_map(|path| {
            [
                format!("ds-cat out/{path}"),
                format!("ds-cat link/{path}"),
                format!("ds-view -q --limit 1 out/{path}"),
                format!("ds-stat -q out/{path}"),
                format!("ds-check -q out/{path}"),
                format!("ds-diff out/{path} link/{path}"),
                format!("seq-pack -q --no-check out/{path} --index i.parquet -n 9000 --overwrite"),
                format!("mmidx-write -q --concat out/{path} --prefix copy/p --overwrite"),
                format!("npy-pack -q out/{path} -o copy --overwrite"),
            ]
        });
        let whole = commands.filter(|command| sink(&dir, command).run().code() == Some(0));
        let whole: Vec<String> = whole.collect();
        assert!(whole.len() > 5, "{whole:?}");
        half_published(&dir, manifest);
        for command in whole {
            sink(&dir, &command).run().fails(75, &["left half published"]);
        }
    }
}

/// What a publication that was cut off has left is replaced without --overwrite; what has no
/// manifest for another reason is not.
#[test]
fn the_next_run_replaces_what_is_half_published() {
    for (case, manifest) in sinks().into_iter().zip(MANIFESTS) {
        let dir = TempDir::new();
        sink(&dir, case.command).input(&case.other).run().ok();
        let marker = half_published(&dir, manifest);
        let again = || sink(&dir, case.command).input(&case.input).run();
        // Only the files that are named.
        let named = dir.read(&format!("out/{marker}"));
        dir.write(&format!("out/{marker}"), "");
        let half = content(&dir.path().join("out"));
        again().fails(2, &["exists already; try: --overwrite"]);
        assert_eq!(content(&dir.path().join("out")), half);
        dir.write(&format!("out/{marker}"), named);
        // Nobody reads it.
        let out = dir.at("out");
        let path = if manifest.starts_with("p.") { format!("{out}/p") } else { out };
        tool("ds-cat").args(&[&path]).run().fails(75, &["left half published"]);
        if manifest.starts_with("parts") {
            tool("ds-manifest").args(&[&path]).run().fails(75, &["left half published"]);
        }
        tool("ds-check").args(&[&path]).run().fails(75, &["left half published"]);
        again().ok();
        let alone = TempDir::new();
        sink(&alone, case.command).input(&case.input).run().ok();
        let [ours, theirs] = [&dir, &alone].map(|dir| files_in(&dir.path().join("out")));
        assert_eq!(ours, theirs, "{}", case.command);
        // Nor is one taken for half published whose manifest another program does not write.
        fs::remove_file(dir.path().join("out").join(manifest)).unwrap();
        again().fails(2, &["exists already; try: --overwrite"]);
    }
}

/// A dataset that is replaced while it is read is neither the old one nor a mixture: the pipe is full
/// when the new one comes, so most of the old one is not read yet.
#[test]
fn what_is_replaced_while_it_is_read_is_an_error() {
    for case in sinks() {
        let dir = TempDir::new();
        sink(&dir, case.command).input(&case.input).run().ok();
        dir.write(
            "other",
            case.other.lines().take(40).map(|line| line.to_string() + "\n").collect::<String>(),
        );
        let name = ["out/p", "out/x.ndjson", "out/x.arrows", "out/x.parquet"];
        let name = name.into_iter().find(|name| case.command.contains(name)).unwrap_or("out");
        // The new one has fewer rows: whoever waits for those of the old one waits for ever.
        let script = format!(
            "timeout 60 ds-cat -q {name} | (read -r line; {} --overwrite < other; cat >/dev/null); \
             exit ${{PIPESTATUS[0]}}",
            case.command
        );
        let read = shell(&dir, &script).run();
        assert_eq!(read.code(), Some(75), "{}: {read:?}", case.command);
        assert!(read.stderr.contains("was changed while it was read"), "{read:?}");
    }
}

/// A root's manifest describes all its parts: when one comes, it goes.
#[test]
fn a_new_part_withdraws_the_roots_manifest() {
    let dir = TempDir::new();
    let write = |shard: &str| {
        tool("mmidx-write")
            .args(&["--root", &dir.at("r"), "--shard", shard])
            .input(masked_answer("a", &[64]))
            .run()
            .ok()
    };
    write("a").silent();
    tool("ds-manifest").args(&[dir.at("r")]).run().silent();
    let told = write("b").stderr;
    let cause = "manifest.json was made before this part and is removed; try: ds-manifest\n";
    assert!(told.starts_with("mmidx-write: warning: ") && told.ends_with(cause), "{told}");
    assert!(!dir.path().join("r/manifest.json").exists());
    // A manifest of something else stays.
    let other = dir.write("x/manifest.json", "{}");
    let prefix = dir.at("x/train/p");
    tool("mmidx-write")
        .args(&["--prefix", &prefix])
        .input(masked_answer("a", &[64]))
        .run()
        .silent();
    assert!(Path::new(&other).exists());
    // ds-manifest waits for whoever publishes a part.
    let lock = File::open(dir.path().join("r")).unwrap();
    lock.lock().unwrap();
    let mut child = tool("ds-manifest").args(&[dir.at("r")]).spawn();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none() && !has_temporaries(&dir.path().join("r")));
    drop(lock);
    assert!(child.wait().unwrap().success());
    assert_eq!(dir.json("r/manifest.json")["records"]["written"], 2);
}

/// A file of rejects takes the place of nothing but an earlier one.
#[test]
fn rejects_replace_nothing_else() {
    let dir = TempDir::new();
    let script = |command: &str| {
        dir.bash(&format!("set -o pipefail; rm -rf out r; cp keep in.ndjson; {command}"))
    };
    let bad = "{}\n".to_string() + &conversations(3);
    dir.write("keep", &bad);
    let skip = "--on-error skip --rejects";
    for (command, cause) in [
        ("harmony-tok in.ndjson SKIP in.ndjson", "in.ndjson: is an input of this run"),
        ("harmony-tok SKIP in.ndjson < in.ndjson", "in.ndjson: is the input of this run"),
        ("harmony-tok in.ndjson SKIP r > r", "r: is the output of this run"),
        (
            "harmony-tok keep SKIP in.ndjson",
            "in.ndjson: is no file of rejects, so it is not replaced",
        ),
        ("harmony-tok keep SKIP r >/dev/null 2>&1; harmony-tok r SKIP r", "r: is an input of this"),
        ("mkdir out; harmony-tok keep SKIP out", "out: is not a regular file"),
    ] {
        let command = command.replace("SKIP", skip);
        script(&command).fails(2, &[cause]);
        assert_eq!(dir.text("in.ndjson"), bad, "{command}");
    }
    // One that is under a name of the output.
    let masked = "harmony-tok keep --on-error skip -q | span-mask -q";
    for name in ["p_tokens.bin", "p_tokens.idx", "p.part.json"] {
        for overwrite in ["", "--overwrite"] {
            let run = script(&format!(
                "{masked} | mmidx-write --no-check --prefix out/p {overwrite} {skip} out/{name} 2>&1 >/dev/null"
            ));
            assert_eq!(run.code(), Some(2), "{run:?}");
            assert!(!dir.path().join("out/p_span.bin").exists(), "{:?}", dir.files());
        }
    }
    // An earlier one is replaced, and an empty file.
    for before in ["true", "touch r", "harmony-tok keep --on-error skip --rejects r >/dev/null"] {
        script(&format!("{before}; harmony-tok keep {skip} r")).ok();
        assert_eq!(dir.text("r").lines().count(), 1);
    }
}

/// A run whose rejects cannot be kept publishes nothing.
#[test]
fn rejects_come_before_the_output() {
    let dir = TempDir::new();
    let write = |bad: usize, limit: &str| {
        dir.write("in.ndjson", "{}\n".repeat(bad) + &masked_answer("a", &[64]));
        dir.bash(&format!(
            "trap '' XFSZ; {limit} mmidx-write --no-check in.ndjson --prefix out/p --no-ids \
             --on-error skip --rejects r"
        ))
    };
    // Few rejects wait in memory until the end of the run.
    const FEW: usize = 60;
    write(FEW, "").ok();
    let sizes = ["r", "out/p.part.json"].map(|name| dir.read(name).len());
    assert!((4097..8192).contains(&sizes[0]) && sizes[1] < 4096, "{sizes:?}");
    dir.bash("rm -r out r").ok();
    for bad in [2000, FEW] {
        write(bad, "ulimit -f 4;").fails(75, &["r: File too large"]);
        assert_eq!(dir.files(), ["in.ndjson"]);
    }
}

/// A directory with a dataset of one kind is not written into with another.
#[test]
fn kinds_do_not_share_a_directory() {
    let cases = sinks();
    let kinds =
        [(0, "belongs to Megatron"), (3, "belongs to a pool"), (5, "belongs to a puzzle set")];
    for (first, cause) in kinds {
        let dir = TempDir::new();
        sink(&dir, cases[first].command).input(&cases[first].other).run().ok();
        let before = content(&dir.path().join("out"));
        for (second, _) in kinds.into_iter().filter(|(second, _)| *second != first) {
            for more in ["", " --overwrite"] {
                let command = format!("{}{more}", cases[second].command);
                sink(&dir, &command).input(&cases[second].input).run().fails(2, &[cause]);
            }
        }
        if first != 0 {
            let command = cases[1].command;
            sink(&dir, command).input(&cases[1].input).run().fails(2, &[cause]);
        }
        assert_eq!(content(&dir.path().join("out")), before);
    }
}

/// Megatron finds its index caches by the path of the data: with other data there, they go.
#[test]
fn new_data_take_their_index_caches_along() {
    let key = "2a338e31a5f9dd3cfaaf31a00a779dbd-SynthKDDataset-train";
    let tail = ["description.txt", "document_index.npy", "sample_index.npy", "shuffle_index.npy"];
    for (target, prefix) in [
        ("--prefix out/p", "out/p_tokens"),
        ("--root out --shard p --valid-fraction 0", "out/train/p_tokens"),
        ("--root out --shard p --valid-fraction 1", "out/valid/p_tokens"),
        ("--prefix out/p --tokens-only", "out/p"),
    ] {
        let dir = TempDir::new();
        let write = |more: &str| {
            let command = format!("mmidx-write {target} {more}");
            sink(&dir, &command).input(masked_answer("a", &[64])).run()
        };
        let folder = format!("{prefix}/cache/SynthKDDataset_indices");
        let cache = || {
            tail.iter().for_each(|name| drop(dir.write(&format!("{folder}/{key}-{name}"), "")));
        };
        // Also where the data were removed by hand.
        cache();
        let told = write("").ok().stderr;
        assert!(told.contains("4 files of Megatron's index caches of the old data"), "{told}");
        assert!(!dir.path().join(prefix).exists(), "{:?}", dir.files());
        cache();
        let other = dir.write(&format!("{prefix}/cache/notes.txt"), "mine");
        // A run that is refused changes nothing.
        write("").fails(2, &["exists already"]);
        assert!(dir.path().join(&folder).exists());
        let told = write("--overwrite").ok().stderr;
        assert!(told.contains("4 files of Megatron's index caches of the old data"), "{told}");
        assert!(!dir.path().join(&folder).exists() && Path::new(&other).exists());
        write("--overwrite").silent();
    }
}

/// The pipe is full while the pool is made shorter: most of it is not read yet.
#[test]
fn a_pool_that_is_made_shorter_while_it_is_mapped_is_an_error() {
    let (folder, dir) = (Folder::new(), TempDir::new());
    let game = GameText::played(300);
    (0..200).for_each(|number| game.write(&folder, &format!("g{number}")));
    let (raw, pool) = (folder.path.display().to_string(), dir.at("pool"));
    bash(&format!("mx-decode -q --to arrow {raw} | npy-pack -q -o {pool}")).ok();
    let script = format!(
        "ds-cat -q {pool} | (read -r line; truncate -s 256 {pool}/steps.npy; cat >/dev/null); \
         exit ${{PIPESTATUS[0]}}"
    );
    bash(&script)
        .says(75, "ds-cat: a mapped input was made shorter while it was read, or cannot be read");
}

/// On FUSE a file that is open when its name goes gets another one, and its folder is not empty.
#[test]
fn nothing_is_left_on_fuse() {
    if !installed("bindfs") {
        return;
    }
    let dir = TempDir::new();
    dir.write("a.ndjson", conversations(5));
    dir.write("below/x", "");
    let script = "mkdir fuse; bindfs below fuse 2>/dev/null || { echo none; exit; }; trap 'fusermount -u fuse' EXIT; \
         set -e; harmony-tok a.ndjson | span-mask | mmidx-write -q --root fuse/root --shard s; \
         ds-manifest -q fuse/root; find fuse; \
         ds-cat -q fuse/root -o fuse/f; ds-cat -q fuse/root -o fuse/f --overwrite; \
         ds-manifest -q fuse/root; find fuse";
    let run = dir.bash(script).ok();
    if run.text() == "none\n" {
        return skip("bindfs cannot mount here");
    }
    assert!(!run.text().contains("gristmill") && !run.text().contains("fuse_hidden"), "{run:?}");
}

/// A killed writer leaves a hidden copy of the data. ds-manifest and finish take away those that nobody owns,
/// wherever they are in the dataset.
#[test]
fn a_finished_dataset_has_no_hidden_copies() {
    let dir = TempDir::new();
    write_shards(&dir, &[6, 4]);
    copy_scripts(&dir);
    let cd = format!("cd {}; set -e; export KD=$PWD/scripts/synth-kd.sh", dir.path().display());
    let places = ["", "train", "valid", "parts", "ids/train"];
    for command in ["ds-manifest -q root", "bash $KD finish root tasks.txt --no-check"] {
        bash(&format!(
            "{cd}; rm -rf root; bash $KD plan in root --tasks 2 --valid-fraction 0.3 > tasks.txt; bash tasks.txt; \
             bash $KD finish root tasks.txt --no-check; {}",
            if command.contains("finish") { "rm root/manifest.json" } else { "true" }
        ))
        .ok();
        for place in places {
            let staging = format!("root/{place}/.gristmill-tmp.0123456789abcdef");
            dir.write(&format!("{staging}/.gristmill-lock"), "");
            dir.write(&format!("{staging}/a_tokens.bin"), "a copy");
        }
        // One has an owner.
        let alive = "root/train/.gristmill-tmp.fedcba9876543210";
        dir.write(&format!("{alive}/.gristmill-lock"), "");
        let held = File::open(dir.path().join(format!("{alive}/.gristmill-lock"))).unwrap();
        held.lock().unwrap();
        bash(&format!("{cd}; {command}")).ok();
        let mut left = dir.files();
        left.retain(|name| name.contains("gristmill-tmp"));
        assert_eq!(left, [format!("{alive}/.gristmill-lock")], "{command}");
    }
}
