//! The terminal of a person: its size, and whether it has colours.

use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use rustix::termios::tcgetwinsize;

use super::tool::WithoutEffect;

/// When results have colours.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct ColorArgs {
    /// Colours: auto, always or never
    ///
    /// auto heeds NO_COLOR, TERM=dumb and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN", help_heading = "View")]
    #[arg(hide_possible_values = true, add = WithoutEffect)]
    pub color: ColorWhen,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorWhen {
    /// Whether stdout gets colours.
    pub fn on_stdout(self) -> bool {
        match self {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
                let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                let is_forced = std::env::var_os("CLICOLOR_FORCE")
                    .is_some_and(|value| !value.is_empty() && value != "0");
                let is_coloured = io::stdout().is_terminal() && !is_dumb;
                !is_set("NO_COLOR") && (is_forced || is_coloured)
            }
        }
    }
}

/// Returns columns and lines of the screen that shows stdout: the size of the terminal; else `COLUMNS` and
/// `LINES`; else, in a pipe to a pager, the size of stderr's terminal; else 80 and 24.
pub fn screen_size() -> (usize, usize) {
    let of = |size: rustix::termios::Winsize| {
        let (columns, lines) = (usize::from(size.ws_col), usize::from(size.ws_row));
        (columns > 0 && lines > 0).then_some((columns, lines))
    };
    if let Some(size) = tcgetwinsize(io::stdout()).ok().and_then(of) {
        return size;
    }
    let number = |name| std::env::var(name).ok()?.parse().ok().filter(|&number: &usize| number > 0);
    let (columns, lines) = tcgetwinsize(io::stderr()).ok().and_then(of).unwrap_or((80, 24));
    (number("COLUMNS").unwrap_or(columns), number("LINES").unwrap_or(lines))
}
