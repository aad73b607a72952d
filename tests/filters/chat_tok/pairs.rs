//! `--take pair`: prompts and answers beside transformers and TRL (tests/oracle/pairs.py), and what is refused.

use serde_json::{Value, json};

use crate::common::models::{CHATML, real_model, write_model};
use crate::common::{Outcome, TempDir, bash, oracle, python, tool};

fn say(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn run(model: &str, flags: &[&str], records: &[Value]) -> Outcome {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let tool = tool("chat-tok").args(&["--model", model, "--take", "pair"]).args(flags);
    tool.input(lines).run_whatever()
}

/// Why one record is refused.
#[track_caller]
fn reason(model: &str, record: &Value) -> String {
    let run = run(model, &[], std::slice::from_ref(record));
    assert_eq!(run.code(), Some(1), "{run:?}");
    let (_, reason) = run.stderr.trim_end().split_once("stdin:1: ").expect("a place");
    reason.split_once(") ").map_or(reason, |(_, reason)| reason).to_string()
}

fn ids(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect()
}

/// Random pairs of four models, and of one with TRL's template of gpt-oss.
#[test]
fn pairs_are_those_of_transformers_and_trl() {
    let Some(python) = python() else { return };
    let chat_tok = env!("CARGO_BIN_EXE_chat-tok");
    // (The second of each has a switch for reasoning, or tools.)
    for (name, template) in [
        ("qwen3", ""),
        ("qwen3", "--template=trl:nemotron_3_nano"),
        ("llama3_1", ""),
        ("gemma3", ""),
        ("deepseek_v3", ""),
        ("gptoss", "--template=trl:gptoss"),
    ] {
        let Some(model) = real_model(name) else { continue };
        let mut arguments = vec![chat_tok, &model, "--count", "100", "--seed", "20261128"];
        arguments.extend(["--flags", "--date 2026-03-09"]);
        arguments.extend(Some(template).filter(|template| !template.is_empty()));
        let run = oracle(&python, "pairs.py", &arguments).ok();
        assert!(run.text().contains("'differ': 0"), "{}", run.text());
    }
}

/// A prompt with an answer is the sequence that `--take chosen` makes, or `--take chosen` of the answers in exchange.
#[test]
fn a_pair_is_two_sequences() {
    let dir = TempDir::new();
    let folder = write_model(&dir, "m", CHATML);
    let look = json!([{"id": "c", "type": "function", "function": {"name": "look", "arguments": {"a": 1}}}]);
    let call = json!({"role": "assistant", "content": null, "tool_calls": look});
    let tool_of = json!({"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}});
    let result = json!({"role": "tool", "tool_call_id": "c", "name": "look", "content": "seen"});
    let thought =
        |text: &str| json!({"role": "assistant", "content": text, "reasoning_content": "why"});
    let turns = [say("system", "Be brief."), say("user", "q"), thought("a0"), say("user", "q1")];
    let records = [
        [json!(turns), json!([thought("yes")]), json!([say("assistant", "no")])],
        [json!(turns), json!([call, result, thought("yes")]), json!([call, result, thought("no")])],
        [json!(turns), json!([call]), json!([say("assistant", "no")])],
    ];
    for model in ["gpt-oss", &folder] {
        let is_harmony = model == "gpt-oss";
        for [prompt, chosen, rejected] in &records {
            let record = |chosen: &Value, rejected: &Value| json!({"id": "a", "prompt": prompt, "chosen": chosen, "rejected": rejected, "tools": [tool_of]});
            let pair = run(model, &[], &[record(chosen, rejected)]).ok().records().remove(0);
            for (name, record) in
                [("chosen", record(chosen, rejected)), ("rejected", record(rejected, chosen))]
            {
                let arguments = ["--model", model, "--take", "chosen", "--turns", "last", "-q"];
                let sequences = tool("chat-tok").args(&arguments).input(record.to_string());
                let mut whole = ids(&sequences.run().ok().records().pop().unwrap()["tokens"]);
                if is_harmony {
                    assert_eq!(whole.pop(), Some(199_999));
                }
                let own = [ids(&pair["prompt"]), ids(&pair[name])].concat();
                // (The template prints a new line behind the stop token.)
                assert_eq!(own, whole[..own.len()], "{model} {name}");
                assert!(whole.len() - own.len() <= usize::from(!is_harmony));
            }
            if is_harmony {
                let prompt = ids(&pair["prompt"]);
                assert_eq!(prompt[prompt.len() - 2..], [200_006, 173_781]);
                let ends = if chosen[0].get("tool_calls").is_some()
                    && chosen.as_array().unwrap().len() == 1
                {
                    200_012
                } else {
                    200_002
                };
                assert_eq!(ids(&pair["chosen"]).last(), Some(&ends));
            }
        }
    }
}

/// The shapes that people bring give one pair.
#[test]
fn every_shape_gives_the_pair() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let of = |text: &str| json!([say("user", "q"), say("assistant", text)]);
    let hh = |text: &str| format!("\n\nHuman: q\n\nAssistant: {text}");
    let from = |name: &str, text: &str| json!({"from": name, "value": text});
    let records = [
        json!({"prompt": "q", "chosen": "a", "rejected": "b"}),
        json!({"prompt": [say("user", "q")], "chosen": [say("assistant", "a")], "rejected": [say("assistant", "b")]}),
        json!({"prompt": [say("user", "q")], "chosen": say("assistant", "a"), "rejected": say("assistant", "b")}),
        json!({"chosen": of("a"), "rejected": of("b")}),
        json!({"prompt": "q", "prompt_id": "7", "messages": of("a"), "chosen": of("a"), "rejected": of("b"), "score_chosen": 7.0}),
        json!({"chosen": hh("a"), "rejected": hh("b")}),
        json!({"messages": of("a"), "rejected_response": "b"}),
        json!({"messages": of("a"), "rejected_messages": of("b")}),
        json!({"query": "q", "response": "a", "rejected_response": "b"}),
        json!({"prompt": "q", "completion": "a", "rejected": "b"}),
        json!({"conversations": [from("human", "q")], "chosen": from("gpt", "a"), "rejected": from("gpt", "b")}),
        json!({"instruction": "q", "input": "", "chosen": "a", "rejected": "b"}),
        json!({"chosen": of("a"), "rejected": "b"}),
        json!({"chosen": of("a"), "rejected": [say("assistant", "b")]}),
        json!({"question": "q", "system": "", "chosen": "a", "rejected": "b"}),
        json!({"input": {"messages": [say("user", "q")]}, "preferred_output": [say("assistant", "a")], "non_preferred_output": [say("assistant", "b")]}),
    ];
    let made = run(&model, &["-q"], &records).ok().records();
    assert_eq!(made.len(), records.len());
    for (pair, record) in made.iter().zip(&records) {
        for part in ["prompt", "chosen", "rejected"] {
            let is_empty_system = record.get("system").is_some() && part == "prompt";
            assert!(pair[part] == made[0][part] || is_empty_system, "{part} of {record}");
        }
    }
}

/// What is no pair is refused by its reason, and a way on that is named is a good one.
#[test]
fn what_is_no_pair_is_refused() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let (q, a, b) = (say("user", "q"), say("assistant", "a"), say("assistant", "b"));
    let same = "the chosen and the rejected answer are the same";
    for (record, wanted) in [
        (json!({"prompt": "q", "chosen": "a", "rejected": "a"}), same),
        (json!({"chosen": [q, a], "rejected": [q, a]}), same),
        (json!({"prompt": "q", "chosen": "a", "rejected": ""}), "the rejected answer has no text"),
        (
            json!({"prompt": "q", "chosen": [say("assistant", " \n")], "rejected": "b"}),
            "the chosen answer has no text",
        ),
        (
            json!({"prompt": "q", "completion": "a"}),
            "no pair: wanted a chosen and a rejected answer",
        ),
        (json!({"messages": [q, a]}), "no pair: wanted a chosen and a rejected answer"),
        (
            json!({"prompt": "q", "chosen": "a", "rejected": "<think>r</think>"}),
            "the rejected answer has no text",
        ),
        (
            json!({"query": "q", "response": "a", "rejected_responses": ["b", "c"]}),
            "the rejected answer is a list of answers; give a pair for each",
        ),
        (
            json!({"prompt": "q", "chosen": "a", "rejected": "b", "images": ["x.png"]}),
            "has \"images\", which is not text; try: --ignore-field images",
        ),
        (
            json!({"chosen": [q, a], "rejected": [say("user", "r"), b]}),
            "message 0: the answers have different messages before them; a pair has one prompt; --take chosen in place of pair trains on the chosen one",
        ),
        (
            json!({"prompt": "q", "chosen": [a, q, a], "rejected": [b]}),
            "the chosen answer has 3 messages behind those that both answers have; a pair has one, which the model \
             generates; --take chosen in place of pair trains on the chosen one",
        ),
        (
            json!({"chosen": [q, a, q, a], "rejected": [q, b]}),
            "the chosen answer has 3 messages behind those that both answers have; a pair has one, which the model \
             generates; --take chosen in place of pair trains on the chosen one",
        ),
        (
            json!({"prompt": [q, a], "chosen": [b], "rejected": "c"}),
            "message 1: the prompt ends with an answer; a pair has its answers behind a message of another role",
        ),
        (json!({"chosen": [a], "rejected": [b]}), "a chosen answer without its question"),
        (
            json!({"prompt": "q", "chosen": "a", "rejected": "b", "weight": 0}),
            "an answer that is not to be trained on, by what stands beside it",
        ),
    ] {
        for model in ["gpt-oss", &model] {
            assert_eq!(reason(model, &record), wanted, "{record}");
        }
        if wanted.contains("--take chosen") {
            let chosen = tool("chat-tok").args(&["--model", &model, "--take", "chosen", "-q"]);
            chosen.input(record.to_string()).run().ok();
        }
    }
    // A template with a switch: an answer without reasoning is given behind another prompt.
    let switched = CHATML
        .replace("'\n</think>\n\n' }}{% endif %}", "'\n</think>\n\n' }}{% else %}{{ '<think></think>\n\n' }}{% endif %}")
        .replace(
            "{{ '<|im_start|>assistant\n' }}",
            "{{ '<|im_start|>assistant\n' }}{% if enable_thinking is defined and not enable_thinking %}\
             {{ '<think></think>\n\n' }}{% else %}{{ '<think>\n' }}{% endif %}",
        );
    let switched = write_model(&dir, "s", &switched);
    let record = json!({"prompt": "q", "chosen": "<think>r</think>a", "rejected": "b"});
    let wanted = "the model gets another prompt for the rejected answer than for the chosen one: the template writes what \
                  comes before by the answer (by its reasoning, or its calls); --take chosen in place of pair trains on \
                  the chosen one";
    assert_eq!(reason(&switched, &record), wanted);
    // A prompt that no answer is printed behind.
    let record = json!({"prompt": "q", "chosen": "a", "rejected": "bb"});
    let unprinted = CHATML
        .replace("{{ '<|im_start|>assistant\n' }}", "{{ '<|im_start|>assistant\n<think>\n' }}");
    let unprinted = write_model(&dir, "u", &unprinted);
    let wanted = "the generation prompt ends in \"<think>\\n\", which the template does not print with an answer: the \
                  model would not give this answer behind its prompt; try: --template FILE, a template that prints it";
    assert_eq!(reason(&unprinted, &record), wanted);
}

/// Options that are about sequences are refused, and limits drop pairs as they are.
#[test]
fn options_of_sequences_are_refused() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let short = json!({"id": "s", "prompt": "q", "chosen": "a", "rejected": "b"});
    let long = json!({"id": "l", "prompt": "q", "chosen": "a", "rejected": "b and much more"});
    for (flags, cause) in [
        (
            &["--take", "chosen"][..],
            "--take chosen,pair: a record becomes one of these; try: --take pair",
        ),
        (&["--turns", "all"], "--turns: of a pair both answers are trained on; try: --turns fit"),
        (
            &["--max-length", "9", "--too-long", "mask"],
            "--too-long: a pair stays as it is, or is dropped; try: --too-long drop",
        ),
        (
            &["--trust-generation", "yes"],
            "--trust-generation yes: an answer of a pair begins behind its prompt; try: --trust-generation no",
        ),
    ] {
        let run = run(&model, flags, std::slice::from_ref(&short));
        run.exits(2, &[cause]);
    }
    tool("chat-harmony")
        .args(&["--take", "pair"])
        .input(short.to_string())
        .run_whatever()
        .exits(2, &["--take pair: pairs are made of tokens; try: chat-tok --take pair"]);
    let records = [short.clone(), long.clone()];
    let all = run(&model, &[], &records).ok().records();
    let tokens = |pair: &Value| {
        let [prompt, chosen, rejected] =
            ["prompt", "chosen", "rejected"].map(|name| ids(&pair[name]).len());
        (prompt + chosen.max(rejected), prompt + chosen + rejected, chosen + rejected)
    };
    let (most, whole, trained) = (tokens(&all[0]).0, tokens(&all[1]).1, tokens(&all[1]).2);
    let limit = most.to_string();
    let dropped = run(&model, &["--max-length", &limit, "--too-long", "drop"], &records);
    assert_eq!(dropped.code(), Some(0), "{dropped:?}");
    assert_eq!(dropped.records(), all[..1]);
    let said = format!(
        "chat-tok: warning: --max-length: {whole} tokens left out, {trained} of them trained on (sequences dropped: 1; \
         their chats: 1)\n"
    );
    assert_eq!(dropped.stderr, said);
    let refused = run(&model, &["--max-length", &limit], &records);
    let cause = format!(
        "a prompt and an answer of {} tokens, more than --max-length {limit}; try: --too-long drop",
        tokens(&all[1]).0
    );
    refused.exits(1, &[&cause]);
}

/// The same bytes with any number of threads, and the same pairs in both encodings; what a text spells is text.
#[test]
fn threads_and_encodings_give_the_same_pairs() {
    let dir = TempDir::new();
    let model = write_model(&dir, "m", CHATML);
    let records = (0..3000).map(|n| {
        let rejected = if n % 3 == 0 { "b <|im_end|> c".to_string() } else { format!("b{n}") };
        json!({"prompt": format!("q{n} <|im_start|>"), "chosen": format!("a{n}"), "rejected": rejected}).to_string() + "\n"
    });
    let path = dir.write("p.jsonl", records.collect::<String>());
    let made = bash(&format!(
        "set -e; cd {}; for j in 1 4; do for to in ndjson arrow; do
             chat-tok --model {model} --take pair -j $j --to $to {path} > $j.$to 2> $j.err; done; done
         cmp 1.ndjson 4.ndjson; cmp 1.arrow 4.arrow; cmp 1.err 4.err; ds-diff 1.ndjson 1.arrow; cat 1.err",
        dir.path().display()
    ));
    let made = made.ok();
    assert!(made.text().contains("the records are the same"), "{made:?}");
    assert!(
        made.text().contains("control tokens in the texts of 3,000 chats are encoded as text"),
        "{made:?}"
    );
    let pairs = dir.records("1.ndjson");
    let token = pairs[0]["chosen"].as_array().unwrap().last().unwrap();
    let stops = |part: &Value| part.as_array().unwrap().iter().filter(|id| *id == token).count();
    assert!(pairs.iter().all(|pair| stops(&pair["rejected"]) == 1));
    // The first pairs alone, up to a number of tokens.
    let some = tool("chat-tok").args(&[
        "--model",
        &model,
        "--take",
        "pair",
        "--max-tokens",
        "100",
        "-q",
        &path,
    ]);
    let some = some.run().ok().records();
    let count = |pair: &Value| {
        ["prompt", "chosen", "rejected"].map(|name| ids(&pair[name]).len()).iter().sum::<usize>()
    };
    let sums: Vec<usize> = some.iter().map(count).collect();
    assert!(
        sums.iter().sum::<usize>() >= 100 && sums[..sums.len() - 1].iter().sum::<usize>() < 100
    );
    assert_eq!(some, pairs[..some.len()]);
}

/// What is left out of an answer is counted once, whichever answer it is, and wherever its prompt stands.
#[test]
fn what_is_left_out_of_an_answer_is_counted_once() {
    let refusing = json!([{"role": "assistant", "content": "a", "refusal": "x"}]);
    let (other, prompt) = (json!([say("assistant", "b")]), json!([say("user", "q")]));
    let whole = |answer: &Value| {
        json!([prompt.as_array().unwrap().as_slice(), answer.as_array().unwrap()].concat())
    };
    for take in ["chosen", "pair"] {
        for [chosen, rejected] in [[&refusing, &other], [&other, &refusing]] {
            for record in [
                json!({"prompt": "q", "chosen": chosen, "rejected": rejected}),
                json!({"prompt": prompt, "chosen": chosen, "rejected": rejected}),
                json!({"chosen": whole(chosen), "rejected": whole(rejected)}),
                json!({"chosen": whole(chosen), "rejected": rejected}),
                json!({"messages": whole(chosen), "rejected": rejected}),
            ] {
                let is_read = take == "pair" || chosen == &refusing;
                let wanted =
                    ["", "chat-tok: warning: refusal: left out once\n"][usize::from(is_read)];
                let arguments = ["--model", "gpt-oss", "--take", take];
                let run = tool("chat-tok").args(&arguments).input(record.to_string()).run().ok();
                assert_eq!(run.stderr, wanted, "--take {take}: {record}");
            }
        }
    }
}
