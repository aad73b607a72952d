//! Data sets that many train on: rows in their columns (of our own words), what is read of them, and the table in
//! docs/data-sets.md that says so.

use std::path::Path;

use serde_json::Value;

use crate::common::{Outcome, tool};

/// A data set a line: its name, and a row, in which `%` stands for the number of the row.
const SETS: &str = include_str!("data_sets.jsonl");

fn run(row: &str, options: &[&str]) -> Outcome {
    let rows: String = (0..5).map(|number| row.replace('%', &number.to_string()) + "\n").collect();
    tool("chat-harmony").args(&["--turns", "all"]).args(options).input(rows).run_whatever()
}

/// Says what became of the rows.
fn told(run: &Outcome) -> (String, String) {
    let line =
        |sign: &str| run.stderr.lines().find_map(|line| Some(line.split_once(sign)?.1.to_string()));
    if run.code() == Some(0) {
        let records = run.records();
        assert_eq!(records.len(), 5, "{run:?}");
        let last = records[4]["messages"].as_array().unwrap().iter().skip(1);
        let said = last.map(|message| {
            let part = |key: &str| message[key].as_str().unwrap_or_default().to_string();
            match (part("role").as_str(), part("channel").as_str(), message.get("recipient")) {
                ("assistant", "analysis", _) => "reasoning".to_string(),
                ("assistant", _, Some(_)) => "call".to_string(),
                ("assistant", ..) => "answer".to_string(),
                ("tool", ..) => "result".to_string(),
                (role, ..) => role.to_string(),
            }
        });
        let mut said: Vec<String> = said.collect();
        // (Of two turns of one form, one.)
        if said.len() == 4 && said[..2] == said[2..] {
            said.truncate(2);
        }
        return (said.join(", "), line("not read: ").unwrap_or_default());
    }
    let reason = line("stdin:1: ").unwrap();
    let reason = reason.split_once(") ").map_or(reason.as_str(), |(_, reason)| reason);
    let (reason, way) = reason.split_once("; try: ").unwrap_or((reason, ""));
    let reason = if reason.starts_with("no chat shape") { "no chat shape" } else { reason };
    (format!("refused: {reason}"), way.to_string())
}

#[test]
fn the_table_of_data_sets_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/data-sets.md");
    let page = std::fs::read_to_string(page).unwrap();
    for line in SETS.lines() {
        let set: Value = serde_json::from_str(line).unwrap();
        let (name, row) = (set["name"].as_str().unwrap(), set["row"].to_string());
        let (mut read, mut more) = told(&run(&row, &[]));
        let mut options = String::new();
        if read.starts_with("refused") && !more.is_empty() {
            options = format!("`{more}`");
            let words: Vec<&str> = more.split(' ').collect();
            (read, more) = told(&run(&row, &words));
            assert!(!read.starts_with("refused"), "{name}: {read}");
        }
        let more = if more.is_empty() { String::new() } else { format!("`{more}`") };
        let line = format!("| {name} | {options} | {read} | {more} |").replace("  ", " ");
        assert!(page.contains(&line), "docs/data-sets.md has no line\n{line}");
    }
}
