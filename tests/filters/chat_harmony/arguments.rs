//! The arguments of calls: nulls that a table put there, numbers that JSON does not have, none at all.

use serde_json::{Value, json};

use super::converted;
use crate::common::{data, tool};

/// What is written of the arguments of a call, which stand as JSON in the record, or why it is refused.
fn written(parameters: Value, arguments: &str) -> Result<String, String> {
    let record = format!(
        r#"{{"tools": [{{"name": "f", "parameters": {parameters}}}], "messages": [{{"role": "user", "content": "x"}}, {{"role": "assistant", "tool_calls": [{{"name": "f", "arguments": {arguments}}}]}}]}}"#
    );
    let outcome = tool("chat-harmony").args(&["-q"]).input(record + "\n").run_whatever();
    match outcome.code() {
        Some(0) => {
            let messages = outcome.records()[0]["messages"].clone();
            let call = messages.as_array().unwrap().last().unwrap().clone();
            Ok(call["content"][0]["text"].as_str().unwrap().to_owned())
        }
        _ => Err(outcome.stderr),
    }
}

#[test]
fn nulls_of_tables_are_left_out_of_arguments() {
    let known = json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "b": {"type": "object", "properties": {"c": {"type": "string"}}},
        "d": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}},
    }});
    let mut open = known.clone();
    open["additionalProperties"] = true.into();
    for (schema, arguments, expected) in [
        (&known, r#"{"a": null, "x": null}"#, r#"{"a": null}"#),
        (&known, r#"{"b": {"c": null, "x": null}, "x": null}"#, r#"{"b": {"c": null}}"#),
        (&known, r#"{"d": [{"c": "1", "x": null}, null]}"#, r#"{"d": [{"c": "1"}, null]}"#),
        (&known, r#""{\"x\": null}""#, r#"{"x": null}"#),
        (&open, r#"{"x": null}"#, r#"{"x": null}"#),
        (&Value::Null, r#"{"x": null}"#, "{}"),
        (&json!({"type": "object", "properties": {}}), r#"{"x": null}"#, "{}"),
    ] {
        assert_eq!(written(schema.clone(), arguments).as_deref(), Ok(expected), "{arguments}");
    }
    let Some(directory) = data("public/tool_nulls") else { return };
    let made = ["raw.jsonl", "merged.jsonl", "merged.parquet"].map(|name| {
        let file = directory.join(name);
        tool("chat-harmony").args(&["-q", file.to_str().unwrap()]).run().ok().text()
    });
    assert_eq!(made[0], made[1]);
    assert_eq!(made[0], made[2]);
}

#[test]
fn arguments_are_json_objects() {
    for number in ["NaN", "Infinity", "-Infinity", "[{\"y\": NaN}]"] {
        for arguments in
            [format!("{{\"x\": {number}}}"), json!(format!("{{\"x\": {number}}}")).to_string()]
        {
            let refused = written(Value::Null, &arguments).unwrap_err();
            assert!(refused.contains("JSON"), "{arguments}: {refused}");
        }
    }
    for nothing in [r#""""#, r#"" \n""#, "null", "{}"] {
        assert_eq!(written(Value::Null, nothing).as_deref(), Ok("{}"), "{nothing}");
    }
    // Beyond all floats, but JSON.
    assert_eq!(written(Value::Null, r#""{\"x\": 1e999}""#).as_deref(), Ok(r#"{"x": 1e999}"#));
    let item =
        json!({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{\"x\":1e999}"});
    let made = converted(&json!({"input": "x", "output": [item]}), &["-q"]).unwrap();
    assert_eq!(made["messages"][2]["content"][0]["text"], "{\"x\":1e999}");
}
