//! ds-plan as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    gristmill_filters::ds_plan()
}
