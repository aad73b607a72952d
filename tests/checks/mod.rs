//! Good datasets of every kind, made by our own filters from the tests' conversations, and helpers
//! to run ds-check on them.

#![allow(dead_code)] // every test file uses a part of it

pub mod defects;
pub mod edit;
pub mod foreign;
pub mod games;
pub mod pairs;
pub mod puzzles;
pub mod rows;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::run::{Tool, plural_of_one};
use crate::common::{Outcome, TempDir, conversation, tool};

/// How many conversations the sets are made of.
pub const ROWS: usize = 40;

/// Sets that ds-check finds nothing in; one of these is damaged by each test of a check.
///
/// | name | what it is |
/// |---|---|
/// | `in/` | two Parquet shards with their manifest |
/// | `root/` | the KD root of `in/`, with all manifests |
/// | `kd/p` | a triple without any |
/// | `part/p` | a triple with its part manifest |
/// | `c.ndjson`, `c.arrows`, `c.parquet` | conversations |
/// | `pack/`, `v1/`, `g.ndjson`, `g.arrows` | games |
/// | `domino/`, `sudoku/`, `maze/`, `arc/`, `z.ndjson`, `z.arrows` | puzzles |
/// | `rows/` | `kd/p` as rows of each form, padded and not, and as an index |
/// | `pairs.ndjson`, `pairs.arrows`, `pairs/` | pairs of answers, also as rows of each form |
/// | `t.ndjson`, `t.arrows`, `m.ndjson`, `m.arrows` | their tokens, without and with masks |
pub struct Good(TempDir);

impl Good {
    pub fn new() -> Good {
        let dir = TempDir::new();
        shards(&dir, "in", &[(0..ROWS).collect(), (ROWS..ROWS + 5).collect()]);
        let lines: String = (0..ROWS).map(|n| conversation(n).to_string() + "\n").collect();
        dir.write("c.ndjson", lines);
        // Beside the originals there may be a release build, which the script would prefer.
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/synth-kd.sh");
        dir.write("bin/synth-kd.sh", fs::read(script).unwrap());
        dir.bash("set -eo pipefail; bash bin/synth-kd.sh in root --valid-fraction 0.2 --jobs 1
             for to in ndjson arrow; do end=${to/arrow/arrows}
                 harmony-tok c.ndjson --to $to > t.$end; span-mask t.$end --to $to > m.$end; done
             ds-cat c.ndjson --to arrow > c.arrows; ds-cat c.ndjson --to parquet -o c.parquet
             mmidx-write m.arrows --prefix part/p
             cp -r part kd; rm kd/p.part.json; rm -r bin; mkdir rows
             for form in trl bridge; do
                 seq-pack kd/p -o rows/$form.parquet --form ${form/bridge/megatron-bridge} \
                     -n 400 --columns sequence -q; done
             seq-pack kd/p -o rows/padded.parquet --form megatron-bridge -n 400 --pad-seq-to-mult 16 -q
             seq-pack kd/p -o rows/plain.parquet --columns id,span_id -q
             seq-pack kd/p --index rows/index.parquet -n 400 -q")
        .ok();
        games::make(&dir);
        pairs::make(&dir);
        puzzles::make(&dir);
        Good(dir)
    }

    /// A copy to be damaged.
    pub fn copy(&self) -> TempDir {
        let copy = TempDir::new();
        for name in self.0.files() {
            copy.write(&name, self.0.read(&name));
        }
        copy
    }

    pub fn dir(&self) -> &TempDir {
        &self.0
    }
}

/// A directory of Parquet shards of these conversations, and their manifest.
pub fn shards(dir: &TempDir, name: &str, numbers: &[Vec<usize>]) {
    let (mut told, mut rows, mut bytes) = (Vec::new(), 0, 0);
    for (shard, numbers) in numbers.iter().enumerate() {
        let lines: String = numbers.iter().map(|&n| shard_line(n) + "\n").collect();
        dir.write("lines", lines);
        let path = format!("{name}/synth_harmony_shard_{shard:02}.parquet");
        fs::create_dir_all(dir.path().join(name)).unwrap();
        let arguments = [&dir.at("lines"), "--to", "parquet", "-o", &dir.at(&path)];
        tool("ds-cat").args(&arguments).run().silent();
        let size = dir.read(&path).len();
        told.push(json!({"path": path, "bytes": size, "rows": numbers.len(), "row_groups": 1}));
        rows += numbers.len();
        bytes += size;
    }
    fs::remove_file(dir.at("lines")).unwrap();
    let storage = json!({"total_rows": rows, "total_bytes": bytes, "shards": told});
    let manifest = json!({"schema_version": "synth_harmony_v1", "storage": storage});
    dir.write(&format!("{name}/manifest.json"), manifest.to_string());
}

/// A conversation as a row of the SYNTH shards.
fn shard_line(number: usize) -> String {
    let messages = json!({"messages": conversation(number)["messages"].take()});
    json!({"synth_id": format!("s-{number}"), "messages_json": messages.to_string()}).to_string()
}

/// What ds-check says, in JSON.
#[derive(Debug)]
pub struct Found {
    pub code: Option<i32>,
    pub findings: Vec<Value>,
    pub summary: Value,
    pub run: Outcome,
}

pub fn ds_check(arguments: &[&str]) -> Tool {
    tool("ds-check").args(arguments)
}

/// Runs ds-check with `--format json`; what it prints is one object a line and the summary.
#[track_caller]
pub fn found(arguments: &[&str]) -> Found {
    parsed(ds_check(arguments).args(&["--format", "json"]).run())
}

/// The same, of bytes on stdin.
#[track_caller]
pub fn found_on_stdin(arguments: &[&str], input: &[u8]) -> Found {
    parsed(ds_check(arguments).args(&["-", "--format", "json"]).input(input).run())
}

#[track_caller]
fn parsed(run: Outcome) -> Found {
    let code = run.code();
    assert!(matches!(code, Some(0 | 1)), "{run:?}");
    let mut findings = run.records();
    let summary = findings.pop().unwrap_or_else(|| panic!("{run:?}"))["summary"].take();
    assert!(summary.is_object(), "{run:?}");
    assert_eq!(code == Some(1), summary["errors"] != 0, "{run:?}");
    for finding in &findings {
        let plural = finding["message"].as_str().and_then(plural_of_one);
        assert!(plural.is_none(), "{plural:?}: {run:?}");
    }
    assert_eq!(run.stderr.lines().count(), usize::from(code == Some(1)), "{run:?}");
    Found { code, findings, summary, run }
}

impl Found {
    /// How often each check found something, by its id.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for level in ["errors_by_check", "warnings_by_check"] {
            for (id, count) in self.summary[level].as_object().unwrap() {
                *counts.entry(id.clone()).or_default() += count.as_u64().unwrap();
            }
        }
        counts
    }

    pub fn ids(&self) -> Vec<String> {
        self.counts().into_keys().collect()
    }

    /// Nothing at all was found.
    #[track_caller]
    pub fn nothing(self) {
        assert!(self.code == Some(0) && self.findings.is_empty(), "{:?}", self.run);
        assert!(self.counts().is_empty(), "{:?}", self.run);
    }
}

/// The ids of all checks, each with its severity.
pub fn catalogue() -> Vec<(String, String)> {
    let list = ds_check(&["--list", "--format", "json"]).run().silent().records();
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_string();
    list.iter().map(|check| (text(check, "check"), text(check, "level"))).collect()
}
