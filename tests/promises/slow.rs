//! A pipe that pauses: its records are shown before more of them come.

use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::common::models::{CHATML, write_model};
use crate::common::{TempDir, bash_with, tool};

/// A record that is not there by then does not come. (It takes a quarter of a second; a machine under load may take longer.)
const LATE: Duration = Duration::from_secs(30);

/// What a child writes, as it comes.
struct Written {
    parts: Receiver<Vec<u8>>,
    all: Vec<u8>,
}

impl Written {
    fn of(child: &mut Child) -> Written {
        let mut stdout = child.stdout.take().unwrap();
        let (send, parts) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                send.send(buffer[..read].to_vec()).unwrap();
            }
        });
        Written { parts, all: Vec::new() }
    }

    /// Waits until what came so far is what is waited for; false if it does not come.
    fn comes(&mut self, is_there: impl Fn(&[u8]) -> bool) -> bool {
        while !is_there(&self.all) {
            let Ok(part) = self.parts.recv_timeout(LATE) else { return false };
            self.all.extend(part);
        }
        true
    }

    fn into_all(mut self) -> Vec<u8> {
        self.parts.iter().for_each(|part| self.all.extend(part));
        self.all
    }
}

/// A chat, and the same as a conversation of Harmony.
fn chat(number: usize) -> String {
    let ask = json!({"role": "user", "content": format!("Question {number}?")});
    let say = json!({"role": "assistant", "content": format!("Answer {number}.")});
    format!("{}\n", json!({"id": format!("n{number}"), "messages": [ask, say]}))
}

fn conversation(number: usize) -> String {
    chat(number).replace("\"assistant\"", "\"assistant\",\"channel\":\"final\"")
}

/// Lines that a filter reads.
fn lines_for(filter: &str) -> Vec<String> {
    let conversations: String = (0..4).map(conversation).collect();
    let all = match filter {
        "chat-harmony" | "chat-tok" => (0..4).map(chat).collect(),
        "span-mask" => tool("harmony-tok").input(conversations).run().ok().text(),
        _ => conversations,
    };
    all.split_inclusive('\n').map(str::to_string).collect()
}

#[test]
fn records_of_a_slow_pipe_are_shown_as_they_come() {
    let dir = TempDir::new();
    let model = format!("-j 2 --model {}", write_model(&dir, "model", CHATML));
    for (filter, jobs) in [
        ("chat-tok", model.as_str()),
        ("chat-harmony", "-j 1"),
        ("chat-harmony", "-j 3"),
        ("harmony-tok", "-j 1"),
        ("harmony-tok", "-j 3"),
        ("span-mask", ""),
        ("ds-cat", ""),
        ("ds-view", "--limit 4"),
    ] {
        let lines = lines_for(filter);
        let arguments: Vec<&str> = jobs.split_whitespace().collect();
        let whole = tool(filter).args(&arguments).input(lines.concat()).run().ok().stdout;
        let mut child = tool(filter).args(&arguments).spawn();
        let mut written = Written::of(&mut child);
        for (number, line) in lines.iter().enumerate() {
            child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
            let id = format!("n{number}");
            let is_shown = |out: &[u8]| {
                let text = String::from_utf8_lossy(out);
                let rest = whole.get(out.len()..).unwrap_or_default();
                text.contains(&id) && (filter == "ds-view" || rest.starts_with(b"}\n"))
            };
            assert!(written.comes(is_shown), "{filter} {jobs}: {id} is not shown");
        }
        drop(child.stdin.take());
        let out = written.into_all();
        assert!(child.wait().unwrap().success(), "{filter} {jobs}");
        assert!(out == whole, "{filter} {jobs}: other bytes");
    }
}

#[test]
fn a_pause_ends_no_stream() {
    // The end of the last record is held back while the pipe pauses: a filter that dies then has not finished.
    let mut child = tool("harmony-tok").spawn();
    child.stdin.as_mut().unwrap().write_all(conversation(0).as_bytes()).unwrap();
    let mut written = Written::of(&mut child);
    assert!(written.comes(|out| out.ends_with(b"null")));
    child.kill().unwrap();
    child.wait().unwrap();
    let out = written.into_all();
    assert!(!out.ends_with(b"\n"));
    let refused = tool("span-mask").input(out).run();
    assert_eq!(refused.code(), Some(75), "{refused:?}");
}

#[test]
fn a_pause_changes_no_arrow() {
    let whole = tool("harmony-tok").args(&["--to", "arrow"]).input(lines_for("").concat()).run();
    let slow = "for line in 0 1 2 3; do eval \"printf '%s' \\\"\\$L$line\\\"\"; sleep 0.4; done | harmony-tok --to arrow";
    let lines = lines_for("");
    let variables: Vec<(String, &String)> =
        lines.iter().enumerate().map(|(number, line)| (format!("L{number}"), line)).collect();
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, line)| (name.as_str(), line.as_str())).collect();
    assert!(bash_with(slow, &variables).ok().stdout == whole.ok().stdout);
}
