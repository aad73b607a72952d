//! Pairs as rows for TRL's trainers: what pyarrow reads, TRL's own order of unpaired rows, and back.

use serde_json::{Value, json};

use super::clean;
use crate::common::{TempDir, python, python_code, tool};

const FORMS: [&str; 3] = ["trl-dpo", "trl-reward", "trl-kto"];

/// Pairs of gpt-oss in `pairs.arrows`.
fn pairs(dir: &TempDir, count: usize) {
    let lines = (0..count).map(|n| {
        let (prompt, chosen) = (format!("q{}", "x ".repeat(n % 7)), format!("a{n}"));
        json!({"id": format!("p{n}"), "prompt": prompt, "chosen": chosen, "rejected": format!("b {n}")}).to_string() + "\n"
    });
    dir.write("p.jsonl", lines.collect::<String>());
    dir.bash("chat-tok --model gpt-oss --take pair p.jsonl --to arrow > pairs.arrows").ok();
}

/// Rows and types as pyarrow reads them; back the same pairs, whole and in slices.
#[test]
fn rows_are_the_pairs() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    pairs(&dir, 2345);
    let wanted =
        tool("ds-cat").args(&[&dir.at("pairs.arrows"), "--to", "ndjson"]).run().ok().records();
    let read = "import sys, json, pyarrow.parquet as pq\n\
                table = pq.read_table(sys.argv[1])\n\
                print(json.dumps({'types': {f.name: str(f.type) for f in table.schema}}))\n\
                for row in table.to_pylist(): print(json.dumps(row))";
    for form in FORMS {
        let path = dir.at(&format!("{form}.parquet"));
        let arguments = [
            &dir.at("pairs.arrows"),
            "-o",
            &path,
            "--form",
            form,
            "--columns",
            "id",
            "--compression",
            "zstd",
        ];
        let run = tool("seq-pack").args(&arguments).run();
        assert_eq!(run.code(), Some(0), "{run:?}");
        clean(&path);
        let mut rows = python_code(&python, read, &[&path]).ok().records();
        let types = rows.remove(0)["types"].take();
        let list = "list<item: int64 not null>";
        let whole = |pair: &Value, name: &str| -> Value {
            let parts = ["prompt", name].map(|part| pair[part].as_array().unwrap().clone());
            parts.concat().into()
        };
        let made: Vec<Value> = match form {
            "trl-dpo" => {
                assert_eq!(
                    types,
                    json!({"prompt_ids": list, "chosen_ids": list, "rejected_ids": list, "id": "string"})
                );
                let row = |pair: &Value| json!({"prompt_ids": pair["prompt"], "chosen_ids": pair["chosen"], "rejected_ids": pair["rejected"], "id": pair["id"]});
                wanted.iter().map(row).collect()
            }
            "trl-reward" => {
                assert_eq!(
                    types,
                    json!({"chosen_ids": list, "rejected_ids": list, "prompt_length": "int32", "id": "string"})
                );
                let row = |pair: &Value| {
                    let length = pair["prompt"].as_array().unwrap().len();
                    json!({"chosen_ids": whole(pair, "chosen"), "rejected_ids": whole(pair, "rejected"), "prompt_length": length, "id": pair["id"]})
                };
                wanted.iter().map(row).collect()
            }
            _ => {
                assert_eq!(
                    types,
                    json!({"prompt_ids": list, "completion_ids": list, "label": "bool", "id": "string"})
                );
                let row = |pair: &Value, name: &str| json!({"prompt_ids": pair["prompt"], "completion_ids": pair[name], "label": name == "chosen", "id": pair["id"]});
                // As datasets maps TRL's unpair_preference_dataset: a thousand records at a time.
                let block = |block: &[Value]| {
                    let of = |name: &'static str| {
                        block.iter().map(move |pair| row(pair, name)).collect::<Vec<Value>>()
                    };
                    [of("chosen"), of("rejected")].concat()
                };
                wanted.chunks(1000).flat_map(block).collect()
            }
        };
        assert_eq!(rows, made, "{form}");
        let back = |arguments: &[&str]| {
            let mut pairs = tool("ds-cat")
                .args(&[&[&path, "--to", "ndjson"], arguments].concat())
                .run()
                .ok()
                .records();
            for pair in &mut pairs {
                let members = pair.as_object_mut().unwrap();
                members.retain(|name, _| !["input", "row"].contains(&&**name));
            }
            pairs
        };
        let own: Vec<Value> = wanted
            .iter()
            .map(|pair| json!({"id": pair["id"], "prompt": pair["prompt"], "chosen": pair["chosen"], "rejected": pair["rejected"]}))
            .collect();
        assert_eq!(back(&[]), own, "{form}");
        let slices: Vec<Value> =
            (0..3).flat_map(|n| back(&["--slice", &format!("{n}/3")])).collect();
        assert_eq!(slices, own, "{form}");
        assert_eq!(back(&["--id", "p1003"]), own[1003..1004]);
        // Once more, from the rows themselves.
        let again = dir.at("again.parquet");
        let arguments = [
            &path,
            "-o",
            &again,
            "--form",
            form,
            "--columns",
            "id",
            "--compression",
            "zstd",
            "--overwrite",
            "-q",
        ];
        tool("seq-pack").args(&arguments).run().silent();
        let same = tool("ds-diff").args(&[&path, &again]).run().ok();
        assert!(same.text().contains("the records are the same"), "{same:?}");
    }
}

/// Pairs that ds-check calls wrong are not written; options of sequences are refused.
#[test]
fn wrong_pairs_are_refused() {
    let dir = TempDir::new();
    pairs(&dir, 3);
    let mut good =
        tool("ds-cat").args(&[&dir.at("pairs.arrows"), "--to", "ndjson"]).run().ok().records();
    let out = dir.at("r.parquet");
    let pack = |record: &Value, more: &[&str]| {
        let tool = tool("seq-pack").args(&["--form", "trl-dpo", "-o", &out, "-q"]).args(more);
        tool.input(format!("{record}\n")).run_whatever()
    };
    let one = good.remove(0);
    let with = |name: &str, value: Value| {
        let mut record = one.clone();
        record[name] = value;
        record
    };
    for (record, cause) in [
        (with("rejected", one["chosen"].clone()), "both answers have the same tokens"),
        (with("rejected", json!([])), "rejected has no tokens"),
        (with("prompt", json!([200006, 5])), "its prompt does not end in <|start|>assistant"),
        (with("rejected", json!([200005, 17196, 200008, 300000])), "300000"),
        (with("rejected", json!([200005, 17196, 200008, 30744])), "the end instead of <|end|>"),
    ] {
        let run = pack(&record, &[]);
        assert_eq!(run.code(), Some(1), "{run:?}");
        assert!(run.stderr.contains(cause), "{cause}: {run:?}");
        assert!(!dir.path().join("r.parquet").exists());
        pack(&record, &["--no-check", "--overwrite"]).ok();
        let found = tool("ds-check").args(&[&out]).run();
        assert_eq!(found.code(), Some(1), "{found:?}");
        std::fs::remove_file(&out).unwrap();
    }
    for (flags, option) in [
        (&["-n", "100"][..], "--seq-length"),
        (&["--algorithm", "bfd"], "--algorithm"),
        (&["--overflow", "drop"], "--overflow"),
        (&["--keep-eod"], "--keep-eod"),
        (&["--columns", "span_id"], "--columns span_id,sequence"),
    ] {
        pack(&one, flags).exits(2, &[option, "is for rows of sequences"]);
    }
    pack(&one, &[]).ok();
    pack(&one, &[]).exits(2, &["--overwrite"]);
    // Sequences are no pairs, nor the reverse.
    tool("seq-pack")
        .args(&["-o", &out, "--overwrite"])
        .input(format!("{one}\n"))
        .run_whatever()
        .exits(2, &["expected token sequences, got pairs; try: seq-pack --form trl-dpo"]);
}
