//! The tokenizer that a root keeps: what is read with it, and what is refused.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::models::{CHATML, PLAIN, real_model, write_model, write_model_with};
use crate::common::{Outcome, TempDir, Tool, bash, oracle, python, tool};

/// The pipe from chats to a shard of a root.
fn pipe(model: &str, chats: &str, root: &str, flags: [&str; 2]) -> String {
    let [of_chats, of_root] = flags;
    format!(
        "set -o pipefail; export GRISTMILL_TO=arrow
         chat-tok --turns all --model {model} {of_chats} {chats} | span-mask -q --span commentary=3 |
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

/// The checks of a dataset in which a weight of 0 leaves a sequence with nothing supervised, and chats repeat.
fn check(path: &str) -> Tool {
    let skipped = "kd.mask.unsupervised,kd.root.repeated,kd.root.overlap,rows.unsupervised";
    tool("ds-check").args(&["--strict", path, "--skip", skipped])
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
    let checked = check(&root).run().ok();
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
    check(&rows).run().ok();
    if let Some(python) = python() {
        let model: Value = dir.json("root/tokenizer/tokenizer.json");
        let mut added = model["added_tokens"].as_array().unwrap().iter();
        let eos = added.find(|token| token["content"] == "<|im_end|>").unwrap();
        let script = "import json, sys, pyarrow.parquet as pq
stated = pq.ParquetFile(sys.argv[1]).metadata.metadata[b'gristmill.rows']
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
        check(&root).run().ok();
        // A stream has segments, and is checked in the same way.
        let tokenizer = format!("{root}/tokenizer");
        let stream = dir.at("stream.arrows");
        let chats = dir.at("chats.jsonl");
        bash(&format!(
            "set -o pipefail; export GRISTMILL_TO=arrow
             chat-tok --model {tokenizer} {chats} | span-mask -q > {stream}"
        ))
        .ok();
        check(&stream).run().ok();
    }
    // Tokens that are not those of their text are found: hell is one token.
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let say = |role: &str, text: &str| json!({"role": role, "content": text});
    let record = json!({"id": "a", "messages": [say("user", "hello"), say("assistant", "hello")]});
    let chats = dir.write("c.jsonl", format!("{record}\n"));
    let spoil = "jq -c '(.tokens | index([258])) as $at | .tokens |= (.[:$at] + [256, 257] + .[$at+1:]) |
        .segments |= map(if .start > $at then .start += 1 else . end | if .end > $at then .end += 1 else . end)'";
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
                let at = bytes.windows(5).position(|text| text == b"false").unwrap();
                bytes[at..at + 5].copy_from_slice(b"true ");
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
        "set -o pipefail; export GRISTMILL_TO=arrow
         chat-tok --model {model} {chats} | span-mask -q > {masked}"
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
    bash(&format!("{all} wait")).ok();
    assert_eq!(files(&format!("{root}/tokenizer")), files(&model));
    tool("ds-manifest").args(&[&root]).run().ok();
    check(&root).run().ok();
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
        check(&root).run().ok();
        let stream = format!("chat-tok --turns all --model {model} {flags} {chats}");
        let made = bash(&stream).ok().records();
        let again = tool("ds-cat").args(&[&root]).run().ok().records();
        assert_eq!(made.len(), again.len());
        let texts = tool("harmony-tok").args(&["--decode", &root]).run().silent().records();
        assert!(texts.iter().all(|record| record["text"].as_str().is_some()));
    }
}

#[test]
fn an_end_is_appended_as_megatron_does() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let chats = dir.write("chats.jsonl", super::chats(16, 30, false));
    let write = |root: &str, flags: &str| {
        let root = dir.at(root);
        bash(&pipe(&model, &chats, &root, ["", &format!("--shard s {flags}")]))
    };
    let read = |root: &str| tool("ds-cat").args(&[&dir.at(root)]).run().silent().records();
    write("plain", "").ok();
    write("named", "--append-eod '<pad>'").ok();
    write("numbered", "--append-eod 265").ok();
    tool("ds-diff").args(&["-q", &dir.at("named"), &dir.at("numbered")]).run().ok();
    for (plain, ended) in read("plain").iter().zip(&read("named")) {
        for (name, end) in [("tokens", 265), ("loss_mask", 0), ("span_id", 0)] {
            let mut wanted = plain[name].as_array().unwrap().clone();
            wanted.push(end.into());
            assert_eq!(ended[name], json!(wanted), "{name}");
        }
        assert_eq!(plain["id"], ended["id"]);
    }
    assert_eq!(dir.json("named/parts/s.json")["config"]["eod_token_id"], 265);
    let named = dir.at("named");
    tool("ds-manifest").args(&[&named]).run().ok();
    check(&named).run().ok();
    // It is looked for.
    let mut part = dir.json("plain/parts/s.json");
    part["config"]["eod_token_id"] = 265.into();
    dir.write("plain/parts/s.json", part.to_string());
    let run = tool("ds-check").args(&[&dir.at("plain")]).run();
    assert!(run.text().contains("kd.eod.missing"), "{}", run.text());
    for (flags, cause) in [
        ("--append-eod '<none>'", "--append-eod <none>: no token of the model"),
        ("--append-eod 266", "--append-eod 266: no token of the model"),
    ] {
        write("x", flags).fails(2, &[cause]);
    }
    let again =
        format!("ds-cat {named} --to arrow | mmidx-write --prefix {} --append-eod 3", dir.at("y"));
    let cause = "--append-eod 3: each sequence has an end already, the token 265";
    bash(&again).fails(2, &[cause]);
    let harmony = format!("echo '' | mmidx-write --prefix {} --append-eod 3", dir.at("y"));
    assert_ne!(bash(&harmony).code(), Some(0));
}

#[test]
fn tokens_of_small_vocabularies_have_two_bytes() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let chats = dir.write("chats.jsonl", super::chats(17, 50, false));
    let root = dir.at("root");
    bash(&pipe(&model, &chats, &root, ["", "--shard s"])).ok();
    tool("ds-manifest").args(&[&root]).run().ok();
    assert_eq!(dir.json("root/parts/s.json")["dtype"], "uint16");
    check(&root).run().ok();
    let made = bash(&format!("chat-tok --turns all --model {model} {chats}")).silent().records();
    let tokens_of = |records: &[Value]| -> Vec<(String, Value)> {
        let of = |record: &Value| (record["id"].to_string(), record["tokens"].clone());
        let mut all: Vec<_> = records.iter().map(of).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let read = tool("ds-cat").args(&[&root]).run().silent().records();
    assert_eq!(tokens_of(&read), tokens_of(&made));
    let train = format!("{root}/train");
    let rows = dir.at("rows.parquet");
    tool("seq-pack").args(&[&train, "-o", &rows, "--columns", "id"]).run().ok();
    check(&rows).run().ok();
    let of_train = tool("ds-cat").args(&[&train]).run().silent().records();
    let of_rows = tool("ds-cat").args(&[&rows]).run().silent().records();
    assert_eq!(tokens_of(&of_train), tokens_of(&of_rows));
    // Joined in another root, with the tokenizer.
    let joined = dir.at("joined/train/s");
    tool("mmidx-write").args(&["--concat", &format!("{train}/s"), "--prefix", &joined]).run().ok();
    tool("ds-manifest").args(&[&dir.at("joined")]).run().ok();
    check(&dir.at("joined")).run().ok();
    tool("ds-diff").args(&["--strict", &train, &dir.at("joined/train")]).run().ok();
    assert_eq!(files(&dir.at("joined/tokenizer")), files(&model));
    if let Some(python) = python() {
        let script = "import numpy, sys; print(numpy.fromfile(sys.argv[1], '<u2').tolist())";
        let python = python.to_str().unwrap();
        let values = bash(&format!("{python} -c \"{script}\" {train}/s_tokens.bin")).ok().records();
        let wanted: Vec<Value> =
            of_train.iter().flat_map(|r| r["tokens"].as_array().unwrap().clone()).collect();
        assert_eq!(values[0], json!(wanted));
    }
}

/// Tokens of a whole folder, and a root that they would be written to.
fn tokens_of(dir: &TempDir) -> (String, Vec<u8>, String) {
    let model = write_model(dir, "model", CHATML);
    crate::faults::model::complete(Path::new(&model));
    let chats = super::chats(11, 6, false);
    let chats = dir.write("chats.jsonl", chats);
    let make = format!(
        "export GRISTMILL_TO=arrow; chat-tok -q --model {model} {chats} | span-mask -q --span commentary=3"
    );
    let tokens = bash(&make).silent();
    (model, tokens.stdout, dir.at("root"))
}

#[test]
fn a_root_keeps_only_what_the_tokens_were_made_with() {
    let names = [
        "tokenizer_config.json",
        "special_tokens_map.json",
        "config.json",
        "generation_config.json",
        "chat_template.jinja",
        "additional_chat_templates/more.jinja",
        "tokenizer.json",
    ];
    for name in names {
        for (change, cause) in [("echo >> $F", "sha256 is"), ("rm $F", "is not there")] {
            let dir = TempDir::new();
            let (model, tokens, root) = tokens_of(&dir);
            dir.bash(&format!("F={model}/{name}; {change}")).ok();
            let arguments = ["--no-check", "--root", &root, "--shard", "s"];
            let run = tool("mmidx-write").args(&arguments).input(&tokens).run();
            one_line(&run.fails(2, &[cause]));
            assert!(!Path::new(&root).join("parts").exists());
        }
    }
    let dir = TempDir::new();
    let (model, tokens, root) = tokens_of(&dir);
    dir.write("model/additional_chat_templates/late.jinja", CHATML);
    let arguments = ["--no-check", "--root", &root, "--shard", "s"];
    let run = tool("mmidx-write").args(&arguments).input(&tokens).run();
    run.fails(2, &[&format!("{model}/additional_chat_templates/late.jinja: was not there")]);
}

/// Files that a model's folder has by links: of the folder itself, and as the cache of the Hub has them.
#[test]
fn links_that_lead_out_of_a_models_folder_are_not_kept() {
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let cache = "mkdir -p hub/snapshots hub/blobs hub/snapshots/other";
    for (script, is_kept) in [
        ("mv model/config.json model/c; ln -s c model/config.json".to_string(), true),
        (
            format!(
                "{cache}; mv model hub/snapshots/r; ln -s hub/snapshots/r model
                 mv model/config.json hub/blobs/{hash}; ln -s ../../blobs/{hash} model/config.json"
            ),
            true,
        ),
        ("mv model/config.json secret; ln -s ../secret model/config.json".to_string(), false),
        (
            "mv model/additional_chat_templates t; ln -s ../t model/additional_chat_templates"
                .to_string(),
            false,
        ),
        (
            format!(
                "mkdir blobs; mv model/config.json blobs/{hash}; ln -s ../blobs/{hash} model/config.json"
            ),
            false,
        ),
        (
            format!(
                "{cache}; mv model hub/snapshots/r; ln -s hub/snapshots/r model
                 mv model/config.json hub/blobs/passwd; ln -s ../../blobs/passwd model/config.json"
            ),
            false,
        ),
    ] {
        let dir = TempDir::new();
        let (_, tokens, root) = tokens_of(&dir);
        dir.bash(&script).ok();
        let arguments = ["--no-check", "--root", &root, "--shard", "s"];
        let run = tool("mmidx-write").args(&arguments).input(&tokens).run();
        if is_kept {
            run.ok();
        } else {
            one_line(&run.fails(2, &["is a link that leads out of the model's folder"]));
        }
    }
}

/// The crate `tokenizers` fails for some files that it reads: one line for each chat that it fails for, no more.
#[test]
fn a_tokenizer_that_cannot_go_on_is_one_line() {
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let mut file = dir.json("model/tokenizer.json");
    file["pre_tokenizer"] = json!({"type": "FixedLength", "length": 0});
    dir.write("model/tokenizer.json", file.to_string());
    let run = tool("chat-tok").args(&["--model", &model]).input(super::chats(11, 6, false)).run();
    one_line(&run.fails(1, &["tokenizers fails on it"]));
}
