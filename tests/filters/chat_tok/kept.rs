//! The tokenizer that a root keeps: what is read with it, and what is refused.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::models::{CHATML, PLAIN, real_model, write_model, write_model_with};
use crate::common::{Outcome, TempDir, bash, oracle, python, tool};

/// The pipe from chats to a shard of a root.
fn pipe(model: &str, chats: &str, root: &str, flags: [&str; 2]) -> String {
    let [of_chats, of_root] = flags;
    format!(
        "set -o pipefail; export GRISTMILL_TO=arrow
         chat-tok --model {model} {of_chats} {chats} | span-mask -q --span commentary=3 |
             mmidx-write --root {root} --valid-fraction 0.1 {of_root}"
    )
}

/// A root of chats of a model that is not there any more.
fn root_of(dir: &TempDir, template: &str, flags: [&str; 2]) -> String {
    let model = write_model_with(dir, "model", template, &[(":", "h"), (":", "G"), (":", "x")]);
    let chats = dir.write("chats.jsonl", super::chats(11, 60, template == PLAIN));
    let root = dir.at("root");
    bash(&pipe(&model, &chats, &root, [flags[0], &format!("--shard s {}", flags[1])])).ok();
    tool("ds-manifest").args(&[&root]).run().ok();
    fs::rename(&model, dir.at("gone")).unwrap();
    root
}

fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(folder);
    let mut all = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_string();
                    all.push((name, fs::read(path).unwrap()));
                }
            }
        }
    }
    all.sort();
    all
}

fn one_line(run: &Outcome) {
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

#[test]
fn a_root_keeps_the_files_of_its_model() {
    let dir = TempDir::new();
    let root = root_of(&dir, CHATML, ["", ""]);
    assert_eq!(files(&format!("{root}/tokenizer")), files(&dir.at("gone")));
    // Manifests state them, and no path of this machine.
    let manifest = dir.json("root/manifest.json");
    let part = dir.json("root/parts/s.json");
    let stated = &manifest["tokenizer_files"];
    assert_eq!(stated, &part["tokenizer_files"]);
    assert_eq!(stated["paths"]["tokenizer.json"], "tokenizer/tokenizer.json");
    assert_eq!(stated["sha256"]["tokenizer.json"], manifest["tokenizer"]["model_sha256"]);
    let mut stated_parts = [manifest["tokenizer"].clone(), stated.clone(), part["source"].clone()];
    stated_parts[2]["inputs"] = Value::Null;
    for stated in stated_parts {
        assert!(!stated.to_string().contains(dir.path().to_str().unwrap()), "{stated}");
    }
    let checked = tool("ds-check").args(&["--strict", &root]).run().ok();
    assert!(!checked.text().contains("another tokenizer"), "{}", checked.text());
    // A shard more, of the folder that is kept: its files are left as they are.
    let kept = format!("{root}/tokenizer");
    let before = fs::metadata(format!("{kept}/tokenizer.json")).unwrap().modified().unwrap();
    bash(&pipe(&kept, &dir.at("chats.jsonl"), &root, ["--slice 0/2", "--shard t"])).ok();
    let after = fs::metadata(format!("{kept}/tokenizer.json")).unwrap().modified().unwrap();
    assert_eq!(before, after);
}

#[test]
fn everything_is_read_with_what_the_root_keeps() {
    let dir = TempDir::new();
    let root = root_of(&dir, CHATML, ["", ""]);
    let decoded = bash(&format!("ds-cat {root} --to arrow | harmony-tok --decode --to ndjson"));
    let decoded = decoded.silent().records();
    assert_eq!(decoded, tool("harmony-tok").args(&["--decode", &root]).run().silent().records());
    if let Some(python) = python() {
        let [kept, chats] = [format!("{root}/tokenizer"), dir.at("chats.jsonl")];
        let wanted = oracle(&python, "chat_tok.py", &[&kept, &chats]).ok().records();
        assert_eq!(wanted.len(), decoded.len());
        for decoded in &decoded {
            let is_it = |wanted: &&Value| wanted["id"] == decoded["id"];
            let wanted = wanted.iter().find(is_it).unwrap();
            assert_eq!(decoded["text"], wanted["text"]);
        }
    }
    let shown = tool("ds-view").args(&[&root, "--nth", "0"]).run().silent().text();
    assert!(shown.contains("<|im_end|>"), "{shown}");
    let page = dir.at("page.html");
    tool("ds-view").args(&[&root, "--nth", "0", "--html", &page]).run().silent();
    assert!(dir.text("page.html").contains("im_end"));
    // Texts around a difference are in its tokenizer.
    let half = format!("{root}/train/s");
    let spoilt = dir.at("spoilt.ndjson");
    bash(&format!("ds-cat {half} | jq -c '.tokens[3] = 72' > {spoilt}")).ok();
    let run = tool("ds-diff").args(&[&half, &spoilt]).run();
    assert!(run.text().contains("[["), "{}", run.text());
    assert!(run.text().contains("A: <|im_start|>"), "{}", run.text());
    // Rows are padded as Megatron-Bridge pads them: with eos.
    let rows = dir.at("rows.parquet");
    let padded = ["--form", "megatron-bridge", "--pad-seq-to-mult", "8", "--seq-length", "4096"];
    let train = format!("{root}/train");
    tool("seq-pack").args(&padded).args(&[&train, "-o", &rows]).run().ok();
    tool("ds-check").args(&["--strict", &rows]).run().ok();
    if let Some(python) = python() {
        let model: Value = dir.json("root/tokenizer/tokenizer.json");
        let mut added = model["added_tokens"].as_array().unwrap().iter();
        let eos = added.find(|token| token["content"] == "<|im_end|>").unwrap();
        let script = "import json, sys, pyarrow.parquet as pq
stated = pq.read_schema(sys.argv[1]).metadata[b'gristmill.rows']
print(json.loads(stated)['padding']['token'])";
        let python = python.to_str().unwrap();
        let stated = bash(&format!("{python} -c \"{script}\" {rows}")).ok().text();
        assert_eq!(stated.trim(), eos["id"].to_string());
    }
}

#[test]
fn texts_are_encoded_again_as_they_were_cut() {
    for (template, spans) in [(PLAIN, ""), (CHATML, "")] {
        let dir = TempDir::new();
        let root = root_of(&dir, template, ["", spans]);
        tool("ds-check").args(&["--strict", &root]).run().ok();
        // A stream has segments, and is checked in the same way.
        let tokenizer = format!("{root}/tokenizer");
        let stream = dir.at("stream.arrows");
        let chats = dir.at("chats.jsonl");
        bash(&format!(
            "set -o pipefail; chat-tok --model {tokenizer} {chats} --to arrow | span-mask -q > {stream}"
        ))
        .ok();
        tool("ds-check").args(&["--strict", &stream]).run().ok();
    }
    // Tokens that are not those of their text are found: h and e are one token.
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let say = |role: &str, text: &str| json!({"role": role, "content": text});
    let record = json!({"id": "a", "messages": [say("user", "hello"), say("assistant", "hello")]});
    let chats = dir.write("c.jsonl", format!("{record}\n"));
    let spoil = "jq -c '(.tokens | index([259])) as $at | .tokens |= (.[:$at] + [71, 68, 257] + .[$at+1:]) |
        .segments |= map(if .start > $at then .start += 2 else . end | if .end > $at then .end += 2 else . end)'";
    let spoilt = dir.at("spoilt.ndjson");
    let made = bash(&format!("chat-tok --model {model} {chats} | {spoil} > {spoilt}"));
    made.ok();
    let run = tool("ds-check").args(&["--strict", "--model", &model, &spoilt]).run();
    assert!(run.text().contains("kd.token.canonical"), "{}", run.text());
}

#[test]
fn another_tokenizer_is_refused_in_one_line() {
    let dir = TempDir::new();
    let root = root_of(&dir, CHATML, ["", ""]);
    let chats = dir.at("chats.jsonl");
    let kept = format!("{root}/tokenizer/tokenizer.json");
    // A shard of another model.
    let other = write_model(&dir, "other", CHATML);
    let run = bash(&pipe(&other, &chats, &root, ["", "--shard t"]));
    run.fails(2, &["root/tokenizer/tokenizer.json: is of another model: its sha256 is "]);
    // Another template of the same tokenizer.
    let same = dir.at("same");
    bash(&format!(
        "cp -r {} {same}; echo '{{{{ 1 }}}}' >> {same}/chat_template.jinja",
        dir.at("gone")
    ));
    let run = bash(&format!(
        "ds-cat {root} --to arrow | mmidx-write --root {root} --shard t --model {same}"
    ));
    run.fails(2, &["the chat template: its sha256 is "]);
    let whole = fs::read(&kept).unwrap();
    for (name, cause) in
        [("changed", "its sha256 is "), ("other", "tokenizer.json"), ("missing", "tokenizer.json")]
    {
        match name {
            "changed" => {
                let mut bytes = whole.clone();
                let at = bytes.windows(7).position(|text| text == b"\"1.0\",\"").unwrap();
                bytes[at + 1] = b'2';
                fs::write(&kept, bytes).unwrap();
            }
            "other" => {
                fs::write(&kept, fs::read(format!("{other}/tokenizer.json")).unwrap()).unwrap()
            }
            _ => fs::remove_dir_all(format!("{root}/tokenizer")).unwrap(),
        }
        for arguments in [
            &["harmony-tok", "--decode", &root][..],
            &["ds-view", &root, "--nth", "0"],
            &["ds-diff", &root, &root],
        ] {
            let run = tool(arguments[0]).args(&arguments[1..]).run();
            one_line(&run);
            assert_ne!(run.code(), Some(0));
            assert!(run.stderr.contains(cause), "{name}: {}", run.stderr);
        }
        let run = tool("ds-check").args(&[&root]).run();
        assert_eq!(run.code(), Some(1), "{}", run.text());
        assert!(run.text().contains("tokenizer/tokenizer.json"), "{name}: {}", run.text());
    }
}

#[test]
fn where_the_model_is_not_found_it_is_asked_for() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let chats = dir.write("chats.jsonl", super::chats(12, 8, false));
    let masked = dir.at("masked.arrows");
    bash(&format!(
        "set -o pipefail; chat-tok --model {model} {chats} --to arrow | span-mask -q > {masked}"
    ))
    .ok();
    fs::rename(&model, dir.at("moved")).unwrap();
    let root = dir.at("root");
    let write = |flags: &[&str]| {
        let arguments = [&["--root", &root, "--shard", "s", &masked][..], flags].concat();
        tool("mmidx-write").args(&arguments).run()
    };
    let run = write(&[]);
    one_line(&run);
    run.fails(2, &["model", "try: --model DIR"]);
    assert!(!Path::new(&root).exists());
    write(&["--model", &dir.at("moved")]).ok();
    assert_eq!(files(&format!("{root}/tokenizer")), files(&dir.at("moved")));
    // The part of this model is done, and not that of another or of o200k.
    let status = |flags: &[&str]| {
        let fixed = ["--status", "--root", &root, "--shard", "s"];
        tool("mmidx-write").args(&[&fixed[..], flags].concat()).run().text()
    };
    let moved = dir.at("moved");
    let other = write_model_with(&dir, "other", CHATML, &[("a", "b")]);
    assert_eq!(status(&["--model", &moved]), "s done\n");
    assert_eq!(status(&["--model", &other]), "s stale: its tokenizer differs\n");
    assert!(status(&[]).starts_with("s stale: "));
}

#[test]
fn a_template_of_its_own_is_kept() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", PLAIN);
    let template = dir.write("t.jinja", CHATML);
    let chats = dir.write("chats.jsonl", super::chats(13, 8, false));
    let root = dir.at("root");
    let flags = format!("--template {template}");
    bash(&pipe(&model, &chats, &root, [&flags, "--shard s"])).ok();
    assert_eq!(dir.text("root/tokenizer/chat_template.jinja"), CHATML);
    // The kept folder renders the same.
    let rendered = |model: &str, flags: &str| {
        bash(&format!("chat-tok --model {model} {flags} {chats}")).silent().records()
    };
    assert_eq!(rendered(&format!("{root}/tokenizer"), ""), rendered(&model, &flags));
}

#[test]
fn writers_at_the_same_time_keep_one() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let chats = dir.write("chats.jsonl", super::chats(14, 40, false));
    let root = dir.at("root");
    let writers = (0..6).map(|number| {
        let shard = format!("--shard s{number}");
        format!("( {} ) & ", pipe(&model, &chats, &root, [&format!("--slice {number}/6"), &shard]))
    });
    let all: String = writers.collect();
    bash(&format!("{all} wait")).silent();
    assert_eq!(files(&format!("{root}/tokenizer")), files(&model));
    tool("ds-manifest").args(&[&root]).run().ok();
    tool("ds-check").args(&["--strict", &root, "--skip", "kd.root.repeated"]).run().ok();
}

#[test]
fn real_models_are_kept() {
    for name in ["qwen3", "llama3_1", "gemma3", "deepseek_v3", "llama2", "gptoss"] {
        let Some(model) = real_model(name) else { continue };
        let dir = TempDir::new();
        let chats = dir.write("chats.jsonl", super::chats(15, 60, true));
        let template = dir.write("t.jinja", PLAIN);
        let has_template = ["qwen3", "llama3_1", "gemma3", "deepseek_v3"].contains(&name);
        let flags = if has_template { String::new() } else { format!("--template {template}") };
        let root = dir.at("root");
        bash(&pipe(&model, &chats, &root, [&flags, "--shard s"])).ok();
        tool("ds-manifest").args(&[&root]).run().ok();
        tool("ds-check").args(&["--strict", &root]).run().ok();
        let stream = format!("chat-tok --model {model} {flags} {chats}");
        let made = bash(&stream).ok().records();
        let again = tool("ds-cat").args(&[&root]).run().ok().records();
        assert_eq!(made.len(), again.len());
        let texts = tool("harmony-tok").args(&["--decode", &root]).run().silent().records();
        assert!(texts.iter().all(|record| record["text"].as_str().is_some()));
    }
}
