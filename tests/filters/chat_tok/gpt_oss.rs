//! chat-tok with a folder of gpt-oss and its official template, whose own words it writes.

use serde_json::Value;

use crate::common::models::real_model;
use crate::common::{TempDir, bash, data, oracle, python, python_code, write_vocabulary};

/// The template as the package trl has it.
fn template(python: &std::path::Path) -> String {
    let code = "import importlib.util; print(importlib.util.find_spec('trl').submodule_search_locations[0], end='')";
    format!("{}/chat_templates/gptoss.jinja", python_code(python, code, &[]).ok().text())
}

/// The texts of chats, by their ids. What the template raises for, loses, or garbles is refused.
fn texts(model: &str, template: &str, chats: &str) -> Vec<(String, String)> {
    let pipe = format!(
        "chat-tok --model {model} --template {template} -q --turns all,prompts --date 2026-01-01 --on-error skip {chats} |
         harmony-tok --decode --model {model}"
    );
    let text = |record: &Value, name: &str| record[name].as_str().unwrap().to_string();
    bash(&pipe).ok().records().iter().map(|of| (text(of, "id"), text(of, "text"))).collect()
}

/// Random chats of all shapes, and random tools: what is taken is the template's text, as transformers renders it.
#[test]
fn texts_are_those_of_the_template() {
    let (Some(python), Some(model)) = (python(), real_model("gptoss")) else { return };
    let template = template(&python);
    let dir = TempDir::new();
    write_vocabulary(dir.path());
    let place = dir.path().to_str().unwrap();
    let compare = |name: &str, prefix: &str, least: usize| {
        let expected = dir.text("expected.ndjson");
        let expected: Vec<Value> =
            expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found = texts(&model, &template, &dir.at("chats.ndjson"));
        for (id, text) in &found {
            let number: usize = id.strip_prefix(prefix).unwrap().parse().unwrap();
            assert_eq!(expected[number][name].as_str(), Some(text.as_str()), "{id}");
        }
        assert!(found.len() >= least, "{}", found.len());
    };
    bash(&format!(
        "TIKTOKEN_ENCODINGS_BASE={place} '{}' {}/tests/oracle/chats.py random 20261127 1200 {place}",
        python.display(),
        env!("CARGO_MANIFEST_DIR")
    ))
    .ok();
    compare("exact", "r", 100);
    oracle(&python, "chats.py", &["tools", "20261124", "3000", place]).ok();
    compare("text", "", 1000);
}

/// The cases of data/chat, token for token.
#[test]
fn cases_have_the_tokens_of_the_template() {
    let (Some(python), Some(model), Some(cases)) = (python(), real_model("gptoss"), data("chat"))
    else {
        return;
    };
    let template = template(&python);
    let dir = TempDir::new();
    let cases = std::fs::read_to_string(cases.join("cases.ndjson")).unwrap();
    let mut compared = 0;
    let cases: Vec<Value> = cases.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for by_date in ["2026-01-01", "2025-06-28"] {
        let of_date = cases.iter().filter(|case| case["options"]["date"] == by_date);
        let of_date: Vec<&Value> =
            of_date.filter(|case| case["tokens"].is_array() && case["refuse"].is_null()).collect();
        let records = of_date.iter().enumerate().map(|(number, case)| {
            let mut record = case["input"].clone();
            record["case"] = number.into();
            for (name, value) in case["options"].as_object().unwrap() {
                if name != "date" && name != "add_generation_prompt" {
                    record["chat_template_kwargs"][name] = value.clone();
                }
            }
            format!("{record}\n")
        });
        let chats = dir.write("chats.ndjson", records.collect::<String>());
        let pipe = format!(
            "chat-tok --model {model} --template {template} -q --turns all,prompts --id-field case --date {by_date} \
             --special token --on-error skip {chats}"
        );
        for found in bash(&pipe).ok().records() {
            let case = of_date[found["id"].as_str().unwrap().parse::<usize>().unwrap()];
            // (Where a key is there and says nothing, we give the template no key; nor what a table filled in.)
            if case["why_exact_differs"].is_null() && case["name"] != "arrow-null-args" {
                assert_eq!(found["tokens"], case["tokens"], "{}", case["name"]);
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
}

/// What stands before a call's result is no part of the call, though it has its name; the call ends with its own stop
/// token, which no file of the folder states.
#[test]
fn calls_end_before_their_results() {
    let (Some(python), Some(model)) = (python(), real_model("gptoss")) else { return };
    let dir = TempDir::new();
    let chat = r#"{"id": "a", "messages": [{"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [{"type": "function", "id": "c", "function": {"name": "get", "arguments": {"a": 1}}}]},
        {"role": "tool", "tool_call_id": "c", "content": {"v": 5}}, {"role": "assistant", "content": "done"}]}
"#;
    let chats = dir.write("c.json", chat);
    let pipe = format!(
        "set -o pipefail; export GRISTMILL_TO=arrow; chat-tok --model {model} --template {} --date 2026-01-01 {chats} |
         span-mask --span commentary=3 | harmony-tok --decode --model {model} --to ndjson",
        template(&python)
    );
    let decoded = bash(&pipe).silent().records().remove(0);
    let said = super::trained_in(&decoded).concat();
    let call = " to=functions.get<|channel|>commentary json<|message|>{\"a\": 1}<|call|>";
    assert_eq!(said, format!("{call}<|channel|>final<|message|>done<|return|>"));
    // A result that is an object is one for the template, too.
    let text = decoded["text"].as_str().unwrap();
    assert!(text.contains("<|channel|>commentary<|message|>{\"v\": 5}<|end|>"), "{text}");
}
