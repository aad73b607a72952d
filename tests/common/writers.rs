//! Writers that have begun and wait for more.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::samples::masked_answer;
use super::{TempDir, Tool, files_in};

/// Waits for a condition that another process brings about.
#[track_caller]
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn has_temporaries(directory: &Path) -> bool {
    files_in(directory).iter().any(|name| name.contains("gristmill-tmp"))
}

pub fn send(process: u32, signal: i32) {
    // SAFETY: kill with a process of this test's own and a valid signal.
    assert_eq!(unsafe { libc::kill(process as i32, signal) }, 0);
}

/// mmidx-write that has begun and waits for more.
pub fn waiting_writer(dir: &TempDir, name: &str, launcher: &str) -> Child {
    let command = format!("{launcher} mmidx-write --prefix {}/p", dir.at(name));
    let lines = masked_answer("a", &[64; 300]).repeat(2000);
    waiting(&dir.path().join(name), &command, lines.as_bytes())
}

/// A writer that has read these bytes, has begun in this directory, and waits for more.
pub fn waiting(directory: &Path, command: &str, bytes: &[u8]) -> Child {
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(command);
    let mut child = Tool::new(bash, command).spawn();
    child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    wait_until("a first batch", || has_temporaries(directory));
    child
}
