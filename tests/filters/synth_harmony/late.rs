//! Columns that come after the first 10 MiB of NDJSON: a file is read twice for them, for a pipe they are
//! stated. Rows before have nulls, as if a row in front had had the column.

use crate::common::{TempDir, bash, tool, write_parquet};
use serde_json::{Value, json};

/// More rows than 10 MiB have.
const EARLY: usize = 11_000;

fn row(number: usize, more: Value) -> String {
    let mut row = json!({"synth_id": number.to_string(), "query": "q".repeat(1000),
        "synthetic_reasoning": "r", "synthetic_answer": "a"});
    row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    row.to_string() + "\n"
}

/// Early rows, and then rows with columns, types and members that are new.
fn late() -> String {
    let early =
        (0..EARLY).map(|number| row(number, json!({"constraints": {"n": 1}, "model": null})));
    let new =
        json!({"language": "en", "exercise": 5, "model": 1.5, "constraints": {"n": 2, "u": "x"}});
    let late = (EARLY..EARLY + 20).map(|number| row(number, new.clone()));
    let float = row(EARLY + 20, json!({"exercise": 0.5}));
    early.chain(late).chain([float]).collect()
}

/// What is made of some of the rows: the metadata, and their columns.
fn made(rows: &[Value]) -> Vec<(String, Value)> {
    let shown = [0, EARLY - 1, EARLY, EARLY + 20].map(|row| &rows[row]);
    let text = |row: &Value| {
        row["metadata_json"].as_str().unwrap().split_once(", ").unwrap().1.to_string()
    };
    shown.iter().map(|row| (text(row), json!([row["language"], row["exercise"]]))).collect()
}

const FIELDS: [&str; 3] =
    ["-q", "--metadata-fields", "synth_id,language,exercise,model,constraints"];

#[test]
fn a_file_is_looked_through_for_its_columns() {
    let dir = TempDir::new();
    let plain = dir.write("late.ndjson", late());
    let run =
        |flags: &[&str]| tool("synth-harmony").args(&FIELDS).args(flags).run().silent().text();
    let whole = run(&[&plain]);
    let rows: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), EARLY + 21);
    let early =
        r#""language": null, "exercise": null, "model": null, "constraints": {"n": 1, "u": null}}"#;
    let late =
        r#""language": "en", "exercise": 5.0, "model": 1.5, "constraints": {"n": 2, "u": "x"}}"#;
    let last = r#""language": null, "exercise": 0.5, "model": null, "constraints": null}"#;
    assert_eq!(
        made(&rows),
        [
            (early.to_string(), json!([null, null])),
            (early.to_string(), json!([null, null])),
            (late.to_string(), json!(["en", "5.0"])),
            (last.to_string(), json!([null, "0.5"])),
        ]
    );
    // However it is read.
    assert!(run(&[&plain, "-j", "2"]) == whole);
    bash(&format!("gzip -k {plain}")).silent();
    assert!(run(&[&format!("{plain}.gz")]) == whole);
    let slices: String = (0..3).map(|n| run(&[&plain, "--slice", &format!("{n}/3")])).collect();
    assert!(slices == whole);
    // As if a row in front had shown all of it.
    let shown = row(
        0,
        json!({"language": "x", "exercise": 0.5, "model": 1.5, "constraints": {"n": 0, "u": ""}}),
    );
    let shown = dir.write("shown.ndjson", shown + &self::late());
    assert!(run(&[&shown]).split_once('\n').unwrap().1 == whole);
}

#[test]
fn of_a_pipe_they_are_stated() {
    let dir = TempDir::new();
    let plain = dir.write("late.ndjson", late());
    let fields = "synth_id,language,exercise";
    let whole =
        tool("synth-harmony").args(&["-q", "--metadata-fields", fields, &plain]).run().silent();
    let piped = |flags: &str| {
        bash(&format!(
            "cat {plain} | synth-harmony -q --metadata-fields {fields} {flags} --to ndjson"
        ))
    };
    let told = |name: &str| {
        format!(
            "synth-harmony: stdin:11001: the first input (of a pipe its first 10 MiB), which says \
                 what columns there are, has no {name}; try: --columns {name}"
        )
    };
    let run = piped("");
    assert_eq!((run.code(), run.stderr.trim_end()), (Some(1), told("language").as_str()));
    let run = piped("--columns language");
    assert_eq!((run.code(), run.stderr.trim_end()), (Some(1), told("exercise").as_str()));
    assert!(piped("--columns language,exercise:float").silent().stdout == whole.stdout);
    // Text, if nothing else is said.
    piped("--columns language,exercise").fails(1, &["stdin:11001: exercise: "]);
    piped("--columns other")
        .fails(2, &["--columns: other is not read, only ", "try: --metadata-fields"]);
    piped("--columns exercise:number").fails(2, &["exercise:number is not read"]);
    // Of files after the first too, in any encoding.
    let first = dir.write("first.ndjson", row(0, json!({"language": "en"})));
    let second = dir.write("second.ndjson", row(1, json!({"exercise": "e"})));
    let parquet = dir.at("second.parquet");
    write_parquet(parquet.as_ref(), &row(1, json!({"exercise": "e"})));
    let place = [format!("{second}:1: "), format!("{parquet}: has a column \"exercise\"")];
    for (file, place) in [second, parquet].iter().zip(place) {
        let run = |flags: &[&str]| {
            let flags = [&["-q", "--metadata-fields", fields, &first, file], flags].concat();
            tool("synth-harmony").args(&flags).run()
        };
        run(&[]).fails(1, &[&place, "try: --columns exercise"]);
        let rows = run(&["--columns", "exercise"]).silent().records();
        assert_eq!((&rows[0]["exercise"], &rows[1]["exercise"]), (&json!(null), &json!("e")));
    }
}
