//! The rules that the cases of data/chat leave open.

use serde_json::{Value, json};

use super::converted;
use crate::common::{TempDir, Tool, bash, python, python_code, tool};

fn chat(messages: Value) -> Value {
    json!({"messages": messages})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// Role, channel and text of each message after the system message, and which are not trained on.
fn said(record: &Value, arguments: &[&str]) -> Vec<String> {
    let conversation = converted(record, &[arguments, &["-q"]].concat()).unwrap();
    shown(&conversation)
}

fn shown(conversation: &Value) -> Vec<String> {
    let messages = conversation["messages"].as_array().unwrap().iter().skip(1);
    let shown = messages.map(|message| {
        let of = |key: &str| message[key].as_str().unwrap_or("").to_string();
        let content = &message["content"][0];
        let text = content["text"].as_str().or(content["instructions"].as_str()).unwrap_or("");
        let train = if message["train"] == json!(false) { " untrained" } else { "" };
        format!("{} {} {text:?}{train}", of("role"), of("channel"))
    });
    shown.collect()
}

#[test]
fn ids_are_those_of_the_record_or_of_what_it_says() {
    let id = |record: Value| converted(&record, &[]).unwrap()["id"].clone();
    let messages = json!([user("a"), assistant("b")]);
    for (name, value, expected) in [
        ("id", json!("x"), "x"),
        ("synth_id", json!(7), "7"),
        ("conversation_id", json!("c"), "c"),
        ("prompt_id", json!("p"), "p"),
        ("uuid", json!("u"), "u"),
    ] {
        assert_eq!(id(json!({"messages": messages, name: value, "uuid": "u"})), expected);
    }
    // Integers of any size, as harmony-tok has them.
    for number in [
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
    ] {
        let line = format!("{{\"id\":{number},\"messages\":{messages}}}\n");
        let made = tool("chat-harmony").args(&["-q"]).input(line).run().ok().records().remove(0);
        assert_eq!(made["id"], number);
    }
    // Within what describes the record.
    for metadata in [json!({"synth_id": "m", "x": 1}), json!("{\"synth_id\": \"m\"}")] {
        for field in ["metadata_json", "metadata"] {
            assert_eq!(id(json!({"messages": messages, field: metadata})), "m");
            assert_eq!(id(json!({"messages": messages, field: metadata, "uuid": "u"})), "u");
        }
    }
    let own = id(json!({"messages": messages}));
    assert_eq!(id(json!({"messages": messages, "metadata": null})), own);
    let other = id(json!({"messages": messages, "metadata": "no JSON"}));
    assert_eq!(other.as_str().unwrap().len(), 16);
    assert_eq!(own.as_str().unwrap().len(), 16);
    assert_eq!(
        own,
        id(
            json!({"tools": null, "messages": [{"content": "a", "role": "user", "name": null}, assistant("b")]})
        )
    );
    assert_ne!(own, id(json!({"messages": [user("a"), assistant("c")]})));
    let named =
        converted(&json!({"messages": messages, "key": "k", "id": "i"}), &["--id-field", "key"]);
    assert_eq!(named.unwrap()["id"], "k");
    for (record, arguments, reason) in [
        (
            json!({"messages": messages}),
            &["--id-field", "key"][..],
            "key is missing or null; try: --id-field with another name",
        ),
        (
            json!({"messages": messages, "id": 1.5}),
            &[],
            "id is a float, wanted a string or an integer",
        ),
    ] {
        assert_eq!(converted(&record, arguments), Err(reason.to_string()));
    }
}

/// Python: `hashlib.blake2b(json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
/// .encode()).hexdigest()[:16]`.
#[test]
fn the_hash_of_a_chat_is_that_of_its_canonical_json() {
    let line = "{\"messages\": [{\"role\": \"user\", \"content\": \"\\u00e9\"}, {\"role\": \"assistant\", \"content\": \"b\"}]}\n";
    let found = tool("chat-harmony").input(line).run().ok().records();
    assert_eq!(found[0]["id"], "52e196df657c2cdf");
}

#[test]
fn earlier_thinking_stays_as_asked_and_is_counted() {
    let with = |text: &str, thinking: &str| json!({"role": "assistant", "content": text, "thinking": thinking});
    let record = chat(json!([user("a"), with("b", "t1"), user("c"), with("d", "t2")]));
    let line = format!("{record}\n");
    let last = tool("chat-harmony").args(&["--turns", "all"]).input(&line).run().ok();
    let warning = "chat-harmony: warning: thinking of earlier turns: left out once; answers after it are trained on without it; \
         --turns fit trains each turn with its own\n";
    assert_eq!(last.stderr, warning);
    assert_eq!(shown(&last.records()[0])[1], "assistant final \"b\"");
    assert_eq!(
        said(&record, &["--turns", "all", "--set", "keep_reasoning=true"])[1],
        "assistant analysis \"t1\""
    );
    let split =
        tool("chat-harmony").args(&["-q", "--turns", "fit"]).input(&line).run().silent().records();
    let id =
        converted(&record, &["-q", "--turns", "all"]).unwrap()["id"].as_str().unwrap().to_string();
    assert_eq!(
        [&split[0]["id"], &split[1]["id"]],
        [&json!(format!("{id}#1")), &json!(format!("{id}#2"))]
    );
    assert_eq!(
        shown(&split[0]),
        ["user  \"a\"", "assistant analysis \"t1\"", "assistant final \"b\""]
    );
    let second = [
        "user  \"a\"",
        "assistant final \"b\" untrained",
        "user  \"c\"",
        "assistant analysis \"t2\"",
        "assistant final \"d\"",
    ];
    assert_eq!(shown(&split[1]), second);
}

#[test]
fn weights_and_completions_say_what_is_trained_on() {
    let weighted = |weight: Value| {
        chat(
            json!([user("a"), {"role": "assistant", "content": "b", "weight": weight}, user("c"), assistant("d")]),
        )
    };
    for (weight, untrained) in
        [(json!(0), true), (json!(0.0), true), (json!(1), false), (json!(null), false)]
    {
        assert_eq!(said(&weighted(weight), &[])[1].ends_with("untrained"), untrained);
    }
    for weight in [json!(0.5), json!("0.5"), json!("none"), json!(2), json!(-1)] {
        assert_eq!(
            converted(&weighted(weight), &[]),
            Err("message 1: weight must be 0 or 1".to_string())
        );
    }
    let record =
        json!({"prompt": [user("a"), assistant("b"), user("c")], "completion": [assistant("d")]});
    let marks = |record: &Value, arguments: &[&str]| -> Vec<bool> {
        let said = said(record, arguments);
        let answers = said.iter().filter(|said| said.starts_with("assistant"));
        answers.map(|said| said.ends_with("untrained")).collect()
    };
    assert_eq!(marks(&record, &[]), [true, false]);
    assert_eq!(marks(&record, &["--turns", "all"]), [true, false]);
    assert_eq!(marks(&record, &["--turns", "all,prompts"]), [false, false]);
    let plain = chat(json!([user("a"), assistant("b"), user("c"), assistant("d")]));
    assert_eq!(marks(&plain, &["--turns", "all"]), [false, false]);
    assert_eq!(marks(&plain, &["--turns", "completion"]), [true, false]);
    assert_eq!(marks(&plain, &["--turns", "last"]), [true, false]);
    let train = chat(json!([user("a"), {"role": "assistant", "content": "b", "train": "no"}]));
    assert_eq!(converted(&train, &[]), Err("message 1: train must be true or false".to_string()));
}

/// From the record to the checked root, and back.
#[test]
fn weights_reach_segments_masks_roots_and_views() {
    let dir = TempDir::new();
    let record = chat(
        json!([user("a"), {"role": "assistant", "content": "bb", "weight": 0}, user("c"), assistant("d")]),
    );
    let chats = dir.write("chats.ndjson", format!("{record}\n"));
    let root = dir.at("root");
    for to in ["arrow", "ndjson"] {
        let tokens = bash(&format!(
            "chat-harmony {chats} --to {to} | harmony-tok --policy chat --to ndjson"
        ))
        .ok();
        let segments = &tokens.records()[0]["segments"];
        let trains: Vec<&Value> =
            segments.as_array().unwrap().iter().map(|s| &s["train"]).collect();
        assert_eq!(json!(trains), json!([null, null, false, null, null]), "{to}");
        assert!(!tokens.text().contains("\"train\":null"));
    }
    let pipe = format!("export GRISTMILL_TO=arrow; chat-harmony {chats} | harmony-tok | span-mask");
    bash(&format!("{pipe} | mmidx-write --root {root} --shard shard_00 && ds-manifest {root}"))
        .ok();
    assert_eq!(dir.json("root/parts/shard_00.json")["splits"]["train"]["untrained_messages"], 1);
    tool("ds-check").args(&[&root]).run().ok();
    let again =
        bash(&format!("ds-cat {root} --to arrow | mmidx-write --root {root}2 --shard shard_00"));
    again.ok();
    assert_eq!(dir.read("root/train/shard_00_span.bin"), dir.read("root2/train/shard_00_span.bin"));
    tool("ds-check").args(&[&dir.at("root2")]).run().ok();
    let view = tool("ds-view").args(&[&root]).run().ok().text();
    assert!(view.contains("7 tokens, all not trained on, by weight"), "{view}");
    let decoded = bash(&format!("ds-cat {root} | harmony-tok --decode")).ok().records();
    assert_eq!(decoded[0]["messages"][2]["train"], false);
    // The trainer's side reads it too.
    if let Some(python) = python() {
        let package = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
        let read = "from gristmill_data.triples import Triple; print(int(sum(s.span_id.sum() for s in Triple(ARG))))"
            .replace("ARG", &format!("{:?}", dir.at("root/train/shard_00")));
        let mut command = std::process::Command::new(python);
        command.args(["-c", &read]).env("PYTHONPATH", package).env("PYTHONDONTWRITEBYTECODE", "1");
        assert_eq!(Tool::new(command, "Triple").run().ok().text(), "14\n");
    }
    // A message that is trained on in part is wrong with weights too.
    let mut spans = dir.read("root/train/shard_00_span.bin");
    let at = spans.iter().rposition(|id| *id > 0).unwrap();
    spans[at] = 0;
    dir.write("root/train/shard_00_span.bin", &spans);
    let mut mask = dir.read("root/train/shard_00_lossmask.bin");
    mask[at] = 0;
    dir.write("root/train/shard_00_lossmask.bin", &mask);
    let report = tool("ds-check").args(&[&root]).run_whatever();
    assert!(report.text().contains("kd.mask.derived"), "{report:?}");
}

/// A weight far behind the first records, and streams of 0.3, which had the column only with weights.
#[test]
fn arrow_has_the_weights_of_every_message() {
    let dir = TempDir::new();
    let plain = chat(json!([user(&"a".repeat(1 << 16)), assistant("b")])).to_string();
    let weighted = json!([user("a"), {"role": "assistant", "content": "b", "weight": 0}]);
    let lines = format!("{}{}\n", format!("{plain}\n").repeat(40), chat(weighted));
    let pipe = format!("chat-harmony {} | harmony-tok", dir.write("chats.ndjson", lines));
    let expected = bash(&pipe).ok().text();
    assert_eq!(expected.matches("\"train\":false").count(), 1);
    assert_eq!(bash(&format!("{pipe} --to arrow | ds-cat")).ok().text(), expected);
    let Some(python) = python() else { return };
    let before = "
import sys, pyarrow as pa
read = pa.ipc.open_stream(sys.argv[1])
table = read.read_all().slice(0, 40)
at = table.schema.get_field_index('segments')
kept = [field for field in table.schema.field(at).type.value_type if field.name != 'train']
assert len(kept) == 4
column = table.column(at).combine_chunks()
items = pa.StructArray.from_arrays([column.flatten().field(f.name) for f in kept], fields=kept)
field = pa.field('segments', pa.list_(items.type))
table = table.set_column(at, field, pa.ListArray.from_arrays(column.offsets, items))
with pa.ipc.new_stream(sys.argv[2], table.schema) as out:
    out.write_table(table)
";
    let [new, old] = ["new.arrows", "old.arrows"].map(|name| dir.at(name));
    bash(&format!("{pipe} --to arrow > {new}")).ok();
    python_code(&python, before, &[&new, &old]).ok();
    let first = expected.split_inclusive('\n').take(40).collect::<String>();
    assert_eq!(tool("ds-cat").args(&[&old]).run().ok().text(), first);
}

/// Without a word on policies, through both encodings.
#[test]
fn the_pipe_needs_no_flags() {
    let dir = TempDir::new();
    let call = json!({"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{}"}]});
    let result = json!({"role": "tool", "content": "x"});
    let record = chat(json!([user("a"), call, result, assistant("b")]));
    let chats = dir.write("chats.ndjson", format!("{record}\n"));
    for to in ["ndjson", "arrow"] {
        let root = dir.at(to);
        let pipe = format!(
            "set -o pipefail; export GRISTMILL_TO={to}; chat-harmony {chats} | harmony-tok | span-mask | \
             mmidx-write -q --root {root} --shard shard_00 && ds-manifest {root}"
        );
        // The call is not trained on, which is all that is said.
        let warning = "span-mask: warning: 1 message of the assistant in commentary (tool calls, and text \
                       beside them) is not trained on; try: --span commentary=3\n";
        assert_eq!(bash(&pipe).ok().stderr, warning);
        tool("ds-check").args(&[&root, "-q"]).run().ok();
    }
    assert_eq!(
        dir.read("ndjson/train/shard_00_tokens.bin"),
        dir.read("arrow/train/shard_00_tokens.bin")
    );
    // What it makes is checked by the policy that it states.
    for to in ["tc.parquet", "tc.arrows", "tc.ndjson"] {
        let made = dir.at(to);
        tool("chat-harmony").args(&[&chats, "-o", &made]).run().ok();
        tool("ds-check").args(&[&made, "-q"]).run().ok();
    }
    let stated = bash(&format!("chat-harmony {chats} | harmony-tok --policy synth-kd-v1"));
    assert!(stated.stderr.contains("try: --policy chat"), "{stated:?}");
}

/// A mask that does not follow a weight is refused.
#[test]
fn a_sink_refuses_masks_against_the_weights() {
    let record = chat(
        json!([user("a"), {"role": "assistant", "content": "bb", "train": false}, user("c"), assistant("d")]),
    );
    let masked =
        bash(&format!("echo '{record}' | chat-harmony | harmony-tok | span-mask")).ok().text();
    let dir = TempDir::new();
    let stated = dir.write("a.ndjson", masked.replace(",\"train\":false", ""));
    let outcome = tool("mmidx-write")
        .args(&["--prefix", &dir.at("p"), &stated, "--span", "final=2"])
        .run_whatever();
    assert!(outcome.stderr.contains("kd.mask.derived"), "{outcome:?}");
}

/// Nor is a mask of a message that its own record says is not trained on, where spans are not known.
#[test]
fn weights_hold_where_spans_are_not_known() {
    let made = |weight: u8| {
        let record = chat(json!([
            user("a"),
            {"role": "assistant", "content": "bb", "weight": weight},
            user("c"),
            assistant("d"),
        ]));
        let pipe = format!("echo '{record}' | chat-harmony --turns all | harmony-tok | span-mask");
        bash(&pipe).ok().records().remove(0)
    };
    let (weighted, whole) = (made(0), made(1));
    let dir = TempDir::new();
    let good = dir.write("good.ndjson", format!("{weighted}\n"));
    tool("ds-check").args(&[&good, "-q"]).run().ok();
    let mut bad = weighted;
    for name in ["loss_mask", "span_id"] {
        bad[name] = whole[name].clone();
    }
    let bad = dir.write("bad.ndjson", format!("{bad}\n"));
    let report = tool("ds-check").args(&[&bad]).run_whatever();
    assert_eq!(report.code(), Some(1), "{report:?}");
    assert!(report.text().contains("kd.mask.derived"), "{report:?}");
    let refused = tool("mmidx-write").args(&["--prefix", &dir.at("p"), &bad]).run_whatever();
    refused.exits(1, &["kd.mask.derived"]);
}

#[test]
fn what_is_no_chat_is_refused_in_one_line() {
    let call = |call: Value| chat(json!([user("a"), {"role": "assistant", "tool_calls": [call]}]));
    for (record, reason) in [
        (
            json!({}),
            "no chat shape: wanted messages, conversations, prompt and completion, query, answers and tools, instruction and output, or another question with its answer, input (and output), user and final, traj, or chosen and rejected; found nothing",
        ),
        (chat(json!([user("a")])), "no assistant message"),
        (
            json!({"prompt": [user("a"), assistant("b")], "completion": [user("c")]}),
            "completion without an assistant message",
        ),
        (chat(json!([1, assistant("a")])), "message 0: a int, wanted an object"),
        (chat(json!([{"role": 1}, assistant("a")])), "message 0: role is a int"),
        (chat(json!([{"role": "user"}, assistant("a")])), "message 0: user without content"),
        (
            chat(json!([user("a"), {"role": "tool", "content": "x"}, assistant("a")])),
            "message 1: tool result without an earlier tool call; calls in texts are not read, give tool_calls",
        ),
        (
            chat(json!([user("a"), {"role": "assistant", "channel": "final", "content": "x"}])),
            "message 1: has \"channel\": this is a Harmony message; try: harmony-tok",
        ),
        (
            chat(json!([user("a"), {"role": "assistant", "content": "x", "thinking": 5}])),
            "message 1: thinking is a int, wanted a string",
        ),
        (
            call(json!({"name": "f", "arguments": "[1]"})),
            "message 1: arguments of f are not a JSON object",
        ),
        (
            call(json!({"name": "f", "arguments": "{\"a\": 1} x"})),
            "message 1: arguments of f: not JSON (Extra data at 9)",
        ),
        (
            call(json!({"name": "f", "arguments": "{\"é\": }"})),
            "message 1: arguments of f: not JSON (Expecting value at 6)",
        ),
        (call(json!({"function": {"arguments": "{}"}})), "message 1: a tool call without a name"),
        (
            json!({"messages": [user("a"), assistant("b")], "tools": [{"type": "web_search"}]}),
            "tool of type 'web_search' is not a function",
        ),
        (
            json!({"messages": [user("a"), assistant("b")], "tools": "[{"}),
            "tools: not JSON (Expecting property name enclosed in double quotes at 2)",
        ),
        (
            json!({"messages": [user("a"), assistant("b")], "tools": [{"name": "f", "parameters": [1]}]}),
            "parameters of f: a list, wanted an object",
        ),
        (
            json!({"messages": [user("a"), assistant("b")], "reasoning_effort": 3}),
            "reasoning_effort is a int, wanted a string",
        ),
        (
            json!({"instruction": "a", "output": "b", "history": [["x"]]}),
            "history: wanted pairs of strings",
        ),
        (json!({"instruction": "a", "output": 3}), "output is a int, wanted a string"),
    ] {
        assert_eq!(converted(&record, &["-q"]), Err(reason.to_string()));
    }
}

/// The rejects hold the record as it came, whatever it came from.
#[test]
fn rejects_are_the_records_themselves() {
    let dir = TempDir::new();
    let bad = "{\"messages\": [ {\"role\":\"critic\"}],\"score\":1.50}";
    let chats =
        dir.write("chats.ndjson", format!("{bad}\n{}\n", chat(json!([user("a"), assistant("b")]))));
    let rejects = dir.at("rejects.ndjson");
    let outcome = tool("chat-harmony")
        .args(&[&chats, "--on-error", "skip", "--rejects", &rejects])
        .run()
        .ok();
    assert_eq!(outcome.records().len(), 1);
    let rejected = dir.json("rejects.ndjson");
    assert_eq!(rejected["reason"], "message 0: unknown role 'critic'");
    let input: Value = serde_json::from_str(bad).unwrap();
    assert!(rejected["input"] == input || rejected["input"] == json!(bad), "{rejected}");
}

#[test]
fn metadata_travels_as_text() {
    let record =
        json!({"messages": [user("a"), assistant("b")], "lang": "é", "score": 1.5, "tags": ["x"]});
    let found = converted(&record, &["--metadata-fields", "lang,score,tags,none"]).unwrap();
    let texts = ["lang", "score", "tags", "none"].map(|name| found[name].clone());
    assert_eq!(texts, [json!("é"), json!("1.5"), json!("[\"x\"]"), json!(null)]);
    let whole = "{\"lang\": \"\\u00e9\", \"score\": 1.5, \"tags\": [\"x\"]}";
    assert_eq!(found["metadata_json"], whole);
    let twice =
        tool("chat-harmony").args(&["--metadata-fields", "id"]).input("{}\n").run_whatever();
    twice.says(2, "chat-harmony: --metadata-fields: there would be two columns id");
}

/// The default date is never today's, and Harmony's own tools are declared, whoever states them.
#[test]
fn settings_of_the_user_and_of_a_record_are_the_same() {
    let plain = json!({"messages": [user("a"), assistant("b")]});
    let mut stated = plain.clone();
    stated["builtin_tools"] = json!(["python", "browser"]);
    stated["reasoning_effort"] = "high".into();
    let dir = TempDir::new();
    let text = |record: &Value, options: &str| {
        let file = dir.write("chats.ndjson", format!("{record}\n"));
        let pipe = format!(
            "chat-harmony {options} {file} | harmony-tok --policy chat | harmony-tok --decode"
        );
        bash(&pipe).ok().records()[0]["text"].as_str().unwrap().to_string()
    };
    let wanted = text(&stated, "");
    assert!(
        wanted.contains("Current date: 2026-01-01\n\nReasoning: high")
            && wanted.contains("## browser")
    );
    let effort = "--set reasoning_effort=high";
    for options in [
        format!("{effort} --set builtin_tools=python,browser"),
        format!("{effort} --set 'builtin_tools=[\"browser\", \"python\"]'"),
        // (The old names.)
        "--style harmony --reasoning-effort high --builtin-tools browser,python".to_string(),
    ] {
        assert_eq!(text(&plain, &options), wanted, "{options}");
    }
    let texts = "--set model_identity=I --set knowledge_cutoff=2020 --date 1999";
    let text = text(&plain, texts);
    let begin = "<|start|>system<|message|>I\nKnowledge cutoff: 2020\nCurrent date: 1999\n\nReasoning: medium";
    assert!(text.starts_with(begin), "{text}");
}

/// Old options do what the new ones do; what is not there any more is refused by its name, with a way on.
#[test]
fn old_options_are_the_new_ones() {
    let record = json!({"messages": [
        user("a"), {"role": "assistant", "content": "b", "thinking": "t"}, user("c"),
        {"role": "assistant", "content": "d", "thinking": "u"},
    ]});
    let prompt =
        json!({"prompt": [user("a"), assistant("b"), user("c")], "completion": [assistant("d")]});
    let run = |record: &Value, options: &str| {
        let options: Vec<&str> = options.split_whitespace().collect();
        tool("chat-harmony").args(&options).input(format!("{record}\n")).run().ok().text()
    };
    for (record, old, new) in [
        (&record, "--thinking split", ""),
        (&record, "--turns split", "--turns fit"),
        (&record, "--thinking last", "--turns all"),
        (&record, "--thinking all", "--turns all --set keep_reasoning=true"),
        (&record, "--train completion", "--turns completion"),
        (&prompt, "--train all", "--turns fit,prompts"),
        (&prompt, "--train all --turns all", "--turns all,prompts"),
        (&record, "--model-identity I", "--set model_identity=I"),
        (&record, "--knowledge-cutoff 2020", "--set knowledge_cutoff=2020"),
    ] {
        assert_eq!(run(record, old), run(record, new), "{old}");
    }
    let refused = |options: &str| {
        let options: Vec<&str> = options.split(' ').collect();
        tool("chat-harmony").args(&options).input("{}\n").run_whatever()
    };
    for (options, cause) in [
        ("--style exact", "--style exact is not there any more"),
        ("--style exact", "try: chat-tok --model DIR"),
        (
            "--set effort=low",
            "--set effort: gpt-oss has no such variable, only reasoning_effort, model_identity",
        ),
        (
            "--set reasoning_effort=minimal",
            "--set reasoning_effort 'minimal': Harmony has low, medium and high",
        ),
        ("--set builtin_tools=shell", "--set builtin_tools \"shell\": gpt-oss has browser, python"),
        ("--set keep_reasoning=1", "--set keep_reasoning is true or false"),
        ("--set conversation_start_date=1", "--set conversation_start_date: its option is --date"),
    ] {
        refused(options).fails(2, &[cause]);
    }
    refused("--turns first").exits(2, &["invalid value 'first' for '--turns <WHICH>'"]);
}

#[test]
fn an_arrow_pipe_states_how_the_chats_were_read() {
    // (In /tmp or in /dev/shm, which is no pipe: scripts/test.sh takes that where there is room.)
    let dir = TempDir::new();
    let chats =
        dir.write("chats.ndjson", format!("{}\n", chat(json!([user("a"), assistant("b")]))));
    let pipe = format!("chat-harmony --to arrow --turns all {chats} | harmony-tok --to arrow");
    let root = dir.at("root");
    bash(&format!("{pipe} | span-mask --to arrow | mmidx-write --root {root} --shard shard_00"))
        .silent();
    let part = dir.json("root/parts/shard_00.json");
    assert_eq!(part["source"]["policy"], "chat");
    let tools: Vec<&Value> =
        part["provenance"].as_array().unwrap().iter().map(|e| &e["name"]).collect();
    assert_eq!(json!(tools), json!(["chat-harmony", "harmony-tok", "span-mask", "mmidx-write"]));
    let row = bash(&format!("ds-cat {root}")).ok().records();
    assert_eq!([&row[0]["input"], &row[0]["row"]], [&json!("chats.ndjson"), &json!(0)]);
}

/// What says that an answer, or a part of it, is not to be trained on, under the names that trainers have for it.
#[test]
fn every_flag_of_training_is_read_or_refused() {
    let flagged = |key: &str, value: Value| {
        let mut answer = assistant("b");
        answer[key] = value;
        answer
    };
    for (key, value) in [
        ("weight", json!(0)),
        ("train", json!(false)),
        ("loss", json!(false)),
        ("loss", json!(0.0)),
    ] {
        let record = chat(json!([user("a"), flagged(key, value.clone())]));
        let made = converted(&record, &["-q"]).unwrap();
        assert_eq!(made["messages"][2]["train"], json!(false), "{key} {value}");
        // (`train` is a field of our own records.)
        let direct = json!({"id": "x", "messages": [user("a"), flagged(key, value)]});
        let direct = tool("harmony-tok").args(&["--policy", "chat"]).input(format!("{direct}\n"));
        assert_eq!(direct.run_whatever().code(), Some(if key == "train" { 0 } else { 1 }), "{key}");
    }
    for (key, value) in [
        ("loss_mask", json!(0)),
        ("mask", json!(false)),
        ("loss_scale", json!(0.5)),
        ("train_detail", json!([{"begin_offset": 0, "end_offset": 1, "train": false}])),
    ] {
        let record = chat(json!([user("a"), flagged(key, value)]));
        let reason =
            format!("message 1: has \"{key}\", which is not read; give train: false, or weight: 0");
        assert_eq!(converted(&record, &["-q"]), Err(reason));
        assert!(converted(&chat(json!([user("a"), flagged(key, json!(1))])), &["-q"]).is_ok());
    }
    // Of the record as a whole.
    for (key, value) in [("weight", json!(0)), ("train", json!(false)), ("loss", json!(false))] {
        for mut record in
            [chat(json!([user("a"), assistant("b")])), json!({"prompt": "a", "completion": "b"})]
        {
            record[key] = value.clone();
            let made = converted(&record, &["-q"]).unwrap();
            assert_eq!(made["messages"][2]["train"], json!(false), "{record}");
        }
    }
    // As text, of tables whose columns are text.
    for text in ["0", "0.0", " 0 "] {
        let of_message = chat(json!([user("a"), flagged("weight", json!(text))]));
        let mut of_record = chat(json!([user("a"), assistant("b")]));
        of_record["weight"] = json!(text);
        for record in [of_message, of_record] {
            let made = converted(&record, &["-q"]).unwrap();
            assert_eq!(made["messages"][2]["train"], json!(false), "{record}");
        }
    }
    for (value, is_refused) in
        [("1", false), ("1.0", false), ("0.5", true), ("2", true), ("heavy", false)]
    {
        let mut record = chat(json!([user("a"), assistant("b")]));
        record["weight"] = json!(value);
        let made = converted(&record, &["-q"]);
        match is_refused {
            true => assert_eq!(made, Err("weight must be 0 or 1".to_string())),
            false => assert!(made.unwrap()["messages"][2]["train"].is_null(), "{value}"),
        }
        let of_message =
            converted(&chat(json!([user("a"), flagged("weight", json!(value))])), &["-q"]);
        assert_eq!(of_message.is_ok(), value.starts_with('1'), "{value}");
    }
    // What of a record is trained on.
    for key in ["loss_mask", "mask", "loss_scale", "train_detail", "training_detail"] {
        let mut record = chat(json!([user("a"), assistant("b")]));
        record[key] = json!([0, 1]);
        let reason = format!("has \"{key}\", which is not read; give train: false, or weight: 0");
        assert_eq!(converted(&record, &["-q"]), Err(reason));
        for all in [json!(1), json!(true), json!("1"), Value::Null, json!([])] {
            record[key] = all;
            assert!(converted(&record, &["-q"]).is_ok(), "{record}");
        }
    }
    // Columns that mean something else.
    let mut record = chat(json!([user("a"), assistant("b")]));
    (record["loss"], record["train"], record["label"]) = (json!(1.25), json!("part 1"), json!(0));
    assert!(converted(&record, &["-q"]).unwrap()["messages"][2]["train"].is_null());
    for label in [json!(0), json!("False"), json!("false"), json!("0"), json!(false)] {
        let record = json!({"prompt": "a", "completion": "b", "label": label});
        let reason = converted(&record, &["-q"]).unwrap_err();
        assert!(reason.ends_with(": an answer that is not wanted; try: --take wanted"), "{reason}");
    }
    for (record, reason) in [
        (
            json!({"prompt": "a", "completion": "b", "label": false}),
            "label is false: an answer that is not wanted; try: --take wanted",
        ),
        (
            json!({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}, {"from": "human", "value": "c"}],
                   "chosen": {"from": "gpt", "value": "d"}, "rejected": {"from": "gpt", "value": "e"}}),
            "chosen and rejected answers, but only one can be trained on; try: --take chosen",
        ),
    ] {
        assert_eq!(converted(&record, &["-q"]), Err(reason.to_string()));
    }
}

/// What has no place in a conversation is counted, or refused, under every name that it has.
#[test]
fn nothing_is_left_out_without_a_word() {
    let said = |record: &Value| tool("chat-harmony").input(format!("{record}\n")).run().ok().stderr;
    for key in ["thinking", "reasoning_content", "reasoning"] {
        // Of columns it is the answer's; beside a list of messages it has no place.
        for (mut record, is_read) in [
            (json!({"prompt": "a", "completion": "b"}), true),
            (json!({"instruction": "a", "output": "b"}), true),
            (json!({"user": "a", "final": "b"}), true),
            (
                json!({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}),
                false,
            ),
            (chat(json!([user("a"), assistant("b")])), false),
        ] {
            record[key] = json!("Think.");
            let warning = match is_read {
                true => String::new(),
                false => format!("chat-harmony: warning: {key}: left out once\n"),
            };
            assert_eq!(said(&record), warning, "{record}");
            let made = converted(&record, &["-q"]).unwrap();
            assert_eq!(made["messages"][2]["channel"] == "analysis", is_read, "{record}");
            for nothing in [Value::Null, json!("")] {
                record[key] = nothing;
                assert_eq!(said(&record), "", "{record}");
            }
        }
    }
    let call = json!([{"name": "f", "arguments": "{}"}]);
    for (key, value) in [
        ("tool_calls", call.clone()),
        ("function_call", call[0].clone()),
        ("refusal", json!("No.")),
        ("tool_call_id", json!("x")),
    ] {
        let mut asked = user("a");
        asked[key] = value;
        let record = chat(json!([asked, assistant("b")]));
        assert_eq!(said(&record), format!("chat-harmony: warning: {key}: left out once\n"));
    }
    let mut record = chat(json!([user("a"), assistant("b")]));
    record["builtin_tools"] = json!(["browser", "abacus"]);
    let warning = "chat-harmony: warning: builtin_tools.abacus: left out once\n";
    assert_eq!(said(&record), warning);
}

/// With a conversation for each turn, what is before the completion is context.
#[test]
fn splitting_trains_on_nothing_before_the_completion() {
    let record = json!({
        "prompt": [user("a"), {"role": "assistant", "thinking": "T0", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
                   {"role": "tool", "content": "r"}],
        "completion": [{"role": "assistant", "thinking": "T1", "content": "A"}],
    });
    let made = converted(&record, &["-q"]).unwrap();
    let trained: Vec<bool> = made["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message["train"].is_null())
        .collect();
    // T0, the call, T1, A.
    assert_eq!(trained, [false, false, true, true]);
}

/// What a chat holds under other names than OpenAI's is read or refused, and never left out.
#[test]
fn what_other_names_hold_is_not_lost() {
    let call = |call: Value| chat(json!([user("a"), {"role": "assistant", "tool_calls": [call]}]));
    let arguments = |record: &Value| {
        let made = converted(record, &["-q"])?;
        Ok::<_, String>(
            made["messages"].as_array().unwrap().last().unwrap()["content"][0]["text"].clone(),
        )
    };
    let of_llama = call(json!({"function": {"name": "f", "parameters": {"city": "Rome"}}}));
    assert_eq!(arguments(&of_llama), Ok(json!("{\"city\": \"Rome\"}")));
    let turn = json!({"from": "function_call", "value": "{\"name\":\"f\",\"parameters\":{\"city\":\"Rome\"}}", "reasoning_content": "R"});
    let sharegpt = json!({"conversations": [{"from": "human", "value": "a"}, turn]});
    assert_eq!(arguments(&sharegpt), Ok(json!("{\"city\": \"Rome\"}")));
    assert_eq!(said(&sharegpt, &[]).len(), 3, "user, reasoning, call");
    let reason = "message 1: the call of f has \"args\"; give arguments";
    assert_eq!(arguments(&call(json!({"name": "f", "args": {"x": 1}}))), Err(reason.to_string()));

    // System messages in a column, whatever the shape.
    for record in [
        json!({"system": "S", "input": "a", "output": "b"}),
        json!({"system": "S", "user": "a", "final": "b"}),
        json!({"system_prompt": "S", "instruction": "a", "output": "b"}),
        json!({"system_prompt": "S", "input": [user("a")], "output": "b"}),
        json!({"system_prompt": "S", "messages": [user("a"), assistant("b")]}),
        json!({"system_prompt": "S", "system": "S", "prompt": "a", "completion": "b"}),
    ] {
        let made = converted(&record, &["-q"]).unwrap();
        assert_eq!(made["messages"][1]["content"][0]["instructions"], "S", "{record}");
    }

    // Reasoning in tags.
    let answer = |content: &str| converted(&chat(json!([user("a"), assistant(content)])), &["-q"]);
    let made = answer("\n<think>\nT</think>\nA").unwrap();
    assert_eq!(made["messages"][2]["channel"], "analysis");
    let reason = "message 1: </think> without <think> in the text; give reasoning as thinking";
    assert_eq!(answer("T</think>A"), Err(reason.to_string()));
    assert!(answer("The tags <think> and </think> hold reasoning.").is_ok());
    let reason = "message 1: Harmony channel tags in the text; give analysis as thinking and the answer as content";
    assert_eq!(
        answer("<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"),
        Err(reason.to_string())
    );

    // Tools.
    let with = |tools: Value| {
        let mut record = chat(json!([user("a"), assistant("b")]));
        record.as_object_mut().unwrap().extend(tools.as_object().unwrap().clone());
        let made = converted(&record, &["-q"])?;
        Ok::<_, String>(
            made["messages"][1]["content"][0]["tools"]["functions"]["tools"][0]["parameters"]
                .clone(),
        )
    };
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    for key in ["parameters", "input_schema", "inputSchema"] {
        assert_eq!(with(json!({"tools": [{"name": "f", key: schema}]})), Ok(schema.clone()));
    }
    assert_eq!(
        with(json!({"tools": [], "functions": [{"name": "f", "parameters": schema}]})),
        Ok(schema.clone())
    );
    // A table has the properties of all tools in each.
    let mut filled = schema.clone();
    filled["properties"]["place"] = Value::Null;
    assert_eq!(with(json!({"tools": [{"name": "f", "parameters": filled}]})), Ok(schema.clone()));
    // So with all that a schema may have, but what is a value.
    let plain = json!({"type": "object", "properties": {
        "city": {"type": "string", "description": "Which city", "enum": ["Rome", null], "default": null},
        "default": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "how": {"type": "object", "default": {"a": null}, "oneOf": [{"type": "string"}, {"type": "null"}]},
    }});
    let mut filled = plain.clone();
    for (place, key) in [
        ("", "required"),
        ("", "$defs"),
        ("/properties", "none"),
        ("/properties/city", "oneOf"),
        ("/properties/city", "items"),
        ("/properties/city", "title"),
        ("/properties/default/items", "description"),
        ("/properties/default/items/properties", "default"),
        ("/properties/how/oneOf/0", "enum"),
    ] {
        filled.pointer_mut(place).unwrap()[key] = Value::Null;
        assert_eq!(
            with(json!({"tools": [{"name": "f", "parameters": filled}]})),
            Ok(plain.clone()),
            "{place}/{key}"
        );
    }
    let both = json!({"tools": [{"name": "f"}], "functions": [{"name": "g"}]});
    assert_eq!(with(both), Err("has both tools and functions".to_string()));

    // Keys of messages.
    for (message, reason) in [
        (
            json!({"role": "system", "content": "S", "tools": [{"name": "f"}]}),
            "message 0: has \"tools\", which is not read here; give them beside the messages",
        ),
        (
            json!({"role": "user", "content": "[{\"type\": \"text\", \"text\": \"Q\"}]"}),
            "message 0: the text is a JSON array of parts, as a JSON column becomes when it is read as text; try: the array itself, or --content-is-text",
        ),
    ] {
        let record = chat(json!([message, user("a"), assistant("b")]));
        assert_eq!(converted(&record, &["-q"]), Err(reason.to_string()));
    }
    let record = chat(json!([user("[{\"type\": \"text\", \"text\": \"Q\"}]"), assistant("b")]));
    assert!(converted(&record, &["-q", "--content-is-text"]).is_ok());
    let record =
        chat(json!([user("a"), {"role": "assistant", "content": "", "refusal": "I cannot."}]));
    assert_eq!(arguments(&record), Ok(json!("I cannot.")));
    let part = json!([{"type": "refusal", "refusal": "I cannot."}]);
    assert_eq!(
        arguments(&chat(json!([user("a"), {"role": "assistant", "content": part}]))),
        Ok(json!("I cannot."))
    );

    // What the record says to the template, as text.
    let mut record = chat(json!([user("a"), assistant("b")]));
    record["chat_template_kwargs"] = json!("{\"reasoning_effort\": \"high\"}");
    let made = converted(&record, &["-q"]).unwrap();
    assert_eq!(made["messages"][0]["content"][0]["reasoning_effort"], "High");
    record["chat_template_kwargs"] = json!([1]);
    assert_eq!(
        converted(&record, &["-q"]),
        Err("chat_template_kwargs is a list, wanted an object".to_string())
    );

    // Reasoning of one answer in two items.
    let summary = |text: &str| json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]});
    let record = json!({"input": [user("a"), summary("R1"), summary("R2"), {"type": "message", "role": "assistant", "content": "A"}]});
    let made = converted(&record, &["-q"]).unwrap();
    assert_eq!(made["messages"][2]["content"][0]["text"], "R1\n\nR2");
}
