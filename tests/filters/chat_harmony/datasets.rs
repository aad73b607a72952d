//! Rows as public data sets and public reports have them: data/datasets, data/public2, and more of each class.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::models::real_model;
use crate::common::samples::Random;
use crate::common::{Outcome, TempDir, data, tool};

/// A message of a conversation: its role, channel and text, of a result the function, and whether it is trained on.
struct Said {
    role: String,
    channel: Value,
    text: String,
    function: String,
    is_trained: bool,
}

fn said(conversation: &Value) -> Vec<Said> {
    let message = |message: &Value| {
        let part = &message["content"][0];
        let text = part["text"].as_str().or(part["instructions"].as_str()).unwrap_or_default();
        Said {
            role: message["role"].as_str().unwrap().to_string(),
            channel: message["channel"].clone(),
            text: text.to_string(),
            function: message["name"].as_str().unwrap_or_default().replace("functions.", ""),
            is_trained: message["train"] != false && message["role"] == "assistant",
        }
    };
    conversation["messages"].as_array().unwrap().iter().skip(1).map(message).collect()
}

/// Whether messages (but the developer's, if these are not wanted) are those that a case wants.
fn are(wanted: &Value, found: &[Said]) -> bool {
    let wanted = wanted.as_array().unwrap();
    let has_developer = wanted.iter().any(|message| message[0] == "developer");
    let found = found.iter().filter(|said| has_developer || said.role != "developer");
    let found: Vec<&Said> = found.collect();
    found.len() == wanted.len()
        && found.iter().zip(wanted).all(|(said, wanted)| {
            let text = match &wanted[2] {
                Value::Null => true,
                Value::String(text) => said.text == *text,
                arguments => {
                    serde_json::from_str::<Value>(&said.text).ok().as_ref() == Some(arguments)
                }
            };
            text && wanted[0] == said.role && (wanted[1].is_null() || wanted[1] == said.channel)
        })
}

fn run(rows: &str, options: &[&str]) -> Outcome {
    tool("chat-harmony").args(options).input(rows).run_whatever()
}

/// Blocks with calls: their case wants the messages as they stand in the history, without the reasoning before the calls.
const IN_HISTORY: [&str; 3] = ["anthropic_blocks", "session-anthropic", "session-claude-code"];

/// What the rows mean, or (if that is right, too) a refusal.
#[test]
fn data_sets_are_read_as_their_columns_mean() {
    let Some(path) = data("datasets") else { return };
    let text = fs::read_to_string(path.join("cases.jsonl")).unwrap();
    for case in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let name = case["name"].as_str().unwrap();
        let rows: String =
            case["lines"].as_array().unwrap().iter().map(|row| format!("{row}\n")).collect();
        let mut options: Vec<&str> =
            case["options"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        if IN_HISTORY.contains(&name) {
            options.extend(["--turns", "all"]);
        }
        let run = run(&rows, &options);
        match run.code() {
            Some(0) => {
                let last = run.records().pop().unwrap();
                assert!(are(&case["want"], &said(&last)), "{name}: {last}");
            }
            code => {
                assert!(code == Some(1) && case["may_refuse"] == true, "{name}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn public_files_are_read_as_they_mean() {
    let Some(path) = data("public2") else { return };
    let mut count = 0;
    for entry in fs::read_dir(&path).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let right: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("right.json")).unwrap()).unwrap();
        let Some(run) = public_case(&folder, &name) else { continue };
        let is_right = |wanted: &Value| is_right(wanted, &run);
        assert!(right.as_array().unwrap().iter().any(is_right), "{name}: {run:?}\n{right}");
        count += 1;
    }
    assert!(count >= 29, "{count} cases");
}

fn public_case(folder: &Path, name: &str) -> Option<Outcome> {
    let of = |ending: &str| format!("in.{ending}");
    let input = ["jsonl", "json", "jsonl.zst"].map(of);
    let input = input.iter().find(|input| folder.join(input).exists()).unwrap();
    let mut arguments = vec![input.clone()];
    let mut filter = "chat-harmony";
    if IN_HISTORY.contains(&name) {
        arguments.extend(["--turns", "all"].map(String::from));
    }
    if name == "think-quoted" {
        filter = "chat-tok";
        arguments.extend(["--model".to_string(), real_model("qwen3")?]);
    }
    if folder.join("model").exists() {
        filter = "chat-tok";
        arguments.extend(["--model", "model", "--allow-special"].map(String::from));
    }
    if name == "template-json" {
        arguments.extend(["--template", "model/chat_template.json"].map(String::from));
    }
    Some(tool(filter).args(&arguments).in_directory(folder).run_whatever())
}

/// Whether an outcome is one that a case states as right.
fn is_right(wanted: &Value, run: &Outcome) -> bool {
    let words = |key: &str| -> Vec<String> {
        let words = wanted[key].as_array().into_iter().flatten();
        words.map(|word| word.as_str().unwrap().to_string()).collect()
    };
    let is_refused = run.code() == Some(1);
    if is_refused != (wanted["refuse"] == true)
        || !words("says").iter().all(|word| run.stderr.contains(word))
        || words("not_says").iter().any(|word| run.stderr.contains(word))
    {
        return false;
    }
    if is_refused {
        return true;
    }
    let records = run.records();
    if let Some(ids) = wanted.get("ids") {
        return records[0]["tokens"] == *ids;
    }
    let text = run.text();
    let has_text = words("has").iter().all(|word| text.contains(word))
        && !words("not").iter().any(|word| text.contains(word));
    if wanted.get("not").is_some() {
        return has_text;
    }
    let of_chat = |id: &Value| id.as_str().unwrap().split('#').next().unwrap().to_string();
    let mut chats: Vec<String> = records.iter().map(|record| of_chat(&record["id"])).collect();
    chats.dedup();
    // The last conversation of the first chat has the whole of it.
    let first = records.iter().rfind(|record| of_chat(&record["id"]) == chats[0]).unwrap();
    let results = |said: &Said| said.role == "tool";
    let results: Vec<Value> = said(first)
        .iter()
        .filter(|said| results(said))
        .map(|said| json!([said.function, said.text]))
        .collect();
    let all: Vec<Said> = records.iter().flat_map(said).collect();
    let trained =
        |word: &String| all.iter().any(|said| said.is_trained && said.text.contains(word));
    has_text
        && wanted.get("messages").is_none_or(|messages| are(messages, &said(first)))
        && wanted.get("records").is_none_or(|count| *count == json!(chats.len()))
        && wanted.get("results").is_none_or(|wanted| *wanted == json!(results))
        && words("trained").iter().all(trained)
        && !words("not_trained").iter().any(trained)
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// Rows, and the messages that they mean: `role channel text`, with `-` before what is not trained on.
#[test]
fn rows_mean_what_their_columns_say() {
    let call = |name: &str, more: Value| {
        let mut call = json!({"function": {"name": name, "arguments": "{}"}});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let calls = |ids: [Value; 2]| {
        let [first, second] = ids;
        json!({"role": "assistant", "content": null, "tool_calls": [call("f", first), call("g", second)]})
    };
    let result = |text: &str, more: Value| {
        let mut result = json!({"role": "tool", "content": text});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        result
    };
    let chat = |calls: Value, results: [Value; 2]| {
        let [first, second] = results;
        json!({"messages": [user("q"), calls, first, second, answer("a")]})
    };
    let of_two = |first: &str, second: &str| {
        vec![
            "user q".to_string(),
            "assistant commentary {}".into(),
            "assistant commentary {}".into(),
            format!("tool commentary {first}"),
            format!("tool commentary {second}"),
            "assistant final a".into(),
        ]
    };
    let texts = |of: &[&str]| of.iter().map(|text| (*text).to_string()).collect::<Vec<_>>();
    let plain = texts(&["user q", "assistant final a"]);
    let thought = texts(&["user q", "assistant analysis t", "assistant final a"]);
    let context = texts(&["user q\nc", "assistant final a"]);
    let cut = texts(&["user q", "-assistant final a"]);
    let (none, name) = (json!({}), |name: &str| json!({"name": name}));
    let id = |key: &str, id: &str| json!({key: id});
    let mut cases = vec![
        // Parallel calls: by id, by name, in their order.
        (
            chat(
                calls([none.clone(), none.clone()]),
                [result("1", none.clone()), result("2", none.clone())],
            ),
            of_two("f:1", "g:2"),
        ),
        (
            chat(
                calls([none.clone(), none.clone()]),
                [result("2", name("g")), result("1", name("f"))],
            ),
            of_two("g:2", "f:1"),
        ),
        (
            chat(
                calls([id("id", "x"), id("id", "y")]),
                [result("2", id("tool_call_id", "y")), result("1", id("tool_call_id", "x"))],
            ),
            of_two("g:2", "f:1"),
        ),
        (
            chat(
                calls([id("id", "x"), id("id", "x")]),
                [result("1", id("tool_call_id", "x")), result("2", id("tool_call_id", "x"))],
            ),
            of_two("f:1", "g:2"),
        ),
        (
            chat(
                calls([id("id", "x"), id("id", "x")]),
                [
                    result("2", json!({"tool_call_id": "x", "name": "g"})),
                    result("1", json!({"tool_call_id": "x", "name": "f"})),
                ],
            ),
            of_two("g:2", "f:1"),
        ),
        (
            chat(
                calls([
                    json!({"id": "fc_1", "call_id": "x"}),
                    json!({"id": "fc_2", "call_id": "y"}),
                ]),
                [result("2", id("tool_call_id", "y")), result("1", id("call_id", "x"))],
            ),
            of_two("g:2", "f:1"),
        ),
        // The answer beside the messages.
        (json!({"messages": [user("q")], "response": answer("a")}), plain.clone()),
        (json!({"messages": [user("q")], "answers": ["a"], "answer": ["a"]}), plain.clone()),
        (
            json!({"messages": [user("q")], "choices": [{"index": 0, "message": answer("a"), "finish_reason": "stop"}]}),
            plain.clone(),
        ),
        (
            json!({"messages": [user("q")], "choices": [{"message": answer("a"), "finish_reason": "length"}]}),
            cut.clone(),
        ),
        (
            json!({"messages": [user("q")], "response": {"object": "chat.completion", "choices": [{"message": answer("a")}]}}),
            plain.clone(),
        ),
        (
            json!({"messages": [user("q")], "response": {"output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}]}}),
            thought.clone(),
        ),
        (
            json!({"conversations": [{"from": "human", "value": "q"}], "answer": "a", "reasoning": "t"}),
            thought.clone(),
        ),
        // Prompts with their context, answers with their reasoning.
        (json!({"query": "q", "context": "c", "response": "a"}), context.clone()),
        (json!({"prompt": "q", "input": "c", "completion": "a"}), context.clone()),
        (json!({"question": "q", "response": "a", "system_prompt": ""}), plain.clone()),
        (json!({"prompt": "q", "completion": "a", "cot": "t"}), thought.clone()),
        (json!({"instruction": "q", "output": "a", "chain_of_thought": "t"}), thought.clone()),
        (json!({"prompt": "q", "completion": "a", "reasoning": "on"}), plain.clone()),
        (json!({"user": "q", "final": "a", "thinking": "t"}), thought.clone()),
        // Texts in turn, pairs.
        (json!({"conversation": ["q", "a"]}), plain.clone()),
        (json!({"messages": "[\"q\", \"a\"]"}), plain.clone()),
        (json!({"data": [user("q"), answer("a")]}), plain.clone()),
        (json!({"conversation": [{"input": "q", "output": "a"}]}), plain.clone()),
        // Not wanted, not finished.
        (json!({"messages": [user("q"), answer("a")], "loss": 0}), cut.clone()),
        (json!({"messages": [user("q"), answer("a")], "trainable": "False"}), cut.clone()),
        (json!({"messages": [user("q"), answer("a")], "train": 0}), cut.clone()),
        (json!({"messages": [user("q"), answer("a")], "finish_reason": "length"}), cut.clone()),
        (json!({"prompt": "q", "completion": "a", "stop_reason": "max_tokens"}), cut.clone()),
        (json!({"input": "q", "status": "completed", "output": "a"}), plain.clone()),
        (json!({"messages": [user("q")], "reply": "a"}), plain.clone()),
        // Roles of other names.
        (
            json!({"conversations": [
                {"from": "human", "value": "q"}, {"from": "function-call", "value": "{\"name\": \"f\", \"arguments\": {}}"},
                {"from": "function-response", "value": "1"}, {"from": "gpt", "value": "a"},
            ]}),
            texts(&[
                "user q",
                "assistant commentary {}",
                "tool commentary f:1",
                "assistant final a",
            ]),
        ),
        (
            json!({"messages": [user("q"), {"role": "assistant", "tool_calls": [{"name": "f", "arguments": {}}]}, {"role": "environment", "content": "1"}, answer("a")]}),
            texts(&[
                "user q",
                "assistant commentary {}",
                "tool commentary f:1",
                "assistant final a",
            ]),
        ),
    ];
    for [begin, end] in [
        ["<think>", "</think>"],
        ["<thinking>", "</thinking>"],
        ["<thought>", "</thought>"],
        ["<reasoning>", "</reasoning>"],
        ["[THINK]", "[/THINK]"],
        ["<seed:think>", "</seed:think>"],
        ["<|begin_of_thought|>", "<|end_of_thought|>"],
    ] {
        let answer = answer(&format!("\n{begin}\nt\n{end}\n\na"));
        cases.push((json!({"messages": [user("q"), answer]}), thought.clone()));
    }
    for key in ["cut", "torn"] {
        for (begin, end) in [
            ("<think>", "</think>"),
            ("[THINK]", "[/THINK]"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ] {
            let text = if key == "cut" { format!("{begin}\nt") } else { format!("t\n{end}\na") };
            let row = json!({"messages": [user("q"), answer(&text)]});
            let run = run(&format!("{row}\n"), &["-q"]).fails(1, &[]);
            let missing = if key == "cut" { end } else { begin };
            assert!(run.stderr.contains(&format!("without {missing} in the text")), "{run:?}");
        }
    }
    for (row, wanted) in cases {
        let run = run(&format!("{row}\n"), &["-q"]);
        assert_eq!(run.code(), Some(0), "{row}: {}", run.stderr);
        let found = said(&run.records()[0]);
        let found = found.iter().map(|said| {
            let mark = if said.role == "assistant" && !said.is_trained { "-" } else { "" };
            let text = if said.role == "tool" {
                format!("{}:{}", said.function, said.text)
            } else {
                said.text.clone()
            };
            [&*format!("{mark}{}", said.role), said.channel.as_str().unwrap_or(""), &text]
                .join(" ")
                .replace("  ", " ")
        });
        assert_eq!(found.collect::<Vec<_>>(), wanted, "{row}");
    }
}

/// What nobody reads is named, whatever the record; a record that has nothing else says nothing.
#[test]
fn what_is_not_read_is_named() {
    let told = |row: &Value, options: &[&str]| run(&format!("{row}\n{row}\n"), options).ok().stderr;
    let mut message = user("q");
    message["uuid"] = json!("x");
    message["name"] = Value::Null;
    let row = json!({
        "messages": [message, answer("a")], "source": "s", "score": 0, "flag": false, "none": null, "empty": [], "id": 7,
        "prompt_id": "p", "metadata": {"k": 1},
    });
    let line = "chat-harmony: not read: flag, metadata, score, source; of messages: uuid\n";
    assert_eq!(told(&row, &[]), line);
    assert_eq!(told(&row, &["-q"]), "");
    let line = "chat-harmony: not read: flag, id, metadata, prompt_id, score; of messages: uuid\n";
    assert_eq!(told(&row, &["--id-field", "source"]), line);
    let line = "chat-harmony: not read: flag, metadata, score; of messages: uuid\n";
    assert_eq!(told(&row, &["--metadata-fields", "source"]), line);
    let names: Vec<String> = (0..100).map(|number| format!("c{number:03}")).collect();
    let mut row = json!({"prompt": "q", "completion": "a"});
    names.iter().for_each(|name| row[name] = json!(1));
    let line = format!("chat-harmony: not read: {}, and others\n", names[..64].join(", "));
    assert_eq!(told(&row, &["-j", "2"]), line);
}

/// Hermes' calls and results, as JSON and as Python prints them.
#[test]
fn calls_in_texts_are_calls_in_a_chat_with_tools() {
    let said_by = |who: &str, text: &str| json!({"from": who, "value": text});
    let call = "Look:\n<tool_call>\n{'name': 'f', 'arguments': {'a': \"it's\", 'b': [True, None, 1.5], 'c': 'k\\u00e9'}}\n</tool_call>";
    let two = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>";
    let results = "<tool_response>\n{\"name\": \"f\", \"content\": {\"x\": 1}}\n</tool_response>\n<tool_response>\n2\n</tool_response>";
    let arguments = r#"assistant commentary {"a": "it's", "b": [true, null, 1.5], "c": "ké"}"#;
    let wanted = |texts: &[&str]| texts.iter().map(|text| (*text).to_string()).collect::<Vec<_>>();
    for (turns, wanted) in [
        (
            json!([
                said_by("human", "q"),
                said_by("gpt", call),
                said_by("tool", "<tool_response>3</tool_response>"),
                said_by("gpt", "a")
            ]),
            wanted(&[
                "user q",
                "assistant commentary Look:",
                arguments,
                "tool commentary 3",
                "assistant final a",
            ]),
        ),
        (
            json!([
                said_by("human", "q"),
                said_by("gpt", two),
                said_by("human", results),
                said_by("gpt", "a")
            ]),
            wanted(&[
                "user q",
                "assistant commentary {}",
                "assistant commentary {}",
                "tool commentary {\"x\": 1}",
                "tool commentary 2",
                "assistant final a",
            ]),
        ),
        // Cut, and without tools: text.
        (
            json!([said_by("human", "q"), said_by("gpt", &call[..40])]),
            wanted(&["user q", &format!("assistant final {}", &call[..40])]),
        ),
        (
            json!([said_by("human", "q"), said_by("gpt", two)]),
            wanted(&["user q", &format!("assistant final {two}")]),
        ),
    ] {
        let row = json!({"conversations": turns});
        let run = run(&format!("{row}\n"), &["-q"]).ok();
        let found = said(&run.records()[0]);
        let found = found.iter().map(|said| {
            [&*said.role, said.channel.as_str().unwrap_or(""), &said.text]
                .join(" ")
                .replace("  ", " ")
        });
        assert_eq!(found.collect::<Vec<_>>(), wanted, "{row}");
        let named = self::run(&format!("{row}\n"), &["-q", "--calls", "hermes"]);
        if row.to_string().contains("</tool_call>") {
            assert_eq!(
                said(&named.ok().records()[0])
                    .iter()
                    .filter(|said| said.text.contains("tool_call"))
                    .count(),
                0
            );
        } else {
            named.fails(
                1,
                &["<tool_call> without </tool_call> in the text; --calls text takes it as text"],
            );
        }
    }
}

/// JSON of forms that are no lines of objects.
#[test]
fn lists_in_the_place_of_records_are_chats() {
    let dir = TempDir::new();
    let list = json!([user("q"), answer("a")]);
    let pretty = serde_json::to_string_pretty(&list).unwrap();
    let record = json!({"messages": list});
    for (text, count) in [
        (format!("{list}"), 1),
        (format!("{list}\n{list}\n"), 2),
        (pretty.clone(), 1),
        (format!("{pretty}\n{pretty}"), 2),
        (format!("[{list},\n{list}]"), 2),
        (format!("{{\"data\": [{record}, {record}]}}"), 2),
        (serde_json::to_string_pretty(&json!({"data": [record, record]})).unwrap(), 2),
        (format!("{record}"), 1),
        (format!("[{record}]"), 1),
    ] {
        for input in [dir.write("in.json", &text), "-".to_string()] {
            let run = tool("chat-harmony").args(&["-q", &input]).input(&text).run().ok();
            let records = run.records();
            assert_eq!(records.len(), count, "{text}");
            assert!(records.iter().all(|record| said(record)[1].text == "a"), "{text}");
        }
        // Cut anywhere, it is refused.
        for end in (1..text.len()).filter(|end| !text[*end..].trim().is_empty()) {
            let whole = ["}", "]", "}\n", "]\n"].iter().any(|last| text[..end].ends_with(last));
            let run = tool("chat-harmony").args(&["-q"]).input(&text[..end]).run_whatever();
            assert!(run.code() != Some(0) || whole && count == 2, "{}: {run:?}", &text[..end]);
        }
    }
    let more = run(&format!("{{\"data\": [{record}], \"more\": 1}}"), &["-q"]);
    more.fails(1, &["there is more behind the `]` of the array"]);
    for name in ["train", "conversations", "data"] {
        let text = json!({"version": 1, name: [record, record]}).to_string();
        let file = dir.write("within.json", &text);
        let way = format!("give each as a record: jq -c '.{name}[]'");
        run(&text, &["-q"]).fails(1, &["one object that has the records in", &way]);
        if crate::common::installed("jq") {
            let pipe = format!("jq -c '.{name}[]' {file} | chat-harmony -q");
            assert_eq!(crate::common::bash(&pipe).ok().records().len(), 2);
        }
    }
}

/// What a column may hold, under names of all shapes.
fn column(name: &str, random: &mut Random) -> Value {
    let whole = json!([user("q0"), answer("a0"), user("q"), answer("a")]);
    let asked = json!([user("q0"), answer("a0"), user("q")]);
    let from = |who: &str, text: &str| json!({"from": who, "value": text});
    let all = match name {
        "messages" | "traj" => vec![whole, asked, json!(["q", "a"])],
        "conversations" | "dialog" => {
            vec![json!([from("human", "q"), from("gpt", "a")]), json!([from("human", "q")]), whole]
        }
        "prompt" => vec![json!("p"), asked, json!([user("p")])],
        "completion" => vec![json!("c"), json!([answer("c")])],
        "chosen" | "rejected" => {
            vec![json!("x"), json!([answer("x")]), whole, answer("x"), json!(true), Value::Null]
        }
        "input" => vec![json!("i"), json!(""), json!({"messages": asked})],
        "context" => vec![json!("c"), json!(["c"]), json!({"c": 1})],
        "answers" => vec![json!("a"), json!(["a"]), json!(["a", "b"])],
        "label" => vec![json!(true), json!(false), json!(0), json!("False")],
        "images" => vec![json!([]), json!(["x.png"])],
        "reasoning" => vec![json!("t"), json!("on"), json!({"effort": "low"})],
        "history" => vec![json!([["x", "y"]]), json!([])],
        "answer" => vec![json!("a"), json!(4)],
        "preferred_output" | "non_preferred_output" => vec![json!([answer("x")])],
        "data" => vec![json!(["q", "a"]), whole, json!([{"x": 1}])],
        _ => vec![json!(format!("text of {name}"))],
    };
    all[random.below(all.len())].clone()
}

/// Options that a refusal names are taken, and the record is read; none loses a part of the prompt, and none stands for a
/// name that the user has to find.
#[test]
fn every_way_on_leads_somewhere() {
    const NAMES: [&str; 36] = [
        "messages",
        "conversations",
        "dialog",
        "traj",
        "prompt",
        "completion",
        "chosen",
        "rejected",
        "question",
        "answer",
        "answers",
        "response",
        "output",
        "input",
        "instruction",
        "query",
        "context",
        "system",
        "system_prompt",
        "problem",
        "solution",
        "generated_solution",
        "label",
        "cot",
        "reasoning",
        "images",
        "source",
        "text",
        "inputs",
        "targets",
        "preferred_output",
        "non_preferred_output",
        "data",
        "user",
        "final",
        "history",
    ];
    const PROMPT: [&str; 7] =
        ["context", "input", "system", "system_prompt", "instruction", "cot", "history"];
    let mut random = Random(20261128);
    let mut taken = 0;
    for _ in 0..700 {
        let mut record = json!({});
        for _ in 0..1 + random.below(5) {
            let name = NAMES[random.below(NAMES.len())];
            record[name] = column(name, &mut random);
        }
        let line = format!("{record}\n");
        let first = run(&line, &[]);
        assert!(matches!(first.code(), Some(0 | 1)), "{record}: {first:?}");
        let Some((_, way)) = first.stderr.trim_end().split_once("; try: ") else { continue };
        assert!(!way.contains("NAME"), "{record}: {way}");
        let options: Vec<&str> = way.split(' ').collect();
        let second = run(&line, &options);
        assert_eq!(second.code(), Some(0), "{record} {way}: {}", second.stderr);
        if !way.starts_with("--ignore-field") && way.contains("-field ") {
            let unread =
                second.stderr.lines().find_map(|line| Some(line.split_once("not read: ")?.1));
            let names = unread.unwrap_or_default().split([';', ',']).map(str::trim);
            assert_eq!(names.filter(|name| PROMPT.contains(name)).count(), 0, "{record} {way}");
        }
        taken += 1;
    }
    assert!(taken > 60, "{taken}");
}
