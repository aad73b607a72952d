//! Files of sessions of Claude Code and Codex: the chats in them, beside the same chats in OpenAI's messages, written
//! by hand.

use serde_json::{Value, json};

use super::converted;
use crate::common::{Outcome, TempDir, tool};

const ARGUMENTS: [&str; 4] = ["--turns", "all", "--set", "keep_reasoning=true"];

fn run(lines: &[Value]) -> Outcome {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    tool("chat-harmony").args(&ARGUMENTS).input(text).run_whatever()
}

/// The ids and messages of all chats in a file.
fn chats(lines: &[Value]) -> Vec<(String, Value)> {
    let outcome = run(lines);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let records = outcome.records().into_iter();
    let of =
        |mut record: Value| (record["id"].as_str().unwrap().to_string(), record["messages"].take());
    records.map(of).collect()
}

fn of_openai(messages: Value) -> Value {
    let quiet = [&["-q"], &ARGUMENTS[..]].concat();
    let made = converted(&json!({"messages": messages}), &quiet);
    made.unwrap_or_else(|reason| panic!("{messages}: {reason}"))["messages"].take()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn called(reasoning: Option<&str>, text: Option<&str>, ids: &[&str]) -> Value {
    let call =
        |id: &&str| json!({"id": id, "function": {"name": "open", "arguments": {"gate": id}}});
    let calls: Vec<Value> = ids.iter().map(call).collect();
    json!({"role": "assistant", "reasoning": reasoning, "content": text, "tool_calls": calls})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

/// A line of Claude Code: what it is, its id, and that of the line before it.
fn line(kind: &str, uuid: &str, parent: Option<&str>, message: Value) -> Value {
    json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/weir", "sessionId": "s1", "version": "2.1",
        "type": kind, "message": message, "uuid": uuid, "timestamp": "2026-03-01T10:00:00Z"})
}

fn asked(uuid: &str, parent: Option<&str>, text: &str) -> Value {
    line("user", uuid, parent, user(text))
}

/// A line of an answer: a block of the message with this id.
fn block(uuid: &str, parent: &str, id: &str, block: Value) -> Value {
    line(
        "assistant",
        uuid,
        Some(parent),
        json!({"id": id, "type": "message", "role": "assistant", "model": "m",
        "content": [block], "stop_reason": null, "usage": {"output_tokens": 1}}),
    )
}

fn says(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn calls(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "open", "input": {"gate": id}})
}

fn came(uuid: &str, parent: &str, id: &str, text: &str) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
    line("user", uuid, Some(parent), json!({"role": "user", "content": [block]}))
}

#[test]
fn a_way_through_a_session_is_a_chat() {
    let snapshot = json!({"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}, "isSnapshotUpdate": false});
    let summary = json!({"type": "summary", "summary": "Gates", "leafUuid": "u9"});
    let progress = json!({"parentUuid": "u3", "isSidechain": false, "sessionId": "s1", "type": "progress", "uuid": "u4", "data": {}});
    let mut error = block("u8", "u7", "e", says("API Error: overloaded"));
    error["isApiErrorMessage"] = json!(true);
    // Two calls of one message on three lines; the first result stands on a side way; an error is retried.
    let session = [
        snapshot,
        summary,
        asked("u1", None, "Open both."),
        block(
            "u2",
            "u1",
            "m1",
            json!({"type": "thinking", "thinking": "Both.", "signature": "eA=="}),
        ),
        block("u3", "u2", "m1", says("I open them.")),
        progress,
        block("u5", "u4", "m1", calls("a")),
        block("u6", "u5", "m1", calls("b")),
        came("r1", "u5", "a", "done"),
        came("u7", "u6", "b", "stuck"),
        error,
        block("u9", "u8", "m2", says("One is stuck.")),
    ];
    let wanted = json!([
        user("Open both."),
        called(Some("Both."), Some("I open them."), &["a", "b"]),
        result("a", "done"),
        result("b", "stuck"),
        answer("One is stuck."),
    ]);
    assert_eq!(chats(&session), [("s1".to_string(), of_openai(wanted))]);
    let said = run(&session).stderr;
    for count in [
        "system prompts (files of sessions do not hold them): left out once",
        "errors of the API: left out once",
    ] {
        assert!(said.contains(count), "{count}: {said}");
    }
}

/// A question that was asked again, a subagent, and what follows a compaction, each by itself.
#[test]
fn branches_subagents_and_compactions_are_chats_of_their_own() {
    let mut of_agent = [asked("g1", None, "Look."), block("g2", "g1", "g", says("All shut."))];
    for line in &mut of_agent {
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("a7");
    }
    let boundary = json!({"parentUuid": null, "logicalParentUuid": "v2", "isSidechain": false, "sessionId": "s1", "type": "system",
        "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": "k1"});
    let [g1, g2] = of_agent;
    let session = [
        asked("u1", None, "Hello."),
        block("u2", "u1", "m1", says("Hello!")),
        // The first question is not answered, the others are.
        asked("x1", Some("u2"), "Opne it."),
        asked("u3", Some("u2"), "Open it."),
        block("u4", "u3", "m2", says("It is open.")),
        asked("v1", Some("u2"), "Shut it."),
        block("v2", "v1", "m3", says("It is shut.")),
        g1,
        g2,
        boundary,
        asked("k2", Some("k1"), "So far: it is shut."),
        block("k3", "k2", "m4", says("What next?")),
    ];
    let hello = [user("Hello."), answer("Hello!")];
    let wanted = [
        json!([hello[0], hello[1], user("Open it."), answer("It is open.")]),
        json!([hello[0], hello[1], user("Shut it."), answer("It is shut.")]),
        json!([user("Look."), answer("All shut.")]),
        json!([user("So far: it is shut."), answer("What next?")]),
    ];
    let wanted =
        wanted.into_iter().zip(1..).map(|(chat, number)| (format!("s1/{number}"), of_openai(chat)));
    assert_eq!(chats(&session), wanted.collect::<Vec<_>>());
}

fn item(payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": payload})
}

fn message(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

#[test]
fn items_of_codex_are_a_chat_and_a_compaction_begins_another() {
    let of =
        |kind: &str, payload: Value| json!({"timestamp": "t", "type": kind, "payload": payload});
    let session = [
        of(
            "session_meta",
            json!({"id": "c7", "cwd": "/weir", "base_instructions": {"text": "Watch the weir."}}),
        ),
        of("turn_context", json!({"model": "m"})),
        message("user", "Open it."),
        item(
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "The north one."}], "encrypted_content": "eA=="}),
        ),
        item(
            json!({"type": "function_call", "name": "open", "arguments": "{\"gate\": \"a\"}", "call_id": "a"}),
        ),
        item(json!({"type": "ghost_snapshot", "ghost_commit": {}})),
        item(json!({"type": "function_call_output", "call_id": "a", "output": "done"})),
        message("assistant", "It is open."),
        of("event_msg", json!({"type": "token_count", "info": null})),
        of("compacted", json!({"message": "So far: it is open."})),
        message("user", "Shut it."),
        message("assistant", "It is shut."),
    ];
    let system = json!({"role": "system", "content": "Watch the weir."});
    let first = json!([
        system,
        user("Open it."),
        called(Some("The north one."), None, &["a"]),
        result("a", "done"),
        answer("It is open.")
    ]);
    let second =
        json!([system, user("So far: it is open."), user("Shut it."), answer("It is shut.")]);
    let wanted = [("c7/1".to_string(), of_openai(first)), ("c7/2".to_string(), of_openai(second))];
    assert_eq!(chats(&session), wanted);
}

/// Many files are many sessions; tokens are those of the chats; a part of a file is refused with a way on that works.
#[test]
fn sessions_are_files_for_every_filter_of_chats() {
    let dir = TempDir::new();
    let session = |text: &str| {
        let lines = [asked("u1", None, text), block("u2", "u1", "m", says("Yes."))];
        lines.map(|line| format!("{line}\n")).concat()
    };
    let files = ["one.jsonl", "two.jsonl"].map(|name| dir.path().join(name));
    for (file, text) in files.iter().zip(["Is it?", "Was it?"]) {
        std::fs::write(file, session(text)).unwrap();
    }
    let names = files.each_ref().map(|file| file.to_str().unwrap());
    let chats = tool("chat-harmony").args(&["-q"]).args(&names).run();
    assert_eq!(chats.records().len(), 2);
    let tokens = tool("chat-tok").args(&["-q", "--model", "gpt-oss"]).args(&names).run();
    let of_chats = tool("harmony-tok").args(&["-q"]).input(chats.text()).run();
    let ids = |outcome: &Outcome| {
        outcome.records().iter().map(|of| of["tokens"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&tokens), ids(&of_chats));
    let part = tool("chat-tok")
        .args(&["-q", "--model", "gpt-oss", "--slice", "0/2"])
        .args(&names[..1])
        .run_whatever();
    assert_eq!(part.code(), Some(2), "{}", part.stderr);
    assert!(
        part.stderr.contains(
            "cannot be cut into slices: it is a session of Claude Code; try: chat-harmony"
        ),
        "{}",
        part.stderr
    );
    let long = tool("chat-tok")
        .args(&["--model", "gpt-oss", "--max-record-bytes", "100", names[0]])
        .run_whatever();
    assert_eq!(long.code(), Some(1), "{}", long.stderr);
}

#[test]
fn what_is_wrong_with_a_session_is_said_with_its_line() {
    let orphan = [asked("u1", None, "Is it?"), block("u2", "u0", "m", says("Yes."))];
    let cut = format!("{}\n{{\"parentUuid\": \"u1\", \"uu", asked("u1", None, "Is it?"));
    let unanswered = format!("{}\n", asked("u1", None, "Is it?"));
    let texts = [
        (
            orphan.map(|line| format!("{line}\n")).concat(),
            "stdin:2: its parentUuid \"u0\" is on no line before it",
        ),
        (cut, "stdin:2: not JSON"),
        (unanswered, "stdin: is a session of Claude Code without an answer"),
    ];
    for (text, cause) in texts {
        let outcome = tool("chat-harmony").args(&["-q"]).input(&text).run_whatever();
        assert_eq!((outcome.code(), outcome.text().as_str()), (Some(1), ""), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(cause), "{}", outcome.stderr);
    }
}
