//! gristmill: all filters in one program, for packages, which would else hold the library as many
//! times as there are filters. `gristmill ds-cat ...`, or a link with the name of a filter.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use gristmill::cli;
use gristmill::error::{Error, Result};
use gristmill::program;

/// The name of a filter, its `main`, and its arguments.
type Filter = (&'static str, fn() -> ExitCode, fn() -> Command);

// build.rs writes it: a module for each file of src/bin, and FILTERS, their names and functions.
include!(concat!(env!("OUT_DIR"), "/filters.rs"));

fn main() -> ExitCode {
    let words = program::command_line();
    let word = words.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    match FILTERS.iter().find(|(name, ..)| word == *name) {
        Some((_, filter, _)) => filter(),
        None => match of_all(&words) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                cli::tell(&format!("{}: {error}", program::ALL));
                ExitCode::from(error.exit_code())
            }
        },
    }
}

/// Returns all filters as subcommands.
fn all() -> Command {
    let all = Command::new(program::ALL)
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(cli::version())
        .about("Small Unix filters that grind raw data into training-ready datasets")
        .after_help("gristmill help FILTER, or FILTER --help, says what a filter does.")
        .subcommand_value_name("FILTER")
        .subcommand_help_heading("Filters")
        .subcommands(FILTERS.iter().map(|(_, _, command)| command()));
    cli::as_used(all)
}

/// Answers a command line of this program that names no filter.
fn of_all(words: &[OsString]) -> Result<()> {
    program::set_sources(gristmill::sources!());
    explain(words)
}

/// Explains a command line that names no filter.
fn explain(words: &[OsString]) -> Result<()> {
    // `--generate` needs the program's name, too.
    let line = [&[program::ALL.into()], words].concat();
    if let Some(done) = cli::generated(all(), &line) {
        return done;
    }
    let word = |place: usize| words.get(place).map(|word| word.to_string_lossy());
    let (first, second) = (word(0), word(1));
    let wrong = |cause: &str| Err(Error::usage(cause).hint(format!("{} help", program::ALL)));
    match (first.as_deref(), second.as_deref()) {
        (Some("-h" | "--help" | "help"), None) => cli::print(&all().render_help().to_string()),
        (Some("-V"), _) => cli::print(&all().render_version()),
        (Some("--version"), _) => cli::print(&all().render_long_version()),
        (Some("help"), Some(name)) => match FILTERS.iter().find(|(known, ..)| *known == name) {
            Some((_, _, command)) => {
                cli::print(&cli::as_used(command()).render_long_help().to_string())
            }
            None => wrong(&format!("{name}: no such filter")),
        },
        (Some(name), _) => wrong(&format!("{name}: no such filter")),
        (None, _) => wrong("no filter is named"),
    }
}
