//! Standard streams that were closed before a filter was started: it fails, in one line.

use crate::common::models::{CHATML, write_model};
use crate::common::{TempDir, bash};

const RECORD: &str = "{\"id\":\"a\",\"tokens\":[7],\"segments\":null}\n";
const CHAT: &str = "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"},\
                    {\"role\":\"assistant\",\"channel\":\"final\",\"content\":\"a\"}]}\n";

fn prepared() -> (TempDir, String) {
    let dir = TempDir::new();
    dir.write("t", RECORD);
    dir.write("c", CHAT);
    write_model(&dir, "model", CHATML);
    let cd = format!("cd '{}'", dir.path().display());
    (dir, cd)
}

#[test]
fn a_closed_stdout_is_an_error() {
    let (_dir, cd) = prepared();
    for command in [
        "ds-cat t",
        "ds-cat t --to arrow",
        "ds-cat t --count",
        "span-mask t",
        "harmony-tok c",
        "harmony-tok --decode t",
        "chat-harmony c",
        "chat-tok --model model c",
        "puzzle-encode domino --num-games 1",
        "ds-view t",
        "ds-stat t",
        "ds-stat t --format json",
        "ds-diff t t",
        "ds-check t",
        "ds-check t --format json",
        "ds-check --list",
        "ds-cat --help",
        "ds-cat -h",
        "ds-cat --version",
        "ds-cat --generate man",
    ] {
        let tool = command.split(' ').next().unwrap_or_default();
        for to in ["ndjson", "arrow"] {
            let run = bash(&format!("{cd}; GRISTMILL_TO={to} {command} >&-"));
            run.says(2, &format!("{tool}: stdout is closed, and the results go there"));
        }
    }
    // What writes elsewhere needs none, and what is open is written to.
    bash(&format!("{cd}; ds-cat t -o x.ndjson >&- && cat x.ndjson")).ok();
    for open in [">/dev/null", "1<>/dev/null"] {
        bash(&format!("{cd}; ds-cat t {open}")).silent();
    }
}

#[test]
fn a_closed_stdin_is_an_error() {
    let (_dir, cd) = prepared();
    for filter in ["ds-cat", "span-mask", "harmony-tok", "chat-harmony", "ds-stat", "ds-view"] {
        bash(&format!("{cd}; {filter} <&-"))
            .says(2, &format!("{filter}: stdin is closed: give a FILE or pipe records in"));
    }
    bash(&format!("{cd}; ds-cat t <&-")).ok();
}
