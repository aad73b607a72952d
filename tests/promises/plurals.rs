//! No message calls one of something by its plural: "1 row". Messages that tests see are scanned where they
//! come (`plural_of_one`); here is the source of all, since few are seen with a 1 in them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::is_counted;

/// What stands before a number that is never 1, or whose noun belongs to another one.
const NEVER_ONE: &[&str] =
    &["more than ", "longer than ", "at most ", "only ", " to ", " of ", " and "];

/// Messages with numbers that are never 1, or no numbers.
const CHECKED: &[&str] = &[
    "{} cells are not a square",
    "question has {} characters, which is not a square",
    "has {} rows, at most {SIDE} fit",
    "{count} times",
    ", {} times",
    "and then {rest} times",
    "{came} records",
    "{name} records of version",
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" && name != "build" {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The places of a line where a value is followed by a counted noun in the plural.
fn plurals(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let Some(quote) = line.find('"') else { return found };
    let mut at = quote;
    while let Some(open) = line[at..].find('{').map(|open| at + open) {
        let Some(close) = line[open..].find('}').map(|close| open + close) else { break };
        at = close;
        let value = &line[open + 1..close];
        let is_constant = !value.is_empty() && !value.contains(|c: char| c.is_lowercase());
        let noun = line[close + 1..].strip_prefix(' ').unwrap_or_default();
        let noun = noun.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
        let is_free = NEVER_ONE.iter().any(|before| line[..open].ends_with(before))
            || CHECKED.iter().any(|message| line.contains(message));
        if is_counted(noun) && !is_constant && !is_free {
            found.push(&line[open..]);
        }
    }
    found
}

#[test]
fn numbers_in_messages_have_nouns_that_fit() {
    assert_eq!(plurals(r#"    format!("{rows} rows")"#), ["{rows} rows\")"]);
    assert!(
        plurals(r#"    format!("more than {MOST} rows, {}", counted(rows, "row"))"#).is_empty()
    );
    let mut files = Vec::new();
    for part in ["lib", "src"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(part), &mut files);
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            if !line.trim_start().starts_with("//") {
                let found = plurals(line).into_iter();
                wrong.extend(found.map(|found| format!("{}:{number}: {found}", path.display())));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "try: counted or exactly of lib/stream/wording.rs\n{}",
        wrong.join("\n")
    );
}
