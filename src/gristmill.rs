//! gristmill: all filters in one program, for packages, which would else hold the library as many
//! times as there are filters. `gristmill ds-cat ...`, or a link with the name of a filter.

use std::path::Path;
use std::process::ExitCode;

use gristmill::cli;
use gristmill::program;

/// The name of a filter, and its `main`.
type Filter = (&'static str, fn() -> ExitCode);

// build.rs writes it: a module for each file of src/bin, and FILTERS, their names and functions.
include!(concat!(env!("OUT_DIR"), "/filters.rs"));

fn main() -> ExitCode {
    let words = program::command_line();
    let word = words.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    match FILTERS.iter().find(|(name, _)| word == *name) {
        Some((_, filter)) => filter(),
        None => explain(&word.to_string_lossy()),
    }
}

/// What is said where no filter is named.
fn explain(word: &str) -> ExitCode {
    let names: Vec<&str> = FILTERS.iter().map(|(name, _)| *name).collect();
    let help = format!(
        "Usage: {} FILTER [ARGUMENTS]\n\nFilters, each with --help of its own:\n  {}\n",
        program::ALL,
        names.join("\n  ")
    );
    let text = match word {
        "-h" | "--help" => help,
        "-V" | "--version" => format!("{} {}\n", program::ALL, env!("CARGO_PKG_VERSION")),
        _ => {
            let cause = if word.is_empty() { "no filter is named" } else { "no such filter" };
            let name = if word.is_empty() { String::new() } else { format!("{word}: ") };
            cli::tell(&format!("{}: {name}{cause}; try: {} --help", program::ALL, program::ALL));
            return ExitCode::from(2);
        }
    };
    match cli::print(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::tell(&format!("{}: {error}", program::ALL));
            ExitCode::from(error.exit_code())
        }
    }
}
