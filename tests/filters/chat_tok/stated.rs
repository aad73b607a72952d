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
    run().fails(1, &["no chat template"]);
    let file = dir.write("model/chat_template.json", json!({"chat_template": CHATML}).to_string());
    assert_eq!(run().ok().text(), wanted);
    let named = tool("chat-tok").args(&["-q", "--model", &folder, "--template", &file]);
    let named = named.input(format!("{chat}\n")).run();
    named.fails(
        1,
        &["has its template as JSON; try: jq -j .chat_template FILE > chat_template.jinja"],
    );
}
