//! All filters, for the programs that hold all of them: gristmill, so that packages hold the library only once, and
//! ds-plan, which asks the filters' declarations which options they take.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use gristmill::chain::{self, PIPE};
use gristmill::cli;
use gristmill::error::{At, Error, Result};
use gristmill::program;

/// The name of a filter, its `main`, and its arguments.
type Filter = (&'static str, fn() -> ExitCode, fn() -> Command);

// build.rs writes it: a module for each file of src/bin, and FILTERS, their names and functions.
include!(concat!(env!("OUT_DIR"), "/filters.rs"));

#[cfg(feature = "plans")]
pub use ds_plan::main as ds_plan;

/// Runs the filter that the command line names: `gristmill ds-cat ...`, or a link with the name of a filter.
pub fn gristmill() -> ExitCode {
    gristmill::subjects::install();
    let words = program::command_line();
    // (A link with the name of a filter is that filter, whatever follows.)
    let is_own = words.len() < std::env::args_os().len();
    // (The pipes of ds-plan are those of its tasks.)
    let has_pipes = words.iter().any(|word| word == PIPE) && words[0] != "ds-plan";
    if is_own && has_pipes {
        return exit_code(chain(&words).map(ExitCode::from));
    }
    match filter(&words) {
        Some((_, filter, _)) => filter(),
        None => exit_code(of_all(&words).map(|()| ExitCode::SUCCESS)),
    }
}

fn exit_code(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        cli::tell(&format!("{}: {error}", program::ALL));
        ExitCode::from(error.exit_code())
    })
}

/// Returns the filter that the first word names.
fn filter(words: &[OsString]) -> Option<&'static Filter> {
    let word = words.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    FILTERS.iter().find(|(name, ..)| word == *name)
}

/// Runs the filters of a command line in this process, each on a thread; returns the exit code of the first cause.
fn chain(words: &[OsString]) -> Result<u8> {
    let mut filters = Vec::new();
    let mut parts = words.split(|word| word == PIPE).peekable();
    while let Some(words) = parts.next() {
        let name = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        let Some((name, main, command)) = filter(words) else { return Err(no_such(&name)) };
        let is_last = parts.peek().is_none();
        let is_to = |word: &OsString| word == "--to" || word.to_string_lossy().starts_with("--to=");
        if !is_last && !cli::writes_records(&command()) {
            return Err(Error::usage(format!("{name} writes no records for the next filter")));
        }
        if !is_last && words.iter().any(is_to) {
            let cause = format!("{name} --to: the next filter gets records as they are, in memory");
            return Err(Error::usage(cause).hint("without --to"));
        }
        filters.push((words.to_vec(), *main));
    }
    chain::run(filters).at("threads")
}

/// Returns all filters as subcommands.
fn all() -> Command {
    let all = Command::new(program::ALL)
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(cli::version())
        .about("Small Unix filters that grind raw data into training-ready datasets")
        .after_help(
            "gristmill help FILTER, or FILTER --help, says what a filter does.\n\n\
             gristmill FILTER ... '|' FILTER ... runs filters in one process: as a pipe between them, in less time.",
        )
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
    if let Some(done) = cli::generated(&all(), &line) {
        return done;
    }
    let word = |place: usize| words.get(place).map(|word| word.to_string_lossy());
    let (first, second) = (word(0), word(1));
    match (first.as_deref(), second.as_deref()) {
        (Some("-h" | "--help" | "help"), None) => cli::print(&all().render_help().to_string()),
        (Some("-V"), _) => cli::print(&all().render_version()),
        (Some("--version"), _) => cli::print(&all().render_long_version()),
        (Some("help"), Some(name)) => match FILTERS.iter().find(|(known, ..)| *known == name) {
            Some((_, _, command)) => {
                cli::print(&cli::as_used(command()).render_long_help().to_string())
            }
            None => Err(no_such(name)),
        },
        (Some(name), _) => Err(no_such(name)),
        (None, _) => Err(no_such("")),
    }
}

fn no_such(name: &str) -> Error {
    let cause = match name {
        "" => "no filter is named".to_string(),
        name => format!("{name}: no such filter"),
    };
    Error::usage(cause).hint(format!("{} help", program::ALL))
}
