//! Chats as other APIs and agents keep them: each case beside the same chat in OpenAI's messages, written by hand. Both
//! must become one conversation; what has no place is refused by its name, or counted.

use serde_json::{Value, json};

use super::converted;
use crate::common::tool;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn called(reasoning: Option<&str>, text: Option<&str>, calls: &[(&str, &str, Value)]) -> Value {
    let call = |(id, name, arguments): &(&str, &str, Value)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls: Vec<Value> = calls.iter().map(call).collect();
    json!({"role": "assistant", "reasoning": reasoning, "content": text, "tool_calls": calls})
}

fn answered(id: &str, content: Value) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn gauge() -> Value {
    json!({"type": "object", "properties": {"gate": {"type": "string", "enum": ["north", "south"]}}, "required": ["gate"]})
}

/// Each case: its name, the record, the same as OpenAI has it.
fn cases() -> Vec<(&'static str, Value, Value)> {
    let tools = json!([{"type": "function", "function": {"name": "level", "description": "Reads a gauge", "parameters": gauge()}}]);
    let both =
        [("c1", "level", json!({"gate": "north"})), ("c2", "level", json!({"gate": "south"}))];
    // Two parallel calls with reasoning and text, results, an answer, a question with text behind results.
    let openai = json!({"messages": [
        {"role": "system", "content": "Watch the weir."},
        user("How high is the water?"),
        called(Some("Both gates."), Some("I read both."), &both),
        answered("c1", json!("2 m")), answered("c2", json!("3 m")),
        answer("2 and 3 m."),
    ], "tools": tools});
    let text = |text: &str| json!({"type": "text", "text": text});
    let anthropic = json!({
        "system": [text("Watch "), text("the weir.")],
        "messages": [
            {"role": "user", "content": [text("How high is "), {"type": "text", "text": "the water?", "cache_control": {"type": "ephemeral"}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Both gates.", "signature": "c2ln"},
                text("I read both."),
                {"type": "tool_use", "id": "c1", "name": "level", "input": {"gate": "north"}},
                {"type": "tool_use", "id": "c2", "name": "level", "input": {"gate": "south"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "2 m"},
                {"type": "tool_result", "tool_use_id": "c2", "content": [text("3 "), text("m")]},
            ]},
            {"role": "assistant", "content": [text("2 and 3 m.")]},
        ],
        "tools": [{"type": "custom", "name": "level", "description": "Reads a gauge", "input_schema": gauge()}],
    });
    let mut upper = gauge();
    upper["type"] = json!("OBJECT");
    upper["properties"]["gate"]["type"] = json!("STRING");
    let gemini = |camel: bool| {
        let name = |camel_case: &str, snake_case: &str| {
            (if camel { camel_case } else { snake_case }).to_string()
        };
        let (call, response) =
            (name("functionCall", "function_call"), name("functionResponse", "function_response"));
        json!({
            name("systemInstruction", "system_instruction"): {"role": "system", "parts": [{"text": "Watch the weir."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "How high is "}, {"text": "the water?"}]},
                {"role": "model", "parts": [
                    {"text": "Both gates.", "thought": true}, {"text": "I read both."},
                    {call.clone(): {"id": "c1", "name": "level", "args": {"gate": "north"}}, "thoughtSignature": "eA=="},
                    {call: {"id": "c2", "name": "level", "args": {"gate": "south"}}},
                ]},
                {"role": "user", "parts": [
                    {response.clone(): {"id": "c1", "name": "level", "response": {"output": "2 m"}}},
                    {response: {"id": "c2", "name": "level", "response": {"output": "3 m"}}},
                ]},
                {"role": "model", "parts": [{"text": "2 and 3 m."}]},
            ],
            "tools": [{name("functionDeclarations", "function_declarations"): [
                {"name": "level", "description": "Reads a gauge", "parameters": upper}]}],
        })
    };
    let mut of_gemini = openai.clone();
    for (place, output) in [(3, "2 m"), (4, "3 m")] {
        of_gemini["messages"][place]["content"] = json!({"output": output});
    }
    let sdk_call = |id: &str, gate: &str, output: &str| json!({"type": "tool-level", "toolCallId": id, "state": "output-available", "input": {"gate": gate}, "output": output});
    let ai_sdk = json!({"messages": [
        {"id": "m0", "role": "system", "parts": [text("Watch the weir.")]},
        {"id": "m1", "role": "user", "parts": [text("How high is the water?")]},
        {"id": "m2", "role": "assistant", "parts": [
            {"type": "step-start"}, {"type": "reasoning", "text": "Both gates."}, text("I read both."),
            sdk_call("c1", "north", "2 m"), sdk_call("c2", "south", "3 m"),
            {"type": "step-start"}, text("2 and 3 m."),
        ]},
    ], "tools": tools});
    let old_call = |id: &str, gate: &str, result: &str| {
        json!({"type": "tool-invocation", "toolInvocation":
            {"state": "result", "toolCallId": id, "toolName": "level", "args": {"gate": gate}, "result": result}})
    };
    let ai_sdk_4 = json!({"messages": [
        {"role": "system", "content": "Watch the weir."},
        {"role": "user", "content": "How high is the water?", "parts": [text("How high is the water?")]},
        {"role": "assistant", "content": "I read both.2 and 3 m.", "parts": [
            {"type": "reasoning", "text": "Both gates."}, text("I read both."),
            old_call("c1", "north", "2 m"), old_call("c2", "south", "3 m"), text("2 and 3 m."),
        ]},
    ], "tools": tools});
    let tau2_call = |id: &str, gate: &str| json!({"id": id, "name": "level", "arguments": {"gate": gate}, "requestor": "assistant"});
    let tau2_result = |id: &str, content: &str| json!({"id": id, "role": "tool", "content": content, "requestor": "assistant", "error": false});
    let tau2 = json!({"id": "s", "messages": [
        {"role": "system", "content": "Watch the weir."},
        user("How high is the water?"),
        {"role": "assistant", "reasoning": "Both gates.", "content": "I read both.", "tool_calls": [tau2_call("c1", "north"), tau2_call("c2", "south")]},
        {"role": "tool", "tool_messages": [tau2_result("c1", "2 m"), tau2_result("c2", "3 m")]},
        answer("2 and 3 m."),
    ], "tools": tools});
    let mut of_tau2 = openai.clone();
    of_tau2["id"] = json!("s");
    let step =
        |source: &str, message: &str| json!({"step_id": 1, "source": source, "message": message});
    let atif_call = |id: &str, gate: &str| json!({"tool_call_id": id, "function_name": "level", "arguments": {"gate": gate}});
    let mut of_agent = step("agent", "I read both.");
    of_agent["reasoning_content"] = json!("Both gates.");
    of_agent["tool_calls"] = json!([atif_call("c1", "north"), atif_call("c2", "south")]);
    of_agent["observation"] = json!({"results": [
        {"source_call_id": "c1", "content": "2 m"}, {"source_call_id": "c2", "content": "3 m"}]});
    let atif = json!({"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "weir", "version": "1", "tool_definitions": tools},
        "steps": [step("system", "Watch the weir."), step("user", "How high is the water?"), of_agent, step("agent", "2 and 3 m.")]});
    let swe_result = |id: &str, content: &str| json!({"role": "tool", "content": [text(content)], "agent": "main", "message_type": "observation", "tool_call_ids": [id]});
    let mut of_swe = called(None, Some("I read both."), &both);
    of_swe["thought"] = json!("I read both.");
    of_swe["action"] = json!("level north");
    of_swe["agent"] = json!("main");
    of_swe["message_type"] = json!("action");
    of_swe["thinking_blocks"] =
        json!([{"type": "thinking", "thinking": "Both gates.", "signature": "c2ln"}]);
    let swe = json!({"environment": "e", "trajectory": [{"action": "level north", "observation": "2 m"}], "history": [
        {"role": "system", "content": "Watch the weir.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": [text("How high is the water?")], "agent": "main", "message_type": "observation"},
        of_swe, swe_result("c1", "2 m"), swe_result("c2", "3 m"),
        {"role": "assistant", "content": "2 and 3 m.", "thought": "2 and 3 m.", "action": "", "agent": "main", "message_type": "action"},
    ], "info": {}, "tools": tools});
    // The request and its answer; where the model has no tools, the messages tell of them.
    let sent = openai["messages"].as_array().unwrap().split_last().unwrap().1;
    let of_api = |message: Value| json!({"id": "r", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]});
    let openhands = json!({"messages": sent, "response": of_api(answer("2 and 3 m.")), "args": [],
        "kwargs": {"temperature": 0.0, "tools": tools}, "timestamp": 1.5, "cost": 0.01});
    let in_words = |answer: &str| json!({"messages": [user("Use <level>."), json!({"role": "assistant", "content": answer})]});
    let openhands_in_words = json!({"messages": [user("Use <level>.")], "tools": tools, "kwargs": {}, "latency_sec": 0.5,
        "response": of_api(called(None, None, &both)), "raw_response": of_api(answer("<level>"))});
    // Text beside results, an answer without text before its call, a result without content.
    let later = json!({"messages": [
        user("Open it."), called(None, None, &[("a", "open", json!({}))]), answered("a", json!("")), user("And now?"), answer("It is open."),
    ]});
    let anthropic_later = json!({"messages": [
        user("Open it."),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "open", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, text("And now?")]},
        {"role": "assistant", "content": "It is open."},
    ]});
    let atif_without_calls = json!({"schema_version": "ATIF-v1.4", "agent": {"name": "weir"}, "steps": [
        step("user", "Open it."),
        {"source": "agent", "message": "open", "observation": {"results": [{"content": "done"}]}},
        step("agent", "It is open."),
    ]});
    // A step that was copied, and one that no model made, are shown and not trained on.
    let atif_of_others = json!({"schema_version": "ATIF-v1.7", "agent": {"name": "weir", "version": "1"}, "steps": [
        {"step_id": 1, "source": "user", "message": "Open it."},
        {"step_id": 2, "source": "agent", "message": "Which one?", "is_copied_context": true},
        {"step_id": 3, "source": "user", "message": "North."},
        {"step_id": 4, "source": "agent", "message": "I look.", "llm_call_count": 0},
        {"step_id": 5, "source": "user", "message": "And?"},
        {"step_id": 6, "source": "agent", "message": "It is open.", "llm_call_count": 1, "is_copied_context": false},
    ]});
    let untrained = |text: &str| json!({"role": "assistant", "content": text, "train": false});
    let of_others = json!({"messages": [user("Open it."), untrained("Which one?"), user("North."), untrained("I look."), user("And?"), answer("It is open.")]});
    let without_calls = json!({"messages": [user("Open it."), answer("open"), user("done"), answer("It is open.")]});
    vec![
        ("Anthropic", anthropic, openai.clone()),
        ("Anthropic, text behind results", anthropic_later, later),
        ("Gemini", gemini(true), of_gemini.clone()),
        ("Gemini with underscores", gemini(false), of_gemini),
        ("AI SDK 5", ai_sdk, openai.clone()),
        ("AI SDK 4", ai_sdk_4, openai.clone()),
        ("tau2", tau2, of_tau2),
        ("ATIF", atif, openai.clone()),
        ("ATIF without calls", atif_without_calls, without_calls),
        ("ATIF with steps of others", atif_of_others, of_others),
        ("OpenHands", openhands, openai.clone()),
        ("OpenHands without calls", openhands_in_words, in_words("<level>")),
        ("SWE-agent", swe, openai),
    ]
}

#[test]
fn each_becomes_the_conversation_of_openais_messages() {
    for (name, record, openai) in cases() {
        let arguments = ["-q", "--turns", "all", "--set", "keep_reasoning=true"];
        let [made, wanted] = [&record, &openai].map(|record| {
            let made = converted(record, &arguments);
            // (Ids are made of the records' bytes.)
            made.unwrap_or_else(|reason| panic!("{name}: {reason}\n{record}"))["messages"].take()
        });
        assert_eq!(made, wanted, "{name}");
    }
}

/// What is left out is counted, and what has no place is refused by its name.
#[test]
fn what_has_no_place_is_named() {
    let asked = json!({"role": "user", "content": "Open it."});
    let with = |blocks: Value| {
        json!({"messages": [asked, {"role": "assistant", "content": blocks}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true}]}, answer("It is shut.")]})
    };
    let call = json!({"type": "tool_use", "id": "a", "name": "open", "input": {}});
    let text = json!({"type": "text", "text": "I try."});
    let counted = with(
        json!([{"type": "redacted_thinking", "data": "eA=="}, {"type": "thinking", "thinking": "", "signature": "s"}, text, call]),
    );
    let made = tool("chat-harmony")
        .args(&["--turns", "all", "-"])
        .input(format!("{counted}\n"))
        .run_whatever();
    assert_eq!(made.code(), Some(0), "{}", made.stderr);
    for count in [
        "redacted thinking: left out once",
        "thinking without text: left out once",
        "is_error: left out once",
    ] {
        assert!(made.stderr.contains(count), "{count}: {}", made.stderr);
    }
    let gemini = |part: Value| json!({"contents": [{"role": "user", "parts": [{"text": "Open it."}]}, {"role": "model", "parts": [part, {"text": "It is open."}]}]});
    let step = |more: Value| {
        let mut step = json!({"source": "agent", "message": "I try."});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"schema_version": "ATIF-v1.4", "agent": {"name": "weir"}, "steps": [{"source": "user", "message": "Open it."}, step]})
    };
    let refused = [
        (with(json!([call, text])), "a block of type 'text' behind a call has no place"),
        (
            with(
                json!([text, {"type": "server_tool_use", "id": "b", "name": "web_search", "input": {}}, call]),
            ),
            "server_tool_use",
        ),
        (
            with(json!([text, {"type": "image", "source": {}}, call])),
            "content part of type 'image' is not text",
        ),
        (
            gemini(json!({"functionCall": {"name": "open"}})),
            "content 1: text behind a call has no place",
        ),
        (
            gemini(json!({"inlineData": {"mimeType": "image/png", "data": ""}})),
            "the part 'inlineData' is not text",
        ),
        (
            step(json!({"observation": {"results": [{"subagent_trajectory_ref": [{}]}]}})),
            "refers to another trajectory",
        ),
        (
            json!({"messages": [asked, {"role": "user", "content": null, "tool_calls": [{"id": "a", "name": "f", "arguments": {}, "requestor": "user"}]}]}),
            "a call of the user",
        ),
        (
            json!({"messages": [asked, {"role": "assistant", "parts": [{"type": "file", "url": "x"}]}]}),
            "the part of type 'file' has no place",
        ),
        (
            json!({"instance_id": "i", "history": [{"kind": "MessageEvent", "source": "user", "llm_message": asked}]}),
            "events of OpenHands, which is not read",
        ),
        (
            json!({"id": 0, "timestamp": "t", "source": "user", "action": "message", "args": {"content": "Open it."}}),
            "give its log of completions",
        ),
        (
            json!({"messages": [asked, {"role": "assistant", "content": "Yes.", "parts": [{"type": "text", "text": "No."}]}]}),
            "content and parts are two texts",
        ),
    ];
    for (record, cause) in refused {
        let reason = converted(&record, &["-q"]).expect_err(&format!("{record} was read"));
        assert!(reason.contains(cause), "{record}: {reason}, not {cause}");
    }
}

/// A line of a chat of any API names chat-harmony as what reads it.
#[test]
fn other_filters_name_what_reads_it() {
    for (name, record, _) in cases() {
        let made =
            tool("harmony-tok").args(&["-q", "-"]).input(format!("{record}\n")).run_whatever();
        assert_ne!(made.code(), Some(0), "{name}");
        assert!(made.stderr.contains("chat-harmony"), "{name}: {}", made.stderr);
    }
}
