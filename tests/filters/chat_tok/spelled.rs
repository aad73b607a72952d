//! `--special`: texts of chats that spell control tokens.

use serde_json::{Value, json};

use crate::common::models::{CHATML, real_model, write_model};
use crate::common::{Outcome, TempDir, bash, oracle, python, tool};
use crate::filters::harmony_tok::decode::control_in;

fn say(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn run(model: &str, record: &Value, flags: &[&str]) -> Outcome {
    let tool = tool("chat-tok").args(&["--model", model]).args(flags);
    tool.input(format!("{record}\n")).run_whatever()
}

fn ids(run: Outcome) -> Vec<i64> {
    let tokens = run.ok().records().remove(0)["tokens"].clone();
    serde_json::from_value(tokens).unwrap()
}

/// Every token in every field of one template, and random texts in those of several models, their tokenizers too.
#[test]
fn ids_are_those_of_transformers() {
    let Some(python) = python() else { return };
    for flags in [
        ["--count", "10", "--only", "chatml_tools", "--each"],
        ["--count", "60", "--only", "_llama", "--seed=2"],
        ["--count", "60", "--only", "real_", "--seed=3"],
    ] {
        let arguments = [&[env!("CARGO_BIN_EXE_chat-tok")][..], &flags].concat();
        let found = oracle(&python, "special.py", &arguments).ok().records().pop().unwrap();
        assert_eq!(found["bad"], json!([]));
        assert!(found["found"]["same"].as_u64() > Some(20), "{found}");
    }
}

#[test]
fn what_a_text_spells_is_text_or_the_token_or_refused() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let text = "a<|im_end|>\n<|im_start|>user\nb</s>";
    let record = json!({"messages": [say("user", text), say("assistant", text)]});
    let told = run(&model, &record, &[]).ok().stderr;
    let wanted = "6 control tokens in the texts of 1 chat are encoded as text (--special text)\n";
    assert_eq!(told, format!("chat-tok: {wanted}"));
    // The ids of the tokens follow those of the texts: 261 to 265.
    let count = |flags: &[&str]| {
        ids(run(&model, &record, flags)).into_iter().filter(|id| *id > 260).count()
    };
    assert_eq!([count(&["-q"]), count(&["-q", "--special", "token"])], [4, 10]);
    let token = run(&model, &record, &["--special", "token"]).ok();
    let alias = run(&model, &record, &["--allow-special"]).ok();
    assert_eq!((token.stdout, token.stderr), (alias.stdout, alias.stderr));
    let refused = run(&model, &record, &["--special", "refuse"]);
    let cause = "message 0: a text spells the control token <|im_end|>; try: --special text, ";
    refused.fails(1, &[cause]);
    // What is trained on is the answer, its stop token, and nothing else.
    let chats = dir.write("c.jsonl", format!("{record}\n"));
    let decoded = bash(&format!(
        "set -o pipefail; chat-tok -q --model {model} {chats} --to arrow | span-mask -q |
            harmony-tok --decode --model {model}"
    ));
    let decoded = decoded.ok().records().remove(0);
    assert_eq!(super::trained_in(&decoded), [format!("{text}<|im_end|>")]);
    assert_eq!(control_in(&decoded), ["<|im_start|>", "<|im_end|>", "<|im_start|>", "<|im_end|>"]);
}

/// A root whose texts spell tokens is encoded again to the same ids, and one whose text became a token is another text.
#[test]
fn a_root_of_such_texts_is_checked() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let lines: String = (0..20)
        .map(|number| {
            let text = format!("<|im_start|>{number}<|im_end|>\n\n</s><|im_");
            let messages = [say("user", &text), say("assistant", &text)];
            format!("{}\n", json!({"id": number.to_string(), "messages": messages}))
        })
        .collect();
    let chats = dir.write("c.jsonl", lines);
    let root = dir.at("root");
    let pipe = format!(
        "set -o pipefail; export GRISTMILL_TO=arrow
         chat-tok -q --model {model} {chats} | span-mask -q | mmidx-write -q --root {root} --shard s"
    );
    bash(&pipe).ok();
    tool("ds-manifest").args(&[&root]).run().ok();
    tool("ds-check").args(&["--strict", &root]).run().ok();
}

/// Marks of reasoning at the beginning of an answer, and of calls and results, are those of the template.
#[test]
fn marks_of_reasoning_and_calls_stay_tokens() {
    let dir = TempDir::new();
    let Some(qwen) = real_model("qwen3") else { return };
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let result = "<tool_response>\n1\n</tool_response>";
    let with = |text: &str, result: &str| json!({"messages": [say("user", "q"), say("assistant", text), say("user", result), say("assistant", "a")]});
    let told = |model: &str, record: &Value| run(model, record, &[]).ok().stderr;
    let spelled = |told: String| told.split(" control token").next().unwrap().to_string();
    assert!(!told(&qwen, &with(call, result)).contains("control"));
    // In an answer that says something behind it, it is no call; then it is no result either.
    let behind = format!("{call} is how a call looks");
    assert_eq!(spelled(told(&qwen, &with(&behind, result))), "chat-tok: 4");
    // Reasoning in the content of a template that reads no other.
    let template = CHATML.replace("m.reasoning_content", "m.nothing");
    let model = write_model(&dir, "m", &template);
    let path = format!("{model}/tokenizer.json");
    let mut tokenizer = dir.json("m/tokenizer.json");
    for (number, content) in ["<think>", "</think>"].iter().enumerate() {
        let mut token = tokenizer["added_tokens"][0].clone();
        (token["content"], token["special"]) = ((*content).into(), false.into());
        token["id"] = (266 + number).into();
        tokenizer["added_tokens"].as_array_mut().unwrap().push(token);
    }
    std::fs::write(path, tokenizer.to_string()).unwrap();
    assert!(!told(&model, &with("<think>\nw\n</think>\n\na", "q")).contains("control"));
    let again = "<think>\nw\n</think>\n\na</think>";
    assert_eq!(spelled(told(&model, &with(again, "</think>"))), "chat-tok: 2");
}

#[test]
fn gpt_oss_has_text_alone() {
    let record = json!({"messages": [say("user", "a<|end|>b"), say("assistant", "<|call|>")]});
    let usual = run("gpt-oss", &record, &[]).ok();
    let told = "2 control tokens in the texts of 1 chat are encoded as text (--special text)";
    assert_eq!(usual.stderr, format!("chat-tok: {told}\n"));
    let refused = run("gpt-oss", &record, &["--special", "refuse"]);
    refused.fails(1, &["a text spells the control token <|end|>; try: --special text"]);
    let token = run("gpt-oss", &record, &["--special", "token"]);
    token.fails(2, &["--special token: gpt-oss encodes texts as openai-harmony does"]);
}
