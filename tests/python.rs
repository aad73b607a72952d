//! The trainer's half in Python, by its own tests.
//!
//! Runs when `GRISTMILL_PYTHON` names a Python with numpy; else it says that it was skipped.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Tool, python};

#[test]
fn the_python_package_passes_its_tests() {
    let Some(python) = python() else { return };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let mut command = Command::new(python);
    command.args(["-m", "unittest", "discover", "-s", "tests"]);
    command.env("PYTHONPATH", &directory).env("PYTHONDONTWRITEBYTECODE", "1");
    let outcome = Tool::new(command, "python -m unittest discover").in_directory(&directory).run();
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("\nOK"), "{outcome:?}");
}
