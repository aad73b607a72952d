//! seq-pack: rows as the trainers' own code makes them and reads them, back into the same sequences, and
//! what is refused.

mod bad_input;
mod cases;
mod folders;
mod pairs;
mod rows;
mod trainers;

use std::fs;
use std::path::Path;

use crate::common::{Outcome, TempDir, conversations, oracle, python_code, tool};

fn seq_pack(arguments: &[&str]) -> Outcome {
    tool("seq-pack").args(arguments).run()
}

/// A root of so many conversations in `root`, half of it valid.
fn root(dir: &TempDir, count: usize) {
    dir.write("c.ndjson", conversations(count));
    dir.bash(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         harmony-tok c.ndjson | span-mask > m.arrows
         mmidx-write m.arrows --root root --shard s0 --valid-fraction 0.2 -q
         mmidx-write m.arrows --prefix p/a -q",
    )
    .ok();
}

/// A triple of a set of lengths of data/packing, without ends of documents, in `NAME`.
fn triple(dir: &TempDir, python: &Path, data: &Path, name: &str) {
    oracle(python, "packing.py", &["triple", data.to_str().unwrap(), name, &dir.at(name)]).ok();
}

/// The records of ds-cat, one line each, sorted, without where they came from.
fn sequences(path: &str) -> Vec<String> {
    let lines = tool("ds-cat").args(&[path, "--to", "ndjson"]).run().silent().records();
    let mut lines: Vec<String> = lines
        .into_iter()
        .map(|mut record| {
            record.as_object_mut().unwrap().retain(|name, _| !["input", "row"].contains(&&**name));
            record.to_string()
        })
        .collect();
    lines.sort();
    lines
}

#[track_caller]
fn clean(path: &str) {
    let run = tool("ds-check").args(&[path, "--skip", "rows.unsupervised"]).run();
    assert_eq!(run.code(), Some(0), "{run:?}");
    assert!(run.text().contains("no problems found"), "{run:?}");
}

/// The manifest in the footer of a file.
fn manifest(python: &Path, path: &str) -> serde_json::Value {
    let code = "import sys, pyarrow.parquet as pq\n\
                print(pq.read_metadata(sys.argv[1]).metadata[b'gristmill.rows'].decode())";
    python_code(python, code, &[path]).ok().records().remove(0)
}

fn same(a: &str, b: &str) -> bool {
    fs::read(a).unwrap() == fs::read(b).unwrap()
}
