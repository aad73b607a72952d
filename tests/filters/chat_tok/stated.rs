//! Tokens and templates that only the files beside `tokenizer.json` state, beside transformers.

use std::fs;

use serde_json::{Value, json};

use crate::common::models::{CHATML, write_model};
use crate::common::{TempDir, oracle, python, tool};

#[test]
fn stated_tokens_have_the_ids_of_transformers() {
    let Some(python) = python() else { return };
    let run =
        oracle(&python, "stated_tokens.py", &[env!("CARGO_BIN_EXE_chat-tok"), "120", "20261128"]);
    let found = run.ok().records().pop().unwrap();
    let [same, refused] = ["same", "refused"].map(|key| found[key].as_u64().unwrap());
    assert!(same + refused == 120 && refused < 20, "{found}");
}

/// Calls as OpenAI's API returns them, and files as `json.dump` writes them, for every template that shows tools.
#[test]
fn chats_of_apis_are_taken_by_every_template_for_tools() {
    let Some(python) = python() else { return };
    let run = oracle(&python, "api_chats.py", &[env!("CARGO_BIN_EXE_chat-tok")]).ok();
    let found = run.records().pop().unwrap();
    assert!(found["bad"] == json!([]) && found["taken"].as_u64() >= Some(30), "{found}");
}

/// A template that reads contents as lists of parts alone has a way on, and the tokens are those of the same template for
/// texts.
#[test]
fn contents_are_lists_of_parts_for_templates_that_read_these_alone() {
    let dir = TempDir::new();
    let texts = write_model(&dir, "texts", CHATML);
    let shown = "{%- for part in m.content if part.type == 'text' %}{{ part.text }}{% endfor %}";
    let template =
        CHATML.replace("{{- m.content or '' }}", shown).replace("{{ m.content }}", shown);
    assert_ne!(template, CHATML);
    let parts = write_model(&dir, "parts", &template);
    let chats: String = (0..3)
        .map(|number| {
            let messages = [
                ("system", "s"),
                ("user", "q \n"),
                ("assistant", " a"),
                ("user", "q1"),
                ("assistant", "a1"),
            ];
            let messages = messages
                .map(|(role, text)| json!({"role": role, "content": format!("{text}{number}")}));
            format!("{}\n", json!({"id": number, "messages": messages}))
        })
        .collect();
    let run = |model: &str, options: &[&str]| {
        tool("chat-tok").args(&["-q", "--model", model]).args(options).input(&chats).run_whatever()
    };
    let ids = |run: crate::common::Outcome| {
        run.ok()
            .records()
            .iter()
            .map(|record| (record["tokens"].clone(), record["segments"].clone()))
            .collect::<Vec<_>>()
    };
    run(&parts, &[]).fails(1, &["; try: --content parts"]);
    assert_eq!(ids(run(&parts, &["--content", "parts"])), ids(run(&texts, &[])));
}

/// The way on of a reasoning that was cut is taken, also where the template reads no reasoning.
#[test]
fn a_cut_reasoning_is_context_with_a_weight_of_0() {
    let dir = TempDir::new();
    let plain = write_model(&dir, "plain", crate::common::models::PLAIN);
    let models = [write_model(&dir, "reasoning", CHATML), plain];
    let say = |role: &str, text: &str| json!({"role": role, "content": text});
    for model in models {
        for weight in [1, 0] {
            let mut cut = say("assistant", "<think>\nhm");
            cut["weight"] = json!(weight);
            let chat = [say("user", "q"), cut, say("user", "q1"), say("assistant", "a")];
            let input = format!("{}\n", json!({"messages": chat}));
            let run = tool("chat-tok").args(&["-q", "--model", &model]).input(input).run_whatever();
            assert_eq!(run.code(), Some(weight), "{model}: {run:?}");
            assert!(weight == 0 || run.stderr.contains("or give weight: 0"), "{run:?}");
        }
    }
}

/// The template of older processors: in a folder without another one; as a file it is named, with a way on.
#[test]
fn the_template_of_a_processor_is_read() {
    let dir = TempDir::new();
    let folder = write_model(&dir, "model", CHATML);
    let chat = json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]});
    let run =
        || tool("chat-tok").args(&["-q", "--model", &folder]).input(format!("{chat}\n")).run();
    let wanted = run().ok().text();
    let config = dir.path().join("model/tokenizer_config.json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    value.as_object_mut().unwrap().remove("chat_template");
    fs::write(&config, value.to_string()).unwrap();
    let _ = fs::remove_file(dir.path().join("model/chat_template.jinja"));
    run().fails(2, &["no chat template"]);
    let file = dir.write("model/chat_template.json", json!({"chat_template": CHATML}).to_string());
    assert_eq!(run().ok().text(), wanted);
    let named = tool("chat-tok").args(&["-q", "--model", &folder, "--template", &file]);
    let named = named.input(format!("{chat}\n")).run();
    let way = format!("jq -j .chat_template '{file}' > chat_template.jinja");
    named.fails(1, &[&format!("has its template as JSON; try: {way}")]);
    dir.bash(&way).ok();
    let found = dir.at("chat_template.jinja");
    let named = tool("chat-tok").args(&["-q", "--model", &folder, "--template", &found]);
    assert_eq!(named.input(format!("{chat}\n")).run().ok().text(), wanted);
}
