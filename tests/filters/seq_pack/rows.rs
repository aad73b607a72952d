//! What is in rows: every token once or counted, labels and spans as the sequences have them, and back.

use serde_json::{Value, json};

use super::{clean, manifest, root, same, seq_pack, sequences, triple};
use crate::common::{TempDir, bash, data, oracle, python, python_code, tool};

const FORMS: [&str; 3] = ["rows", "trl", "megatron-bridge"];

/// Each set in each form with each rule for what is too long.
#[test]
fn pieces_are_those_of_the_sequences() {
    let (Some(data), Some(python)) = (data("packing"), python()) else { return };
    let dir = TempDir::new();
    for set in ["heavy_4000", "ties_300", "edges", "all_equal_10", "one", "empties_only"] {
        triple(&dir, &python, &data, set);
        let prefix = dir.at(set);
        for form in FORMS {
            for overflow in ["split", "cut", "drop"] {
                let is_large = set == "heavy_4000";
                if is_large && (form == "rows" || overflow == "drop") {
                    continue;
                }
                let rows = dir.at("r.parquet");
                seq_pack(&[
                    &prefix,
                    "-o",
                    &rows,
                    "--form",
                    form,
                    "-n",
                    "1024",
                    "--overflow",
                    overflow,
                    "--keep-eod",
                    "--columns",
                    "span_id,sequence",
                    "--overwrite",
                    "-q",
                ])
                .silent();
                clean(&rows);
                let told = manifest(&python, &rows);
                let number = |pointer: &str| told.pointer(pointer).unwrap().as_u64().unwrap();
                let counted = ["/changed/dropped/tokens", "/changed/cut/tokens", "/tokens/in_rows"];
                let counted: u64 = counted.into_iter().map(number).sum();
                assert_eq!(number("/tokens/in_sequences"), counted, "{set} {form} {overflow}");
                if overflow == "split" {
                    let arguments = ["sequences", &prefix, &rows, form];
                    let seen = oracle(&python, "packing.py", &arguments).ok().records().remove(0);
                    assert_eq!(seen["in_rows"], told["records"]["written"], "{set} {form}");
                    // Where no label stands at a seam of Megatron-Bridge, nothing is lost.
                    if is_large {
                        continue;
                    }
                    if form != "megatron-bridge" || told["labels"]["at_seams"] == 0 {
                        let empty = r#""tokens":[]"#;
                        let mut wanted = sequences(&prefix);
                        wanted.retain(|line| !line.contains(empty));
                        assert_eq!(sequences(&rows).len(), wanted.len());
                        let lists = |lines: Vec<String>| {
                            let of = |line: String| {
                                let record: Value = serde_json::from_str(&line).unwrap();
                                json!([record["tokens"], record["loss_mask"], record["span_id"]])
                            };
                            let mut lists: Vec<String> =
                                lines.into_iter().map(|line| of(line).to_string()).collect();
                            lists.sort();
                            lists
                        };
                        assert!(lists(sequences(&rows)) == lists(wanted), "{set} {form}");
                    }
                }
            }
        }
    }
}

/// A root through every form, with ids and without, and back: the same records, byte for byte.
#[test]
fn rows_are_read_back_as_the_same_records() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    root(&dir, 400);
    let (train, wanted) = (dir.at("root/train"), sequences(&dir.at("root/train")));
    let without_ids = |lines: &[String]| -> Vec<String> {
        let mut lines: Vec<String> = lines
            .iter()
            .map(|line| {
                let mut record: Value = serde_json::from_str(line).unwrap();
                record["id"] = json!(null);
                record.to_string()
            })
            .collect();
        lines.sort();
        lines
    };
    for form in FORMS {
        let n: &[&str] = if form == "rows" { &[] } else { &["-n", "512"] };
        for overflow in ["error", "split"] {
            let rows = dir.at("r.parquet");
            let length = if overflow == "split" { &["-n", "100"][..] } else { n };
            // Unpacked rows of at most N tokens may be parts of sequences, too.
            let with_ids = ["--columns", "id,span_id"];
            for columns in [&[][..], &with_ids] {
                let flags = [&train, "-o", &rows, "--form", form, "--overflow", overflow];
                let own = [&flags[..], length, columns, &["--overwrite", "-q"]].concat();
                seq_pack(&own).silent();
                clean(&rows);
                // Megatron-Bridge's mask has no place for a label on the other side of a seam.
                if form == "megatron-bridge" && overflow == "split" {
                    assert!(manifest(&python, &rows)["labels"]["at_seams"].as_u64() > Some(0));
                    continue;
                }
                let back = sequences(&rows);
                match columns.is_empty() {
                    true => assert!(back == without_ids(&wanted), "{form} {overflow}"),
                    false => assert!(back == wanted, "{form} {overflow}"),
                }
                // Some of them, as of any dataset.
                let some = tool("ds-cat").args(&[&rows, "--nth", "3-5"]).run().silent().records();
                let all = tool("ds-cat").args(&[&rows]).run().silent().records();
                assert_eq!(some, all[3..6]);
                let slice =
                    tool("ds-cat").args(&[&rows, "--slice", "1/3"]).run().silent().records();
                let third = all.len() / 3;
                assert_eq!(slice, all[third..2 * all.len() / 3]);
            }
        }
    }
}

#[test]
fn the_same_bytes_with_any_number_of_threads_and_from_any_side() {
    let dir = TempDir::new();
    root(&dir, 300);
    let train = dir.at("p/a");
    for form in FORMS {
        let n: &[&str] = if form == "rows" { &[] } else { &["-n", "700"] };
        let pack = |name: &str, more: &[&str]| {
            let rows = dir.at(name);
            let flags = [train.as_str(), "-o", &rows, "--form", form, "-q", "--overwrite"];
            seq_pack(&[&flags[..], n, more].concat()).silent();
            rows
        };
        let one = pack("one.parquet", &["-j", "1"]);
        let two = pack("two.parquet", &["-j", "2"]);
        assert!(same(&one, &two), "{form}");
        let both =
            pack("both.parquet", &["--index", &dir.at("i.parquet"), "--compression", "zstd"]);
        clean(&both);
        assert_eq!(sequences(&one), sequences(&both));
        // A slice is a part of the sequences; together the parts have all.
        let mut parts = Vec::new();
        for part in ["0/3", "1/3", "2/3"] {
            let rows = pack("part.parquet", &["--slice", part]);
            clean(&rows);
            parts.extend(sequences(&rows));
        }
        parts.sort();
        assert_eq!(parts, sequences(&one));
        // Through a pipe they are packed in windows, one larger than the set like the set.
        let rows = dir.at("piped.parquet");
        let length = n.join(" ");
        for window in ["10000", "64"] {
            bash(&format!(
                "set -o pipefail; ds-cat {train} --to arrow | seq-pack -o {rows} --form {form} \
                 {length} -q --overwrite --window {window}"
            ))
            .silent();
            clean(&rows);
            assert_eq!(sequences(&one), sequences(&rows), "{form} {window}");
        }
    }
}

/// The index alone says the same rows as a file of rows does.
#[test]
fn an_index_has_the_pieces_of_the_rows() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    root(&dir, 300);
    let (index, rows) = (dir.at("sub/i.parquet"), dir.at("r.parquet"));
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let train = dir.at("root/train");
    for (overflow, n) in [("error", "700"), ("split", "90"), ("cut", "90"), ("drop", "90")] {
        let how = ["-n", n, "--overflow", overflow, "-q", "--overwrite"];
        seq_pack(&[&[train.as_str(), "--index", &index][..], &how].concat()).silent();
        clean(&index);
        let more = ["--form", "trl", "--columns", "sequence"];
        seq_pack(&[&[train.as_str(), "-o", &rows][..], &how, &more].concat()).silent();
        let code = "import sys, pyarrow.parquet as pq\n\
            a = pq.read_table(sys.argv[1]).to_pylist()\n\
            b = [dict(row=n, sequence=s, start=t, length=l)\n\
                 for n, r in enumerate(pq.read_table(sys.argv[2]).to_pylist())\n\
                 for s, t, l in zip(r['sequence'], r['start'], r['seq_lengths'])]\n\
            assert a == b, (a[:3], b[:3])";
        python_code(&python, code, &[&index, &rows]).ok();
    }
    tool("ds-cat").args(&[&index]).run().fails(2, &["i.parquet", "is an index", "s0"]);
}

/// Padded pieces come back as they were, though many end in the token that pads them; in any number of threads,
/// through windows, and as parts of sequences.
#[test]
fn padding_is_taken_off_again() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    root(&dir, 300);
    let (train, rows) = (dir.at("root/train"), dir.at("r.parquet"));
    let bridge = ["--form", "megatron-bridge", "--columns", "id,span_id", "-q", "--overwrite"];
    let pack = |more: &[&str]| {
        seq_pack(&[&[train.as_str(), "-o", &rows][..], &bridge, more].concat()).silent();
        clean(&rows);
        dir.read("r.parquet")
    };
    let wanted = sequences(&train);
    for multiple in ["2", "16", "512"] {
        let padded = ["-n", "600", "--pad-seq-to-mult", multiple];
        let one = pack(&[&padded[..], &["-j", "1"]].concat());
        assert!(sequences(&rows) == wanted, "{multiple}");
        let told = manifest(&python, &rows);
        let number = |pointer: &str| told.pointer(pointer).unwrap().as_u64().unwrap();
        assert_eq!(number("/used") % multiple.parse::<u64>().unwrap(), 0);
        let inputs = number("/tokens/in_rows") - number("/pieces");
        assert_eq!(number("/used"), inputs + number("/padding/tokens"));
        assert!(pack(&[&padded[..], &["-j", "2"]].concat()) == one);
        pack(&[&padded[..], &["--keep-eod"]].concat());
        assert!(sequences(&rows) == wanted, "{multiple}, with ends of documents");
        bash(&format!(
            "set -o pipefail; ds-cat {train} --to arrow | seq-pack -o {rows} {} {} --window 64",
            bridge.join(" "),
            padded.join(" ")
        ))
        .silent();
        clean(&rows);
        assert!(sequences(&rows) == wanted, "{multiple}, in windows");
    }
    pack(&["-n", "100", "--pad-seq-to-mult", "16", "--overflow", "split"]);
    pack(&["-n", "100", "--pad-seq-to-mult", "16", "--overflow", "cut"]);
    // Without a length of rows, and without any padding the rows as they were.
    pack(&["--algorithm", "none", "--pad-seq-to-mult", "8"]);
    assert!(sequences(&rows) == wanted);
    // (But for the command, which the provenance has.)
    pack(&["-n", "600"]);
    let mut plain = manifest(&python, &rows);
    pack(&["-n", "600", "--pad-seq-to-mult", "1"]);
    let mut other = manifest(&python, &rows);
    for made in [&mut plain, &mut other] {
        made["provenance"].take();
    }
    assert_eq!(plain, other);
    assert!(plain.get("padding").is_none());
    // What people see.
    let padded =
        ["--form", "megatron-bridge", "-n", "600", "--pad-seq-to-mult", "16", "--overwrite"];
    let files = [train.as_str(), "-o", &rows, "--progress", "always"];
    let told = seq_pack(&[&files[..], &padded].concat()).ok();
    assert!(told.stderr.contains("; padded to a multiple of 16: "), "{told:?}");
    let stat =
        tool("ds-stat").args(&[&rows, "--format", "json"]).run().silent().records().remove(0);
    let told = manifest(&python, &rows);
    assert_eq!(stat["packed"]["padding"], told["padding"]["tokens"]);
    assert!(tool("ds-stat").args(&[&rows]).run().silent().text().contains("of them padding"));
    let view = tool("ds-view").args(&[&rows, "--limit", "3"]).run().silent().text();
    assert!(view.contains("row 0, piece 2 of "), "{view}");
    let same = tool("ds-diff").args(&[&rows, &rows]).run();
    assert_eq!(same.code(), Some(0), "{same:?}");
}

/// Whole rows are padded at their end: the rows are those without the padding, in every form; they are read without
/// it, by our readers and as rows of another tool.
#[test]
fn rows_are_padded_to_a_multiple() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    root(&dir, 300);
    let (train, plain, rows, other) =
        (dir.at("root/train"), dir.at("p.parquet"), dir.at("r.parquet"), dir.at("o.parquet"));
    let pack = |out: &str, form: &[&str], more: &[&str]| {
        let files = [train.as_str(), "-o", out, "--overwrite", "-q", "--form"];
        seq_pack(&[&files[..], form, more].concat()).silent();
    };
    let forms: [&[&str]; 6] = [
        &["rows", "--columns", "span_id"],
        &["trl", "-n", "384", "--overflow", "split"],
        &["trl", "-n", "768", "--columns", "span_id", "--keep-eod"],
        &["trl", "-n", "384", "--algorithm", "wrapped"],
        &["megatron-bridge", "-n", "768", "--columns", "span_id"],
        &["megatron-bridge", "-n", "768", "--pad-seq-to-mult", "8"],
    ];
    for (form, multiple) in forms.iter().flat_map(|form| [(form, "16"), (form, "96")]) {
        pack(&rows, form, &["--row-multiple", multiple, "-j", "1"]);
        let one = dir.read("r.parquet");
        clean(&rows);
        pack(&plain, form, &[]);
        assert!(sequences(&rows) == sequences(&plain), "{form:?} {multiple}");
        pack(&rows, form, &["--row-multiple", multiple, "-j", "3"]);
        assert!(dir.read("r.parquet") == one, "{form:?} {multiple}");
        let told = manifest(&python, &rows);
        assert_eq!(told["padding"]["row_multiple"].to_string(), multiple, "{told}");
        if form.contains(&"--pad-seq-to-mult") {
            continue;
        }
        let arguments = ["row-multiple", &plain, &rows, form[0], multiple];
        let padded = oracle(&python, "packing.py", &arguments).ok().text();
        assert_eq!(told["padding"]["tokens"].to_string(), padded.trim(), "{form:?}");
        assert!(padded.trim() != "0", "{form:?} {multiple}");
        // As rows of another tool.
        if form[0] != "megatron-bridge" {
            let sequences = [&plain, &rows].map(|path| {
                oracle(&python, "packing.py", &["bare", path, &other]).ok();
                sequences(&other)
            });
            assert!(sequences[0] == sequences[1], "{form:?} {multiple}");
            let told = tool("ds-check").args(&[&other, "--model", "gpt-oss"]).run();
            assert!(!told.text().contains("foreign.padding"), "{told:?}");
        }
    }
    // A label in the padding is found.
    pack(&rows, &["rows"], &["--row-multiple", "32"]);
    oracle(&python, "packing.py", &["damage-padding", &rows, &other]).ok();
    let found = tool("ds-check").args(&[&other]).run();
    assert!(found.text().contains("rows.padding") && found.code() == Some(1), "{found:?}");
    // A folder of datasets.
    for (name, more) in [("plain", "1"), ("padded", "32")] {
        pack(&dir.at(name), &["llama-factory"], &["--row-multiple", more]);
    }
    let [plain, padded] = ["plain", "padded"].map(|name| {
        let code = "import datasets, json, sys; print(json.dumps(list(datasets.load_from_disk(sys.argv[1]))))";
        let told = python_code(&python, code, &[&dir.at(name)]).ok();
        serde_json::from_str::<Vec<Value>>(&told.text()).unwrap()
    });
    for (plain, padded) in plain.iter().zip(&padded) {
        let list = |row: &Value, name: &str| row[name].as_array().unwrap().clone();
        let length = list(plain, "labels").len();
        for (name, value) in [("input_ids", 200_002), ("labels", -100), ("attention_mask", 0)] {
            let (plain, mut padded) = (list(plain, name), list(padded, name));
            assert!(padded.len() % 32 == 0 && padded.len() - length < 32);
            assert!(padded.split_off(length).iter().all(|of| *of == value), "{name}");
            assert!(padded == plain, "{name}");
        }
    }
    let read = ["plain", "padded"].map(|name| sequences(&dir.at(name)));
    assert!(read[0] == read[1]);
    let told = tool("ds-check").args(&[&dir.at("padded"), "--model", "gpt-oss"]).run().ok();
    assert!(told.text().contains("no problems found"), "{told:?}");
    // What people see.
    let files = [train.as_str(), "-o", &rows, "--overwrite", "--progress", "always"];
    let told = seq_pack(&[&files[..], &["--row-multiple", "16"]].concat()).ok();
    assert!(told.stderr.contains("; padded to rows of 16: "), "{told:?}");
}

/// What people see of rows.
#[test]
fn rows_are_shown_counted_and_compared() {
    let dir = TempDir::new();
    root(&dir, 60);
    let (a, b) = (dir.at("a.parquet"), dir.at("b.parquet"));
    let train = dir.at("root/train");
    seq_pack(&[&train, "-o", &a, "--form", "trl", "-n", "900", "--columns", "id,span_id"]).ok();
    seq_pack(&[&train, "-o", &b, "--columns", "id,span_id", "-q"]).ok();
    let stat = tool("ds-stat").args(&[&a, "--format", "json"]).run().silent().records().remove(0);
    let packed = &stat["packed"];
    assert_eq!(packed["seq_length"], 900);
    let used = packed["used"].as_u64().unwrap() as f64;
    let share = used / (packed["rows"].as_u64().unwrap() * 900) as f64;
    assert!((0.8..=1.0).contains(&share), "{packed}");
    assert!(tool("ds-stat").args(&[&a]).run().silent().text().contains("positions used"));
    // Of a part nothing is said.
    let part = tool("ds-stat").args(&[&a, "--limit", "3", "--format", "json"]).run().silent();
    assert!(part.records()[0].get("packed").is_none());
    let view = tool("ds-view").args(&[&a, "--limit", "3"]).run().silent().text();
    assert!(view.contains("rows for trainers: token sequences"), "{view}");
    assert!(view.contains("row 0, piece 2 of ") && view.contains(": positions "), "{view}");
    let page = dir.at("page.html");
    tool("ds-view").args(&[&a, "--html", &page]).run().ok();
    assert!(dir.text("page.html").contains("row 0, piece 2 of "));
    // The same sequences in two forms: by their ids they are equal.
    let told = tool("ds-diff").args(&[&a, &b, "--format", "json"]).run();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let kinds: Vec<&String> = told["differences"].as_object().unwrap().keys().collect();
    assert_eq!(kinds, ["order"], "{told}");
}
