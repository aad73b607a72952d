//! What a check is, how it is declared, and the table of all checks.

use std::borrow::Cow;
use std::fmt::Write;

use super::FAMILIES;
pub use crate::error::Severity;

/// How much of a dataset a check must read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// It reads names, sizes, headers, indices and manifests.
    Structure,
    /// It reads every value.
    Content,
}

/// A property that must hold.
#[derive(Debug)]
pub struct Check {
    /// Stable: `family.subject.defect`.
    pub id: Cow<'static, str>,
    pub severity: Severity,
    pub depth: Depth,
    /// One line: what is found, and why it matters.
    pub meaning: &'static str,
    /// How to correct the defect, if that is known.
    pub hint: Option<&'static str>,
}

impl Check {
    /// Returns the error of a sink that refuses a record because of this check.
    pub fn refusal(&self, cause: &str) -> String {
        format!("{cause} ({})", self.id)
    }
}

/// Declares the checks of a file, each once: a `static` for the code that makes the check, and its
/// line in `CHECKS`, which the file's [`Family`](super::Family) lists. A `CHECKS` that nothing lists does not compile.
///
/// ```text
/// checks! {
///     MAGIC: Error Structure "kd.idx.magic", "the .idx is not a Megatron index (MMIDIDX)";
///     LAST: Warning Content "kd.mask.last", "what is found, and why it matters", hint "what to do";
/// }
/// ```
#[macro_export]
macro_rules! checks {
    ($($vis:vis $name:ident: $severity:ident $depth:ident $id:literal,
        $meaning:literal $(, hint $hint:literal)?;)+) => {
        $($vis static $name: $crate::check::Check = $crate::check::Check {
            id: std::borrow::Cow::Borrowed($id),
            severity: $crate::check::Severity::$severity,
            depth: $crate::check::Depth::$depth,
            meaning: $meaning,
            hint: <[&str]>::first(&[$($hint)?]).copied(),
        };)+

        #[deny(dead_code)]
        pub static CHECKS: &[&$crate::check::Check] = &[$(&$name),+];
    };
}
pub use crate::checks;

/// Returns every check, in the order in which reports show them.
pub fn catalogue() -> Vec<&'static Check> {
    FAMILIES.iter().flat_map(|family| family.checks()).collect()
}

/// Returns the checks for `ds-check --list`: text in columns, or one JSON object a line.
pub fn print_catalogue(checks: &[&Check], json: bool) -> String {
    let mut out = String::new();
    for check in checks {
        if json {
            let line = serde_json::json!({
                "check": check.id,
                "level": check.severity.name(),
                "structure": check.depth == Depth::Structure,
                "meaning": check.meaning,
                "hint": check.hint,
            });
            let _ = writeln!(out, "{line}");
        } else {
            let _ = writeln!(out, "{:7}  {}", check.severity.name(), check.id);
            for line in crate::wording::wrapped(check.meaning, 80 - 9) {
                let _ = writeln!(out, "         {line}");
            }
        }
    }
    out
}
