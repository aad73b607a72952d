//! `TOOL --generate man|bash|zsh|fish|elvish|powershell|options`: the manual page, the shell completions
//! and the options that scripts pass on, made from the same definitions as the help.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;

use super::print;
use super::tool::ForPipelines;
use crate::error::{Error, Result};

/// The date in the title of the manual pages: that of the version in CHANGELOG.md.
const RELEASED: &str = "2026-11-22";

/// Prints what `--generate` asks for, if the command line is that and nothing else.
pub fn generated(mut command: Command, arguments: &[OsString]) -> Option<Result<()>> {
    let (flag, what, of) = match arguments {
        [_, flag, what] => (flag, what, None),
        [_, flag, what, of] => (flag, what, Some(of.to_string_lossy())),
        _ => return None,
    };
    if flag != "--generate" {
        return None;
    }
    command.build();
    let what = what.to_string_lossy();
    let shell = what.parse::<Shell>().ok();
    let part = match &of {
        None => Some(&command),
        Some(of) => command.find_subcommand(&**of),
    };
    Some(match (&*what, part, shell) {
        ("man" | "options", None, _) => {
            let of = of.unwrap_or_default();
            Err(Error::usage(format!("--generate {what} {of}: no such subcommand")))
        }
        ("man", Some(part), _) => print(&page(part, &command)),
        ("options", Some(part), _) => print(&for_pipelines(part)),
        (_, _, Some(shell)) if of.is_none() => completions(command, shell),
        _ => Err(Error::usage(format!(
            "--generate {what}: expected man [SUBCOMMAND], bash, zsh, fish, elvish, powershell or \
             options [SUBCOMMAND]"
        ))),
    })
}

/// A line for each option that scripts pass on: its name, and that of its value.
fn for_pipelines(command: &Command) -> String {
    let mut lines = String::new();
    for argument in command.get_arguments().filter(|a| a.get::<ForPipelines>().is_some()) {
        let value = argument.get_value_names().and_then(|names| names.first());
        let value = value.filter(|_| argument.get_action().takes_values());
        let value = value.map(|name| format!(" {name}")).unwrap_or_default();
        lines += &format!("--{}{value}\n", argument.get_long().unwrap_or_default());
    }
    lines
}

fn completions(mut command: Command, shell: Shell) -> Result<()> {
    let name = command.get_name().to_string();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Bash {
        with_hyphens(&command, &mut script);
    }
    print(&script)
}

/// In bash a command with a hyphen in its name has two names in the script of clap_complete 4.6: one where
/// words are looked at, another where options are offered. Both become the first.
fn with_hyphens(command: &Command, script: &mut String) {
    let name = command.get_name();
    if name.contains('-') {
        let (wrong, right) = (name.replace('-', "__subcmd__"), name.replace('-', "__"));
        *script = script.replace(&wrong, &right);
    }
    command.get_subcommands().for_each(|subcommand| with_hyphens(subcommand, script));
}

/// The manual page of a filter, or of its subcommand, in the macros of man(7).
fn page(command: &Command, filter: &Command) -> String {
    // `puzzle-encode sudoku` is a command, puzzle-encode-sudoku(1) its page.
    let typed = command.get_bin_name().unwrap_or(command.get_name());
    let name = typed.replace(' ', "-");
    let version = concat!("gristmill ", env!("CARGO_PKG_VERSION"));
    let about = text(command.get_about());
    let mut page = format!(
        ".TH {} 1 {RELEASED} \"{version}\"\n.SH NAME\n{} \\- {}\n",
        escaped(&name.to_uppercase()),
        escaped(&name),
        escaped(about.lines().next().unwrap_or_default()),
    );
    page += ".SH SYNOPSIS\n";
    let usage = command.clone().render_usage().to_string();
    for line in usage.trim_start_matches("Usage:").lines().map(str::trim) {
        page += &format!(".B {}\n", line_start(&escaped(line)));
    }
    let long = text(command.get_long_about().or(command.get_about()));
    page += ".SH DESCRIPTION\n";
    page +=
        &paragraphs(long.strip_prefix(&about).unwrap_or(&long).trim_start_matches('\n'), &about);
    page += &options(command);
    page += &subcommands(command, &name);
    page += &closing(&text(filter.get_after_long_help()), typed);
    page += ".SH SEE ALSO\n";
    if typed != filter.get_name() {
        page += &format!(".BR {} (1),\n", escaped(filter.get_name()));
    }
    page + ".BR gristmill (7)\n"
}

/// The options by their headings, as in the help.
fn options(command: &Command) -> String {
    let mut headings: Vec<Option<&str>> = Vec::new();
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    for argument in shown() {
        if !headings.contains(&argument.get_help_heading()) {
            headings.push(argument.get_help_heading());
        }
    }
    // What has no heading comes first.
    headings.sort_by_key(Option::is_some);
    let mut page = String::from(".SH OPTIONS\n");
    for heading in headings {
        if let Some(heading) = heading {
            page += &format!(".SS {}\n", escaped(heading));
        }
        for argument in shown().filter(|argument| argument.get_help_heading() == heading) {
            page += &option(argument);
        }
    }
    page
}

fn option(argument: &Arg) -> String {
    let mut names = Vec::new();
    names.extend(argument.get_short().map(|short| format!("\\fB\\-{short}\\fR")));
    let longs =
        argument.get_long().into_iter().chain(argument.get_visible_aliases().into_iter().flatten());
    names.extend(longs.map(|long| format!("\\fB\\-\\-{}\\fR", escaped(long))));
    let values: Vec<String> = argument
        .get_value_names()
        .into_iter()
        .flatten()
        .map(|name| format!("\\fI{}\\fR", escaped(name)))
        .collect();
    let mut title = names.join(", ");
    if argument.is_positional() || argument.get_action().takes_values() {
        title = [&title, &values.join(" ")].map(|part| part.trim()).join(" ");
    }
    if matches!(argument.get_num_args(), Some(range) if range.max_values() > 1)
        || (argument.is_positional() && matches!(argument.get_action(), ArgAction::Append))
    {
        title += "...";
    }
    let help = text(argument.get_long_help().or(argument.get_help()));
    // A paragraph of its own would end the indentation.
    let mut told = paragraphs(&help, "").replace(".PP\n", ".sp\n");
    let mut add = |what: &str| told += &format!("{}\n", line_start(&escaped(what)));
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if argument.get_action().takes_values()
        && !defaults.is_empty()
        && !argument.is_hide_default_value_set()
    {
        add(&format!("[default: {}]", defaults.join(" ")));
    }
    let possible = argument.get_possible_values();
    let possible: Vec<&str> = possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name())
        .collect();
    let is_shown = !argument.is_hide_possible_values_set();
    if is_shown && !possible.is_empty() && argument.get_action().takes_values() {
        add(&format!("[possible values: {}]", possible.join(", ")));
    }
    if let Some(variable) = argument.get_env() {
        add(&format!("[environment: {}]", variable.to_string_lossy()));
    }
    format!(".TP\n{}\n{told}", title.trim())
}

fn subcommands(command: &Command, name: &str) -> String {
    let shown: Vec<&Command> =
        command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut page = String::from(".SH SUBCOMMANDS\n");
    for subcommand in shown {
        let about = paragraphs(&text(subcommand.get_about()), "");
        page += &format!(
            ".TP\n.BR {}\\-{} (1)\n{about}",
            escaped(name),
            escaped(subcommand.get_name())
        );
    }
    page
}

/// What stands after the options in the help: examples, what goes in and comes out, exit codes.
fn closing(help: &str, typed: &str) -> String {
    let (examples, rest) =
        match help.strip_prefix("Examples:\n").map(|help| help.split_once("\n\n")) {
            Some(Some((examples, rest))) => (examples, rest),
            _ => ("", help),
        };
    // The page of a subcommand has its own examples only. What is further in goes on with a line.
    let mut is_own = false;
    let is_shown = |line: &&str| {
        is_own = if line.starts_with("   ") { is_own } else { line.contains(typed) };
        is_own
    };
    let examples: Vec<&str> = examples.lines().filter(is_shown).collect();
    let examples: Vec<&str> =
        examples.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let mut page = String::new();
    if !examples.is_empty() {
        page += ".SH EXAMPLES\n.RS\n.nf\n";
        page.extend(examples.iter().map(|line| format!("{}\n", line_start(&escaped(line)))));
        page += ".fi\n.RE\n";
    }
    let (records, codes) = rest.split_once("Exit codes: ").unwrap_or((rest, ""));
    page += ".SH INPUT AND OUTPUT\n";
    let records = records.replace(". Out: ", ".\nOut: ");
    for (n, line) in records.lines().enumerate() {
        if n > 0 && line.starts_with("Out: ") {
            page += ".PP\n";
        }
        page += &format!("{}\n", line_start(&escaped(line)));
    }
    page += ".SH EXIT STATUS\n";
    page.extend(codes.lines().map(|line| format!("{}\n", line_start(&escaped(line)))));
    page
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map(StyledStr::to_string).unwrap_or_default()
}

/// The paragraphs of a text, or of another if it is empty.
fn paragraphs(text: &str, otherwise: &str) -> String {
    let text = if text.trim().is_empty() { otherwise } else { text.trim() };
    let mut page = String::new();
    let mut is_gap = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            is_gap = !page.is_empty();
            continue;
        }
        if std::mem::take(&mut is_gap) {
            page += ".PP\n";
        }
        page += &format!("{}\n", line_start(&escaped(line)));
    }
    page
}

/// A text as roff: its minus signs can be copied, and no backslash is a command.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// A line that roff does not take for a request.
fn line_start(line: &str) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_string() }
}
