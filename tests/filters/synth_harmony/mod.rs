//! Raw SYNTH rows become the conversations of the published converter, whatever they come in; where
//! it dies or is wrong, there are the right rows or one clear error. Needs GRISTMILL_DATA.

mod late;
mod types;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{TempDir, bash, data, tool};

/// Columns that the published rows have only to say where they stand.
const PLACES: [&str; 2] = ["shard", "row"];

/// The rows that the converter made in a run, as lines.
fn published(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row.as_object_mut().unwrap().retain(|name, _| !PLACES.contains(&name.as_str()));
        row.to_string() + "\n"
    };
    text.lines().map(line).collect()
}

/// The same rows, column by column: on failure the first difference is shown alone.
#[track_caller]
fn assert_same_rows(ours: &str, theirs: &str, what: &str) {
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{what}: row {number}");
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{what}");
}

fn converted(arguments: &[&str]) -> String {
    tool("synth-harmony").args(arguments).args(&["-q"]).run().silent().text()
}

/// The runs of the converter and the flags that mean the same here.
const RUNS: [(&str, &str, &[&str]); 4] = [
    ("one", "raw.parquet", &[]),
    ("nodev", "raw.parquet", &["--omit-developer"]),
    ("max50", "raw.parquet", &["--limit", "50"]),
    ("real4", "raw_files", &[]),
];

/// What is kept with --resume was made of these inputs; where that cannot be known, nothing is kept.
#[test]
fn a_file_of_other_inputs_is_not_resumed() {
    let raw = |id: &str| {
        format!(
            "{{\"synth_id\":\"{id}\",\"query\":\"q\",\"synthetic_reasoning\":\"r\",\"synthetic_answer\":\"a\"}}\n"
        )
    };
    let chat = |id: &str| format!("{{\"instruction\":\"{id}\",\"output\":\"o\"}}\n");
    for (filter, [one, two]) in
        [("synth-harmony", [raw("one"), raw("two")]), ("chat-harmony", [chat("one"), chat("two")])]
    {
        let dir = TempDir::new();
        let piped = one.clone();
        let (one, two) = (dir.write("one.ndjson", one), dir.write("two.ndjson", two));
        let run = |input: &str, more: &[&str]| {
            let arguments = [input, "-q", "-o", &dir.at("s.parquet")];
            tool(filter).args(&arguments).args(more).input(&piped).run()
        };
        run(&one, &[]).ok();
        let unknown = "--resume: expected inputs that can be compared, got NDJSON, Arrow or stdin; \
                       try: FILEs with --hash-inputs";
        for input in [one.as_str(), &two, "-"] {
            run(input, &["--resume"]).fails(2, &[unknown]);
        }
        // How it was made is not known.
        let other = "s.parquet: was made with other settings or of other inputs; try: --overwrite";
        run(&one, &["--resume", "--hash-inputs"]).fails(2, &[other]);
        run(&one, &["--overwrite", "--hash-inputs"]).ok();
        let before = dir.read("s.parquet");
        run(&one, &["--resume", "--hash-inputs"]).ok();
        run(&two, &["--resume", "--hash-inputs"]).fails(2, &[other]);
        assert!(dir.read("s.parquet") == before, "{filter}");
    }
}

#[test]
fn every_run_gives_the_published_rows() {
    let Some(data) = data("synth_raw") else { return };
    let dir = TempDir::new();
    for (run, input, flags) in RUNS {
        let theirs = published(&data.join("runs").join(run).join("rows.ndjson"));
        let input = data.join(input).display().to_string();
        for jobs in ["1", "2"] {
            let ours = converted(&[&[input.as_str(), "-j", jobs], flags].concat());
            assert_same_rows(&ours, &theirs, run);
            for (to, ending) in [("arrow", "arrows"), ("parquet", "parquet")] {
                let out = dir.at(&format!("{run}.{jobs}.{ending}"));
                converted(&[&[input.as_str(), "-j", jobs, "--to", to, "-o", &out], flags].concat());
                let ours = tool("ds-cat").args(&[&out]).run().silent().text();
                assert_same_rows(&ours, &theirs, &out);
            }
        }
    }
}

/// NDJSON, Arrow and Parquet of the same rows, through a file or a pipe, whole and in slices.
#[test]
fn every_encoding_and_slice_gives_the_same_rows() {
    let Some(data) = data("synth_raw") else { return };
    let theirs = published(&data.join("runs/one/rows.ndjson"));
    let dir = TempDir::new();
    let parquet = data.join("raw.parquet").display().to_string();
    let ndjson = data.join("raw.ndjson").display().to_string();
    let arrow = dir.at("raw.arrows");
    tool("ds-cat").args(&[&parquet, "--to", "arrow", "-o", &arrow]).run().silent();
    bash(&format!("gzip -c {ndjson} > {}", dir.at("raw.ndjson.gz"))).silent();
    for input in [&parquet, &ndjson, &arrow, &dir.at("raw.ndjson.gz")] {
        assert_same_rows(&converted(&[input]), &theirs, input);
    }
    for input in [&ndjson, &arrow] {
        let piped = tool("synth-harmony").args(&["-q"]).input(fs::read(input).unwrap()).run();
        assert_same_rows(&piped.silent().text(), &theirs, input);
    }
    for input in [&parquet, &ndjson, &arrow] {
        let slice = |part: usize| converted(&[input, "--slice", &format!("{part}/3"), "-j", "2"]);
        let parts: String = (0..3).map(slice).collect();
        assert_same_rows(&parts, &theirs, input);
    }
}

#[test]
fn rows_that_are_skipped_are_counted_by_reason() {
    let Some(data) = data("synth_raw") else { return };
    let input = data.join("raw.parquet").display().to_string();
    let line = "synth-harmony: 18 of 420 rows skipped: 2 without answer, 6 without query, \
                10 without reasoning";
    let run = tool("synth-harmony").args(&[&input]).run().ok();
    assert_eq!(run.stderr.trim_end(), line);
    // The filters that follow pass the numbers on.
    let dir = TempDir::new();
    let out = dir.at("out.arrows");
    bash(&format!(
        "set -o pipefail; export GRISTMILL_TO=arrow; synth-harmony -q {input} | \
         harmony-tok --on-error skip -q | span-mask > {out}"
    ))
    .ok();
    let stream = String::from_utf8_lossy(&dir.read("out.arrows")).into_owned();
    let counts = r#"{"without answer":2,"without query":6,"without reasoning":10}"#;
    assert!(stream.contains("gristmill.skipped") && stream.contains(counts));
}

/// The oddities at which the converter dies, and how many rows are right. (The tests of bad lines and
/// types below have those that end with an error.)
const RIGHT_ROWS: [(&str, usize); 1] = [
    // A column that nobody asked for, in the second file only: the converter refuses the file.
    ("v_mixed_more", 12),
];

#[test]
fn every_oddity_has_its_answer() {
    let Some(data) = data("synth_raw/odd") else { return };
    for entry in fs::read_dir(&data).unwrap() {
        let folder: PathBuf = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let input = folder.join("input").display().to_string();
        let run = tool("synth-harmony").args(&["-q", &input]).run();
        let theirs = folder.join("original/rows.ndjson");
        if theirs.exists() {
            assert_same_rows(&run.silent().text(), &published(&theirs), &name);
        } else if let Some((_, rows)) = RIGHT_ROWS.iter().find(|(known, _)| *known == name) {
            assert_eq!(run.silent().text().lines().count(), *rows, "{name}");
        } else if run.code() != Some(0) {
            run.fails(1, &["synth-harmony: "]);
        }
    }
}

/// A row with all that is needed, and more fields.
fn row(more: &Value) -> Value {
    let mut row = json!({"synth_id": "a", "query": "q", "synthetic_reasoning": "r",
        "synthetic_answer": "s"});
    row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    row
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| row.to_string() + "\n").collect()
}

/// The metadata and the column of `constraints` for each of these values.
fn constraints(values: &[Value]) -> Vec<(String, Value)> {
    let rows: Vec<Value> = values.iter().map(|value| row(&json!({"constraints": value}))).collect();
    let run = tool("synth-harmony").args(&["--metadata-fields", "constraints"]).input(lines(&rows));
    let rows = run.run().silent().records();
    let text = |row: &Value| row["metadata_json"].as_str().unwrap().to_string();
    rows.iter().map(|row| (text(row), row["constraints"].clone())).collect()
}

/// The values of NDJSON have one type, by all lines, as Arrow's reader has it.
#[test]
fn the_types_of_ndjson_are_those_of_its_values() {
    let same = |found: Vec<(String, Value)>, expected: &[(&str, Value)]| {
        let expected: Vec<(String, Value)> = expected
            .iter()
            .map(|(text, value)| (format!("{{\"constraints\": {text}}}"), value.clone()))
            .collect();
        assert_eq!(found, expected);
    };
    same(
        constraints(&[json!(5), json!(1.5), json!(null), json!(10000000000u64)]),
        &[
            ("5.0", json!("5.0")),
            ("1.5", json!("1.5")),
            ("null", json!(null)),
            ("10000000000.0", json!("10000000000.0")),
        ],
    );
    // The members of objects are those of all; what looks like a date is text.
    same(
        constraints(&[json!({"u": "2024-01-01", "l": []}), json!({"n": 1, "l": [["it's"], null]})]),
        &[
            (
                r#"{"u": "2024-01-01", "l": [], "n": null}"#,
                json!("{'u': '2024-01-01', 'l': [], 'n': None}"),
            ),
            (
                r#"{"u": null, "l": [["it's"], null], "n": 1}"#,
                json!(r#"{'u': None, 'l': [["it's"], None], 'n': 1}"#),
            ),
        ],
    );
    same(
        constraints(&[json!("2024-01-01"), json!("2024-01-02")]),
        &[("\"2024-01-01\"", json!("2024-01-01")), ("\"2024-01-02\"", json!("2024-01-02"))],
    );
    same(
        constraints(&[json!(true), json!(false)]),
        &[("true", json!("True")), ("false", json!("False"))],
    );
}

/// Bad lines, and what is said of them.
#[test]
fn a_bad_line_is_one_error_or_is_skipped() {
    let good = row(&json!({"constraints": "x"})).to_string();
    let dir = TempDir::new();
    for (bad, reason) in [
        (good.replace(r#""x""#, "5"), "constraints: a number where a string should be"),
        (good.replace(r#""x""#, r#""x","constraints":"x""#), "constraints is there twice"),
        (good.replace(r#""x""#, r#""\ud800""#), "invalid JSON: lone surrogate at byte "),
        (good.replace(r#""q""#, r#""q\udc00""#), "invalid JSON: lone surrogate at byte "),
        (good.replace('}', ""), "invalid JSON: expected `,` or `}` at byte "),
        (good.replace(r#""x""#, "NaN"), "invalid JSON: expected a value at byte "),
        ("[]".to_string(), "an array where an object should be"),
    ] {
        let file = dir.write("in.ndjson", format!("{good}\n{bad}\n{good}\n"));
        for jobs in ["1", "2"] {
            let run = tool("synth-harmony").args(&[&file, "-j", jobs]).run();
            run.fails(1, &[&format!("synth-harmony: {file}:2: {reason}")]);
        }
        let flags = ["--on-error", "skip", "--rejects", &dir.at("rejects")];
        let run = tool("synth-harmony").args(&[&file]).args(&flags).run().ok();
        assert_eq!(run.records().len(), 2);
        assert!(run.stderr.contains("1 bad record dropped"), "{run:?}");
        let kept: Value = serde_json::from_str(dir.text("rejects").trim_end()).unwrap();
        assert_eq!(kept["line"], 2);
        let out = dir.at("out.parquet");
        let write = ["--to", "parquet", "-o", out.as_str()];
        tool("synth-harmony").args(&[&file]).args(&write).run().fails(1, &[reason]);
        assert!(!Path::new(&out).exists());
    }
    // The other end of a pipe says what went wrong, and nothing is published.
    bash(&format!(
        "export GRISTMILL_TO=arrow; cd {}; synth-harmony in.ndjson | harmony-tok | span-mask | \
         mmidx-write --root root --shard shard_00",
        dir.path().display()
    ))
    .fails(1, &["synth-harmony: in.ndjson:2: an array where an object should be"]);
    assert!(!dir.path().join("root").exists());
}

/// Rows without a reasoning, and reference texts, which the converter drops.
#[test]
fn what_the_converter_loses_can_be_kept() {
    let rows = [
        row(&json!({"query_seed_text": "a \"text\""})),
        row(&json!({"query_seed_text": "", "synthetic_reasoning": ""})),
        row(&json!({"query_seed_text": null, "synthetic_reasoning": null, "synthetic_answer": ""})),
    ];
    let messages = |flags: &[&str]| -> Vec<Vec<Value>> {
        let flags = [&["-q", "--omit-developer"], flags].concat();
        let run = tool("synth-harmony").args(&flags).input(lines(&rows)).run().silent();
        let of = |row: &Value| -> Value {
            serde_json::from_str(row["messages_json"].as_str().unwrap()).unwrap()
        };
        run.records().iter().map(|row| of(row)["messages"].as_array().unwrap().clone()).collect()
    };
    assert_eq!(messages(&[]).len(), 1);
    let kept = messages(&["--keep-without-reasoning", "--reference", "append"]);
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0][1]["content"][0]["text"], "q\n\nReference:\na \"text\"");
    let roles: Vec<(&Value, &Value)> =
        kept[1].iter().map(|message| (&message["role"], &message["channel"])).collect();
    let (none, last) = (Value::Null, json!("final"));
    let (system, user, assistant) = (json!("system"), json!("user"), json!("assistant"));
    assert_eq!(roles, [(&system, &none), (&user, &none), (&assistant, &last)]);
    assert_eq!(kept[1][1]["content"][0]["text"], "q");
}

#[test]
fn the_texts_of_the_settings_are_the_users() {
    let flags =
        ["--reasoning-effort", "low", "--model-identity", "é \"x\"", "--knowledge-cutoff", ""];
    let more = ["--current-date", "2025-02-30", "--developer-instructions", "one\ntwo"];
    let run = tool("synth-harmony").args(&flags).args(&more).input(lines(&[row(&json!({}))])).run();
    let text = run.silent().records()[0]["messages_json"].as_str().unwrap().to_string();
    assert!(
        text.contains(r#""model_identity": "\u00e9 \"x\"", "reasoning_effort": "Low""#),
        "{text}"
    );
    let dates = r#""conversation_start_date": "2025-02-30", "knowledge_cutoff": """#;
    assert!(text.contains(dates) && text.contains(r#""instructions": "one\ntwo""#), "{text}");
    let fields = |fields: &str| {
        let input = lines(&[row(&json!({}))]);
        tool("synth-harmony").args(&["--metadata-fields", fields]).input(input).run()
    };
    assert_eq!(
        fields(" query , ,synth_id,none").silent().text().split("\"metadata_json\":").nth(1),
        Some(
            "\"{\\\"query\\\": \\\"q\\\", \\\"synth_id\\\": \\\"a\\\"}\",\"query\":\"q\",\
             \"synth_id\":\"a\",\"none\":null}\n"
        )
    );
    fields(" , ").says(2, "synth-harmony: No metadata fields specified.");
    fields("a,a").fails(2, &["two columns a"]);
    fields("messages_json").fails(2, &["two columns messages_json"]);
}

/// What is no raw row is refused with the name of what it is.
#[test]
fn other_records_are_a_wrong_pipe() {
    let dir = TempDir::new();
    let made = dir.at("made.arrows");
    let row = lines(&[row(&json!({}))]);
    tool("synth-harmony").args(&["--to", "arrow", "-o", &made]).input(row).run().silent();
    let (parquet, plain) = (dir.at("made.parquet"), dir.at("plain.arrows"));
    tool("ds-cat").args(&[&made, "--to", "parquet", "-o", &parquet]).run().silent();
    tool("ds-cat").args(&[&parquet, "--to", "arrow", "-o", &plain]).run().silent();
    let lines = dir.write("made.ndjson", crate::common::conversations(1));
    for file in [made, parquet, plain, lines] {
        tool("synth-harmony").args(&[&file]).run().says(
            2,
            &format!(
                "synth-harmony: {file}: expected raw SYNTH rows, got conversations; try: rows of \
                 PleIAs/SYNTH, or chat-harmony for other chats"
            ),
        );
    }
}
