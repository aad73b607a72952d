//! What plans ask of a product.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::finish::JoinJob;
use super::summary::Summary;
use super::{Plan, PlanSource, Task};
use crate::cli::Slice;
use crate::error::{Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::known_files::KnownFiles;
use crate::provenance::DatasetOrigin;

type FindOrigin = fn(&PlanSource, &Path) -> Result<Option<DatasetOrigin>>;

/// What a plan needs to know of a product.
pub(super) struct Recipe {
    /// Refuses a directory with another kind of dataset, in which the product cannot be written even with
    /// `--overwrite`.
    pub refuse: fn(&Path) -> Result<()>,
    /// The unit of the sources and the unit of the product, both in the plural.
    pub unit: &'static str,
    pub sources: &'static str,
    /// Looks at a source. The arguments are its name, its files or folders, which shard of the raw rows
    /// below the folder it is, and what is known of files of which all bytes must be read.
    pub look: fn(&str, &[PathBuf], Option<Slice>, &mut KnownFiles) -> Result<SourceState>,
    /// Returns the file that makes a part complete. The arguments are the part and the name of its
    /// source.
    pub manifest: fn(&Path, &str) -> PathBuf,
    /// Whether a part is this file alone, so that no manifest states the hashes of other files.
    pub is_one_file: bool,
    /// Whether each source becomes a dataset of its own, with others beside it. The sizes of such sources
    /// differ much, so each task may have all processors; messages of its filters are about that dataset.
    pub is_apart: bool,
    /// Whether a manifest beside the sources is part of their identity.
    pub has_input_manifest: bool,
    /// Returns how what the root has of a source was made.
    pub made: FindOrigin,
    /// Whether `--resume` makes a source again that was made in another way; else it refuses.
    pub makes_again: bool,
    /// Whether a root holds a source already, as the plan would make it.
    pub is_kept: fn(&PlanSource, &Plan, &Path) -> Result<bool>,
    /// Fails if the parts of the tasks, in their order, were not made as the plan says.
    pub check: fn(&[Task<'_>], &Path) -> Result<()>,
    /// Returns which inputs the first filter of a task reads, and all else that differs between sources.
    pub read: fn(&Task<'_>) -> Vec<String>,
    /// Returns where the last filter of a task writes. The arguments are the part and the name of its source.
    pub write: fn(&str, &str) -> Vec<String>,
    /// Joins the parts.
    pub join: fn(&JoinJob<'_>, &[PathBuf]) -> Result<Summary>,
    /// Removes from the root what a join has left.
    pub sweep: fn(&Path) -> Result<()>,
}

/// A group of a source's units, and their decoded bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    pub units: u64,
    pub bytes: u64,
}

/// A source as it is now.
#[derive(Debug, Default)]
pub(super) struct SourceState {
    /// Differs for another source, and after a change of the source: an object for a file, a list of files
    /// for a shard of raw rows.
    pub identity: Value,
    /// Its rows, games or bytes in order; `None` if it is not divided. Such a source is one task.
    pub weights: Option<Vec<Weight>>,
    /// Whether the units are bytes: NDJSON is cut at lines, which are not counted.
    pub are_bytes: bool,
    /// Why it is not divided, if a user can do something about it.
    pub whole: Option<Error>,
}

/// Returns the identity of a file whose rows can only be counted by reading it: its content, not its
/// time.
pub(super) fn uncounted(path: &Path) -> Result<Value> {
    let FileEntry { bytes, sha256, .. } = FileEntry::of(path)?;
    let name = path.file_name().map(|name| shown(Path::new(name)));
    Ok(json!({"name": name, "bytes": bytes, "sha256": sha256}))
}
