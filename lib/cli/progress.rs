//! The progress line on stderr: records, bytes, rate, and the time left where the total is known.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// When stderr is a terminal.
    Auto,
    Always,
    Never,
}

/// Repainted at most five times a second; says nothing where it is switched off.
#[derive(Debug)]
pub struct Progress {
    shown: bool,
    what: &'static str,
    total: Option<u64>,
    records: u64,
    bytes: u64,
    start: Instant,
    painted: Option<Instant>,
}

const INTERVAL: Duration = Duration::from_millis(200);

impl Progress {
    /// `what` is the plural of what is counted ("conversations"); `total` in the same unit.
    pub fn new(when: When, quiet: bool, what: &'static str, total: Option<u64>) -> Progress {
        let shown = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => !quiet && std::io::stderr().is_terminal(),
        };
        Progress { shown, what, total, records: 0, bytes: 0, start: Instant::now(), painted: None }
    }

    pub fn add(&mut self, records: u64, bytes: u64) {
        self.records += records;
        self.bytes += bytes;
        if self.shown && self.painted.is_none_or(|at| at.elapsed() >= INTERVAL) {
            self.paint();
            self.painted = Some(Instant::now());
        }
    }

    /// Paints the last state and ends the line.
    pub fn finish(&mut self) {
        if self.shown {
            self.paint();
            let _ = std::io::stderr().write_all(b"\n");
            self.shown = false;
        }
    }

    fn paint(&self) {
        let line = self.line(self.start.elapsed().as_secs_f64().max(1e-3));
        let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
    }

    fn line(&self, seconds: f64) -> String {
        let rate = self.records as f64 / seconds;
        let mut line = format!("{} {}", grouped(self.records), self.what);
        if let Some(total) = self.total.filter(|&total| total > 0) {
            let share = 100.0 * self.records as f64 / total as f64;
            line += &format!(" of {} ({share:.0}%)", grouped(total));
        }
        if self.bytes > 0 {
            line +=
                &format!(", {} ({}/s)", size(self.bytes as f64), size(self.bytes as f64 / seconds));
        }
        line += &format!(", {}/s", grouped(rate as u64));
        if let Some(left) = self.total.and_then(|total| total.checked_sub(self.records))
            && rate > 0.0
        {
            line += &format!(", {} left", duration(left as f64 / rate));
        }
        line
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // After an error the message must start on a line of its own.
        if self.shown && self.painted.is_some() {
            let _ = std::io::stderr().write_all(b"\n");
        }
    }
}

/// 12345678 as "12,345,678".
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// 1234567 bytes as "1.2 MB".
pub fn size(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            return if unit == "B" {
                format!("{value:.0} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_reads_well() {
        let mut progress = Progress::new(When::Never, false, "records", Some(2_000_000));
        progress.add(500_000, 3_000_000_000);
        assert_eq!(
            progress.line(10.0),
            "500,000 records of 2,000,000 (25%), 3.0 GB (300.0 MB/s), 50,000/s, 30 s left"
        );
        assert_eq!(duration(3_725.0), "1 h 2 min");
    }
}
