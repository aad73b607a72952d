//! gristmill: all filters in one program.

use std::process::ExitCode;

fn main() -> ExitCode {
    gristmill_filters::gristmill()
}
