//! Small inputs that claim to be large, or are: memory stays bounded, and what cannot be read is one
//! line and an exit code.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, ListArray, NullArray, RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use serde_json::json;

use crate::common::{
    TempDir, Tool, bash, bash_with, conversations, installed, message_boundaries, oracle,
    peak_to_end, tool,
};

/// Runs a filter whose output is not looked at; gives its peak memory in MiB, its exit code and its
/// messages.
fn run(filter: Tool) -> (u64, Option<i32>, String) {
    let mut child = filter.spawn();
    drop(child.stdin.take());
    let mut out = child.stdout.take().unwrap();
    let drained = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    let peak = peak_to_end(&mut child) / 1024;
    drained.join().unwrap().unwrap();
    let code = child.wait().unwrap().code();
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    (peak, code, stderr)
}

/// It fails with this code and one line, in little memory.
#[track_caller]
fn refuses(filter: Tool, code: i32, part: &str, most: u64) {
    let (peak, came, stderr) = run(filter);
    assert_eq!((came, stderr.lines().count()), (Some(code), 1), "{stderr}");
    assert!(stderr.contains(part), "{part:?} is not in {stderr}");
    assert!(peak <= most, "{peak} MiB: {stderr}");
}

/// It reads all of it in little memory.
#[track_caller]
fn reads(filter: Tool, most: u64) {
    let (peak, code, stderr) = run(filter);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(peak <= most, "{peak} MiB");
}

fn stream(columns: Vec<(&str, ArrayRef)>, compression: Option<CompressionType>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Where a little-endian number stands in the second message of a stream, once or more.
fn replace_in_batch(stream: &mut [u8], number: i64, by: i64) {
    let second = message_boundaries(stream)[1];
    let mut places = 0;
    for at in second..stream.len() - 8 {
        if stream[at..at + 8] == number.to_le_bytes() {
            stream[at..at + 8].copy_from_slice(&by.to_le_bytes());
            places += 1;
        }
    }
    assert!(places > 0);
}

#[test]
fn parquet_files_that_are_larger_in_memory() {
    let Some(python) = crate::common::python() else { return };
    let dir = TempDir::new();
    oracle(&python, "bounds.py", &[&dir.at("")]).ok();
    for name in ["same.parquet", "mixed.parquet"] {
        let file = dir.at(name);
        assert!(std::fs::metadata(&file).unwrap().len() < 100_000);
        reads(tool("ds-cat").args(&[&file]), 96);
        reads(tool("ds-cat").args(&[&file, "--to", "arrow"]), 96);
        refuses(
            tool("ds-cat").args(&[&file, "--max-record-bytes", "200000"]),
            1,
            if name == "same.parquet" { "record 1: a record" } else { "record 20001: a record" },
            96,
        );
    }
}

#[test]
fn arrow_batches_of_rows_without_bytes() {
    const ROWS: usize = 1234567;
    let nulls: ArrayRef = Arc::new(NullArray::new(ROWS));
    let good = stream(vec![("id", nulls.clone()), ("messages_json", nulls)], None);
    let dir = TempDir::new();
    for rows in [1i64 << 60, 100_000_000, i64::MAX, ROWS as i64] {
        let mut bad = good.clone();
        replace_in_batch(&mut bad, ROWS as i64, rows);
        let file = dir.write("bad.arrows", bad);
        for filter in ["ds-cat", "harmony-tok"] {
            let cause = format!("a batch of {rows} rows in 0 bytes");
            refuses(tool(filter).args(&[&file]), 1, &cause, 64);
        }
    }
    // As many as a program may have good reasons for.
    let nulls: ArrayRef = Arc::new(NullArray::new(1 << 20));
    let file =
        dir.write("nulls", stream(vec![("id", nulls.clone()), ("messages_json", nulls)], None));
    reads(tool("ds-cat").args(&[&file]), 96);
    let skip = tool("harmony-tok").args(&[&file, "--on-error", "skip", "-q"]);
    assert!(run(skip).0 <= 128);
}

/// A text of 1 MB that 200 rows refer to.
#[test]
fn arrow_dictionaries_are_not_written_out_at_once() {
    let text = format!(
        "{{\"messages\": [{{\"role\":\"user\",\"content\":\"{}\"}}]}}",
        "x".repeat(1 << 20)
    );
    let values: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let keys = Int32Array::from(vec![0; 200]);
    let texts: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).unwrap());
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["a"; 200]));
    let file = stream(vec![("id", ids), ("messages_json", texts)], None);
    let dir = TempDir::new();
    let file = dir.write("dictionary.arrows", file);
    reads(tool("ds-cat").args(&[&file]), 96);
}

/// 50 million tokens of one kind without segments: each record is rejected.
#[test]
fn compressed_arrow_bodies_are_bounded() {
    let list = |rows: usize, length: usize| -> ArrayRef {
        let item = Arc::new(Field::new("item", DataType::Int32, false));
        let tokens: ArrayRef = Arc::new(Int32Array::from(vec![7; rows * length]));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths(vec![length; rows]);
        Arc::new(ListArray::new(item, offsets, tokens, None))
    };
    let zstd = Some(CompressionType::ZSTD);
    let dir = TempDir::new();
    let file = dir.write("tokens.arrows", stream(vec![("tokens", list(5, 4_000_000))], zstd));
    assert!(std::fs::metadata(&file).unwrap().len() < 50_000);
    // 80 MB of tokens; the JSON of the first record alone would take 128 MB.
    refuses(tool("span-mask").args(&[&file]), 1, "has no segments", 160);
    let skip = tool("span-mask").args(&[&file, "--on-error", "skip", "-q"]);
    assert!(run(skip).0 <= 240);
    refuses(
        tool("span-mask").args(&[&file, "--max-record-bytes", "1000000"]),
        1,
        "record 1: a record of more than 1000000 bytes; try: --max-record-bytes",
        160,
    );
    // What claims to be more than 1 GiB is not unpacked.
    let mut claimed = std::fs::read(&file).unwrap();
    let before = 80_000_000i64;
    replace_in_batch(&mut claimed, before, before * 15);
    let claimed = dir.write("claimed.arrows", claimed);
    refuses(tool("span-mask").args(&[&claimed]), 1, "broken Arrow stream: a compressed b", 64);
}

#[test]
fn lines_are_bounded() {
    let dir = TempDir::new();
    // 600 MB of one line in half a megabyte.
    let long = dir.path().join("long.gz");
    let gzip = std::process::Command::new("gzip")
        .stdin(Stdio::piped())
        .stdout(std::fs::File::create(&long).unwrap())
        .spawn();
    let mut gzip = gzip.unwrap();
    let mut stdin = gzip.stdin.take().unwrap();
    stdin.write_all(b"{\"id\":\"a\",\"messages\":[]}\n{\"id\":\"").unwrap();
    let piece = vec![b'x'; 1 << 20];
    (0..300).for_each(|_| stdin.write_all(&piece).unwrap());
    drop(stdin);
    assert!(gzip.wait().unwrap().success());
    let long = long.to_str().unwrap();
    for limit in ["1000", "1000000", "50000000"] {
        let bounded = tool("ds-cat").args(&[long, "--max-record-bytes", limit]);
        let cause =
            format!("long.gz:2: a record of more than {limit} bytes; try: --max-record-bytes");
        refuses(bounded, 1, &cause, 160);
    }
    // The first line may be the long one.
    let file = dir.write("first.ndjson", format!("{{\"id\":\"{}\"}}\n", "x".repeat(2000)));
    let bounded = tool("ds-cat").args(&[&file, "--max-record-bytes", "1000"]);
    bounded.run().fails(1, &["first.ndjson:1: a record of more than 1000 bytes"]);
    let bounded = tool("ds-cat").args(&[&file, "--max-record-bytes", "3000"]);
    bounded.run().fails(1, &["no record of a known type"]);
}

/// One line that is longer than allowed is in memory once; and one that is allowed twice, as a line
/// and as the record made of it, or as the record and the line written of it.
#[test]
fn long_lines_are_not_copied() {
    const MIB: u64 = 1 << 20;
    let dir = TempDir::new();
    let long = |name: &str, (before, after): (&str, &str), most: u64| {
        let mut line = before.as_bytes().to_vec();
        line.resize(before.len() + (most * MIB) as usize - 300, b'x');
        line.extend_from_slice(after.as_bytes());
        line.push(b'\n');
        dir.write(name, line)
    };
    let limit = |most: u64| (most * MIB).to_string();
    let most = 160;
    let allowed = most * 22 / 10 + 64;
    let messages = r#""messages":[{"role":"user","content":"a"},{"role":"assistant","channel":"final","content":"b"}]}"#;
    let conversation = long("c", (r#"{"id":""#, &format!("\",{messages}")), most);
    let content = r#"{"id":"a","messages":[{"role":"user","content":"#;
    let answer = r#""},{"role":"assistant","channel":"final","content":"b"}]}"#;
    let content = long("m", (&format!("{content}\""), answer), most);
    let tokens = long("t", (r#"{"id":""#, r#"","tokens":[1,2],"segments":null}"#), most);
    for (name, file, arguments) in [
        ("ds-cat", &conversation, &[][..]),
        ("ds-cat", &conversation, &["--to", "arrow"]),
        ("ds-cat", &content, &[]),
        ("ds-cat", &tokens, &[]),
        ("ds-stat", &conversation, &[]),
        ("ds-stat", &content, &[]),
        ("harmony-tok", &conversation, &[]),
    ] {
        let limit = limit(most);
        let filter = tool(name).args(&[file, "--max-record-bytes", &limit]).args(arguments);
        let (peak, code, stderr) = run(filter);
        assert!(matches!(code, Some(0 | 1)) && peak <= allowed, "{name}: {peak} MiB; {stderr}");
    }
    // A view shows parts of it, and how it is written.
    let (peak, code, stderr) = run(tool("ds-view").args(&[&tokens]));
    assert!(code == Some(0) && peak <= most * 44 / 10 + 64, "ds-view: {peak} MiB; {stderr}");
    // Of longer ones in little gzip or zstd the limit is in memory, whatever filter reads them.
    let most = 128;
    let allowed = most * 11 / 10 + 64;
    for program in ["gzip -1", "zstd -q"] {
        let packed = dir.at("packed");
        let script =
            format!("(printf '{{\"id\":\"'; head -c 536870912 /dev/zero) | {program} >'{packed}'");
        bash(&script).ok();
        for name in [
            "ds-cat",
            "harmony-tok",
            "span-mask",
            "mmidx-write",
            "npy-pack",
            "seq-pack",
            "ds-stat",
            "ds-view",
            "synth-harmony",
        ] {
            let (out, rows) = (dir.at("out"), dir.at("out.parquet"));
            let arguments = match name {
                "mmidx-write" => vec!["--prefix", &out],
                "npy-pack" => vec!["-o", &out],
                "seq-pack" => vec!["-o", &rows],
                _ => vec![],
            };
            let filter = tool(name).args(&[&packed, "--max-record-bytes", &limit(most)]);
            let (peak, code, stderr) = run(filter.args(&arguments));
            assert!(code == Some(1) && peak <= allowed, "{name}: {peak} MiB; {stderr}");
            let cause = format!("a record of more than {} bytes", limit(most));
            assert!(stderr.contains(&cause), "{name}: {stderr}");
        }
    }
}

/// Ten times the columns take about ten times the work, not a hundred times.
#[test]
fn many_columns_take_linear_time() {
    let Some(python) = crate::common::python() else { return };
    let dir = TempDir::new();
    oracle(&python, "columns.py", &[&dir.at(""), "3000", "30000"]).ok();
    // Seconds of processor, so that it matters little what else runs.
    let seconds = |command: &str| -> f64 {
        let script = format!("TIMEFORMAT='%U %S'; time {{ {command} >/dev/null; }}");
        let times = bash(&script).ok().stderr;
        times.split_whitespace().map(|time| time.parse::<f64>().unwrap()).sum()
    };
    for ending in ["parquet", "arrows"] {
        for filter in ["ds-cat", "ds-cat --to parquet", "ds-stat", "ds-view", "ds-check", "ds-diff"]
        {
            let of = |columns: &str| {
                let file = dir.at(&format!("{columns}.{ending}"));
                let second = if filter == "ds-diff" { format!("'{file}'") } else { String::new() };
                seconds(&format!("{{ {filter} '{file}' {second} || true; }} 2>/dev/null"))
            };
            // The least of up to three times each: what else runs only ever adds to one.
            let (mut few, mut many) = (of("3000"), of("30000"));
            for _ in 0..2 {
                if many / few.max(0.02) < 25.0 {
                    break;
                }
                (few, many) = (few.min(of("3000")), many.min(of("30000")));
            }
            let ratio = many / few.max(0.02);
            assert!(ratio < 25.0, "{filter}, {ending}: {few} s and {many} s, {ratio} times");
        }
    }
}

/// The manifest of a root takes time in proportion to its parts.
#[test]
fn many_parts_take_linear_time() {
    let dir = TempDir::new();
    for count in [2_000, 20_000] {
        let make = |number: usize| {
            let part = json!({
                "schema_version": "gristmill_part_v1", "name": format!("s{number}"),
                "git_sha": null, "dtype": "int32",
                "config": {"assistant_channels": null, "eod_token_id": 199_999, "hash": "blake2b-8",
                    "loss_mask_alignment": "labels_shifted_with_pad", "roles_preserved": null,
                    "valid_fraction": 0.1},
                "config_hash": null,
                "source": {"inputs": [{"name": format!("{number}.parquet"), "rows": 0}],
                    "manifest": null, "policy": null, "limits": {}, "tokenizer": null, "spans": null},
                "records": {"read": 0, "written": 0, "rejected": 0}, "splits": {},
                "provenance": [{"name": "mmidx-write", "number": number}],
                "run": {"created_unix_s": 0, "host": "", "seconds": 0.0},
            });
            dir.write(&format!("{count}/parts/s{number}.json"), part.to_string());
        };
        (0..count).for_each(make);
    }
    for command in ["ds-manifest -q", "ds-check -q"] {
        let seconds = |count: usize| {
            let times = || {
                let root = dir.at(&count.to_string());
                let script = format!("TIMEFORMAT='%U'; time {command} {root} 2>/dev/null");
                bash(&script).ok().stderr.trim().parse::<f64>().unwrap()
            };
            (0..3).map(|_| times()).fold(f64::MAX, f64::min)
        };
        let (few, many) = (seconds(2_000), seconds(20_000));
        assert!(many / few.max(0.02) < 25.0, "{command}: {few} s and {many} s");
    }
}

/// Lines are counted over any number of blank ones.
#[test]
fn blank_lines_are_counted() {
    let dir = TempDir::new();
    let record = "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
    for blank in ["\n", "\r\n", " \t\n"] {
        let blanks = blank.repeat(3_000_001);
        let file = dir.write("blank", format!("{blanks}{record}{blanks} {record}no\n"));
        let cause = "blank:6000005: null where";
        tool("ds-cat").args(&[&file]).run().fails(1, &[cause]);
        let good = dir.write("good", format!("{blanks}{record}{blanks} {record}{blanks}"));
        assert_eq!(tool("ds-cat").args(&[&good]).run().silent().records().len(), 2);
        tool("ds-cat").args(&[&file, "--max-record-bytes", "90"]).run().fails(1, &[cause]);
    }
    let file = dir.write("blank", format!("\n{}\n{record}", " ".repeat(200)));
    let cause = "blank:2: a record of more than 100 bytes";
    tool("ds-cat").args(&[&file, "--max-record-bytes", "100"]).run().fails(1, &[cause]);
}

/// A line of 100 MB of many small values, which is rejected.
#[test]
fn rejected_lines_stay_text() {
    let dir = TempDir::new();
    let values = "1,".repeat(50_000_000);
    let file = dir.write("big", format!("{{\"tokens\":\"no list\",\"x\":[{values}1]}}\n"));
    refuses(tool("span-mask").args(&[&file]), 1, "tokens: a string where a list should be", 360);
    let rejects = dir.at("rejects");
    let skip = tool("span-mask").args(&[&file, "--on-error", "skip", "-q", "--rejects", &rejects]);
    let (peak, code, stderr) = run(skip);
    assert!(code == Some(0) && peak <= 480, "{peak} MiB {stderr}");
    let kept = dir.text("rejects");
    assert!(kept.ends_with("1,1]}}\n"), "{}", &kept[kept.len() - 40..]);
}

/// What NDJSON refuses, Arrow and Parquet refuse: the record, for the same reason.
#[test]
fn all_encodings_refuse_the_same() {
    let Some(python) = crate::common::python() else { return };
    let dir = TempDir::new();
    oracle(&python, "refused.py", &[&dir.at("")]).ok();
    let mut cases = 0;
    for line in dir.text("cases").lines() {
        let (name, reason) = line.split_once(' ').unwrap();
        for ending in ["ndjson", "arrows"] {
            let file = dir.at(&format!("{name}.{ending}"));
            let run = |arguments: &[&str]| {
                let flags = [file.as_str(), "-o", &dir.at("pack")];
                tool("npy-pack").args(&flags).args(arguments).run()
            };
            let place = if ending == "ndjson" { ":2:" } else { ": record 2:" };
            run(&[]).fails(1, &[&format!("{file}{place} {reason}")]);
            assert!(!dir.path().join("pack").exists(), "{name}");
            let rejects = dir.at("rejects");
            run(&["--on-error", "skip", "--rejects", &rejects, "-q"]).ok();
            let kept = dir.json("rejects");
            assert!(kept["reason"].as_str().unwrap().starts_with(reason), "{kept}");
            assert!(!kept["input"].is_null(), "{kept}");
            // The records before and after it are there.
            let count = tool("ds-cat").args(&[&dir.at("pack"), "--count"]).run().ok().text();
            assert_eq!(count, "2\n", "{name}.{ending}");
            std::fs::remove_dir_all(dir.at("pack")).unwrap();
        }
        cases += 1;
    }
    assert!(cases > 8);
}

/// No file outside a dataset is followed. (What its members may be: tests/formats/members.rs.)
#[test]
fn a_manifest_names_files_of_its_own() {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(20));
    let script = format!(
        "set -e; cd {}; cat in.ndjson | harmony-tok | span-mask | \
         mmidx-write --root root --shard shard_00 --valid-fraction 0.5; ds-manifest root -q",
        dir.path().display()
    );
    bash_with(&script, &[("GRISTMILL_TO", "arrow")]).ok();
    let root = dir.path().join("root");
    tool("ds-check").args(&[root.to_str().unwrap()]).run().ok();
    let manifest = dir.text("root/parts/shard_00.json");
    for elsewhere in ["/dev/zero", "../../../../../../../../dev/zero"] {
        dir.write(
            "root/parts/shard_00.json",
            manifest.replacen("train/shard_00_tokens.bin", elsewhere, 1),
        );
        let run = bash(&format!("timeout 60 ds-check '{}'", root.display()));
        // Not that it is no regular file: nobody has looked.
        let is_not_there = run.text().contains("dev/zero: is not there");
        assert!(run.code() == Some(1) && is_not_there, "{run:?}");
    }
}

/// Threads that cannot be started, and far more than there is work for.
#[test]
fn any_number_of_threads_works() {
    let dir = TempDir::new();
    let file = dir.write("in.ndjson", conversations(50));
    let expected = tool("harmony-tok").args(&[&file]).run().silent().text();
    let many = tool("harmony-tok").args(&[&file, "-j", "40000"]).run().silent();
    assert_eq!(many.text(), expected);
}

/// A window of 128 MiB, as `zstd --long=27` has it, where less memory is to be had: the data are not at fault. (Pages of
/// Parquet and Arrow are decoded into their own buffers: zstd takes too little there for a limit to meet it.)
#[test]
fn zstd_without_memory_may_be_tried_again() {
    if !installed("zstd") {
        return;
    }
    let dir = TempDir::new();
    dir.write("c.ndjson", conversations(20));
    dir.bash(
        "set -eo pipefail; harmony-tok -q c.ndjson | span-mask > t.ndjson
         for i in c t; do zstd -q --long=27 < $i.ndjson > $i.zst; done",
    )
    .ok();
    for command in [
        "ds-cat c.zst",
        "ds-check c.zst",
        "ds-stat c.zst",
        "ds-view -q c.zst --html page.html",
        "harmony-tok c.zst",
        "mmidx-write t.zst --prefix p",
        "seq-pack t.zst -o rows.parquet",
    ] {
        let file = command.split(' ').find(|word| word.ends_with(".zst")).unwrap();
        let cause = format!("{file}: Allocation error : not enough memory");
        let run = dir.bash(&format!("ulimit -v 150000; {command}"));
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        run.fails(75, &[&cause]);
    }
    assert_eq!(dir.files(), ["c.ndjson", "c.zst", "t.ndjson", "t.zst"]);
}
