//! The validator that ds-check runs: every rule of every format here, reported as findings.
//!
//! | to add | where |
//! |---|---|
//! | a check | a line in the `checks!` of the file that makes it |
//! | a family of datasets | a file or folder with a [`Family`], and its line in [`FAMILIES`] |
//!
//! A check reads; it repairs nothing, writes nothing and prints nothing. What cannot be read at all
//! (no permission, an I/O error) is an [`Error`](crate::error::Error), not a finding.

mod catalogue;
mod context;
mod findings;
mod inventory;
mod kd;
mod pool;
mod puzzle;
mod repeats;
mod report;
mod select;
mod streams;

use std::path::Path;

use catalogue::checks;
pub use catalogue::{Check, Depth, Severity, catalogue, print_catalogue};
use context::CheckedChunk;
pub use context::{CheckContext, CheckOptions};
pub use findings::{At, Finding, FindingGroup, Findings, Outcome};
pub use kd::MegatronFamily;
pub use pool::PoolFamily;
pub use puzzle::PuzzleSetFamily;
pub use report::{Report, ReportFormat, ReportStyle};
pub use select::Selection;
pub use streams::{ParquetShardsFamily, StreamFamily};

use crate::error::{Error, Result, shown};

/// Every family of datasets. A path belongs to the first that knows it.
pub static FAMILIES: &[&dyn Family] =
    &[&MegatronFamily, &PoolFamily, &PuzzleSetFamily, &ParquetShardsFamily, &StreamFamily];

/// One family of datasets: what it looks like, and what must hold in it.
pub trait Family: Sync {
    /// Every check that it makes, in the order in which reports show them.
    fn checks(&self) -> Vec<&'static Check>;

    /// Whether a path is (or was meant to be) such a dataset: a damaged one counts.
    fn knows(&self, path: &Path) -> bool;

    /// Looks through one dataset.
    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome>;
}

/// Looks through whatever a path names.
pub fn check(path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
    // A prefix names files without being one.
    if let Some(family) = FAMILIES.iter().find(|family| family.knows(path)) {
        return family.check(path, context);
    }
    std::fs::metadata(path).map_err(|e| Error::io(shown(path), &e))?;
    let kinds = "a Megatron root or prefix, a pool of games, a puzzle set, Parquet shards, a file \
                 of records";
    Err(Error::usage(format!("no dataset that ds-check knows ({kinds})"))
        .at(shown(path))
        .hint("each dataset below it, or FILTER ... | ds-check -"))
}
