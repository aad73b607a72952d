//! Random chats of all shapes.

use serde_json::Value;

use super::vocabulary;
use crate::common::{TempDir, bash, python};

const CHATS: usize = 4_000;
/// Keeps all reasoning, in one conversation for a chat.
const ALL: &str = "--turns all,prompts --set keep_reasoning=true";
const CONTROL: std::ops::RangeInclusive<i64> = 199_998..=201_087;

/// Against openai-harmony with all reasoning, token for token.
#[test]
fn random_chats_are_what_openai_harmony_makes() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let vocabulary = vocabulary(&dir);
    let oracle = format!("random 20261124 {CHATS} {}", dir.path().display());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/chats.py");
    bash(&format!("TIKTOKEN_ENCODINGS_BASE={vocabulary} {} {script} {oracle}", python.display()))
        .ok();
    let lines = dir.text("expected.ndjson");
    let expected: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let chats = dir.at("chats.ndjson");
    let pipe = format!("chat-harmony -j 2 {ALL} {chats} | harmony-tok --policy chat");
    let found = bash(&format!("set -o pipefail; {pipe}")).ok().records();
    assert_eq!((found.len(), expected.len()), (CHATS, CHATS));
    for (found, expected) in found.iter().zip(&expected) {
        let tokens = found["tokens"].as_array().unwrap();
        let wanted = expected["harmony"].as_array().unwrap();
        assert_eq!(tokens[..tokens.len() - 1], wanted[..], "{}", found["id"]);
        // Text never becomes a control token: as many as messages need, and no more.
        let controls = tokens.iter().filter(|id| CONTROL.contains(&id.as_i64().unwrap())).count();
        let messages = found["segments"].as_array().unwrap();
        let with_channel = messages.iter().filter(|message| !message["channel"].is_null()).count();
        let calls = wanted.iter().filter(|id| id.as_i64() == Some(200_012)).count();
        assert_eq!(controls, 3 * messages.len() + with_channel + calls + 1, "{}", found["id"]);
    }
    split_trains_every_token_once(&chats);
}

/// Over the records of a chat, each token of the assistant that `all` trains on is trained on once.
fn split_trains_every_token_once(chats: &str) {
    let supervised = |options: &str| {
        let pipe = format!(
            "chat-harmony -q --limit 1000 {options} {chats} |
             harmony-tok --policy chat | span-mask -q --span commentary=3"
        );
        let mut counts: Vec<(String, u64)> = Vec::new();
        for record in bash(&pipe).ok().records() {
            let id = record["id"].as_str().unwrap().split('#').next().unwrap().to_string();
            let mask = record["loss_mask"].as_array().unwrap().iter();
            let count = mask.map(|value| value.as_u64().unwrap()).sum::<u64>();
            match counts.last_mut().filter(|(last, _)| *last == id) {
                Some((_, sum)) => *sum += count,
                None => counts.push((id, count)),
            }
        }
        counts
    };
    let (split, all) = (supervised("--turns fit,prompts"), supervised(ALL));
    assert_eq!(split.len(), 1000);
    assert!(split == all);
}

/// Threads, slices and encodings change nothing.
#[test]
fn threads_slices_and_encodings_give_the_same() {
    let dir = TempDir::new();
    let lines: String = (0..3000)
        .map(|n| {
            let long = "word ".repeat(n % 50);
            format!(
                "{{\"id\":{n},\"messages\":[{{\"role\":\"user\",\"content\":\"{long}?\"}},{{\"role\":\"assistant\",\
                 \"content\":\"a{n}\",\"thinking\":\"{long}\"}},{{\"role\":\"user\",\"content\":\"more\"}},\
                 {{\"role\":\"assistant\",\"content\":\"b\",\"reasoning\":\"t\"}}]}}\n"
            )
        })
        .collect();
    let chats = dir.write("chats.ndjson", lines);
    for turns in ["all", "fit"] {
        let run = |more: &str| {
            bash(&format!("set -o pipefail; chat-harmony -q --turns {turns} {chats} {more}"))
                .silent()
                .text()
        };
        let one = run("-j 1");
        assert!(one == run("-j 4"));
        assert!(one == run("--to arrow | ds-cat - --to ndjson --columns id,messages_json,policy"));
        let slices: String = (0..3).map(|part| run(&format!("--slice {part}/3"))).collect();
        assert!(one == slices);
        let file = dir.at(&format!("{turns}.parquet"));
        run(&format!("-o {file}"));
        assert!(one == bash(&format!("ds-cat {file}")).silent().text());
    }
}
