//! scripts/synth-kd.sh --chat: any file or folder of chats to a checked root, on one machine or by plan.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::common::{Outcome, TempDir, assert_same_datasets, bash_with, copy_scripts, files_in};

/// Chats of several shapes, each with an id of its own.
pub fn chats(from: usize, count: usize) -> String {
    let mut lines = String::new();
    for number in from..from + count {
        let (question, answer) = (format!("What is {number}?"), format!("It is {number}."));
        let (ask, say) = (
            json!({"role": "user", "content": question}),
            json!({"role": "assistant", "content": answer, "thinking": "Look."}),
        );
        let call = json!({"role": "assistant", "thinking": "Ask.", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
        let chat = match number % 5 {
            0 => json!({"messages": [ask, say, ask, say]}),
            1 => json!({"messages": [ask, call, result, say]}),
            2 => {
                json!({"conversations": [{"from": "human", "value": question}, {"from": "gpt", "value": answer}]})
            }
            3 => json!({"prompt": question, "completion": answer}),
            _ => {
                json!({"messages": [ask, {"role": "assistant", "content": "no", "weight": 0}, ask, say]})
            }
        };
        let mut chat: Value = chat;
        chat["id"] = json!(format!("chat-{number}"));
        writeln!(lines, "{chat}").unwrap();
    }
    lines
}

/// Runs a script in a place, where `$KD` is the pipeline.
pub fn run(dir: &TempDir, script: &str) -> Outcome {
    let script = format!("cd {}; KD=scripts/synth-kd.sh; {script}", dir.path().display());
    bash_with(&script, &[]).without_shards()
}

fn place() -> TempDir {
    let dir = TempDir::new();
    copy_scripts(&dir);
    dir.write("in/a.jsonl", chats(0, 40));
    dir.write("in/b.jsonl", chats(40, 25));
    dir.write("all.jsonl", chats(0, 65));
    dir
}

#[test]
fn a_root_of_chats_is_that_of_the_pipe() {
    let dir = place();
    let options = "--chat --span commentary=3 --valid-fraction 0.2";
    let told = run(&dir, &format!("bash $KD in root {options}")).ok();
    assert!(told.stderr.contains("thinking of earlier turns: left out"), "{told:?}");
    let pipe = "export GRISTMILL_TO=arrow; chat-harmony -q all.jsonl | harmony-tok | \
                span-mask --span commentary=3 | \
                mmidx-write --root piped --shard shard_00 --valid-fraction 0.2";
    run(&dir, pipe).silent();
    assert_same_datasets(&dir.path().join("root"), &dir.path().join("piped"));
    let manifest = dir.json("root/manifest.json");
    let supervised = &manifest["splits"]["train"]["supervised_tokens"];
    assert!(["1", "2", "3"].iter().all(|id| supervised[*id].as_u64() > Some(0)), "{manifest}");
    let part = dir.json("root/parts/shard_00.json");
    assert_eq!(part["records"], json!({"read": 65, "written": 65, "rejected": 0}));
    let inputs = part["source"]["inputs"].as_array().unwrap();
    assert_eq!(inputs.iter().map(|input| input["rows"].clone()).collect::<Vec<_>>(), [40, 25]);
    // A single file, and what is there already.
    run(&dir, &format!("bash $KD all.jsonl one {options}")).ok();
    assert_same_datasets(&dir.path().join("one"), &dir.path().join("root"));
    run(&dir, &format!("bash $KD in root {options} --resume")).ok();
}

#[test]
fn a_plan_of_chats_gives_the_same_root() {
    let dir = place();
    for options in ["--chat --span commentary=3", "--chat --thinking split --shards 2"] {
        run(&dir, &format!("rm -rf one many; bash $KD in one {options}")).ok();
        run(&dir, &format!("bash $KD plan in many {options} > tasks.txt")).ok();
        run(&dir, "bash tasks.txt && bash $KD finish many tasks.txt --delete-parts").ok();
        assert_same_datasets(&dir.path().join("many"), &dir.path().join("one"));
    }
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_published() {
    let dir = place();
    for (arguments, message) in [
        ("in out --thinking all", "--thinking is for --chat"),
        ("in out --raw --style exact", "--style is for --raw"),
        ("in out --chat --reference append", "--reference is for --raw"),
        ("none out --chat", "none: no such file or directory"),
    ] {
        let message = message.replace("--style is for --raw", "--style is for --chat");
        run(&dir, &format!("bash $KD {arguments}")).says(2, &format!("synth-kd.sh: {message}"));
    }
    dir.write("bad.jsonl", format!("{}{{\"text\": 1}}\n", chats(0, 3)));
    let bad = run(&dir, "bash $KD bad.jsonl out --chat");
    assert_eq!(bad.code(), Some(1), "{bad:?}");
    assert!(
        bad.stderr.contains("bad.jsonl:4: ") && bad.stderr.contains("no chat shape"),
        "{bad:?}"
    );
    let published = files_in(dir.path()).into_iter().filter(|file| file.ends_with(".bin")).count();
    assert_eq!(published, 0);
    let kept = run(
        &dir,
        "bash $KD bad.jsonl out --chat --on-error skip --rejects rejects.ndjson --overwrite",
    );
    kept.ok();
    assert!(dir.text("rejects.ndjson").contains("no chat shape"));
}
