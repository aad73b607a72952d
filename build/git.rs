//! `GRISTMILL_GIT_SHA`: the commit the package is built from, for the provenance chain, and
//! `GRISTMILL_GIT_DIRTY`: whether its sources differ from that commit. Unset when the package does
//! not stand in its own git checkout, and in builds for daily work, which would compile all filters again after
//! each change and each commit: `gristmill::sources!` reads them.

use std::env;
use std::path::Path;
use std::process::Command;

pub fn emit_commit() {
    if env::var_os("PROFILE").is_some_and(|profile| profile == "debug") {
        return;
    }
    // A package unpacked inside some other checkout must not take that one's commit.
    let Some(top) = git(&["rev-parse", "--show-toplevel"]) else { return };
    let here =
        env::var_os("CARGO_MANIFEST_DIR").and_then(|here| Path::new(&here).canonicalize().ok());
    if Path::new(&top).canonicalize().ok() != here {
        return;
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return };
    println!("cargo::rustc-env=GRISTMILL_GIT_SHA={commit}");
    let sources = ["lib", "src", "build", "build.rs", "Cargo.toml", "Cargo.lock"];
    let changes = [&["status", "--porcelain", "--"][..], &sources].concat();
    println!("cargo::rustc-env=GRISTMILL_GIT_DIRTY={}", git(&changes).is_some());
    // A change of any source may make it dirty.
    sources.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    watch(&["rev-parse", "--git-path", "HEAD"]);
    if let Some(branch) = git(&["symbolic-ref", "--quiet", "HEAD"]) {
        // A packed branch has no file of its own until its next commit, which touches the
        // reference log.
        watch(&["rev-parse", "--git-path", &branch]);
        watch(&["rev-parse", "--git-path", "packed-refs"]);
        watch(&["rev-parse", "--git-path", &format!("logs/{branch}")]);
    }
}

/// Watches the file that git names. A missing file is left out: cargo would run the build
/// script every time.
fn watch(arguments: &[&str]) {
    if let Some(path) = git(arguments)
        && Path::new(&path).is_file()
    {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_string())
}
