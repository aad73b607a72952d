//! The options of a pipeline's filters as options of ds-plan. The filters declare them (`ForPipelines`); here they
//! are added to a command, and what is given goes to the first filter of the pipeline that takes it.

use clap::builder::{ArgExt, PossibleValue, StringValueParser, StyledStr, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::cli::{self, ForPipelines, as_used};
use crate::error::{Error, Result};

/// Marks an option that belongs to filters.
#[derive(Debug, Clone, Copy)]
struct OfFilter;

impl ArgExt for OfFilter {}

/// Returns the options that a pipeline passes on to a filter.
fn passed_on(filter: &Command) -> impl Iterator<Item = &Arg> {
    filter.get_arguments().filter(|argument| argument.get::<ForPipelines>().is_some())
}

/// Adds to a command those options of the filters that it does not have itself.
pub fn with_options_of(mut command: Command, filters: &[Command]) -> Command {
    for filter in filters {
        for argument in passed_on(filter) {
            let Some(long) = argument.get_long() else { continue };
            if !command.get_arguments().any(|own| own.get_long() == Some(long)) {
                command = command.arg(copied(argument, long, filter.get_name()));
            }
        }
    }
    command
}

/// Any text; completions offer these values.
#[derive(Clone)]
struct OfferedValues(Vec<PossibleValue>);

impl TypedValueParser for OfferedValues {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().cloned()))
    }
}

/// Returns an option as its filter explains it. Its values are for the filter to judge.
fn copied(argument: &Arg, long: &str, filter: &str) -> Arg {
    let copy = Arg::new(long.to_string()).long(long.to_string()).add(OfFilter);
    let mut copy = copy.help_heading(format!("Options of {filter}"));
    let mut notes = String::new();
    if argument.get_action().takes_values() {
        let names = argument.get_value_names().unwrap_or_default();
        let name = names.first().map_or(long.to_uppercase(), |name| name.to_string());
        copy = copy.value_name(name).action(ArgAction::Append);
        let values: Vec<_> =
            argument.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
        if !values.is_empty() && !argument.is_hide_default_value_set() {
            notes += &format!(" [default: {}]", values.join(" "));
        }
        let possible = argument.get_possible_values();
        let are_single = argument.get_value_delimiter().is_none() && !argument.is_ignore_case_set();
        if !possible.is_empty() && are_single {
            // (For completions.)
            copy = copy.value_parser(OfferedValues(possible.clone()));
            copy = copy.hide_possible_values(true);
        }
        if !possible.is_empty() && !argument.is_hide_possible_values_set() {
            let names: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
            notes += &format!(" [possible values: {}]", names.join(", "));
        }
    } else {
        copy = copy.action(ArgAction::SetTrue);
    }
    let with_notes = |text: &StyledStr| format!("{text}{notes}");
    let (help, long_help) = (argument.get_help(), argument.get_long_help());
    copy.help(help.map(with_notes).unwrap_or_default())
        .long_help(long_help.or(help).map(with_notes).unwrap_or_default())
}

/// An option of filters as it was given: its name, and all its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOption {
    flag: String,
    words: Vec<String>,
}

/// Returns the options of filters that a command line gives, in their order there.
pub fn given(command: &Command, matches: &ArgMatches) -> Vec<PassedOption> {
    let mut all: Vec<(usize, PassedOption)> = Vec::new();
    for argument in command.get_arguments().filter(|a| a.get::<OfFilter>().is_some()) {
        let id = argument.get_id().as_str();
        let flag = format!("--{id}");
        let is_switch = !argument.get_action().takes_values();
        let Some(mut indices) = matches.indices_of(id) else { continue };
        if is_switch {
            if matches.get_flag(id) {
                let option = PassedOption { words: vec![flag.clone()], flag };
                all.extend(indices.next_back().map(|index| (index, option)));
            }
            continue;
        }
        let values = matches.get_many::<String>(id).into_iter().flatten();
        all.extend(indices.zip(values).map(|(index, value)| {
            let words = vec![flag.clone(), value.clone()];
            (index, PassedOption { flag: flag.clone(), words })
        }));
    }
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, option)| option).collect()
}

/// Returns for each filter of a pipeline the words of the options that go to it, after looking at their values. `ways`
/// says with what a filter comes into the pipeline that is not in it; if there are none, `without` is what keeps it out.
pub fn of_filters(
    given: &[PassedOption],
    pipeline: &[Option<Command>],
    ways: &[(Command, &str)],
    without: &str,
) -> Result<Vec<Vec<String>>> {
    let takes = |filter: &Command, flag: &str| {
        passed_on(filter).any(|own| own.get_long() == flag.strip_prefix("--"))
    };
    let mut words = vec![Vec::new(); pipeline.len()];
    for PassedOption { flag, words: own } in given {
        let first = pipeline
            .iter()
            .position(|filter| filter.as_ref().is_some_and(|filter| takes(filter, flag)));
        let Some(words) = first.and_then(|first| words.get_mut(first)) else {
            let ways = ways.iter().filter(|(filter, _)| takes(filter, flag));
            let mut ways: Vec<&str> = ways.map(|(_, way)| *way).collect();
            ways.dedup();
            return Err(Error::usage(match ways.as_slice() {
                [] => format!("{flag} is not for {without}"),
                ways => format!("{flag} is for {}", ways.join(" and ")),
            }));
        };
        words.extend(own.iter().cloned());
    }
    for (filter, words) in pipeline.iter().zip(&words) {
        filter.iter().try_for_each(|filter| check(filter, words))?;
    }
    Ok(words)
}

/// Fails if a filter does not take the values of its options.
fn check(filter: &Command, words: &[String]) -> Result<()> {
    let name = filter.get_name().to_string();
    let line = [std::slice::from_ref(&name), words, &["--help".to_string()]].concat();
    match as_used(filter.clone()).try_get_matches_from(line) {
        Err(error) if error.use_stderr() => {
            let cause = cli::cause_of(&error);
            Err(Error::usage(format!("{cause}; see {name} --help")))
        }
        _ => Ok(()),
    }
}
