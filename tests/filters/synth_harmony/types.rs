//! Raw rows of every type beside what Python makes of them (pyarrow, json.dumps, str), and what later
//! files of other types become. Needs GRISTMILL_PYTHON.

use serde_json::Value;

use crate::common::{TempDir, oracle, python, tool};

/// The messages from the user's on, and all other columns.
fn comparable(line: &str) -> Value {
    let mut row: Value = serde_json::from_str(line).unwrap();
    let fields = row.as_object_mut().unwrap();
    let messages = fields.remove("messages_json").unwrap();
    let (_, messages) =
        messages.as_str().unwrap().split_once("\"channel_required\": true}}]}, ").unwrap();
    fields.insert("messages".to_string(), messages.strip_suffix('}').unwrap().into());
    row
}

#[test]
fn values_of_every_type_are_printed_as_python_prints_them() {
    let Some(python) = python() else { return };
    let fields = "f0,f1,f2,f3,f4,f5,f6,f7,absent";
    let mut rows = 0;
    for seed in 100..115 {
        let dir = TempDir::new();
        let (parquet, arrows) = (dir.at("in.parquet"), dir.at("in.arrows"));
        oracle(&python, "synth_raw.py", &["make", &seed.to_string(), &parquet, &arrows]).silent();
        let theirs = oracle(&python, "synth_raw.py", &["convert", &parquet, fields]).silent();
        let theirs: Vec<Value> = theirs.records();
        for input in [&parquet, &arrows] {
            let flags = ["-q", "--omit-developer", "--metadata-fields", fields, input];
            let ours = tool("synth-harmony").args(&flags).run().silent().text();
            let ours: Vec<Value> = ours.lines().map(comparable).collect();
            assert_eq!(ours.len(), theirs.len(), "seed {seed}");
            for (row, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!(ours, theirs, "seed {seed}, {input}, row {row}");
            }
        }
        rows += theirs.len();
    }
    assert!(rows > 100, "{rows}");
}

/// What a file after the first becomes: the column of the first, that of the second, and what is made
/// of the second, as `datasets` makes it; where that fails, or loses a value, one error.
#[test]
fn later_files_are_cast_to_the_types_of_the_first() {
    let Some(python) = python() else { return };
    let cases: [(&str, &str, Result<&str, &str>); 22] = [
        ("pa.array(['x'])", "pa.array([5, None])", Ok(r#"["5",null]"#)),
        ("pa.array(['x'])", "pa.array([True, False])", Ok(r#"["true","false"]"#)),
        (
            "pa.array(['x'])",
            "pa.array([1.0, 1e22, 1e-5, 1e10, 1234567890.5, float('nan'), -0.0, 1e-6, 1.5e-7, 123456789012345.6])",
            Ok(
                r#"["1","1e+22","0.00001","1e+10","1234567890.5","nan","-0","0.000001","1.5e-7","1.234567890123456e+14"]"#,
            ),
        ),
        ("pa.array(['x'])", "pa.array([0.1], pa.float32())", Ok(r#"["0.1"]"#)),
        ("pa.array(['x'])", "pa.array(['a']).dictionary_encode()", Ok(r#"["a"]"#)),
        ("pa.array(['x'])", "pa.array([1], pa.date32())", Ok(r#"["1970-01-02"]"#)),
        ("pa.array(['x'])", "pa.array([['a']])", Err("is List")),
        ("pa.array([1])", "pa.array(['5', '-7'])", Ok(r#"["5","-7"]"#)),
        ("pa.array([1])", "pa.array(['x'])", Err("record 1: column \"v\": \"x\" is not Int64")),
        ("pa.array([1])", "pa.array([1.0])", Ok(r#"["1"]"#)),
        ("pa.array([1])", "pa.array([1.5])", Err("1.5 is not Int64")),
        ("pa.array([1])", "pa.array([True])", Ok(r#"["1"]"#)),
        ("pa.array([1])", "pa.array([2**64 - 1], pa.uint64())", Err("record 1: ")),
        ("pa.array([1.5])", "pa.array([5])", Ok(r#"["5.0"]"#)),
        ("pa.array([1.5])", "pa.array([2**53 + 1])", Err("9007199254740993 is not a Float64")),
        ("pa.array([True])", "pa.array([0, 1])", Ok(r#"["False","True"]"#)),
        ("pa.array([True])", "pa.array([5])", Err("5 is not a Boolean")),
        ("pa.array([['a']])", "pa.array([[1]])", Ok(r#"["['1']"]"#)),
        (
            "pa.array([{'u': 'x', 'n': 1}])",
            "pa.array([{'u': 'y'}])",
            Ok(r#"["{'n': None, 'u': 'y'}"]"#),
        ),
        ("pa.array([{'u': 'x'}])", "pa.array([{'u': 'y', 'n': 1}])", Err("the first input has")),
        ("pa.nulls(1)", "pa.array([5])", Ok(r#"["5"]"#)),
        ("pa.array([1])", "pa.array([1], pa.timestamp('s'))", Err("is Timestamp")),
    ];
    let dir = TempDir::new();
    for (number, (first, second, expected)) in cases.into_iter().enumerate() {
        let file = |name: &str| dir.at(&format!("{number}{name}.parquet"));
        write(&python, first, &file("a"));
        write(&python, second, &file("b"));
        let run =
            tool("synth-harmony").args(&["-q", "--metadata-fields", "v", &file("a"), &file("b")]);
        match expected {
            Ok(expected) => {
                let rows = run.run().silent().records();
                let made: Vec<Value> = rows[1..].iter().map(|row| row["v"].clone()).collect();
                // pyarrow writes the members of a struct of Python in the order in which they come.
                let made = Value::from(made)
                    .to_string()
                    .replace("{'u': 'y', 'n': None}", "{'n': None, 'u': 'y'}");
                assert_eq!(made, expected, "{first} and {second}");
            }
            Err(cause) => drop(run.run().fails(1, &[&file("b"), cause])),
        }
    }
    // A column that was not there before.
    write(&python, "pa.array([1])", &dir.at("v.parquet"));
    let flags = ["-q", "--metadata-fields", "w,v"];
    write(&python, "pa.array([1]), 'w': pa.array([2])", &dir.at("w.parquet"));
    let files = ["v.parquet", "w.parquet"].map(|name| dir.at(name));
    let run = tool("synth-harmony").args(&flags).args(&files).run();
    run.fails(1, &["w.parquet: has a column \"w\", which the first input does not have"]);
}

/// Types without JSON, and bytes that are no text: the row is named, or dropped.
#[test]
fn a_value_without_json_is_one_bad_row() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let bad_text = "pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(b'\\0\\0\\0\\0\\1\\0\\0\\0\\2\\0\\0\\0'), \
                    pa.py_buffer(b'a\\xff')])";
    for (values, cause) in [
        ("pa.array([None, 1], pa.timestamp('us'))", "v: Timestamp(µs) has no JSON"),
        ("pa.array([None, 1], pa.date32())", "v: Date32 has no JSON"),
        ("pa.array([None, 1], pa.decimal128(5, 1))", "v: Decimal128(5, 1) has no JSON"),
        ("pa.array([None, b'x'])", "v: BinaryView has no JSON"),
        ("pa.array([None, 1], pa.duration('s'))", "v: Duration"),
        (bad_text, "v: not UTF-8"),
    ] {
        let file = dir.at("in.parquet");
        write(&python, values, &file);
        let filter = || tool("synth-harmony").args(&["-q", "--metadata-fields", "v", &file]);
        let place = format!("synth-harmony: {file}: record 2: ");
        filter().run().fails(1, &[&place, cause]);
        let run = filter().args(&["--on-error", "skip"]).run().ok();
        assert_eq!(run.records().len(), 1, "{run:?}");
    }
}

/// Rows with all texts and a column `v`.
fn write(python: &std::path::Path, values: &str, file: &str) {
    oracle(python, "synth_raw.py", &["write", values, file]).silent();
}
