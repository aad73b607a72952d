//! Scripts of tests/oracle.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::Mutex;

use serde_json::json;

use super::TempDir;
use super::run::{Outcome, Tool};

/// A script of tests/oracle, run by the Python of the oracles.
pub fn oracle(python: &Path, script: &str, arguments: &[&str]) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle").join(script);
    let shown = format!("python {script} {}", arguments.join(" "));
    run(python, json!({"script": path.to_str().unwrap(), "arguments": arguments}), shown)
}

/// `python -c CODE`.
pub fn python_code(python: &Path, code: &str, arguments: &[&str]) -> Outcome {
    let shown = format!("python -c {code:?} {}", arguments.join(" "));
    run(python, json!({"code": code, "arguments": arguments}), shown)
}

/// A process of `server.py`.
struct Server {
    // (Its end is the end of its stdin.)
    _process: Child,
    jobs: ChildStdin,
    codes: BufReader<ChildStdout>,
}

/// The servers that have nothing to do, by their Python: as many as ever ran at once.
static SERVERS: Mutex<Option<HashMap<PathBuf, Vec<Server>>>> = Mutex::new(None);

fn run(python: &Path, mut job: serde_json::Value, shown: String) -> Outcome {
    let idle = SERVERS.lock().unwrap().get_or_insert_default().get_mut(python).and_then(Vec::pop);
    let mut server = idle.unwrap_or_else(|| Server::start(python));
    let dir = TempDir::new();
    for name in ["stdout", "stderr"] {
        job[name] = dir.at(name).into();
    }
    writeln!(server.jobs, "{job}").unwrap();
    let mut code = String::new();
    server.codes.read_line(&mut code).unwrap();
    SERVERS.lock().unwrap().get_or_insert_default().entry(python.into()).or_default().push(server);
    let code = code.trim().parse().unwrap_or_else(|_| panic!("{shown}: the server ended"));
    Outcome::new(code, dir.read("stdout"), &dir.read("stderr"), shown)
}

impl Server {
    fn start(python: &Path) -> Server {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/server.py");
        let mut command = Command::new(python);
        command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
        let mut process = Tool::new(command, script).piped();
        let (jobs, codes) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Server { _process: process, jobs, codes: BufReader::new(codes) }
    }
}
