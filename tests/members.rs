//! A member of a dataset that is no regular file: every file of every kind of dataset is replaced by
//! a FIFO in turn. Nobody takes it for missing, and nobody waits for it.

mod common;
mod games;
#[path = "faults/inputs.rs"]
mod inputs;

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use common::{Outcome, TempDir, bash, files_in};

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

fn run(dir: &Path, command: &str) -> Outcome {
    bash(&format!("cd {}/in; rm -rf out; timeout 20 {command} > /dev/null", dir.display()))
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
