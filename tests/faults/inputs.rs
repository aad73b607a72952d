//! Small inputs of every kind, made once in a directory.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::models::{CHATML, write_model_at};
use crate::common::{bash_with, conversations, write_parquet};
use crate::games::{Folder, GameText};

/// Makes the inputs below `dir`.
pub fn make(dir: &Path) {
    make_of(dir, 0);
}

/// Makes inputs below `dir` that are others for each `variant`.
pub fn make_of(dir: &Path, variant: usize) {
    fs::create_dir_all(dir).unwrap();
    let at = |name: &str| dir.join(name);
    let all = conversations(24 + variant);
    let lines: Vec<&str> = all.split_inclusive('\n').skip(variant).collect();
    fs::write(at("a.ndjson"), lines[..12].concat()).unwrap();
    fs::write(at("b.ndjson"), lines[12..].concat()).unwrap();
    raw_rows(dir);
    chats(dir, variant);
    write_model_at(&at("model"), CHATML, &[]);
    write_model_at(&at("whole"), CHATML, &[]);
    super::model::complete(&at("whole"));
    games(dir, variant);
    puzzles(dir, variant);
    let script = r#"
        set -euo pipefail; cd "$IN"
        for n in a b; do harmony-tok $n.ndjson | span-mask > $n.masked; done
        (head -3 a.masked; echo '{"id": "bad"}'; tail -n +4 a.masked) > bad.masked
        ds-cat a.ndjson --to parquet -o shards/synth_harmony_shard_00.parquet
        ds-cat b.ndjson --to parquet -o shards/synth_harmony_shard_01.parquet
        ds-cat a.masked b.masked --to arrow -o masked.arrows
        gzip -k a.ndjson
        mmidx-write a.masked --root root --shard a --valid-fraction 0.3
        mmidx-write b.masked --root root --shard b --valid-fraction 0.3
        ds-manifest -q root
        export GRISTMILL_TO=arrow
        for n in a b; do chat-tok --model "$IN/model" -q chats/$n.jsonl | span-mask > $n.chats; done
        chat-tok --model "$IN/whole" -q chats/a.jsonl | span-mask > whole.chats
        for n in a b; do echo "{\"prompt\": \"$n?\", \"chosen\": \"yes\", \"rejected\": \"no\"}" |
            chat-tok --model gpt-oss --take pair -q > $n.pairs; done
        unset GRISTMILL_TO
        mmidx-write -q a.chats --root of_model --shard a
        ds-manifest -q of_model
        mmidx-write a.masked --prefix p/a
        mmidx-write b.masked --prefix p/b
        harmony-tok a.ndjson | mmidx-write --prefix single/a --tokens-only
        seq-pack -q p/a -o rows/plain.parquet --columns id
        seq-pack -q p/a -o rows/trl.parquet --form trl -n 9000
        seq-pack -q p/a --index rows/index.parquet -n 9000
        seq-pack -q a.pairs -o rows/dpo.parquet --form trl-dpo
        mx-decode -q raw > games.ndjson
        npy-pack -q games.ndjson -o pack
        npy-pack -q games.ndjson -o sharded --shard-rows 20
        npy-pack -q games.ndjson -o selfplay --layout selfplay-v1 --lossy
        puzzle-encode domino --num-games 4 --num-aug 1 --seed $VARIANT > domino.ndjson
        npy-pack -q domino.ndjson -o domino
        puzzle-encode arc arc --num-aug 1 | npy-pack -q -o arc_set
    "#;
    let variant = variant.to_string();
    bash_with(script, &[("IN", dir.to_str().unwrap()), ("VARIANT", &variant)]).ok();
    fs::write(at("shards/manifest.json"), manifest(&at("shards")).to_string()).unwrap();
}

/// The manifest of the Parquet shards.
fn manifest(directory: &Path) -> Value {
    let bytes = |name: &str| fs::metadata(directory.join(name)).unwrap().len();
    let names = ["synth_harmony_shard_00.parquet", "synth_harmony_shard_01.parquet"];
    let shard = |name| json!({"path": name, "bytes": bytes(name), "rows": 12, "row_groups": 1});
    let total: u64 = names.map(bytes).iter().sum();
    json!({
        "schema_version": "synth_harmony_v1",
        "dataset_dir": "made",
        "storage": {
            "format": "parquet",
            "glob": "synth_harmony_shard_*.parquet",
            "total_rows": 24,
            "total_bytes": total,
            "shards": names.map(shard),
        },
    })
}

/// Chats in two files.
fn chats(dir: &Path, variant: usize) {
    fs::create_dir_all(dir.join("chats")).unwrap();
    for name in ["a", "b"] {
        let chat = |number: usize| {
            let ask = json!({"role": "user", "content": format!("Question {number}?")});
            let say = json!({"role": "assistant", "content": name, "thinking": "Think."});
            format!("{}\n", json!({"id": format!("{name}-{number}"), "messages": [ask, say]}))
        };
        let lines: String = (0..12 + variant).map(chat).collect();
        fs::write(dir.join(format!("chats/{name}.jsonl")), lines).unwrap();
    }
}

/// Raw SYNTH rows in two files, some of which are skipped.
fn raw_rows(dir: &Path) {
    fs::create_dir_all(dir.join("raw_rows")).unwrap();
    for name in ["a", "b"] {
        let row = |number: usize| {
            json!({
                "synth_id": format!("{name}-{number}"),
                "query": format!("Question {number}?"),
                "synthetic_reasoning": "Think. ".repeat(number % 4),
                "synthetic_answer": "An answer.",
            })
        };
        let rows: String = (0..9).map(|number| format!("{}\n", row(number))).collect();
        fs::write(dir.join(format!("raw_rows/{name}.ndjson")), &rows).unwrap();
        if name == "a" {
            write_parquet(&dir.join("rows.parquet"), &rows);
        }
    }
}

fn games(dir: &Path, variant: usize) {
    let folder = Folder::new();
    for (name, moves) in [("x/one", 25), ("x/two", 17), ("y/three", 9)] {
        GameText::played(moves + variant).write(&folder, name);
    }
    for name in ["x", "y"] {
        fs::create_dir_all(dir.join("raw").join(name)).unwrap();
        for entry in fs::read_dir(folder.path.join(name)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, dir.join("raw").join(name).join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn puzzles(dir: &Path, variant: usize) {
    let row = |shift: usize| {
        let digit = |cell: usize| {
            let (row, column) = (cell / 9, cell % 9);
            char::from(b'1' + ((row * 3 + row / 3 + column + shift) % 9) as u8)
        };
        let answer: String = (0..81).map(digit).collect();
        let question: String = answer
            .char_indices()
            .map(|(cell, digit)| if cell % 7 == 0 { '.' } else { digit })
            .collect();
        format!("made,{question},{answer},1\n")
    };
    let maze = ["#####", "#S  #", "### #", "#G  #", "#####"];
    let solved = ["#####", "#Soo#", "###o#", "#Goo#", "#####"];
    let turned = |maze: [&str; 5]| -> String { maze.into_iter().rev().collect() };
    fs::create_dir_all(dir.join("maze")).unwrap();
    for (name, question, answer) in
        [("train", maze.concat(), solved.concat()), ("test", turned(maze), turned(solved))]
    {
        let text = format!("source,question,answer,rating\nmade,{question},{answer},1\n");
        fs::write(dir.join(format!("maze/{name}.csv")), text).unwrap();
    }
    fs::create_dir_all(dir.join("sudoku")).unwrap();
    for (name, shifts) in [("train", 0..4), ("test", 4..6)] {
        let rows: String = shifts.map(|shift| row(shift + variant)).collect();
        let text = format!("source,question,answer,rating\n{rows}");
        fs::write(dir.join(format!("sudoku/{name}.csv")), text).unwrap();
    }
    for (name, seed) in
        [("training/00000001", 1), ("training/00000002", 2), ("evaluation/00000003", 3)]
    {
        let seed = seed + variant;
        let pair = format!(
            "{{\"input\": [[{seed}, 2], [3, 4]], \"output\": [[4, 3], [2, {seed}]]}}, \
             {{\"input\": [[0, {seed}, 5]], \"output\": [[5, {seed}, 0]]}}"
        );
        let path = dir.join(format!("arc/{name}.json"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{{\"train\": [{pair}], \"test\": [{pair}]}}")).unwrap();
    }
}
