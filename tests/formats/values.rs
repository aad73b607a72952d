//! Values of every type as NDJSON: exact, or an error that names record and column. The tables and the
//! texts that are expected come from pyarrow and Python (tests/oracle/values.py).

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{TempDir, oracle, python, tool};

fn tables(python: &Path) -> TempDir {
    let dir = TempDir::new();
    oracle(python, "values.py", &[&dir.at("")]).silent();
    dir
}

#[test]
fn values_are_printed_exactly() {
    let Some(python) = python() else { return };
    let dir = tables(&python);
    for file in ["good.arrows", "good.parquet"] {
        let printed = tool("ds-cat").args(&["--to", "ndjson", &dir.at(file)]).run().silent().text();
        for (ours, theirs) in printed.lines().zip(dir.text("good.ndjson").lines()) {
            assert_eq!(ours, theirs, "{file}");
        }
        assert_eq!(printed.lines().count(), 3, "{file}");
    }
    let tens = tool("ds-cat").args(&["--to", "ndjson", &dir.at("tens.arrows")]).run().silent();
    assert_eq!(tens.text(), "{\"n\":0}\n{\"n\":12000}\n{\"n\":-3000}\n{\"n\":null}\n");
}

#[test]
fn bytes_that_are_no_text_are_no_null() {
    let Some(python) = python() else { return };
    let dir = tables(&python);
    for (name, path) in [
        ("bad_plain", "blob"),
        ("bad_view", "blob"),
        ("bad_fixed", "blob"),
        ("bad_struct", "blob: b"),
        ("bad_list", "blob"),
        ("bad_map", "blob"),
    ] {
        for ending in ["arrows", "parquet"] {
            let file = dir.at(&format!("{name}.{ending}"));
            if !Path::new(&file).exists() {
                continue;
            }
            let told = format!("ds-cat: {file}: record 2: {path}: not UTF-8");
            tool("ds-cat").args(&["--to", "ndjson", &file]).run().says(1, &told);
            // Arrow has them.
            tool("ds-cat").args(&["--to", "arrow", &file]).run().silent();
        }
    }
}

/// One record is refused, not the run; what nobody looks at is in nobody's way.
#[test]
fn chats_of_bytes_are_refused_one_by_one() {
    let Some(python) = python() else { return };
    let dir = tables(&python);
    for ending in ["arrows", "parquet"] {
        for (filter, name, cause) in [
            ("harmony-tok", "chats", "messages: content: not UTF-8"),
            ("chat-harmony", "columns", "not UTF-8"),
            ("chat-harmony", "answers", "message 2: content: expected JSON, got NaN, or bytes"),
            ("chat-harmony", "system", "not UTF-8"),
        ] {
            let file = dir.at(&format!("{name}.{ending}"));
            tool(filter).args(&[&file]).run().fails(1, &[": record 2", cause]);
            let kept = tool(filter).args(&["-q", "--on-error", "skip", &file]).run().ok().records();
            let ids: Vec<&Value> = kept.iter().map(|record| &record["id"]).collect();
            assert_eq!(ids, ["a", "c"], "{filter} {file}");
        }
        // Of metadata they are no null either.
        let file = dir.at(&format!("weights.{ending}"));
        let flags = ["-q", "--metadata-fields", "picture", &file];
        tool("chat-harmony")
            .args(&flags)
            .run()
            .fails(1, &[": record 2 (b): picture: ", "not UTF-8"]);
        for (name, trained) in [("weights", [false, true, true]), ("weight", [false, true, true])] {
            let file = dir.at(&format!("{name}.{ending}"));
            let made = tool("chat-harmony").args(&["-q", &file]).run().silent().records();
            let is_trained = |record: &Value| {
                let messages = record["messages"].as_array().unwrap();
                messages.last().unwrap()["train"] != json!(false)
            };
            let made: Vec<bool> = made.iter().map(is_trained).collect();
            assert_eq!(made, trained, "{file}");
        }
    }
}

#[test]
fn a_bad_value_is_named_whatever_is_beside_it() {
    let Some(python) = python() else { return };
    let dir = tables(&python);
    for (name, column) in [("nan", "seconds"), ("nan_inside", "cells")] {
        for ending in ["arrows", "parquet"] {
            let file = dir.at(&format!("{name}.{ending}"));
            let cause = format!("{column}: NaN is no finite number of its type");
            let told = format!("ds-cat: {file}: record 2: {cause}");
            tool("ds-cat").args(&[&file]).run().says(1, &told);
        }
    }
}

#[test]
fn raw_rows_may_have_empty_objects_and_maps() {
    let row = |id: &str, constraints: &str| {
        format!(
            "{{\"synth_id\":\"{id}\",\"query\":\"q\",\"synthetic_reasoning\":\"r\",\
             \"synthetic_answer\":\"s\",\"constraints\":{constraints}}}\n"
        )
    };
    for constraints in ["{}", "[{}]", "[{}, {}]", "{\"a\": {}}", "{\"a\": [{}]}"] {
        let input = row("a", constraints) + &row("b", "null") + &row("c", constraints);
        let made = tool("synth-harmony").args(&["-q"]).input(input).run().silent().records();
        let kept: Vec<Value> = made
            .iter()
            .map(|record| serde_json::from_str(record["metadata_json"].as_str().unwrap()).unwrap())
            .collect();
        let expected: Value = serde_json::from_str(constraints).unwrap();
        let found: Vec<&Value> = kept.iter().map(|metadata| &metadata["constraints"]).collect();
        assert_eq!(found, [&expected, &Value::Null, &expected], "{constraints}");
    }
    let Some(python) = python() else { return };
    let dir = tables(&python);
    for ending in ["arrows", "parquet"] {
        let file = dir.at(&format!("raw_map.{ending}"));
        tool("synth-harmony").args(&[&file]).run().fails(1, &[": record 2", "has no JSON"]);
        let flags = ["-q", "--on-error", "skip"];
        let made = tool("synth-harmony").args(&flags).args(&[&file]).run().ok().records();
        assert_eq!(made.len(), 2, "{file}");
    }
}

#[test]
fn a_column_is_asked_for_once() {
    let dir = TempDir::new();
    let file = dir.write("in.ndjson", "{\"id\":\"a\",\"tokens\":[7],\"segments\":null}\n");
    let target = dir.at("out.parquet");
    let told = "ds-cat: expected each column once, got \"id\" twice; try: leave one out";
    let columns = ["--columns", "id,tokens,id", &file];
    tool("ds-cat").args(&columns).run().says(2, told);
    tool("ds-cat").args(&columns).args(&["-o", &target]).run().says(2, told);
    assert!(!Path::new(&target).exists());
}
