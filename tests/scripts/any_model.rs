//! scripts/synth-kd.sh --chat --model: chats to a checked root of any model, the same however the work is cut; parts
//! of another model or of other settings are never joined.

use std::fs;

use serde_json::{Value, json};

use super::chats::run;
use crate::common::models::{CHATML, PLAIN, real_model, write_model, write_model_with};
use crate::common::{
    Random, TempDir, assert_same_datasets, assert_same_roots, copy_scripts, files_in, oracle,
    python, wrap,
};

const OPTIONS: &str = "--chat --model m --valid-fraction 0.2";

/// Chats that every template here shows: of some turns, some of which are not trained on.
fn lines(count: usize) -> String {
    let mut random = Random(47);
    let mut lines = String::new();
    for number in 0..count {
        let mut messages = Vec::new();
        if number % 3 == 0 {
            messages.push(json!({"role": "system", "content": format!("Be {number}.")}));
        }
        for turn in 0..2 + random.below(2) {
            let (ask, say) =
                (format!("What is {number}?"), format!("hello {number}, {turn}\nGrüße"));
            messages.push(json!({"role": "user", "content": ask}));
            let mut answer =
                json!({"role": "assistant", "content": say.repeat(1 + random.below(4))});
            if turn == 0 && random.below(4) == 0 {
                answer["weight"] = 0.into();
            }
            messages.push(answer);
        }
        lines += &format!("{}\n", json!({"id": format!("chat-{number}"), "messages": messages}));
    }
    lines
}

/// A place with chats in two files of Parquet (row groups of seven) and the same as lines, and a model, `m`; `None`
/// without Python.
fn place() -> Option<TempDir> {
    let python = python()?;
    let dir = TempDir::new();
    copy_scripts(&dir);
    write_model(&dir, "m", CHATML);
    let all = lines(65);
    let at = all.match_indices('\n').nth(39).unwrap().0 + 1;
    fs::create_dir_all(dir.at("in")).unwrap();
    for (name, lines) in [("a", &all[..at]), ("b", &all[at..])] {
        let lines = dir.write(&format!("{name}.jsonl"), lines);
        let table = dir.at(&format!("in/{name}.parquet"));
        oracle(&python, "chat_rows.py", &["parquet", &lines, &table, "7"]).ok();
    }
    dir.write("all.jsonl", all);
    Some(dir)
}

/// The real model that tests have, as `m`, if it is laid out.
fn take_real_model(dir: &TempDir) -> bool {
    let Some(model) = real_model("qwen3") else { return false };
    fs::remove_dir_all(dir.at("m")).unwrap();
    std::os::unix::fs::symlink(model, dir.at("m")).unwrap();
    true
}

fn a_root_is_the_same_however_it_is_cut(dir: &TempDir) {
    let root = |name: &str| dir.path().join(name);
    run(dir, &format!("bash $KD in one {OPTIONS} --jobs 1")).silent();
    run(dir, &format!("bash $KD in two {OPTIONS} --jobs 2")).silent();
    assert_same_roots(&root("two"), &root("one"));
    let pipe =
        "set -o pipefail; export GRISTMILL_TO=arrow; chat-tok -q --model m in --hash-inputs |
                span-mask |
                mmidx-write --root piped --shard shard_00 --valid-fraction 0.2 --model m -q";
    run(dir, pipe).silent();
    assert_same_datasets(&root("one"), &root("piped"));
    let beside = |name: &String| name.starts_with("ids/") || name.starts_with("tokenizer/");
    for name in files_in(&root("piped")).into_iter().filter(beside) {
        assert!(dir.read(&format!("one/{name}")) == dir.read(&format!("piped/{name}")), "{name}");
    }
    let [made, piped] =
        ["one", "piped"].map(|root| dir.json(&format!("{root}/parts/shard_00.json")));
    for name in ["config", "config_hash", "dtype", "records", "source", "splits"] {
        assert_eq!(made[name], piped[name], "{name}");
    }
    // A plan, whose tasks run in another order, one of them twice.
    let planned = run(dir, &format!("bash $KD plan in many {OPTIONS} --tasks 3 > tasks")).silent();
    assert!(planned.text().is_empty());
    assert_eq!(dir.text("tasks").lines().count(), 3);
    run(dir, "bash $KD status many tasks").fails(1, &[]);
    run(dir, "sed -n '3p;1p;3p;2p' tasks | bash").silent();
    run(dir, "bash $KD status many tasks --todo && bash $KD finish many tasks -q").silent();
    assert_same_roots(&root("many"), &root("one"));
    run(dir, "bash $KD finish many tasks --delete-parts -q").silent();
    assert_eq!(files_in(&root("many")), files_in(&root("one")));
    assert_same_roots(&root("many"), &root("one"));
    // A build of which one task is killed.
    let line =
        format!("PATH=$PWD/bin:$PATH bash $KD in killed {OPTIONS} --rows-per-task 20 --jobs 1");
    wrap(dir, "chat-tok", "case \"$*\" in *'--slice 40..60'*) kill -KILL $$ ;; esac");
    let killed = run(dir, &line);
    killed.exits(75, &["2 finished shards are kept for --resume"]);
    assert!(!root("killed/manifest.json").exists());
    wrap(dir, "chat-tok", "echo \"$*\" >> calls");
    run(dir, &format!("{line} --resume")).silent();
    let calls = dir.text("calls");
    let slices = calls.lines().filter(|call| call.contains("--slice")).count();
    assert_eq!(slices, 2, "{calls}");
    assert_same_roots(&root("killed"), &root("one"));
    fs::remove_dir_all(dir.at("bin")).unwrap();
    run(dir, "ds-check killed -q").ok();
}

#[test]
fn a_root_of_a_small_model_is_the_same_however_it_is_cut() {
    let Some(dir) = place() else { return };
    a_root_is_the_same_however_it_is_cut(&dir);
}

#[test]
fn a_root_of_a_real_model_is_the_same_however_it_is_cut() {
    let Some(dir) = place() else { return };
    if take_real_model(&dir) {
        a_root_is_the_same_however_it_is_cut(&dir);
    }
}

/// Every option and limit of one machine, over tables and over lines, of which each file is read by one task.
#[test]
fn limits_and_options_are_those_of_one_machine() {
    let Some(dir) = place() else { return };
    dir.write("lines/a.jsonl", dir.read("a.jsonl"));
    let ask = json!({"role": "user", "content": "<|im_end|>"});
    let say = json!({"role": "assistant", "content": "x"});
    let bad = json!({"id": "bad", "messages": [ask, say]});
    dir.write("lines/b.jsonl", format!("{bad}\n{}", dir.text("b.jsonl")));
    let other = ("{{ '<|im_end|>\n' }}{% endfor %}", "{{ '</s>' + name }}{% endfor %}");
    assert!(CHATML.contains(other.0));
    dir.write("other.jinja", CHATML.replace(other.0, other.1));
    // The options of the script, those of its plan, and of one shard those of chat-tok.
    for (input, options, size, of_pipe) in [
        ("in", "--max-rows 30", "--tasks 4", Some("--limit 30")),
        ("in", "--max-rows-per-shard 9 --shards 2", "--rows-per-task 4", None),
        ("in", "--max-tokens 900 --shards 2", "", None),
        ("in", "--turns split --shards 2", "--rows-per-task 11", None),
        (
            "in",
            "--turns split --max-tokens 900",
            "--tasks 3",
            Some("--turns split --max-tokens 900"),
        ),
        (
            "in",
            "--turns last --template other.jinja --stop '</s>' --set name=x",
            "--tasks 3",
            Some("--turns last --template other.jinja --stop '</s>' --set name=x"),
        ),
        ("lines", "--on-error skip --special refuse --shards 2", "", None),
        (
            "lines",
            "--on-error skip --special refuse --turns split",
            "",
            Some("--on-error skip --special refuse --turns split"),
        ),
        (
            "lines",
            "--special text --max-length 150 --too-long mask",
            "",
            Some("--max-length 150 --too-long mask"),
        ),
        (
            "in",
            "--max-length 120 --too-long drop-turns",
            "--tasks 3",
            Some("--max-length 120 --too-long drop-turns"),
        ),
        (
            "lines",
            "--allow-special --set 'name=[1, {}]' --date 2026-01-01 --arguments text --reasoning keep",
            "",
            Some("--allow-special"),
        ),
    ] {
        let options = format!("{OPTIONS} {options} -q");
        let [of_one, of_many] = ["one", "many"].map(|root| match options.contains("skip") {
            true => format!("--rejects rejects-{root}"),
            false => String::new(),
        });
        run(&dir, &format!("rm -rf one many piped; bash $KD {input} one {options} {of_one}"))
            .silent();
        run(&dir, &format!("bash $KD plan {input} many {options} {size} > tasks")).ok();
        run(&dir, "bash tasks").silent();
        run(&dir, &format!("bash $KD finish many tasks -q {of_many}")).silent();
        assert_same_roots(&dir.path().join("many"), &dir.path().join("one"));
        if let Some(of_pipe) = of_pipe {
            let pipe = format!(
                "export GRISTMILL_TO=arrow; chat-tok --model m {input} {of_pipe} -q | span-mask |
                 mmidx-write --root piped --shard shard_00 --valid-fraction 0.2 -q"
            );
            run(&dir, &pipe).ok();
            assert_same_datasets(&dir.path().join("one"), &dir.path().join("piped"));
        }
        if !of_many.is_empty() {
            let kept = dir.text("rejects-many");
            assert_eq!(kept, dir.text("rejects-one"));
            assert_eq!(kept.lines().count(), 1, "{kept}");
            assert!(kept.contains("spells the control token"), "{kept}");
        }
    }
    // What a limit of tokens leaves is the first of all.
    run(&dir, &format!("rm -rf one; bash $KD in one {OPTIONS} --max-tokens 900 -q")).silent();
    let part = dir.json("one/parts/shard_00.json");
    let sum = |name: &str| -> u64 {
        let splits = part["splits"].as_object().unwrap().values();
        splits.map(|split| split[name].as_u64().unwrap()).sum()
    };
    let tokens = run(&dir, "chat-tok --model m in").ok().records();
    let length = |record: &Value| record["tokens"].as_array().unwrap().len() as u64;
    let (mut wanted, mut all) = (0, 0);
    for record in &tokens {
        (wanted, all) = (wanted + 1, all + length(record));
        if all >= 900 {
            break;
        }
    }
    assert_eq!((sum("rows"), sum("tokens")), (wanted, all));
    assert_eq!(part["source"]["limits"], json!({"rows": null, "tokens": 900, "slice": null}));
}

/// Of gpt-oss, too, a chat in a table may become several sequences.
#[test]
fn chats_in_tables_become_several_sequences() {
    let Some(dir) = place() else { return };
    let options = "--chat --thinking split --valid-fraction 0.2 -q";
    run(&dir, &format!("bash $KD in one {options}")).silent();
    run(&dir, &format!("bash $KD plan in many {options} --tasks 3 > tasks; bash tasks")).silent();
    run(&dir, "bash $KD finish many tasks -q").silent();
    assert_same_roots(&dir.path().join("many"), &dir.path().join("one"));
}

/// A limit of tokens within the turns of a chat, beside chats that are refused.
#[test]
fn a_limit_of_tokens_ends_where_it_is_reached() {
    let dir = TempDir::new();
    // (Each turn is a sequence: only the last one has the mark.)
    write_model(
        &dir,
        "m",
        &PLAIN.replace("{{ eos_token }}", "{{ '!' if loop.last }}{{ eos_token }}"),
    );
    let turns = |id: &str, text: &str| {
        let (ask, say) = (
            json!({"role": "user", "content": text}),
            json!({"role": "assistant", "content": "b"}),
        );
        json!({"id": id, "messages": [ask, say, ask, say]}).to_string()
    };
    let chats = [
        turns("a", "x"),
        turns("bad", "</s>"),
        turns("c", "x"),
        turns("bad2", "</s>"),
        turns("e", "x"),
    ];
    dir.write("c.jsonl", chats.join("\n") + "\n");
    let ids = |limit: u64| {
        let flags = format!(
            "--turns split --special refuse --on-error skip --rejects r --max-tokens {limit}"
        );
        let made = run(&dir, &format!("rm -f r; chat-tok --model m c.jsonl {flags}")).ok();
        let ids = made
            .records()
            .iter()
            .map(|record| record["id"].as_str().unwrap().to_string())
            .collect::<Vec<_>>();
        (ids.join(" "), dir.text("r").lines().count())
    };
    let all = "chat-tok --model m c.jsonl --turns split --special refuse --on-error skip -q";
    let lengths = run(&dir, all).ok().records();
    let length = |at: usize| lengths[at]["tokens"].as_array().unwrap().len() as u64;
    let (first, both) = (length(0), length(0) + length(1));
    assert_eq!(ids(1), ("a#1".to_string(), 0));
    assert_eq!(ids(first + 1), ("a#1 a#2".to_string(), 0));
    assert_eq!(ids(both + 1), ("a#1 a#2 c#1".to_string(), 1));
    assert_eq!(ids(2 * both), ("a#1 a#2 c#1 c#2".to_string(), 1));
    assert_eq!(ids(2 * both + 1), ("a#1 a#2 c#1 c#2 e#1".to_string(), 2));
    assert_eq!(ids(9 * both), ("a#1 a#2 c#1 c#2 e#1 e#2".to_string(), 2));
}

#[test]
fn rows_are_what_the_model_would_have_generated() {
    let Some(dir) = place() else { return };
    let python = python().unwrap();
    for is_real in [false, true] {
        if is_real && !take_real_model(&dir) {
            continue;
        }
        // (The oracle makes one row of a chat.)
        let options = format!("{OPTIONS} --turns all");
        let rows = "--rows trl --seq-length 4096";
        run(&dir, &format!("rm -rf one many; bash $KD in one {options} {rows} --shards 2")).ok();
        run(
            &dir,
            &format!("bash $KD plan in many {options} --tasks 3 --shards 2 > tasks; bash tasks"),
        )
        .ok();
        run(&dir, &format!("bash $KD finish many tasks {rows} --delete-parts -q")).ok();
        for root in ["one", "many"] {
            let [train, valid] =
                ["train", "valid"].map(|split| dir.at(&format!("{root}/rows/{split}.trl.parquet")));
            let found = oracle(
                &python,
                "chat_rows.py",
                &["rows", &dir.at("m"), &dir.at("all.jsonl"), &train, &valid],
            );
            assert_eq!(found.ok().text(), "65\n");
        }
        run(
            &dir,
            &format!(
                "bash $KD in three {OPTIONS} --rows rows --rows megatron-bridge --seq-length 4096"
            ),
        )
        .silent();
        run(&dir, "ds-check three/rows/*.parquet -q; rm -r three").ok();
    }
}

/// The state of the first task.
fn state(dir: &TempDir) -> String {
    run(dir, "bash $KD status many tasks")
        .text()
        .lines()
        .next()
        .unwrap()
        .split_once(' ')
        .unwrap()
        .1
        .to_string()
}

#[test]
fn parts_of_another_model_or_settings_are_stale() {
    let Some(dir) = place() else { return };
    let plan = format!("bash $KD plan in many {OPTIONS} --tasks 3");
    let planned = |more: &str| run(&dir, &format!("{plan} {more} > new && mv new tasks"));
    planned("--set name=x").silent();
    run(&dir, "bash tasks; cp tasks first").silent();
    write_model_with(&dir, "m2", CHATML, &[(" ", "i")]);
    for (other, shown) in [
        ("--set name=y", "--set name=x"),
        ("--set name=x --turns last", "--set name=x"),
        ("--set name=x --date 2026-01-01", "--set name=x"),
        ("--set name=x --stop '</s>'", "--set name=x"),
    ] {
        planned(other).fails(2, &["many: has a plan with other options: ", shown, "--overwrite"]);
        assert_eq!(state(&dir), "done");
        planned(&format!("{other} --overwrite")).silent();
        assert_eq!(state(&dir), "stale: made with other options (another plan)");
        run(&dir, "bash $KD finish many tasks").fails(1, &["not done: 3 of 3 tasks", "stale"]);
        run(&dir, "head -1 first | bash").fails(2, &["is a task of plan ", "plan again"]);
        assert_eq!(planned("--set name=x --overwrite").ok().code(), Some(0));
        assert_eq!(state(&dir), "done", "the same plan again");
    }
    let other = plan.replace("--model m", "--model m2");
    run(&dir, &format!("{other} --set name=x > other"))
        .fails(2, &["has a plan with other options", "--model m"]);

    // The model of the same name is another one.
    let keep = |file: &str| {
        fs::copy(dir.at(&format!("m/{file}")), dir.at(&format!("kept-{file}"))).unwrap()
    };
    let give_back = |file: &str| {
        fs::copy(dir.at(&format!("kept-{file}")), dir.at(&format!("m/{file}"))).unwrap()
    };
    keep("tokenizer.json");
    keep("tokenizer_config.json");
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        let changed = dir.text(&format!("m/{file}")) + " ";
        dir.write(&format!("m/{file}"), changed);
        let cause = format!(
            "ds-plan: {}: is not what it was when the plan was made; try: plan again with --overwrite\n",
            dir.at(&format!("m/{file}"))
        );
        for task in ["head -1 tasks | bash", "sed -n 3p tasks | bash"] {
            let refused = run(&dir, task);
            assert!(refused.code() == Some(1) && refused.stderr == cause, "{refused:?}");
        }
        assert_eq!(state(&dir), "stale: its model has changed since the plan");
        run(&dir, "bash $KD finish many tasks")
            .fails(1, &["not done: 3 of 3 tasks", "its model has changed"]);
        planned("--set name=x")
            .fails(2, &["many: has a plan of another model under the same name", "--overwrite"]);
        give_back(file);
        assert_eq!(state(&dir), "done");
    }
    // A file that comes, and one that goes.
    dir.write("m/generation_config.json", "{}");
    assert_eq!(state(&dir), "stale: its model has changed since the plan");
    fs::remove_file(dir.at("m/generation_config.json")).unwrap();
    fs::rename(dir.at("m"), dir.at("away")).unwrap();
    let cause = format!("ds-plan: {}: No such file or directory", dir.at("m/tokenizer.json"));
    run(&dir, "head -1 tasks | bash").says(2, &cause);
    run(&dir, "bash $KD status many tasks").says(2, &cause);
    fs::rename(dir.at("away"), dir.at("m")).unwrap();
    run(&dir, "bash $KD finish many tasks -q --delete-parts").silent();
    // It changes while a task reads it.
    planned("--set name=z --overwrite").silent();
    wrap(&dir, "chat-tok", "echo ' ' >> m/tokenizer_config.json");
    let task = dir
        .text("tasks")
        .lines()
        .next()
        .unwrap()
        .replace(&crate::common::bin_dir().display().to_string(), "bin");
    let cause = "is not what it was when the plan was made; try: plan again with --overwrite";
    run(&dir, &task).says(1, &format!("ds-plan: {}: {cause}", dir.at("m/tokenizer_config.json")));
    give_back("tokenizer_config.json");
    assert_eq!(state(&dir), "missing");
    // Parts and roots of another model are replaced by those of the plan, and so are those of gpt-oss.
    planned("--set name=z --overwrite").silent();
    run(&dir, "bash tasks").silent();
    for options in
        [OPTIONS.replace("--model m", "--model m2"), "--chat --valid-fraction 0.2".to_string()]
    {
        run(&dir, &format!("bash $KD plan in many {options} --tasks 3 --overwrite > tasks"))
            .silent();
        assert_eq!(state(&dir), "stale: made with other options (another plan)");
        run(&dir, "bash tasks && bash $KD finish many tasks -q").silent();
        run(&dir, &format!("rm -rf one; bash $KD in one {options} -q")).silent();
        assert_same_roots(&dir.path().join("many"), &dir.path().join("one"));
    }
}

/// On one machine, too: --resume keeps what was made with this model and these settings alone.
#[test]
fn what_another_model_has_made_is_not_kept() {
    let Some(dir) = place() else { return };
    let build = format!("bash $KD in one {OPTIONS} --shards 2");
    let kept = |more: &str| {
        let script = format!("cd {}; KD=scripts/synth-kd.sh; {build} {more}", dir.path().display());
        crate::common::bash(&script)
            .ok()
            .stderr
            .lines()
            .filter(|line| line.ends_with(": kept"))
            .count()
    };
    kept("");
    assert_eq!(kept("--resume"), 2);
    assert_eq!(kept("--resume --set name=x"), 0);
    assert_eq!(kept("--resume --set name=x"), 2);
    let template = CHATML.replace("<think>", "<thoughts>");
    write_model(&dir, "m", &template);
    assert_eq!(kept("--resume --set name=x"), 0, "another template");
    assert_eq!(kept("--resume --set name=x"), 2);
    write_model_with(&dir, "m", &template, &[(" ", "i")]);
    assert_eq!(kept("--resume --set name=x"), 0, "another tokenizer");
    run(&dir, &format!("rm -rf two; {} --set name=x", build.replace(" one ", " two "))).ok();
    assert_same_roots(&dir.path().join("one"), &dir.path().join("two"));
    write_model(&dir, "m", CHATML);
    assert_eq!(kept("--overwrite"), 0, "another tokenizer");
    run(&dir, &format!("rm -rf two; {}", build.replace(" one ", " two "))).ok();
    assert_same_roots(&dir.path().join("one"), &dir.path().join("two"));
}

#[test]
fn what_is_wrong_is_said_in_one_line_before_any_work() {
    let dir = TempDir::new();
    copy_scripts(&dir);
    dir.write("in/a.jsonl", lines(3));
    write_model(&dir, "m", CHATML);
    write_model(&dir, "dated", "{{ strftime_now('%Y') }}");
    write_model(&dir, "broken", "{% if %}");
    write_model(&dir, "bare", "x");
    dir.write("bare/tokenizer_config.json", "{}");
    fs::create_dir_all(dir.at("empty")).unwrap();
    for (arguments, code, message) in [
        ("--model m", 2, "--model is for --chat"),
        ("--raw --model m", 2, "--model is for --chat"),
        ("--chat --model", 2, "a value is required for '--model <DIR>'"),
        ("--turns fit", 2, "--turns is for --chat"),
        ("--chat --template x", 2, "--template is for --model"),
        ("--chat --allow-special", 2, "--allow-special is for --model"),
        ("--chat --special text", 2, "--special is for --model"),
        ("--chat --max-length 9", 2, "--max-length is for --model"),
        (
            "--chat --model m --too-long drop",
            2,
            "the following required arguments were not provided: --max-length <N>",
        ),
        ("--chat --reasoning keep", 2, "--reasoning is for --model"),
        ("--chat --arguments text", 2, "--arguments is for --model"),
        ("--chat --trust-generation no", 2, "--trust-generation is for --model"),
        ("--chat --stop x", 2, "--stop is for --model"),
        ("--stop x", 2, "--stop is for --model"),
        ("--chat --model m --style exact", 2, "--style is not for --model"),
        ("--chat --model m --thinking split", 2, "--thinking is not for --model"),
        ("--chat --model m --policy chat", 2, "--policy is not for --model"),
        ("--chat --model none", 2, "none/tokenizer.json: No such file or directory"),
        ("--chat --model empty", 2, "empty/tokenizer.json: No such file or directory"),
        (
            "--chat --model bare",
            2,
            "bare: no chat template: no chat_template.jinja, and no chat_template in tokenizer_config.json; try: --template FILE",
        ),
        ("--chat --model m --template none.jinja", 2, "none.jinja: No such file or directory"),
        ("--chat --model broken", 1, "broken/tokenizer_config.json: "),
        ("--chat --model m --stop no", 2, "--stop no: no token of the model"),
        ("--chat --model m --date today", 2, "--date today: expected YYYY-MM-DD"),
        (
            "--chat --model m --set a",
            2,
            "invalid value 'a' for '--set <NAME=VALUE>': expected NAME=VALUE, as in enable_thinking=false; see chat-tok --help",
        ),
        ("--chat --model m --turns no", 2, "invalid value 'no' for '--turns <WHICH>'"),
    ] {
        for mode in ["", "plan "] {
            let refused = run(&dir, &format!("bash $KD {mode}in out {arguments}"));
            let started = format!("ds-plan: {message}");
            assert!(
                refused.code() == Some(code) && refused.stderr.starts_with(&started),
                "{refused:?}"
            );
            let is_of_clap = message.starts_with("a value is required");
            assert!(is_of_clap || refused.stderr.lines().count() == 1, "{refused:?}");
            assert!(!dir.path().join("out").exists(), "{arguments}");
        }
    }
    // What a chat alone shows is said of it, once.
    let dated = run(&dir, "bash $KD in out --chat --model dated -q");
    dated.exits(1, &["try: --date YYYY-MM-DD"]);
}
