//! chat-tok for gpt-oss, which is built in: the tokens of `chat-harmony | harmony-tok`.

use serde_json::{Value, json};

use crate::common::models::{CHATML, write_model};
use crate::common::{TempDir, bash, data, tool};

/// Rows of public data sets, of all shapes, five of each; then the cases of data/chat.
fn chats() -> String {
    let sets = include_str!("../chat_harmony/data_sets.jsonl");
    let row = |line: &str| serde_json::from_str::<Value>(line).unwrap()["row"].to_string();
    let rows = sets.lines().map(row);
    let mut chats: String =
        rows.flat_map(|row| (0..5).map(move |n| row.replace('%', &n.to_string()) + "\n")).collect();
    let cases =
        data("chat").map(|folder| std::fs::read_to_string(folder.join("cases.ndjson")).unwrap());
    for line in cases.iter().flat_map(|cases| cases.lines()) {
        let case: Value = serde_json::from_str(line).unwrap();
        chats += &format!("{}\n", case["input"]);
    }
    chats
}

/// The same records byte for byte, and the same refusals; in Arrow, the same of everything that the header says of them.
#[test]
fn tokens_are_those_of_the_two_filters() {
    let dir = TempDir::new();
    let chats = dir.write("chats.ndjson", chats());
    for options in [
        "",
        "--turns all",
        "--turns last --take chosen,wanted",
        "--turns completion --ignore-field images",
        "--turns all,prompts --set keep_reasoning=true --set reasoning_effort=high --date 2025-01-01",
        "--calls hermes --content-is-text",
    ] {
        let flags = |name: &str| {
            let rejects = dir.at(name);
            format!("{options} --on-error skip --rejects {rejects} {chats}")
        };
        let two = format!(
            "set -o pipefail; chat-harmony --to arrow {} | harmony-tok",
            flags("of_two.ndjson")
        );
        let one = format!("chat-tok --model gpt-oss {}", flags("of_one.ndjson"));
        let [of_two, of_one] = [&two, &one].map(|pipe| bash(pipe).ok());
        assert!(of_one.stdout == of_two.stdout, "{options}");
        assert!(of_one.records().len() > 100, "{options}");
        let reasons = |name: &str| -> Vec<Value> {
            let text = dir.text(name);
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines.map(|rejected| rejected["reason"].clone()).collect()
        };
        assert_eq!(reasons("of_one.ndjson"), reasons("of_two.ndjson"), "{options}");
        let stated = |pipe: &str| {
            let code = format!("{pipe} --to arrow > {}", dir.at("s.arrow"));
            bash(&code).ok();
            let manifest = format!(
                "span-mask -q --to arrow {} | mmidx-write -q --overwrite --root {} --shard shard_00",
                dir.at("s.arrow"),
                dir.at("root")
            );
            bash(&manifest).ok();
            let mut part = dir.json("root/parts/shard_00.json");
            // (What made them, and when.)
            for name in ["provenance", "run"] {
                part.as_object_mut().unwrap().remove(name);
            }
            part
        };
        assert_eq!(stated(&one), stated(&two), "{options}");
    }
}

/// Everything behind it takes its tokens for what they are.
#[test]
fn filters_behind_it_know_the_tokens() {
    let dir = TempDir::new();
    let chats = "scripts/example/chats.ndjson";
    let root = dir.at("root");
    let pipe = format!(
        "set -o pipefail; chat-tok --model gpt-oss {chats} --to arrow | span-mask --span commentary=3 --to arrow |
         mmidx-write --root {root} --shard shard_00 && ds-manifest {root} && ds-check {root}"
    );
    bash(&pipe).ok();
    assert!(bash(&format!("ds-view {root} --nth 1")).ok().text().contains(" R│ "));
    let decoded = bash(&format!("chat-tok --model gpt-oss {chats} | harmony-tok --decode")).ok();
    let text = decoded.records()[0]["text"].as_str().unwrap().to_string();
    assert!(
        text.starts_with("<|start|>system") && text.ends_with("<|return|><|endoftext|>"),
        "{text}"
    );
    let threads =
        |jobs: &str| tool("chat-tok").args(&["--model", "gpt-oss", "-j", jobs, chats]).run().ok();
    assert!(threads("1").stdout == threads("3").stdout);
}

/// NDJSON has no header: whoever says whose tokens they are may name the model that is built in, too.
#[test]
fn the_built_in_model_may_be_named_everywhere() {
    let dir = TempDir::new();
    let chats = "scripts/example/chats.ndjson";
    let prefix = dir.at("p");
    let masked = format!("set -o pipefail; chat-tok -q --model gpt-oss {chats} | span-mask -q");
    bash(&format!("{masked} | mmidx-write -q --prefix {prefix} --model gpt-oss")).ok();
    assert_eq!(dir.json("p.part.json")["source"]["tokenizer"]["type"], "o200k_harmony");
    bash(&format!(
        "{masked} | seq-pack -q -o {} --form trl -n 512 --model gpt-oss",
        dir.at("r.parquet")
    ))
    .ok();
    bash(&format!("{masked} | ds-check --model gpt-oss -")).ok();
    bash(&format!("{masked} | ds-view --model gpt-oss -")).ok();
    bash(&format!("{masked} | harmony-tok --decode --model gpt-oss")).ok();
    let model = write_model(&dir, "m", CHATML);
    let others = format!("set -o pipefail; chat-tok -q --model {model} {chats} | span-mask -q");
    for reader in [format!("mmidx-write -q --prefix {prefix}2"), "harmony-tok --decode".to_string()]
    {
        let run = bash(&format!("{others} | {reader} --model gpt-oss"));
        run.exits(2, &["--model gpt-oss: these are tokens of another tokenizer"]);
    }
}

#[test]
fn a_model_must_be_named() {
    let run = |arguments: &[&str]| tool("chat-tok").args(arguments).input("{}\n").run_whatever();
    run(&[]).fails(2, &["--model is missing", "try: --model gpt-oss, or --model DIR"]);
    for option in [
        "--template x",
        "--stop x",
        "--reasoning keep",
        "--arguments text",
        "--content parts",
        "--trust-generation yes",
    ] {
        let arguments =
            [&["--model", "gpt-oss"], &option.split(' ').collect::<Vec<_>>()[..]].concat();
        let name = option.split(' ').next().unwrap();
        run(&arguments)
            .fails(2, &[&format!("{name} is for the template of a folder"), "try: --model DIR"]);
    }
    run(&["--model", "gpt-oss", "--set", "enable_thinking=false"])
        .fails(2, &["--set enable_thinking: gpt-oss has no such variable"]);
    // A folder of that name is another model.
    run(&["--model", "./gpt-oss"]).fails(2, &["gpt-oss"]);
    // Nothing that names a model is left out of the header.
    let stated = json!({"turns": "fit", "reasoning_effort": "medium", "keep_reasoning": false});
    let dir = TempDir::new();
    let chats = "scripts/example/chats.ndjson";
    let stream = dir.at("s.arrow");
    bash(&format!("chat-tok --model gpt-oss {chats} --to arrow > {stream}")).ok();
    let header = bash(&format!("strings -n 20 {stream} | grep -a reasoning_effort")).ok().text();
    for (name, value) in stated.as_object().unwrap() {
        assert!(header.contains(&format!("\"{name}\":{value}")), "{header}");
    }
}
