//! Running the built binaries, alone and in pipelines.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Variables that change what the binaries do; a test sets what it wants itself.
const VARIABLES: [&str; 8] = [
    "GRISTMILL_TO",
    "TIKTOKEN_ENCODINGS_BASE",
    "O200K_HARMONY_VOCAB_PATH",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "CDPATH",
];

/// A command of a test: one of our binaries, a shell, or an oracle.
pub struct Tool {
    command: Command,
    shown: String,
    input: Option<Vec<u8>>,
    stdout: Option<Stdio>,
}

/// One of our binaries. Its stdin is empty unless something else is said.
pub fn tool(name: &str) -> Tool {
    Tool::new(Command::new(bin_dir().join(name)), name)
}

/// mmidx-write for sequences that are no conversations: tests of the format make up their tokens.
pub fn unchecked_sink() -> Tool {
    tool("mmidx-write").args(&["--no-check"])
}

/// Where the built binaries are.
pub fn bin_dir() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_harmony-tok")).parent().unwrap().to_path_buf()
}

/// A pipeline in bash, which finds our binaries first.
pub fn bash(script: &str) -> Outcome {
    bash_with(script, &[])
}

/// A pipeline in bash with variables set.
pub fn bash_with(script: &str, variables: &[(&str, &str)]) -> Outcome {
    let mut tool = shell(script);
    for (name, value) in variables {
        tool = tool.env(name, value);
    }
    tool.run()
}

/// A pipeline in bash that is not run yet.
pub fn shell(script: &str) -> Tool {
    let mut command = Command::new("bash");
    command.arg("-c").arg(script);
    Tool::new(command, script)
}

/// What the parent of the tests ignores (`nohup`, a background job of a shell), children would ignore, too. A handler
/// that does nothing ignores it here, and is the default in a child. (A `pre_exec` would do, but with one each
/// command is a fork of the tests' whole memory, which takes ten times as long as a spawn.)
fn handle_ignored_signals() {
    extern "C" fn nothing(_: libc::c_int) {}
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // (Rust's own library sets SIGPIPE, and resets it in children.)
        for signal in (1..32).filter(|signal| *signal != libc::SIGPIPE) {
            // SAFETY: `sigaction` of valid structs, with a handler that may run at any time.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut action);
                if action.sa_sigaction == libc::SIG_IGN {
                    action.sa_sigaction = nothing as *const () as libc::sighandler_t;
                    action.sa_flags = libc::SA_RESTART;
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                }
            }
        }
    });
}

/// Peak memory in KiB of a child, asked for until it ends (rusage would count the peak of the
/// process that it was forked from).
pub fn peak(child: &mut Child) -> u64 {
    let peak = peak_to_end(child);
    assert!(child.wait().unwrap().success());
    peak
}

/// The same of a child that may fail.
pub fn peak_to_end(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(peak);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    peak
}

impl Tool {
    pub fn new(mut command: Command, shown: &str) -> Tool {
        for name in VARIABLES {
            command.env_remove(name);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin_dir().display()));
        handle_ignored_signals();
        Tool { command, shown: shown.to_string(), input: None, stdout: None }
    }

    pub fn args<S: AsRef<str>>(mut self, arguments: &[S]) -> Tool {
        for argument in arguments {
            self.command.arg(argument.as_ref());
            self.shown += &format!(" {}", argument.as_ref());
        }
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Tool {
        self.command.env(name, value);
        self.shown = format!("{name}={value} {}", self.shown);
        self
    }

    /// What comes on stdin, through a pipe.
    pub fn input(mut self, bytes: impl AsRef<[u8]>) -> Tool {
        self.input = Some(bytes.as_ref().to_vec());
        self
    }

    pub fn stdout(mut self, stdout: impl Into<Stdio>) -> Tool {
        self.stdout = Some(stdout.into());
        self
    }

    pub fn in_directory(mut self, directory: &Path) -> Tool {
        self.command.current_dir(directory);
        self
    }

    /// Starts it with its stdin, stdout and stderr piped.
    pub fn spawn(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().unwrap()
    }

    /// Starts it with its stdin and stdout piped.
    pub fn piped(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        self.command.spawn().unwrap()
    }

    /// Runs it to its end. (stdout is what `stdout` said, else it is collected.)
    pub fn run(self) -> Outcome {
        let outcome = self.run_whatever();
        assert!(!outcome.stderr.contains("panicked at"), "{outcome:?}");
        let plural = plural_of_one(&outcome.stderr);
        assert!(plural.is_none(), "{plural:?}: {outcome:?}");
        outcome
    }

    /// The same, also if it panics.
    pub fn run_whatever(mut self) -> Outcome {
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        let stdout = self.stdout.take().unwrap_or_else(Stdio::piped);
        self.command.stdin(stdin).stdout(stdout).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap_or_else(|e| panic!("{}: {e}", self.shown));
        let feeder = self.input.take().map(|input| {
            let mut stdin = child.stdin.take().unwrap();
            // A filter may stop reading before the end.
            std::thread::spawn(move || drop(stdin.write_all(&input)))
        });
        let output = child.wait_with_output().unwrap();
        if let Some(feeder) = feeder {
            feeder.join().unwrap();
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Outcome { status: output.status, stdout: output.stdout, stderr, shown: self.shown }
    }
}

/// What is counted in messages. (Other words may end in s: "sequence 1 starts".)
const COUNTED: &str = "arguments augmentations bytes calls cells characters chats columns conversations datasets \
                       documents errors examples fields files games groups ids indices inputs keys labels lines \
                       masks members messages moves pairs parts pieces positions prefixes problems puzzles \
                       reasons records rows runs sequences shards slices spans steps tasks threads times tokens \
                       tools turns values warnings";

pub fn is_counted(word: &str) -> bool {
    COUNTED.split_whitespace().any(|counted| counted == word)
}

/// What a message calls one of in the plural: "1 rows".
pub fn plural_of_one(text: &str) -> Option<String> {
    // (This message is of Rust's own library.)
    let text = text.replace("utf-8 sequence of 1 bytes", "");
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_plural = |word: &str| is_counted(word.trim_end_matches([',', '.', ';', ':', ')']));
    let found = words
        .windows(2)
        .find(|pair| matches!(pair[0].trim_start_matches('('), "1") && is_plural(pair[1]));
    found.map(|pair| pair.join(" "))
}

/// How a command ended. Every check shows all of it when it fails.
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    shown: String,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stdout: String = String::from_utf8_lossy(&self.stdout).chars().take(2000).collect();
        let Outcome { status, stderr, shown, .. } = self;
        write!(f, "\n$ {shown}\n{status}\nstderr: {stderr}\nstdout: {stdout}\n")
    }
}

impl Outcome {
    /// The outcome of a command that exited with a code, or that the signal `-code` ended.
    pub fn new(code: i32, stdout: Vec<u8>, stderr: &[u8], shown: String) -> Outcome {
        let status = ExitStatus::from_raw(if code < 0 { -code } else { code << 8 });
        Outcome { status, stdout, stderr: String::from_utf8_lossy(stderr).into_owned(), shown }
    }

    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// The same without line breaks, which stand where the width asks for them.
    pub fn in_a_line(&self) -> String {
        self.text().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The same without the lines that ds-plan prints of each shard where no terminal shows progress.
    pub fn without_shards(mut self) -> Outcome {
        let is_shard = |line: &&str| {
            let mut words = line.split(": ");
            let script = words.next() == Some("ds-plan");
            let ends = |rest: &str| rest == "kept" || rest.contains(" s (");
            script && words.next().is_some() && words.next().is_some_and(ends)
        };
        let rest = self.stderr.lines().filter(|line| !is_shard(line));
        self.stderr = rest.map(|line| format!("{line}\n")).collect();
        self
    }

    /// stdout where it may be no text.
    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The lines of stdout as JSON.
    pub fn records(&self) -> Vec<serde_json::Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// It has done its job.
    #[track_caller]
    pub fn ok(self) -> Outcome {
        assert_eq!(self.code(), Some(0), "{self:?}");
        self
    }

    /// It has done its job and printed nothing on stderr.
    #[track_caller]
    pub fn silent(self) -> Outcome {
        let outcome = self.ok();
        assert!(outcome.stderr.is_empty(), "{outcome:?}");
        outcome
    }

    /// It ended with this exit code, and all of `parts` are on stderr.
    #[track_caller]
    pub fn exits(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code(), Some(code), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in stderr: {self:?}");
        }
    }

    /// It failed with this exit code and one line that contains all of `parts`.
    #[track_caller]
    pub fn fails(self, code: i32, parts: &[&str]) -> Outcome {
        self.exits(code, parts);
        assert_eq!(self.stderr.lines().count(), 1, "not one line: {self:?}");
        self
    }

    /// It failed with this exit code and exactly this line.
    #[track_caller]
    pub fn says(self, code: i32, line: &str) -> Outcome {
        assert_eq!((self.code(), self.stderr.trim_end()), (Some(code), line), "{self:?}");
        self
    }
}
