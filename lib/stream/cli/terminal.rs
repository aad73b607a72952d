//! The terminal of a person: its size, whether it has colours, and its keys.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use libc::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use rustix::process::{Signal, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::signals::die_of;
use super::tool::WithoutEffect;
use crate::error::{Error, Result};

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

/// An event while a terminal is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalEvent {
    /// A byte that was typed.
    Key(u8),
    /// The size has changed, or the drawing is gone.
    Redraw,
}

enum RawEvent {
    Key(u8),
    Signal(i32),
    Closed,
}

/// A terminal on which pictures follow one another: an alternate screen, no cursor, keys at once.
/// All of this is undone when it is dropped, and before a signal ends the process.
pub struct Screen {
    keyboard: File,
    before: Termios,
    events: Receiver<RawEvent>,
    is_held: bool,
}

/// Enters the alternate screen without a cursor, and leaves it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

impl Screen {
    /// Takes the terminal of stdout; keys come from it too, not from stdin.
    pub fn take() -> Result<Screen> {
        let failed = |e: io::Error| Error::io("/dev/tty", &e);
        let keyboard = File::options().read(true).write(true).open("/dev/tty").map_err(failed)?;
        let before = tcgetattr(&keyboard).map_err(|e| failed(e.into()))?;
        let (sender, events) = unbounded();
        watch_signals(sender.clone()).map_err(failed)?;
        let keys = keyboard.try_clone().map_err(failed)?;
        std::thread::Builder::new().spawn(move || send_keys(keys, &sender)).map_err(failed)?;
        let mut screen = Screen { keyboard, before, events, is_held: false };
        screen.hold().map_err(failed)?;
        Ok(screen)
    }

    fn hold(&mut self) -> io::Result<()> {
        let mut modes = self.before.clone();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(&self.keyboard, OptionalActions::Now, &modes)?;
        self.is_held = true;
        write_all(ENTER)
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.is_held) {
            let _ = write_all(LEAVE);
            let _ = tcsetattr(&self.keyboard, OptionalActions::Now, &self.before);
        }
    }

    /// Draws lines from the top, and clears the lines below them.
    pub fn draw(&self, lines: &[String]) -> Result<()> {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\x1b[K")).collect();
        let frame = format!("\x1b[H{}\x1b[J", lines.join("\r\n"));
        write_all(&frame).map_err(|e| Error::write("stdout", &e))
    }

    /// Waits for a key; `None` if the time is over before. If a signal is to end the process, it
    /// ends here.
    pub fn wait(&mut self, time: Option<Duration>) -> Option<TerminalEvent> {
        let event = match time {
            Some(time) => match self.events.recv_timeout(time) {
                Err(RecvTimeoutError::Timeout) => return None,
                other => other.unwrap_or(RawEvent::Closed),
            },
            None => self.events.recv().unwrap_or(RawEvent::Closed),
        };
        match event {
            RawEvent::Key(key) => return Some(TerminalEvent::Key(key)),
            RawEvent::Signal(SIGWINCH) => {}
            RawEvent::Signal(SIGTSTP) => {
                self.release();
                // A stop that cannot be caught: the shell continues until the process is continued.
                let _ = kill_process(rustix::process::getpid(), Signal::STOP);
                let _ = self.hold();
            }
            RawEvent::Signal(signal) => {
                self.release();
                die_of(signal);
            }
            RawEvent::Closed => {
                self.release();
                die_of(SIGHUP);
            }
        }
        Some(TerminalEvent::Redraw)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.release();
    }
}

fn write_all(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn send_keys(mut keys: File, events: &Sender<RawEvent>) {
    let mut byte = [0];
    loop {
        let event = match keys.read(&mut byte) {
            Ok(1..) => RawEvent::Key(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => RawEvent::Closed,
        };
        let is_last = matches!(event, RawEvent::Closed);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

fn watch_signals(events: Sender<RawEvent>) -> io::Result<()> {
    let heeded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH];
    let mut signals = signal_hook::iterator::Signals::new(heeded)?;
    std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            if events.send(RawEvent::Signal(signal)).is_err() {
                die_of(signal);
            }
        }
    })?;
    Ok(())
}
