//! Names and data that would write on a terminal, run as shell, or be waited for without end.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::samples::masked_answer;
use crate::common::{
    FILTERS, Outcome, TempDir, assert_same_datasets, bash, copy_scripts, installed, tool,
    write_parquet, write_shards,
};

/// A name, or an id, that moves the cursor, forges a message, and turns the direction of text.
const HOSTILE: &str = "a\x1b[31m\nds-check: forged\r\u{9b}2J\u{202e}z";

/// What was printed for a person holds nothing that a terminal obeys, and no line of its own.
#[track_caller]
fn assert_plain(run: &Outcome, text: &str) {
    let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(obeyed), "{run:?}");
    assert!(!text.lines().any(|line| line.starts_with("ds-check: forged")), "{run:?}");
}

#[test]
fn a_path_stays_in_its_line() {
    let dir = TempDir::new();
    let missing = dir.at(&format!("{HOSTILE}/none"));
    for filter in FILTERS.iter() {
        let arguments: Vec<&str> = match filter.as_str() {
            "puzzle-encode" => vec!["sudoku", "--train", &missing, "--test", &missing],
            "npy-pack" => vec![&missing, "-o", "out"],
            "chat-tok" => vec!["--model", &missing, &missing],
            "seq-pack" => vec![&missing, "-o", "out.parquet"],
            "mmidx-write" => vec![&missing, "--prefix", "out"],
            "ds-diff" => vec![&missing, &missing],
            "ds-plan" => vec!["status", &missing],
            _ => vec![&missing],
        };
        let run = tool(filter).args(&arguments).in_directory(dir.path()).run();
        assert_eq!(run.code(), Some(2), "{run:?}");
        assert_plain(&run, &run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        // A wrong flag with such a value is repeated by the message of the arguments.
        let run = tool(filter).args(&[&format!("--{HOSTILE}")]).run();
        assert_eq!(run.code(), Some(2), "{run:?}");
        assert_plain(&run, &run.stderr);
    }
}

#[test]
fn a_path_given_to_a_script_stays_in_its_line() {
    let dir = TempDir::new();
    copy_scripts(&dir);
    let cd = format!("cd '{}'; H=$'{}'", dir.path().display(), HOSTILE.escape_default());
    let cd = cd
        .replace("\\u{1b}", "\\x1b")
        .replace("\\u{9b}", "\\u009b")
        .replace("\\u{202e}", "\\u202e");
    for command in [
        "synth-kd.sh \"$H\" out",
        "synth-kd.sh plan \"$H\" out",
        "synth-kd.sh \"$H\" out --raw",
        "synth-kd.sh status \"$H\"",
        "synth-kd.sh finish \"$H\"",
        "synth-kd.sh --\"$H\"",
        "synth-raw.sh \"$H\" out",
        "macroxue.sh \"$H\" out",
        "merge-packs.sh --output out \"$H\" \"$H\"",
        "puzzles.sh out --arc \"$H\"",
        "puzzles.sh --\"$H\"",
        "quickstart.sh \"--$H\"",
    ] {
        let run = bash(&format!("{cd}; bash scripts/{command}"));
        assert_ne!(run.code(), Some(0), "{run:?}");
        assert_plain(&run, &run.stderr);
        assert_plain(&run, &run.lossy());
    }
}

#[test]
fn an_id_stays_in_its_line() {
    let dir = TempDir::new();
    let json = serde_json::to_string(HOSTILE).unwrap();
    let good = masked_answer(HOSTILE, &[64]);
    dir.write("masked", &good);
    // The same with a mask that is wrong, and another sequence.
    dir.write("wrong", good.replacen("\"loss_mask\":[1", "\"loss_mask\":[0", 1));
    dir.write("other", masked_answer("b", &[64, 65]));
    dir.write("conversation", format!("{{\"id\":{json},\"messages\":[{{\"role\":{json}}}]}}\n"));
    let cd = format!("cd '{}'", dir.path().display());
    for (command, speaks) in [
        ("harmony-tok conversation", true),
        ("harmony-tok conversation --on-error skip", true),
        ("span-mask masked", true),
        ("span-mask masked --on-error skip", true),
        ("mmidx-write wrong --prefix p/a", true),
        ("mmidx-write wrong --prefix p/a --on-error skip", true),
        ("ds-check masked masked", false),
        ("ds-check wrong", true),
        ("ds-diff masked other", true),
        ("ds-diff masked wrong", true),
        ("ds-view masked", true),
        ("ds-stat masked", false),
        ("ds-stat masked --by id", false),
        ("npy-pack conversation -o o", true),
        ("ds-cat masked --id x", true),
        ("synth-harmony conversation --on-error skip", false),
    ] {
        let run = bash(&format!("{cd}; {command} </dev/null"));
        let printed = format!("{}{}", run.stderr, run.lossy());
        assert!(!speaks || !printed.is_empty(), "{run:?}");
        let report = command.starts_with("ds-") && !command.starts_with("ds-cat");
        assert_plain(&run, if report { &printed } else { &run.stderr });
    }
}

/// Lines of docs/cluster.md and docs/pipelines.md that run a list of tasks on one machine.
fn engine_lines() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["docs/pipelines.md", "docs/cluster.md"]
        .map(|page| fs::read_to_string(root.join(page)).unwrap());
    let lines = pages.iter().flat_map(|page| page.lines()).map(str::trim);
    let runs = |line: &&str| {
        let (is_parallel, is_xargs) = (line.starts_with("parallel"), line.starts_with("xargs"));
        (is_xargs || is_parallel) && !line.contains("ssh") && line.contains("tasks.txt")
    };
    let mut lines: Vec<String> =
        lines.filter(runs).map(|line| line.replace("$out/tasks.txt", "tasks.txt")).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    lines.push("bash tasks.txt".to_string());
    // scripts/slurm/task.sbatch runs a line so.
    lines.push("while IFS= read -r line; do bash -c \"$line\" </dev/null; done < tasks.txt".into());
    lines
}

#[test]
fn every_engine_takes_a_root_of_any_name() {
    let dir = TempDir::new();
    write_shards(&dir, &[20, 10]);
    copy_scripts(&dir);
    let cd = format!("cd '{}'; export KD=$PWD/scripts/synth-kd.sh", dir.path().display());
    bash(&format!("{cd}; bash $KD in plain -q --valid-fraction 0.2")).silent();
    for (number, line) in engine_lines().iter().enumerate() {
        if line.starts_with("parallel") && !installed("parallel") {
            continue;
        }
        let root = format!("root{number}/a b'$(touch X)`touch X`;\"&");
        fs::create_dir_all(dir.path().join(format!("root{number}"))).unwrap();
        dir.write("root", &root);
        let line = line.replace("parallel ", "parallel --will-cite ");
        let run = bash(&format!(
            "set -e; {cd}; R=$(cat root); bash $KD plan in \"$R\" --tasks 3 --valid-fraction 0.2 > tasks.txt; \
             {line}; bash $KD finish \"$R\" tasks.txt --delete-parts --jobs 1"
        ));
        assert_eq!(run.code(), Some(0), "{line}: {run:?}");
        let ran: Vec<String> = dir.files().into_iter().filter(|name| name.ends_with('X')).collect();
        assert_eq!(ran, [""; 0], "{line}");
        assert_same_datasets(&dir.path().join(&root), &dir.path().join("plain"));
    }
}

#[test]
fn a_root_with_a_line_feed_is_not_planned() {
    let dir = TempDir::new();
    write_shards(&dir, &[3]);
    copy_scripts(&dir);
    dir.write("raw/a.ndjson", "{\"synth_id\":\"a\"}\n");
    dir.write("games/a.meta.json", "{}");
    for command in [
        "synth-kd.sh plan in $'o\\nx'",
        "synth-raw.sh plan raw $'o\\nx'",
        "macroxue.sh plan games $'o\\nx'",
    ] {
        let run = bash(&format!("cd '{}'; bash scripts/{command}", dir.path().display()));
        assert_eq!(run.code(), Some(2), "{run:?}");
        let cause = "a path with a line feed in it cannot stand in a line of a task list";
        assert!(run.stderr.contains(cause) && run.stderr.lines().count() == 1, "{run:?}");
        assert!(!dir.path().join("o\nx").exists(), "{run:?}");
    }
}

#[test]
fn a_fifo_among_raw_rows_is_not_waited_for() {
    let dir = TempDir::new();
    copy_scripts(&dir);
    let row = "{\"synth_id\":\"a\",\"query\":\"q\",\"synthetic_reasoning\":\"r\",\"synthetic_answer\":\"s\"}\n";
    dir.write("raw/a.ndjson", row);
    dir.write("row", row);
    let cd = format!("cd '{}'; [ -e raw/z.ndjson ] || mkfifo raw/z.ndjson", dir.path().display());
    for command in [
        "synth-harmony raw",
        "bash scripts/synth-raw.sh raw out",
        "bash scripts/synth-raw.sh plan raw out",
        "bash scripts/synth-kd.sh raw out --raw",
        "bash scripts/synth-kd.sh plan raw out --raw",
        "bash scripts/synth-kd.sh raw/z.ndjson out",
        "ds-plan plan kd-root raw out --raw -- synth-harmony '|' harmony-tok '|' mmidx-write",
    ] {
        let run = bash(&format!("{cd}; timeout 20 {command}"));
        assert_eq!(run.code(), Some(2), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
    // What is a pipe of this process has a writer.
    let run = bash(&format!(
        "{cd}; synth-harmony <(cat row) | wc -l; synth-harmony - < <(cat row) | wc -l"
    ));
    assert_eq!(run.silent().text(), "1\n1\n");
    let run = bash(&format!("{cd}; cat row > raw/z.ndjson & synth-harmony < raw/z.ndjson | wc -l"));
    assert_eq!(run.silent().text(), "1\n");
}

/// A folder with rows of two kinds is read whole or not at all.
#[test]
fn rows_of_another_kind_are_not_left_out() {
    let dir = TempDir::new();
    copy_scripts(&dir);
    let row = "{\"synth_id\":\"a\",\"query\":\"q\",\"synthetic_reasoning\":\"r\",\"synthetic_answer\":\"s\"}\n";
    dir.write("raw/below/b.jsonl", row);
    write_parquet(&dir.path().join("raw/a.parquet"), row);
    dir.write("raw/README.md", "not rows");
    for command in [
        "synth-harmony raw",
        "bash scripts/synth-raw.sh raw out",
        "bash scripts/synth-kd.sh raw out --raw",
        "bash scripts/synth-kd.sh plan raw out --raw",
        "ds-plan plan kd-root raw out --raw -- synth-harmony '|' harmony-tok '|' mmidx-write",
    ] {
        let run = bash(&format!("cd '{}'; {command}", dir.path().display()));
        assert_eq!(run.code(), Some(2), "{run:?}");
        assert!(run.stderr.contains("has rows of two kinds") && run.stderr.contains("b.jsonl"));
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
    std::fs::remove_file(dir.path().join("raw/a.parquet")).unwrap();
    bash(&format!("cd '{}'; synth-harmony raw", dir.path().display())).ok();
}

/// What an option asked for and did not get is said.
#[test]
fn options_without_effect_are_said() {
    let dir = TempDir::new();
    dir.write("chats", crate::common::conversations(3));
    let run = |script: &str| bash(&format!("cd '{}'; {script}", dir.path().display()));
    run("ds-view chats --step 3").fails(2, &["--step: these are no games"]);
    run("mkdir in; ds-cat chats --to parquet -o in/a.parquet").ok();
    let planned =
        run("ds-plan plan kd-root in out --tasks 400 -- harmony-tok '|' span-mask '|' mmidx-write");
    assert!(planned.ok().stderr.contains("3 tasks, not 400"));
    run("harmony-tok chats | span-mask | mmidx-write --root root --shard s --valid-fraction 0.2")
        .ok();
    let made = run("ds-manifest root").ok();
    let line = "ds-manifest: valid has no rows: none of 3 ids is in its share of 0.2\n";
    assert_eq!(made.stderr, line);
    run("ds-manifest root -q").ok().silent();
    run("rm -r root; harmony-tok chats | span-mask | mmidx-write --root root --shard s").ok();
    run("ds-manifest root").silent();
}

/// A folder of chats or of tables is read whole, or what would be left out is named; a folder has its
/// endings in any case, and files that are no rows.
#[test]
fn folders_are_read_whole() {
    let dir = TempDir::new();
    let run = |command: &str| bash(&format!("cd '{}'; {command}", dir.path().display()));
    let chat = |id: &str| {
        format!("{{\"id\":\"{id}\",\"messages\":[{{\"role\":\"assistant\",\"content\":\"x\"}}]}}\n")
    };
    dir.write("d/a.jsonl", chat("a"));
    dir.write("d/C.JSONL", chat("c"));
    for other in ["README.md", "LICENSE", "x.txt", "dataset_info.json", "x.lock", ".hidden.json"] {
        dir.write(&format!("d/{other}"), "{}");
    }
    assert_eq!(run("chat-harmony -q d").silent().records().len(), 2);
    for other in ["b.json", "b.CSV", "b.pq", "b.json.gz", "b.parquet"] {
        dir.write(&format!("d/{other}"), chat("b"));
        // (A table comes before lines: then these would be left out.)
        let named = if other == "b.parquet" { "*.parquet, and d/" } else { other };
        run("chat-harmony -q d")
            .fails(2, &["d: has rows of two kinds: ", named, "try: name the FILEs"]);
        std::fs::remove_file(dir.at(&format!("d/{other}"))).unwrap();
    }
    let conversations = run("chat-harmony -q d").ok().text();
    dir.write("lines", &conversations);
    run("mkdir t; ds-cat -q lines -o t/p.parquet; cp t/p.parquet t/Q.PARQUET").ok();
    dir.write("t/README.md", "no rows");
    assert_eq!(run("ds-cat -q --count t").silent().text().trim(), "4");
    for other in ["q.ndjson", "q.jsonl.zst", "q.csv", "q.arrows"] {
        dir.write(&format!("t/{other}"), &conversations);
        for filter in ["harmony-tok --policy chat", "ds-cat", "ds-stat", "ds-check"] {
            let named = format!("t/{other}");
            run(&format!("{filter} t"))
                .fails(2, &["has rows of two kinds: *.parquet, and ", &named]);
        }
        std::fs::remove_file(dir.at(&format!("t/{other}"))).unwrap();
    }
}

/// What `save_to_disk` lists is below its folder, each file once.
#[test]
fn a_list_of_files_leads_nowhere_else() {
    let dir = TempDir::new();
    let row = "{\"id\":\"a\",\"messages\":[{\"role\":\"assistant\",\"content\":\"x\"}]}\n";
    for name in ["s/data-0.arrow", "s/data-1.arrow", "outside.arrow"] {
        dir.write(name, row);
    }
    let run = |files: Value| {
        dir.write("s/state.json", json!({"_data_files": files}).to_string());
        bash(&format!("cd '{}'; echo x | timeout 20 chat-harmony -q s", dir.path().display()))
    };
    let named = |names: &[&str]| {
        names.iter().map(|name| json!({"filename": name})).collect::<Vec<Value>>().into()
    };
    let good = run(named(&["data-0.arrow", "data-1.arrow"])).silent();
    assert_eq!(good.records().len(), 2);
    let outside = dir.at("outside.arrow");
    for (files, got) in [
        (named(&["data-0.arrow", "../outside.arrow"]), "got \"../outside.arrow\""),
        (named(&[&outside]), "got \"/"),
        (named(&[""]), "got \"\""),
        (named(&["data-0.arrow", "data-0.arrow"]), "got \"data-0.arrow\" twice"),
        (json!([]), "got none"),
        (json!([{"file": "data-0.arrow"}]), "got null"),
    ] {
        let told =
            "chat-harmony: s/state.json: _data_files: expected names of files below the folder, ";
        run(files).fails(1, &[told, got, "try: name the FILEs"]);
    }
}

/// As stdin is.
#[test]
fn a_fifo_is_read_as_a_file_is() {
    let dir = TempDir::new();
    let record = "{\"id\":\"a\",\"tokens\":[7],\"segments\":null}\n";
    dir.write("good", record);
    let run = |command: &str| bash(&format!("cd '{}'; {command}", dir.path().display()));
    run("mkfifo fifo").silent();
    let chat = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}"#;
    dir.write("chat", format!("{chat}\n"));
    run("cat chat > fifo & timeout 60 chat-harmony fifo").ok();
    // What is read twice is a file.
    run("cat chat > fifo & timeout 60 chat-harmony --hash-inputs fifo")
        .fails(1, &["chat-harmony: fifo: is no regular file"]);
    let two = "mkfifo a b; cat good > a & cat good > b & timeout 60";
    assert_eq!(run(&format!("{two} ds-cat a b")).silent().records().len(), 2);
    for filter in ["ds-stat", "ds-view --color never"] {
        run(&format!("cat good > fifo & timeout 60 {filter} fifo")).ok();
    }
    run("cat good > fifo & timeout 60 ds-diff fifo good").ok();
    // The writer died.
    run("printf '{' > fifo & timeout 60 ds-cat fifo")
        .fails(75, &["ds-cat: fifo:1: the last record is cut", "died?"]);
    for command in [
        "cat good > fifo & timeout 60 ds-cat fifo",
        "cat good > fifo & ds-cat < fifo",
        "ds-cat <(cat good)",
        "cat good | ds-cat /dev/stdin",
        "cat good | ds-cat /proc/self/fd/0",
        "ds-cat - < <(cat good)",
    ] {
        let read = run(command).ok().records();
        assert_eq!((read.len(), &read[0]["tokens"]), (1, &json!([7])), "{command}");
    }
}
