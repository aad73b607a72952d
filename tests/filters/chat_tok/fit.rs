//! `--turns fit`: each answer as the model generates it, in the fewest records, beside all prefixes of each chat with
//! transformers (tests/oracle/fit.py).

use std::path::Path;

use serde_json::{Value, json};

use crate::common::models::{CHATML, real_model, write_model};
use crate::common::{TempDir, data, oracle, python, tool};

fn compare(arguments: &[&str], wanted: &str) {
    let Some(python) = python() else { return };
    let run = oracle(&python, "fit_cases.py", arguments).ok();
    assert!(run.text().contains(wanted), "{}", run.text());
}

/// Ranges, ids and masks of random chats, over the templates here and of the packages, and real tokenizers.
#[test]
fn random_chats_are_as_the_definition_has_them() {
    let chat_tok = env!("CARGO_BIN_EXE_chat-tok");
    compare(&[chat_tok, "--count", "1600", "--seed", "20261127"], "'differ': 0");
}

/// Templates whose ranges came out wrong, with the right ones.
#[test]
fn stated_ranges_are_found() {
    let Some(data) = data("ranges") else { return };
    let data: &Path = data.as_ref();
    let chat_tok = env!("CARGO_BIN_EXE_chat-tok");
    compare(&["--ranges", data.to_str().unwrap(), chat_tok], ", 0 wrong");
}

fn say(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// Ids, and the sentence at the end.
#[test]
fn what_becomes_several_sequences_is_said() {
    let dir = TempDir::new();
    let last = CHATML
        .replace("{%- if m.reasoning_content %}", "{%- if m.reasoning_content and loop.last %}");
    let model = write_model(&dir, "m", &last);
    let thought =
        |text: &str| json!({"role": "assistant", "content": text, "reasoning_content": "why"});
    let one = json!({"id": "one", "messages": [say("user", "1"), thought("a")]});
    let two = json!({"id": "two", "messages": [say("user", "1"), thought("a"), say("user", "2"), thought("b"), say("user", "3")]});
    let none = json!({"id": "none", "messages": [say("user", "1"), {"role": "assistant", "content": "a", "weight": 0}]});
    let run = tool("chat-tok")
        .args(&["--model", &model])
        .input(format!("{one}\n{two}\n{none}\n"))
        .run()
        .ok();
    let ids: Vec<Value> = run.records().iter().map(|record| record["id"].clone()).collect();
    // (A chat in which nothing is trained on stays one sequence.)
    assert_eq!(ids, ["one", "two#1", "two#2", "none"]);
    let tokens = |at: usize| run.records()[at]["tokens"].as_array().unwrap().len();
    let whole = tokens(0) + tokens(2) + tokens(3);
    let all = whole + tokens(1);
    let said = format!("chat-tok: 3 chats, 4 sequences, {all} tokens ({whole} with --turns all)\n");
    assert_eq!(run.stderr, said);
}

/// The form of arguments that a template writes as an object of JSON; text that it writes as it is stays as it is.
#[test]
fn arguments_are_given_as_the_template_wants_them() {
    let dir = TempDir::new();
    let template = |arguments: &str| {
        format!(
            "{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n{{{{ m.content }}}}\
             {{% for c in m.tool_calls or [] %}}{{{{ c.function.name }}}}={arguments}{{% endfor %}}<|im_end|>\n{{% endfor %}}\
             {{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}"
        )
    };
    let text = r#"{"a":  "K\u00f6ln"}"#;
    let object = json!({"a": "Köln"});
    for (arguments, from_text, from_object) in [
        ("{{ c.function.arguments | tojson }}", r#"f={"a": "Köln"}"#, r#"f={"a": "Köln"}"#),
        ("{{ c.function.arguments }}", r#"f={"a":  "K\u00f6ln"}"#, r#"f={"a": "Köln"}"#),
        (
            "{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}{% endif %}",
            r#"f={"a":  "K\u00f6ln"}"#,
            r#"f={"a": "Köln"}"#,
        ),
        (
            "{% for k, v in c.function.arguments.items() %}[{{ k }}:{{ v }}]{% endfor %}",
            "f=[a:Köln]",
            "f=[a:Köln]",
        ),
    ] {
        let model = write_model(&dir, "m", &template(arguments));
        for (given, wanted) in [(json!(text), from_text), (object.clone(), from_object)] {
            let calls =
                json!([{"type": "function", "function": {"name": "f", "arguments": given}}]);
            let calling = json!({"role": "assistant", "content": null, "tool_calls": calls});
            let line = json!({"id": "a", "messages": [say("user", "1"), calling]});
            let made = tool("chat-tok").args(&["--model", &model]).input(format!("{line}\n"));
            let record = made.run().silent().records().remove(0);
            let said = super::trained(&masked(&record), &model).concat();
            assert_eq!(said, format!("{wanted}<|im_end|>"), "{arguments}");
        }
    }
}

fn masked(record: &Value) -> Value {
    tool("span-mask")
        .args(&["-q", "--span", "commentary=3"])
        .input(format!("{record}\n"))
        .run()
        .ok()
        .records()
        .remove(0)
}

/// A trace of hundreds of calls is one record of a model that keeps the reasoning of calls.
#[test]
fn a_long_trace_is_one_record() {
    let Some(model) = real_model("qwen3") else { return };
    let mut messages = vec![say("user", "Find it.")];
    for at in 0..300 {
        let call = json!({"name": "look", "arguments": {"at": format!("place {at}")}});
        let calls = json!([{"type": "function", "id": format!("c{at}"), "function": call}]);
        messages.push(json!({"role": "assistant", "content": "", "reasoning_content": format!("Why {at}."), "tool_calls": calls}));
        messages.push(
            json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": format!("{at}")}),
        );
    }
    messages.push(say("assistant", "There."));
    let line = format!("{}\n", json!({"id": "a", "messages": messages}));
    let run = |flags: &[&str]| {
        tool("chat-tok")
            .args(&["--model", &model])
            .args(flags)
            .input(&line)
            .run()
            .silent()
            .records()
    };
    let made = run(&[]);
    assert_eq!((made.len(), &made[0]["id"]), (1, &json!("a")));
    assert_eq!(made, run(&["--turns", "all"]));
    let trained = made[0]["segments"].as_array().unwrap().iter();
    let calls = trained.filter(|segment| segment["channel"] == "commentary").count();
    assert_eq!(calls, 300);
}
