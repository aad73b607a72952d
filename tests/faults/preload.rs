//! The preloaded library: compiled once, steered by variables, its counts read back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The kinds of calls, in the order of their counters. The last counts all of them.
pub const CALLS: [&str; 17] = [
    "open",
    "create",
    "read",
    "write",
    "sync",
    "rename",
    "unlink",
    "mkdir",
    "list",
    "stat",
    "mmap",
    "thread",
    "truncate",
    "lock",
    "piperead",
    "pipewrite",
    "any",
];

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Errno(i32),
    /// From this call on.
    ErrnoFromNowOn(i32),
    Signal(i32),
}

impl What {
    pub fn name(self) -> String {
        let errno = |number| match number {
            libc::EIO => "EIO".to_string(),
            libc::ENOSPC => "ENOSPC".to_string(),
            libc::EINTR => "EINTR".to_string(),
            libc::EAGAIN => "EAGAIN".to_string(),
            other => format!("errno {other}"),
        };
        match self {
            What::Errno(number) => errno(number),
            What::ErrnoFromNowOn(number) => errno(number) + " on",
            What::Signal(number) => format!("signal {number}"),
        }
    }
}

/// The `at`-th call of a kind, from 1.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub call: &'static str,
    pub at: u64,
    pub what: What,
}

/// Which calls count: of processes with these names, on files below a directory.
#[derive(Debug, Clone)]
pub struct Watch {
    pub process: String,
    pub under: PathBuf,
}

/// The library, compiled at the first call; `None`, with a line on stderr, if there is no C compiler.
pub fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIBRARY.get_or_init(compile).as_deref()
}

fn compile() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/preload.c");
    let directory = tempfile::Builder::new().prefix("gristmill-faults-").tempdir().unwrap().keep();
    let library = directory.join("preload.so");
    let flags = ["-O1", "-fPIC", "-shared", "-fno-delete-null-pointer-checks", "-w", "-o"];
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    command.args(flags).arg(&library).arg(source).args(["-ldl", "-lpthread"]);
    match command.output() {
        Ok(output) if output.status.success() => Some(library),
        Ok(output) => panic!("preload.c: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            eprintln!("skipped: no C compiler: {error}");
            None
        }
    }
}

/// The variables that load the library and say what fails; nothing fails without a fault. The
/// counters and the log are files of `scratch`.
pub fn variables(scratch: &Path, watch: &Watch, fault: Option<Fault>) -> Vec<(String, String)> {
    let text = |path: &Path| path.to_str().unwrap().to_string();
    fs::write(scratch.join("counters"), [0; 8 * CALLS.len()]).unwrap();
    let _ = fs::remove_file(scratch.join("log"));
    let mut variables = vec![
        ("LD_PRELOAD", text(library().unwrap())),
        ("FAULT_COUNTERS", text(&scratch.join("counters"))),
        ("FAULT_LOG", text(&scratch.join("log"))),
        ("FAULT_PROCESS", watch.process.clone()),
        ("FAULT_UNDER", text(&watch.under)),
    ];
    if let Some(Fault { call, at, what }) = fault {
        variables.extend([("FAULT_CALL", call.to_string()), ("FAULT_AT", at.to_string())]);
        match what {
            What::Errno(number) => variables.push(("FAULT_ERRNO", number.to_string())),
            What::ErrnoFromNowOn(number) => variables
                .extend([("FAULT_ERRNO", number.to_string()), ("FAULT_STICKY", "1".to_string())]),
            What::Signal(number) => variables.push(("FAULT_SIGNAL", number.to_string())),
        }
    }
    variables.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// How many calls of each kind the last run made.
pub fn counts(scratch: &Path) -> Vec<(&'static str, u64)> {
    let bytes = fs::read(scratch.join("counters")).unwrap();
    let numbers = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()));
    CALLS.into_iter().zip(numbers).collect()
}

/// The files at whose calls the fault came, in the order in which it did.
pub fn hits(scratch: &Path) -> Vec<String> {
    noted(scratch).into_iter().map(|(_, file)| file).collect()
}

/// The same with the calls (`sync_file_range` is "range").
pub fn noted(scratch: &Path) -> Vec<(String, String)> {
    let log = fs::read_to_string(scratch.join("log")).unwrap_or_default();
    let words = |line: &str| {
        let (_process, rest) = line.split_once(' ')?;
        rest.split_once(' ').map(|(call, file)| (call.to_string(), file.to_string()))
    };
    log.lines().filter_map(words).collect()
}
