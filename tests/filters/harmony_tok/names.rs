//! What a header or a declaration has comes back from `harmony-tok --decode` as it went in, or is refused.

use serde_json::{Value, json};

use crate::common::{TempDir, bash};

const NAMES: [&str; 30] = [
    "",
    "bob",
    "get_weather",
    "a-b.c/d",
    "a:b",
    ":",
    "a b",
    " a",
    "a ",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "a\u{a0}b",
    "a\u{2028}b",
    "a\u{3000}b",
    "a\u{85}b",
    "\0",
    "a\u{1f}b",
    "user",
    "assistant",
    "tool",
    "system:x",
    "x<|channel|>final",
    "<|end|>",
    "<|constrain|>json",
    "to=x",
    "x to=y",
    "é",
    "日本",
    "all",
];
const FIELDS: [&str; 4] = ["name", "recipient", "channel", "content_type"];

/// What each conversation of one message becomes on its way through a command and back; `None` if it is refused.
fn decoded(lines: &[Value], before: &str) -> Vec<Option<Vec<Value>>> {
    let dir = TempDir::new();
    let numbered = lines.iter().enumerate().map(|(number, line)| {
        let mut line = line.clone();
        line["id"] = number.to_string().into();
        format!("{line}\n")
    });
    dir.write("in", numbered.collect::<String>());
    let skip = "--on-error skip --allow-empty";
    let cd = format!("set -eo pipefail; cd {}", dir.path().display());
    let pipe = format!("harmony-tok -q --policy chat {skip} | harmony-tok --allow-empty --decode");
    let found = bash(&format!("{cd}; {before} < in | {pipe}")).records();
    let mut all = vec![None; lines.len()];
    for record in found {
        let number: usize = record["id"].as_str().unwrap().parse().unwrap();
        all[number] = record["messages"].as_array().cloned();
    }
    all
}

#[test]
fn headers_come_back_as_they_went_in() {
    let mut lines = Vec::new();
    let mut messages = Vec::new();
    for (role, field) in ["user", "assistant", "tool", "system"]
        .into_iter()
        .flat_map(|role| FIELDS.map(|field| (role, field)))
    {
        for name in NAMES {
            let mut message = json!({"role": role, "content": "c"});
            if role == "tool" {
                message["name"] = "functions.f".into();
            }
            message[field] = name.into();
            messages.push(message.clone());
            // Beside others, too.
            if role == "assistant" {
                for (other, value) in [
                    ("name", "bob"),
                    ("recipient", "x"),
                    ("channel", "final"),
                    ("content_type", "<|constrain|>json"),
                ] {
                    if other != field {
                        message[other] = value.into();
                    }
                }
                messages.push(message);
            }
        }
    }
    for message in &messages {
        lines.push(json!({"messages": [message, {"role": "assistant", "channel": "final", "content": "x"}]}));
    }
    let mut accepted = 0;
    for (message, decoded) in messages.iter().zip(decoded(&lines, "cat")) {
        let Some(decoded) = decoded else {
            let is_plain = |name: &str| ["bob", "get_weather", "a-b.c/d", "日本"].contains(&name);
            let odd = FIELDS
                .iter()
                .filter_map(|field| message[field].as_str())
                .find(|name| NAMES.contains(name));
            assert!(!odd.is_some_and(is_plain) || message["name"] == "bob", "{message}");
            continue;
        };
        accepted += 1;
        assert_eq!(decoded[0]["role"], message["role"]);
        for field in FIELDS {
            let wanted =
                Some(&message[field]).filter(|name| field != "recipient" || **name != "all");
            assert_eq!(&decoded[0][field], wanted.unwrap_or(&Value::Null), "{field} of {message}");
        }
    }
    assert!(accepted > 200, "{accepted}");
}

/// The names of functions in chats: in the call, the result and the declaration.
#[test]
fn names_of_functions_come_back() {
    let chat = |name: &str, property: &str| {
        json!({
            "tools": [{"type": "function", "function": {"name": name, "description": "d", "parameters":
                {"type": "object", "properties": {property: {"type": "string"}}}}}],
            "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": name, "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "1", "content": "ok"},
                {"role": "assistant", "content": "y"},
            ],
        })
    };
    let lines: Vec<Value> = NAMES.iter().map(|name| chat(name, "p")).collect();
    let before = "chat-harmony -q --on-error skip --allow-empty";
    let mut accepted = 0;
    for (name, decoded) in NAMES.iter().zip(decoded(&lines, before)) {
        let Some(decoded) = decoded else {
            assert!(
                name.is_empty() || name.contains(char::is_whitespace) || name.contains("<|"),
                "{name:?}"
            );
            continue;
        };
        accepted += 1;
        let called = format!("functions.{name}");
        assert_eq!(decoded[3]["recipient"], called.as_str());
        assert_eq!(decoded[4]["name"], called.as_str());
        let declared = format!("\ntype {name} = (_: {{\np?: string,\n}}) => any;\n");
        assert!(decoded[1]["text"].as_str().unwrap().contains(&declared), "{name:?}: {decoded:?}");
    }
    assert!(accepted >= 15, "{accepted}");
    let properties = [
        "p",
        "first name",
        "xml:lang",
        "$ref",
        "a\nb",
        " a",
        "a: number",
        "a?",
        "// a",
        "}",
        "<|end|>",
    ];
    let lines: Vec<Value> = properties.iter().map(|property| chat("f", property)).collect();
    let found = decoded(&lines, before);
    let is_taken: Vec<bool> = found.iter().map(Option::is_some).collect();
    assert_eq!(is_taken, [true, true, true, true, false, false, false, false, false, false, false]);
}
