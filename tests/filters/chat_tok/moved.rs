//! Masks, span ids and segments that do not agree, in roots, streams and rows of any model: each is found by name, and
//! no sink publishes it.

use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, RecordBatch, StructArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::checks::edit::{edit, edit_json};
use crate::common::models::{CHATML, PLAIN, real_model, write_model};
use crate::common::{TempDir, bash, tool};

const CHATS: &str = r#"{"id":"a","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hello there"},{"role":"assistant","content":"hell, no"}]}
{"id":"b","messages":[{"role":"user","content":"and you?"},{"role":"assistant","content":"I thank you."},{"role":"user","content":"x"},{"role":"assistant","content":"the end"}]}
"#;

/// How a record is changed.
type Change = fn(&mut Value);

fn moved(record: &mut Value, name: &str, by: i64) {
    let list = record[name].as_array_mut().unwrap();
    match by {
        1 => list.rotate_right(1),
        _ => list.rotate_left(1),
    }
}

fn segment(record: &mut Value, of_answer: bool, (start, end): (i64, i64)) {
    let segments = record["segments"].as_array_mut().unwrap();
    let found = segments.iter_mut().find(|segment| segment["channel"].is_null() != of_answer);
    let segment = found.unwrap();
    for (name, by) in [("start", start), ("end", end)] {
        segment[name] = json!(segment[name].as_i64().unwrap() + by);
    }
}

const CHANGES: &[(&str, Change)] = &[
    ("later", |r| ["loss_mask", "span_id"].iter().for_each(|name| moved(r, name, 1))),
    ("earlier", |r| ["loss_mask", "span_id"].iter().for_each(|name| moved(r, name, -1))),
    ("mask later", |r| moved(r, "loss_mask", 1)),
    ("span later", |r| moved(r, "span_id", 1)),
    ("answer begins later", |r| segment(r, true, (1, 0))),
    ("answer ends earlier", |r| segment(r, true, (0, -1))),
    ("answer moved", |r| segment(r, true, (-1, -1))),
    ("question begins later", |r| segment(r, false, (1, 0))),
    ("question ends later", |r| segment(r, false, (0, 1))),
    ("question is trained on", |r| {
        let at = r["segments"][0]["start"].as_u64().unwrap() as usize + 1;
        (r["loss_mask"][at], r["span_id"][at]) = (json!(1), json!(2));
    }),
    ("one position less", |r| {
        let mask = r["loss_mask"].as_array().unwrap();
        let last = mask.iter().rposition(|value| *value == 1).unwrap();
        (r["loss_mask"][last], r["span_id"][last]) = (json!(0), json!(0));
    }),
];

/// The checks that find such a change.
const NAMES: [&str; 9] = [
    "kd.mask.derived",
    "kd.mask.unshifted",
    "kd.mask.double_shift",
    "kd.mask.last",
    "kd.mask.span",
    "kd.mask.swapped",
    "stream.tokens.segments",
    "rows.mask",
    "rows.segments",
];

#[track_caller]
fn is_found(path: &str, flags: &[&str], what: &str) {
    let run = tool("ds-check").args(&[path]).args(flags).run();
    let text = run.text();
    let is_named = NAMES.iter().any(|name| text.contains(name));
    assert!(run.code() == Some(1) && is_named, "{what}: {run:?}");
}

fn models(dir: &TempDir) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("chatml", write_model(dir, "chatml", CHATML)),
        ("plain", write_model(dir, "plain", PLAIN)),
    ];
    for name in ["qwen3", "llama3_1", "gemma3", "deepseek_v3"] {
        all.extend(real_model(name).map(|path| (name, path)));
    }
    all
}

#[test]
fn what_does_not_follow_from_the_segments_is_found_in_streams_and_rows_and_published_by_none() {
    let dir = TempDir::new();
    for (name, model) in models(&dir) {
        dir.write("chats.jsonl", CHATS);
        let [chats, masked] = ["chats.jsonl", "masked.ndjson"].map(|name| dir.at(name));
        bash(&format!(
            "set -o pipefail; chat-tok -q --turns all --model {model} {chats} | span-mask > {masked}"
        ))
        .ok();
        tool("ds-check").args(&[&masked]).run().ok();
        let good: Vec<Value> =
            dir.text("masked.ndjson").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        for (what, change) in CHANGES {
            let what = format!("{name}: {what}");
            let mut records = good.clone();
            change(&mut records[1]);
            let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
            dir.write("bad.ndjson", &lines);
            let (bad, rows) = (dir.at("bad.ndjson"), dir.at("rows.parquet"));
            is_found(&bad, &[], &what);
            let prefix = dir.at("out/p");
            let written = tool("mmidx-write").args(&["--prefix", &prefix, &bad]).run();
            written.fails(1, &["bad.ndjson:2: (b) "]);
            let packed = tool("seq-pack").args(&["-o", &rows, &bad, "--overwrite"]).run();
            let told = packed.fails(1, &["bad.ndjson:2: (b) "]).stderr;
            assert!(told.lines().count() == 1 && !told.contains("try: --no"), "{told}");
            // Rows of a program that does not look.
            for form in ["rows", "trl", "megatron-bridge"] {
                let flags = ["--no-check", "--form", form, "-n", "4096", "--overwrite", "-q"];
                let packed = tool("seq-pack").args(&["-o", &rows, &bad]).args(&flags).run();
                // (Labels are made of the mask alone.)
                if packed.code() == Some(0) && !what.ends_with("span later") {
                    is_found(&rows, &[], &format!("{what}: {form}"));
                }
            }
        }
    }
}

/// Rewrites an ids file with the segments of its second sequence changed.
fn edit_ids(path: &str, change: impl Fn(usize, i32, bool) -> i32) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let batch = builder.build().unwrap().next().unwrap().unwrap();
    let lists = batch.column(4).as_list::<i32>().clone();
    let structs = lists.values().as_struct().clone();
    let first = lists.value_offsets()[1] as usize;
    let of = |column: &ArrayRef, is_start: bool| -> ArrayRef {
        let own = column.as_primitive::<Int32Type>().values().iter().enumerate();
        let new = own.map(|(at, value)| match at.checked_sub(first) {
            Some(number) => change(number, *value, is_start),
            None => *value,
        });
        Arc::new(Int32Array::from_iter_values(new))
    };
    let mut members = structs.columns().to_vec();
    (members[2], members[3]) = (of(&members[2], true), of(&members[3], false));
    let structs = StructArray::new(structs.fields().clone(), members, None);
    let arrow_schema::DataType::List(item) = lists.data_type() else { panic!() };
    let lists = ListArray::new(item.clone(), lists.offsets().clone(), Arc::new(structs), None);
    let mut columns = batch.columns().to_vec();
    columns[4] = Arc::new(lists);
    let batch = RecordBatch::try_new(batch.schema(), columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn what_does_not_follow_from_the_segments_is_found_in_roots() {
    let dir = TempDir::new();
    dir.write("chats.jsonl", CHATS);
    for (name, model) in models(&dir) {
        let make = || {
            bash(&format!(
                "set -o pipefail; rm -rf {root}; chat-tok -q --turns all --model {model} {chats} --to arrow | span-mask --to arrow |
                 mmidx-write -q --root {root} --shard s --valid-fraction 0; ds-manifest -q {root}",
                root = dir.at("root"),
                chats = dir.at("chats.jsonl"),
            ))
            .ok();
        };
        make();
        tool("ds-check").args(&[&dir.at("root")]).run().ok();
        // Messages are known, as those of gpt-oss.
        let shown = tool("ds-view").args(&[&dir.at("root"), "--nth", "1"]).run().ok().text();
        assert!(shown.contains("assistant final") && shown.contains("F│ "), "{shown}");
        let numbers = tool("ds-stat").args(&[&dir.at("root")]).run().ok().text();
        assert!(
            numbers.contains("tokens by role") && !numbers.contains("outside of messages"),
            "{numbers}"
        );
        let members = ["root/train/s_lossmask.bin", "root/train/s_span.bin"];
        let bytes = |change: fn(&mut Vec<u8>), which: &[&str]| {
            which.iter().for_each(|name| edit(&dir, name, change));
            is_found(&dir.at("root"), &[], name);
            make();
        };
        bytes(|bytes| bytes.rotate_right(1), &members);
        // (Large tokenizers take their time.)
        let is_small = ["chatml", "plain"].contains(&name);
        if !is_small {
            continue;
        }
        bytes(|bytes| bytes.rotate_left(1), &members);
        bytes(|bytes| bytes.rotate_left(1), &members[..1]);
        bytes(|bytes| bytes.rotate_left(1), &members[1..]);
        let last = |bytes: &mut Vec<u8>| {
            let at = bytes.iter().rposition(|byte| *byte > 0).unwrap();
            bytes[at] = 0;
        };
        bytes(last, &members);
        let ids = dir.at("root/ids/train/s.parquet");
        for (which, starts, by) in
            [(0, true, 1), (1, true, 1), (1, false, -1), (1, false, 1), (2, true, -1)]
        {
            edit_ids(
                &ids,
                |number, value, is_start| {
                    if number == which && is_start == starts { value + by } else { value }
                },
            );
            is_found(&dir.at("root"), &[], &format!("{name}: segment {which}"));
            make();
        }
    }
}

/// Triples and rows of a program that does not look: no sink of ours packs them or writes them again.
#[test]
fn what_does_not_follow_from_the_segments_is_packed_from_no_dataset() {
    let dir = TempDir::new();
    let [masked, bad] = ["masked.ndjson", "bad.ndjson"].map(|name| dir.at(name));
    dir.write("chats.jsonl", CHATS);
    let of_model = |model: &str| {
        format!(
            "chat-tok -q --turns all --model {model} {} | span-mask > {masked}",
            dir.at("chats.jsonl")
        )
    };
    let gpt_oss = format!(
        "chat-harmony -q {} | harmony-tok -q --policy chat | span-mask > {masked}",
        dir.at("chats.jsonl")
    );
    let small = of_model(&write_model(&dir, "chatml", CHATML));
    let real = real_model("qwen3").map(|model| of_model(&model));
    for make in [Some(gpt_oss.clone()), Some(small), real].into_iter().flatten() {
        bash(&format!("set -o pipefail; {make}")).ok();
        let is_gpt_oss = make == gpt_oss;
        let mut packed = 0;
        let good: Vec<Value> =
            dir.text("masked.ndjson").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        for (what, change) in CHANGES {
            // (The tokens of gpt-oss show their messages: none are kept in triples.)
            let is_of_segments = ["answer", "question begins", "question ends"];
            if is_gpt_oss && is_of_segments.iter().any(|name| what.starts_with(name)) {
                continue;
            }
            let mut records = good.clone();
            change(&mut records[1]);
            let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
            dir.write("bad.ndjson", &lines);
            let what = format!("{what}: {make}");
            // (Some of it mmidx-write refuses in any case.)
            let made = tool("mmidx-write")
                .args(&["--no-check", "--prefix", &dir.at("out/s"), "--overwrite", &bad])
                .run();
            if made.code() == Some(0) {
                for form in ["rows", "trl", "megatron-bridge"] {
                    is_packed_by_none(&dir, &["out/s", "--form", form], &what);
                    packed += 1;
                }
                let split = ["out/s", "--form", "trl", "--overflow", "split"];
                is_packed_by_none(&dir, &split, &what);
            }
            let rows = dir.at("rows.parquet");
            let columns = ["--columns", "id,span_id", "--overwrite"];
            let made =
                tool("seq-pack").args(&["--no-check", "-o", &rows, &bad]).args(&columns).run();
            if made.code() == Some(0) {
                packed += 1;
                is_packed_by_none(&dir, &["rows.parquet"], &what);
                let prefix = dir.at("again/p");
                tool("mmidx-write")
                    .args(&[&rows, "--prefix", &prefix])
                    .run()
                    .fails(1, &["record 2"]);
            }
        }
        assert!(packed >= if is_gpt_oss { 6 } else { 20 }, "{packed} of {make}");
    }
}

#[track_caller]
fn is_packed_by_none(dir: &TempDir, arguments: &[&str], what: &str) {
    let [input, flags @ ..] = arguments else { panic!() };
    let run = |more: &[&str]| {
        let out = dir.at("packed.parquet");
        let n = if flags.contains(&"split") { "9" } else { "4096" };
        let flags = [&["-o", &out, "-n", n, "-q", "--overwrite"][..], flags, more].concat();
        tool("seq-pack").args(&[&dir.at(input)]).args(&flags).run()
    };
    let refused = run(&[]).fails(1, &["record 2"]);
    let is_named = NAMES.iter().any(|name| refused.stderr.contains(name));
    assert!(is_named && refused.stderr.lines().count() == 1, "{what}: {refused:?}");
    assert!(!dir.path().join("packed.parquet").exists(), "{what}");
    run(&["--no-check"]).silent();
    std::fs::remove_file(dir.path().join("packed.parquet")).unwrap();
}

/// Bytes that were changed behind the manifest's back, in the part of a root that a slice reads (so no hash is
/// compared).
#[test]
fn what_was_moved_in_a_root_is_packed_from_no_slice() {
    let dir = TempDir::new();
    dir.write("chats.jsonl", CHATS);
    let model = write_model(&dir, "model", CHATML);
    let pipes = [
        format!("chat-tok -q --turns all --model {model} chats.jsonl --to arrow"),
        "chat-harmony -q chats.jsonl | harmony-tok -q --policy chat --to arrow".to_string(),
    ];
    for (number, pipe) in pipes.iter().enumerate() {
        let make = || {
            dir.bash(&format!(
                "set -eo pipefail; rm -rf root; {pipe} | span-mask --to arrow |
                 mmidx-write -q --root root --shard s --valid-fraction 0"
            ))
            .ok();
        };
        let pack = || {
            let flags = ["--slice", "1..2", "-q", "--overwrite", "-o", &dir.at("r.parquet")];
            tool("seq-pack").args(&[&dir.at("root/train")]).args(&flags).run()
        };
        make();
        pack().silent();
        let members = ["root/train/s_lossmask.bin", "root/train/s_span.bin"];
        for which in [&members[..], &members[..1], &members[1..]] {
            let changes: [fn(&mut Vec<u8>); 2] =
                [|bytes| bytes.rotate_right(1), |bytes| bytes.rotate_left(1)];
            for change in changes {
                which.iter().for_each(|name| edit(&dir, name, change));
                pack().fails(1, &["root/train/s: record 2: ", "(kd.mask."]);
                make();
            }
        }
        for by in [1, -1] {
            if number == 0 {
                edit_ids(&dir.at("root/ids/train/s.parquet"), |_, value, _| value + by);
                edit_json(&dir, "root/parts/s.json", |part| {
                    for stated in ["paths", "bytes", "sha256"] {
                        part["splits"]["train"][stated].as_object_mut().unwrap().remove("ids");
                    }
                });
                let told = pack().fails(1, &["root/train/s: record 2: "]).stderr;
                assert!(NAMES.iter().any(|name| told.contains(name)), "{told}");
                make();
            }
        }
    }
}

/// Segments stay through slices, concatenations and rows.
#[test]
fn segments_stay_with_their_sequences() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    dir.write("chats.jsonl", super::chats(3, 40, false));
    dir.bash(&format!(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         chat-tok -q --turns all --model {model} chats.jsonl | span-mask -q --span commentary=3 > m.arrows
         mmidx-write -q --root root --shard s --valid-fraction 0 m.arrows; ds-manifest -q root
         for i in 0 1; do chat-tok -q --turns all --model {model} chats.jsonl --slice $i/2 |
             span-mask -q --span commentary=3 | mmidx-write -q --prefix p$i; done
         mmidx-write -q --concat p0 p1 --prefix whole
         seq-pack -q root/train -o rows.parquet
         seq-pack -q m.arrows -o window.parquet"
    ))
    .ok();
    for other in ["m.arrows", "whole", "rows.parquet", "window.parquet"] {
        let told = dir.bash(&format!("ds-diff root {other}")).ok().text();
        assert!(told.contains("the records are the same"), "{told}");
        let records = dir.bash(&format!("ds-cat {other} --to ndjson")).ok().records();
        for record in records {
            assert!(record["segments"].is_array() && record["tokenizer"].is_string(), "{record}");
        }
    }
    // Pieces of a sequence keep them, too.
    for flags in ["--form trl", "--form megatron-bridge", "--form trl --algorithm wrapped"] {
        let split = if flags.contains("wrapped") { "" } else { "--overflow split" };
        dir.bash(&format!(
            "set -eo pipefail; seq-pack -q --overwrite root/train -o split.parquet {flags} -n 50 {split}; ds-check split.parquet
             diff <(ds-cat split.parquet | jq -cS '[.id, .tokens, .segments]' | sort) \\
                  <(ds-cat root | jq -cS '[null, .tokens, .segments]' | sort)"
        ))
        .ok();
    }
    // Other programs read the columns as before.
    let page =
        dir.bash(&format!("ds-view rows.parquet --model {model} --html - --nth 1")).ok().text();
    assert!(
        page.contains("assistant final") || page.contains("\"final\""),
        "no messages on the page"
    );
    // Without spans the mask has a letter of its own.
    dir.bash(&format!(
        "set -eo pipefail; ds-cat m.arrows --to ndjson | jq -c '.segments = null' |
         seq-pack -q --no-check -o bare.parquet --model {model}"
    ))
    .ok();
    let shown = dir.bash(&format!("ds-view bare.parquet --model {model}")).ok().text();
    assert!(shown.contains("T│ "), "{shown}");
}
