//! The progress line in real terminals: when it appears, how wide it is, and that it disappears.

use crate::common::models::{CHATML, write_model};
use crate::common::{TempDir, bash, conversations, files_in, installed, tool};

/// What a terminal was sent.
struct Sent {
    text: String,
    /// Seconds before the first byte.
    silence: f64,
}

/// Runs a pipeline in a terminal of that many columns. It reads `input`, a named pipe into which
/// conversations are written for that many seconds.
fn terminal(columns: usize, seconds: f64, pipeline: &str) -> Option<Sent> {
    if !installed("script") {
        return None;
    }
    let dir = TempDir::new();
    // More than a batch each, so that they are counted as they come.
    let content = "word ".repeat(1 << 18);
    // A conversation, and a tokens record for those who want one.
    let line = format!(
        r#"{{"id":"a","tokens":[1,2],"messages":[{{"role":"assistant","channel":"final","content":"{content}"}}]}}"#
    );
    dir.write("line", line + "\n");
    dir.write("inside", format!("stty cols {columns} rows 24; set -o pipefail; {pipeline}"));
    let run = dir.bash(&format!(
        "mkfifo input; end=$(date +%s%N -d '{seconds} seconds')
         {{ cat line; while [ $(date +%s%N) -lt $end ]; do cat line; sleep 0.05; done; }} > input &
         TERM=xterm script --timing=timing -qec 'bash inside' /dev/null < /dev/null
         code=$?; wait; exit $code"
    ));
    assert_eq!((run.code(), run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let timing = dir.text("timing");
    let silence = timing.split(' ').next().and_then(|delay| delay.parse().ok());
    Some(Sent { text: run.lossy(), silence: silence.unwrap_or(f64::INFINITY) })
}

impl Sent {
    /// The states of its line: each begins by clearing the one before it.
    fn states(&self) -> Vec<&str> {
        self.text.split("\r\x1b[2K").collect()
    }
}

#[test]
fn the_line_comes_after_a_second_and_goes() {
    let Some(sent) = terminal(80, 2.5, "harmony-tok <(cat input) > out") else { return };
    assert!(sent.silence >= 1.0, "{} s", sent.silence);
    let states = sent.states();
    assert!(states.len() > 3, "{states:?}");
    let (last, shown) = states.split_last().unwrap();
    assert_eq!(*last, "");
    for state in shown {
        assert!(state.starts_with("harmony-tok: ") && state.len() <= 80, "{state:?}");
        assert!(state.contains(" conversations"), "{state:?}");
    }
}

#[test]
fn a_narrow_terminal_cuts_it() {
    let Some(sent) = terminal(50, 1.8, "harmony-tok <(cat input) > out") else { return };
    let states = sent.states();
    assert!(states.iter().any(|state| state.len() == 50), "{states:?}");
    assert!(states.iter().all(|state| state.len() <= 50), "{states:?}");
}

#[test]
fn short_and_quiet_runs_show_nothing() {
    for (seconds, pipeline) in [
        (0.4, "harmony-tok <(cat input) > out"),
        (1.8, "harmony-tok -q <(cat input) > out"),
        (1.8, "harmony-tok --progress never <(cat input) > out"),
        (1.8, "harmony-tok <(cat input) 2> out | cat > out"),
        (1.8, "cat input | harmony-tok > out"),
    ] {
        let Some(sent) = terminal(80, seconds, pipeline) else { return };
        assert_eq!(sent.text, "", "{pipeline}");
    }
}

#[test]
fn results_on_a_terminal_stand_alone() {
    let Some(sent) = terminal(80, 1.8, "harmony-tok <(cat input)") else { return };
    assert!(sent.text.starts_with("{\"id\"") && !sent.text.contains("harmony-tok: "));
}

/// What writes files leaves stdout free.
#[test]
fn a_sink_shows_it_on_a_terminal() {
    let pipeline = "mmidx-write <(cat input) --prefix out --tokens-only --no-check";
    let Some(sent) = terminal(80, 1.8, pipeline) else { return };
    let states = sent.states();
    assert!(states[..states.len() - 1].iter().any(|state| state.starts_with("mmidx-write: ")));
    // The line goes; in the end there is what was made.
    let made = states.last().unwrap();
    let told = made.strip_prefix("mmidx-write: out: ").unwrap_or_else(|| panic!("{states:?}"));
    assert!(told.ends_with(" tokens, 0 trained on\r\n"), "{states:?}");
}

#[test]
fn of_a_pipeline_the_first_shows_it() {
    let Some(sent) = terminal(80, 1.8, "harmony-tok <(cat input) | span-mask > out") else {
        return;
    };
    let shown = |name: &str| sent.text.contains(name);
    assert!(
        shown("harmony-tok: ") && shown(" conversations, ") && !shown("span-mask: "),
        "{}",
        sent.text
    );
    let pipeline = "cat input | harmony-tok --progress always > out";
    let Some(sent) = terminal(80, 1.8, pipeline) else { return };
    assert!(sent.text.contains(" conversations, "), "{}", sent.text);
}

/// At a terminal a sink says that what earlier filters know did not come along; once, and not with -q.
#[test]
fn a_pipe_without_a_header_is_said() {
    let advice = "try: export GRISTMILL_TO=arrow";
    let sink = "mmidx-write --prefix out --tokens-only --no-check";
    for (pipeline, times) in [
        (format!("cat input | {sink}"), 1),
        (format!("cat input | {sink} -q"), 0),
        (format!("cat input | {sink} 2> out.log"), 0),
        (format!("{sink} <(cat input)"), 0),
        (format!("cat input > file; harmony-tok file -q --policy chat --to arrow | {sink}"), 0),
    ] {
        let Some(sent) = terminal(80, 0.4, &pipeline) else { return };
        assert_eq!(sent.text.matches(advice).count(), times, "{pipeline}: {}", sent.text);
    }
}

/// What is hashed and looked at too is counted once.
#[test]
fn bytes_are_counted_once() {
    let dir = crate::common::TempDir::new();
    dir.write("in.ndjson", crate::common::conversations(300));
    let root = dir.path().display();
    bash(&format!(
        "set -e; cd {root}; export GRISTMILL_TO=arrow; harmony-tok in.ndjson | span-mask > m; \
         mmidx-write m --root kd --shard shard_00; ds-manifest kd -q; \
         puzzle-encode domino --num-games 200 | npy-pack -o set"
    ))
    .ok();
    for dataset in ["kd", "set", "m"] {
        let path = dir.path().join(dataset);
        let sizes = files_in(&path).into_iter().map(|name| path.join(name));
        let bytes: u64 = if path.is_file() {
            path.metadata().unwrap().len()
        } else {
            sizes.map(|file| file.metadata().unwrap().len()).sum()
        };
        let run = tool("ds-check")
            .args(&[
                "--progress",
                "always",
                "-q",
                "--skip",
                "kd.root.repeated",
                path.to_str().unwrap(),
            ])
            .run();
        let line = run.stderr.lines().find(|line| line.starts_with("ds-check: ")).unwrap();
        // "... , 1.2 MB (3.4 MB/s)"
        let told = line.rsplit(", ").next().unwrap();
        let (number, unit) = told.split_once(' ').unwrap();
        let scale = [("B", 1.0), ("kB", 1e3), ("MB", 1e6)]
            .into_iter()
            .find(|(name, _)| unit.starts_with(name));
        let told = number.parse::<f64>().unwrap() * scale.unwrap().1;
        let ratio = told / bytes as f64;
        assert!((0.5..1.1).contains(&ratio), "{dataset}: {line}, {bytes} bytes");
    }
}

/// A file of progress is none that somebody may need: nothing is appended to inputs, to what describes a model or a
/// dataset, nor to outputs.
#[test]
fn progress_is_appended_to_files_of_progress_alone() {
    let dir = TempDir::new();
    write_model(&dir, "model", CHATML);
    let chats = r#"{"id":"a","messages":[{"role":"user","content":"Why?"},{"role":"assistant","content":"So."}]}"#;
    dir.write("chats.jsonl", format!("{chats}\n"));
    dir.write("model/empty.jinja", "");
    dir.write("c.ndjson", conversations(3));
    let make = "harmony-tok c.ndjson | span-mask | mmidx-write --root root --shard s && cp c.ndjson o.ndjson";
    dir.bash(make).ok();
    let before = dir.files();
    for (command, target) in [
        ("chat-tok --model model chats.jsonl", "chats.jsonl"),
        ("chat-tok --model model chats.jsonl", "model/tokenizer.json"),
        ("chat-tok --model model chats.jsonl", "model/tokenizer_config.json"),
        ("chat-tok --model model --template model/empty.jinja chats.jsonl", "model/empty.jinja"),
        ("harmony-tok c.ndjson", "c.ndjson"),
        ("harmony-tok < c.ndjson", "c.ndjson"),
        ("ds-cat root", "root/parts/s.json"),
        ("ds-cat root", "root/manifest.json"),
        ("ds-check -q root", "root/train/s_tokens.idx"),
        ("ds-stat -q root", "root/train/s_tokens.bin"),
        ("ds-diff root root", "root/parts/s.json"),
        ("ds-cat -q c.ndjson --overwrite -o o.ndjson", "o.ndjson"),
        ("ds-cat -q c.ndjson -o new.ndjson", "new.ndjson"),
        ("seq-pack -q root --index new --overwrite -n 9000", "new"),
        ("ds-cat c.ndjson > out", "out"),
    ] {
        let sums = |dir: &TempDir| {
            dir.bash("find . -type f ! -name new* ! -name out | sort | xargs md5sum").text()
        };
        let whole = sums(&dir);
        let (command, rest) = command.split_once(' ').unwrap();
        let run = dir.bash(&format!("{command} --progress-to {target} {rest}"));
        assert_eq!(run.code(), Some(2), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        assert_eq!(sums(&dir), whole, "{command} {rest}: {target}");
        dir.bash("rm -f new* out").ok();
        assert_eq!(dir.files(), before);
    }
    for _ in 0..2 {
        dir.bash("harmony-tok c.ndjson --progress-to progress > /dev/null").silent();
    }
    let text = dir.text("progress");
    assert!(text.lines().count() > 1 && text.lines().all(|line| line.starts_with("{\"tool\"")));
}
