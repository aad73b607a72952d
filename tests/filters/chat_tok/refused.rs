//! What is refused, and what is counted.

use serde_json::{Value, json};

use crate::common::models::{CHATML, PLAIN, write_model};
use crate::common::{TempDir, tool};

fn say(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

#[test]
fn bad_chats_are_refused_in_one_line() {
    let dir = TempDir::new();
    let chatml = write_model(&dir, "chatml", CHATML);
    let plain = write_model(&dir, "plain", PLAIN);
    let raising =
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}";
    let raising = write_model(&dir, "raising", &format!("{raising}{PLAIN}"));
    let dated = write_model(&dir, "dated", &format!("{{{{ strftime_now('%Y') }}}}{PLAIN}"));
    let call = json!([{"type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let calling = json!({"role": "assistant", "content": "x", "tool_calls": call});
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let (ask, answer) = (say("user", "hi"), say("assistant", "yes"));
    for (model, record, reason) in [
        (&chatml, json!({"messages": [answer]}), "message 0: the chat begins with the assistant"),
        (
            &chatml,
            json!({"messages": [ask, say("assistant", "")]}),
            "message 1: assistant without text, which would be trained on as an empty answer",
        ),
        (
            &plain,
            json!({"messages": [ask, calling]}),
            "message 1: the template does not show its tool calls",
        ),
        (
            &plain,
            json!({"messages": [ask, answer], "tools": tools}),
            "the template does not show the tools of the chat; try: --ignore-field tools",
        ),
        (
            &raising,
            json!({"messages": [say("system", "s"), ask, answer]}),
            "the template refuses the chat: no system here",
        ),
        (&dated, json!({"messages": [ask, answer]}), "try: --date YYYY-MM-DD"),
        (&chatml, json!({"messages": [ask]}), "no assistant message"),
        (&chatml, json!({"x": 1}), "no chat shape"),
    ] {
        let run = tool("chat-tok").args(&["--model", model]).input(format!("{record}\n")).run();
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        run.fails(1, &["chat-tok: stdin:1: ", reason]);
    }
    // What is skipped is counted, and the rest is there.
    let lines =
        format!("{}\n{{broken\n{}\n", json!({"messages": [ask, answer]}), json!({"messages": []}));
    let run =
        tool("chat-tok").args(&["--model", &chatml, "--on-error", "skip"]).input(lines).run().ok();
    assert_eq!(run.records().len(), 1);
    let flags = ["--model", dated.as_str(), "--date", "2024-07-26"];
    let line = format!("{}\n", json!({"messages": [ask, answer]}));
    tool("chat-tok").args(&flags).input(&line).run().silent();
}

#[test]
fn reasoning_that_does_not_show_is_counted_or_refused() {
    let dir = TempDir::new();
    // It reads the reasoning of the last message alone.
    let last = CHATML
        .replace("{%- if m.reasoning_content %}", "{%- if m.reasoning_content and loop.last %}");
    let model = write_model(&dir, "m", &last);
    let thought =
        |text: &str| json!({"role": "assistant", "content": text, "reasoning_content": "why"});
    let messages = json!([say("user", "1"), thought("a"), say("user", "2"), thought("b")]);
    let line = format!("{}\n", json!({"messages": messages}));
    let run =
        |flags: &[&str]| tool("chat-tok").args(&["--model", &model]).args(flags).input(&line).run();
    let told = run(&["--turns", "all"]).ok().stderr;
    assert_eq!(
        told,
        "chat-tok: warning: reasoning that the template does not show: left out once; --turns fit makes records in which \
         each turn has its own; --reasoning keep refuses such chats\n\
         chat-tok: warning: 1 turn of the assistant is trained on otherwise than generated; --turns fit makes records for \
         such turns\n"
    );
    run(&["--turns", "all", "--reasoning", "keep"])
        .fails(1, &["message 1: the template does not show its reasoning"]);
    run(&["-q", "--reasoning", "keep"]).silent();
}

#[test]
fn turns_without_a_stop_token_are_counted() {
    let dir = TempDir::new();
    let endless = PLAIN.replace("{{ eos_token }}", "\n");
    let model = write_model(&dir, "m", &endless);
    let line = format!("{}\n", json!({"messages": [say("user", "1"), say("assistant", "a")]}));
    let told = tool("chat-tok").args(&["--model", &model]).input(line).run().ok().stderr;
    let wanted = "1 turn of the assistant does not end with a stop token";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn bad_models_are_refused_in_one_line() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let line = format!("{}\n", json!({"messages": [say("user", "1"), say("assistant", "a")]}));
    let run = |flags: &[&str]| tool("chat-tok").args(flags).input(&line).run();
    let one_line =
        |run: &crate::common::Outcome| assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    let file = format!("{model}/tokenizer.json");
    let template = dir.write("t.jinja", CHATML);
    let broken = dir.write("broken.jinja", "{% for x in %}");
    dir.write("odd/tokenizer.json", "{\"model\": {\"type\": \"Odd\"}}");
    dir.write("torn/tokenizer.json", "{\"model\": ");
    for (flags, code, reason) in [
        (&["--model", &dir.at("none")][..], 2, "none"),
        (&["--model", &file], 2, "no chat template"),
        (&["--model", &file], 2, "try: --template FILE"),
        (&["--model", &dir.at("odd")], 1, "odd/tokenizer.json: "),
        (&["--model", &dir.at("torn")], 1, "torn/tokenizer.json: damaged JSON"),
        (&["--model", &model, "--template", &broken], 1, "broken.jinja: template line 1: "),
        (&["--model", &model, "--stop", "<|none|>"], 2, "--stop <|none|>: no token of the model"),
        (&["--model", &model, "--set", "messages=1"], 2, "cannot be set"),
        (&["--model", &model, "--date", "yesterday"], 2, "--date yesterday: expected YYYY-MM-DD"),
    ] {
        let run = run(flags);
        one_line(&run);
        run.fails(code, &["chat-tok: ", reason]);
    }
    run(&["--model", &file, "--template", &template, "--stop", "<|im_end|>"]).silent();
}
