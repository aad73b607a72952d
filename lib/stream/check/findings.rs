//! The findings of one dataset: all of them are counted, and the first few of each check are kept.

use std::cmp::Reverse;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::catalogue::{Check, Severity};
use super::select::Selection;
use crate::error::{Position, one_line};

/// The place of a finding.
#[derive(Debug, Clone, Copy)]
pub struct FindingPlace<'a> {
    file: &'a Path,
    record: Option<(&'static str, u64)>,
    id: Option<&'a str>,
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for FindingPlace<'a> {
    fn from(file: &'a P) -> FindingPlace<'a> {
        FindingPlace::file(file)
    }
}

impl<'a> FindingPlace<'a> {
    pub fn file(file: &'a (impl AsRef<Path> + ?Sized)) -> FindingPlace<'a> {
        FindingPlace { file: file.as_ref(), record: None, id: None }
    }

    /// Names a record by its number, as the format counts: sequences, rows and examples from 0, as
    /// a trainer does; lines and records of a stream from 1.
    pub fn record(self, unit: &'static str, number: u64) -> FindingPlace<'a> {
        FindingPlace { record: Some((unit, number)), ..self }
    }

    /// Names a line or a record of a stream.
    pub fn position(self, position: Position) -> FindingPlace<'a> {
        match position {
            Position::Line(line) => self.record("line", line),
            Position::Record(number) => self.record("record", number),
            Position::Whole => self,
        }
    }

    pub fn id(self, id: Option<&'a str>) -> FindingPlace<'a> {
        FindingPlace { id, ..self }
    }
}

/// One defect.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub file: PathBuf,
    /// The unit (`sequence`, `row`, `example`, `line`, ...) and the number of the record.
    pub record: Option<(&'static str, u64)>,
    pub id: Option<String>,
    pub message: String,
}

/// All findings of one check at one severity.
#[derive(Debug)]
pub struct FindingGroup {
    pub check: &'static Check,
    pub severity: Severity,
    pub count: u64,
    /// The first findings.
    pub first: Vec<Finding>,
}

/// Gathers findings. Each thread has its own list; the lists are merged in the order of the data,
/// so that the report is the same for every number of threads.
#[derive(Debug)]
pub struct Findings<'s> {
    selection: &'s Selection,
    most: usize,
    /// Whether only errors are kept.
    only_errors: bool,
    groups: Vec<FindingGroup>,
}

impl<'s> Findings<'s> {
    /// Returns findings that keep only the first error: the reason for which a sink refuses a record.
    pub fn of_gate(selection: &'s Selection) -> Findings<'s> {
        Findings { only_errors: true, ..Findings::new(selection, 1) }
    }

    /// Fails with the cause if there is an error.
    pub fn refusal(&self) -> Result<(), String> {
        match self.first() {
            Some((check, finding)) => Err(check.refusal(&finding.message)),
            None => Ok(()),
        }
    }

    /// Keeps the first `most` findings of each check.
    pub fn new(selection: &'s Selection, most: usize) -> Findings<'s> {
        Findings { selection, most, only_errors: false, groups: Vec::new() }
    }

    pub fn wants(&self, check: &Check) -> bool {
        self.selection.wants(check)
    }

    /// Adds a finding. The message is formatted only if it is kept.
    pub fn add<'a>(
        &mut self,
        check: &'static Check,
        at: impl Into<FindingPlace<'a>>,
        message: impl Display,
    ) {
        self.add_as(check, check.severity, at, message);
    }

    /// Adds a finding with another severity than its check has.
    pub fn add_as<'a>(
        &mut self,
        check: &'static Check,
        severity: Severity,
        at: impl Into<FindingPlace<'a>>,
        message: impl Display,
    ) {
        if (self.only_errors && severity != Severity::Error) || !self.wants(check) {
            return;
        }
        let most = self.most;
        let group = self.group(check, severity);
        group.count += 1;
        if group.first.len() < most {
            let at = at.into();
            group.first.push(Finding {
                file: at.file.to_path_buf(),
                record: at.record,
                id: at.id.map(str::to_string),
                message: one_line(&message.to_string()),
            });
        }
    }

    /// Adds the findings of data that follows all data seen so far.
    pub fn merge(&mut self, later: Findings<'_>) {
        let most = self.most;
        for other in later.groups {
            let group = self.group(other.check, other.severity);
            group.count += other.count;
            let room = most - group.first.len().min(most);
            group.first.extend(other.first.into_iter().take(room));
        }
    }

    fn group(&mut self, check: &'static Check, severity: Severity) -> &mut FindingGroup {
        let same =
            |group: &FindingGroup| std::ptr::eq(group.check, check) && group.severity == severity;
        let place = self.groups.iter().position(same).unwrap_or_else(|| {
            self.groups.push(FindingGroup { check, severity, count: 0, first: Vec::new() });
            self.groups.len() - 1
        });
        &mut self.groups[place]
    }

    pub fn has(&self, check: &'static Check) -> bool {
        self.groups.iter().any(|group| std::ptr::eq(group.check, check))
    }

    /// Returns the first finding.
    pub fn first(&self) -> Option<(&'static Check, &Finding)> {
        let group = self.groups.first()?;
        Some((group.check, group.first.first()?))
    }

    /// Returns the groups, errors first, in the order of the catalogue.
    pub fn into_groups(mut self) -> Vec<FindingGroup> {
        let selection = self.selection;
        self.groups.sort_by_key(|group| (Reverse(group.severity), selection.order(group.check)));
        self.groups
    }
}

/// The result of checking one dataset.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The path as the user named it.
    pub path: PathBuf,
    /// The kind of dataset: "Megatron root".
    pub what: String,
    /// The name of its records, in the plural, and their number.
    pub records: (&'static str, u64),
    /// Its size in bytes. `dataset::check` fills it in for a dataset on
    /// disk, as every filter does.
    pub bytes: u64,
    /// Notes for the user that are not defects.
    pub notes: Vec<String>,
    pub groups: Vec<FindingGroup>,
}
