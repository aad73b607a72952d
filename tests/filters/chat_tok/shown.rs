//! What the templates of real models do not show: each is refused, or counted and said (docs/your-chats.md).

use serde_json::{Value, json};

use crate::common::models::real_model;
use crate::common::{TempDir, bash};

/// What becomes of a part of a chat.
#[derive(Clone, Copy)]
enum Fate {
    /// It is in the text.
    Shown,
    /// It is not in the text, and is counted and said.
    Counted,
    /// The chat is refused with these words.
    Refused(&'static str),
}
use Fate::{Counted, Refused, Shown};

const CONTENT: Fate = Refused("message 0: the template does not show its content");
const TOOLS: Fate = Refused("the template does not show the tools of the chat");
const CALLS: Fate = Refused("message 1: the template does not show its tool calls");
const ROLES: Fate = Refused("the template refuses the chat: Conversation roles must alternate");

/// The parts of chats in the order of the tables below: the chat, and texts that are of the part alone.
fn parts() -> [(&'static str, Value, &'static [&'static str]); 9] {
    let tools = json!([{"type": "function", "function": {"name": "zqLook", "description": "zqFinds",
        "parameters": {"type": "object", "properties": {}}}}]);
    let ask = json!({"role": "user", "content": "Question?"});
    let answer = json!({"role": "assistant", "content": "Answer."});
    let of = |role: &str, text: &str| json!({"role": role, "content": text});
    let with = |message: &Value, name: &str, value: Value| {
        let mut message = message.clone();
        message[name] = value;
        message
    };
    let calls = json!([{"type": "function", "id": "c1", "function": {"name": "zqLook", "arguments": {"a": "zqArgument"}}}]);
    let thinking = with(&answer, "reasoning_content", json!("zqThought"));
    let calling = with(&answer, "tool_calls", calls);
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "zqResult"});
    let chat = |messages: &[&Value]| json!({"messages": messages});
    [
        ("system", chat(&[&of("system", "zqSystem"), &ask, &answer]), &["zqSystem"]),
        ("developer", chat(&[&of("developer", "zqDeveloper"), &ask, &answer]), &["zqDeveloper"]),
        ("reasoning", chat(&[&ask, &thinking]), &["zqThought"]),
        ("earlier reasoning", chat(&[&ask, &thinking, &ask, &answer]), &["zqThought"]),
        ("tools", with(&chat(&[&ask, &answer]), "tools", tools.clone()), &["zqLook", "zqFinds"]),
        ("calls", chat(&[&ask, &calling]), &["zqLook", "zqArgument"]),
        (
            "calls with results",
            with(&chat(&[&ask, &calling, &result, &answer]), "tools", tools),
            &["zqLook", "zqArgument", "zqResult"],
        ),
        ("results", chat(&[&ask, &answer, &result, &answer]), &["zqResult"]),
        ("names", chat(&[&with(&ask, "name", json!("zqName")), &answer]), &["zqName"]),
    ]
}

/// The lines of a file of rejects.
fn rejects_of(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_a_real_template_does_not_show_is_refused_or_counted() {
    const SPLIT: &str = "; --turns fit makes records in which each turn has its own";
    for (name, fates, reasoning) in [
        ("qwen3", [Shown, CONTENT, Shown, Counted, Shown, Shown, Shown, Shown, Counted], "once"),
        (
            "llama3_1",
            [Shown, Shown, Counted, Counted, TOOLS, CALLS, CALLS, Shown, Counted],
            "2 times",
        ),
        (
            "deepseek_v3",
            [Shown, CONTENT, Counted, Counted, TOOLS, CALLS, CALLS, Shown, Counted],
            "2 times",
        ),
        (
            "gemma3",
            [Shown, ROLES, Counted, Counted, TOOLS, CALLS, ROLES, ROLES, Counted],
            "2 times",
        ),
    ] {
        let Some(model) = real_model(name) else { continue };
        let dir = TempDir::new();
        let lines = parts().map(|(part, mut chat, _)| {
            chat["id"] = part.into();
            format!("{chat}\n")
        });
        let chats = dir.write("chats.jsonl", lines.concat());
        let rejects = dir.at("rejects");
        let pipe = format!(
            "set -o pipefail; chat-tok --model {model} --turns all {chats} --to arrow --on-error skip --rejects {rejects} |
                harmony-tok -q --decode --model {model} --to ndjson"
        );
        let run = bash(&pipe).ok();
        let (texts, rejected) = (run.records(), rejects_of(&dir.text("rejects")));
        for ((part, _, marks), fate) in parts().into_iter().zip(fates) {
            let text =
                texts.iter().find(|record| record["id"] == part).map(|record| record.to_string());
            let shown = |text: &String| marks.iter().filter(|mark| text.contains(**mark)).count();
            let reason = rejected
                .iter()
                .find(|reject| reject["id"] == part)
                .map(|of| of["reason"].to_string());
            match fate {
                Shown => assert_eq!(
                    text.as_ref().map(shown),
                    Some(marks.len()),
                    "{name}, {part}: {reason:?}"
                ),
                Counted => {
                    assert_eq!(text.as_ref().map(shown), Some(0), "{name}, {part}: {reason:?}")
                }
                Refused(words) => {
                    assert!(
                        text.is_none() && reason.as_ref().is_some_and(|why| why.contains(words)),
                        "{name}, {part}: {reason:?}"
                    );
                }
            }
        }
        // Only a template that reads reasoning shows it in a turn by itself.
        let split = if name == "qwen3" { SPLIT } else { "" };
        let said = format!(
            "reasoning that the template does not show: left out {reasoning}{split}; --reasoning keep"
        );
        assert!(run.stderr.contains(&said), "{name}: {}", run.stderr);
        assert!(run.stderr.contains("not read: of messages: name\n"), "{name}: {}", run.stderr);
    }
}
