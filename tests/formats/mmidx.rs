//! Megatron datasets: what mmidx-write writes is read by numpy, what others wrote is read by ds-cat,
//! and only what belongs together is concatenated.

use std::fs;

use serde_json::{Value, json};

use crate::checks::edit::index;
use crate::common::samples::{masked_line, tokens_line};
use crate::common::{
    TempDir, assert_no_temporaries, assert_same_datasets, bash, conversations, data, oracle,
    python, tool, unchecked_sink,
};

/// The lists of a record that a dataset holds.
fn lists(record: &Value) -> Value {
    json!({"tokens": record["tokens"], "loss_mask": record["loss_mask"], "span_id": record["span_id"]})
}

fn write(dir: &TempDir, prefix: &str, lines: &str, flags: &[&str]) {
    let prefix = dir.at(prefix);
    let mut arguments = vec!["--prefix", prefix.as_str()];
    arguments.extend(flags);
    unchecked_sink().args(&arguments).input(lines).run().silent();
}

/// Sequences of many lengths, the ends of the vocabulary among their tokens.
fn masked_lines(count: usize) -> String {
    (0..count)
        .map(|row| {
            let tokens: Vec<i64> =
                (0..=row * row % 41 + 1).map(|at| (at * 9973 + row) as i64 % 201_088).collect();
            masked_line(&format!("id-{row}"), &tokens)
        })
        .chain([masked_line("ends", &[0, 201_087, 199_999])])
        .collect()
}

#[test]
fn numpy_reads_what_was_written() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let lines = masked_lines(300);
    write(&dir, "p", &lines, &[]);
    let read = oracle(&python, "mmidx.py", &["triple", &dir.at("p")]).ok().records();
    let wrote: Vec<Value> =
        lines.lines().map(|line| lists(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(read, wrote);
    let ours = tool("ds-cat").args(&[dir.at("p")]).run().silent().records();
    assert_eq!(ours.iter().map(lists).collect::<Vec<_>>(), wrote);
    let id_of = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].clone();
    assert!(ours.iter().map(|record| record["id"].clone()).eq(lines.lines().map(id_of)));
}

#[test]
fn tokens_alone_as_uint16_and_int32() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let short = tokens_line("a", &[0, 65_535, 7]) + &tokens_line("b", &[1]);
    for (flags, dtype) in [(&["--dtype", "uint16"][..], "uint16"), (&["--dtype", "int32"], "int32")]
    {
        write(&dir, dtype, &short, &[&["--tokens-only"], flags].concat());
        let read = oracle(&python, "mmidx.py", &["single", &dir.at(dtype)]).ok().records();
        let expected = [
            json!({"dtype": dtype, "documents": [0, 1, 2]}),
            json!({"tokens": [0, 65_535, 7]}),
            json!({"tokens": [1]}),
        ];
        assert_eq!(read, expected);
        let part = dir.json(&format!("{dtype}.part.json"));
        assert_eq!((&part["dtype"], &part["config_hash"]), (&json!(dtype), &Value::Null));
        let back = tool("ds-cat").args(&[dir.at(dtype)]).run().silent().records();
        let expected = json!({"id": "a", "tokens": [0, 65_535, 7], "segments": null, "input": null, "row": null});
        assert_eq!(back[0], expected);
    }
    for (dtype, token, limit) in [("uint16", 65_536, 65_536), ("int32", 201_088, 201_088)] {
        let line = tokens_line("x", &[5, token]);
        let prefix = dir.at("too-large");
        unchecked_sink()
            .args(&["--tokens-only", "--dtype", dtype, "--prefix", &prefix])
            .input(line)
            .run()
            .says(
                1,
                &format!("mmidx-write: stdin:1: (x) token {token} at 1 is not in [0, {limit})"),
            );
    }
    assert!(!dir.files().iter().any(|name| name.contains("too-large")));
}

/// Files of the original builder, of every dtype it has.
#[test]
fn every_dtype_of_the_original_builder() {
    let Some(data) = data("mmidx") else { return };
    let Some(python) = python() else { return };
    for name in ["int32", "uint16", "uint8", "zero_items"] {
        let prefix = data.join(name).to_str().unwrap().to_string();
        let theirs = oracle(&python, "mmidx.py", &["single", &prefix]).ok().records();
        let ours = tool("ds-cat").args(&[&prefix]).run().silent().records();
        let ours: Vec<Value> = ours.iter().map(|r| json!({"tokens": r["tokens"]})).collect();
        assert_eq!(ours, theirs[1..], "{name}");
        for part in [".idx", ".bin"] {
            let named = tool("ds-cat").args(&[format!("{prefix}{part}")]).run().silent().records();
            assert_eq!(named.len(), ours.len());
        }
    }
    let float = data.join("float32").display().to_string();
    tool("ds-cat")
        .args(&[&float])
        .run()
        .fails(1, &["float32.idx", "values of float32 are not read as tokens"]);
    let multimodal = data.join("multimodal").display().to_string();
    tool("ds-cat")
        .args(&[&multimodal])
        .run()
        .fails(1, &["multimodal.idx: has the modes of multimodal sequences, which are not read"]);
    // Types that no builder of texts writes.
    let dir = TempDir::new();
    for (code, size, name) in [(2, 1, "int8"), (3, 2, "int16"), (5, 8, "int64"), (6, 8, "float64")]
    {
        dir.write("p.idx", index((code, size), &[3], &[0, 1]));
        dir.write("p.bin", vec![1; 3 * size as usize]);
        let cause = format!("p.idx: values of {name} are not read as tokens");
        tool("ds-cat").args(&[dir.at("p")]).run().fails(1, &[&cause]);
    }
}

#[test]
fn foreign_datasets_are_concatenated() {
    let Some(data) = data("mmidx") else { return };
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let prefix = |name: &str| data.join(name).to_str().unwrap().to_string();
    let read = |prefix: &str| oracle(&python, "mmidx.py", &["single", prefix]).ok().records();
    for name in ["float32", "uint8", "uint16"] {
        let (one, out) = (prefix(name), dir.at(name));
        tool("mmidx-write")
            .args(&["--concat", &one, &one, &one, "--foreign", "--prefix", &out])
            .run()
            .silent();
        let (single, triple) = (read(&one), read(&out));
        let rows = single.len() - 1;
        for copy in 0..3 {
            assert_eq!(single[1..], triple[1 + copy * rows..1 + (copy + 1) * rows], "{name}");
        }
        let documents = single[0]["documents"].as_array().unwrap();
        let shifted = (0..3).flat_map(|copy| {
            documents[1..].iter().map(move |n| json!(n.as_u64().unwrap() + (copy * rows) as u64))
        });
        let expected: Vec<Value> = [json!(0)].into_iter().chain(shifted).collect();
        assert_eq!(triple[0]["documents"], json!(expected), "{name}");
        assert_eq!(
            fs::read(format!("{out}.bin")).unwrap(),
            fs::read(format!("{one}.bin")).unwrap().repeat(3)
        );
    }
    let fails = |arguments: &[&str], code: i32, parts: &[&str]| {
        tool("mmidx-write")
            .args(arguments)
            .args(&["--prefix", &dir.at("out")])
            .run()
            .fails(code, parts);
        assert!(!dir.files().iter().any(|name| name.starts_with("out")), "{:?}", dir.files());
    };
    let (int32, uint16) = (prefix("int32"), prefix("uint16"));
    fails(&["--concat", &int32, &uint16, "--foreign"], 1, &["uint16.idx: is uint16, ", "int32"]);
    fails(&["--concat", &int32, &int32], 2, &["no part manifest", "try: --foreign"]);
    fails(&["--concat", &prefix("multimodal"), "--foreign"], 1, &["multimodal modes"]);
    fails(&["--concat", &dir.at("nothing"), "--foreign"], 2, &["nothing"]);
}

/// Two parts of one dataset, as slices 0/2 and 1/2 of one file.
fn two_slices(dir: &TempDir) -> [String; 2] {
    dir.write("in.ndjson", conversations(9));
    ["0", "1"].map(|slice| {
        let prefix = dir.at(&format!("part{slice}"));
        bash(&format!(
            "set -eo pipefail; export GRISTMILL_TO=arrow; harmony-tok {} --slice {slice}/2 | span-mask \
             | mmidx-write --prefix {prefix}",
            dir.at("in.ndjson")
        ))
        .silent();
        prefix
    })
}

#[test]
fn what_does_not_belong_together_is_not_concatenated() {
    let dir = TempDir::new();
    let [first, second] = two_slices(&dir);
    let concat = |arguments: &[&str]| {
        tool("mmidx-write")
            .args(&["--concat"])
            .args(arguments)
            .args(&["--prefix", &dir.at("out")])
            .run()
    };
    let nothing = || {
        assert!(!dir.files().iter().any(|name| name.starts_with("out")), "{:?}", dir.files());
        assert_no_temporaries(dir.path());
    };
    concat(&[&first, &second]).silent();
    let whole = dir.json("out.part.json");
    assert_eq!(
        (&whole["records"]["written"], &whole["source"]["limits"]["slice"]),
        (&json!(9), &Value::Null)
    );
    concat(&[&first, &second]).fails(2, &["exists already", "try: --overwrite"]);
    for name in dir.files().iter().filter(|name| name.starts_with("out")) {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    concat(&[&second, &first]).fails(1, &["slice"]);
    concat(&[&first]).fails(1, &["slice"]);
    concat(&[&first, &first]).fails(1, &["slice"]);
    concat(&[&first, &second, &second]).fails(1, &["slice"]);
    nothing();

    // A part of its own kind.
    write(&dir, "short", &tokens_line("a", &[1]), &["--tokens-only", "--dtype", "uint16"]);
    concat(&[&first, &dir.at("short")]).fails(1, &["short.part.json: its config is not that of"]);
    write(&dir, "long", &tokens_line("a", &[1]), &["--tokens-only", "--dtype", "int32"]);
    concat(&[&dir.at("short"), &dir.at("long")])
        .fails(1, &["long.part.json: its dtype is not that of"]);
    nothing();

    // A part that is unfinished, or does not match its manifest.
    let manifest = dir.read("part1.part.json");
    fs::remove_file(dir.at("part1.part.json")).unwrap();
    concat(&[&first, &second]).fails(2, &["part1: no part manifest"]);
    dir.write("part1.part.json", "{}");
    concat(&[&first, &second]).fails(1, &["part1.part.json: no part manifest"]);
    dir.write("part1.part.json", &manifest);
    for member in ["tokens", "lossmask", "span"] {
        let name = format!("part1_{member}.bin");
        let good = dir.read(&name);
        let mut bad = good.clone();
        bad[0] ^= 1;
        dir.write(&name, &bad);
        concat(&[&first, &second]).fails(1, &["part1", member, "sha256"]);
        dir.write(&name, &good[1..]);
        concat(&[&first, &second]).fails(1, &["part1", member]);
        dir.write(&name, &good);
    }
    nothing();

    // The three of a triple must be aligned: give the masks other boundaries, of the same sum.
    let good = dir.read("part1_span.idx");
    let mut bad = good.clone();
    let length = |at: usize| i32::from_le_bytes(good[at..at + 4].try_into().unwrap());
    bad[34..38].copy_from_slice(&(length(34) + 1).to_le_bytes());
    bad[38..42].copy_from_slice(&(length(38) - 1).to_le_bytes());
    dir.write("part1_span.idx", &bad);
    concat(&[&first, &second]).fails(1, &["part1_span.idx: sequence 0 has "]);
    tool("ds-cat").args(&[&second]).run().fails(1, &["part1_span.idx: sequence 0 has "]);
    dir.write("part1_span.idx", &good[..good.len() - 8]);
    concat(&[&first, &second]).fails(1, &["part1_span.idx: has "]);
    dir.write("part1_span.idx", &good);
    nothing();

    // The output must not be one of the inputs, under any name.
    let beside = dir.path().join("./part0").display().to_string();
    let before = dir.read("part0_tokens.bin");
    for out in [&first, &beside] {
        tool("mmidx-write")
            .args(&["--concat", &first, &second, "--prefix", out, "--overwrite"])
            .run()
            .fails(2, &["is an input of this run"]);
    }
    assert_eq!(dir.read("part0_tokens.bin"), before);
    concat(&[&first, &second]).silent();
}

#[test]
fn a_round_trip_is_the_identity() {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(12));
    for to in ["ndjson", "arrow"] {
        bash(&format!(
            "set -eo pipefail; export GRISTMILL_TO={to}; cd {}; mkdir -p {to}/1 {to}/2; \
             harmony-tok in.ndjson | span-mask | mmidx-write --prefix {to}/1/p; \
             ds-cat {to}/1/p | mmidx-write --prefix {to}/2/p; \
             ds-cat {to}/2/p > {to}/again; ds-cat {to}/1/p > {to}/once",
            dir.path().display()
        ))
        .silent();
        assert_same_datasets(&dir.path().join(to).join("2"), &dir.path().join(to).join("1"));
    }
    assert_eq!(dir.read("ndjson/once"), dir.read("ndjson/again"));
    // Segments are derived from the tokens, as they were.
    let told = tool("harmony-tok").args(&[dir.at("in.ndjson")]).run().silent().records();
    let derived = tool("ds-cat").args(&[dir.at("ndjson/1/p")]).run().silent().records();
    assert_eq!(told.len(), 12);
    for (told, derived) in told.iter().zip(&derived) {
        assert_eq!(
            (&told["tokens"], &told["segments"]),
            (&derived["tokens"], &derived["segments"])
        );
    }
}

#[test]
fn nothing_stale_is_left_beside_a_replaced_part() {
    let dir = TempDir::new();
    let root = dir.at("root");
    let write = |fraction: &str, more: &[&str]| {
        let arguments = ["--root", &root, "--shard", "s", "--valid-fraction", fraction];
        unchecked_sink().args(&arguments).args(more).input(masked_lines(5)).run()
    };
    write("0", &[]).silent();
    let train = dir.files();
    assert!(train.iter().any(|name| name.starts_with("root/train/")));
    write("1", &[]).fails(2, &["root/train/s_tokens.bin: exists already; try: --overwrite"]);
    assert_eq!(dir.files(), train);
    write("1", &["--overwrite"]).silent();
    let files = dir.files();
    assert!(
        files.iter().all(|name| {
            let others = ["root/parts/s.json", "root/ids/valid/s.parquet"];
            name.starts_with("root/valid/") || others.contains(&name.as_str())
        }),
        "{files:?}"
    );

    // A triple and tokens alone share a manifest name: they cannot be side by side either.
    let prefix = dir.at("p");
    let write = |flags: &[&str], lines: &str| {
        unchecked_sink().args(&["--prefix", &prefix]).args(flags).input(lines).run()
    };
    write(&[], &masked_lines(3)).silent();
    write(&["--tokens-only", "--dtype", "int32"], &masked_lines(3)).fails(2, &["exists already"]);
    write(&["--tokens-only", "--dtype", "int32", "--overwrite"], &masked_lines(3)).silent();
    let mine = |name: &&String| name.starts_with('p');
    assert_eq!(
        dir.files().iter().filter(mine).collect::<Vec<_>>(),
        ["p.bin", "p.idx", "p.part.json", "p_ids.parquet"]
    );

    // A concatenation without rows leaves no files of an earlier one.
    write(&["--overwrite"], &masked_lines(3)).silent();
    let empty = dir.at("empty");
    unchecked_sink().args(&["--prefix", &empty]).input("\n").run().silent();
    tool("mmidx-write")
        .args(&["--concat", &empty, "--prefix", &prefix, "--overwrite"])
        .run()
        .silent();
    assert_eq!(dir.files().iter().filter(mine).collect::<Vec<_>>(), ["p.part.json"]);
    assert_eq!(dir.json("p.part.json")["splits"]["all"]["rows"], 0);
}

/// The malformed datasets whose index alone is wrong: ds-cat refuses them.
#[test]
fn broken_indexes_are_refused() {
    let Some(data) = data("malformed/kd") else { return };
    let read = |name: &str| {
        tool("ds-cat").args(&[data.join(name).join("shard_00").display().to_string()]).run()
    };
    read("ok").silent();
    read("single_sequence").silent();
    for (name, part) in [
        ("idx_truncated", "shard_00"),
        ("idx_version_2", "has version 2; 1 is known"),
        ("idx_dtype_wrong_uint16", "shard_00_tokens.idx"),
        ("len_negative", "shard_00_lossmask.idx: sequence 3 has 835 values, its tokens are -5"),
        ("ptr_past_eof", "shard_00_tokens.idx"),
        ("mask_fewer", "shard_00_lossmask.idx: has "),
        ("mask_int32", "shard_00_lossmask.idx"),
        ("span_missing", "shard_00_span.idx"),
        ("bin_truncated_half", "shard_00"),
    ] {
        let run = read(name);
        let code = if name == "span_missing" { 2 } else { 1 };
        run.fails(code, &[part]);
    }
}
