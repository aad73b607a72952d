//! `TOOL --generate man|bash|zsh|fish|options`: the manual page, the shell completions
//! and the options that scripts pass on, made from the same definitions as the help.

use std::ffi::OsString;

use clap::Command;
use clap::builder::StyledStr;
use clap_complete::Shell;
use clap_mangen::Man;

use super::print;
use super::tool::ForPipelines;
use crate::error::{Error, Result};

/// The date in the title of the manual pages: the date of the version in CHANGELOG.md.
const RELEASED: &str = "2026-11-26";

/// The shells whose completions are tested.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

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
    let shell = SHELLS.into_iter().find(|shell| shell.to_string() == what);
    let part = match &of {
        None => Some(&command),
        Some(of) => command.find_subcommand(&**of),
    };
    Some(match (&*what, part, shell) {
        ("man" | "options", None, _) => {
            let of = of.unwrap_or_default();
            Err(Error::usage(format!("--generate {what} {of}: no such subcommand")))
        }
        ("man", Some(part), _) => page(part, &command).and_then(|page| print(&page)),
        ("options", Some(part), _) => print(&for_pipelines(part)),
        (_, _, Some(shell)) if of.is_none() => completions(command, shell),
        _ => Err(Error::usage(format!(
            "--generate {what}: expected man [SUBCOMMAND], bash, zsh, fish or options [SUBCOMMAND]"
        ))),
    })
}

/// Returns a line for each option that scripts pass on: its name, and the name of its value.
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

/// Corrects the bash script of clap_complete 4.6, which has two names for a command with a hyphen: one for
/// reading words, another for offering options. Both become the first.
fn with_hyphens(command: &Command, script: &mut String) {
    let name = command.get_name();
    if name.contains('-') {
        let (wrong, right) = (name.replace('-', "__subcmd__"), name.replace('-', "__"));
        *script = script.replace(&wrong, &right);
    }
    command.get_subcommands().for_each(|subcommand| with_hyphens(subcommand, script));
}

/// Returns the manual page of a filter, or of its subcommand. The end of the help is written here, since
/// the crate would fill the examples as a paragraph.
fn page(command: &Command, filter: &Command) -> Result<String> {
    // `puzzle-encode sudoku` is a command, puzzle-encode-sudoku(1) its page.
    let typed = command.get_bin_name().unwrap_or(command.get_name());
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_string();
    let part = command.clone().override_usage(usage).version(None).after_long_help(None);
    let man = Man::new(part)
        .title(typed.replace(' ', "-").to_uppercase())
        .date(RELEASED)
        .source(concat!("gristmill ", env!("CARGO_PKG_VERSION")))
        .manual("");
    let mut page = Vec::new();
    man.render(&mut page).map_err(|error| Error::write("stdout", &error))?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    page += &end_of_help(&text(filter.get_after_long_help()), typed);
    page += ".SH SEE ALSO\n";
    if typed != filter.get_name() {
        page += &format!(".BR {} (1),\n", escaped(filter.get_name()));
    }
    Ok(page + ".BR gristmill (7)\n")
}

/// Returns the part of the help after the options: examples, input and output, exit codes.
fn end_of_help(help: &str, typed: &str) -> String {
    let (examples, rest) =
        match help.strip_prefix("Examples:\n").map(|help| help.split_once("\n\n")) {
            Some(Some((examples, rest))) => (examples, rest),
            _ => ("", help),
        };
    // The page of a subcommand has its own examples only. An indented line continues an example.
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

/// Returns a text as roff: its minus signs can be copied, and no backslash is a command.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// Returns a line that roff does not take for a request.
fn line_start(line: &str) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_string() }
}
