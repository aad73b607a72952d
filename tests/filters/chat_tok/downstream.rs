//! What the filters behind it do with tokens that are not o200k's.

use serde_json::{Value, json};

use crate::common::models::{CHATML, write_model, write_model_with};
use crate::common::{TempDir, bash, tool};

/// A root of chats, the folders of their model and of another one, and a prefix of the same chats, which keeps no
/// tokenizer.
fn root(dir: &TempDir) -> [String; 4] {
    let model = write_model(dir, "model", CHATML);
    let other = write_model_with(dir, "other", CHATML, &[("a", "b")]);
    let chats = dir.write("chats.jsonl", super::chats(7, 60, false));
    let [root, masked, prefix] = ["root", "masked.arrows", "bare/p"].map(|name| dir.at(name));
    bash(&format!(
        "set -eo pipefail; export GRISTMILL_TO=arrow
         chat-tok --turns all --model {model} {chats} | span-mask --span commentary=3 > {masked}
         mmidx-write --root {root} --shard s --valid-fraction 0 {masked}
         ds-manifest {root}
         mmidx-write --prefix {prefix} {masked}"
    ))
    .ok();
    [root, model, other, prefix]
}

#[test]
fn checks_find_nothing_wrong_and_say_what_they_cannot_check() {
    let dir = TempDir::new();
    let [root, _, _, prefix] = root(&dir);
    for (path, is_told) in [(&root, false), (&dir.at("masked.arrows"), false), (&prefix, true)] {
        let run = tool("ds-check").args(&[path]).run().ok();
        let told = run.text().contains("tokens of another tokenizer than o200k");
        assert_eq!(told, is_told, "{}", run.text());
    }
    // The records of the root are those of the stream.
    tool("ds-diff").args(&[&root, &dir.at("masked.arrows")]).run().ok();
}

#[test]
fn rows_have_every_token() {
    let dir = TempDir::new();
    let [root, _, _, prefix] = root(&dir);
    let rows = dir.at("rows.parquet");
    tool("seq-pack")
        .args(&["--form", "trl", "--seq-length", "4096", &format!("{root}/train"), "-o", &rows])
        .run()
        .ok();
    tool("ds-check").args(&[&rows]).run().ok();
    let count = |path: &str| -> usize {
        let records = tool("ds-cat").args(&[path]).run().ok().records();
        records.iter().map(|record| record["tokens"].as_array().unwrap().len()).sum()
    };
    assert_eq!(count(&rows), count(&root));
    let padded = ["--form", "megatron-bridge", "--pad-seq-to-mult", "8", "--seq-length", "4096"];
    let run = tool("seq-pack").args(&padded).args(&[&prefix, "-o", &dir.at("x.parquet")]).run();
    let cause =
        "--pad-seq-to-mult pads with the eos_token of the tokens' model, which is not at hand";
    run.fails(2, &[cause, "try: --model DIR"]);
}

#[test]
fn ids_are_not_read_as_those_of_another_tokenizer() {
    let dir = TempDir::new();
    let [_, model, other, prefix] = root(&dir);
    let view = |flags: &[&str]| tool("ds-view").args(&[&prefix, "--nth", "0"]).args(flags).run();
    let shown = view(&[]).ok();
    assert!(shown.stderr.contains("ids are shown; try: --model DIR"), "{}", shown.stderr);
    assert!(shown.text().contains("<2") && !shown.text().contains("im_start"), "{}", shown.text());
    let shown = view(&["--model", &model]).silent().text();
    assert!(shown.contains("<|im_end|>"), "{shown}");
    let refused = "its sha256 is ";
    view(&["--model", &other]).fails(2, &["other/tokenizer.json: ", refused]);
    let decode = |flags: &[&str]| {
        let arguments = [&["--decode", prefix.as_str()][..], flags].concat();
        tool("harmony-tok").args(&arguments).run()
    };
    decode(&[]).fails(2, &["tokens of another tokenizer than o200k; try: --model DIR"]);
    decode(&["--model", &other]).fails(2, &["other/tokenizer.json: ", refused]);
    let decoded = decode(&["--model", &model]).silent().records();
    let chats = dir.text("chats.jsonl");
    assert_eq!(decoded.len(), chats.lines().count());
    for (decoded, chat) in decoded.iter().zip(chats.lines()) {
        let chat: Value = serde_json::from_str(chat).unwrap();
        assert_eq!(decoded["id"], chat["id"]);
        let text = decoded["text"].as_str().unwrap();
        for message in chat["messages"].as_array().unwrap() {
            assert!(text.contains(message["content"].as_str().unwrap()), "{text}");
        }
    }
    let of_stream = ["--decode", "--model", &model, "--to", "ndjson", &dir.at("masked.arrows")];
    for (stream, root) in
        tool("harmony-tok").args(&of_stream).run().silent().records().iter().zip(&decoded)
    {
        let parts = stream["messages"].as_array().unwrap().iter();
        let parts: String = parts.map(|part| part["text"].as_str().unwrap()).collect();
        assert_eq!(
            (parts.as_str(), &stream["text"]),
            (root["text"].as_str().unwrap(), &root["text"])
        );
        let is_trained = |of: &Value| !of["spans"].as_array().unwrap().is_empty();
        assert_eq!(is_trained(stream), is_trained(root));
        assert_eq!(stream["messages"], root["messages"]);
    }
}

#[test]
fn small_vocabularies_are_written_as_two_bytes() {
    let dir = TempDir::new();
    let [_, model, ..] = root(&dir);
    let pipe = format!(
        "set -eo pipefail; chat-tok --model {model} {} --to arrow | mmidx-write --tokens-only --prefix {}",
        dir.at("chats.jsonl"),
        dir.at("t/p")
    );
    bash(&pipe).silent();
    assert_eq!(dir.json("t/p.part.json")["dtype"], json!("uint16"));
    let again = tool("ds-cat").args(&[&dir.at("t/p")]).run().ok().records();
    let made =
        tool("chat-tok").args(&["--model", &model, &dir.at("chats.jsonl")]).run().ok().records();
    assert!(again.iter().zip(&made).all(|(a, b)| a["tokens"] == b["tokens"]));
}

#[test]
fn without_a_header_the_model_is_named() {
    let dir = TempDir::new();
    let [_, model, other, _] = root(&dir);
    let masked = dir.at("masked.ndjson");
    bash(&format!("ds-cat {} -o {masked}", dir.at("masked.arrows"))).silent();
    // Each record says whose tokens it has. Older ones do not.
    let unnamed = dir.at("unnamed.ndjson");
    let lines = dir.text("masked.ndjson");
    let lines: Vec<String> = lines
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            let name = record.as_object_mut().unwrap().remove("tokenizer").unwrap();
            assert!(name.as_str().unwrap().starts_with("hf:"), "{name}");
            record.to_string() + "\n"
        })
        .collect();
    dir.write("unnamed.ndjson", lines.concat());
    let out = dir.at("named/p");
    let write = |input: &str, flags: &[&str]| {
        tool("mmidx-write").args(&["--prefix", &out, input]).args(flags).run()
    };
    let told =
        "these are no tokens of Harmony, and it is not known whose they are; try: --model DIR";
    write(&unnamed, &[]).fails(1, &[told]);
    write(&unnamed, &["--model", &model]).ok();
    write(&masked, &["--overwrite"]).ok();
    assert_eq!(dir.json("named/p.part.json")["source"]["tokenizer"]["type"], "huggingface");
    write(&masked, &["--overwrite", "--model", &model]).ok();
    let part = dir.json("named/p.part.json");
    let wanted = dir.json("root/parts/s.json");
    assert_eq!(
        part["source"]["tokenizer"]["model_sha256"],
        wanted["source"]["tokenizer"]["model_sha256"]
    );
    for input in [&masked, &unnamed] {
        tool("ds-check").args(&[input, "--model", &model]).run().ok();
    }
    let found = tool("ds-check").args(&[&masked]).run().ok().text();
    assert!(found.contains("tokens of another tokenizer"), "{found}");
    let found = tool("ds-check").args(&[&unnamed]).run();
    assert!(found.code() == Some(1) && found.text().contains("stream.tokens.unknown"), "{found:?}");
    let refused = tool("mmidx-write").args(&["--prefix", &dir.at("x"), "--model", &other]);
    refused.args(&[&dir.at("masked.arrows")]).run().fails(2, &["its sha256 is "]);
    // Nobody takes them for o200k's.
    for (input, model_flags) in [(&masked, &["--model", &other]), (&unnamed, &["--model", &model])]
    {
        let is_other = input == &masked;
        for viewer in ["ds-view", "harmony-tok --decode"] {
            let run = |flags: &[&str]| bash(&format!("{viewer} {input} {}", flags.join(" ")));
            let shown = run(&[]);
            assert!(
                shown.stderr.contains("try: --model DIR")
                    || shown.text().contains("try: --model DIR")
            );
            assert!(!shown.text().contains("im_start"), "{shown:?}");
            let named = run(model_flags);
            match is_other {
                true => drop(named.fails(2, &["other/tokenizer.json: its sha256 is "])),
                false => assert!(named.ok().text().contains("im_start")),
            }
        }
    }
    let pack = |input: &str, flags: &[&str]| {
        tool("seq-pack").args(&["-o", &dir.at("u.parquet"), input]).args(flags).run()
    };
    pack(&unnamed, &[]).fails(1, &["; try: --model DIR"]);
    pack(&unnamed, &["--keep-eod"]).fails(1, &[told]);
    pack(&masked, &[]).ok();
    // One stream has tokens of one tokenizer.
    let harmony = r#"{"id":"h","messages":[{"role":"user","content":"hi"}]}"#;
    let harmony = bash(&format!("harmony-tok --policy chat <<< '{harmony}'")).ok().text();
    dir.write("two.ndjson", format!("{harmony}{}", lines[0]));
    dir.write(
        "owt.ndjson",
        format!("{}{harmony}", lines[0].replacen('{', "{\"tokenizer\":\"hf:1\",", 1)),
    );
    for (input, line) in [("two", 2), ("owt", 2)] {
        let input = dir.at(&format!("{input}.ndjson"));
        let cause = format!("{input}:{line}: its tokenizer is ");
        if input.ends_with("owt.ndjson") {
            tool("ds-cat").args(&[&input]).run().fails(1, &[&cause]);
        }
    }
    let rows =
        ["--form", "trl", "--seq-length", "4096", "-o", &dir.at("r.parquet"), "--model", &model];
    tool("seq-pack").args(&rows).args(&[&masked]).run().ok();
}
