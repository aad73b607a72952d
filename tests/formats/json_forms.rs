//! JSON in other forms than a record a line: arrays, and records over several lines.

use serde_json::{Value, json};

use crate::common::{TempDir, Tool, bash, installed, peak_to_end, tool};

const MARK: &str = "\u{feff}";

/// Random numbers that are the same in each run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 12] =
            ["a", "\"", "\\", "\n", "{", "}", "[", "],", ": ", "é😀", "\\u0041", " , "];
        let pieces = self.below(9);
        (0..pieces).map(|_| PIECES[self.below(PIECES.len() as u64) as usize]).collect()
    }

    fn conversation(&mut self, number: usize) -> Value {
        let mut messages = Vec::new();
        for _ in 0..=self.below(3) {
            messages.push(json!({"role": "user", "content": self.text()}));
            let answer = self.text() + "x";
            messages.push(json!({"role": "assistant", "channel": "final", "content": answer}));
        }
        let other = json!([{"n": [], "o": {}, "t": self.text()}, [1, [2.5, null]], true]);
        json!({"id": format!("r{number}"), "other": other, "messages": messages})
    }
}

/// The same records in all forms.
fn forms(records: &[Value]) -> Vec<(&'static str, String)> {
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    let joined = |with: &str| {
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        lines.join(with)
    };
    let lines = joined("\n") + "\n";
    let array = Value::Array(records.to_vec());
    let objects: String = records.iter().map(|record| pretty(record) + "\n").collect();
    let all = vec![
        ("array", format!("[{}]", joined(","))),
        ("array, spaced", format!(" \n [ {} ] \n\n", joined(" , "))),
        ("array, a record a line", format!("[\n{}\n]\n", joined(",\n"))),
        ("array, pretty", pretty(&array)),
        ("array, CRLF", pretty(&array).replace('\n', "\r\n") + "\r\n"),
        ("array, mark", format!("{MARK}{}", pretty(&array))),
        ("objects", objects.clone()),
        ("objects, CRLF", objects.replace('\n', "\r\n")),
        ("objects, mark", format!("{MARK}{objects}")),
        ("objects, blank lines", format!("\n\n{}", objects.replace("\n{", "\n\n\n{"))),
        ("lines, mark", format!("{MARK}{lines}")),
        ("lines, CRLF", lines.replace('\n', "\r\n")),
    ];
    [vec![("lines", lines)], all].concat()
}

#[test]
fn every_form_gives_the_same() {
    let dir = TempDir::new();
    let mut random = Random(1);
    for count in [1, 2, 40, 700] {
        let records: Vec<Value> = (0..count).map(|number| random.conversation(number)).collect();
        let mut expected = None;
        for (name, text) in forms(&records) {
            dir.write("x", &text);
            let cd = format!("cd '{}'", dir.path().display());
            for read in ["< x", "<(gzip -c x)", "<(cat x)"] {
                if count == 700 && read != "< x" {
                    continue;
                }
                for filter in ["harmony-tok", "ds-cat"] {
                    let run = bash(&format!("{cd}; {filter} {read}")).silent();
                    if filter == "ds-cat" {
                        assert_eq!(run.records().len(), count, "{name}");
                    } else {
                        let expected = expected.get_or_insert_with(|| run.text());
                        assert_eq!(*expected, run.text(), "{name}, {read}");
                    }
                }
            }
        }
    }
}

fn good(id: &str) -> String {
    format!("{{\"id\":\"{id}\",\"tokens\":[7],\"segments\":null}}")
}

fn ds_cat(text: impl AsRef<[u8]>) -> Tool {
    tool("ds-cat").input(text)
}

#[test]
fn errors_name_the_line() {
    let (a, b) = (good("a"), good("b"));
    for (text, code, parts) in [
        (format!("[{a},\n{b}\n"), 75, ["stdin:3: ", "no `]` at its end"]),
        (format!("[\n{a}"), 75, ["stdin:2: ", "no `]` at its end"]),
        (format!("[\n{a},\n"), 75, ["stdin:3: ", "no `]` at its end"]),
        ("[".to_string(), 75, ["stdin:1: ", "no `]` at its end"]),
        (format!("[{a},\n{b}\n]\n\n{a}"), 1, ["stdin:5: ", "more behind the `]`"]),
        (format!("[{a}]]"), 1, ["stdin:1: ", "more behind the `]`"]),
        (format!("[\n{a}\n{b}]"), 1, ["stdin:3: ", "expected `,` or `]`"]),
        (format!("[\n{a},,{b}]"), 1, ["stdin:2: ", "expected a record, got `,`"]),
        (format!("[\n{a},\n]"), 1, ["stdin:3: ", "expected a record, got `]`"]),
        (format!("[,{a}]"), 1, ["stdin:1: ", "expected a record, got `,`"]),
        (
            "[\n{\"id\":\"a\",\n\"tokens\":[7}]".to_string(),
            1,
            ["stdin:3: ", "expected `]`, got `}`"],
        ),
        ("[{\"id\":\"a\n\"}]".to_string(), 1, ["stdin:1: ", "control character"]),
        // A bad record is one, wherever it stands.
        (
            format!("[\n{a},\n\n{{\n\"tokens\":\n[1.5]}},{b}]"),
            1,
            ["stdin: record 2: ", "1.5 is not an int32"],
        ),
        (format!("[\n{a},\n{{\"tokens\":[1 2]}}]"), 1, ["stdin: record 2: ", ""]),
        (format!("[{a},\n7]"), 1, ["stdin: record 2: ", "a number where an object"]),
        (
            "{\n\"id\":\"a\",\n\"tokens\":[7]}\n{\"tokens\":\n[x]}\n".to_string(),
            1,
            ["stdin:4: ", ""],
        ),
        ("{\n\"id\":\"a\",\n\"tokens\":[7]".to_string(), 75, ["stdin:1: ", "is cut"]),
        ("{\n\"id\":\"a\",\n\"tok".to_string(), 75, ["stdin:1: ", "is cut"]),
    ] {
        ds_cat(&text).run().fails(code, &parts);
    }
    let skipped = |text: &str| {
        let text = text.replace("\"segments\":null", "\"segments\":[]");
        let run = tool("span-mask").input(text).args(&["--on-error", "skip"]).run().ok();
        assert_eq!(run.records().len(), 2);
    };
    skipped(&format!("[{a},\n{{\"tokens\":[1.5]}},\n{b}]"));
    // A broken line is a bad record among lines.
    let lines = format!("{{\"id\":\"x\",\n{a}\n{b}\n");
    skipped(&lines);
}

#[test]
fn an_array_without_records_is_an_empty_stream() {
    for text in ["[]", " [ ] \n"] {
        ds_cat(text).run().fails(75, &["the JSON array has no records; try: --allow-empty"]);
        ds_cat(text).args(&["--allow-empty"]).run().silent();
    }
}

#[test]
fn other_forms_are_not_cut() {
    let dir = TempDir::new();
    let run = |command: &str| bash(&format!("cd '{}'; {command}", dir.path().display()));
    dir.write("x.json", format!("[{}]", good("a")));
    run("ds-cat x.json --slice 0/2").fails(
        2,
        &["x.json: cannot be cut into slices", "try: jq -c '.[]' x.json > x.json.ndjson"],
    );
    if installed("jq") {
        run("jq -c '.[]' x.json > x.json.ndjson; ds-cat x.json.ndjson --slice 0/1").silent();
    }
}

#[test]
fn an_array_is_not_held_in_memory() {
    let dir = TempDir::new();
    let record =
        serde_json::to_string_pretty(&json!({"id": "a", "tokens": vec![7; 4000]})).unwrap();
    let text = format!("[{}]", vec![record.as_str(); 5000].join(","));
    assert!(text.len() > 100 << 20);
    dir.write("x", text);
    let peak = |args: &[&str]| {
        let mut child = tool("ds-cat").args(args).in_directory(dir.path()).spawn();
        drop(child.stdin.take());
        let mut out = child.stdout.take().unwrap();
        let drained = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        let peak = peak_to_end(&mut child) / 1024;
        drained.join().unwrap().unwrap();
        assert!(child.wait().unwrap().success());
        peak
    };
    assert!(peak(&["x"]) < 60);
    let long = format!("[{{\"id\":\"{}\",\"tokens\":[7]}}]", "x".repeat(1 << 20));
    let bounded = ds_cat(long).args(&["--max-record-bytes", "1000"]).run();
    bounded.fails(1, &["stdin: record 1: ", "--max-record-bytes"]);
}
