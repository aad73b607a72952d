//! What the checks of one dataset found: all of it counted, the first few of each kind kept.

use std::path::{Path, PathBuf};

use super::catalogue::{Check, Level, all_checks};
use super::select::Selection;

/// Where something was found.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    file: &'a Path,
    record: Option<(&'static str, u64)>,
    id: Option<&'a str>,
}

impl<'a> At<'a> {
    pub fn file(file: &'a Path) -> At<'a> {
        At { file, record: None, id: None }
    }

    /// A record by its number, as the format counts them: sequences, rows and examples from 0,
    /// as a trainer does; lines and records of a stream from 1.
    pub fn record(self, unit: &'static str, number: u64) -> At<'a> {
        At { record: Some((unit, number)), ..self }
    }

    pub fn id(self, id: Option<&'a str>) -> At<'a> {
        At { id, ..self }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub file: PathBuf,
    /// What is counted (`sequence`, `row`, `example`, `line`, ...), and its number.
    pub record: Option<(&'static str, u64)>,
    pub id: Option<String>,
    pub message: String,
}

/// All findings of one check at one level.
#[derive(Debug)]
pub struct Kind {
    pub check: &'static Check,
    pub level: Level,
    pub count: u64,
    /// The first of them.
    pub first: Vec<Finding>,
}

/// Gathers findings. Each thread has its own; they are merged in the order of the data, so that
/// the report is the same for every number of threads.
#[derive(Debug)]
pub struct Findings<'s> {
    selection: &'s Selection,
    most: usize,
    kinds: Vec<Kind>,
}

impl<'s> Findings<'s> {
    /// Keeps the first `most` of each kind.
    pub fn new(selection: &'s Selection, most: usize) -> Findings<'s> {
        Findings { selection, most, kinds: Vec::new() }
    }

    pub fn wants(&self, check: &Check) -> bool {
        self.selection.wants(check)
    }

    pub fn add(&mut self, check: &'static Check, at: At<'_>, message: impl FnOnce() -> String) {
        self.add_as(check, check.level, at, message);
    }

    /// Adds a finding that is worse, or less bad, here than elsewhere.
    pub fn add_as(
        &mut self,
        check: &'static Check,
        level: Level,
        at: At<'_>,
        message: impl FnOnce() -> String,
    ) {
        if !self.wants(check) {
            return;
        }
        let most = self.most;
        let kind = self.kind(check, level);
        kind.count += 1;
        if kind.first.len() < most {
            kind.first.push(Finding {
                file: at.file.to_path_buf(),
                record: at.record,
                id: at.id.map(str::to_string),
                message: message(),
            });
        }
    }

    /// Takes the findings of data that comes behind all that was seen so far.
    pub fn merge(&mut self, later: Findings<'_>) {
        let most = self.most;
        for other in later.kinds {
            let kind = self.kind(other.check, other.level);
            kind.count += other.count;
            let room = most - kind.first.len().min(most);
            kind.first.extend(other.first.into_iter().take(room));
        }
    }

    fn kind(&mut self, check: &'static Check, level: Level) -> &mut Kind {
        let same = |kind: &Kind| std::ptr::eq(kind.check, check) && kind.level == level;
        let place = self.kinds.iter().position(same).unwrap_or_else(|| {
            self.kinds.push(Kind { check, level, count: 0, first: Vec::new() });
            self.kinds.len() - 1
        });
        &mut self.kinds[place]
    }

    pub fn count(&self, check: &'static Check) -> u64 {
        self.kinds.iter().filter(|kind| std::ptr::eq(kind.check, check)).map(|k| k.count).sum()
    }

    /// The kinds, errors first, in the order of the catalogue.
    pub fn into_kinds(mut self) -> Vec<Kind> {
        let order = all_checks();
        self.kinds.sort_by_key(|kind| {
            let place = order.iter().position(|check| std::ptr::eq(*check, kind.check));
            (kind.level, place)
        });
        self.kinds
    }
}

/// What is known of one dataset after it was looked through.
#[derive(Debug)]
pub struct Outcome {
    /// As the user named it.
    pub path: PathBuf,
    /// What it is: "Megatron root".
    pub what: String,
    /// What is counted in it, in the plural, and how many there are.
    pub records: (&'static str, u64),
    /// Size of its files.
    pub bytes: u64,
    /// What the user should know that is nothing wrong.
    pub notes: Vec<String>,
    pub kinds: Vec<Kind>,
}
