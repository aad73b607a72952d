//! The progress line on stderr: the tool, records, bytes, rate, and the time left if the total
//! is known. indicatif cuts it to the terminal's width, draws it, and clears it.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{
    FormattedDuration, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle,
};
use rustix::fs::{FileType, fstat};
use serde::{Deserialize, Serialize};

use crate::chain;
use crate::wording::{grouped, of_plural, size};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// If stderr is a terminal, results do not go to a terminal, and stdin is not a pipe, so that only the
    /// first filter of a pipeline shows its progress.
    Auto,
    Always,
    Never,
}

impl When {
    /// Returns this choice, or `Never` if the user made no choice and wants only errors.
    pub fn unless(self, quiet: bool) -> When {
        match self {
            When::Auto if quiet => When::Never,
            when => when,
        }
    }
}

/// Counts what is done. A terminal shows it from the first second until it is dropped.
#[derive(Debug)]
pub struct Progress {
    tool: String,
    what: &'static str,
    total: Option<u64>,
    records: u64,
    bytes: u64,
    start: Instant,
    /// What the records hold: its unit in the plural, and its count.
    inside: (&'static str, u64),
    /// When the count is next shown or reported.
    due: Option<Instant>,
    /// The line on a terminal.
    line: Option<Line>,
    /// The file of reports, and when the next report is due.
    reports: Option<(File, Instant)>,
    /// For a stderr that is a file or a pipe: a line a minute, and one at the end.
    logged: Option<EveryMinute>,
}

/// When a line is due if there is no terminal: a minute after the beginning, and every minute from
/// then on.
#[derive(Debug)]
pub struct EveryMinute {
    next: Instant,
}

/// The line on the terminal, from the first second on, until this is dropped.
#[derive(Debug)]
pub struct Line {
    start: Instant,
    bar: Option<ProgressBar>,
}

/// A line in the file of `--progress-to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub tool: String,
    /// The unit that is counted, in the plural.
    pub unit: String,
    pub done: u64,
    /// The number of all units, if it is known.
    pub of: Option<u64>,
    pub bytes: u64,
    /// What the records hold: its unit in the plural; `made` is its count.
    pub inside: Option<String>,
    pub made: u64,
}

const FIRST: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);
const REPORTS: Duration = Duration::from_secs(1);
/// How often a line is written if there is no terminal.
const MINUTE: Duration = Duration::from_secs(60);

/// Where a count is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Screen {
    Terminal,
    /// A file or a pipe.
    Log,
    Nowhere,
}

impl EveryMinute {
    pub fn from(start: Instant) -> EveryMinute {
        EveryMinute { next: start + MINUTE }
    }

    /// Whether a minute is over; if so, the next begins now.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + MINUTE;
        }
        is_due
    }
}

impl Progress {
    /// `what` is the unit in the plural ("conversations"); `total` is in the same unit.
    /// `uses_stdout`: results go there.
    pub fn new(
        tool: &str,
        when: When,
        (what, total): (&'static str, Option<u64>),
        uses_stdout: bool,
    ) -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        let shown = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let is_covered = uses_stdout && std::io::stdout().is_terminal();
                is_terminal && !is_covered && !stdin_is_pipe()
            }
        };
        let screen = match (shown, is_terminal) {
            (false, _) => Screen::Nowhere,
            (true, true) => Screen::Terminal,
            (true, false) => Screen::Log,
        };
        Progress::on(screen, tool, (what, total), Instant::now())
    }

    fn on(
        screen: Screen,
        tool: &str,
        (what, total): (&'static str, Option<u64>),
        start: Instant,
    ) -> Progress {
        Progress {
            tool: tool.to_string(),
            what,
            total,
            records: 0,
            bytes: 0,
            inside: ("", 0),
            start,
            due: match screen {
                Screen::Terminal => Some(start + FIRST),
                Screen::Log => Some(start + MINUTE),
                Screen::Nowhere => None,
            },
            line: (screen == Screen::Terminal).then(Line::new),
            reports: None,
            logged: (screen == Screen::Log).then(|| EveryMinute::from(start)),
        }
    }

    /// Also appends reports to a file, a line a second. (A report that cannot be written is no
    /// reason to fail.)
    pub(super) fn reporting_to(mut self, path: &Path) -> Progress {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).custom_flags(libc::O_NONBLOCK).open(path);
        self.reports = file.ok().map(|file| (file, self.start));
        self.due = self.due.or(self.reports.as_ref().map(|(_, due)| *due));
        self
    }

    /// Whether [`Progress::add_inside`] has any effect.
    pub fn is_reporting(&self) -> bool {
        self.reports.is_some()
    }

    /// Counts what is in the records; `what` is its unit in the plural.
    pub fn add_inside(&mut self, what: &'static str, count: u64) {
        self.inside = (what, self.inside.1 + count);
    }

    /// Counts a batch; if the count is shown anywhere, this reads the clock.
    pub fn add(&mut self, records: u64, bytes: u64) {
        self.records += records;
        self.bytes += bytes;
        let Some(due) = self.due else { return };
        let now = Instant::now();
        if now >= due
            && let Some(line) = self.show(now)
        {
            log(&line);
        }
    }

    /// Shows the count on a terminal and reports it; returns the line for a log if one is due.
    fn show(&mut self, now: Instant) -> Option<String> {
        self.due = Some(now + INTERVAL);
        let text = self.line(now - self.start);
        self.line.iter_mut().for_each(|line| line.show(&text));
        if self.reports.as_ref().is_some_and(|(_, due)| now >= *due) {
            self.report(now);
        }
        self.logged.as_mut()?.is_due(now).then_some(text)
    }

    fn report(&mut self, now: Instant) {
        let (inside, made) = self.inside;
        let report = Report {
            tool: self.tool.clone(),
            unit: self.what.to_string(),
            done: self.records,
            of: self.total,
            bytes: self.bytes,
            inside: Some(inside.to_string()).filter(|inside| !inside.is_empty()),
            made,
        };
        let Some((file, due)) = &mut self.reports else { return };
        *due = now + REPORTS;
        let text = serde_json::to_string(&report).unwrap_or_default() + "\n";
        let _ = file.write_all(text.as_bytes());
    }

    /// Clears the line. Nothing is counted after this.
    pub fn finish(&mut self) {
        self.report(Instant::now());
        (self.due, self.line, self.reports) = (None, None, None);
        if self.logged.take().is_some() {
            log(&self.line(self.start.elapsed()));
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let rate = self.records as f64 / seconds;
        // The most important part comes first: a terminal cuts the rest.
        let mut line = format!("{}: {}", self.tool, far(self.records, self.total, self.what));
        if let Some(left) = time_left(self.records, self.total, rate) {
            line += &format!(", {left}");
        }
        line += &format!(", {}/s", grouped(rate as u64));
        if self.bytes > 0 {
            line +=
                &format!(", {} ({}/s)", size(self.bytes as f64), size(self.bytes as f64 / seconds));
        }
        line
    }
}

/// Returns the progress in words: "500,000 of 2,000,000 records (25%)"; `what` is the unit in the
/// plural.
pub fn far(done: u64, total: Option<u64>, what: &str) -> String {
    match total.filter(|&total| total > 0) {
        None => format!("{} {}", grouped(done), of_plural(done, what)),
        Some(total) => {
            let share = 100.0 * done as f64 / total as f64;
            let what = of_plural(total, what);
            format!("{} of {} {what} ({share:.0}%)", grouped(done), grouped(total))
        }
    }
}

/// Returns the time left at `rate` units a second: "00:00:30 left".
pub fn time_left(done: u64, total: Option<u64>, rate: f64) -> Option<String> {
    let left = total?.checked_sub(done).filter(|left| *left > 0 && rate > 0.0)?;
    let left = Duration::from_secs((left as f64 / rate).round() as u64);
    Some(format!("{} left", FormattedDuration(left)))
}

impl Line {
    pub fn new() -> Line {
        Line { start: Instant::now(), bar: None }
    }

    /// Shows a text in place of the one before.
    pub fn show(&mut self, text: &str) {
        if self.start.elapsed() >= FIRST {
            self.bar.get_or_insert_with(line_on_stderr).set_message(text.to_string());
        }
    }

    /// Clears the line while `print` runs.
    pub fn apart<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

/// Writes a line of a log. (A failure to write it is no reason to fail.)
fn log(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

impl Default for Line {
    fn default() -> Line {
        Line::new()
    }
}

/// Makes a line that is cleared when dropped, so that an error message starts at the margin.
fn line_on_stderr() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let bar = bar.with_finish(ProgressFinish::AndClear);
    match ProgressStyle::with_template("{wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn stdin_is_pipe() -> bool {
    if !chain::reads_stdin() {
        return true;
    }
    fstat(std::io::stdin()).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_fifo())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_reads_well() {
        let mut progress = Progress::new("ds-cat", When::Never, ("records", Some(2_000_000)), true);
        progress.add(500_000, 3_000_000_000);
        assert_eq!(
            progress.line(Duration::from_secs(10)),
            "ds-cat: 500,000 of 2,000,000 records (25%), 00:00:30 left, 50,000/s, \
             3.0 GB (300.0 MB/s)"
        );
    }

    /// In a file or pipe there is no line before the first minute is over, and then one in each.
    #[test]
    fn a_log_has_a_line_a_minute() {
        let start = Instant::now();
        let mut progress = Progress::on(Screen::Log, "ds-cat", ("records", Some(400)), start);
        let mut lines = Vec::new();
        for second in 0..200 {
            progress.records += 1;
            lines.extend(
                progress.show(start + Duration::from_secs(second)).map(|line| (second, line)),
            );
        }
        let seconds: Vec<u64> = lines.iter().map(|(second, _)| *second).collect();
        assert_eq!(seconds, [60, 120, 180]);
        assert_eq!(lines[0].1, "ds-cat: 61 of 400 records (15%), 00:05:33 left, 1/s");
        for screen in [Screen::Terminal, Screen::Nowhere] {
            let mut progress = Progress::on(screen, "ds-cat", ("records", None), start);
            assert_eq!(progress.show(start + MINUTE), None, "{screen:?}");
        }
        // Before its first minute a log does not even read the clock.
        let progress = Progress::on(Screen::Log, "ds-cat", ("records", None), start);
        assert_eq!(progress.due, Some(start + MINUTE));
    }
}
