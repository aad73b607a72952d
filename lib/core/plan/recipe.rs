//! What plans ask of a product.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::finish::Joining;
use super::summary::Summary;
use super::{Plan, PlanSource, Task};
use crate::cli::Slice;
use crate::error::{Result, shown};
use crate::file_entry::FileEntry;
use crate::provenance::Made;

type MadeOf = fn(&PlanSource, &Path) -> Result<Option<Made>>;

/// All that plans ask of a product.
pub(super) struct Recipe {
    /// Refuses a directory in which it cannot be written, whatever may be overwritten: another kind of dataset is
    /// there.
    pub refuse: fn(&Path) -> Result<()>,
    /// What its sources have, and what they become, in the plural.
    pub unit: &'static str,
    pub sources: &'static str,
    /// Looks at a source: a name, its files or folders, and which of the shards of the raw rows below the folder
    /// it is.
    pub look: fn(&str, &[PathBuf], Option<Slice>) -> Result<SourceState>,
    /// The file that makes a part whole, of a part and the name of its source.
    pub manifest: fn(&Path, &str) -> PathBuf,
    /// Whether it is the only file of a part, so that nothing states the hash of the others.
    pub is_one_file: bool,
    /// Whether each source becomes a dataset of its own, beside which others may stand. Their sizes differ by
    /// far, so that each task may have all processors, and what its filters say is about that dataset.
    pub is_apart: bool,
    /// Whether a manifest beside the sources is part of what they are.
    pub has_input_manifest: bool,
    /// What stands where a source becomes a dataset says of how it was made. `--resume` goes on only with what
    /// was made as the plan would; `None`: it makes anew what was made in another way.
    pub made: Option<MadeOf>,
    /// Whether a root holds a source already, as the plan would make it.
    pub is_kept: fn(&PlanSource, &Plan, &Path) -> Result<bool>,
    /// Fails if the parts of the tasks, in their order, are not what the plan says.
    pub check: fn(&[Task<'_>], &Path) -> Result<()>,
    /// Joins the parts.
    pub join: fn(&Joining<'_>, &[PathBuf]) -> Result<Summary>,
    /// Removes from the root what joining has left.
    pub sweep: fn(&Path) -> Result<()>,
}

/// Units of a source that are together, and their decoded bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    pub units: u64,
    pub bytes: u64,
}

/// A source as it is now.
#[derive(Debug, Default)]
pub(super) struct SourceState {
    /// What tells it from another, or from itself after a change: of a file an object, of a shard of
    /// raw rows a list of its files.
    pub identity: Value,
    /// Its rows or games in order; `None` if they are not counted (NDJSON): such a source is one task.
    pub weights: Option<Vec<Weight>>,
}

/// A file whose rows only reading counts: known by its content, not by when it was written.
pub(super) fn uncounted(path: &Path) -> Result<Value> {
    let FileEntry { bytes, sha256, .. } = FileEntry::of(path)?;
    let name = path.file_name().map(|name| shown(Path::new(name)));
    Ok(json!({"name": name, "bytes": bytes, "sha256": sha256}))
}
