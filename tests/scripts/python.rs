//! The trainer's half in Python, by its own tests.
//!
//! Runs when `GRISTMILL_PYTHON` names a Python with numpy, and again, with what needs torch and
//! Megatron, when `GRISTMILL_TORCH_PYTHON` names one that has them; else it says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Tool, bin_dir, python, torch_python};

fn discover(python: PathBuf) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let mut command = Command::new(python);
    command.args(["-m", "unittest", "discover", "-s", "tests"]);
    command.env("PYTHONPATH", &directory).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("GRISTMILL_BIN", bin_dir());
    let outcome = Tool::new(command, "python -m unittest discover").in_directory(&directory).run();
    outcome.exits(0, &["\nOK"]);
    outcome.stderr
}

#[test]
fn the_python_package_passes_its_tests() {
    let Some(python) = python() else { return };
    discover(python);
}

#[test]
fn the_python_package_passes_its_tests_with_torch() {
    let Some(python) = torch_python() else { return };
    let report = discover(python);
    assert!(!report.contains("torch is not installed"), "{report}");
}
