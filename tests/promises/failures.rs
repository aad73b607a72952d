//! What happens when a producer dies, a disk is full, a reader goes away or a signal comes: nothing
//! that looks finished is left, and the exit code says whether to try again.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::common::models::{CHATML, write_model};
use crate::common::samples::masked_answer;
use crate::common::writers::{has_temporaries, send, wait_until};
use crate::common::{
    TempDir, assert_no_temporaries, bash, conversations, message_boundaries, tool, write_parquet,
};

/// Raw SYNTH rows, some without reasoning.
fn raw_rows(count: usize) -> String {
    let row = |number: usize| {
        json!({
            "synth_id": format!("raw-{number}"),
            "query": format!("Question {number}?"),
            "synthetic_reasoning": "Think. ".repeat(number % 5),
            "synthetic_answer": "An answer.",
        })
    };
    (0..count).map(|number| format!("{}\n", row(number))).collect()
}

/// Chats as people have them.
fn chats(count: usize) -> String {
    let line = |number: usize| {
        let ask = json!({"role": "user", "content": format!("Question {number}?")});
        let say = json!({"role": "assistant", "content": "An answer.", "thinking": "Think."});
        format!("{}\n", json!({"id": format!("chat-{number}"), "messages": [ask, say]}))
    };
    (0..count).map(line).collect()
}

/// A stream of three batches, and the same as a file.
fn masked_stream(dir: &TempDir) -> Vec<u8> {
    for part in 0..3 {
        dir.write(&format!("{part}.ndjson"), conversations(part + 2));
    }
    dir.bash(
        "set -e; for i in 0 1 2; do harmony-tok $i.ndjson --to arrow | span-mask --to arrow > $i; \
         done; ds-cat 0 1 2 --to arrow > whole",
    )
    .silent();
    dir.read("whole")
}

/// A stream cut anywhere: from stdin the job may be tried again, a file is bad.
#[test]
fn a_cut_stream_is_never_published() {
    let dir = TempDir::new();
    let stream = masked_stream(&dir);
    let boundaries = message_boundaries(&stream);
    assert_eq!(boundaries.len(), 6, "schema, 3 batches, end marker, end");
    let mut cuts: Vec<usize> =
        boundaries.iter().flat_map(|at| [0, 1, 2, 3, 4, 8].map(|more| at + more)).collect();
    cuts.extend((9..stream.len()).step_by(211));
    cuts.retain(|cut| (1..stream.len()).contains(cut));
    let out = dir.at("out/p");
    for cut in cuts {
        let file = dir.write("cut", &stream[..cut]);
        let write =
            |arguments: &[&str]| tool("mmidx-write").args(&["--prefix", &out]).args(arguments);
        write(&[&file]).run().says(
            1,
            &format!("mmidx-write: {file}: the Arrow stream ends without its end marker; the file is truncated"),
        );
        write(&[]).input(&stream[..cut]).run().says(
            75,
            "mmidx-write: stdin: the Arrow stream ends without its end marker \
             (the program before this one died?)",
        );
        for filter in
            ["harmony-tok --decode", "ds-cat", "ds-cat --tail 1", "ds-stat", "ds-view --limit 99"]
        {
            let mut words = filter.split(' ');
            let name = words.next().unwrap();
            let flags: Vec<&str> = words.collect();
            let run = tool(name).args(&flags).input(&stream[..cut]).run();
            run.fails(75, &["without its end marker"]);
        }
        assert!(!Path::new(&dir.at("out")).exists(), "cut at {cut}");
    }
    // Nor is one with something after its end.
    for more in [&b"\0"[..], b"{\"id\":1}\n", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\0\0\0\0"] {
        let longer = [&stream[..], more].concat();
        let run = tool("mmidx-write").args(&["--prefix", &out]).input(longer).run();
        assert!(matches!(run.code(), Some(1 | 75)), "{run:?}");
        assert!(!Path::new(&dir.at("out")).exists());
    }
    tool("mmidx-write").args(&["--prefix", &out, &dir.at("whole")]).run().silent();
    assert_eq!(dir.json("out/p.part.json")["records"]["written"], 9);
}

#[test]
fn a_killed_producer_is_noticed_without_pipefail() {
    let dir = TempDir::new();
    let script = format!(
        "cd {}; mkfifo in; export GRISTMILL_TO=arrow; bash -c 'echo $$ > pid; exec harmony-tok' < in \
         | span-mask | mmidx-write --root out --shard s; echo \"${{PIPESTATUS[@]}}\"",
        dir.path().display()
    );
    let pipeline = std::thread::spawn(move || bash(&script));
    wait_until("the pipe", || Path::new(&dir.at("in")).exists());
    let mut input = fs::OpenOptions::new().write(true).open(dir.at("in")).unwrap();
    input.write_all(conversations(6000).as_bytes()).unwrap();
    wait_until("a first batch", || has_temporaries(&dir.path().join("out")));
    send(dir.text("pid").trim().parse().unwrap(), libc::SIGKILL);
    let run = pipeline.join().unwrap();
    drop(input);
    assert_eq!((run.code(), run.text().as_str()), (Some(0), "137 75 75\n"), "{run:?}");
    assert!(!dir.path().join("out").exists(), "{:?}", dir.files());
}

#[test]
fn a_full_disk_may_be_tried_again() {
    let dir = TempDir::new();
    masked_stream(&dir);
    dir.write("in.ndjson", conversations(50));
    dir.write("raw.ndjson", raw_rows(50));
    dir.write("chats.ndjson", chats(50));
    write_model(&dir, "model", CHATML);
    write_parquet(&dir.path().join("raw.parquet"), &raw_rows(50));
    let convert = "ds-cat in.ndjson --to parquet -o in.parquet";
    dir.bash(convert).silent();
    for filter in [
        "harmony-tok in.ndjson",
        "harmony-tok in.ndjson --to arrow",
        "harmony-tok in.parquet -j 2",
        "harmony-tok --decode whole",
        "harmony-tok --decode whole --to arrow",
        "span-mask 0.tokens",
        "span-mask 0.tokens --to arrow",
        "ds-cat whole",
        "ds-cat whole --to arrow",
        "ds-cat whole --count",
        "ds-cat in.parquet",
        "ds-cat in.parquet --sample 9",
        "ds-stat in.parquet -j 2",
        "ds-stat whole --format json",
        "ds-view whole",
        "ds-view in.parquet --sample 3",
        "ds-diff whole whole",
        "synth-harmony raw.ndjson",
        "synth-harmony raw.ndjson --to arrow",
        "synth-harmony raw.parquet -j 2",
        "chat-harmony chats.ndjson",
        "chat-harmony chats.ndjson --to arrow -j 2",
        "chat-tok --model model chats.ndjson",
        "chat-tok --model model chats.ndjson --to arrow -j 2",
    ] {
        let name = filter.split(' ').next().unwrap();
        dir.bash(&format!("harmony-tok 0.ndjson > 0.tokens; {filter} > /dev/full"))
            .says(75, &format!("{name}: stdout: No space left on device"));
    }
    // A sink that may write no more than 1 KiB to a file.
    for sink in [
        "mmidx-write --root out --shard s masked",
        "mmidx-write --prefix out/p masked",
        "ds-cat --to parquet -o out/p.parquet masked",
        "ds-cat --to arrow -o out/p.arrows masked",
        "ds-cat -o out/p.ndjson masked",
        "synth-harmony raw.ndjson -o out/p.parquet",
        "chat-harmony chats.ndjson -o out/p.parquet",
        "seq-pack masked -o out/p.parquet",
    ] {
        let script = format!(
            "cd {}; trap '' XFSZ; harmony-tok in.ndjson | span-mask > masked; ulimit -f 1; {sink}",
            dir.path().display()
        );
        bash(&script).fails(75, &["File too large"]);
        assert!(!dir.path().join("out").exists(), "{sink}: {:?}", dir.files());
    }
}

#[test]
fn an_output_that_cannot_be_made_is_a_usage_error() {
    let dir = TempDir::new();
    let file = dir.write("file", "");
    let line = masked_answer("a", &[64]);
    for prefix in ["/dev/full/p", "/nonexistent-\0/p", "/proc/nothing/p", &format!("{file}/p")] {
        if prefix.contains('\0') {
            continue;
        }
        let run = tool("mmidx-write").args(&["--prefix", prefix]).input(&line).run();
        run.fails(2, &["mmidx-write: /"]);
    }
    // Something that is not a regular file is never replaced by one.
    bash(&format!("mkfifo {}; mkdir {}", dir.at("fifo"), dir.at("q_tokens.bin"))).silent();
    let rejects = dir.at("fifo");
    let refused = format!("{rejects}: is not a regular file");
    tool("harmony-tok")
        .args(&["--on-error", "skip", "--rejects", &rejects])
        .input("{}\n")
        .run()
        .says(2, &format!("harmony-tok: {refused}"));
    tool("ds-cat")
        .args(&["-o", &rejects, "--overwrite"])
        .input(&line)
        .run()
        .says(2, &format!("ds-cat: {refused}"));
    let prefix = dir.at("q");
    tool("mmidx-write")
        .args(&["--prefix", &prefix, "--overwrite"])
        .input(&line)
        .run()
        .fails(2, &["not a regular file"]);
    assert_eq!(dir.files(), ["fifo", "file"]);
}

/// `... | head` ends a filter as it ends cat.
#[test]
fn a_closed_pipe_ends_a_filter_silently() {
    let dir = TempDir::new();
    dir.write("in.ndjson", conversations(6000));
    dir.write("raw.ndjson", raw_rows(6000));
    dir.write("chats.ndjson", chats(6000));
    write_model(&dir, "model", CHATML);
    let cd = format!("cd {}", dir.path().display());
    bash(&format!(
        "set -e; {cd}; harmony-tok in.ndjson --to arrow > tokens; span-mask tokens --to arrow > masked; \
         mmidx-write masked --prefix p; ds-cat in.ndjson --to parquet -o in.parquet; \
         head -n 2000 in.ndjson > less.ndjson"
    ))
    .silent();
    for filter in [
        "harmony-tok in.ndjson",
        "harmony-tok in.parquet -j 2",
        "harmony-tok in.ndjson --to arrow",
        "harmony-tok --decode tokens",
        "span-mask tokens",
        "span-mask tokens --to arrow",
        "ds-cat p",
        "ds-cat in.parquet",
        "ds-cat masked --to arrow",
        "ds-stat --part in.ndjson -j 2",
        "ds-diff in.ndjson less.ndjson --max-differences 4000 --format json",
        "synth-harmony raw.ndjson",
        "synth-harmony raw.ndjson --to arrow -j 2",
        "chat-harmony chats.ndjson",
        "chat-harmony chats.ndjson --to arrow -j 2",
        "chat-tok --model model chats.ndjson",
        "chat-tok --model model chats.ndjson --to arrow -j 2",
    ] {
        let run =
            bash(&format!("{cd}; {filter} | head -c 10 > /dev/null; echo \"${{PIPESTATUS[@]}}\""))
                .silent();
        assert_eq!(run.text(), "141 0\n", "{filter}");
    }
    let first = bash(&format!("{cd}; harmony-tok in.ndjson | head -1")).silent().records();
    assert_eq!(first[0]["id"], "id-0");
}

#[test]
fn the_same_task_twice_at_once() {
    for flags in ["", "--overwrite"] {
        let dir = TempDir::new();
        let lines: String = (0..2000).map(|n| masked_answer(&format!("{n}"), &[64, 65])).collect();
        dir.write("in.ndjson", &lines);
        let script = format!(
            "cd {}; mmidx-write --prefix alone/p in.ndjson; for i in 1 2 3 4; do \
             mmidx-write --root out --shard s {flags} in.ndjson & jobs+=($!); \
             mmidx-write --prefix beside/p {flags} in.ndjson & jobs+=($!); done; \
             for job in ${{jobs[@]}}; do wait $job; echo -n $?; done",
            dir.path().display()
        );
        // One that begins when another has ended is refused; whoever loses later has not failed.
        let told = bash(&script).ok();
        let codes = told.text();
        let is_right = |code| code == '0' || code == '2' && flags.is_empty();
        assert!(codes.len() == 8 && codes.chars().all(is_right), "{codes} {told:?}");
        assert_no_temporaries(dir.path());
        for suffix in ["tokens.bin", "tokens.idx", "lossmask.bin", "span.idx"] {
            assert_eq!(
                dir.read(&format!("beside/p_{suffix}")),
                dir.read(&format!("alone/p_{suffix}"))
            );
        }
        tool("ds-manifest").args(&[dir.at("out")]).run().silent();
        assert_eq!(dir.json("out/parts/s.json")["records"]["written"], 2000);
    }
}

/// A writer whose write was cut in the beginning of a message, and who then says how it failed, leaves a stream that
/// is cut, not one with an impossible length.
#[test]
fn a_message_that_is_cut_in_its_beginning_is_a_cut_stream() {
    let dir = TempDir::new();
    let stream = masked_stream(&dir);
    for boundary in &message_boundaries(&stream)[1..4] {
        for part in 4..8 {
            let trailer = [&[0xff; 4][..], &16u32.to_le_bytes(), &[0; 16]].concat();
            let cut = [&stream[..boundary + part], &trailer].concat();
            let run = tool("ds-cat").input(&cut).run();
            run.fails(75, &["the Arrow stream ends without its end marker"]);
        }
    }
}

/// What is millions of bytes long in the data is not printed whole.
#[test]
fn errors_are_short() {
    let long = "x".repeat(5_000_000);
    let dir = TempDir::new();
    let model = write_model(&dir, "model", CHATML);
    let ask = json!({"role": "user", "content": "Why?"});
    for chat in [
        json!({"id": "a", "messages": [ask, {"role": long, "content": "So."}]}),
        json!({"id": long, "messages": [ask, {"role": "robot", "content": "So."}]}),
        json!({"id": "a", "messages": [ask, {"role": "assistant", "tool_calls": [{"name": long, "arguments": 7}]}]}),
        json!({"id": "a", "messages": [ask, {"role": "assistant", "content": [{"type": long}]}]}),
        json!({"id": "a", "messages": [ask, {"role": "assistant", "channel": long, "content": "So."}]}),
    ] {
        for filter in ["chat-harmony", "chat-tok --model MODEL", "ds-check", "harmony-tok"] {
            let command = filter.replace("MODEL", &model);
            let (name, rest) = command.split_once(' ').unwrap_or((&command, "-"));
            let arguments: Vec<&str> = rest.split(' ').collect();
            let run = tool(name).args(&arguments).input(format!("{chat}\n")).run();
            let said = run.stderr.len() + if name == "ds-check" { run.stdout.len() } else { 0 };
            assert!(
                said < 15_000,
                "{filter}: {said}: {}",
                &run.stderr[..200.min(run.stderr.len())]
            );
        }
    }
}
