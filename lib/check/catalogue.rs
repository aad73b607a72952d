//! What a check is, and the table of all of them.

use std::borrow::Cow;
use std::fmt::Write;

use super::FAMILIES;

/// How bad it is that a check fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warning,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// How far a check must read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Names, sizes, headers, indices, manifests.
    Structure,
    /// Every value.
    Content,
}

/// One thing that must hold.
#[derive(Debug)]
pub struct Check {
    /// Stable: `family.subject.defect`.
    pub id: Cow<'static, str>,
    pub level: Level,
    pub depth: Depth,
    /// One line: what is found, and why it matters.
    pub meaning: Cow<'static, str>,
    /// What to do about it, where that is known.
    pub hint: Option<&'static str>,
}

impl Check {
    pub const fn error(id: &'static str, meaning: &'static str) -> Check {
        Check {
            id: Cow::Borrowed(id),
            level: Level::Error,
            depth: Depth::Content,
            meaning: Cow::Borrowed(meaning),
            hint: None,
        }
    }

    pub const fn warning(id: &'static str, meaning: &'static str) -> Check {
        let mut check = Check::error(id, meaning);
        check.level = Level::Warning;
        check
    }

    /// The check needs no values, only what frames them.
    pub const fn structure(mut self) -> Check {
        self.depth = Depth::Structure;
        self
    }

    pub const fn hint(mut self, hint: &'static str) -> Check {
        self.hint = Some(hint);
        self
    }
}

/// Every check of every family.
pub fn all_checks() -> Vec<&'static Check> {
    FAMILIES.iter().flat_map(|family| family.checks()).collect()
}

/// The table of all checks for `ds-check --list`: text in columns, or one JSON object a line.
pub fn print_catalogue(json: bool) -> String {
    let checks = all_checks();
    let mut out = String::new();
    for check in &checks {
        if json {
            let line = serde_json::json!({
                "check": check.id,
                "level": check.level.name(),
                "structure": check.depth == Depth::Structure,
                "meaning": check.meaning,
                "hint": check.hint,
            });
            let _ = writeln!(out, "{line}");
        } else {
            let _ = writeln!(out, "{:7}  {}", check.level.name(), check.id);
            for line in super::report::wrapped(&check.meaning, 80 - 9) {
                let _ = writeln!(out, "         {line}");
            }
        }
    }
    out
}
