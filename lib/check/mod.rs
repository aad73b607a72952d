//! The validator behind ds-check: every rule of every format here, told as findings.
//!
//! | to add | where |
//! |---|---|
//! | a check | a `static` in its family's table, and where it looks |
//! | a family of datasets | a file or folder with a [`Family`], and its line in [`FAMILIES`] |
//!
//! A check reads; it repairs nothing, writes nothing and prints nothing. What cannot be read at all
//! (no permission, an I/O error) is an [`Error`](crate::cli::Error), not a finding.

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

pub use catalogue::{Check, Depth, Level, all_checks, print_catalogue};
pub use context::{Context, Options};
pub use findings::{At, Finding, Findings, Outcome};
pub use report::{Form, Report};
pub use select::Selection;

use crate::cli::{Error, Result, shown};

/// Every family of datasets. A path belongs to the first that knows it.
static FAMILIES: &[&dyn Family] =
    &[&kd::Megatron, &pool::Pools, &puzzle::Puzzles, &streams::Shards, &streams::Streams];

/// One family of datasets: what it looks like, and what must hold in it.
pub trait Family: Sync {
    /// Every check that it makes, in the order in which reports show them.
    fn checks(&self) -> Vec<&'static Check>;

    /// Whether a path is (or was meant to be) such a dataset: a damaged one counts.
    fn knows(&self, path: &Path) -> bool;

    /// Looks through one dataset.
    fn check(&self, path: &Path, context: &mut Context<'_>) -> Result<Outcome>;
}

/// Looks through whatever a path names.
pub fn check(path: &Path, context: &mut Context<'_>) -> Result<Outcome> {
    // A prefix names files without being one.
    if let Some(family) = FAMILIES.iter().find(|family| family.knows(path)) {
        return family.check(path, context);
    }
    std::fs::metadata(path).map_err(|e| Error::io(shown(path), &e))?;
    Err(Error::usage(format!(
        "{}: no dataset that ds-check knows (a Megatron root or prefix, a pool of games, a puzzle \
         set, Parquet shards, a file of records); try: each dataset below it, or FILTER ... | \
         ds-check -",
        shown(path)
    )))
}

/// JSON as `T`. What `T` leaves out must be whole too: first it is read as any JSON.
fn from_json<T: serde::de::DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice::<serde_json::Value>(text).and_then(serde_json::from_value)
}
