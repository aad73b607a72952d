//! ds-plan as a program of its own. It holds all filters, since it asks their declarations which options they take.

use std::process::ExitCode;

use clap::Command;

/// The name of a filter, its `main`, and its arguments.
type Filter = (&'static str, fn() -> ExitCode, fn() -> Command);

// build.rs writes it: a module for each file of src/bin, and FILTERS, their names and functions.
include!(concat!(env!("OUT_DIR"), "/filters.rs"));

fn main() -> ExitCode {
    ds_plan::main()
}
