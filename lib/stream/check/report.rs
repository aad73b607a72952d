//! Findings for people (grouped, in lines of 80 columns) and for programs (JSON, one object a line).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::catalogue::Severity;
use super::findings::{Finding, FindingGroup, Outcome};
use crate::error::{shortened, shown};
use crate::visible;
use crate::wording::{counted, grouped, of_plural, wrapped};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
}

/// How findings are shown.
#[derive(Debug, Clone, Copy)]
pub struct ReportStyle {
    pub format: ReportFormat,
    /// In text: whether the colours of a terminal are used.
    pub colour: bool,
    /// In text: whether datasets without findings, and the summary, are left out.
    pub quiet: bool,
    /// Whether warnings count, and are shown, as errors.
    pub strict: bool,
}

/// Writes the findings of one dataset after another, and the sum.
pub struct Report<W: Write> {
    out: W,
    style: ReportStyle,
    start: Instant,
    datasets: u64,
    records: u64,
    bytes: u64,
    /// The numbers of errors and of warnings, by check.
    counts: BTreeMap<String, (u64, u64)>,
}

/// The columns of a text report.
const WIDTH: usize = 80;

impl<W: Write> Report<W> {
    pub fn new(out: W, style: ReportStyle) -> Report<W> {
        let (counts, start) = (BTreeMap::new(), Instant::now());
        Report { out, style, start, datasets: 0, records: 0, bytes: 0, counts }
    }

    /// Writes the findings of a dataset.
    pub fn add(&mut self, mut outcome: Outcome) -> io::Result<()> {
        for group in &mut outcome.groups {
            if self.style.strict {
                group.severity = Severity::Error;
            }
            let counts = self.counts.entry(group.check.id.to_string()).or_default();
            match group.severity {
                Severity::Error => counts.0 += group.count,
                Severity::Warning => counts.1 += group.count,
            }
        }
        self.datasets += 1;
        self.records += outcome.records.1;
        self.bytes += outcome.bytes;
        let text = match self.style.format {
            ReportFormat::Text if self.style.quiet && outcome.groups.is_empty() => String::new(),
            ReportFormat::Text => text(&outcome, self.style.colour),
            ReportFormat::Json => lines(&outcome),
        };
        self.out.write_all(text.as_bytes())
    }

    /// Writes the summary; returns the number of errors.
    pub fn finish(mut self) -> io::Result<u64> {
        let errors = self.counts.values().map(|(errors, _)| errors).sum();
        let warnings = self.counts.values().map(|(_, warnings)| warnings).sum();
        let summary = match self.style.format {
            ReportFormat::Text if self.style.quiet => String::new(),
            ReportFormat::Text => self.text_summary(errors, warnings),
            ReportFormat::Json => self.json_summary(errors, warnings),
        };
        self.out.write_all(summary.as_bytes())?;
        self.out.flush()?;
        Ok(errors)
    }

    fn text_summary(&self, errors: u64, warnings: u64) -> String {
        let found = match (errors, warnings) {
            (0, 0) => "no problems found".to_string(),
            _ => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
        };
        let (datasets, seconds) = (counted(self.datasets, "dataset"), self.start.elapsed());
        format!("{found} in {datasets} ({}, {:.1} s)\n", size(self.bytes), seconds.as_secs_f64())
    }

    fn json_summary(&self, errors: u64, warnings: u64) -> String {
        let by_check = |of: fn(&(u64, u64)) -> u64| -> Map<String, Value> {
            let some = self.counts.iter().filter(|(_, counts)| of(counts) > 0);
            some.map(|(id, counts)| (id.clone(), json!(of(counts)))).collect()
        };
        let summary = json!({"summary": {
            "datasets": self.datasets,
            "records": self.records,
            "bytes": self.bytes,
            "errors": errors,
            "warnings": warnings,
            "errors_by_check": by_check(|counts| counts.0),
            "warnings_by_check": by_check(|counts| counts.1),
            "seconds": (self.start.elapsed().as_secs_f64() * 1e3).round() / 1e3,
        }});
        format!("{summary}\n")
    }
}

/// Returns one object for each finding that was kept.
fn lines(outcome: &Outcome) -> String {
    let mut out = String::new();
    for group in &outcome.groups {
        for finding in &group.first {
            let (unit, number) = finding.record.unzip();
            let mut object = json!({
                "check": group.check.id,
                "level": group.severity.name(),
                "file": shown(&finding.file),
                "record": number,
                "unit": unit,
                "id": finding.id,
                "message": finding.message,
            });
            if let Some(hint) = group.check.hint {
                object["hint"] = json!(hint);
            }
            let _ = writeln!(out, "{object}");
        }
    }
    out
}

fn text(outcome: &Outcome, colour: bool) -> String {
    let paint = |code: &str, text: &str| {
        if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    };
    let sum = |severity| -> u64 {
        let groups = outcome.groups.iter().filter(|group| group.severity == severity);
        groups.map(|group| group.count).sum()
    };
    let verdict = match (sum(Severity::Error), sum(Severity::Warning)) {
        (0, 0) => paint("32", "ok"),
        (0, warnings) => format!("{} ({})", paint("32", "ok"), counted(warnings, "warning")),
        (errors, 0) => paint("31", &counted(errors, "error")),
        (errors, warnings) => {
            format!("{}, {}", paint("31", &counted(errors, "error")), counted(warnings, "warning"))
        }
    };
    let mut out = format!("{}: {verdict}\n", paint("1", &visible::line(&shown(&outcome.path))));
    let (unit, records) = outcome.records;
    let unit = of_plural(records, unit);
    let about = format!("{}, {} {unit}, {}", outcome.what, grouped(records), size(outcome.bytes));
    indented(&mut out, 2, &about);
    for note in &outcome.notes {
        indented(&mut out, 2, &format!("note: {note}"));
    }
    for group in &outcome.groups {
        out.push('\n');
        group_text(&mut out, &outcome.path, group, &paint);
    }
    out.push('\n');
    out
}

fn group_text(
    out: &mut String,
    dataset: &Path,
    group: &FindingGroup,
    paint: &impl Fn(&str, &str) -> String,
) {
    let &FindingGroup { check, severity, count, ref first } = group;
    let severity = match severity {
        Severity::Error => paint("31", severity.name()),
        Severity::Warning => paint("33", severity.name()),
    };
    let times = if count > 1 { format!(", {} times", grouped(count)) } else { String::new() };
    let _ = writeln!(out, "  {severity}  {}{times}", paint("1", &check.id));
    indented(out, 4, check.meaning);
    for finding in first {
        indented(out, 4, &format!("- {}{}", place(dataset, finding), finding.message));
    }
    let more = count - first.len() as u64;
    if more > 0 && !first.is_empty() {
        indented(out, 4, &format!("... and {} more", grouped(more)));
    }
    if let Some(hint) = check.hint {
        indented(out, 4, &format!("hint: {hint}"));
    }
}

/// Returns the place of a finding, relative to the dataset, with a colon and a space at the end.
fn place(dataset: &Path, finding: &Finding) -> String {
    let mut parts = Vec::new();
    match finding.file.strip_prefix(dataset) {
        // An empty path is the dataset itself.
        Ok(below) if below.as_os_str().is_empty() => {}
        Ok(below) => parts.push(shown(below)),
        Err(_) => parts.push(shown(&finding.file)),
    }
    if let Some((unit, number)) = finding.record {
        parts.push(format!("{unit} {number}"));
    }
    let mut place = parts.join(", ");
    if let Some(id) = &finding.id {
        let _ = write!(place, " ({id})");
    }
    if place.is_empty() { place } else { place + ": " }
}

/// Appends a paragraph; later lines of a list item are indented under its text.
fn indented(out: &mut String, indent: usize, text: &str) {
    let hanging = if text.starts_with("- ") { 2 } else { 0 };
    for (number, line) in
        wrapped(&visible::line(&shortened(text)), WIDTH - indent - hanging).iter().enumerate()
    {
        let indent = if number == 0 { indent } else { indent + hanging };
        let _ = writeln!(out, "{:indent$}{line}", "");
    }
}

fn size(bytes: u64) -> String {
    crate::wording::size(bytes as f64)
}
