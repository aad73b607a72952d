//! What comes again in a file: system texts, and declarations of tools, which are read, printed and encoded once.

use serde_json::{Value, json};

use super::agrees;
use crate::common::models::{CHATML, real_model, write_model};
use crate::common::{Random, TempDir, tool};

/// Prints tools in several forms.
const FORMS: &str = "<|im_start|>tools\n{{ tools | tojson }}\n{% for tool in tools or [] %}{{ tool | tojson(indent=2) }}\n\
{{ tool.function | tojson }}{{ loop.index }}{% endfor %}{{ tools | tojson(indent=4) }}<|im_end|>\n\
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}\
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// A tool; those of one number that is even begin alike.
fn declared(number: usize) -> Value {
    let description = format!("Looks for what is asked, in all that is there, and says {number}.");
    let parameters = json!({"type": "object", "properties": {"at": {"type": "string", "description": " <é> \"at\"\n"}}});
    let (first, last) = ("look".repeat(30), format!("of_{number}"));
    json!({"type": "function", "function": match number % 2 {
        0 => json!({"a": first, "name": last, "description": description, "parameters": parameters}),
        _ => json!({"name": last, "parameters": parameters, "description": description}),
    }})
}

/// Chats whose system texts and tools come again; `form` makes the record's tools of the declarations.
fn chats(count: usize, form: &dyn Fn(usize, Vec<Value>) -> String) -> String {
    let mut random = Random(7);
    let texts = ["Answer.\n\nRules:\n", "Say it.\n//", "é\n'll ", "1. No.\n2.\n"];
    let systems: Vec<String> =
        (0..4).map(|of| (0..60).map(|at| texts[(of + at * at) % 4]).collect()).collect();
    let mut lines = String::new();
    for number in 0..count {
        let tools = (0..random.below(4)).map(|_| declared(random.below(6))).collect();
        let system = json!({"role": "system", "content": systems[random.below(4)].trim()});
        let asked =
            json!({"role": "user", "content": format!("{number} {}", texts[number % 4].trim())});
        let answer = json!({"role": "assistant", "content": format!("é {number}")});
        let messages = json!([system, asked, answer]);
        let tools = form(number, tools);
        lines += &format!("{{\"id\": \"r{number}\", \"messages\": {messages}{tools}}}\n");
    }
    lines
}

/// The declarations of a record as a list; no list if there are none.
fn listed(tools: &[Value], space: &str) -> String {
    let tools: Vec<String> =
        tools.iter().map(|tool| tool.to_string().replace(":{", &format!(":{space}{{"))).collect();
    let tools = tools.join(", ");
    if tools.is_empty() { String::new() } else { format!(", \"tools\": [{tools}]") }
}

#[test]
fn tools_and_texts_that_come_again_are_as_transformers_has_them() {
    let dir = TempDir::new();
    let count = 120;
    let path = dir.write("again.jsonl", chats(count, &|_, tools| listed(&tools, "")));
    for (name, template) in [("chatml", CHATML), ("forms", FORMS)] {
        let model = write_model(&dir, name, template);
        assert_eq!(agrees(&model, (&path, count), "", &[]), "");
    }
    if let Some(model) = real_model("qwen3") {
        agrees(&model, (&path, count), "", &[]);
    }
}

/// Declarations of which each is written otherwise do not come again, and give the same.
#[test]
fn declarations_are_read_as_if_they_came_once() {
    let dir = TempDir::new();
    // The forms that records have, with control tokens, and with what is refused.
    let other = |number: usize, mut tools: Vec<Value>, space: &str| -> String {
        for (place, tool) in tools.iter_mut().enumerate() {
            match (number + place) % 9 {
                1 => tool["function"]["description"] = "It ends with <|im_end|> and more.".into(),
                2 => tool["strict"] = true.into(),
                3 => tool["function"]["parameters"]["properties"]["n"] = Value::Null,
                4 => tool["type"] = "custom".into(),
                5 => *tool = tool["function"].take(),
                _ => {}
            }
        }
        let listed = listed(&tools, space);
        match number % 11 {
            3 => listed.replace("\"é", "NaN, \"é").replace(" <é>", ""),
            5 if !tools.is_empty() => format!(", \"tools\": {}", json!(json!(tools).to_string())),
            7 => listed.replace("\"tools\"", "\"functions\""),
            _ => listed,
        }
    };
    let count = 400;
    let again = chats(count, &|number, tools| other(number, tools, ""));
    let once = chats(count, &|number, tools| other(number, tools, &" ".repeat(number)));
    for (name, template) in [("chatml", CHATML), ("forms", FORMS)] {
        let model = write_model(&dir, name, template);
        let run = |chats: &str, flags: &[&str]| {
            let filter = tool("chat-tok").args(&["--model", &model, "--on-error", "skip"]);
            filter.args(flags).input(chats).run().ok().stdout
        };
        let expected = run(&once, &[]);
        assert!(expected.len() > 100_000);
        assert!(run(&again, &[]) == expected, "{name}");
        assert!(run(&again, &["-j", "3"]) == expected, "{name}");
        let refused = run(&again, &["--special", "refuse"]);
        assert!(refused == run(&once, &["--special", "refuse"]) && refused != expected);
    }
}
