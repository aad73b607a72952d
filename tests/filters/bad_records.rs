//! Bad records: each has its place and its reason, ends the run or is dropped, counted and kept.

use serde_json::{Value, json};

use crate::common::{
    TempDir, bash_with, conversation, conversations, oracle, tool, unchecked_sink, without_places,
};

/// Every bad conversation of the contract, and its message.
const BAD: [(&str, &str); 21] = [
    (r#"{"messages":[]}"#, "the id is missing or null"),
    (
        r#"{"id":null,"messages":[{"role":"assistant","channel":"final","content":"x"}]}"#,
        "the id is missing or null",
    ),
    (
        r#"{"id":"a"}"#,
        "(a) messages is missing or null; try: chat-harmony before it, for chats of other shapes",
    ),
    (
        r#"{"id":"a","messages":null}"#,
        "(a) messages is missing or null; try: chat-harmony before it, for chats of other shapes",
    ),
    (r#"{"id":"a","messages":[}"#, "invalid JSON: expected a value at byte 22"),
    (r#"{"id":"a","messages":[]"#, "invalid JSON: "),
    (r#"{"id":"a","messages":[]} {}"#, "invalid JSON: "),
    (
        r#"{"id":"a","messages":[{"role":"assistant","channel":"final","content":"\ud800"}]}"#,
        "(a) message 0: lone surrogate",
    ),
    (r#"{"id":"\ud800","messages":[]}"#, "invalid JSON: lone surrogate at byte 7"),
    (
        r#"{"id":"a","messages":[{"role":"user","content":"q"},{"role":"tool","name":"x","content":"x"}]}"#,
        "(a) message 1: role tool is not allowed by synth-kd-v1",
    ),
    (
        r#"{"id":"a","messages":[{"role":"robot","content":"x"}]}"#,
        r#"(a) message 0: unknown role "robot""#,
    ),
    (
        r#"{"id":"a","messages":[{"role":"assistant","channel":"commentary","content":"x"}]}"#,
        r#"(a) message 0: assistant in channel "commentary", not analysis or final"#,
    ),
    (
        r#"{"id":"a","messages":[{"role":"assistant","content":"x"}]}"#,
        "(a) message 0: assistant without a channel",
    ),
    (r#"{"id":"a","messages":[{"role":"user","content":"x"}]}"#, "(a) no assistant message"),
    (r#"{"id":"a","messages":[]}"#, "(a) no assistant message"),
    (r#"{"id":"a","messages":{}}"#, "(a) messages: an object instead of an array"),
    (r#"{"id":"a","messages_json":"{}"}"#, "(a) messages is missing"),
    (r#"{"id":"a","messages_json":"nonsense"}"#, "(a) invalid JSON: expected a value at byte 0"),
    (r#"{"id":1.5,"messages":[]}"#, "id: 1.5 where a string should be"),
    (r#"[]"#, "an array where an object should be"),
    (
        r#"{"id":"a","messages":[{"role":"assistant","channel":"final"}]}"#,
        "(a) message 0: content is missing",
    ),
];

fn good(number: usize) -> String {
    conversation(number).to_string() + "\n"
}

#[test]
fn every_bad_conversation_has_its_place_and_reason() {
    let dir = TempDir::new();
    for (line, reason) in BAD {
        let file = dir.write("in.ndjson", good(0) + "\n" + line + "\n" + &good(1));
        for jobs in ["1", "2"] {
            let run = tool("harmony-tok").args(&[&file, "-j", jobs]).run();
            run.fails(1, &[&format!("harmony-tok: {file}:3: {reason}")]);
        }
        // Over Arrow pipes the sink learns why its producer failed, and has nothing to add.
        let out = dir.at("out/p");
        let script = format!("harmony-tok < {file} | span-mask | mmidx-write --prefix {out}");
        let piped = bash_with(&script, &[("GRISTMILL_TO", "arrow")]);
        piped.fails(1, &[&format!("harmony-tok: stdin:3: {reason}")]);
        assert_eq!(dir.files(), ["in.ndjson"]);
    }
}

/// The skip of all of them: counts, places, the file of rejects, and what is left.
#[test]
fn skipped_records_are_counted_and_kept() {
    let dir = TempDir::new();
    let mut lines = good(0);
    for (number, (line, _)) in BAD.iter().enumerate() {
        lines += &format!("{line}\n{}", good(number + 1));
    }
    let file = dir.write("in.ndjson", &lines);
    let all: String = (0..=BAD.len()).map(good).collect();
    let expected = without_places(&tool("harmony-tok").input(&all).run().silent().text());
    for jobs in ["1", "2"] {
        let rejects = dir.at("rejects");
        let run = tool("harmony-tok")
            .args(&[&file, "--on-error", "skip", "--rejects", &rejects, "-j", jobs])
            .run()
            .ok();
        assert_eq!(without_places(&run.text()), expected);
        assert!(
            run.stderr.starts_with(&format!(
                "harmony-tok: {} bad records dropped: {file}:2: the id is missing or null; try: --id-field NAME, or chat-harmony, which makes ids; \
                 {file}:4: the id is missing or null; try: --id-field NAME, or chat-harmony, which makes ids; {file}:6: (a) messages is missing or null; try: chat-harmony before it, for chats of other shapes; ...",
                BAD.len()
            )),
            "{run:?}"
        );
        let kept = dir.records("rejects");
        assert_eq!(kept.len(), BAD.len());
        for (number, (kept, (line, reason))) in kept.iter().zip(BAD).enumerate() {
            assert_eq!((&kept["source"], &kept["line"]), (&json!(file), &json!(2 + 2 * number)));
            let (id, reason) = match reason.strip_prefix("(a) ") {
                Some(reason) => (json!("a"), reason),
                None => (Value::Null, reason),
            };
            assert_eq!(kept["id"], id);
            assert!(kept["reason"].as_str().unwrap().starts_with(reason), "{kept} {reason}");
            assert!(!kept["input"].is_null(), "{kept}");
            if serde_json::from_str::<Value>(line).is_err() && !line.contains("ud800") {
                assert_eq!(kept["input"], line);
            }
        }
        // The next run replaces the file, also when nothing is rejected.
        let again = tool("harmony-tok")
            .args(&["--on-error", "skip", "--rejects", &rejects])
            .input(&all)
            .run();
        again.silent();
        assert_eq!(dir.read("rejects"), b"");
    }
    tool("harmony-tok")
        .args(&["--rejects", &dir.at("x")])
        .input(all)
        .run()
        .says(2, "harmony-tok: --rejects needs --on-error skip");
}

/// In Parquet and Arrow files a record has a number, in a slice too.
#[test]
fn records_of_files_are_numbered() {
    let dir = TempDir::new();
    let mut lines = String::new();
    for number in 0..9 {
        let messages = json!({"messages": conversation(number)["messages"]}).to_string();
        let text = if number == 6 { "{\"messages\": {}}".to_string() } else { messages };
        let id = if number == 3 { Value::Null } else { json!(format!("s-{number}")) };
        lines += &(json!({"id": id, "messages_json": text}).to_string() + "\n");
    }
    let ndjson = dir.write("in.ndjson", lines);
    let file = |name: &str| dir.at(name);
    dir.bash("set -e; ds-cat in.ndjson --to arrow > in.arrows; ds-cat in.ndjson --to parquet -o in.parquet")
    .silent();
    for name in ["in.parquet", "in.arrows"] {
        let input = file(name);
        let run = |flags: &[&str]| tool("harmony-tok").args(&[&input]).args(flags).run();
        run(&[]).says(
            1,
            &format!(
                "harmony-tok: {input}: record 4: the id is missing or null; try: --id-field NAME, or chat-harmony, which makes ids"
            ),
        );
        run(&["--slice", "1/2"]).says(
            1,
            &format!(
                "harmony-tok: {input}: record 7 (s-6): messages: an object instead of an array"
            ),
        );
        let rejects = file("rejects");
        let skipped = run(&["--on-error", "skip", "--rejects", &rejects]).ok();
        assert_eq!(skipped.records().len(), 7);
        assert!(skipped.stderr.starts_with("harmony-tok: 2 bad records dropped: "), "{skipped:?}");
        let kept = dir.records("rejects");
        assert_eq!((&kept[0]["record"], &kept[0]["id"]), (&json!(4), &Value::Null));
        assert_eq!((&kept[1]["record"], &kept[1]["id"]), (&json!(7), &json!("s-6")));
    }
    let skipped = tool("harmony-tok").args(&[&ndjson, "--on-error", "skip"]).run().ok();
    assert!(skipped.stderr.contains(":4: the id is missing or null; try: "), "{skipped:?}");
}

/// Records after a limit are not looked at.
#[test]
fn limits_end_before_what_is_bad() {
    let dir = TempDir::new();
    let file = dir.write("in.ndjson", conversations(8) + "bad\n" + &conversations(8));
    let run = |flags: &[&str]| tool("harmony-tok").args(&[&file]).args(flags).run();
    for jobs in ["1", "2"] {
        assert_eq!(run(&["--limit", "8", "-j", jobs]).silent().records().len(), 8);
        run(&["--limit", "9", "-j", jobs]).fails(1, &["in.ndjson:9: "]);
        for (limit, kept) in [("9", 8), ("10", 9)] {
            let run = run(&["--limit", limit, "--on-error", "skip", "-j", jobs]);
            assert_eq!(run.ok().records().len(), kept);
        }
        assert_eq!(run(&["--limit", "0", "-j", jobs]).silent().stdout, b"");
        let some = run(&["--max-tokens", "200", "-j", jobs]).silent().records();
        let tokens = |records: &[Value]| {
            records.iter().map(|r| r["tokens"].as_array().unwrap().len()).sum::<usize>()
        };
        assert!(tokens(&some) >= 200 && tokens(&some[..some.len() - 1]) < 200);
        run(&["--max-tokens", "100000", "-j", jobs]).fails(1, &["in.ndjson:9: "]);
    }
}

#[test]
fn mmidx_write_and_span_mask_skip_too() {
    let dir = TempDir::new();
    let lines = [
        r#"{"id":"a","tokens":[1,2,3],"segments":null,"loss_mask":[0,1,0],"span_id":[0,1,0]}"#,
        r#"{"id":"b","tokens":[],"segments":null,"loss_mask":[],"span_id":[]}"#,
        r#"{"id":"c","tokens":[1,2],"segments":null,"loss_mask":[0],"span_id":[0]}"#,
        r#"{"id":"d","tokens":[1,2,3],"segments":null,"loss_mask":[1,1,0],"span_id":[0,1,0]}"#,
        r#"{"id":"e","tokens":[1,2],"segments":null,"loss_mask":[0,1],"span_id":[0,1]}"#,
        r#"{"id":"f","tokens":[1,2],"segments":null}"#,
        r#"{"id":null,"tokens":[1,2,3],"segments":null,"loss_mask":[0,1,0],"span_id":[0,1,0]}"#,
        r#"{"id":"g","tokens":[1,-2],"segments":null,"loss_mask":[0,0],"span_id":[0,0]}"#,
    ];
    let reasons = [
        "(b) no tokens",
        "(c) 2 tokens, but 1 in loss_mask and 1 in span_id",
        "(d) loss_mask is 1 at 0, where span_id is 0",
        "(e) the masks are token-aligned; try: span-mask --align label",
        "(f) no masks",
        "the id is missing or null; the split needs it",
        "(g) token -2 at 1 is not in [0, 201088)",
    ];
    let root = dir.at("root");
    let write = |input: &str, flags: &[&str]| {
        unchecked_sink().args(&["--root", &root, "--shard", "s"]).args(flags).input(input).run()
    };
    for (line, reason) in lines[1..].iter().zip(reasons) {
        let input = format!("{}\n{line}\n", lines[0]);
        // (span-mask makes masks: the way on is the whole command line.)
        let way = format!(
            "; try: ... | span-mask | mmidx-write - --no-check --root {root} --shard s, or --tokens-only"
        );
        let way = if reason == "(f) no masks" { way.as_str() } else { "" };
        write(&input, &[]).says(1, &format!("mmidx-write: stdin:2: {reason}{way}"));
        assert!(dir.files().is_empty(), "{:?}", dir.files());
    }
    let all = lines.join("\n") + "\n";
    let rejects = dir.at("rejects");
    let run = write(&all, &["--on-error", "skip", "--rejects", &rejects]).ok();
    assert!(
        run.stderr.starts_with("mmidx-write: 7 bad records dropped: stdin:2: (b) no tokens; "),
        "{run:?}"
    );
    let part = dir.json("root/parts/s.json");
    // What was dropped before came not with the lines.
    let unknown = json!({"read": null, "written": 1, "rejected": null, "skipped": null});
    assert_eq!(part["records"], unknown);
    assert_eq!(dir.text("rejects").lines().count(), 7);

    let masked = tool("span-mask").input(format!("{}\n", lines[0])).run();
    masked.says(1, "span-mask: stdin:1: (a) has masks already");
    let bad_segment = r#"{"id":"s","tokens":[1,2],"segments":[{"role":"user","channel":null,"start":1,"end":3}]}"#;
    tool("span-mask").input(format!("{bad_segment}\n")).run().says(
        1,
        "span-mask: stdin:1: (s) segment [1, 3) does not lie after the one before it within 2 tokens",
    );
}

#[test]
fn the_number_of_records_may_be_expected() {
    let dir = TempDir::new();
    let line =
        r#"{"id":"a","tokens":[1,2,3],"segments":null,"loss_mask":[0,1,0],"span_id":[0,1,0]}"#;
    let prefix = dir.at("p");
    let write = |count: usize| {
        let input = format!("{line}\n").repeat(count);
        unchecked_sink().args(&["--prefix", &prefix, "--expect-records", "3"]).input(input).run()
    };
    write(2).says(75, "mmidx-write: expected 3 records, got 2");
    write(4).says(1, "mmidx-write: expected 3 records, got 4");
    assert!(dir.files().is_empty());
    write(3).silent();
}

/// The sink reports what the whole pipeline dropped: an Arrow stream carries the count after its
/// records, where other readers have stopped.
#[test]
fn a_part_manifest_counts_what_was_dropped_before_the_sink() {
    let place = TempDir::new();
    let lines = good(0) + "{\"id\":\"b\",\"messages\":[]}\n" + &good(1) + "{}\n";
    let input = place.write("in.ndjson", lines);
    let prefix = place.at("out");
    bash_with(
        &format!(
            "harmony-tok {input} --on-error skip | span-mask | ds-cat | \
             mmidx-write --prefix {prefix}"
        ),
        &[("GRISTMILL_TO", "arrow")],
    )
    .ok();
    let records = &place.json("out.part.json")["records"];
    assert_eq!(records, &serde_json::json!({"read": 4, "written": 2, "rejected": 2}));
}

/// Texts that are stored as what they share with the one before: of a damaged page nothing else is
/// read than pyarrow reads, and what it refuses is refused.
#[test]
fn damaged_prefixes_are_no_other_texts() {
    let Some(python) = crate::common::python() else { return };
    let dir = TempDir::new();
    oracle(&python, "delta.py", &[&dir.at("")]).ok();
    for version in ["1.0", "2.0"] {
        let good = dir.at(&format!("good-{version}.parquet"));
        assert_eq!(tool("ds-cat").args(&[&good]).run().silent().records().len(), 60);
    }
    let (mut number, mut refused) = (0, 0);
    while dir.path().join(format!("{number}.json")).exists() {
        let came = tool("ds-cat").args(&[&dir.at(&format!("{number}.parquet"))]).run();
        match dir.json(&format!("{number}.json")) {
            serde_json::Value::Null => {
                came.fails(1, &["ds-cat: "]);
                refused += 1;
            }
            // Bytes of other meanings may be refused where pyarrow does not look at them.
            _ if came.code() == Some(1) => {}
            rows => assert_eq!(serde_json::Value::from(came.records()), rows, "{number}"),
        }
        number += 1;
    }
    assert!(number > 500 && refused > 100, "{refused} of {number}");
}
