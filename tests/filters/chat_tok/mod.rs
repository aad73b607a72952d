//! chat-tok: chats through the templates and tokenizers of models, against transformers.

mod again;
mod built_in;
mod downstream;
mod fit;
mod gpt_oss;
mod kept;
mod lengths;
mod moved;
mod pairs;
mod refused;
mod shown;
mod spelled;
mod stated;

use serde_json::{Value, json};

use crate::common::models::{CHATML, PLAIN, real_model, write_model, write_model_with};
use crate::common::{Random, TempDir, bash, oracle, python, tool};

/// Random chats that every template here shows; `plain` ones have neither tools nor reasoning.
fn chats(seed: u64, count: usize, is_plain: bool) -> String {
    let mut random = Random(seed);
    let words = [
        "hello", " the cat", "\n", "  ", "Grüße", "é😀", "日本", "<b>&'\"", "{% x %}", "A:", "Q:",
        "12,345", "\t", "user", "final",
    ];
    let mut text = |most: usize| {
        let count = 1 + random.below(most);
        let mut text: String = (0..count).map(|_| words[random.below(words.len())]).collect();
        // (A template may strip the outer spaces, and an empty text is refused.)
        text = text.trim().to_string();
        if text.is_empty() { "x".to_string() } else { text }
    };
    let mut lines = String::new();
    for number in 0..count {
        let mut messages = Vec::new();
        if number % 3 == 0 {
            messages.push(json!({"role": "system", "content": text(4)}));
        }
        let has_tools = !is_plain && number % 4 == 1;
        for turn in 0..1 + number % 3 {
            messages.push(json!({"role": "user", "content": text(6)}));
            if has_tools {
                let call = json!({"name": "look", "arguments": {"at": text(3), "n": [1, 2.5, null, true]}});
                let calls = json!([{"type": "function", "id": "c1", "function": call}]);
                messages
                    .push(json!({"role": "assistant", "content": text(2), "tool_calls": calls}));
                messages.push(json!({"role": "tool", "tool_call_id": "c1", "content": text(3)}));
            }
            let mut answer = json!({"role": "assistant", "content": text(6)});
            if !is_plain && turn == number % 3 && number % 2 == 0 {
                answer["reasoning_content"] = text(5).into();
            }
            if number % 5 == 4 && turn == 0 {
                answer["weight"] = 0.into();
            }
            messages.push(answer);
        }
        let mut record = json!({"id": format!("r{number}"), "messages": messages});
        if has_tools {
            let at = json!({"type": "string", "description": "where <it> is"});
            let parameters =
                json!({"type": "object", "properties": {"at": at}, "required": ["at"]});
            let look = json!({"name": "look", "description": "Looks.", "parameters": parameters});
            record["tools"] = json!([{"type": "function", "function": look}]);
        }
        lines += &format!("{record}\n");
    }
    lines
}

/// The mask of a record's own tokens.
fn mask(record: &Value) -> Vec<i64> {
    record["loss_mask"].as_array().unwrap().iter().map(|of| of.as_i64().unwrap()).collect()
}

/// Ids are those of `apply_chat_template(tokenize=True)`, and the mask is that of the oracle, token for token.
fn agrees(model: &str, (chats, count): (&str, usize), flags: &str, variables: &[&str]) -> String {
    let Some(python) = python() else { return String::new() };
    let arguments = [&[model, chats], variables].concat();
    let expected = oracle(&python, "chat_tok.py", &arguments).ok().records();
    let pipe = format!(
        "set -o pipefail; chat-tok --model {model} --turns all {flags} {chats} --to arrow |
            span-mask -q --align token --span commentary=3 --to ndjson"
    );
    let run = bash(&pipe).ok();
    let found = run.records();
    assert_eq!((found.len(), expected.len()), (count, count), "{model}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found["tokens"], expected["tokens"], "{model}: {}", found["id"]);
        assert_eq!(json!(mask(found)), expected["mask"], "{model}: {}", found["id"]);
        spans_are_of_channels(found);
    }
    run.stderr.clone()
}

/// Segments follow one another and cover all tokens; a channel has its span, and what has none is not trained on.
fn spans_are_of_channels(record: &Value) {
    let spans = record["span_id"].as_array().unwrap();
    let mut end = 0;
    for segment in record["segments"].as_array().unwrap() {
        let [from, to] = ["start", "end"].map(|name| segment[name].as_u64().unwrap() as usize);
        assert_eq!(from, end, "{record}");
        let is_trained = segment["train"] != json!(false);
        let span = match segment["channel"].as_str().filter(|_| is_trained) {
            Some("analysis") => 1,
            Some("final") => 2,
            Some("commentary") => 3,
            _ => 0,
        };
        assert!(spans[from..to].iter().all(|of| of.as_u64() == Some(span)), "{record}");
        end = to;
    }
    assert_eq!(end, spans.len(), "{record}");
}

#[test]
fn small_models_are_as_transformers_has_them() {
    let dir = TempDir::new();
    let count = 200;
    let any = dir.write("any.jsonl", chats(1, count, false));
    let plain = dir.write("plain.jsonl", chats(2, count, true));
    let model = write_model(&dir, "chatml", CHATML);
    assert_eq!(agrees(&model, (&any, count), "", &[]), "");
    let model = write_model(&dir, "plain", PLAIN);
    assert_eq!(agrees(&model, (&plain, count), "", &[]), "");
    // Where a token goes over the beginning of an answer, the text is cut there, and that is said.
    let over = [(":", "h"), (":", "G"), (":", "x")];
    let model = write_model_with(&dir, "over", PLAIN, &over);
    let told = agrees(&model, (&plain, count), "", &[]);
    let is_told = told.contains(" places where an answer begins or ends are inside a token: ");
    assert!(is_told || python().is_none(), "{told}");
}

#[test]
fn real_models_are_as_transformers_has_them() {
    let dir = TempDir::new();
    let count = 100;
    let any = dir.write("any.jsonl", chats(3, count, false));
    let plain = dir.write("plain.jsonl", chats(4, count, true));
    for (name, chats, variables) in [
        ("qwen3", &any, &["enable_thinking=true"][..]),
        ("qwen3", &plain, &[]),
        ("llama3_1", &plain, &[]),
        ("gemma3", &plain, &[]),
        ("deepseek_v3", &plain, &[]),
    ] {
        let Some(model) = real_model(name) else { continue };
        let set = variables.iter().map(|of| format!("--set {of}")).collect::<Vec<_>>().join(" ");
        agrees(&model, (chats, count), &set, variables);
    }
}

#[test]
fn threads_and_encodings_change_nothing() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let chats = dir.write("c.jsonl", chats(5, 3000, false));
    let run = |flags: &[&str]| {
        tool("chat-tok").args(&["--model", &model, &chats]).args(flags).run().silent().stdout
    };
    let one = run(&["-j", "1"]);
    assert!(run(&["-j", "3"]) == one);
    let arrow = run(&["-j", "2", "--to", "arrow"]);
    assert!(arrow == run(&["--to", "arrow"]));
    let back = tool("ds-cat").input(arrow).run().silent().records();
    let here: Vec<Value> = one
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(back.len(), here.len());
    assert!(
        back.iter()
            .zip(&here)
            .all(|(a, b)| a["tokens"] == b["tokens"] && a["segments"] == b["segments"])
    );
    // Parts of the input together are the whole.
    let parts = ["0/3", "1/3", "2/3"].map(|part| run(&["--slice", part])).concat();
    assert!(parts == one);
}

/// The text that is trained on in each turn.
fn trained(record: &Value, model: &str) -> Vec<String> {
    let decoded =
        tool("harmony-tok").args(&["--decode", "--model", model]).input(format!("{record}\n"));
    trained_in(&decoded.run().silent().records().remove(0))
}

/// The same of a decoded record.
fn trained_in(decoded: &Value) -> Vec<String> {
    let text: Vec<char> = decoded["text"].as_str().unwrap().chars().collect();
    let spans = decoded["spans"].as_array().unwrap().iter();
    let place = |span: &Value, name: &str| span[name].as_u64().unwrap() as usize;
    spans.map(|span| text[place(span, "start")..place(span, "end")].iter().collect()).collect()
}

#[test]
fn turns_are_trained_on_as_asked() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let say = |role: &str, text: &str| json!({"role": role, "content": text});
    let messages = json!([
        say("user", "one"), say("assistant", "first"), say("user", "two"),
        {"role": "assistant", "content": "second", "reasoning_content": "why"},
    ]);
    let chats = dir.write("c.jsonl", format!("{}\n", json!({"id": "a", "messages": messages})));
    let run = |flags: &str| {
        let pipe = format!("chat-tok --model {model} {flags} {chats} | span-mask -q");
        let records = bash(&format!("set -o pipefail; {pipe}")).silent().records();
        let ids: Vec<Value> = records.iter().map(|record| record["id"].clone()).collect();
        let texts: Vec<Vec<String>> =
            records.iter().map(|record| trained(record, &model)).collect();
        json!([ids, texts])
    };
    let [first, why, second] =
        ["first<|im_end|>", "<think>\nwhy\n</think>\n\n", "second<|im_end|>"];
    assert_eq!(run(""), json!([["a"], [[first, why, second]]]));
    assert_eq!(run("--turns last"), json!([["a"], [[why, second]]]));
    assert_eq!(run("--turns all"), json!([["a"], [[first, why, second]]]));
    // (The old name of fit.)
    assert_eq!(run("--turns split"), run(""));
    // A prompt with its completion.
    let record = json!({"id": "p", "prompt": "one", "completion": "first"});
    dir.write("c.jsonl", format!("{record}\n"));
    assert_eq!(run(""), json!([["p"], [[first]]]));
}

#[test]
fn the_header_states_the_tokenizer() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let chats = dir.write("c.jsonl", chats(6, 3, true));
    let pipe = format!(
        "chat-tok --model {model} --set a=1 --set b=text {chats} | span-mask |
            mmidx-write --prefix {}",
        dir.at("out/p")
    );
    bash(&format!("set -o pipefail; export GRISTMILL_TO=arrow; {pipe}")).silent();
    let part = dir.json("out/p.part.json");
    let tokenizer = &part["source"]["tokenizer"];
    let sha256 = bash(&format!("sha256sum < {model}/tokenizer.json | cut -c1-64")).ok().text();
    assert_eq!(tokenizer["type"], "huggingface");
    assert_eq!(tokenizer["model_sha256"], sha256.trim());
    assert_eq!(tokenizer["vocab_size"], 266);
    assert_eq!(tokenizer["eos_token"], "<|im_end|>");
    assert_eq!(tokenizer["variables"], json!({"a": 1, "b": "text"}));
    assert_eq!(part["config"]["eod_token_id"], Value::Null);
    assert!(!tokenizer.to_string().contains(dir.path().to_str().unwrap()), "{tokenizer}");
}
