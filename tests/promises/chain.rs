//! Filters in one process (`gristmill A '|' B`) do what they do with pipes between them: the same bytes,
//! the same lines on stderr, the same end.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{TempDir, bash, bash_with, conversations, files_in};

/// The inputs of all pipelines here.
fn prepared() -> (TempDir, String) {
    let dir = TempDir::new();
    dir.write("good", conversations(700));
    dir.write("bad", conversations(250) + "{\"id\":\"a\"}\n");
    dir.write("broken/a.meta.json", "{");
    dir.write("broken/a.jsonl.gz", "");
    let cd = format!("cd {}", dir.path().display());
    bash(&format!("{cd}; harmony-tok good --to arrow > whole; head -c -8 whole > cut")).silent();
    (dir, cd)
}

/// What came of a command line.
struct Came {
    /// That of the first cause.
    code: u8,
    stdout: String,
    /// Its lines, sorted: filters of a pipe that fail together print in any order.
    stderr: Vec<String>,
}

/// Runs a command line that writes to the folder `out`, which then gets another name.
fn run(cd: &str, line: &str, out: &str) -> Came {
    let script = format!(
        "{cd}; rm -rf out; {line} > stdout; echo \"${{PIPESTATUS[@]}}\"; cat stdout; \
         if [ -e out ]; then mv out {out}; fi"
    );
    let run = bash_with(&script, &[("GRISTMILL_TO", "arrow")]);
    let text = run.text();
    let (codes, stdout) = text.split_once('\n').unwrap();
    let codes: Vec<u8> = codes.split(' ').map(|code| code.parse().unwrap()).collect();
    let failed = codes.iter().filter(|code| ![0, 141].contains(*code));
    let cause = failed.clone().find(|code| **code != 75).or(failed.clone().next());
    let mut stderr: Vec<String> = run.stderr.lines().map(str::to_string).collect();
    stderr.sort();
    Came { code: cause.copied().unwrap_or(0), stdout: stdout.to_string(), stderr }
}

/// The files of a folder; of manifests not what they say of one run.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let bytes = fs::read(folder.join(&name)).unwrap();
        let Ok(Value::Object(mut object)) = serde_json::from_slice(&bytes) else {
            return (name, bytes);
        };
        object.remove("run");
        (name, serde_json::to_vec(&object).unwrap())
    };
    files_in(folder).into_iter().map(read).collect()
}

#[test]
fn a_chain_does_what_a_pipe_does() {
    let (dir, cd) = prepared();
    for (place, pipeline) in [
        "harmony-tok good | span-mask | mmidx-write --root out --shard s --valid-fraction 0.2",
        "harmony-tok -j 4 good | span-mask --span commentary=3 | mmidx-write --root out --shard s",
        "harmony-tok bad --on-error skip | span-mask | mmidx-write --root out --shard s",
        "harmony-tok good | span-mask | seq-pack -o out/rows.parquet -n 512 --form trl",
        "harmony-tok whole --decode --limit 20 | ds-cat --to ndjson -o out/decoded.ndjson",
        "ds-cat good | harmony-tok --max-tokens 2000 | span-mask | mmidx-write --prefix out/p",
        "cat good | harmony-tok | span-mask | mmidx-write --prefix out/p",
        "harmony-tok good --limit 40 | span-mask | ds-check - -q",
        "harmony-tok good --limit 40 | ds-stat",
        "ds-cat good --limit 5 | harmony-tok | ds-cat --count",
        "puzzle-encode domino --num-games 4 --num-aug 2 -j 2 | npy-pack -o out",
        // Failures: the first, one in the middle, the last, in the data, the command line, the input.
        "harmony-tok bad | span-mask | mmidx-write --root out --shard s",
        "harmony-tok -j 3 bad | span-mask | mmidx-write --root out --shard s",
        "harmony-tok nowhere | span-mask | mmidx-write --root out --shard s",
        "harmony-tok --limit x good | span-mask | mmidx-write --root out --shard s",
        "ds-cat good | span-mask | mmidx-write --root out --shard s",
        "ds-cat cut | span-mask | mmidx-write --root out --shard s",
        "harmony-tok good | span-mask | mmidx-write --root cut/out --shard s",
        "harmony-tok good | span-mask | mmidx-write --nothing",
        "harmony-tok good | span-mask | npy-pack -o out",
        "harmony-tok bad | span-mask -v | mmidx-write --prefix out/p -v",
        "harmony-tok good | span-mask | mmidx-write --prefix out/p --expect-records 699",
        "mx-decode broken | npy-pack -o out",
        "mx-decode nowhere | npy-pack -o out",
        "harmony-tok good | harmony-tok bad | ds-cat -o out/x.arrow",
    ]
    .into_iter()
    .enumerate()
    {
        let chain = |filters: &str| format!("gristmill {}", filters.replace(" | ", " '|' "));
        let chained = match pipeline.strip_prefix("cat good | ") {
            Some(filters) => format!("cat good | {}", chain(filters)),
            None => chain(pipeline),
        };
        let outs = [format!("piped{place}"), format!("chained{place}")];
        let piped = run(&cd, pipeline, &outs[0]);
        let came = run(&cd, &chained, &outs[1]);
        assert_eq!(came.code, piped.code, "{pipeline}: {:?} {:?}", came.stderr, piped.stderr);
        assert_eq!(came.stdout, piped.stdout, "{pipeline}");
        assert_eq!(came.stderr, piped.stderr, "{pipeline}");
        let [piped, came] = outs.map(|out| dir.path().join(out));
        assert_eq!(came.exists(), piped.exists(), "{pipeline}");
        if came.exists() {
            assert!(content(&came) == content(&piped), "{pipeline}");
        }
    }
}

#[test]
fn a_chain_does_not_write_over_what_its_filters_read() {
    let (dir, cd) = prepared();
    let before = fs::read(dir.path().join("good")).unwrap();
    for _ in 0..5 {
        bash(&format!("{cd}; gristmill harmony-tok good '|' span-mask '|' ds-cat -o good"))
            .fails(2, &["ds-cat: good: is an input of this run"]);
    }
    assert!(fs::read(dir.path().join("good")).unwrap() == before);
}

#[test]
fn a_chain_can_read_and_write_pipes() {
    let (_dir, cd) = prepared();
    let line = "gristmill harmony-tok - '|' span-mask";
    let script = |line: &str| bash_with(&format!("{cd}; {line}"), &[("GRISTMILL_TO", "ndjson")]);
    script(&format!("cmp <(cat good | {line}) <(cat good | harmony-tok | span-mask)")).silent();
    assert_eq!(script(&format!("{line} < good | head -1 | wc -l")).ok().text(), "1\n");
    script(&format!("{line} < good > /dev/full")).fails(75, &["span-mask: stdout: No space left"]);
    script(&format!("{line} < /dev/null")).fails(75, &["harmony-tok: stdin: there are no bytes"]);
    script(&format!("{line} <&-")).fails(2, &["harmony-tok: stdin is closed"]);
    script(&format!("{line} < good >&-")).fails(2, &["span-mask: stdout is closed"]);
    // Among other inputs, whatever thread opens it.
    for jobs in [1, 3] {
        let tokens = format!("harmony-tok -j {jobs} good -");
        script(&format!(
            "cmp <(gristmill {tokens} '|' span-mask <good) <({tokens} <good | span-mask)"
        ))
        .silent();
        let line = format!("gristmill ds-cat good '|' harmony-tok -j {jobs} good - - > /dev/null");
        script(&line).fails(2, &["harmony-tok: stdin: is an input twice"]);
    }
}

#[test]
fn a_command_line_that_is_no_chain_is_refused() {
    let (_dir, cd) = prepared();
    for (line, cause) in [
        ("harmony-tok good '|' spanmask", "spanmask: no such filter"),
        ("harmony-tok good '|'", "no filter is named"),
        ("'|' span-mask", "no filter is named"),
        ("ds-stat good '|' span-mask", "ds-stat writes no records for the next filter"),
        ("harmony-tok good --to ndjson '|' span-mask", "harmony-tok --to: the next filter"),
        ("harmony-tok good --to=arrow '|' span-mask", "harmony-tok --to: the next filter"),
    ] {
        let run = bash(&format!("{cd}; gristmill {line}"));
        run.fails(2, &[&format!("gristmill: {cause}")]);
    }
    // A link with the name of a filter is that filter.
    let link = "ln -s $(command -v gristmill) ds-cat";
    bash(&format!("{cd}; {link}; cp good '|'; ./ds-cat '|' --count")).ok();
}
