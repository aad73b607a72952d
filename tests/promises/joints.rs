//! What holds between two filters: a stream that was not finished is never taken for a whole one,
//! the cause of a failure reaches the end of the pipe, and no bytes are not an empty stream.

use std::path::Path;

use crate::common::samples::masked_answer;
use crate::common::{TempDir, bash, bash_with, conversations, python_code, tool};

const ENCODINGS: [&str; 2] = ["ndjson", "arrow"];

/// Conversations, tokens and masked tokens in both encodings, and a bad conversation at the end.
fn prepared(dir: &TempDir, count: usize) -> String {
    dir.write("good", conversations(count));
    dir.write("bad", conversations(count) + "{\"id\":\"a\"}\n");
    dir.write("empty", "");
    let cd = format!("cd {}", dir.path().display());
    bash(&format!(
        "set -e; {cd}; for to in ndjson arrow; do export GRISTMILL_TO=$to; \
         harmony-tok good > tokens.$to; span-mask tokens.$to > masked.$to; done"
    ))
    .silent();
    cd
}

/// What a shell sees of a pipe: the code of each stage.
fn codes(script: &str, to: &str) -> (String, String) {
    let run = bash_with(&format!("{script}; echo \"${{PIPESTATUS[@]}}\""), &[("GRISTMILL_TO", to)]);
    (run.text().lines().last().unwrap_or_default().to_string(), run.stderr)
}

#[test]
fn a_failure_reaches_the_end_of_the_pipe() {
    let dir = TempDir::new();
    let cd = prepared(&dir, 250);
    for (first, code, cause) in [
        (
            "harmony-tok bad",
            1,
            "harmony-tok: bad:251: (a) messages is missing or null; try: chat-harmony before it, for chats of other shapes",
        ),
        ("harmony-tok nowhere", 2, "harmony-tok: nowhere: No such file or directory"),
        ("harmony-tok empty", 1, "harmony-tok: empty: there are no bytes"),
        ("harmony-tok --limit x good", 2, "harmony-tok: invalid value 'x'"),
        ("harmony-tok . ", 2, "harmony-tok: .: is a directory"),
        (
            "ds-cat bad | harmony-tok",
            1,
            "harmony-tok: stdin: record 251 (a): messages is missing or null; try: chat-harmony before it, for chats of other shapes",
        ),
    ] {
        for sink in ["mmidx-write --prefix out/p", "mmidx-write --root out --shard s"] {
            let script = format!("{cd}; {first} | span-mask | {sink}");
            let (came, stderr) = codes(&script, "arrow");
            assert!(came.ends_with(&format!("{code} {code} {code}")), "{script}: {came}\n{stderr}");
            // One failure, one cause, from the filter that failed.
            assert!(stderr.starts_with(cause), "{script}: {stderr}");
            let others = ["span-mask:", "mmidx-write:"];
            assert!(!others.iter().any(|name| stderr.contains(name)), "{script}: {stderr}");
            // In NDJSON the cut is seen, the cause is not.
            let (came, _) = codes(&script, "ndjson");
            assert!(came.ends_with(&format!("{code} 75 75")), "{script}: {came}");
            assert!(!dir.path().join("out").exists(), "{script}: {:?}", dir.files());
        }
    }
    // Whoever wants to hear it from the others too can.
    let script = format!("{cd}; harmony-tok bad | span-mask -v | mmidx-write --prefix out/p -v");
    let (_, stderr) = codes(&script, "arrow");
    let passed_on = "stdin: harmony-tok failed: bad:251: (a) messages is missing or null; try: chat-harmony before it, for chats of other shapes";
    for line in [format!("span-mask: {passed_on}"), format!("mmidx-write: {passed_on}")] {
        assert!(stderr.lines().any(|came| came == line), "{stderr}");
    }
}

/// The other pipelines, and what is no sink.
#[test]
fn every_filter_passes_a_failure_on() {
    let dir = TempDir::new();
    let cd = prepared(&dir, 250);
    dir.write("raw/a.meta.json", "{");
    dir.write("raw/a.jsonl.gz", "");
    for (script, code) in [
        ("mx-decode raw | npy-pack -o out", 1),
        ("mx-decode nowhere | npy-pack -o out", 2),
        ("mx-decode raw | ds-cat | npy-pack -o out", 1),
        ("puzzle-encode sudoku --train nowhere --test nowhere | npy-pack -o out", 2),
        ("puzzle-encode sudoku --trian x | npy-pack -o out", 2),
        ("harmony-tok bad | harmony-tok --decode > /dev/null", 1),
        ("harmony-tok bad | ds-cat --count", 1),
        ("harmony-tok bad | ds-cat -o out", 1),
        ("harmony-tok bad | ds-check - -q", 1),
        ("harmony-tok bad | span-mask | seq-pack -o out/r.parquet", 1),
    ] {
        let script = format!("{cd}; set -o pipefail; {script}");
        let run = bash_with(&script, &[("GRISTMILL_TO", "arrow")]);
        assert_eq!(run.code(), Some(code), "{run:?}");
        let causes = run.stderr.lines().filter(|line| line.contains(": ")).count();
        assert!(causes == 1 || run.stderr.contains("Usage:"), "{run:?}");
        assert!(!dir.path().join("out").exists(), "{script}");
    }
}

/// A file keeps the failure of its writer: it is bad, whenever it is read.
#[test]
fn a_file_that_its_writer_did_not_finish_says_so() {
    let dir = TempDir::new();
    let cd = prepared(&dir, 250);
    bash_with(&format!("{cd}; harmony-tok bad > cut"), &[("GRISTMILL_TO", "arrow")])
        .fails(1, &["bad:251"]);
    let cut = dir.at("cut");
    let cause = "not finished, harmony-tok failed: bad:251: (a) messages is missing or null; try: chat-harmony before it, for chats of other shapes";
    tool("span-mask").args(&[&cut]).run().says(1, &format!("span-mask: {cut}: {cause}"));
    tool("ds-check").args(&[&cut]).run().fails(1, &[]);
    let python = "import sys, pyarrow.ipc as ipc\n\
                  try: ipc.open_stream(sys.argv[1]).read_all()\n\
                  except OSError: print('refused')\n";
    if let Some(interpreter) = crate::common::python() {
        assert_eq!(python_code(&interpreter, python, &[&cut]).ok().text(), "refused\n");
    }
}

/// Cut after any byte, NDJSON of a writer that did not finish is not taken for whole. What it has
/// written so far is what it would have written, without the end of the last record.
#[test]
fn the_end_of_the_last_record_is_the_end_marker() {
    let dir = TempDir::new();
    let cd = prepared(&dir, 6000);
    for (filter, good, bad) in [
        ("harmony-tok", "good", "bad"),
        ("ds-cat", "tokens.ndjson", "short"),
        ("span-mask", "tokens.ndjson", "short"),
    ] {
        let whole = dir.text("tokens.ndjson");
        let lines: Vec<&str> = whole.lines().collect();
        dir.write("short", lines[..5000].join("\n") + "\n{}\n");
        // The records say from which file they come.
        let run = |input: &str| bash(&format!("{cd}; cp {input} in; {filter} in"));
        let expected = run(good).silent().text();
        assert!(expected.ends_with("}\n"));
        let came = run(bad);
        assert_eq!(came.code(), Some(1), "{came:?}");
        let text = came.text();
        assert!(
            expected.strip_prefix(&text).is_some_and(|rest| rest.starts_with("}\n")),
            "{filter}: {} bytes",
            text.len()
        );
    }
    // A reader that wants one record has it, and the filter has done its job.
    dir.write("one", conversations(1));
    for _ in 0..20 {
        let script = format!("{cd}; set -o pipefail; harmony-tok one | head -1 | wc -l");
        assert_eq!(bash(&script).silent().text(), "1\n");
    }
    // Each block of a filter that is killed, with what came before the kill.
    let first = masked_answer("a", &[64]);
    for cut in 0..first.len() - 1 {
        let run = tool("mmidx-write").args(&["--prefix", &dir.at("out/p")]);
        run.input(&first.as_bytes()[..cut]).run().fails(75, &["mmidx-write: stdin"]);
    }
    assert!(!dir.path().join("out").exists());
    tool("mmidx-write").args(&["--prefix", &dir.at("out/p")]).input(&first).run().silent();
}

/// A killed stage, in any place of the pipe and in both encodings.
#[test]
fn a_killed_stage_publishes_nothing() {
    let dir = TempDir::new();
    let cd = prepared(&dir, 250);
    // The stage kills itself after its first output has left it.
    let kill = |stage: &str| format!("bash -c 'exec {stage} < <(cat good; kill -9 $$; sleep 5)'");
    for to in ENCODINGS {
        let script =
            format!("{cd}; {} | span-mask | mmidx-write --root out --shard s", kill("harmony-tok"));
        let (came, stderr) = codes(&script, to);
        assert_eq!(came, "137 75 75", "{to}: {stderr}");
        assert!(!dir.path().join("out").exists(), "{to}");
    }
}

#[test]
fn no_bytes_are_not_an_empty_stream() {
    let dir = TempDir::new();
    let cd = prepared(&dir, 250);
    bash(&format!("{cd}; gzip -c empty > empty.gz; mkdir out")).silent();
    for filter in [
        "harmony-tok",
        "harmony-tok --decode",
        "span-mask",
        "ds-cat",
        "ds-cat --count",
        "ds-cat -o out/file",
        "mmidx-write --prefix out/p",
        "mmidx-write --root out/r --shard s",
        "npy-pack -o out/pack",
        "seq-pack -o out/r.parquet",
    ] {
        let name = filter.split(' ').next().unwrap();
        for to in ENCODINGS {
            let run = |script: &str| bash_with(&format!("{cd}; {script}"), &[("GRISTMILL_TO", to)]);
            let cause = "there are no bytes";
            for input in ["empty", "empty.gz", "good empty", "empty --slice 0/1"] {
                if input.starts_with("good") && filter != "harmony-tok" {
                    continue;
                }
                if input.contains("--slice") && filter.contains("count") {
                    continue;
                }
                run(&format!("{filter} {input} > /dev/null"))
                    .fails(1, &[name, cause, "--allow-empty"]);
            }
            for input in ["< /dev/null", "<(:)", "< <(:)", "/dev/null"] {
                run(&format!("{filter} {input} > /dev/null")).fails(75, &[name, cause]);
            }
        }
        assert!(dir.files().iter().all(|name| !name.starts_with("out/")), "{:?}", dir.files());
    }
    // Where there may be no records, the flag says so; what comes out is an empty stream again.
    for to in ENCODINGS {
        let script = format!(
            "{cd}; set -o pipefail; harmony-tok empty --allow-empty | span-mask --allow-empty \
             | mmidx-write --prefix out/{to} --allow-empty"
        );
        bash_with(&script, &[("GRISTMILL_TO", to)]).silent();
        let part = dir.json(&format!("out/{to}.part.json"));
        assert_eq!(part["records"]["written"], 0);
        let read = if to == "arrow" { serde_json::json!(0) } else { serde_json::Value::Null };
        assert_eq!(part["records"]["read"], read);
    }
    let script = format!("{cd}; set -o pipefail; harmony-tok empty --allow-empty | span-mask");
    bash_with(&script, &[("GRISTMILL_TO", "arrow")]).silent();
}

#[test]
fn what_is_no_regular_file_is_not_cut() {
    let dir = TempDir::new();
    let cd = prepared(&dir, 250);
    bash(&format!("mkfifo {}", dir.at("fifo"))).silent();
    for filter in ["harmony-tok", "span-mask", "ds-cat"] {
        for input in ["fifo", "<(cat good)", "/dev/null", "/dev/zero", "- < good"] {
            let run = bash(&format!("{cd}; timeout 20 {filter} --slice 0/2 {input}"));
            run.fails(2, &[filter, "cannot be cut into slices"]);
        }
    }
    assert!(Path::new(&dir.at("fifo")).exists());
}
