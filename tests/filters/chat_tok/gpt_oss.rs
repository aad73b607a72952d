//! chat-tok with the official template of gpt-oss, beside chat-harmony, which does not read it.

use std::collections::HashMap;

use serde_json::Value;

use crate::common::models::real_model;
use crate::common::{TempDir, bash, python, python_code, write_vocabulary};

/// The template as the package trl has it.
fn template(python: &std::path::Path) -> String {
    let code = "import importlib.util; print(importlib.util.find_spec('trl').submodule_search_locations[0], end='')";
    format!("{}/chat_templates/gptoss.jinja", python_code(python, code, &[]).ok().text())
}

fn by_id(records: Vec<Value>) -> HashMap<String, Value> {
    let id = |record: &Value| record["id"].as_str().unwrap().to_string();
    records.into_iter().map(|record| (id(&record), record)).collect()
}

/// The same tokens for each chat that both take. What one of them refuses, the template loses or raises for, or it
/// spells a special token.
#[test]
fn tokens_are_those_of_chat_harmony() {
    let (Some(python), Some(model)) = (python(), real_model("gptoss")) else { return };
    let dir = TempDir::new();
    write_vocabulary(dir.path());
    let vocabulary = dir.path().to_str().unwrap();
    let chats = format!("{vocabulary}/chats.ndjson");
    bash(&format!(
        "TIKTOKEN_ENCODINGS_BASE={vocabulary} '{}' {}/tests/oracle/chats.py random 20261127 1200 {vocabulary}",
        python.display(),
        env!("CARGO_MANIFEST_DIR")
    ))
    .ok();
    let flags = format!("-q --turns all --date 2026-01-01 --on-error skip {chats}");
    let harmony = format!("chat-harmony --style exact {flags} | harmony-tok --policy chat");
    let template = template(&python);
    let tok = format!("chat-tok --model {model} --template {template} {flags}");
    let [harmony, tok] = [harmony, tok].map(|pipe| by_id(bash(&pipe).ok().records()));
    assert!(tok.len() > 100, "{}", tok.len());
    for (id, found) in &tok {
        let wanted = &harmony[id]["tokens"].as_array().unwrap()[..];
        // (harmony-tok ends each sequence.)
        assert_eq!(found["tokens"].as_array().unwrap(), &wanted[..wanted.len() - 1], "{id}");
    }
    let expected = dir.text("expected.ndjson");
    for (number, line) in expected.lines().enumerate() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let id = format!("r{number}");
        assert!(expected["exact"].is_string() || !tok.contains_key(&id), "{id}");
    }
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
