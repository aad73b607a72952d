//! What the templates of real models do not show: each is refused, or counted and said (docs/any-model.md).

use serde_json::{Value, json};

use crate::common::models::real_model;
use crate::common::{TempDir, bash};

/// What becomes of a part of a chat.
enum Fate {
    /// It is in the text, and nothing is said.
    Shown,
    /// It is not in the text, and is counted under this name.
    Counted(&'static str),
    /// The chat is refused with these words.
    Refused(&'static str),
}
use Fate::{Counted, Refused, Shown};

const REASONING: Fate = Counted("reasoning that the template does not show: left out once");
const NAMES: Fate = Counted("name: left out once");
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

#[test]
fn what_a_real_template_does_not_show_is_refused_or_counted() {
    for (name, fates) in [
        ("qwen3", [Shown, CONTENT, Shown, REASONING, Shown, Shown, Shown, Shown, NAMES]),
        ("llama3_1", [Shown, Shown, REASONING, REASONING, TOOLS, CALLS, CALLS, Shown, NAMES]),
        ("deepseek_v3", [Shown, CONTENT, REASONING, REASONING, TOOLS, CALLS, CALLS, Shown, NAMES]),
        ("gemma3", [Shown, ROLES, REASONING, REASONING, TOOLS, CALLS, ROLES, ROLES, NAMES]),
    ] {
        let Some(model) = real_model(name) else { continue };
        let dir = TempDir::new();
        for ((part, chat, marks), fate) in parts().into_iter().zip(fates) {
            let file = dir.write("chat.json", format!("{chat}\n"));
            let pipe = format!(
                "set -o pipefail; chat-tok --model {model} {file} --to arrow |
                    harmony-tok -q --decode --model {model} --to ndjson"
            );
            let run = bash(&pipe);
            let shown = marks.iter().filter(|mark| run.lossy().contains(**mark)).count();
            let said = run.stderr.as_str();
            let (is_ok, expected) = match fate {
                Shown => (said.is_empty(), marks.len()),
                Counted(words) => (said.lines().count() == 1 && said.contains(words), 0),
                Refused(words) => (said.contains("chat-tok: ") && said.contains(words), 0),
            };
            assert!(is_ok && shown == expected, "{name}, {part}: {said}{}", run.lossy());
            // Only a template that reads reasoning shows it in a turn by itself.
            assert_eq!(
                said.contains("--turns split"),
                name == "qwen3" && part == "earlier reasoning"
            );
        }
    }
}
