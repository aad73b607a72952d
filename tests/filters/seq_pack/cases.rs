//! The rows of TRL's and Megatron-Bridge's own code (data/packing).

use std::fs;

use serde_json::Value;

use super::{clean, seq_pack, triple};
use crate::common::{TempDir, data, oracle, python};

/// Rows of Megatron-Bridge whose pieces are padded, and its metadata, by its rules.
#[test]
fn padded_rows_are_those_of_megatron_bridge() {
    let (Some(data), Some(python)) = (data("packing"), python()) else { return };
    let dir = TempDir::new();
    for set in ["heavy_4000", "ties_300", "edges", "all_equal_10", "one"] {
        triple(&dir, &python, &data, set);
        for (length, multiple) in [("2048", "16"), ("1000", "48"), ("300", "300"), ("64", "2")] {
            let (prefix, rows, metadata) = (dir.at(set), dir.at("r.idx.parquet"), dir.at("m.json"));
            let arguments = ["--form", "megatron-bridge", "-n", length, "--algorithm", "ffd"];
            let more =
                ["--overflow", "cut", "--keep-eod", "--columns", "span_id", "-q", "--overwrite"];
            let padded = ["--pad-seq-to-mult", multiple, "--metadata", &metadata];
            let files = [prefix.as_str(), "-o", &rows];
            seq_pack(&[&files[..], &arguments, &more, &padded].concat()).silent();
            clean(&rows);
            let arguments = ["bridge-padded", &prefix, &rows, &metadata, length, multiple];
            oracle(&python, "packing.py", &arguments).ok();
            oracle(&python, "packing.py", &["bridge-reader", &rows, length]).ok();
        }
    }
}

fn cases(kind: &str) -> Option<(std::path::PathBuf, Vec<Value>)> {
    let data = data("packing")?;
    let text = fs::read_to_string(data.join(format!("{kind}_cases.ndjson"))).unwrap();
    Some((data, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()))
}

#[test]
fn rows_are_those_of_trl() {
    let (Some((data, cases)), Some(python)) = (cases("trl"), python()) else { return };
    let dir = TempDir::new();
    let mut tried = 0;
    for case in &cases {
        let text = |name: &str| case[name].as_str().unwrap();
        // (Batches of a thousand are packed in windows, see `windows_are_the_batches_of_trl`.)
        if !case["batch"].is_null() {
            continue;
        }
        let (set, length) = (text("set"), case["seq_length"].to_string());
        if !dir.path().join(format!("{set}_tokens.idx")).exists() {
            triple(&dir, &python, &data, set);
        }
        let how: &[&str] = match text("strategy") {
            "bfd" => &["--algorithm", "bfd", "--overflow", "cut"],
            "bfd_split" => &["--overflow", "split"],
            _ => &["--algorithm", "wrapped"],
        };
        let (prefix, rows) = (dir.at(set), dir.at("r.parquet"));
        let arguments = ["--form", "trl", "-n", &length, "--keep-eod", "--overwrite", "-q"];
        seq_pack(&[&[prefix.as_str(), "-o", &rows], &arguments[..], how].concat()).silent();
        clean(&rows);
        // TRL itself fails where there are only empty sequences; here there are no rows.
        if case["error"].is_null() {
            let data = data.to_str().unwrap();
            oracle(&python, "packing.py", &["trl", data, text("name"), &prefix, &rows]).ok();
            tried += 1;
        }
    }
    assert!(tried >= 40, "{tried}");
}

/// `pack_dataset` packs each thousand rows by itself: so do windows of a thousand.
#[test]
fn windows_are_the_batches_of_trl() {
    let (Some((data, cases)), Some(python)) = (cases("trl"), python()) else { return };
    let dir = TempDir::new();
    triple(&dir, &python, &data, "heavy_4000");
    let prefix = dir.at("heavy_4000");
    for case in cases.iter().filter(|case| case["batch"] == 1000 && case["strategy"] != "wrapped") {
        let (length, rows) = (case["seq_length"].to_string(), dir.at("r.parquet"));
        let how = if case["strategy"] == "bfd" { "cut" } else { "split" };
        let script = format!(
            "ds-cat {prefix} --to arrow | seq-pack - -o {rows} --form trl -n {length} --keep-eod \
             --overwrite -q --window 1000 --overflow {how}"
        );
        crate::common::bash(&script).ok();
        clean(&rows);
        let name = case["name"].as_str().unwrap();
        let arguments = ["trl", data.to_str().unwrap(), name, &prefix, &rows];
        oracle(&python, "packing.py", &arguments).ok();
    }
}

#[test]
fn bins_are_those_of_megatron_bridge() {
    let (Some((data, cases)), Some(python)) = (cases("bridge"), python()) else { return };
    let dir = TempDir::new();
    for case in &cases {
        let (set, length) = (case["set"].as_str().unwrap(), case["pack_size"].to_string());
        triple(&dir, &python, &data, set);
        let (prefix, rows, metadata) = (dir.at(set), dir.at("r.idx.parquet"), dir.at("m.json"));
        let is_decreasing = case["algorithm"] == "first_fit_decreasing";
        let algorithm = if is_decreasing { "ffd" } else { "bfd" };
        seq_pack(&[
            &prefix,
            "-o",
            &rows,
            "--form",
            "megatron-bridge",
            "-n",
            &length,
            "--keep-eod",
            "-q",
            "--algorithm",
            algorithm,
            "--overflow",
            "drop",
            "--columns",
            "sequence,span_id",
            "--metadata",
            &metadata,
            "--overwrite",
        ])
        .silent();
        clean(&rows);
        let name = case["name"].as_str().unwrap();
        let data = data.to_str().unwrap();
        let run = oracle(&python, "packing.py", &["bridge", data, name, &prefix, &rows, &metadata]);
        let told = run.ok().records().remove(0);
        let [used, theirs] = ["used", "theirs"].map(|name| told[name].as_f64().unwrap());
        // (Theirs is rounded to six digits.)
        assert!(used >= theirs - 1e-6, "{name}: {told}");
        oracle(&python, "packing.py", &["bridge-reader", &rows, &length]).ok();
    }
}
