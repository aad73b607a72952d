//! The filter that runs: its name, and its arguments as recorded in the provenance.

use clap::builder::ArgExt;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use serde_json::{Value, json};

/// Marks an argument that does not change the records. It is not in the provenance, so that the bytes are the
/// same for any number of threads and any place of the output.
#[derive(Debug, Clone, Copy)]
pub struct WithoutEffect;

impl ArgExt for WithoutEffect {}

/// Marks an option that scripts pass on to the filter unchanged. The scripts ask the filter for these options
/// (`--generate options`), so that an option is declared only once.
#[derive(Debug, Clone, Copy)]
pub struct ForPipelines;

impl ArgExt for ForPipelines {}

/// Marks an argument with which stdout holds no stream of records.
#[derive(Debug, Clone, Copy)]
pub struct NoStream;

impl ArgExt for NoStream {}

/// The running filter.
#[derive(Debug, Clone)]
pub struct Tool {
    name: String,
    arguments: Vec<String>,
    /// The arguments on the command line, by their ids in the definition.
    given: Vec<String>,
    /// Whether its stdout is an Arrow stream.
    pub(super) streams_arrow: bool,
    /// Whether `--verbose` is given.
    pub(super) is_verbose: bool,
}

impl Tool {
    /// Returns the tool of a parsed command line.
    pub(super) fn of(command: &Command, matches: &ArgMatches) -> Tool {
        let is_verbose = matches!(matches.try_get_one("verbose"), Ok(Some(true)));
        Tool {
            name: command.get_name().to_string(),
            arguments: with_effect(command, matches),
            given: given_arguments(matches),
            streams_arrow: streams_arrow(command, matches),
            is_verbose,
        }
    }

    pub(super) fn named(name: &str) -> Tool {
        let (name, arguments) = (name.to_string(), Vec::new());
        let given = Vec::new();
        Tool { name, arguments, given, streams_arrow: false, is_verbose: false }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the command line gives an argument (a variable or a default does not count).
    pub fn is_given(&self, id: &str) -> bool {
        self.given.iter().any(|given| given == id)
    }

    /// Returns its entry in the provenance chain: name, version, arguments.
    pub fn entry(&self) -> Value {
        let Tool { name, arguments, .. } = self;
        json!({"name": name, "version": env!("CARGO_PKG_VERSION"), "arguments": arguments})
    }

    /// Prints a line for the user on stderr, after the tool's name.
    pub fn tell(&self, line: &str) {
        super::tell(&format!("{}: {line}", self.name));
    }
}

/// The argument that chooses the encoding of stdout, and its value for Arrow.
const TO: &str = "to";
const ARROW: &str = "arrow";

fn given_arguments(matches: &ArgMatches) -> Vec<String> {
    let ids = matches.ids().map(|id| id.as_str());
    let on_line = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    ids.filter(on_line).map(str::to_string).collect()
}

/// Whether a filter writes a stream of records to stdout.
pub fn writes_records(command: &Command) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == TO)
        || command.get_subcommands().any(writes_records)
}

/// Whether stdout is an Arrow stream.
fn streams_arrow(command: &Command, matches: &ArgMatches) -> bool {
    if let Some((name, matches)) = matches.subcommand() {
        return command
            .find_subcommand(name)
            .is_some_and(|command| streams_arrow(command, matches));
    }
    let value = matches.try_get_raw(TO).ok().flatten().and_then(|mut values| values.next());
    let is_elsewhere = |argument: &Arg| {
        let id = argument.get_id().as_str();
        let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
        // `-o -` is stdout.
        let mut values = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
        argument.get::<NoStream>().is_some() && is_given && !values.any(|value| value == "-")
    };
    value.is_some_and(|value| value == ARROW) && !command.get_arguments().any(is_elsewhere)
}

/// Returns the arguments of the command line that change the output, in their order there, each
/// written in one way: `-c 1`, `--count=1` and `--count 1` are `--count 1`.
fn with_effect(command: &Command, matches: &ArgMatches) -> Vec<String> {
    let mut given: Vec<(usize, Vec<String>)> = Vec::new();
    let counts = |argument: &&Arg| {
        argument.get::<WithoutEffect>().is_none()
            && matches.try_contains_id(argument.get_id().as_str()).is_ok()
            && matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    for argument in command.get_arguments().filter(counts) {
        let id = argument.get_id().as_str();
        let mut indices = matches.indices_of(id).into_iter().flatten();
        for occurrence in matches.get_raw_occurrences(id).into_iter().flatten() {
            let values: Vec<String> =
                occurrence.map(|value| value.to_string_lossy().into_owned()).collect();
            let Some(index) = indices.by_ref().take(values.len()).min() else { continue };
            given.push((index, written(argument, values)));
        }
    }
    given.sort_by_key(|(index, _)| *index);
    let mut arguments: Vec<String> = given.into_iter().flat_map(|(_, words)| words).collect();
    if let Some((name, matches)) = matches.subcommand() {
        arguments.push(name.to_string());
        let subcommand = command.find_subcommand(name);
        arguments.extend(subcommand.into_iter().flat_map(|c| with_effect(c, matches)));
    }
    arguments
}

/// Returns one occurrence of an argument as words.
fn written(argument: &Arg, values: Vec<String>) -> Vec<String> {
    let flag = match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => Some(format!("--{long}")),
        (None, Some(short)) => Some(format!("-{short}")),
        (None, None) => None,
    };
    let values = match argument.get_value_delimiter() {
        Some(delimiter) => vec![values.join(&delimiter.to_string())],
        None => values,
    };
    // A switch has the value true.
    let takes_values = argument.get_action().takes_values();
    flag.into_iter().chain(values.into_iter().filter(|_| takes_values)).collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

    use super::*;
    use crate::cli::{CommonArgs, InputArgs, JobsArgs, OutputArgs};

    #[derive(Parser)]
    #[command(name = "mill")]
    struct Args {
        #[command(flatten)]
        input: InputArgs,
        #[arg(long, value_delimiter = ',')]
        columns: Vec<String>,
        #[arg(long)]
        pair: Vec<String>,
        #[arg(long, num_args = 1..)]
        concat: Vec<String>,
        #[arg(short, long)]
        strict: bool,
        #[command(flatten)]
        jobs: JobsArgs,
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        common: CommonArgs,
        #[command(subcommand)]
        inner: Option<Inner>,
    }

    #[derive(Subcommand)]
    enum Inner {
        Grind {
            #[arg(long)]
            seed: u64,
            #[arg(short, long, add = WithoutEffect)]
            output: String,
        },
    }

    fn arguments(line: &str) -> Vec<String> {
        let words = ["mill"].into_iter().chain(line.split_whitespace());
        let matches = Args::command().get_matches_from(words);
        assert!(Args::from_arg_matches(&matches).is_ok());
        Tool::of(&Args::command(), &matches).arguments
    }

    #[test]
    fn threads_and_places_leave_no_trace() {
        for line in [
            "-j 2 a --jobs=4 --to arrow --slice 0/3 -q",
            "--workers 5 a --slice=0/3",
            "--threads 5 a --slice=0/3",
            "a -qj8 --slice=0/3 --to ndjson",
        ] {
            let line = line.replace("-j 2 a --jobs=4", "-j 2 a");
            assert_eq!(arguments(&line), ["a", "--slice", "0/3"]);
        }
        assert_eq!(arguments("grind --seed 3 -o x"), ["grind", "--seed", "3"]);
    }

    #[test]
    fn every_argument_is_written_in_one_way() {
        assert_eq!(
            arguments("b --pair x=1 --columns=p,q a --pair=y=2 -s"),
            ["b", "--pair", "x=1", "--columns", "p,q", "a", "--pair", "y=2", "--strict"]
        );
        assert_eq!(arguments("--concat a b --strict"), ["--concat", "a", "b", "--strict"]);
    }
}
