//! The streams between filters: the two encodings are twins, streams of other programs are read,
//! other input is refused with a reason, and slices and concatenations equal the whole.

use std::fs;

use serde_json::{Value, json};

use crate::common::{
    Outcome, TempDir, assert_same_datasets, bash, conversations, oracle, python, tool,
    unchecked_sink, without_places,
};

/// A directory with conversations and what becomes of them, in both encodings.
fn bench(count: usize) -> TempDir {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(count));
    dir.bash("set -e; harmony-tok in.ndjson > tokens.ndjson; \
         harmony-tok in.ndjson --to arrow > tokens.arrows; \
         span-mask tokens.ndjson > masked.ndjson; span-mask tokens.arrows --to arrow > masked.arrows; \
         harmony-tok --decode tokens.ndjson > decoded.ndjson; \
         harmony-tok --decode tokens.arrows --to arrow > decoded.arrows; \
         ds-cat in.ndjson --to arrow > in.arrows; ds-cat in.ndjson --to parquet -o in.parquet")
    .silent();
    dir
}

/// A record without its place, which says by which way it came.
fn without_place(record: Value) -> Value {
    serde_json::from_str(&without_places(&record.to_string())).unwrap()
}

#[test]
fn ndjson_and_arrow_are_twins() {
    let Some(python) = python() else { return };
    let dir = bench(30);
    for name in ["tokens", "masked", "decoded"] {
        let (ndjson, arrow) =
            (dir.at(&format!("{name}.ndjson")), dir.at(&format!("{name}.arrows")));
        let told = oracle(&python, "streams.py", &["twins", &ndjson, &arrow]).ok().text();
        assert_eq!(told, "30\n");
        // ds-cat goes from one to the other and back.
        assert_eq!(
            tool("ds-cat").args(&[&arrow]).run().silent().stdout,
            fs::read(&ndjson).unwrap()
        );
        let again = dir.at("again.arrows");
        bash(&format!("ds-cat {ndjson} --to arrow > {again}")).silent();
        let told = oracle(&python, "streams.py", &["twins", &ndjson, &again]);
        // (Where NDJSON has no masks, the stream has them as nulls.)
        assert_eq!(told.code(), Some(i32::from(name == "tokens")), "{told:?}");
        let lines = tool("ds-cat").args(&[&again]).run().silent().records();
        for (line, wrote) in lines.iter().zip(fs::read_to_string(&ndjson).unwrap().lines()) {
            let wrote: Value = serde_json::from_str(wrote).unwrap();
            assert!(wrote.as_object().unwrap().iter().all(|(key, value)| line[key] == *value));
        }
    }
    // The conversations' messages are an object here and text there.
    let rows = oracle(&python, "streams.py", &["rows", &dir.at("in.arrows")]).ok().records();
    for (line, row) in conversations(30).lines().zip(rows) {
        let line: Value = serde_json::from_str(line).unwrap();
        let text: Value = serde_json::from_str(row["messages_json"].as_str().unwrap()).unwrap();
        assert_eq!((&line["id"], &line["messages"]), (&row["id"], &text["messages"]));
    }
}

#[test]
fn the_header_carries_what_matters() {
    let Some(python) = python() else { return };
    let dir = bench(3);
    let header = |name: &str| {
        oracle(&python, "streams.py", &["metadata", &dir.at(name)]).ok().records().remove(0)
    };
    let masked = header("masked.arrows");
    assert_eq!(
        (&masked["gristmill.record"], &masked["gristmill.version"]),
        (&json!("tokens"), &json!("1"))
    );
    let parameters = &masked["gristmill.parameters"];
    assert_eq!(parameters["alignment"], "label");
    assert_eq!(parameters["spans"], json!({"analysis": 1, "final": 2}));
    assert_eq!(parameters["policy"], "synth-kd-v1");
    assert_eq!(parameters["tokenizer"]["vocab_size"], 201_088);
    let names: Vec<&Value> =
        masked["gristmill.provenance"].as_array().unwrap().iter().map(|e| &e["name"]).collect();
    assert_eq!(names, ["harmony-tok", "span-mask"]);
    assert_eq!(header("decoded.arrows")["gristmill.record"], "decoded");
    // Without the chain, and whatever the number of threads, the bytes are the same.
    let input = dir.at("in.ndjson");
    let run = |flags: &[&str]| {
        let arguments = [&[input.as_str(), "--to", "arrow"], flags].concat();
        tool("harmony-tok").args(&arguments).run().silent().stdout
    };
    assert_eq!(run(&["-j", "1"]), run(&["--jobs=2", "-q"]));
    let bare = run(&["--no-provenance"]);
    assert!(bare != run(&[]) && !bare.windows(20).any(|w| w == b"gristmill.provenance"));
}

/// Streams as pyarrow writes them: other widths, orders, compressions and batches of the same.
#[test]
fn streams_of_other_programs_are_read() {
    let Some(python) = python() else { return };
    let dir = bench(10);
    for source in ["tokens", "masked"] {
        let target = dir.at(&format!("{source}-variants"));
        fs::create_dir(&target).unwrap();
        let arrows = dir.at(&format!("{source}.arrows"));
        let names =
            oracle(&python, "streams.py", &["variants", &arrows, &target]).ok().records().remove(0);
        assert!(names.as_array().unwrap().len() > 15);
        let masked = dir.text("masked.ndjson");
        for name in names.as_array().unwrap() {
            let name = name.as_str().unwrap();
            let file = format!("{target}/{name}.arrows");
            if source == "tokens" {
                assert_eq!(
                    tool("span-mask").args(&[&file]).run().silent().text(),
                    masked,
                    "{name}"
                );
                let decoded = tool("harmony-tok").args(&["--decode", &file]).run().silent().text();
                assert_eq!(decoded, dir.text("decoded.ndjson"), "{name}");
                continue;
            }
            let (out, expected) = (format!("{target}/out"), format!("{target}/expected"));
            let write = |input: &str, out: &str| {
                let prefix = format!("{out}/p");
                tool("mmidx-write")
                    .args(&[input, "--prefix", &prefix, "--overwrite"])
                    .run()
                    .silent();
            };
            write(&file, &out);
            write(&arrows, &expected);
            assert_same_datasets(out.as_ref(), expected.as_ref());
            let printed = tool("ds-cat").args(&[&file]).run().silent().records();
            let ours = dir.text("masked.ndjson");
            for (line, printed) in ours.lines().zip(&printed) {
                let line: Value = serde_json::from_str(line).unwrap();
                assert_eq!(
                    (&line["id"], &line["tokens"]),
                    (&printed["id"], &printed["tokens"]),
                    "{name}"
                );
            }
        }
        if source == "tokens" {
            // Two streams of different types, one after another in one file and through a pipe.
            let twice = format!("{target}/twice.arrows");
            assert_eq!(tool("span-mask").args(&[&twice]).run().silent().text(), masked.repeat(2));
            assert_eq!(bash(&format!("cat {twice} | span-mask")).silent().text(), masked.repeat(2));
        }
    }
}

#[test]
fn conversations_of_other_programs_are_read() {
    let Some(python) = python() else { return };
    let dir = bench(10);
    let out = dir.at("others");
    fs::create_dir(&out).unwrap();
    let input = dir.at("in.ndjson");
    let names =
        oracle(&python, "streams.py", &["conversations", &input, &out]).ok().records().remove(0);
    let expected: Vec<Value> = dir
        .text("tokens.ndjson")
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            record["id"] = json!(number.to_string());
            without_place(record)
        })
        .collect();
    for name in names.as_array().unwrap() {
        for kind in ["arrows", "parquet"] {
            let file = format!("{out}/{}.{kind}", name.as_str().unwrap());
            let records = tool("harmony-tok").args(&[&file]).run().silent().records();
            let records: Vec<Value> = records.into_iter().map(without_place).collect();
            assert_eq!(records, expected, "{file}");
        }
    }
    let both = format!("{out}/both-ids.parquet");
    let named = tool("harmony-tok").args(&[&both, "--id-field", "id"]).run().silent().records();
    assert!(named.iter().all(|record| record["id"] == "x"));
    tool("harmony-tok")
        .args(&[&both, "--id-field", "none"])
        .run()
        .fails(1, &["record 1: none is missing or null"]);
}

#[test]
fn streams_that_are_no_tokens_say_so() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let told = oracle(&python, "streams.py", &["wrong", &dir.at("")]).ok().records().remove(0);
    for (name, text) in told.as_object().unwrap() {
        let file = dir.at(&format!("{name}.arrows"));
        let prefix = dir.at("out");
        unchecked_sink()
            .args(&[&file, "--tokens-only", "--prefix", &prefix])
            .run()
            .fails(1, &[&file, text.as_str().unwrap()]);
    }
    assert!(!dir.files().iter().any(|name| name.starts_with("out") || name.starts_with('.')));
}

#[test]
fn concatenated_streams_are_one() {
    let dir = bench(6);
    let at = |name: &str| dir.at(name);
    for (input, filter, whole) in [
        ("in", "harmony-tok", "tokens"),
        ("tokens", "span-mask", "masked"),
        ("masked", "ds-cat", "masked"),
    ] {
        let expected = without_places(&dir.text(&format!("{whole}.ndjson")));
        let (ndjson, arrow) = (at(&format!("{input}.ndjson")), at(&format!("{input}.arrows")));
        for cat in
            [format!("{ndjson} {ndjson}"), format!("{arrow} {arrow}"), format!("{ndjson} {arrow}")]
        {
            let run = bash(&format!("{filter} {cat}")).silent();
            assert_eq!(without_places(&run.text()), expected.repeat(2), "{filter} {cat}");
        }
        for file in [&ndjson, &arrow] {
            assert_eq!(
                without_places(
                    &bash(&format!("cat {file} {file} {file} | {filter}")).silent().text()
                ),
                expected.repeat(3)
            );
            assert_eq!(
                without_places(&bash(&format!("{filter} - < {file}")).silent().text()),
                expected
            );
            assert_eq!(
                without_places(
                    &bash(&format!("{filter} {file} - {file} < {file}")).silent().text()
                ),
                expected.repeat(3)
            );
        }
    }
    // The output for other programs is one stream.
    let one = tool("ds-cat")
        .args(&[at("masked.arrows"), at("masked.arrows")])
        .args(&["--to", "arrow"])
        .run()
        .silent();
    assert_eq!(one.stdout.windows(8).filter(|w| *w == b"\xff\xff\xff\xff\0\0\0\0").count(), 1);
}

#[test]
fn wrong_pipes_name_what_came_and_who_makes_it() {
    let dir = bench(2);
    let npy = dir.write("a.npy", b"\x93NUMPY\x01\0and more of it");
    let idx = dir.write("a.index", b"MMIDIDX\0\0and more of it");
    let db = dir.write("a.db", b"SQLite format 3\0and more");
    let zip = dir.write("a.zip", b"PK\x03\x04and more");
    let at = |name: &str| dir.at(name);
    let harmony = ("conversations", "harmony-tok --decode");
    let tokens = ("token sequences", "harmony-tok");
    for kind in ["ndjson", "arrows"] {
        let file = |name: &str| at(&format!("{name}.{kind}"));
        for (arguments, came, wanted) in [
            (vec!["harmony-tok".into(), file("tokens")], "token sequences", harmony),
            (vec!["harmony-tok".into(), file("masked")], "token sequences", harmony),
            (vec!["span-mask".into(), file("decoded")], "decoded sequences", tokens),
            (
                vec!["mmidx-write".into(), "--prefix".into(), at("out"), file("decoded")],
                "decoded sequences",
                tokens,
            ),
            (
                vec!["harmony-tok".into(), "--decode".into(), file("decoded")],
                "decoded sequences",
                tokens,
            ),
        ] {
            let name = arguments.last().unwrap().clone();
            let run = tool(&arguments[0]).args(&arguments[1..]).run();
            let (wanted, way) = wanted;
            let told = |way: &str| format!("expected {wanted}, got {came}; try: {way}");
            // (The way back to the texts is a whole command line.)
            let [of_file, of_pipe] = match way {
                "harmony-tok" => [way.to_string(), way.to_string()],
                _ => [format!("{way} {name}"), format!("... | {way}")],
            };
            run.says(2, &format!("{}: {name}: {}", arguments[0], told(&of_file)));
            let piped =
                bash(&format!("cat {name} | {} -", arguments[..arguments.len() - 1].join(" ")));
            piped.says(2, &format!("{}: stdin: {}", arguments[0], told(&of_pipe)));
        }
        if kind == "ndjson" {
            tool("span-mask")
                .args(&[file("in")])
                .run()
                .fails(2, &["expected token sequences, got conversations; try: harmony-tok"]);
        }
    }
    let conversations = "expected token sequences, got conversations; try: harmony-tok";
    tool("span-mask").args(&[at("in.parquet")]).run().fails(2, &[conversations]);
    tool("mmidx-write")
        .args(&[at("in.parquet"), "--prefix".into(), at("out")])
        .run()
        .fails(2, &[conversations]);
    for (file, text) in
        [(npy, "NumPy array"), (idx, "Megatron index"), (db, "SQLite database"), (zip, "zip file")]
    {
        tool("span-mask").args(&[&file]).run().fails(2, &[&file, text, "try: "]);
    }
    let garbage = dir.write("garbage", b"\x00\x01garbage");
    tool("span-mask")
        .args(&[&garbage])
        .run()
        .fails(1, &["neither NDJSON", "begins with \"\\x00\\x01garbage\""]);
    tool("harmony-tok")
        .args(&["/nonexistent"])
        .run()
        .says(2, "harmony-tok: /nonexistent: No such file or directory");
    std::fs::create_dir(at("empty")).unwrap();
    tool("harmony-tok").args(&[at("empty")]).run().fails(2, &["is a directory without a dataset"]);
}

/// Runs a filter on all slices of a file and puts the outputs one after another.
fn sliced(dir: &TempDir, filter: &str, file: &str, slices: usize, to: &str) -> Outcome {
    let script = format!(
        "set -e; for i in $(seq 0 {}); do {filter} {} --slice $i/{slices} --to {to}; done",
        slices - 1,
        dir.at(file)
    );
    bash(&script).silent()
}

#[test]
fn slices_of_every_file_are_the_whole() {
    let dir = bench(11);
    for (filter, file, whole) in [
        ("harmony-tok", "in.ndjson", "tokens"),
        ("harmony-tok", "in.arrows", "tokens"),
        ("harmony-tok", "in.parquet", "tokens"),
        ("span-mask", "tokens.ndjson", "masked"),
        ("span-mask", "tokens.arrows", "masked"),
        ("ds-cat", "masked.ndjson", "masked"),
        ("ds-cat", "masked.arrows", "masked"),
    ] {
        let expected = without_places(&dir.text(&format!("{whole}.ndjson")));
        for slices in [1, 2, 3, 11, 17] {
            let lines = sliced(&dir, filter, file, slices, "ndjson").text();
            assert_eq!(without_places(&lines), expected, "{filter} {file} in {slices}");
        }
        let stream = sliced(&dir, filter, file, 4, "arrow").stdout;
        let back = tool("ds-cat").input(stream).run().silent();
        assert_eq!(without_places(&back.text()), expected, "{filter} {file} in 4 over Arrow");
    }
    // Several files are cut together, and a place is counted in its own file.
    let (a, b) = (dir.at("in.ndjson"), dir.at("in.arrows"));
    let script = format!("for i in 0 1 2; do harmony-tok {a} {a} --slice $i/3; done");
    assert_eq!(bash(&script).silent().text(), dir.text("tokens.ndjson").repeat(2));
    tool("harmony-tok")
        .args(&[&a, &b, "--slice", "0/2"])
        .run()
        .fails(2, &["NDJSON and Arrow files cannot be cut together"]);
    dir.write("bad.ndjson", conversations(5) + "{\n" + &conversations(5));
    tool("harmony-tok")
        .args(&[&dir.at("bad.ndjson"), "--slice", "1/3"])
        .run()
        .fails(1, &["bad.ndjson:6: invalid JSON"]);
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let dir = bench(4);
    dir.bash("gzip -k in.ndjson; zstd -q in.ndjson").ok();
    let refused = "cannot be cut into slices (only regular files that are not compressed can)";
    for (filter, stdin) in
        [("harmony-tok", "in.ndjson"), ("span-mask", "tokens.arrows"), ("ds-cat", "masked.ndjson")]
    {
        let script = format!("{filter} --slice 0/2 < {}", dir.at(stdin));
        bash(&script).says(2, &format!("{filter}: stdin: {refused}"));
    }
    for name in ["in.ndjson.gz", "in.ndjson.zst"] {
        let file = dir.at(name);
        if fs::metadata(&file).is_ok() {
            tool("harmony-tok")
                .args(&[&file, "--slice", "0/2"])
                .run()
                .fails(2, &[&format!("harmony-tok: {file}: {refused}; try: ")]);
        }
    }
}

#[test]
fn empty_inputs() {
    let dir = TempDir::new();
    for (filter, file) in [
        ("harmony-tok", "in"),
        ("span-mask", "tokens"),
        ("ds-cat", "masked"),
        ("harmony-tok --decode", "tokens"),
    ] {
        for content in ["\n", "  \n\n"] {
            let name = dir.write(file, content);
            assert_eq!(bash(&format!("{filter} {name}")).silent().stdout, b"");
            assert_eq!(bash(&format!("{filter} < {name}")).silent().stdout, b"");
        }
        let name = dir.write(file, "");
        bash(&format!("{filter} {name}")).fails(1, &[&name, "there are no bytes"]);
        bash(&format!("{filter} < {name}")).fails(75, &["stdin: there are no bytes"]);
    }
    // An Arrow stream without batches is whole; no bytes at all are not.
    let stream = bash("harmony-tok --to arrow --allow-empty < /dev/null").silent().stdout;
    assert!(stream.len() > 100);
    assert_eq!(tool("span-mask").input(&stream).run().silent().stdout, b"");
    let prefix = dir.at("out");
    tool("mmidx-write").args(&["--prefix", &prefix]).input(&stream).run().silent();
    // What did not come may have been dropped before.
    let records = json!({"read": null, "written": 0, "rejected": null, "skipped": null});
    assert_eq!(dir.json("out.part.json")["records"], records);
    assert_eq!(dir.files().iter().filter(|name| name.starts_with("out")).count(), 1);
}
