//! The shapes and forms that chats of public trainers and collections come in, what belongs to a chat and is not
//! text, and answers that are not wanted: what becomes of them, and that the way on of each refusal works.

use serde_json::{Value, json};

use super::converted;
use crate::common::{TempDir, Tool, bash, data, python, python_code, tool};

pub const UNDECIDED: &str =
    "chosen and rejected answers, but only one can be trained on; try: --take chosen";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// The messages after the system message: who says what where, with a `-` before what is not trained on.
fn said(record: &Value, arguments: &[&str]) -> Vec<String> {
    let made = converted(
        record,
        &[&["-q", "--turns", "all", "--set", "keep_reasoning=true"], arguments].concat(),
    );
    let made = made.unwrap_or_else(|reason| panic!("{record}: {reason}"));
    shown(&made)
}

fn shown(made: &Value) -> Vec<String> {
    let of_message = |message: &Value| {
        let text = |key: &str| message[key].as_str().unwrap_or("").to_string();
        let part = &message["content"][0];
        let said = part["text"].as_str().or(part["instructions"].as_str()).unwrap_or("");
        let mark = if message["train"] == false { "-" } else { "" };
        let at = [text("channel"), text("recipient")].concat();
        format!("{mark}{} {at} {said}", text("role")).replace("  ", " ")
    };
    made["messages"].as_array().unwrap().iter().skip(1).map(of_message).collect()
}

/// The options that a refusal names.
fn ways_on(reason: &str) -> Vec<String> {
    let (_, ways) = reason.split_once("; try: ").unwrap_or_else(|| panic!("no way on: {reason}"));
    ways.split(' ').map(str::to_string).collect()
}

/// Media beside the messages or within one, in every form: refused by name, and the way on reads the text.
#[test]
fn what_is_not_text_is_refused_by_name() {
    let names = ["images", "image", "videos", "video", "audios", "audio", "files", "objects"];
    let some = [
        json!(["a.png"]),
        json!("a.png"),
        json!([{"bytes": null, "path": "a.png"}]),
        json!({"ref": ["a dog"], "bbox": [[1, 2]]}),
    ];
    let none = [
        Value::Null,
        json!([]),
        json!(""),
        json!([null]),
        json!({"bytes": null, "path": null}),
        json!({"ref": [], "bbox": []}),
    ];
    let plain = said(&json!({"messages": [user("<image>q"), assistant("a")]}), &[]);
    for name in names {
        for (number, value) in some.iter().chain(&none).enumerate() {
            let mut beside = json!({"messages": [user("<image>q"), assistant("a")]});
            beside[name] = value.clone();
            let mut within = json!({"messages": [user("<image>q"), assistant("a")]});
            within["messages"][0][name] = value.clone();
            let turns =
                json!([{"from": "human", "value": "<image>q"}, {"from": "gpt", "value": "a"}]);
            let sharegpt = json!({"conversations": turns, name: value});
            for record in [beside, within, sharegpt] {
                if number >= some.len() {
                    assert_eq!(said(&record, &[]), plain, "{record}");
                    continue;
                }
                let reason = converted(&record, &["-q"]).unwrap_err();
                let wanted =
                    format!("has \"{name}\", which is not text; try: --ignore-field {name}");
                assert!(reason.ends_with(&wanted), "{record}: {reason}");
                let ways = ways_on(&reason);
                let ways: Vec<&str> = ways.iter().map(String::as_str).collect();
                assert_eq!(said(&record, &ways), plain, "{record}");
                let outcome = tool("chat-harmony").args(&ways).input(format!("{record}\n"));
                let warning = format!("chat-harmony: warning: {name}: left out once\n");
                assert_eq!(outcome.run().ok().stderr, warning);
            }
        }
    }
    // harmony-tok reads the same table.
    let chat = json!({"id": "a", "messages": [user("q"), {"role": "assistant", "channel": "final", "content": "a"}]});
    let tokens = tool("harmony-tok").input(format!("{chat}\n")).run().silent().text();
    for (number, value) in some.iter().chain(&none).enumerate() {
        for within in [false, true] {
            let mut chat = chat.clone();
            let place = if within { &mut chat["messages"][0] } else { &mut chat };
            place["images"] = value.clone();
            let line = format!("{chat}\n");
            let run = tool("harmony-tok").input(&line).run();
            if number >= some.len() {
                assert_eq!(run.silent().text(), tokens);
                continue;
            }
            run.fails(1, &["has \"images\", which is not text; try: --ignore-field images\n"]);
            let run = tool("harmony-tok").args(&["--ignore-field", "images", "-q"]).input(&line);
            assert_eq!(run.run().ok().text(), tokens);
        }
    }
}

/// Images as tables hold them: structs of bytes, lists of these, lists of binaries, text.
#[test]
fn media_of_tables_are_refused_by_name() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let write = r#"
import sys, pyarrow as pa, pyarrow.parquet as pq
image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
raw = b"\x89PNG\xff\xfe"
messages = [[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "channel": "final"}]]
for name, kind, value in [
    ("struct", image, {"bytes": raw, "path": None}), ("list", pa.list_(image), [{"bytes": raw, "path": "x"}]),
    ("binaries", pa.list_(pa.binary()), [raw]), ("binary", pa.large_binary(), raw), ("text", pa.string(), "a.png"),
    ("none", pa.list_(image), []), ("null", image, None), ("empty", image, {"bytes": None, "path": None}),
]:
    table = pa.table({"id": ["a"], "messages": messages, "image": pa.array([value], kind)})
    pq.write_table(table, f"{sys.argv[1]}/{name}.parquet")
"#;
    python_code(&python, write, &[&dir.at("")]).ok();
    for name in ["struct", "list", "binaries", "binary", "text", "none", "null", "empty"] {
        let file = dir.at(&format!("{name}.parquet"));
        let is_none = ["none", "null", "empty"].contains(&name);
        let run = tool("harmony-tok").args(&[&file]).run();
        if is_none {
            run.silent();
        } else {
            // Bytes have no JSON, which harmony-tok reads.
            run.fails(1, &["image"]);
        }
        // (Its messages are Harmony's, but for the channel.)
        let way = ["--ignore-field", "channel"];
        let run = tool("chat-harmony").args(&[&[file.as_str(), "-q"], &way[..]].concat()).run();
        if is_none {
            run.ok();
        } else {
            run.fails(1, &["has \"image\", which is not text; try: --ignore-field image\n"]);
            let both = [&[file.as_str(), "-q", "--ignore-field", "image"], &way[..]].concat();
            tool("chat-harmony").args(&both).run().ok();
        }
    }
}

/// LLaMA-Factory's second format: parts with values, of reasoning and calls too, and weights of messages.
#[test]
fn parts_of_llama_factory_are_read() {
    let text = |text: &str| json!({"type": "text", "value": text});
    let reasoning = json!({"type": "reasoning", "value": "r"});
    let call =
        json!({"type": "tool_call", "value": "{\"name\": \"f\", \"arguments\": {\"x\": 1}}"});
    let answer = |parts: Value, weight: Value| json!({"role": "assistant", "content": parts, "loss_weight": weight});
    let asked = json!({"role": "user", "content": [text("q")], "loss_weight": 0.0});
    let result = json!({"role": "tool", "content": [text("ok")], "loss_weight": 0.0});
    let tools = json!([{"type": "function", "function": {"name": "f", "description": "F."}}]);
    let record = json!({
        "messages": [asked, answer(json!([reasoning, text("t"), call, call]), json!(0.0)), result,
                     answer(json!([text("do"), text("ne")]), json!(1.0))],
        "tools": tools.to_string(),
    });
    let wanted = [
        "developer ",
        "user q",
        "-assistant analysis r",
        "-assistant commentary t",
        "-assistant commentaryfunctions.f {\"x\": 1}",
        "-assistant commentaryfunctions.f {\"x\": 1}",
        "tool commentaryassistant ok",
        "assistant final done",
    ];
    assert_eq!(said(&record, &[]), wanted);
    let mut listed = record.clone();
    listed["tools"] = tools;
    assert_eq!(said(&listed, &[]), wanted);
    // As a table has them: calls as objects, parts with the members of all.
    let parts = json!([{"type": "reasoning", "value": "r", "text": null}, {"type": "tool_call", "value": [{"name": "f", "arguments": {}}]}]);
    let record = json!({"messages": [asked, answer(parts, Value::Null)]});
    let wanted = ["user q", "assistant analysis r", "assistant commentaryfunctions.f {}"];
    assert_eq!(said(&record, &[]), wanted);

    for (parts, weight, reason) in [
        (json!([text("t")]), json!(0.5), "message 1: loss_weight must be 0 or 1"),
        (
            json!([text("t"), reasoning]),
            json!(1.0),
            "message 1: content part of type 'reasoning' after text or calls: reasoning comes first, calls last",
        ),
        (
            json!([call, text("t")]),
            json!(1.0),
            "message 1: content part of type 'text' after text or calls: reasoning comes first, calls last",
        ),
        (
            json!([{"type": "tool_call", "value": "f(x)"}]),
            json!(1.0),
            "message 1: content part of type 'tool_call': not JSON (Expecting value at 0)",
        ),
        (
            json!([{"type": "image_url", "value": "x.png"}]),
            json!(1.0),
            "message 1: content part of type 'image_url' is not text",
        ),
    ] {
        let record = json!({"messages": [asked, answer(parts, weight)]});
        assert_eq!(converted(&record, &["-q"]), Err(reason.to_string()));
    }
}

/// The other shapes of trainers and collections.
#[test]
fn shapes_of_ms_swift_and_tau_bench_are_read() {
    let plain = ["user q", "assistant final a"];
    let history = json!([["q0", "a0"]]);
    for (record, wanted) in [
        (json!({"query": "q", "response": "a"}), &plain[..]),
        (json!({"query": "q", "response": "a", "history": null}), &plain),
        (
            json!({"system": "S", "query": "q", "response": "a", "history": history}),
            &["developer S", "user q0", "assistant final a0", "user q", "assistant final a"],
        ),
        (
            json!({"query": "q", "response": "a", "history": history.to_string()}),
            &["user q0", "assistant final a0", "user q", "assistant final a"],
        ),
        (
            json!({"system": "S", "conversation": [{"human": "q", "assistant": "a"}, {"human": "q", "assistant": "a"}]}),
            &["developer S", "user q", "assistant final a", "user q", "assistant final a"],
        ),
        (
            json!({"task_id": 0, "reward": 1.0, "info": {}, "traj": [user("q"), assistant("a")]}),
            &plain,
        ),
        (
            json!({"messages": [user("q"), {"role": "tool_call", "content": "{\"name\":\"f\",\"arguments\":{}}"},
                                {"role": "tool_response", "content": "x"}, assistant("a")]}),
            &[
                "user q",
                "assistant commentaryfunctions.f {}",
                "tool commentaryassistant x",
                "assistant final a",
            ],
        ),
        (
            json!({"messages": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}),
            &plain,
        ),
    ] {
        assert_eq!(said(&record, &[]), wanted, "{record}");
    }
}

/// Lists of messages as text, and as a struct of lists.
#[test]
fn lists_are_read_in_every_form_of_tables() {
    let plain = ["user q", "assistant final a"];
    let list = json!([user("q"), assistant("a")]);
    let turns = json!([{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]);
    let columns = json!({"role": ["user", "assistant"], "content": ["q", "a"], "name": null});
    let of_turns = json!({"from": ["human", "gpt"], "value": ["q", "a"]});
    for record in [
        json!({"messages": list.to_string()}),
        json!({"messages": columns}),
        json!({"messages": columns.to_string()}),
        json!({"conversations": turns.to_string()}),
        json!({"conversations": of_turns}),
        json!({"traj": list.to_string()}),
        json!({"prompt": json!([user("q")]).to_string(), "completion": json!([assistant("a")]).to_string()}),
        json!({"prompt": {"role": ["user"], "content": ["q"]}, "completion": [assistant("a")]}),
    ] {
        assert_eq!(said(&record, &[]), plain, "{record}");
    }
    // A prompt that looks like JSON is text.
    for text in ["[1, 2]", "{\"a\": 1}", "[", "[]"] {
        let record = json!({"prompt": text, "completion": "a"});
        assert_eq!(said(&record, &[])[0], format!("user {text}"));
    }
    for (record, reason) in [
        (
            json!({"messages": "[{"}),
            "messages: not JSON (Expecting property name enclosed in double quotes at 2)",
        ),
        (
            json!({"messages": {"role": ["user", "assistant"], "content": ["q"]}}),
            "messages: its lists have 2 and 1 items",
        ),
        (
            json!({"messages": {"role": ["user"], "content": "q"}}),
            "messages: content is a str, wanted a list as the others are",
        ),
        (json!({"messages": "[]"}), "no messages"),
    ] {
        assert_eq!(converted(&record, &["-q"]), Err(reason.to_string()));
    }
    let Some(public) = data("public") else { return };
    for file in ["chat2/messages_str.ndjson", "misc/hf_sequence.parquet"] {
        let file = public.join(file);
        let made = tool("chat-harmony").args(&[file.to_str().unwrap()]).run().silent();
        assert_eq!(shown(&made.records()[0]).len(), 2, "{file:?}");
    }
}

/// The refusal of what has no shape names the options, which read it.
#[test]
fn fields_may_be_named() {
    let (list, plain) = (json!([user("q"), assistant("a")]), ["user q", "assistant final a"]);
    for (record, arguments) in [
        (json!({"dialog": list}), &["--messages-field", "dialog"][..]),
        (json!({"dialog": list.to_string()}), &["--messages-field", "dialog"]),
        (
            json!({"dialog": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}),
            &["--messages-field", "dialog"],
        ),
        (
            json!({"question": "q", "answer": "a"}),
            &["--prompt-field", "question", "--completion-field", "answer"],
        ),
        (json!({"prompt": "q", "answer": "a"}), &["--completion-field", "answer"]),
        // What another record type is known by.
        (
            json!({"inputs": "q", "targets": "a"}),
            &["--prompt-field", "inputs", "--completion-field", "targets"],
        ),
        (json!({"tokens": list}), &["--messages-field", "tokens"]),
    ] {
        assert_eq!(said(&record, arguments), plain, "{record}");
    }
    // Named fields go before what a shape knows, which is counted.
    let record = json!({"messages": [user("x"), assistant("y")], "dialog": list});
    let run =
        tool("chat-harmony").args(&["--messages-field", "dialog"]).input(format!("{record}\n"));
    let run = run.run().ok();
    assert_eq!(shown(&run.records()[0]), plain);
    assert_eq!(run.stderr, "chat-harmony: warning: messages: left out once\n");
    let reason = converted(&json!({"dialog": list}), &["-q"]).unwrap_err();
    assert!(reason.ends_with("found dialog; try: --messages-field dialog"), "{reason}");
    let reason = converted(&json!({"heading": "x", "body": "y"}), &["-q"]).unwrap_err();
    assert!(reason.ends_with("found heading, body"), "{reason}");
    let reason = converted(&json!({"dialog": list}), &["--messages-field", "talk"]);
    let wanted = "talk is missing or null; try: --messages-field with another name";
    assert_eq!(reason, Err(wanted.to_string()));
}

/// Chosen and rejected answers in the forms of TRL, LLaMA-Factory, ms-swift and hh: refused, and the way on trains on
/// the chosen one alone.
#[test]
fn the_chosen_answer_is_taken() {
    let from = |who: &str, text: &str| json!({"from": who, "value": text});
    let answer = ["user q", "assistant final a"];
    let third = ["user q", "-assistant final a0", "user q1", "assistant final a"];
    let asked = json!([user("q"), assistant("a0"), user("q1")]);
    let whole = |last: &str| json!([user("q"), assistant("a0"), user("q1"), assistant(last)]);
    let hh =
        |last: &str| format!("\n\nHuman: q\n\nAssistant: a0\n\nHuman: q1\n\nAssistant: {last}");
    let call = json!({"role": "assistant", "tool_calls": [{"name": "f", "arguments": {}}]});
    let turn =
        |last: &str| json!([user("q"), call, {"role": "tool", "content": "x"}, assistant(last)]);
    let v1 = |last: &str| {
        json!([{"role": "user", "content": [{"type": "text", "value": "q"}]},
        {"role": "assistant", "content": [{"type": "text", "value": last}], "loss_weight": 1.0}])
    };
    for (record, wanted) in [
        // TRL: explicit prompts, and implicit ones.
        (json!({"prompt": "q", "chosen": "a", "rejected": "b"}), &answer[..]),
        (
            json!({"prompt": [user("q")], "chosen": [assistant("a")], "rejected": [assistant("b")]}),
            &answer,
        ),
        (
            json!({"prompt": asked, "chosen": [assistant("a")], "rejected": [assistant("b")]}),
            &third,
        ),
        (json!({"prompt": asked, "chosen": whole("a"), "rejected": whole("b")}), &third),
        (json!({"chosen": whole("a"), "rejected": whole("b")}), &third),
        (json!({"prompt": "q", "chosen": whole("a"), "rejected": whole("b")}), &third),
        (json!({"prompt": "q", "chosen": [assistant("a")], "rejected": [assistant("b")]}), &answer),
        (json!({"chosen": whole("a").to_string(), "rejected": whole("b").to_string()}), &third),
        (json!({"chosen": whole("a"), "rejected": whole("a")}), &third),
        // What they have in common of the last turn is context.
        (
            json!({"chosen": turn("a"), "rejected": turn("b")}),
            &[
                "user q",
                "-assistant commentaryfunctions.f {}",
                "tool commentaryassistant x",
                "assistant final a",
            ],
        ),
        (
            json!({"chosen": turn("a"), "rejected": [user("q"), assistant("b")]}),
            &[
                "user q",
                "assistant commentaryfunctions.f {}",
                "tool commentaryassistant x",
                "assistant final a",
            ],
        ),
        // LLaMA-Factory.
        (
            json!({"conversations": [from("human", "q")], "chosen": from("gpt", "a"), "rejected": from("gpt", "b")}),
            &answer,
        ),
        (
            json!({"conversations": [from("human", "q")], "chosen": [from("gpt", "a")], "rejected": [from("gpt", "b")]}),
            &answer,
        ),
        (json!({"messages": asked, "chosen": assistant("a"), "rejected": assistant("b")}), &third),
        (json!({"instruction": "q", "input": "", "chosen": "a", "rejected": "b"}), &answer),
        (json!({"chosen_messages": v1("a"), "rejected_messages": v1("b")}), &answer),
        // ms-swift.
        (json!({"messages": whole("a"), "rejected_response": "b"}), &third),
        (json!({"messages": whole("a"), "rejected_messages": whole("b")}), &third),
        (
            json!({"query": "q1", "response": "a", "history": [["q", "a0"]], "rejected_response": "b"}),
            &third,
        ),
        (json!({"query": "q", "response": "a", "rejected_responses": ["b", "c"]}), &answer),
        // Others.
        (json!({"system": "", "question": "q", "chosen": "a", "rejected": "b"}), &answer),
        (json!({"chosen": hh("a"), "rejected": hh("b")}), &third),
        (
            json!({"prompt": hh(""), "chosen": " a", "rejected": " b"}),
            &["user q", "-assistant final a0", "user q1", "assistant final  a"],
        ),
    ] {
        let reason = converted(&record, &["-q"]).unwrap_err();
        assert_eq!(reason, UNDECIDED, "{record}");
        let ways = ways_on(&reason);
        let ways: Vec<&str> = ways.iter().map(String::as_str).collect();
        let found: Vec<String> =
            said(&record, &ways).into_iter().filter(|said| said != "developer ").collect();
        let wanted: Vec<String> = wanted.iter().map(|said| said.replace("  ", " ")).collect();
        assert_eq!(found, wanted, "{record}");
    }
    // Messages that have their answer are a chat, whatever is chosen beside them; flags of such names are none.
    for beside in [
        json!({"chosen": whole("a"), "rejected": whole("b")}),
        json!({"rejected": false, "chosen": true}),
        json!({"rejected": 0.5}),
        json!({"rejected": null, "rejected_response": ""}),
    ] {
        let mut record = json!({"messages": [user("q"), assistant("a")]});
        record.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
        assert_eq!(said(&record, &[]), answer, "{record}");
    }
    // The question may be where no shape knows it.
    let record = json!({"ask": "q", "chosen": "a", "rejected": "b"});
    let reason = converted(&record, &["-q", "--take", "chosen"]);
    let wanted = "a chosen answer without its question";
    assert_eq!(reason, Err(wanted.to_string()));
    assert_eq!(said(&record, &["--take", "chosen", "--prompt-field", "ask"]), answer);
}

/// TRL's own function says which part of two conversations is the prompt.
#[test]
fn completions_are_those_of_trl() {
    let Some(python) = python() else { return };
    let turns = ["u", "a", "v", "b"];
    let list = |count: usize, last: &str| {
        let mut all: Vec<Value> = Vec::new();
        for (number, text) in turns.iter().take(count).enumerate() {
            all.push(if number % 2 == 0 { user(text) } else { assistant(text) });
        }
        if let Some(message) = all.last_mut() {
            message["content"] = json!(last);
        }
        json!(all)
    };
    let mut records = Vec::new();
    for (chosen, rejected) in [(2, 2), (4, 4), (4, 2), (2, 4)] {
        for last in ["x", "y"] {
            let mut other = list(rejected, "y");
            if rejected == 4 && chosen == 2 {
                other[1] = assistant("z");
            }
            records.push(json!({"chosen": list(chosen, last), "rejected": other}));
        }
    }
    let ask = "
import importlib.util, json, sys
spec = importlib.util.find_spec('trl')
if spec is None:
    sys.exit(3)
import os
path = os.path.join(os.path.dirname(spec.origin), 'data_utils.py')
source = open(path).read()
start = source.index('def extract_prompt(')
end = source.index('\\ndef ', start + 1)
names = {'__annotations__': {}}
exec('from __future__ import annotations\\nfrom typing import *\\n' + source[start:end], names)
for line in sys.stdin:
    print(json.dumps(names['extract_prompt'](json.loads(line))))
";
    let input: String = records.iter().map(|record| format!("{record}\n")).collect();
    let mut command = std::process::Command::new(&python);
    command.args(["-c", ask]);
    let theirs = Tool::new(command, "trl").input(input).run_whatever();
    if theirs.code() == Some(3) {
        println!("skipped: no trl");
        return;
    }
    for (record, theirs) in records.iter().zip(theirs.ok().records()) {
        let trained = |said: &[String]| {
            said.iter().filter(|said| said.starts_with("assistant")).cloned().collect::<Vec<_>>()
        };
        let ours = said(record, &["--take", "chosen"]);
        let parts = json!({"prompt": theirs["prompt"], "completion": theirs["chosen"]});
        assert_eq!(trained(&ours), trained(&said(&parts, &[])), "{record}");
    }
}

/// Records whose label is false are refused, or dropped and counted.
#[test]
fn wanted_answers_are_taken() {
    for key in ["label", "kto_tag"] {
        let record = |is_wanted: bool| json!({"prompt": "q", "completion": "a", key: is_wanted});
        let reason = converted(&record(false), &["-q"]).unwrap_err();
        assert_eq!(
            reason,
            format!("{key} is false: an answer that is not wanted; try: --take wanted")
        );
        let lines: String =
            [false, true, false].iter().map(|is| format!("{}\n", record(*is))).collect();
        for arguments in [&["--take", "wanted"][..], &["--take", "chosen,wanted"]] {
            let run = tool("chat-harmony").args(arguments).input(&lines).run().ok();
            assert_eq!(run.records().len(), 1);
            let warning = "chat-harmony: warning: records with answers that are not wanted: left out 2 times\n";
            assert_eq!(run.stderr, warning);
        }
    }
}

/// The options reach chat-harmony through the pipeline.
#[test]
fn the_pipeline_has_the_options() {
    let dir = TempDir::new();
    let pairs =
        json!({"ask": "q", "chosen": "a", "rejected": "b", "images": ["x.png"], "label": true});
    let unwanted = json!({"ask": "q", "chosen": "c", "rejected": "b", "label": false});
    let chats = dir.write("chats.ndjson", format!("{pairs}\n{unwanted}\n"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/synth-kd.sh");
    let root = dir.at("root");
    let options = "--take chosen,wanted --prompt-field ask --ignore-field images";
    bash(&format!("bash {script} {chats} {root} --chat -q --valid-fraction 0 {options}")).ok();
    let text = bash(&format!("ds-cat {root} | harmony-tok --decode")).ok().records();
    assert_eq!(text.len(), 1);
    assert!(text[0]["text"].as_str().unwrap().contains("<|message|>a<|return|>"), "{text:?}");
}
