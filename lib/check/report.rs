//! Findings for people (grouped, in lines of 80 columns) and for programs (JSON, one object a line).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::catalogue::Level;
use super::findings::{Finding, Kind, Outcome};
use crate::cli::{grouped, shown};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `quiet`: nothing of datasets without findings, and no summary.
    Text {
        colour: bool,
        quiet: bool,
    },
    Json,
}

/// Writes what was found in one dataset after another, and the sum of it.
pub struct Report<W: Write> {
    out: W,
    form: Form,
    strict: bool,
    start: Instant,
    datasets: u64,
    records: u64,
    bytes: u64,
    /// By check, then errors and warnings.
    counts: BTreeMap<String, (u64, u64)>,
}

/// Columns of a text report.
const WIDTH: usize = 80;

impl<W: Write> Report<W> {
    /// `strict`: warnings count, and are shown, as errors.
    pub fn new(out: W, form: Form, strict: bool) -> Report<W> {
        let counts = BTreeMap::new();
        let start = Instant::now();
        Report { out, form, strict, start, datasets: 0, records: 0, bytes: 0, counts }
    }

    /// Writes what was found in a dataset.
    pub fn add(&mut self, mut outcome: Outcome) -> io::Result<()> {
        for kind in &mut outcome.kinds {
            if self.strict {
                kind.level = Level::Error;
            }
            let counts = self.counts.entry(kind.check.id.to_string()).or_default();
            match kind.level {
                Level::Error => counts.0 += kind.count,
                Level::Warning => counts.1 += kind.count,
            }
        }
        self.datasets += 1;
        self.records += outcome.records.1;
        self.bytes += outcome.bytes;
        let text = match self.form {
            Form::Text { quiet: true, .. } if outcome.kinds.is_empty() => String::new(),
            Form::Text { colour, .. } => text(&outcome, colour),
            Form::Json => lines(&outcome),
        };
        self.out.write_all(text.as_bytes())
    }

    pub fn errors(&self) -> u64 {
        self.counts.values().map(|(errors, _)| errors).sum()
    }

    pub fn warnings(&self) -> u64 {
        self.counts.values().map(|(_, warnings)| warnings).sum()
    }

    /// Writes the summary; the number of errors.
    pub fn finish(mut self) -> io::Result<u64> {
        let (errors, warnings) = (self.errors(), self.warnings());
        let seconds = self.start.elapsed().as_secs_f64();
        let summary = match self.form {
            Form::Text { quiet: true, .. } => String::new(),
            Form::Text { .. } => {
                let found = match (errors, warnings) {
                    (0, 0) => "nothing found".to_string(),
                    _ => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
                };
                let datasets = counted(self.datasets, "dataset");
                format!("{found} in {datasets} ({}, {seconds:.1} s)\n", size(self.bytes))
            }
            Form::Json => {
                let per = |level: fn(&(u64, u64)) -> u64| -> Map<String, Value> {
                    let some = self.counts.iter().filter(|(_, counts)| level(counts) > 0);
                    some.map(|(id, counts)| (id.clone(), json!(level(counts)))).collect()
                };
                let summary = json!({"summary": {
                    "datasets": self.datasets,
                    "records": self.records,
                    "bytes": self.bytes,
                    "errors": errors,
                    "warnings": warnings,
                    "errors_by_check": per(|counts| counts.0),
                    "warnings_by_check": per(|counts| counts.1),
                    "seconds": (seconds * 1e3).round() / 1e3,
                }});
                format!("{summary}\n")
            }
        };
        self.out.write_all(summary.as_bytes())?;
        self.out.flush()?;
        Ok(errors)
    }
}

/// One object for each finding that was kept.
fn lines(outcome: &Outcome) -> String {
    let mut out = String::new();
    for kind in &outcome.kinds {
        for finding in &kind.first {
            let mut object = Map::new();
            object.insert("check".into(), json!(kind.check.id));
            object.insert("level".into(), json!(kind.level.name()));
            object.insert("file".into(), json!(shown(&finding.file)));
            let (unit, number) = finding.record.unzip();
            object.insert("record".into(), json!(number));
            object.insert("unit".into(), json!(unit));
            object.insert("id".into(), json!(finding.id));
            object.insert("message".into(), json!(finding.message));
            if let Some(hint) = kind.check.hint {
                object.insert("hint".into(), json!(hint));
            }
            let _ = writeln!(out, "{}", Value::Object(object));
        }
    }
    out
}

fn text(outcome: &Outcome, colour: bool) -> String {
    let paint = |code: &str, text: &str| match colour {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_string(),
    };
    let sum = |level| -> u64 {
        outcome.kinds.iter().filter(|kind| kind.level == level).map(|kind| kind.count).sum()
    };
    let verdict = match (sum(Level::Error), sum(Level::Warning)) {
        (0, 0) => paint("32", "ok"),
        (0, warnings) => format!("{} ({})", paint("32", "ok"), counted(warnings, "warning")),
        (errors, 0) => paint("31", &counted(errors, "error")),
        (errors, warnings) => {
            format!("{}, {}", paint("31", &counted(errors, "error")), counted(warnings, "warning"))
        }
    };
    let mut out = format!("{}: {verdict}\n", paint("1", &shown(&outcome.path)));
    let (unit, records) = outcome.records;
    let about = format!("{}, {} {unit}, {}", outcome.what, grouped(records), size(outcome.bytes));
    indented(&mut out, 2, &about);
    for note in &outcome.notes {
        indented(&mut out, 2, &format!("note: {note}"));
    }
    for kind in &outcome.kinds {
        out.push('\n');
        kind_text(&mut out, &outcome.path, kind, &paint);
    }
    out.push('\n');
    out
}

fn kind_text(out: &mut String, dataset: &Path, kind: &Kind, paint: &impl Fn(&str, &str) -> String) {
    let level = match kind.level {
        Level::Error => paint("31", "error"),
        Level::Warning => paint("33", "warning"),
    };
    let times =
        if kind.count > 1 { format!(", {} times", grouped(kind.count)) } else { String::new() };
    let _ = writeln!(out, "  {level}  {}{times}", paint("1", &kind.check.id));
    indented(out, 4, &kind.check.meaning);
    for finding in &kind.first {
        indented(out, 4, &format!("- {}{}", place(dataset, finding), finding.message));
    }
    let more = kind.count - kind.first.len() as u64;
    if more > 0 && !kind.first.is_empty() {
        indented(out, 4, &format!("... and {} more", grouped(more)));
    }
    if let Some(hint) = kind.check.hint {
        indented(out, 4, &format!("hint: {hint}"));
    }
}

/// Where it was found, as seen from the dataset; a colon and a space at the end.
fn place(dataset: &Path, finding: &Finding) -> String {
    let mut parts = Vec::new();
    match finding.file.strip_prefix(dataset) {
        // Empty: the dataset itself.
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

/// Appends a paragraph; lines behind the first of a list's item stand under its text.
fn indented(out: &mut String, indent: usize, text: &str) {
    let hanging = if text.starts_with("- ") { 2 } else { 0 };
    for (number, line) in wrapped(text, WIDTH - indent - hanging).iter().enumerate() {
        let indent = if number == 0 { indent } else { indent + hanging };
        let _ = writeln!(out, "{:indent$}{line}", "");
    }
}

/// Breaks a text into lines of at most `width` characters; a longer word stands alone.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// "1 error", "2 errors".
fn counted(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(number))
}

fn size(bytes: u64) -> String {
    crate::cli::size(bytes as f64)
}
