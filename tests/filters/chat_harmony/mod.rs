//! chat-harmony: chats in all shapes, against the official template and openai-harmony.

mod answers;
mod apis;
mod arguments;
mod data_sets;
mod datasets;
mod random;
mod rules;
mod sessions;
mod shapes;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::vocabulary::write_vocabulary;
use crate::common::{TempDir, bash, data, oracle, python, tool};

/// The cases of data/chat.
fn cases() -> Option<(PathBuf, Vec<Value>)> {
    let path = data("chat")?.join("cases.ndjson");
    let text = fs::read_to_string(&path).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Some((path, cases))
}

/// Why a case is refused. (Of one that has only chosen and rejected answers the cases say that it has no shape; it has
/// one now, and is refused with a way on.)
fn refusal(reason: &str) -> &str {
    let is_of_pairs =
        reason.starts_with("no chat shape") && reason.ends_with("found chosen, rejected");
    if is_of_pairs { shapes::UNDECIDED } else { reason }
}

/// A case's record, which says itself what the case says beside it.
fn record(case: &Value) -> Value {
    let mut record = case["input"].clone();
    for (name, value) in case["options"].as_object().unwrap() {
        match (name.as_str(), value) {
            ("date", _) | ("add_generation_prompt", Value::Bool(false)) => {}
            _ => record["chat_template_kwargs"][name] = value.clone(),
        }
    }
    record
}

/// Cases that state a conversation, and are refused.
const SINCE_REFUSED: [(&str, &str); 4] = [
    ("thinking-and-reasoning_content-differ", TWO_REASONINGS),
    ("think-tags-and-thinking", TWO_IN_CONTENT),
    ("content-empty-assistant", NO_TEXT),
    ("content-empty-assistant-thinking", NO_TEXT),
];
/// A case whose null is of a member that the tool does not have: padding of a table, which is left out now.
const PADDED: &str = "arrow-null-args";
const TWO_REASONINGS: &str =
    "message 1: thinking and reasoning_content are two reasonings; give one of them";
const TWO_IN_CONTENT: &str =
    "message 1: reasoning in the content, and another beside it; give one of them";
const NO_TEXT: &str = "message 1: assistant without text, which would be trained on as an empty answer; \
     give its content, or weight: 0";

fn date(case: &Value) -> &str {
    case["options"]["date"].as_str().unwrap()
}

/// What becomes of a record: its conversation, or why there is none.
fn converted(record: &Value, arguments: &[&str]) -> Result<Value, String> {
    let line = format!("{record}\n");
    let outcome = tool("chat-harmony").args(arguments).input(&line).run_whatever();
    if outcome.code() == Some(0) {
        return Ok(outcome.records().remove(0));
    }
    assert_eq!((outcome.code(), outcome.text().as_str()), (Some(1), ""), "{}", outcome.stderr);
    let (_, reason) = outcome.stderr.trim_end().split_once("stdin:1: ").unwrap();
    let reason = reason.trim_end_matches('\n');
    // After the id, where there is one.
    let reason = match reason.strip_prefix('(') {
        Some(rest) => rest.split_once(") ").map_or(reason, |(_, reason)| reason),
        None => reason,
    };
    Err(reason.to_string())
}

fn without_marks(mut conversation: Value) -> Value {
    for message in conversation["messages"].as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("train");
    }
    conversation
}

/// Keeps all reasoning, in one conversation for a chat.
const ALL: [&str; 4] = ["--turns", "all,prompts", "--set", "keep_reasoning=true"];

#[test]
fn every_case_is_as_stated() {
    let Some((_, cases)) = cases() else { return };
    let mut made: Vec<(String, &Value)> = Vec::new();
    for case in cases.iter().filter(|case| case["name"] != PADDED) {
        let name = &case["name"];
        let arguments = [&ALL[..], &["--date", date(case), "-q"]].concat();
        let found = converted(&record(case), &arguments);
        let wanted = &case["records"]["harmony"];
        let stated = [&case["refuse"], &wanted["refuse"]].into_iter().find_map(Value::as_str);
        // Refused since: what would be lost, or trained on as an empty answer.
        let since = SINCE_REFUSED.iter().find(|(known, _)| name == known);
        match (found, since.map(|(_, reason)| *reason).or(stated)) {
            (Err(reason), Some(wanted)) => assert_eq!(reason, refusal(wanted), "{name}"),
            (Err(reason), None) => panic!("{name} is refused: {reason}"),
            (Ok(found), None) => {
                let found = without_marks(found);
                assert_eq!(found["messages"], wanted["messages"], "{name}");
                made.push((found.to_string(), wanted));
            }
            (Ok(_), Some(wanted)) => panic!("{name} is not refused: {wanted}"),
        }
    }
    let input: String = made.iter().map(|(line, _)| format!("{line}\n")).collect();
    let found = tool("harmony-tok").args(&["--policy", "chat"]).input(&input).run().ok();
    for (found, (_, wanted)) in found.records().iter().zip(&made) {
        let tokens = found["tokens"].as_array().unwrap();
        assert_eq!(tokens[..tokens.len() - 1], wanted["tokens"].as_array().unwrap()[..]);
    }
}

/// The masks of all cases, weights included, under `--span commentary=3`.
#[test]
fn every_case_is_trained_on_as_stated() {
    let Some((_, cases)) = cases() else { return };
    let dir = TempDir::new();
    let good = |case: &&Value| {
        let is_refused = SINCE_REFUSED.iter().any(|(name, _)| case["name"] == *name);
        let is_other = is_refused || case["name"] == PADDED;
        !is_other && case["refuse"].is_null() && case["records"]["harmony"]["segments"].is_array()
    };
    let cases: Vec<&Value> = cases.iter().filter(good).collect();
    for by_date in ["2026-01-01", "2025-06-28"] {
        let cases = cases.iter().filter(|case| date(case) == by_date);
        let lines: String = cases.clone().map(|case| format!("{}\n", record(case))).collect();
        let chats = dir.write("chats.ndjson", lines);
        let masked = bash(&format!(
            "chat-harmony {chats} -q {} --date {by_date} |
             harmony-tok --policy chat | span-mask -q --span commentary=3",
            ALL.join(" ")
        ));
        let masked = masked.ok().records();
        for (case, found) in cases.zip(&masked) {
            let mut wanted = vec![0; found["tokens"].as_array().unwrap().len()];
            for segment in case["records"]["harmony"]["segments"].as_array().unwrap() {
                let id = match &segment["span"] {
                    Value::String(name) if name == "commentary" => 3,
                    id => id.as_u64().unwrap(),
                };
                let [start, end] =
                    ["start", "end"].map(|key| segment[key].as_u64().unwrap() as usize);
                // Position t is about token t + 1.
                wanted[start.saturating_sub(1)..end - 1].fill(id);
            }
            assert_eq!(found["span_id"], json!(wanted), "{}", case["name"]);
        }
        assert_eq!(masked.len(), chats_in(&dir));
    }
}

fn chats_in(dir: &TempDir) -> usize {
    dir.text("chats.ndjson").lines().count()
}

/// TRL trains on every assistant message, header and end included: so do these masks.
#[test]
fn masks_are_those_of_trls_training_template() {
    let (Some((path, cases)), Some(python)) = (cases(), python()) else { return };
    let trained = oracle(&python, "chats.py", &["trained", path.to_str().unwrap()]).ok().records();
    let mut compared = 0;
    for (case, trained) in cases.iter().zip(&trained) {
        let has_control = case["input"].to_string().contains("<|");
        let is_weighted = ["weight-0-1", "train-flags"].contains(&case["name"].as_str().unwrap());
        if trained["text"].is_null() || has_control || is_weighted {
            continue;
        }
        let arguments = ["--turns", "all,prompts", "-q", "--date", date(case)];
        let Ok(conversation) = converted(&record(case), &arguments) else { continue };
        let dir = TempDir::new();
        let file = dir.write("c.ndjson", format!("{conversation}\n"));
        let decoded = bash(&format!(
            "harmony-tok --policy chat {file} | span-mask -q --span commentary=3 | harmony-tok --decode"
        ));
        let decoded = decoded.ok().records().remove(0);
        // Behind the system and developer messages, whose words the template has of its own.
        let text = format!("{}<|endoftext|>", trained["text"].as_str().unwrap());
        let chat = |text: &str| {
            let begin = ["<|start|>user", "<|start|>assistant"].map(|role| text.find(role));
            begin.into_iter().flatten().min().map(|at| text[at..].to_string())
        };
        let own = decoded["text"].as_str().unwrap();
        if chat(own).is_none() || chat(own) != chat(&text) {
            continue;
        }
        let marked = |text: &str, spans: Vec<(u64, u64)>| {
            let mut marks = vec![false; text.chars().count()];
            spans.iter().for_each(|&(start, end)| marks[start as usize..end as usize].fill(true));
            let all = chat(text).unwrap_or_default().chars().count();
            assert!(!marks[..marks.len() - all].contains(&true));
            marks.split_off(marks.len() - all)
        };
        let pair = |span: &Value, [a, b]: [&str; 2]| {
            (span[a].as_u64().unwrap(), span[b].as_u64().unwrap())
        };
        let ours = decoded["spans"].as_array().unwrap().iter();
        let ours = marked(own, ours.map(|span| pair(span, ["start", "end"])).collect());
        let theirs = trained["spans"].as_array().unwrap().iter();
        let theirs = theirs.map(|s| (s[0].as_u64().unwrap(), s[1].as_u64().unwrap())).collect();
        assert_eq!(ours, marked(&text, theirs), "{}", case["name"]);
        compared += 1;
    }
    assert!(compared >= 40, "{compared}");
}

/// Parquet of four writers, and their way back through Arrow, gives what NDJSON gives.
#[test]
fn parquet_of_every_writer_gives_the_same() {
    let (Some((path, cases)), Some(python)) = (cases(), python()) else { return };
    let dir = TempDir::new();
    oracle(&python, "chats.py", &["parquet", path.to_str().unwrap(), dir.path().to_str().unwrap()])
        .ok();
    let mut compared = BTreeMap::new();
    for (number, case) in cases.iter().enumerate() {
        let run = |file: &str| {
            let outcome = tool("chat-harmony").args(&[&dir.at(file), "-q"]).run_whatever();
            // After the file, the line or record, and the id.
            let reason = outcome.stderr.split_once(')').map(|(_, reason)| reason.to_string());
            let reason = reason.map(|reason| reason.trim_start_matches([':', ' ']).to_string());
            (outcome.code(), outcome.text(), reason)
        };
        let wanted = run(&format!("{number}.ndjson"));
        for writer in ["pyarrow", "polars", "datasets", "duckdb"] {
            let file = format!("{number}.{writer}.parquet");
            if dir.path().join(&file).exists() {
                assert_eq!(run(&file), wanted, "{writer}: {}", case["name"]);
                *compared.entry(writer).or_insert(0) += 1;
            }
        }
    }
    assert!(compared.len() == 4 && compared.values().all(|count| *count > 100), "{compared:?}");
}

/// Every key that may be absent may be null, wherever it is.
#[test]
fn a_null_is_as_nothing() {
    let Some((_, cases)) = cases() else { return };
    const OF_RECORDS: &str = "messages conversations conversation prompt completion instruction output input user \
    final system tools functions chat_template_kwargs id reasoning_effort";
    const OF_MESSAGES: &str = "thinking reasoning_content reasoning tool_calls function_call tool_call_id name \
    refusal weight train audio";
    let fill = |value: &mut Value, keys: &str| {
        let Some(object) = value.as_object_mut() else { return };
        for key in keys.split(' ') {
            object.entry(key).or_insert(Value::Null);
        }
    };
    for case in &cases {
        let plain = record(case);
        let mut filled = plain.clone();
        fill(&mut filled, OF_RECORDS);
        for key in ["messages", "conversations", "prompt", "completion", "input"] {
            let messages = filled.get_mut(key).and_then(Value::as_array_mut);
            messages.into_iter().flatten().for_each(|message| fill(message, OF_MESSAGES));
        }
        let arguments = ["-q", "--date", date(case)];
        let same = converted(&plain, &arguments) == converted(&filled, &arguments);
        assert!(same, "{}", case["name"]);
    }
}

/// The vocabulary for openai-harmony, in a folder.
fn vocabulary(dir: &TempDir) -> String {
    write_vocabulary(dir.path());
    dir.path().to_str().unwrap().to_string()
}
