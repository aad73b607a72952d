//! The validator that ds-check runs: every rule of every format here, reported as findings.
//!
//! A check is a line in the `checks!` of the file that makes it. A family of datasets is a [`Family`] in a file or
//! folder of its own; the program hands all of them down ([`FAMILIES`]).
//!
//! A check reads; it repairs nothing, writes nothing and prints nothing. What cannot be read at all
//! (no permission, an I/O error) is an [`Error`](crate::error::Error), not a finding.

mod catalogue;
mod context;
mod findings;
pub mod inventory;
pub mod repeats;
mod report;
mod select;
pub mod streams;

use std::path::Path;

pub use catalogue::checks;
pub use catalogue::{Check, Depth, Severity, catalogue, print_catalogue};
pub use context::{BytesRead, CheckContext, CheckOptions, CheckedChunk};
pub use findings::{Finding, FindingGroup, FindingPlace, Findings, Outcome};
pub use report::{Report, ReportFormat, ReportStyle};
pub use select::{CheckNames, Selection};
pub use streams::{
    BatchCheck, CheckKind, KINDS, Misread, RECORD, RecordChecker, RecordRules, StreamFamily,
};

use crate::error::Result;
use crate::handed::Handed;

/// Every family of checks, in the order of reports.
pub static FAMILIES: Handed<&'static dyn Family> = Handed::new();

/// One family of datasets: how it is recognised, and the checks of it.
pub trait Family: Sync {
    /// Returns every check that it makes, in the order in which reports show them.
    fn checks(&self) -> Vec<&'static Check>;

    /// Whether a path is such a dataset, also a damaged one.
    fn knows(&self, path: &Path) -> Result<bool>;

    /// Checks one dataset.
    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome>;
}
