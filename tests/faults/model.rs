//! Files of a model's folder: one that cannot be looked up, or that is no file, is never taken for one that is not
//! there, since another template, other stop tokens would be used without a word.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::cases::of_model;
use super::drive::Share;
use crate::common::models::{CHATML, write_model};
use crate::common::{TempDir, Tool, bin_dir};

/// The files and folders that change what is made of chats.
const NAMES: [&str; 8] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "config.json",
    "generation_config.json",
    "chat_template.jinja",
    "additional_chat_templates",
    "additional_chat_templates/more.jinja",
];

/// Adds to a model's folder all that it may have.
pub fn complete(folder: &Path) {
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let eos = json!({"eos_token_id": 1});
    write("config.json", eos.to_string());
    write("generation_config.json", eos.to_string());
    write("special_tokens_map.json", json!({"bos_token": "<s>"}).to_string());
    write("chat_template.jinja", CHATML.to_string());
    fs::create_dir_all(folder.join("additional_chat_templates")).unwrap();
    write("additional_chat_templates/more.jinja", CHATML.to_string());
}

#[test]
fn a_file_that_cannot_be_looked_up_is_not_missing() {
    super::run("model", of_model(), Share { seed: 1, of: 1, only: Some("stat") });
}

#[test]
fn what_has_the_name_of_a_file_is_that_file_or_refused() {
    let long = "x".repeat(300);
    for name in NAMES {
        let is_folder = !name.contains('.');
        for (make, code, cause) in [
            ("mkdir $F", 2, "is a directory"),
            ("mkfifo $F", 1, if is_folder { "is no folder" } else { "is no regular file" }),
            ("ln -s nowhere $F", 1, "is a link to nothing"),
            ("ln -s $(basename $F) $F", 75, "Too many levels of symbolic links"),
            (&format!("ln -s {long} $F"), 2, "File name too long"),
        ] {
            if is_folder && make.starts_with("mkdir") {
                continue;
            }
            let dir = TempDir::new();
            let model = write_model(&dir, "model", CHATML);
            complete(Path::new(&model));
            let chat = json!({"id": "a", "messages": [
                {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."},
            ]});
            let chat_tok = || {
                let arguments = ["10", &bin("chat-tok"), "-q", "--model", &model, "--to", "arrow"];
                tool_of("timeout").args(&arguments).input(chat.to_string() + "\n").run()
            };
            let tokens = chat_tok().silent().stdout;
            dir.bash(&format!("F={model}/{name}; rm -r $F; {make}")).silent();
            chat_tok().fails(code, &[&format!("{name}: "), cause]);
            let root = dir.at("root");
            let arguments =
                ["10", &bin("mmidx-write"), "--no-check", "--root", &root, "--shard", "s"];
            let written = tool_of("timeout").args(&arguments).input(&tokens).run();
            written.fails(code, &[&format!("{name}: "), cause]);
        }
    }
}

fn bin(name: &str) -> String {
    bin_dir().join(name).to_str().unwrap().to_string()
}

fn tool_of(program: &str) -> Tool {
    Tool::new(Command::new(program), program)
}
