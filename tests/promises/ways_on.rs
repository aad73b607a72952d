//! The way on that a refusal names does what was meant when it is pasted.

use std::fs;

use serde_json::{Value, json};

use crate::common::{TempDir, bash, installed};
use crate::faults::inputs;

/// Commands that are refused, each with a way on. They run in a folder of inputs of every kind.
const REFUSED: [&str; 56] = [
    // Records that other filters make records of.
    "harmony-tok chats.jsonl",
    "harmony-tok qa.jsonl",
    "harmony-tok sharegpt.jsonl",
    "harmony-tok raw_rows/a.ndjson",
    "harmony-tok root",
    "harmony-tok < sharegpt.jsonl",
    "span-mask a.ndjson",
    "span-mask chats.jsonl",
    "span-mask qa.jsonl -q",
    "seq-pack chats.jsonl -o out.parquet",
    "seq-pack chats/a.jsonl chats/b.jsonl -o out.parquet",
    "seq-pack -o out.parquet qa.jsonl",
    "seq-pack -o out.parquet < qa.jsonl",
    "seq-pack -o out.parquet 'a b.jsonl'",
    "seq-pack raw_rows/a.ndjson -o out.parquet",
    "seq-pack rows.parquet -o out.parquet",
    "mmidx-write --prefix out/x chats.jsonl",
    "mmidx-write --prefix out/x qa.jsonl",
    "mmidx-write --prefix out/x a.ndjson",
    "mmidx-write --root out --shard x raw_rows/a.ndjson",
    "ds-cat qa.jsonl",
    "ds-cat raw_rows/a.ndjson",
    "ds-view sharegpt.jsonl",
    "ds-stat qa.jsonl --format json",
    "ds-stat chats.jsonl",
    "ds-check chats.jsonl",
    "ds-check qa.jsonl",
    // Folders and files of other kinds.
    "ds-view raw",
    "ds-stat raw",
    "ds-check raw",
    "npy-pack raw -o out",
    "ds-view raw/x/one.jsonl.gz",
    "ds-stat arc",
    "ds-stat chats",
    "ds-view root/manifest.json",
    "ds-cat pack/metadata.db",
    // Other encodings.
    "harmony-tok a.ndjson.bz2",
    "ds-view a.ndjson.xz",
    "ds-stat utf16.ndjson",
    "ds-cat array.json --slice 0/2",
    "harmony-tok empty.ndjson",
    // Outputs.
    "ds-cat a.ndjson -o b.ndjson",
    "mmidx-write a.masked --prefix p/a",
    "npy-pack games.ndjson -o pack",
    "seq-pack p/a -o rows/plain.parquet",
    "ds-cat a.ndjson -o out.arrow",
    "ds-cat a.ndjson -o out.ndjson.gz",
    "harmony-tok a.ndjson | mmidx-write --prefix out/x",
    // Chats.
    "chat-harmony qa.jsonl",
    "chat-harmony dialogue.jsonl",
    "chat-harmony preference.jsonl",
    "chat-harmony labelled.jsonl",
    "chat-harmony images.jsonl",
    // Choices.
    "ds-view split.ndjson --id chat",
    "ds-cat array.json --slice 0..1",
    "ds-check root --only no.such.check",
];

/// Files of people beside the inputs of every kind.
fn prepared() -> TempDir {
    let dir = TempDir::new();
    let inputs = dir.path().join("in");
    inputs::make(&inputs);
    let write = |name: &str, records: &[Value]| {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        fs::write(inputs.join(name), lines).unwrap();
    };
    let chat = json!([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]);
    write("chats.jsonl", &[json!({"messages": chat}), json!({"messages": chat})]);
    write("a b.jsonl", &[json!({"messages": chat})]);
    write("qa.jsonl", &[json!({"question": "2+2?", "answer": "4", "level": 1})]);
    write("dialogue.jsonl", &[json!({"dialogue": chat, "level": 1})]);
    let turns = json!([{"from": "human", "value": "2+2?"}, {"from": "gpt", "value": "4"}]);
    write("sharegpt.jsonl", &[json!({"conversations": turns})]);
    let chosen = json!({"prompt": "2+2?", "chosen": "4", "rejected": "5"});
    write("preference.jsonl", &[chosen]);
    let labelled = |label: bool| json!({"prompt": "2+2?", "completion": "4", "label": label});
    write("labelled.jsonl", &[labelled(true), labelled(false)]);
    write("images.jsonl", &[json!({"messages": chat, "images": ["a.png"]})]);
    let script = "cd $0; : > empty.ndjson; bzip2 -k a.ndjson; xz -k a.ndjson
        iconv -f UTF-8 -t UTF-16LE a.ndjson > utf16.ndjson; jq -s . a.ndjson > array.json
        echo '{\"id\":\"chat\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"},{\"role\":\"user\",\"content\":\"c\"},{\"role\":\"assistant\",\"content\":\"d\"}]}' |
            chat-harmony -q > split.ndjson";
    bash(&script.replace("$0", inputs.to_str().unwrap())).ok();
    dir
}

/// What somebody types who takes the way on of a command.
fn pasted(command: &str, way: &str) -> String {
    let reasons = [", if ", ", or ", ", which ", ", for ", " ("];
    let end = reasons.iter().filter_map(|reason| way.find(reason)).min().unwrap_or(way.len());
    let way = &way[..end];
    let (before, own) = command.rsplit_once(" | ").unwrap_or(("", command));
    let input = own.split_once(" < ").map_or("", |(_, input)| input);
    if let Some(rest) = way.strip_prefix("... | ") {
        let producer = if input.is_empty() { before.to_string() } else { format!("cat {input}") };
        return format!("{producer} | {rest}");
    }
    if way.starts_with('-') {
        // An option takes the place of the same.
        let name = way.split(' ').next().unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        return match words.iter().position(|word| *word == name) {
            Some(place) => {
                let rest = words.get(place + 2..).unwrap_or_default().join(" ");
                format!("{} {way} {rest}", words[..place].join(" "))
            }
            None => format!("{command} {way}"),
        };
    }
    if way.contains(' ') {
        return way.to_string();
    }
    // A path takes the place of the input.
    let words: Vec<&str> = command.split(' ').collect();
    format!("{} {way} {}", words[0], words[2..].join(" "))
}

#[test]
fn ways_on_do_what_was_meant() {
    if !["jq", "bzip2", "xz", "iconv"].iter().all(|program| installed(program)) {
        return;
    }
    let dir = prepared();
    let run = |command: &str| {
        let folder = dir.path().join("in");
        bash(&format!("set -o pipefail; cd {}; rm -rf out out.*; {command}", folder.display()))
    };
    let mut wrong = Vec::new();
    for command in REFUSED {
        let refused = run(command);
        let said = format!(
            "{}\n{}",
            String::from_utf8_lossy(&refused.stdout).replace("\n  ", " "),
            refused.stderr
        );
        if refused.code() == Some(0) {
            wrong.push(format!("{command}: not refused"));
            continue;
        }
        let Some((_, way)) = said.rsplit_once("try: ") else {
            wrong.push(format!("{command}: no way on: {said}"));
            continue;
        };
        let way = way.lines().next().unwrap();
        let command_of_way = pasted(command, way);
        let outcome = run(&command_of_way);
        if outcome.code() != Some(0) || way.contains("FILE") {
            wrong.push(format!("{command}\n  {said}\n  {command_of_way}\n  {}", outcome.stderr));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), REFUSED.len(), wrong.join("\n"));
}
