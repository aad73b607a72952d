//! What every filter shares: arguments, errors and exit codes, progress, signals, atomic outputs. This
//! module does not know records or formats.

mod args;
mod generate;
mod memory;
mod messages;
mod own_file;
mod progress;
mod rejects;
mod select;
mod terminal;
mod tool;

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Arg, Command, Parser};

use crate::chain;
use crate::error::{Error, Kind, Result};
use crate::failure::Failure;
use crate::inputs;
use crate::program;
use crate::provenance::Build;
use crate::signals;
use crate::visible;

pub use args::{
    CommonArgs, Encoding, FileForms, InputArgs, InputCheckArgs, JobsArgs, LimitArgs,
    MAX_RECORD_BYTES, OnError, OnErrorArgs, OutputArgs, SinkArgs, Slice, on_disk,
};
pub use generate::generated;
pub use memory::keep_freed_memory;
pub use own_file::is_of_manifests;
pub use progress::{EveryMinute, Line, Progress, Report, When, far, time_left};
pub use rejects::{RejectedContent, Rejection, Rejects, join_rejects};
pub use select::{Choice, RecordRange, SelectArgs, all_there, draw, records_in, runs_within};
pub use terminal::{ColorArgs, ColorWhen, screen_size};
pub use tool::{ForPipelines, NoStream, Tool, WithoutEffect, writes_records};

pub use crate::wording::{counted, grouped, ordinal, size};

/// The body of every `main`: parses the arguments, runs the filter, prints the one error line,
/// and turns the outcome into an exit code.
pub fn main<A: Parser>(
    sources: program::Sources,
    run: impl FnOnce(A, &Tool) -> Result<()>,
) -> ExitCode {
    program::set_sources(sources);
    signals::die_of_closed_pipes();
    let arguments = program::command_line();
    let command = A::command();
    let without_stream = Tool::named(command.get_name());
    if let Some(outcome) = generate::generated(&command, &arguments) {
        return exit_code(outcome, &without_stream);
    }
    match parse::<A>(command, &arguments) {
        Ok((arguments, tool)) => {
            let outcome = match run(arguments, &tool) {
                // The output is not complete yet: the last filter of the chain looks at the inputs.
                Ok(()) if chain::stdout().is_some() => Ok(()),
                outcome => inputs::confirm(outcome),
            };
            exit_code(outcome, &tool)
        }
        Err(error) if error.use_stderr() => {
            let error = in_plain_words::<A>(error, &arguments);
            // The arguments that could be parsed show where the results would go.
            let command = A::command().ignore_errors(true);
            if let Ok(matches) = command.clone().try_get_matches_from(&arguments) {
                end_stream(&Tool::of(&command, &matches), &Error::usage(cause_of(&error)));
            }
            tell_usage(A::command().get_name(), &error);
            ended_with(Kind::Usage.exit_code())
        }
        // The help and the version are results too.
        Err(help) => {
            let print = || help.print().map_err(|error| Error::write(STDOUT, &error));
            exit_code(refuse_closed_stdout().and_then(|()| print()), &without_stream)
        }
    }
}

/// Returns the cause of a usage error in one line.
pub fn cause_of(error: &clap::Error) -> String {
    let line = first_message(&error.to_string());
    line.strip_prefix("error: ").map(str::to_string).unwrap_or(line)
}

/// Returns the first of some messages in one line. (What is missing stands on lines of its own, with spaces before it.)
pub fn first_message(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let more = lines.take_while(|line| line.starts_with(' ')).map(str::trim);
    std::iter::once(first).chain(more).collect::<Vec<_>>().join(" ")
}

/// Prints a usage error in the form of every other: the tool first.
fn tell_usage(tool: &str, error: &clap::Error) {
    let text = error.render();
    let text =
        if std::io::stderr().is_terminal() { text.ansi().to_string() } else { text.to_string() };
    let rest = text.split_once("error:").map_or(text.as_str(), |(_, rest)| rest);
    let rest = rest.strip_prefix("\x1b[0m").unwrap_or(rest).trim_end();
    let _ = std::io::stderr().write_all(format!("{tool}:{rest}\n").as_bytes());
}

/// Returns the usage error of a command line with its arguments in printable form, since they may come
/// from anywhere (`*`, `xargs`).
fn in_plain_words<A: Parser>(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let plain = |argument: &OsString| visible::line(&argument.to_string_lossy()).into_owned();
    let plain: Vec<OsString> = arguments.iter().map(|argument| plain(argument).into()).collect();
    if plain == *arguments {
        error
    } else {
        parse::<A>(A::command(), &plain).err().unwrap_or(error)
    }
}

/// Prints the one line of a failure, unless the filter before has printed it; returns the exit
/// code.
fn exit_code(outcome: Result<()>, tool: &Tool) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    signals::end_if_told_to_stop();
    if error.failure().is_none() || tool.is_verbose {
        tool.tell(&error.to_string());
    }
    end_stream(tool, &error);
    ended_with(error.exit_code())
}

fn ended_with(code: u8) -> ExitCode {
    chain::note_exit_code(code);
    ExitCode::from(code)
}

thread_local! {
    static STREAM_HAS_ENDED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the stream on stdout is complete: later failures are not sent to its reader.
pub fn stream_ends() {
    if chain::stdout().is_none() {
        inputs::settle();
    }
    STREAM_HAS_ENDED.set(true);
}

/// The place of errors of writing results.
pub const STDOUT: &str = "stdout";

/// Tells the reader of an Arrow stream why it ends here.
fn end_stream(tool: &Tool, error: &Error) {
    let mut stdout = std::io::stdout();
    let link = chain::stdout();
    let goes_on = link.is_some() || tool.streams_arrow && !stdout.is_terminal();
    // (A write that failed may have left a part of a message, and the trailer would be read as its rest.)
    let is_broken = error.place().is_some_and(|place| &*place.source == STDOUT);
    if STREAM_HAS_ENDED.get() || !goes_on || is_broken {
        return;
    }
    let failure = error.failure().cloned().unwrap_or_else(|| Failure {
        tool: tool.name().to_string(),
        exit_code: error.exit_code(),
        message: error.to_string(),
    });
    // Neither a reader that has gone nor a full disk changes the exit code.
    if let Some(link) = link {
        let _ = link.send(chain::Part::Failed(failure));
        return;
    }
    signals::survive_closed_pipes();
    let _ = stdout.write_all(&failure.to_trailer()).and_then(|()| stdout.flush());
}

fn parse<A: Parser>(command: Command, arguments: &[OsString]) -> Result<(A, Tool), clap::Error> {
    let mut command = as_used(command.long_version(version()));
    let matches = command.try_get_matches_from_mut(arguments)?;
    let tool = Tool::of(&command, &matches);
    let parsed = A::from_arg_matches(&matches).map_err(|error| error.format(&mut A::command()))?;
    Ok((parsed, tool))
}

/// Returns the text of `--version`.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| Build::own().in_words())
}

/// Returns the command as it is used. The help has 80 columns at most. Options under a heading are rare
/// ones, which `-h` does not show. Options accept `-1` as a value, so that the error says what is wrong
/// with that value.
pub fn as_used(command: Command) -> Command {
    let takes = |argument: &Arg| argument.get_action().takes_values() && !argument.is_positional();
    let command = command.mut_args(|argument| {
        let is_rare = argument.is_hide_short_help_set() || argument.get_help_heading().is_some();
        let argument = argument.hide_short_help(is_rare);
        if takes(&argument) { argument.allow_negative_numbers(true) } else { argument }
    });
    command.max_term_width(80).mut_subcommands(as_used)
}

/// Prints a line for the user on stderr. (A stderr that cannot be written is no reason to fail.) Text from
/// data and names is escaped: it stays in the line, and a terminal does not obey it.
pub fn tell(message: &str) {
    // In one piece: the filters of a pipeline often fail together.
    let line = format!("{}\n", visible::line(message));
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Refuses to write results to a closed stdout: they would be lost, with exit code 0.
pub fn refuse_closed_stdout() -> Result<()> {
    match program::is_closed(program::STDOUT) {
        true => Err(Error::usage("stdout is closed, and the results go there")),
        false => Ok(()),
    }
}

/// Prints a report for people to stdout, in lines of ours.
pub fn print_text(text: &str) -> Result<()> {
    print(&visible::lines(text))
}

/// Writes a result that is not a stream of records to stdout.
pub fn print(text: &str) -> Result<()> {
    refuse_closed_stdout()?;
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Error::write(STDOUT, &error))
}

/// Refuses to write binary to a terminal.
pub fn refuse_terminal(to: Encoding) -> Result<()> {
    if to == Encoding::Arrow && std::io::stdout().is_terminal() {
        return Err(Error::usage("an Arrow stream is binary and stdout is a terminal")
            .hint("--to ndjson, or `| cat`"));
    }
    Ok(())
}

/// Checks `--expect-records N`, which replaces the end marker in NDJSON. If there are too few records,
/// another try may help (the producer died); too many are always wrong.
pub fn expect_records(expected: Option<u64>, came: u64) -> Result<()> {
    match expected {
        Some(expected) if came < expected => Err(Error::unavailable(format!(
            "expected {}, got {}",
            counted(expected, "record"),
            grouped(came)
        ))),
        Some(expected) if came > expected => Err(Error::data(format!(
            "expected {}, got {}",
            counted(expected, "record"),
            grouped(came)
        ))),
        _ => Ok(()),
    }
}
