//! `--max-length`: sequences that are too long, beside chats that have what is left of them.

use serde_json::{Value, json};

use crate::common::models::{CHATML, real_model, write_model};
use crate::common::{Outcome, TempDir, oracle, python, tool};

fn say(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// A chat of three turns, the second with a call and its result, without its first ones.
fn chat(without: usize) -> Value {
    let call =
        json!([{"id": "c", "type": "function", "function": {"name": "look", "arguments": {}}}]);
    let turns = [
        vec![say("user", "the first question"), say("assistant", "a first answer")],
        vec![
            say("user", "the second"),
            json!({"role": "assistant", "content": "I look.", "tool_calls": call}),
            json!({"role": "tool", "tool_call_id": "c", "name": "look", "content": "seen"}),
            say("assistant", "a second answer"),
        ],
        vec![say("user", "the third"), say("assistant", "yes")],
    ];
    let messages = [vec![say("system", "Be brief.")], turns[without..].concat()].concat();
    let look = json!({"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}});
    json!({"id": "a", "messages": messages, "tools": [look]})
}

fn run(model: &str, flags: &[&str], record: &Value) -> Outcome {
    let tool = tool("chat-tok").args(&["--model", model]).args(flags);
    tool.input(format!("{record}\n")).run_whatever()
}

/// Whether the model says a segment. (Results of gpt-oss have a channel, too.)
fn is_said(segment: &Value) -> bool {
    segment["role"] == "assistant" && segment["channel"].is_string()
}

/// The length of a record, and how many of its tokens are trained on.
fn lengths(record: &Value) -> [usize; 2] {
    let segments = record["segments"].as_array().unwrap().iter();
    let trained = segments.filter(|of| is_said(of) && of["train"] != json!(false));
    let trained = trained.map(|of| of["end"].as_u64().unwrap() - of["start"].as_u64().unwrap());
    [record["tokens"].as_array().unwrap().len(), trained.sum::<u64>() as usize]
}

/// What is said of a sequence that had and has such lengths.
fn told(how: &str, before: [usize; 2], after: [usize; 2]) -> String {
    let [tokens, trained] = [before[0] - after[0], before[1] - after[1]];
    let tokens = if tokens == 1 { "1 token".to_string() } else { format!("{tokens} tokens") };
    format!(
        "chat-tok: warning: --max-length: {tokens} left out, {trained} of them trained on (sequences {how})\n"
    )
}

/// A record cut behind the last answer that ends within a number of tokens.
fn cut(record: &Value, most: usize, is_harmony: bool) -> Option<Value> {
    let segments = record["segments"].as_array().unwrap();
    let is_said = |place: usize| segments.get(place).is_some_and(is_said);
    let end = |place: usize| segments[place]["end"].as_u64().unwrap() as usize;
    let fits = |place: &usize| {
        is_said(*place) && !is_said(place + 1) && end(*place) + usize::from(is_harmony) <= most
    };
    let last = (0..segments.len()).rev().find(fits)?;
    let mut tokens = record["tokens"].as_array().unwrap()[..end(last)].to_vec();
    if is_harmony {
        if segments[last]["channel"] == "final" {
            *tokens.last_mut().unwrap() = 200_002.into();
        }
        tokens.push(199_999.into());
    }
    let mut made = record.clone();
    (made["tokens"], made["segments"]) = (json!(tokens), json!(segments[..=last]));
    Some(made)
}

#[test]
fn each_policy_leaves_out_what_it_says() {
    let dir = TempDir::new();
    let chatml = write_model(&dir, "m", CHATML);
    for model in [chatml.as_str(), "gpt-oss"] {
        let all = ["--turns", "all"];
        let of = |without: usize| run(model, &all, &chat(without)).ok().records().remove(0);
        let whole: Vec<Value> = (0..3).map(of).collect();
        let sizes: Vec<[usize; 2]> = whole.iter().map(lengths).collect();
        assert!(sizes[0][0] > sizes[1][0] + 1 && sizes[1][0] > sizes[2][0] + 1, "{sizes:?}");
        let others = [1, 20, sizes[0][0] / 2, sizes[0][0] + 100];
        let edges = sizes.iter().flat_map(|[length, _]| [*length, length - 1]);
        let cuts = whole[0]["segments"].as_array().unwrap().iter();
        let cuts = cuts.map(|of| of["end"].as_u64().unwrap() as usize);
        let cuts = cuts.flat_map(|end| [end - 1, end, end + 1]);
        for most in edges.chain(others).chain(cuts) {
            let with = |how: &str| {
                let most = most.to_string();
                let limit = ["--max-length", &most, "--too-long", how];
                run(model, &[&all[..], &limit].concat(), &chat(0))
            };
            let fits = sizes[0][0] <= most;
            if fits {
                for how in ["refuse", "drop", "drop-turns", "mask"] {
                    let run = with(how).ok();
                    assert_eq!((run.records(), &*run.stderr), (whole[..1].to_vec(), ""));
                }
                continue;
            }
            let length = sizes[0][0];
            let refused = with("refuse");
            let cause = format!(
                "a sequence of {length} tokens, more than --max-length {most}; try: --too-long drop-turns"
            );
            refused.fails(1, &[&cause]);
            let dropped = with("drop").ok();
            let is_told = told("dropped: 1; their chats: 1", sizes[0], [0, 0]);
            assert_eq!((dropped.records(), &dropped.stderr), (vec![], &is_told), "{model} {most}");
            let shorter = with("drop-turns").ok();
            match (1..3).find(|without| sizes[*without][0] <= most) {
                Some(without) => {
                    let how = format!(
                        "without their oldest turns: 1; their chats: 1; these turns: {without}"
                    );
                    assert_eq!(shorter.records(), [whole[without].clone()], "{model} {most}");
                    assert_eq!(shorter.stderr, told(&how, sizes[0], sizes[without]));
                }
                None => assert_eq!((shorter.records(), &shorter.stderr), (vec![], &is_told)),
            }
            let masked = with("mask").ok();
            match cut(&whole[0], most, model == "gpt-oss") {
                Some(wanted) => {
                    let how = "cut behind the last answer that fits: 1; their chats: 1";
                    assert_eq!(masked.records(), std::slice::from_ref(&wanted), "{model} {most}");
                    assert!(lengths(&wanted)[0] <= most);
                    // (The end of a document of gpt-oss stays.)
                    assert_eq!(masked.stderr, told(how, sizes[0], lengths(&wanted)));
                }
                None => assert_eq!((masked.records(), &masked.stderr), (vec![], &is_told)),
            }
        }
    }
}

/// Each sequence of a chat is measured, and what fits is what it was.
#[test]
fn each_sequence_is_measured() {
    let usual = run("gpt-oss", &[], &chat(0)).ok();
    let all = usual.records();
    let [first, second, third] = all.as_slice() else { panic!("{}", usual.text()) };
    let most = lengths(second)[0].to_string();
    let with =
        |how: &str| run("gpt-oss", &["--max-length", &most, "--too-long", how], &chat(0)).ok();
    let dropped = with("drop");
    assert_eq!(dropped.records(), [first.clone(), second.clone()]);
    for said in [" (sequences dropped: 1; their chats: 1)\n", "chat-tok: 1 chat, 2 sequences, "] {
        assert!(dropped.stderr.contains(said), "{}", dropped.stderr);
    }
    let shorter = with("drop-turns").records();
    assert_eq!(shorter[..2], all[..2]);
    let mut alone = run("gpt-oss", &[], &chat(1)).ok().records().pop().unwrap();
    alone["id"] = third["id"].clone();
    assert_eq!(shorter[2..], [alone]);
}

/// What a template prints may depend on the number of messages.
#[test]
fn as_few_turns_as_possible_leave() {
    let dir = TempDir::new();
    // What stands before the messages is the longer, the more of them there are.
    let counting = format!("{{{{ '#' * (messages | length * 9) }}}}{CHATML}");
    let model = write_model(&dir, "m", &counting);
    let turns = ["a question", "b", "c", "d"];
    let with = |without: usize| {
        let turns = turns[without..].iter();
        let turns = turns.flat_map(|text| [say("user", text), say("assistant", "yes")]);
        json!({"id": "a", "messages": turns.collect::<Vec<_>>()})
    };
    let of = |without: usize| run(&model, &["--turns", "all"], &with(without)).ok().records();
    let lengths: Vec<usize> = (0..4).map(|without| lengths(&of(without)[0])[0]).collect();
    for most in lengths[3]..lengths[0] + 2 {
        let limit =
            ["--turns", "all", "--max-length", &most.to_string(), "--too-long", "drop-turns"];
        let made = run(&model, &limit, &with(0)).ok().records();
        let wanted = (0..4).find(|without| lengths[*without] <= most).unwrap();
        assert_eq!(made, of(wanted), "{most} of {lengths:?}");
    }
}

/// What each policy keeps of random chats, which transformers renders, and what it counts.
#[test]
fn what_is_kept_of_random_chats_follows_from_the_words() {
    let Some(python) = python() else { return };
    let models = ["qwen3", "llama3_1", "deepseek_v3", "gemma3"];
    let models: Vec<String> = models.into_iter().filter_map(real_model).collect();
    if models.is_empty() {
        return;
    }
    let mut arguments = vec![env!("CARGO_BIN_EXE_chat-tok")];
    arguments.extend(models.iter().map(String::as_str));
    arguments.extend(["--bytes", "--count", "30", "--limits", "4", "--seed", "20261128"]);
    let run = oracle(&python, "lengths.py", &arguments).ok();
    assert!(run.text().contains("'differ': 0"), "{}", run.text());
}

#[test]
fn a_policy_needs_a_length() {
    let run = |flags: &[&str]| run("gpt-oss", flags, &chat(0));
    run(&["--too-long", "drop"]).exits(2, &["--max-length <N>"]);
    run(&["--max-length", "0"]).exits(2, &["0 is not in 1.."]);
}
