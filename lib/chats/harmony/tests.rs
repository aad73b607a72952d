//! Rendering, its errors and its inverse on small conversations. `tests/filters/harmony_tok/rendering.rs` compares
//! with the official package.

use super::*;
use crate::tokenizer::{CALL, CHANNEL, END, EOD, MESSAGE, RETURN, START, special_id};

const ANSWER: &str = r#"{"role":"assistant","channel":"final","content":"ok"}"#;

fn conversation(messages: &[&str]) -> String {
    format!("{{\"messages\":[{}]}}", messages.join(","))
}

fn render(policy: Policy, json: &str) -> Result<RenderOutput, String> {
    let mut out = RenderOutput::default();
    match Renderer::new(policy).render(json, &mut out) {
        Ok(()) => Ok(out),
        Err(error) => Err(error.to_string()),
    }
}

fn text(policy: Policy, json: &str) -> String {
    decode(&render(policy, json).unwrap().tokens).unwrap().text
}

#[test]
fn refusals_say_why() {
    let with_answer = |message: &str| conversation(&[message, ANSWER]);
    let cases = [
        (String::new(), "invalid JSON: expected a value at byte 0"),
        ("[]".into(), "not an object with messages"),
        ("{}".into(), "messages is missing"),
        (r#"{"messages": null}"#.into(), "messages: null instead of an array"),
        (format!("{} x", conversation(&[ANSWER])), "invalid JSON: expected the end at byte 69"),
        (conversation(&[]), "no assistant message; try: --policy chat"),
        (conversation(&["5"]), "message 0: a number instead of an object"),
        (with_answer(r#"{"content":"x"}"#), "message 0: role is missing"),
        (
            with_answer(r#"{"role":5,"content":"x"}"#),
            "message 0: role: a number instead of a string",
        ),
        (
            conversation(&[ANSWER, r#"{"role":"function","content":"x"}"#]),
            "message 1: unknown role \"function\"",
        ),
        (
            with_answer(r#"{"role":"tool","name":"t","content":"x"}"#),
            "message 0: role tool is not allowed by synth-kd-v1; try: --policy chat",
        ),
        (with_answer(r#"{"role":"user"}"#), "message 0: content is missing"),
        (
            with_answer(r#"{"role":"user","content":null}"#),
            "message 0: content: null instead of an array or a string",
        ),
        (
            with_answer(r#"{"role":"user","content":["x"]}"#),
            "message 0: content: part 0: a string instead of an object",
        ),
        (
            with_answer(r#"{"role":"user","content":[{"type":"image"}]}"#),
            "message 0: content: part 0: unknown content type \"image\"",
        ),
        (
            with_answer(
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text"}]}"#,
            ),
            "message 0: content: part 1: text is missing",
        ),
        (
            with_answer(r#"{"role":"user","content":[{"type":"system_content"}]}"#),
            "message 0: system_content in a user message",
        ),
        (
            with_answer(
                r#"{"role":"system","content":[{"type":"system_content","reasoning_effort":"low"}]}"#,
            ),
            "message 0: content: part 0: reasoning_effort: \"low\" is not Low, Medium or High",
        ),
        (
            with_answer(r#"{"role":"assistant","content":"x"}"#),
            "message 0: assistant without a channel; try: --policy chat, or chat-harmony before it, for chats",
        ),
        (
            with_answer(r#"{"role":"assistant","channel":"commentary","content":"x"}"#),
            "message 0: assistant in channel \"commentary\", not analysis or final; try: --policy chat",
        ),
        (
            with_answer(r#"{"role":"user","content":"a\ud800"}"#),
            "message 0: lone surrogate at byte 40",
        ),
        (
            with_answer(r#"{"role":"user","recipient":5,"content":"a"}"#),
            "message 0: recipient: a number instead of a string",
        ),
    ];
    for (json, expected) in cases {
        assert_eq!(render(Policy::SynthKdV1, &json).unwrap_err(), expected, "{json}");
    }
    let nameless = with_answer(r#"{"role":"tool","content":"x"}"#);
    assert_eq!(render(Policy::Chat, &nameless).unwrap_err(), "message 0: tool without a name");
}

#[test]
fn the_last_duplicate_counts() {
    let json = r#"{"messages":[5],"messages":[{"role":5,"role":"assistant","content":[{"type":7}],
        "channel":"no","content":"x","channel":"final"}]}"#;
    assert!(text(Policy::SynthKdV1, json).contains("final<|message|>x<|return|>"));
    let json = r#"{"messages":[{"role":"assistant","channel":"final","content":"x","content":5}]}"#;
    assert!(render(Policy::Chat, json).is_err());
}

/// A known system message is rendered again in a conversation with function tools.
#[test]
fn the_memo_heeds_function_tools() {
    let system = r#"{"role":"system","content":[{"type":"system_content"}]}"#;
    let tools = r#"{"role":"developer","content":[{"type":"developer_content","tools":{"functions":
        {"name":"functions","tools":[{"name":"t","description":"d"}]}}}]}"#;
    let plain = conversation(&[system, ANSWER]);
    let with_tools = conversation(&[system, tools, ANSWER]);
    let mut renderer = Renderer::new(Policy::Chat);
    for json in [&plain, &plain, &with_tools, &plain, &with_tools] {
        let mut out = RenderOutput::default();
        renderer.render(json, &mut out).unwrap();
        let text = decode(&out.tokens).unwrap().text;
        assert_eq!(text.contains("Calls to these tools"), *json == with_tools);
        assert_eq!(out.tokens, render(Policy::Chat, json).unwrap().tokens);
    }
    let error = render(Policy::SynthKdV1, &with_tools).unwrap_err();
    assert!(error.contains("function tools"), "{error}");
    // More messages than the memo holds.
    for round in 0..40 {
        let system = format!(r#"{{"role":"system","content":"{}"}}"#, round % 13);
        let json = conversation(&[&system, ANSWER]);
        let mut out = RenderOutput::default();
        renderer.render(&json, &mut out).unwrap();
        assert_eq!(out.tokens, render(Policy::Chat, &json).unwrap().tokens);
    }
}

#[test]
fn tokens_that_are_no_conversation() {
    let cases: [(&[i32], &str); 9] = [
        (&[5], "token 0: 5 instead of <|start|>"),
        (&[START], "token 1: the end instead of <|message|>"),
        (&[START, 1428, END], "token 2: <|end|> instead of <|message|>"),
        (&[START, 1428, MESSAGE, 5], "token 4: the end instead of <|end|>, <|return|> or <|call|>"),
        (
            &[START, 1428, MESSAGE, CHANNEL, END],
            "token 3: <|channel|> instead of <|end|>, <|return|> or <|call|>",
        ),
        (&[EOD, EOD], "token 0: <|endoftext|> instead of <|start|>"),
        (&[START, -1, MESSAGE, CALL, EOD], "token 1: unknown token -1"),
        (&[START, 201_088, MESSAGE, END], "token 1: unknown token 201088"),
        // The first byte of a character alone.
        (&[START, 1428, MESSAGE, 174, END], "token 3: text that is not UTF-8"),
    ];
    for (tokens, expected) in cases {
        assert_eq!(decode(tokens).unwrap_err().to_string(), expected, "{tokens:?}");
    }
    let mut segments = Segments::default();
    for nothing in [&[][..], &[EOD]] {
        assert_eq!(decode(nothing).unwrap().messages, []);
        segments_of(nothing, &mut segments).unwrap();
        assert!(segments.list.is_empty());
    }
}

/// No sequence of tokens makes the inverse panic, and the messages that it returns cover all tokens.
#[test]
fn any_tokens() {
    let ids = [START, START, MESSAGE, MESSAGE, CHANNEL, END, RETURN, CALL, EOD, 1428, 5, 220, -7];
    let constrain = special_id("<|constrain|>").unwrap();
    let mut state = 9u64;
    let mut taken = 0;
    for _ in 0..200_000 {
        let mut tokens = Vec::new();
        for _ in 0..state % 9 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            tokens.push(*ids.get((state >> 33) as usize % 14).unwrap_or(&constrain));
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        let mut segments = Segments::default();
        let found = segments_of(&tokens, &mut segments);
        if decode(&tokens).is_ok() {
            found.unwrap();
            taken += 1;
            let covered: i32 = segments.list.iter().map(|s| s.end - s.start).sum();
            let eod = usize::from(tokens.last() == Some(&EOD));
            assert_eq!(covered as usize + eod, tokens.len());
        }
    }
    assert!(taken > 100, "{taken}");
}

#[test]
fn places_of_control_tokens_are_found_in_every_block() {
    let mut tokens = vec![7; 200];
    assert_eq!(super::places_from(&tokens, EOD).count(), 0);
    let places = [0, 1, 63, 64, 127, 130, 192, 199];
    for place in places {
        tokens[place] = EOD + place as i32 % 3;
    }
    assert_eq!(super::places_from(&tokens, EOD).collect::<Vec<_>>(), places);
    tokens.fill(-1);
    assert_eq!(super::places_from(&tokens, EOD).count(), 200);
    tokens.fill(i32::MAX);
    assert_eq!(super::places_from(&tokens, EOD).count(), 200);
    tokens.fill(EOD - 1);
    assert_eq!(super::places_from(&tokens, EOD).count(), 0);
    assert_eq!(super::places_from(&[i32::MIN, 0, EOD - 1], EOD).count(), 1);
    assert_eq!(super::places_from(&[], EOD).count(), 0);
}
