//! Rendering against the official package: recorded cases, and live with random conversations.
//!
//! `GRISTMILL_DATA` (a directory holding `harmony/cases.jsonl`) switches on the recorded ones,
//! `GRISTMILL_PYTHON` (a Python with openai-harmony 0.0.8) the live ones.

use std::path::PathBuf;
use std::process::Command;

use gristmill::harmony::{
    Channel, Policy, RenderOutput, Renderer, Role, Segments, decode, segments_of,
};
use gristmill::json::Reader;
use gristmill::tokenizer::{EOD, token_bytes};
use serde_json::Value;

use crate::common::write_vocabulary;

/// One conversation rendered alone, or the error's text. It is rendered a second time after
/// the first, when the renderer knows its messages.
fn render(renderer: &mut Renderer, json: &str) -> Result<RenderOutput, String> {
    let mut out = RenderOutput::default();
    let first = renderer.render(json, &mut out).map_err(|error| error.to_string());
    let once = out.clone();
    let second = renderer.render(json, &mut out).map_err(|error| error.to_string());
    assert_eq!(first, second);
    if let Err(text) = first {
        assert!(out.tokens.is_empty() && out.segments.list.is_empty());
        assert!(!text.contains(char::is_control) && !text.is_empty(), "{text:?}");
        return Err(text);
    }
    let (tokens, segments) = (once.tokens.len(), once.segments.list.len());
    assert_eq!(once.tokens, out.tokens[tokens..]);
    assert_eq!(segments * 2, out.segments.list.len());
    for (a, b) in once.segments.list.iter().zip(&out.segments.list[segments..]) {
        assert_eq!((a.role, a.start, a.end), (b.role, b.start, b.end));
        assert_eq!(once.segments.channel(a), out.segments.channel(b));
    }
    Ok(once)
}

fn ids(value: &Value) -> Vec<i32> {
    value.as_array().unwrap().iter().map(|id| id.as_i64().unwrap() as i32).collect()
}

/// What the pipeline computes from segments, before alignment.
fn masks(rendered: &RenderOutput) -> (Vec<i32>, Vec<i32>) {
    let mut spans = vec![0; rendered.tokens.len()];
    for segment in &rendered.segments.list {
        let span = match (segment.role, segment.channel) {
            (Role::Assistant, Some(Channel::Analysis)) => 1,
            (Role::Assistant, Some(Channel::Final)) => 2,
            _ => 0,
        };
        spans[segment.start as usize..segment.end as usize].fill(span);
    }
    (spans.iter().map(|&span| i32::from(span > 0)).collect(), spans)
}

/// Finds the segments again from the tokens alone, and decodes them.
fn check_inverse(rendered: &RenderOutput) {
    let mut again = Segments::default();
    segments_of(&rendered.tokens, &mut again).unwrap();
    let decoded = decode(&rendered.tokens).unwrap();
    let mut bytes = Vec::new();
    for &id in &rendered.tokens {
        bytes.extend_from_slice(token_bytes(id).unwrap());
    }
    assert_eq!(decoded.text.as_bytes(), bytes);
    assert_eq!(again.list.len(), rendered.segments.list.len());
    assert_eq!(decoded.messages.len(), again.list.len());
    for ((a, b), message) in rendered.segments.list.iter().zip(&again.list).zip(&decoded.messages) {
        assert_eq!((a.start, a.end), (b.start, b.end));
        assert_eq!((a.role, rendered.segments.channel(a)), (b.role, again.channel(b)));
        assert_eq!(message.role, b.role);
        assert_eq!(message.channel.as_deref(), again.channel(b));
    }
}

/// Whether a refusal is right though the official package renders the conversation: its header or a declaration
/// would be read as another.
fn is_unreadable(error: &str, json: &str, tokens: &[i32]) -> bool {
    if error.contains("cannot stand in a declaration") {
        return true;
    }
    if !error.contains("cannot stand in a header") {
        return false;
    }
    if error.contains("the name of a control token") {
        return true;
    }
    // (Numbers like 1e999 are none of serde_json's; what has them is not looked at.)
    let Ok(given) = serde_json::from_str::<Value>(json) else { return true };
    let messages = given["messages"].as_array().unwrap();
    let decoded = decode(tokens).unwrap().messages;
    let differs = |(given, read): (&Value, &gristmill::harmony::DecodedMessage)| {
        let text = |key: &str| given[key].as_str().map(str::to_owned);
        let recipient = text("recipient").filter(|name| name != "all");
        let given = [text("name"), recipient, text("channel"), text("content_type")];
        let read = read.clone();
        given != [read.name, read.recipient, read.channel, read.content_type]
    };
    messages.iter().zip(&decoded).any(differs)
}

fn data() -> Option<PathBuf> {
    let found = std::env::var_os("GRISTMILL_DATA").map(PathBuf::from);
    if found.is_none() {
        println!("skipped: GRISTMILL_DATA is not set");
    }
    found
}

#[test]
fn recorded_cases() {
    let Some(data) = data() else { return };
    let text = std::fs::read_to_string(data.join("harmony/cases.jsonl")).unwrap();
    let mut synth = Renderer::new(Policy::SynthKdV1);
    let mut chat = Renderer::new(Policy::Chat);
    let mut wrong = Vec::new();
    let (mut accepted, mut refused, mut chats) = (0, 0, 0);
    for line in text.lines() {
        // Messages are taken as text, so that lone surrogates stay.
        let (mut case, mut json) = (serde_json::Map::new(), String::new());
        Reader::new(line)
            .object(|reader, key| {
                let raw = reader.raw()?;
                match key.raw() {
                    "messages" => json = format!("{{\"messages\": {raw}}}"),
                    "messages_json" => json = serde_json::from_str(raw).unwrap(),
                    key => {
                        case.insert(key.to_owned(), serde_json::from_str(raw).unwrap());
                    }
                }
                Ok::<_, gristmill::json::Error>(())
            })
            .unwrap();
        let id = case["id"].as_str().unwrap();
        let ours = render(&mut synth, &json);
        match (&ours, case.get("tokens")) {
            (Ok(ours), Some(tokens)) => {
                accepted += 1;
                let (loss_mask, span_id) = masks(ours);
                if ours.tokens != ids(tokens)
                    || loss_mask != ids(&case["loss_mask"])
                    || span_id != ids(&case["span_id"])
                {
                    wrong.push(format!("{id}: tokens or masks differ"));
                }
                check_inverse(ours);
            }
            (Err(_), None) => refused += 1,
            (Err(error), Some(tokens)) if is_unreadable(error, &json, &ids(tokens)) => refused += 1,
            (Ok(_), None) => wrong.push(format!("{id}: accepted, but {}", case["error"])),
            (Err(error), Some(_)) => wrong.push(format!("{id}: refused: {error}")),
        }
        // The official package alone.
        let ours = render(&mut chat, &json);
        let theirs = case.get("harmony_tokens").map(|tokens| {
            let mut tokens = ids(tokens);
            tokens.push(EOD);
            tokens
        });
        match (&ours, &theirs) {
            (Ok(ours), Some(theirs)) if ours.tokens != *theirs => {
                wrong.push(format!("{id}: chat: tokens differ"));
            }
            (Err(error), Some(theirs)) if is_unreadable(error, &json, theirs) => {}
            (Err(error), Some(_)) => wrong.push(format!("{id}: chat: refused: {error}")),
            (Ok(_), None) if case.get("harmony_error").is_some() => {
                wrong.push(format!("{id}: chat: accepted, but {}", case["harmony_error"]));
            }
            _ => chats += 1,
        }
        if let (Ok(ours), Some(tokens)) = (&ours, case.get("tokens"))
            && ours.tokens != ids(tokens)
        {
            wrong.push(format!("{id}: chat differs from synth"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    println!("{accepted} rendered, {refused} refused, {chats} under chat");
    assert!(accepted > 200 && refused > 40);
}

/// A directory with the vocabulary. Tests run side by side: each has its own.
fn vocabulary_file(arguments: &[&str]) -> PathBuf {
    let name = format!("vocabulary{}", arguments.join("-"));
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    write_vocabulary(&directory);
    directory
}

fn setting(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// 2,000 random conversations, or as many as `GRISTMILL_COUNT` says, from `GRISTMILL_SEED`.
#[test]
fn random_conversations() {
    let (seed, count) = (setting("GRISTMILL_SEED", "1"), setting("GRISTMILL_COUNT", "2000"));
    let Some([lines, accepted, synth]) = compare(&[&seed, &count]) else { return };
    assert_eq!(lines.to_string(), count);
    assert!(accepted * 2 > lines && synth * 4 > lines);
}

#[test]
fn conversations_at_the_edges() {
    let Some([lines, accepted, _]) = compare(&["--edges"]) else { return };
    assert!(lines > 150 && accepted > 40);
}

/// Compares with the official package on the conversations that the oracle makes: how many,
/// how many of them the package renders (and we render, or refuse for what could not be read back), and how many of these the SYNTH policy takes.
fn compare(arguments: &[&str]) -> Option<[usize; 3]> {
    let Some(python) = std::env::var_os("GRISTMILL_PYTHON") else {
        println!("skipped: GRISTMILL_PYTHON is not set");
        return None;
    };
    let oracle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/harmony_oracle.py");
    let output = Command::new(python)
        .args([oracle])
        .args(arguments)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TIKTOKEN_ENCODINGS_BASE", vocabulary_file(arguments))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the oracle failed: {errors}");
    let (mut synth, mut chat) = (Renderer::new(Policy::SynthKdV1), Renderer::new(Policy::Chat));
    let (mut accepted, mut synth_accepted, mut lines) = (0, 0, 0);
    let mut wrong = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        lines += 1;
        let case: Value = serde_json::from_str(line).unwrap();
        let json = case["messages_json"].as_str().unwrap();
        let shown = || json.chars().take(1500).collect::<String>();
        let expected = case.get("tokens").map(|tokens| {
            let mut tokens = ids(tokens);
            tokens.push(EOD);
            tokens
        });
        let ours = render(&mut chat, json);
        match (&ours, &expected) {
            (Ok(ours), Some(theirs)) if ours.tokens != *theirs => {
                let text = |tokens| decode(tokens).map(|decoded| decoded.text);
                wrong.push(format!(
                    "differs: {}\n ours:   {:?}\n theirs: {:?}",
                    shown(),
                    text(&ours.tokens),
                    text(theirs),
                ));
            }
            (Ok(ours), Some(_)) => {
                accepted += 1;
                check_inverse(ours);
            }
            (Err(_), None) => {}
            (Ok(_), None) => {
                wrong.push(format!("accepted, but {}: {}", case["error"], shown()));
            }
            // The official package renders no messages as no tokens: there is nothing to train on.
            (Err(error), Some(theirs)) if theirs.as_slice() == [EOD] && error == "no messages" => {}
            // What could not be read back is refused, as it must be.
            (Err(error), Some(theirs)) if is_unreadable(error, json, theirs) => accepted += 1,
            (Err(error), Some(_)) => wrong.push(format!("refused ({error}): {}", shown())),
        }
        match (render(&mut synth, json), case["synth"].as_bool()) {
            (Ok(ours), Some(true)) => {
                synth_accepted += 1;
                if Some(&ours.tokens) != expected.as_ref() {
                    wrong.push(format!("synth differs: {}", shown()));
                }
            }
            (Err(_), Some(false)) => {}
            (Err(error), Some(true))
                if expected.as_ref().is_some_and(|theirs| is_unreadable(&error, json, theirs)) =>
            {
                synth_accepted += 1;
            }
            (ours, theirs) => {
                let ours = ours.err();
                wrong.push(format!("synth {theirs:?}, ours {ours:?}: {}", shown()));
            }
        }
    }
    let first: Vec<&str> = wrong.iter().take(10).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {lines} wrong:\n{}", wrong.len(), first.join("\n\n"));
    println!("{lines} conversations: {accepted} rendered, {synth_accepted} under synth-kd-v1");
    Some([lines, accepted, synth_accepted])
}
