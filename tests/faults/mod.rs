//! Calls that fail: a preloaded library makes the k-th call of a kind fail in a filter, for every
//! k, and what stands afterwards is compared with an undisturbed run. A share of it runs each time;
//! `tools/faults.sh` runs all of it (variables: GRISTMILL_FAULTS=all, a table to
//! GRISTMILL_FAULTS_TABLE).

mod cases;
mod drive;
pub mod inputs;
mod kills;
pub mod model;
pub mod preload;
mod replaced;

use std::fmt::Write;

use drive::{Case, Row, Share, drive_all};

/// Which share is tried: all, or one of so many.
fn share(of: usize) -> Share {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let all = std::env::var("GRISTMILL_FAULTS").is_ok_and(|value| value == "all");
    let of = number("GRISTMILL_FAULTS_SHARE").unwrap_or(if all { 1 } else { of as u64 }) as usize;
    Share { seed: number("GRISTMILL_FAULTS_SEED").unwrap_or(1), of, only: None }
}

/// Runs cases and fails with what was wrong, most of it.
fn run(name: &str, cases: Vec<Case>, share: Share) {
    if preload::library().is_none() {
        return;
    }
    let only = std::env::var("GRISTMILL_FAULTS_ONLY").unwrap_or_default();
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.name.contains(&only)).collect();
    let dir = crate::common::TempDir::new();
    let input = dir.path().join("in");
    inputs::make(&input);
    let rows = drive_all(&cases, &dir.path().join("places"), &input, share);
    let wrong: Vec<&String> = rows.iter().flat_map(|row| &row.wrong).collect();
    let tried: u64 = rows.iter().map(|row| row.tried).sum();
    println!("{name}: {tried} faults in {} cases, {} wrong", cases.len(), wrong.len());
    if let Ok(path) = std::env::var("GRISTMILL_FAULTS_TABLE") {
        std::fs::write(format!("{path}.{name}"), table(name, &rows)).unwrap();
    }
    assert!(tried > 0, "nothing was tried");
    assert!(wrong.is_empty(), "{} of {tried} were wrong", wrong.len());
}

/// One row for each case and call, in Markdown.
fn table(name: &str, rows: &[Row]) -> String {
    let mut text =
        format!("\n## {name}\n\n| case | call | error | tried | wrong |\n|---|---|---|--:|--:|\n");
    for row in rows.iter().filter(|row| row.tried > 0) {
        let Row { case, call, what, tried, wrong } = row;
        let _ = writeln!(text, "| {case} | {call} | {what} | {tried} | {} |", wrong.len());
    }
    let tried: u64 = rows.iter().map(|row| row.tried).sum();
    let wrong: usize = rows.iter().map(|row| row.wrong.len()).sum();
    let _ = writeln!(text, "| **all** | | | {tried} | {wrong} |");
    text
}

#[test]
fn an_input_that_cannot_be_read_is_never_less_data() {
    run("readers", cases::readers(), share(40));
}

/// One error while the footer of rows is read made plain Parquet of them: of these calls many fail.
#[test]
fn a_dataset_that_cannot_be_read_is_never_another_kind() {
    let (rows, others) = cases::recognitions().into_iter().partition(|c| c.name.contains("rows/"));
    run("rows", rows, share(4));
    run("recognitions", others, share(40));
}

#[test]
fn an_output_that_cannot_be_written_leaves_the_old_or_the_new_one() {
    run("sinks", cases::sinks(), share(40));
}

/// A disk may say only when it syncs that it is full: every such call, where something stands already.
#[test]
fn no_sync_that_fails_loses_what_stands() {
    let mut cases = cases::sinks();
    let names = ["mmidx-write --root", "npy-pack games", "npy-pack puzzles"];
    cases.retain(|case| names.iter().any(|name| case.name == format!("{name}, over another")));
    assert_eq!(cases.len(), names.len());
    run("syncs", cases, Share { seed: 1, of: 1, only: Some("sync") });
}

/// No file gets its name whose bytes may be lost with the power.
#[test]
fn every_file_is_forced_to_the_disk() {
    if preload::library().is_none() {
        return;
    }
    let dir = crate::common::TempDir::new();
    let input = dir.path().join("in");
    inputs::make(&input);
    let bench = drive::Bench::new(&dir.path().join("place"), &input);
    for case in cases::sinks().iter().filter(|case| case.name.ends_with(", new")) {
        // (Of a root whose parts stand there, the manifest alone is new.)
        let mut left = drive::not_synced(case, &bench).unwrap();
        left.retain(|file| !case.before.contains("$IN/root") || file == "manifest.json");
        assert_eq!(left, [""; 0], "{}", case.name);
    }
}

#[test]
fn a_script_whose_filter_fails_can_be_run_again() {
    run("scripts", cases::scripts(), share(800));
}

#[test]
fn a_plan_whose_filter_fails_can_be_gone_on_with() {
    run("plans", cases::plans(), share(600));
}
