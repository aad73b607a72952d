//! A member of a dataset that is no regular file: every file of every kind of dataset is replaced by
//! a FIFO in turn. Nobody takes it for missing, and nobody waits for it.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Outcome, TempDir, Tool, bash, files_in};
use crate::faults::inputs;

/// Every filter that reads the datasets below a directory as a whole.
const READERS: [(&str, &[&str]); 12] = [
    ("root", &["ds-cat root", "ds-check root"]),
    ("root/train", &["mmidx-write --prefix out/x --concat root/train/a root/train/b"]),
    (
        "root/parts",
        &["ds-manifest root", "mmidx-write --prefix out/x --concat root/valid/a root/valid/b"],
    ),
    ("p", &["ds-cat p", "ds-check p", "mmidx-write --prefix out/x --concat p/a p/b"]),
    ("single", &["ds-cat single/a", "ds-check single/a"]),
    ("shards", &["ds-cat shards", "ds-check shards", "harmony-tok shards"]),
    ("pack", &["ds-cat pack", "ds-check pack", "npy-pack sharded pack -o out"]),
    ("sharded", &["ds-cat sharded", "ds-check sharded"]),
    ("selfplay", &["ds-cat selfplay", "ds-check selfplay"]),
    ("domino", &["ds-cat domino", "ds-check domino", "npy-pack domino -o out"]),
    ("arc_set", &["ds-cat arc_set", "ds-check arc_set"]),
    (
        "sources",
        &[
            "mx-decode sources/raw",
            "puzzle-encode arc sources/arc",
            "puzzle-encode sudoku --train sources/sudoku/train.csv --test sources/sudoku/test.csv",
        ],
    ),
];

/// Runs a filter in `in`, for 20 seconds at most. (No shell: there are thousands of runs.)
fn run(dir: &Path, command: &str) -> Outcome {
    let (place, out) = (dir.join("in"), dir.join("in/out"));
    if out.exists() {
        fs::remove_dir_all(out).unwrap();
    }
    let words: Vec<&str> = command.split(' ').collect();
    Tool::new(Command::new("timeout"), "timeout")
        .args(&["20"])
        .args(&words)
        .in_directory(&place)
        .run()
}

/// Replaces every file of a dataset in turn, and gives what each reader of it makes of that.
fn each_replaced(dir: &Path, replace: impl Fn(&Path), is_right: impl Fn(&Outcome) -> bool) {
    let mut wrong = Vec::new();
    for (dataset, commands) in READERS {
        let base = dir.join("in").join(dataset);
        for name in files_in(&base) {
            let (path, kept) = (base.join(&name), dir.join("kept"));
            fs::rename(&path, &kept).unwrap();
            replace(&path);
            let shown = format!("{dataset}/{name}");
            for command in commands.iter().filter(|command| reads(command, &shown)) {
                let run = run(dir, command);
                if !is_right(&run) {
                    wrong.push(format!("{shown}: {run:?}"));
                }
            }
            fs::rename(&kept, &path).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.concat());
}

/// Whether a command looks at a file (a source's, which is of one of three commands).
fn reads(command: &str, file: &str) -> bool {
    let of =
        |name: &str| file.starts_with("sources/") && command.contains(&format!("sources/{name}"));
    !file.starts_with("sources/")
        || ["raw", "arc", "sudoku"]
            .iter()
            .any(|name| of(name) && file.contains(&format!("/{name}/")))
}

fn prepared() -> TempDir {
    let dir = TempDir::new();
    inputs::make(&dir.path().join("in"));
    bash(&format!("cd {}/in; mkdir sources; mv raw arc sudoku sources", dir.path().display())).ok();
    for (_, commands) in READERS {
        for command in commands {
            // (The games' scores are made up, which ds-check says.)
            let code = run(dir.path(), command).code();
            assert!(code == Some(0) || command.starts_with("ds-check"), "{command}: {code:?}");
        }
    }
    dir
}

#[test]
fn a_fifo_is_no_member() {
    let dir = prepared();
    let fifo = |path: &Path| drop(bash(&format!("mkfifo {}", path.display())).ok());
    each_replaced(dir.path(), fifo, |run| {
        let named = run.stderr.lines().any(|line| line.contains(": is no regular file"));
        run.code() == Some(1) && named
    });
}

/// A link to nothing, or to a device, is no missing member either.
#[test]
fn a_link_to_something_else_is_no_member() {
    let dir = prepared();
    let turn = Cell::new(false);
    let dead = |path: &Path| {
        turn.set(!turn.get());
        symlink(if turn.get() { "nowhere" } else { "/dev/zero" }, path).unwrap();
    };
    each_replaced(dir.path(), dead, |run| {
        let named = ["is a link to nothing", "No such file", ": is no regular file"];
        let named = named.iter().any(|cause| run.stderr.contains(cause));
        matches!(run.code(), Some(1 | 2)) && named
    });
}

/// What this user may not read is no missing member, and a directory that may not be listed is not
/// empty: each file and each directory of each dataset in turn.
#[test]
fn what_may_not_be_read_is_not_missing() {
    let dir = prepared();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(dir.path(), 0o755).unwrap();
    // root may read everything.
    let other = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let is_root = bash("test $(id -u) = 0").code() == Some(0);
    let other = if is_root { other } else { "env" };
    if bash(&format!("{other} ds-cat --version")).code() != Some(0) {
        eprintln!("skipped: there is no other user who can run the filters");
        return;
    }
    let read = |command: &str| {
        bash(&format!("cd {}/in; {other} timeout 20 {command}", dir.path().display()))
    };
    let mut wrong = Vec::new();
    for (dataset, commands) in READERS {
        let base = dir.path().join("in").join(dataset);
        let mut paths: Vec<_> = files_in(&base).into_iter().map(|name| base.join(name)).collect();
        let above = |path: &Path| path.ancestors().map(Path::to_path_buf).collect::<Vec<_>>();
        let directories: Vec<_> = paths.iter().flat_map(|path| above(path)).collect();
        paths.extend(
            directories.into_iter().filter(|path| path.is_dir() && path.starts_with(&base)),
        );
        paths.sort();
        paths.dedup();
        for command in
            commands.iter().filter(|command| command.starts_with("ds-cat") || dataset == "sources")
        {
            let whole = read(command).ok().stdout;
            for path in &paths {
                if !reads(
                    command,
                    &path.strip_prefix(dir.path().join("in")).unwrap().display().to_string(),
                ) {
                    continue;
                }
                let before = path.metadata().unwrap().permissions().mode();
                mode(path, 0).unwrap();
                let run = read(command);
                mode(path, before).unwrap();
                let is_named = run.stderr.contains("Permission denied");
                // (What is not needed need not be readable.)
                let is_right = run.code() == Some(0) && run.stdout == whole;
                if !is_right && (run.code() != Some(2) || !is_named) {
                    wrong.push(format!("{}: {run:?}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.concat());
}

/// What a command gives: its standard output, and the data that it made.
fn given(dir: &Path, command: &str) -> Outcome {
    let mut run = run(dir, command);
    // What made a puzzle set is what build.json says: without it, nothing.
    if ["ds-cat domino", "ds-cat arc_set"].contains(&command) && run.code() == Some(0) {
        let without = |mut record: Value| {
            record.as_object_mut().unwrap().remove("build");
            record.to_string()
        };
        run.stdout = run.records().into_iter().map(without).collect::<String>().into_bytes();
    }
    let out = dir.join("in/out");
    let made = if out.exists() { files_in(&out) } else { Vec::new() };
    for name in made.iter().filter(|name| !name.ends_with(".json")) {
        run.stdout.extend(name.bytes().chain(fs::read(out.join(name)).unwrap()));
    }
    run
}

/// A member that is gone, cut, doubled, renamed or of another dataset: what reads a dataset refuses it,
/// or gives what it gave of the whole one.
#[test]
fn a_damaged_dataset_is_refused_or_read_as_it_was() {
    let dir = prepared();
    let other = dir.path().join("other");
    inputs::make_of(&other, 1);
    bash(&format!("cd {}; mkdir sources; mv raw arc sudoku sources", other.display())).ok();
    type Damage = fn(&Path, &Path);
    let damages: [(&str, Damage); 7] = [
        ("removed", |path, _| fs::remove_file(path).unwrap()),
        ("cut", |path, _| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("emptied", |path, _| fs::write(path, b"").unwrap()),
        ("doubled", |path, _| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, [&bytes[..], &bytes].concat()).unwrap();
        }),
        ("renamed", |path, _| fs::rename(path, beside(path)).unwrap()),
        ("copied", |path, _| assert!(fs::copy(path, beside(path)).is_ok())),
        ("replaced", |path, other| assert!(fs::copy(other, path).is_ok())),
    ];
    let is_check = |command: &&str| command.starts_with("ds-check");
    let mut wrong = Vec::new();
    for (dataset, commands) in READERS.iter().filter(|(name, _)| *name != "sources") {
        let base = dir.path().join("in").join(dataset);
        let of_whole: Vec<Outcome> =
            commands.iter().map(|command| given(dir.path(), command)).collect();
        for (number, name) in files_in(&base).into_iter().enumerate() {
            // (Of each file one half of the damages, of the next the other.)
            for (damage, make) in damages.into_iter().skip(number % 2).step_by(2) {
                let (path, kept) = (base.join(&name), dir.path().join("kept"));
                let (of_other, before) = (other.join(dataset).join(&name), files_in(&base));
                if damage == "replaced" && !of_other.exists() {
                    continue;
                }
                fs::copy(&path, &kept).unwrap();
                make(&path, &of_other);
                let mut wrong_here = |what: &str| {
                    wrong.push(format!("{dataset}/{name} {damage}: {what}\n"));
                };
                let mut refused = Vec::new();
                for (command, whole) in commands.iter().zip(&of_whole) {
                    let run = given(dir.path(), command);
                    let errors = run.stderr.lines().filter(|line| !line.contains("warning:"));
                    let is_told = errors.count() > 0 || is_check(command);
                    match run.code() {
                        Some(1 | 2) if is_told => refused.push(command),
                        Some(0) if is_check(command) || run.stdout == whole.stdout => {}
                        _ => wrong_here(command),
                    }
                }
                // What a reader refuses, the checks refuse.
                let check = commands.iter().copied().find(is_check);
                if !refused.is_empty() && check.is_some_and(|check| !refused.contains(&&check)) {
                    wrong_here("ds-check finds no error");
                }
                for added in files_in(&base).iter().filter(|name| !before.contains(name)) {
                    fs::remove_file(base.join(added)).unwrap();
                }
                fs::rename(&kept, &path).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.concat());
}

/// Another name in the same directory, with the same ending.
fn beside(path: &Path) -> std::path::PathBuf {
    path.with_file_name(format!("x{}", path.file_name().unwrap().to_str().unwrap()))
}

/// A dataset beside the splits of a root, and a part under another's name: nobody counts them.
#[test]
fn what_is_no_part_of_a_root_is_refused_by_all() {
    let dir = prepared();
    let root = dir.path().join("in/root");
    let run = |command: &str| run(dir.path(), command);
    let commands = ["ds-cat", "ds-stat", "ds-view --sample 2", "ds-check", "ds-manifest"];
    let all_refuse = |cause: &str| {
        for command in commands {
            let outcome = run(&format!("{command} root"));
            let told = bash(&format!("cd {}/in; {command} root 2>&1", dir.path().display()));
            assert_eq!(outcome.code(), Some(1), "{outcome:?}");
            assert!(told.text().contains(cause), "{told:?}");
        }
    };
    let copy = |from: &str, to: &str| {
        for member in ["tokens", "lossmask", "span"] {
            for end in ["idx", "bin"] {
                let file = |name: &str| root.join(format!("{name}_{member}.{end}"));
                fs::copy(file(from), file(to)).unwrap();
            }
        }
    };
    copy("train/a", "extra");
    all_refuse("extra: is in the root, but in none of its splits");
    bash(&format!("rm {}/extra_*", root.display())).ok();
    copy("train/a", "valid/extra");
    all_refuse("valid/extra");
    bash(&format!("rm {}/valid/extra_*", root.display())).ok();
    run("ds-manifest root").ok();
    // A part's manifest under another name.
    fs::copy(root.join("parts/a.json"), root.join("parts/c.json")).unwrap();
    let misnamed = "parts/c.json: is the manifest of the part \"a\"";
    run("ds-manifest root").fails(1, &[misnamed]);
    assert!(bash(&format!("ds-check {}", root.display())).text().contains(misnamed));
    run("ds-cat root").ok();
    // Under its own name, with the files of another.
    let text = fs::read_to_string(root.join("parts/a.json")).unwrap();
    fs::write(root.join("parts/c.json"), text.replacen("\"name\": \"a\"", "\"name\": \"c\"", 1))
        .unwrap();
    let foreign = "which is not a file of \"c\"";
    run("ds-manifest root").fails(1, &[foreign]);
    assert!(bash(&format!("ds-check {}", root.display())).text().contains(foreign));
}
