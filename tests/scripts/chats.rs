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
    let options = "--chat --turns all --span commentary=3 --valid-fraction 0.2";
    let told = run(&dir, &format!("bash $KD in root {options}")).ok();
    assert!(told.stderr.contains("thinking of earlier turns: left out"), "{told:?}");
    let pipe = "export GRISTMILL_TO=arrow; chat-harmony -q --turns all all.jsonl | harmony-tok | \
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
        run(&dir, &format!("bash $KD {arguments}")).says(2, &format!("ds-plan: {message}"));
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

/// A clone of a set of the Hub, and what else is called as its splits are: each filter and script that makes
/// something for training refuses all of it together, and takes what it says is to be tried.
#[test]
fn splits_of_one_folder_are_refused_together() {
    let dir = place();
    run(
        &dir,
        "set -e; mkdir -p hub/data shards lines/train lines/test 'a b'
         for name in a b; do chat-harmony -q in/$name.jsonl --id-field id > $name.ndjson; done
         ds-cat a.ndjson -q -o hub/data/train-00000-of-00001.parquet
         ds-cat b.ndjson -q -o hub/data/test-00000-of-00001.parquet
         cp hub/data/train-00000-of-00001.parquet shards/train-00000-of-00002.parquet
         cp hub/data/test-00000-of-00001.parquet shards/train-00001-of-00002.parquet
         cp hub/data/test-00000-of-00001.parquet shards/validation-00000-of-00001.parquet
         cp in/a.jsonl 'a b/my_train.jsonl'; cp in/b.jsonl 'a b/dev.jsonl'
         cp in/a.jsonl lines/train; cp in/b.jsonl lines/test",
    )
    .silent();
    let ways = [
        ("hub", "train, test", "hub/data/train-*.parquet"),
        ("shards", "train, validation", "shards/train-*.parquet"),
        ("'a b'", "train, validation", "'a b/my_train.jsonl'"),
        ("lines", "train, test", "lines/train"),
    ];
    for (folder, splits, way) in ways {
        let name = folder.trim_matches('\'');
        let cause = format!(
            "{name}: has files of several splits ({splits}), but only one is for training; try: {way}"
        );
        // (The tables are of conversations.)
        let is_of_lines = !["hub", "shards"].contains(&folder);
        let commands = if is_of_lines {
            [
                ("chat-harmony", "> made"),
                ("bash $KD --chat --no-check -q", "root"),
                ("bash $KD plan --chat", "plan > made"),
            ]
        } else {
            [
                ("harmony-tok --policy chat --shard 0/1", "> made"),
                ("bash $KD --policy chat --no-check -q", "root"),
                ("harmony-tok --policy chat", "> made"),
            ]
        };
        for (command, out) in commands {
            let tool = if command.starts_with("bash") { "" } else { "harmony" };
            let refused = run(&dir, &format!("rm -rf root plan; {command} {folder} {out}"));
            // (A folder of Parquet files is one without what is below it.)
            if command == "harmony-tok --policy chat" && folder == "hub" {
                assert_eq!(refused.code(), Some(2), "{refused:?}");
                continue;
            }
            assert_eq!(refused.code(), Some(2), "{command} {folder}: {refused:?}");
            let told = &refused.stderr;
            assert!(told.contains(&cause) && told.contains(tool), "{command}: {told}");
            run(&dir, &format!("rm -rf root plan; {command} {way} {out}")).ok();
        }
    }
    // What is looked at may be all of it, and names that only sound like splits are none.
    run(&dir, "ds-stat shards > made && ds-cat --count hub/data").ok();
    run(&dir, "mkdir c; cp in/a.jsonl c/latest.jsonl; cp in/b.jsonl c/contest-1.jsonl; chat-harmony c > made").ok();
}

#[test]
fn what_is_not_trained_on_is_said_and_all_spans_are_counted() {
    let dir = place();
    let calls = chats(0, 65).lines().filter(|line| line.contains("tool_calls")).count();
    let told =
        run(&dir, "chat-harmony -q --turns all all.jsonl | harmony-tok | span-mask > masked").ok();
    let warning = format!(
        "{calls} messages of the assistant in commentary (tool calls, and text beside them) are \
         not trained on; try: --span commentary=3"
    );
    assert!(told.stderr.contains(&warning), "{told:?}");
    let build = "rm -rf root; bash $KD all.jsonl root --chat --turns all --valid-fraction 0";
    let told = run(&dir, build).ok();
    assert!(told.stderr.contains(&warning), "{told:?}");
    let told = run(&dir, &format!("{build} --span commentary=3")).ok();
    assert!(!told.stderr.contains("not trained on"), "{told:?}");
    let counted =
        dir.json("root/manifest.json")["splits"]["train"]["supervised_tokens"]["3"].clone();
    let said = format!("{}{}", told.text(), told.stderr);
    assert!(said.contains(&format!(" in final, {counted} in span 3\n")), "{told:?}");
    // Left out on purpose, and a name with a slip.
    let masks = "chat-harmony -q all.jsonl | harmony-tok | span-mask > masked --span";
    run(&dir, &format!("{masks} commentary=0")).silent();
    let told = run(&dir, &format!("{masks} comentary=3")).ok();
    let near = "--span comentary: no assistant message came in this channel; try: commentary";
    assert!(told.stderr.contains(near) && told.stderr.contains("commentary=4"), "{told:?}");
}

#[test]
fn a_pipe_is_an_input() {
    let dir = place();
    let options = "--chat --span commentary=3 --valid-fraction 0.2 -q";
    run(&dir, &format!("bash $KD all.jsonl file {options}")).silent();
    let piped =
        format!("mkdir tmp; cat all.jsonl | TMPDIR=$PWD/tmp bash $KD - piped {options}; ls tmp");
    run(&dir, &piped).silent();
    assert_same_datasets(&dir.path().join("piped"), &dir.path().join("file"));
    // Several inputs are one.
    run(&dir, &format!("bash $KD in/a.jsonl in/b.jsonl both {options}")).silent();
    assert_same_datasets(&dir.path().join("both"), &dir.path().join("file"));
    run(&dir, &format!("bash $KD plan in/*.jsonl many {options} > tasks")).silent();
    run(&dir, "bash tasks && bash $KD finish many tasks --delete-parts -q").ok();
    assert_same_datasets(&dir.path().join("many"), &dir.path().join("file"));
    run(&dir, "bash $KD plan - out --chat < all.jsonl")
        .says(2, "ds-plan: plan -: tasks read files");
    run(&dir, "bash $KD - out --chat < /dev/null")
        .says(75, "ds-plan: stdin is empty; its producer died?");
}

#[test]
fn a_plan_of_which_nothing_is_done_is_replaced() {
    let dir = place();
    dir.write("bad.jsonl", "[1, 2]\n");
    let bad = run(&dir, "bash $KD bad.jsonl root --chat -q");
    assert!(bad.stderr.contains("a shard failed; no shard is finished\n"), "{bad:?}");
    run(&dir, "bash $KD all.jsonl root --chat -q --valid-fraction 0").ok();
    // One with a task that is done stays.
    run(&dir, "bash $KD plan in other --chat --shards 2 > tasks; head -1 tasks | bash").ok();
    run(&dir, "bash $KD plan all.jsonl other --chat").fails(2, &["has a plan of another input"]);
    run(&dir, "rm -r other/tasks/*/done.json; bash $KD plan all.jsonl other --chat").ok();
}
