//! `TOOL --generate man|bash|zsh|fish [SUBCOMMAND...] [--as NAME]`: the manual page and the shell
//! completions, made from the same definitions as the help; with a name, those of the script that calls the
//! subcommand.

use std::ffi::OsString;

use clap::Command;
use clap::builder::StyledStr;
use clap_complete::Shell;
use clap_mangen::Man;

use super::print;
use crate::error::{Error, Result};

/// The date in the title of the manual pages: the date of the version in CHANGELOG.md.
const RELEASED: &str = "2026-11-26";

/// The shells whose completions are tested.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Prints what `--generate` asks for, if the command line is that and nothing else.
pub fn generated(declared: &Command, arguments: &[OsString]) -> Option<Result<()>> {
    let [_, flag, what, of @ ..] = arguments else { return None };
    if flag != "--generate" {
        return None;
    }
    let mut command = declared.clone();
    command.build();
    let what = what.to_string_lossy();
    let of: Vec<_> = of.iter().map(|word| word.to_string_lossy()).collect();
    let (of, name) = match of.iter().position(|word| word == "--as") {
        Some(at) => (of.get(..at).unwrap_or_default(), of.get(at + 1).map(|name| &**name)),
        None => (&*of, None),
    };
    let shell = SHELLS.into_iter().find(|shell| shell.to_string() == what);
    let find =
        |command| of.iter().try_fold(command, |part: &Command, word| part.find_subcommand(&**word));
    let (Some(part), Some(declared)) = (find(&command), find(declared)) else {
        let of = of.join(" ");
        return Some(Err(Error::usage(format!("--generate {what} {of}: no such subcommand"))));
    };
    Some(match (&*what, shell) {
        ("man", _) => page(part, &command, name).and_then(|page| print(&page)),
        (_, Some(shell)) => match name {
            // The script with this name also has what ds-plan does with plans.
            Some(name) => {
                let of_plans = ["plan", "status", "finish"].into_iter();
                let of_plans = of_plans.filter(|_| of.first().is_some_and(|word| word == "build"));
                let script = declared.clone().name(name.to_string());
                completions(script.subcommands(of_plans.map(Command::new)), shell)
            }
            None => completions(part.clone(), shell),
        },
        _ => Err(Error::usage(format!(
            "--generate {what}: expected man, bash, zsh or fish, then \
             [SUBCOMMAND...] [--as NAME]"
        ))),
    })
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
fn page(command: &Command, filter: &Command, name: Option<&str>) -> Result<String> {
    // `puzzle-encode sudoku` is a command, puzzle-encode-sudoku(1) its page.
    let typed = name.or(command.get_bin_name()).unwrap_or(command.get_name());
    let usage = command.clone().render_usage().to_string();
    let mut usage = usage.trim_start_matches("Usage:").trim().to_string();
    let mut own = command.clone();
    if let (Some(name), Some(called)) = (name, command.get_bin_name()) {
        // The script gives what is behind `--`.
        usage = usage.replacen(called, name, 1);
        usage.truncate(usage.find(" -- ").unwrap_or(usage.len()));
        own = own.name(name.to_string()).display_name(name.to_string());
    }
    let part = own.override_usage(usage).version(None).after_long_help(None);
    let man = Man::new(part)
        .title(typed.replace(' ', "-").to_uppercase())
        .date(RELEASED)
        .source(concat!("gristmill ", env!("CARGO_PKG_VERSION")))
        .manual("");
    let mut page = Vec::new();
    man.render(&mut page).map_err(|error| Error::write("stdout", &error))?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    // A subcommand may have a help of its own.
    let help = command.get_after_long_help().or(filter.get_after_long_help());
    page += &end_of_help(&text(help), name.is_none().then_some(typed));
    page += ".SH SEE ALSO\n";
    if name.is_none() && typed != filter.get_name() {
        page += &format!(".BR {} (1),\n", escaped(filter.get_name()));
    }
    Ok(page + ".BR gristmill (7)\n")
}

/// Returns the part of the help after the options: examples, input and output, exit codes. Of the examples those with
/// the words `typed` are shown, if there are any.
fn end_of_help(help: &str, typed: Option<&str>) -> String {
    let (examples, rest) =
        match help.strip_prefix("Examples:\n").map(|help| help.split_once("\n\n")) {
            Some(Some((examples, rest))) => (examples, rest),
            _ => ("", help),
        };
    // The page of a subcommand has its own examples only. An indented line continues an example.
    let mut is_own = false;
    let is_shown = |line: &&str| {
        let has = |typed| line.contains(typed);
        is_own = if line.starts_with("   ") { is_own } else { typed.is_none_or(has) };
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
