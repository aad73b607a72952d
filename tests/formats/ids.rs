//! Ids beside the triples: one row a sequence, carried through every filter, found again.

use std::fs;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};

use crate::common::{
    TempDir, bash, bash_with, conversations, data, masked_line, tool, unchecked_sink,
};

/// A root with ids, made from `in.ndjson` of that many conversations.
fn root(count: usize) -> TempDir {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(count));
    build(&dir, "arrow", "root", "");
    dir
}

fn build(dir: &TempDir, to: &str, root: &str, flags: &str) {
    let script = format!(
        "set -eo pipefail; cd {}; harmony-tok in.ndjson | span-mask \
         | mmidx-write --root {root} --shard s --valid-fraction 0.3 {flags}",
        dir.path().display()
    );
    bash_with(&script, &[("GRISTMILL_TO", to)]).silent();
}

fn cat(path: &str, more: &[&str]) -> Vec<Value> {
    tool("ds-cat").args(&[path]).args(more).run().silent().records()
}

/// What a record is, as the ids files say it.
fn identity(record: &Value) -> Value {
    json!([record["id"], record["input"], record["row"]])
}

#[test]
fn each_sequence_has_its_row() {
    let dir = root(40);
    let mut rows: Vec<Value> = Vec::new();
    for split in ["train", "valid"] {
        let ids = cat(&dir.at(&format!("root/ids/{split}/s.parquet")), &[]);
        let sequences = cat(&dir.at(&format!("root/{split}/s")), &[]);
        assert_eq!(ids.len(), sequences.len());
        for (id, sequence) in ids.iter().zip(&sequences) {
            assert_eq!(identity(id), identity(sequence));
            assert_eq!(id["tokens"], sequence["tokens"].as_array().unwrap().len());
        }
        rows.extend(ids.iter().map(identity));
    }
    rows.sort_by_key(|row| row[2].as_u64());
    let expected: Vec<Value> =
        (0..40).map(|row| json!([format!("id-{row}"), "in.ndjson", row])).collect();
    assert_eq!(rows, expected);
    // The part and the root name the files like the others.
    tool("ds-manifest").args(&[dir.at("root")]).run().silent();
    for (manifest, path) in
        [("parts/s.json", "/splits/valid/"), ("manifest.json", "/splits/valid/shards/0/")]
    {
        let manifest = dir.json(&format!("root/{manifest}"));
        let of = |what: &str| manifest.pointer(&format!("{path}{what}/ids")).cloned();
        assert_eq!(of("paths"), Some(json!("ids/valid/s.parquet")));
        let bytes = dir.read("root/ids/valid/s.parquet");
        assert_eq!(of("bytes"), Some(json!(bytes.len())));
        assert_eq!(of("sha256").unwrap().as_str().unwrap().len(), 64);
    }
    tool("ds-check").args(&[dir.at("root")]).run().ok();
}

/// The bytes depend on the records alone, and those of the triples not on the ids.
#[test]
fn the_bytes_are_those_of_the_records() {
    let dir = root(40);
    build(&dir, "ndjson", "text", "");
    build(&dir, "arrow", "none", "--no-ids");
    dir.bash("set -eo pipefail; GRISTMILL_TO=arrow harmony-tok -j 4 in.ndjson --to ndjson | split -l 7 - l.; \
         for f in l.*; do ds-cat $f --to arrow; done | span-mask | mmidx-write --root small --shard s \
         --valid-fraction 0.3")
    .silent();
    for name in ["ids/train/s.parquet", "ids/valid/s.parquet", "valid/s_tokens.bin"] {
        let bytes = dir.read(&format!("root/{name}"));
        for other in ["text", "small"] {
            assert!(bytes == dir.read(&format!("{other}/{name}")), "{other}/{name}");
        }
    }
    assert!(!dir.files().iter().any(|name| name.starts_with("none/ids")));
    for name in dir.files().iter().filter_map(|name| name.strip_prefix("none/")) {
        let same = dir.read(&format!("root/{name}")) == dir.read(&format!("none/{name}"));
        assert!(same || name == "parts/s.json", "{name}");
    }
    let bare = cat(&dir.at("none"), &[]);
    assert!(bare.iter().all(|record| identity(record) == json!([null, null, null])));
    tool("ds-check").args(&[dir.at("none")]).run().ok();
}

#[test]
fn a_record_is_found_by_its_id() {
    let dir = root(40);
    let all = cat(&dir.at("root"), &[]);
    assert_eq!(all.len(), 40);
    for number in [0, 7, 39] {
        let id = format!("id-{number}");
        let expected: Vec<Value> = all.iter().filter(|r| r["id"] == *id).cloned().collect();
        assert_eq!(expected.len(), 1);
        assert_eq!(cat(&dir.at("root"), &["--id", &id]), expected);
    }
    let two = ["--id", "id-3", "--id", "id-30", "--columns", "tokens"];
    assert_eq!(cat(&dir.at("root"), &two).len(), 2);
    // Only the sequences found are read: nothing else needs to be whole.
    let split = ["train", "valid"].map(|split| {
        let ids = cat(&dir.at(&format!("root/ids/{split}/s.parquet")), &["--columns", "id"]);
        ids.iter().position(|row| row["id"] == "id-5").map(|row| (split, row))
    });
    let (split, row) = split.into_iter().flatten().next().unwrap();
    let at = 34 + 4 * ((row + 1) % 3);
    let name = format!("root/{split}/s_span.idx");
    let good = dir.read(&name);
    let mut bad = good.clone();
    bad[at..at + 4].copy_from_slice(&1i32.to_le_bytes());
    dir.write(&name, &bad);
    assert_eq!(cat(&dir.at("root"), &["--id", "id-5"]).len(), 1);
    tool("ds-cat")
        .args(&[dir.at("root")])
        .run()
        .fails(1, &["s_span.idx: sequence ", " its tokens are "]);
    dir.write(&name, &good);

    let missing = |path: &str, ids: &[&str]| {
        let ids = ids.iter().flat_map(|id| ["--id", id]).collect::<Vec<_>>();
        tool("ds-cat").args(&[path]).args(&ids).run()
    };
    let whole = dir.at("root");
    missing(&whole, &["nowhere"]).says(1, "ds-cat: no record has the id \"nowhere\"");
    missing(&whole, &["id-1", "x", "y"]).says(1, "ds-cat: no record has the ids \"x\", \"y\"");
    build(&dir, "arrow", "none", "--no-ids");
    missing(&dir.at("none"), &["id-1"]).fails(2, &["none/train/s: has no ids file"]);
    // Of other inputs the records are filtered; the id may be left out of the columns.
    let lines = dir.at("in.ndjson");
    assert_eq!(cat(&lines, &["--id", "id-9"])[0]["id"], "id-9");
    assert_eq!(cat(&lines, &["--id", "id-9", "--columns", "messages_json"]).len(), 1);
    missing(&lines, &["nowhere"]).says(1, "ds-cat: no record has the id \"nowhere\"");
    let stream = bash(&format!("ds-cat {lines} --to arrow | ds-cat --id id-9 --id id-2")).silent();
    assert_eq!(stream.records().len(), 2);
    let Some(data) = data("synth_harmony") else { return };
    let shard = data.join("synth_harmony_shard_00.parquet").display().to_string();
    let id = cat(&shard, &["--slice", "99/250"])[0]["synth_id"].as_str().unwrap().to_string();
    assert_eq!(cat(&shard, &["--id", &id, "--columns", "language"]), [json!({"language": "en"})]);
}

/// Of several shards, each with a train and a valid split: wherever the record is, it is found.
#[test]
fn a_record_is_found_in_whichever_shard_it_is() {
    let dir = TempDir::new();
    let lines = conversations(42);
    let lines: Vec<&str> = lines.lines().collect();
    for (shard, lines) in ["a", "b", "c"].into_iter().zip(lines.chunks(14)) {
        // Two shards have a record of this id.
        let twice = conversations(1).replace("id-0", "twice");
        let more = if shard == "b" { "" } else { twice.as_str() };
        dir.write("in.ndjson", format!("{}\n{more}", lines.join("\n")));
        let script = format!(
            "set -eo pipefail; cd {}; harmony-tok in.ndjson | span-mask \
             | mmidx-write --root root --shard {shard} --valid-fraction 0.4",
            dir.path().display()
        );
        bash_with(&script, &[("GRISTMILL_TO", "arrow")]).silent();
    }
    for shard in ["a", "b", "c"] {
        for split in ["train", "valid"] {
            assert!(!cat(&dir.at(&format!("root/{split}/{shard}")), &[]).is_empty());
        }
    }
    let root = dir.at("root");
    let all = cat(&root, &[]);
    let of = |id: &str| all.iter().filter(|record| record["id"] == id).cloned().collect::<Vec<_>>();
    let heads = |id: &str| -> usize {
        let shown = tool("ds-view").args(&[&root, "--id", id]).run().ok().text();
        shown.lines().filter(|line| line.starts_with(&format!("{id}  "))).count()
    };
    for number in 0..42 {
        let id = format!("id-{number}");
        assert_eq!(of(&id).len(), 1);
        assert_eq!(cat(&root, &["--id", &id]), of(&id));
        assert_eq!(heads(&id), 1, "{id}");
    }
    // All of an id's records come, and those of several ids in the order of the root.
    assert_eq!(of("twice").len(), 2);
    assert_eq!(cat(&root, &["--id", "twice"]), of("twice"));
    assert_eq!(heads("twice"), 2);
    let asked = ["id-41", "twice", "id-3", "id-20"];
    let flags: Vec<&str> = asked.iter().flat_map(|id| ["--id", id]).collect();
    let expected: Vec<Value> =
        all.iter().filter(|record| asked.iter().any(|id| record["id"] == *id)).cloned().collect();
    assert_eq!(cat(&root, &flags), expected);
    assert_eq!(expected.len(), 5);
    for reader in ["ds-cat", "ds-view", "ds-stat"] {
        let missing = tool(reader).args(&[&root, "--id", "id-7", "--id", "nowhere"]).run();
        missing.says(1, &format!("{reader}: no record has the id \"nowhere\""));
    }
}

#[test]
fn ids_come_back_through_every_filter() {
    let dir = root(30);
    let expected = cat(&dir.at("root"), &[]);
    let mut known: Vec<u64> = expected
        .iter()
        .map(|record| record["id"].as_str().unwrap().strip_prefix("id-").unwrap().parse().unwrap())
        .collect();
    known.sort();
    assert_eq!(known, (0..30).collect::<Vec<u64>>());
    let decoded = tool("harmony-tok").args(&["--decode", &dir.at("root")]).run().silent();
    let ids = |records: &[Value]| records.iter().map(|r| r["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&decoded.records()), ids(&expected));
    for to in ["ndjson", "arrow"] {
        let script = format!(
            "set -eo pipefail; cd {}; span-mask root | ds-cat | mmidx-write --prefix {to}/p",
            dir.path().display()
        );
        bash_with(&script, &[("GRISTMILL_TO", to)]).silent();
        assert_eq!(cat(&dir.at(&format!("{to}/p")), &[]), expected, "{to}");
        assert!(dir.files().contains(&format!("{to}/p_ids.parquet")));
    }
}

/// A prefix in a split of a root has its ids and its manifest, from wherever it is named.
#[test]
fn a_prefix_is_the_same_however_its_path_is_written() {
    let dir = root(40);
    tool("ds-manifest").args(&["-q", &dir.at("root")]).run().silent();
    let expected = cat(&dir.at("root/train/s"), &[]);
    let ways = [
        ("root", ["train", "./train", "train/s", "./train/s"]),
        ("root/train", [".", "../train", "s", "./s"]),
        ("root/valid", ["../train", "../train/.", "../train/s", "./../train/s"]),
    ];
    for (folder, paths) in ways {
        for path in paths {
            let run = |name: &str, more: &[&str]| {
                let folder = dir.path().join(folder);
                tool(name).args(more).args(&[path]).in_directory(&folder).run().silent()
            };
            assert_eq!(run("ds-cat", &[]).records(), expected, "{folder}: {path}");
            run("ds-check", &["-q"]);
            if path.ends_with('s') {
                let prefix = dir.at("joined");
                let joined = run("mmidx-write", &["--overwrite", "--prefix", &prefix, "--concat"]);
                assert_eq!(joined.text(), "");
                assert_eq!(cat(&prefix, &[]), expected, "{folder}: {path}");
            }
        }
    }
    // A root may have the name of a split.
    let named = dir.path().join("train");
    bash(&format!("cp -r {} {}", dir.at("root"), named.display())).silent();
    for name in ["ds-check", "ds-manifest"] {
        tool(name).args(&["-q", "."]).in_directory(&named).run().silent();
    }
    // What is written there is in the root, too, whose manifest does not know it.
    let train = dir.path().join("root/train");
    let concat = ["--concat", "s", "--prefix", "t"];
    tool("mmidx-write").args(&concat).in_directory(&train).run().ok();
    assert!(train.join("t_tokens.bin").exists() && !dir.path().join("root/manifest.json").exists());
}

#[test]
fn slices_and_concatenations_carry_them() {
    let dir = root(30);
    let slices = |flags: &str| {
        format!(
            "set -eo pipefail; cd {}; export GRISTMILL_TO=arrow; for i in 0 1 2; do \
             harmony-tok in.ndjson --slice $i/3 | span-mask \
             | mmidx-write --root part$i --shard s --valid-fraction 0.3 --overwrite {flags}; done",
            dir.path().display()
        )
    };
    let concat = |out: &str, flags: &[&str]| {
        for split in ["train", "valid"] {
            let parts = [0, 1, 2].map(|i| dir.at(&format!("part{i}/{split}/s")));
            tool("mmidx-write")
                .args(&["--concat"])
                .args(&parts)
                .args(&["--prefix", &dir.at(&format!("{out}/{split}/s"))])
                .args(flags)
                .run()
                .silent();
        }
    };
    bash(&slices("")).silent();
    concat("whole", &[]);
    concat("bare", &["--no-ids"]);
    for split in ["train", "valid"] {
        let joined = dir.read(&format!("whole/{split}/s_ids.parquet"));
        assert!(joined == dir.read(&format!("root/ids/{split}/s.parquet")), "{split}");
        assert!(!dir.files().contains(&format!("bare/{split}/s_ids.parquet")));
    }
    assert_eq!(cat(&dir.at("whole"), &[]), cat(&dir.at("root"), &[]));
    tool("ds-manifest").args(&[dir.at("whole")]).run().silent();
    tool("ds-check").args(&[dir.at("whole")]).run().ok();
    // An ids file that is not that of the manifest, or not there, is not concatenated.
    let name = "part1/ids/train/s.parquet";
    let good = dir.read(name);
    dir.write(name, dir.read("part2/ids/train/s.parquet"));
    let parts = [0, 1, 2].map(|i| dir.at(&format!("part{i}/train/s")));
    let again = || {
        let out = dir.at("out/s");
        tool("mmidx-write").args(&["--concat"]).args(&parts).args(&["--prefix", &out]).run()
    };
    again().fails(1, &["part1/ids/train/s.parquet: is not the one of its manifest (sha256)"]);
    fs::remove_file(dir.at(name)).unwrap();
    again().fails(1, &["part1/train/s: its ids file is missing; its manifest names one"]);
    dir.write(name, good);
    // Parts without ids have nulls beside those that have them.
    bash(&slices("--no-ids").replace("0 1 2", "1")).silent();
    again().silent();
    let known = cat(&dir.at("out/s"), &[]).iter().filter(|record| record["id"].is_null()).count();
    assert_eq!(known as u64, dir.json("part1/parts/s.json")["splits"]["train"]["rows"]);
}

/// A replaced part leaves no ids of the old one.
#[test]
fn ids_are_replaced_with_their_sequences() {
    let dir = root(20);
    build(&dir, "arrow", "root", "--overwrite --no-ids");
    assert!(!dir.files().iter().any(|name| name.starts_with("root/ids")), "{:?}", dir.files());
    dir.write("p_ids.parquet", "mine");
    unchecked_sink()
        .args(&["--prefix", &dir.at("p")])
        .input(masked_line("a", &[1, 2, 3]))
        .run()
        .fails(2, &["p_ids.parquet: exists already; try: --overwrite"]);
}

/// More sequences than a row group of the ids file holds.
const MANY: u64 = 140_000;

/// A root of many short sequences, some of whose ids are odd, and one of which comes twice.
fn large_root(id: impl Fn(u64) -> String) -> TempDir {
    let dir = TempDir::new();
    let lines: String =
        (0..MANY).map(|n| masked_line(&id(n), &[1, 2, (n % 1000) as i64])).collect();
    let lines = tool("ds-cat").args(&["--to", "arrow"]).input(lines).run().silent();
    let target = ["--root", &dir.at("root"), "--shard", "s", "--valid-fraction", "0"];
    unchecked_sink().args(&target).input(lines.stdout).run().silent();
    dir
}

/// Where the ids of each row group are in an ids file.
fn id_chunks(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let file = SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).unwrap();
    let chunk = |group: &RowGroupMetaData| {
        let (start, length) = group.column(0).byte_range();
        start as usize..(start + length) as usize
    };
    file.metadata().row_groups().iter().map(chunk).collect()
}

/// Of many ids only those are decoded among which the one asked for may be: the others are damaged
/// here. In the first root the bounds of a row group say so, in the second its Bloom filter.
#[test]
fn other_ids_are_not_decoded() {
    let ordered = |n: u64| format!("id-{n:06}");
    let mixed = |n: u64| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for id in [&ordered as &dyn Fn(u64) -> String, &mixed] {
        let dir = large_root(id);
        let name = "root/ids/train/s.parquet";
        let good = dir.read(name);
        let chunks = id_chunks(&good);
        assert!(chunks.len() > 1);
        let of = |n: u64| tool("ds-cat").args(&[&dir.at("root"), "--id", &id(n)]).run();
        for (damaged, wanted) in [(0, MANY - 1), (chunks.len() - 1, 0)] {
            let expected = of(wanted).silent();
            assert_eq!(expected.records()[0]["tokens"][2], wanted % 1000);
            let mut bytes = good.clone();
            bytes[chunks[damaged].clone()].fill(0xee);
            dir.write(name, bytes);
            assert_eq!(of(wanted).silent().text(), expected.text());
            of(MANY - 1 - wanted).fails(1, &["ids/train/s.parquet"]);
            dir.write(name, &good);
        }
        for length in [good.len() - 1, good.len() / 2, 3] {
            dir.write(name, &good[..length]);
            of(0).fails(1, &["ids/train/s.parquet"]);
        }
    }
}

/// However the ids file was written: the records are those of a filter over all of them.
#[test]
fn odd_ids_are_found_in_every_ids_file() {
    let odd = ["a\"b\\c", "línea\n2", "", "製粉 🌾", "id-7", "id-70", "id-700", " id-7", "ID-7"];
    let id = |n: u64| match n {
        // One in each row group, and one twice.
        5..14 => odd[n as usize - 5].to_string(),
        139_000 => "twice".to_string(),
        20 => "twice".to_string(),
        139_900..139_904 => format!("{}late", odd[n as usize - 139_900]),
        n => format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    };
    let dir = large_root(id);
    let name = "root/ids/train/s.parquet";
    let (good, all) = (dir.read(name), dir.at("all.arrows"));
    tool("ds-cat").args(&[&dir.at("root"), "-o", &all]).run().silent();
    let mut wanted: Vec<String> = odd.iter().map(|id| id.to_string()).collect();
    wanted.extend(["twice", "a\"b\\clate"].map(str::to_string));
    wanted.push(id(131_071));
    wanted.push(id(131_072));
    // As others write them: without bounds, or without filters.
    let rewritten = |properties: WriterPropertiesBuilder| {
        let read = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(good.clone()));
        let batches: Vec<RecordBatch> =
            read.unwrap().build().unwrap().map(Result::unwrap).collect();
        let mut file = Vec::new();
        let properties = Some(properties.build());
        let mut writer = ArrowWriter::try_new(&mut file, batches[0].schema(), properties).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.close().unwrap();
        file
    };
    let plain = WriterProperties::builder;
    let forms = [
        good.clone(),
        rewritten(plain().set_statistics_enabled(EnabledStatistics::None)),
        rewritten(plain().set_statistics_truncate_length(Some(1))),
        rewritten(plain().set_bloom_filter_enabled(true).set_max_row_group_row_count(Some(1000))),
    ];
    // The manifest names the first form.
    std::fs::remove_file(dir.at("root/parts/s.json")).unwrap();
    for (form, bytes) in forms.iter().enumerate() {
        dir.write(name, bytes);
        for id in &wanted {
            let found = |path: &str| cat(path, &["--id", id, "--columns", "id,tokens"]);
            let records = found(&dir.at("root"));
            assert_eq!(records.len(), 1 + usize::from(id == "twice"), "{form} {id}");
            assert_eq!(records, found(&all), "{form} {id}");
        }
        let every: Vec<&str> = wanted.iter().flat_map(|id| ["--id", id]).collect();
        assert_eq!(cat(&dir.at("root"), &every).len(), wanted.len() + 1);
        let missing = tool("ds-cat").args(&[&dir.at("root"), "--id", "id-7000"]).run();
        missing.says(1, "ds-cat: no record has the id \"id-7000\"");
    }
}
