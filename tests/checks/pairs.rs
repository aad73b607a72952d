//! Defects of pairs of answers, in streams and in rows for trainers.

use serde_json::{Value, json};

use super::defects::{Defect, defect};
use super::edit::edit_line;
use super::rows::change_manifest;
use crate::common::TempDir;

const LINES: &str = "pairs.ndjson";
const DPO: &str = "pairs/dpo.parquet";
const KTO: &str = "pairs/kto.parquet";

/// Makes the pairs of gpt-oss.
pub fn make(dir: &TempDir) {
    let pair = |n: usize| json!({"id": format!("p{n}"), "prompt": format!("Q{n}?"), "chosen": format!("A{n}."), "rejected": "No."});
    dir.write("q.jsonl", (0..9).map(|n| format!("{}\n", pair(n))).collect::<String>());
    dir.bash(
        "set -e; mkdir pairs
         for to in ndjson arrow; do
             chat-tok --model gpt-oss --take pair q.jsonl --to $to > pairs.${to/arrow/arrows}; done
         for form in dpo reward kto; do
             seq-pack pairs.arrows -o pairs/$form.parquet --form trl-$form -q; done
         rm q.jsonl",
    )
    .ok();
}

fn first(dir: &TempDir, change: impl FnOnce(&mut Value)) {
    edit_line(dir, LINES, 0, change)
}

pub const PAIRS: &[Defect] = &[
    defect("stream.pair.empty", LINES, |dir| first(dir, |pair| pair["rejected"] = json!([]))),
    defect("stream.pair.same", LINES, |dir| {
        first(dir, |pair| pair["rejected"] = pair["chosen"].clone())
    }),
    defect("stream.pair.prompt", LINES, |dir| {
        first(dir, |pair| drop(pair["prompt"].as_array_mut().unwrap().pop()))
    }),
    defect("stream.pair.unknown", LINES, |dir| first(dir, |pair| pair["prompt"] = json!([5, 6]))),
    defect("pairs.form", DPO, |dir| {
        change_manifest(dir, DPO, |made| made["schema_version"] = "v9".into())
    }),
    defect("pairs.form", DPO, |dir| {
        change_manifest(dir, DPO, |made| made["form"] = "trl-reward".into())
    }),
    defect("pairs.counts", DPO, |dir| {
        change_manifest(dir, DPO, |made| made["tokens"]["chosen"] = 7.into())
    }),
    defect("pairs.counts", KTO, |dir| change_manifest(dir, KTO, |made| made["rows"] = 7.into())),
    defect("pairs.hash", KTO, |dir| change_manifest(dir, KTO, |made| made["hash"] = "00".into())),
];
