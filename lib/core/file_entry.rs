//! What a file is (its path, its size, its SHA-256), as manifests and receipts state it, and whether what stands
//! there still is that.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::sha256_of;
use crate::error::{Error, Result};
use crate::files;

/// A file as it is stated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileEntry {
    pub path: PathBuf,
    pub bytes: u64,
    /// In hexadecimal; some builders state none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How a file differs from what is stated: what was found in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Nothing.
    Missing,
    /// A file of so many bytes.
    Bytes(u64),
    /// A file of this hash.
    Sha256(String),
}

impl FileEntry {
    /// A file as it is; reads all of it.
    pub fn of(path: &Path) -> Result<FileEntry> {
        let content = files::open_member(path).and_then(sha256_of);
        let (bytes, sha256) = content.map_err(|e| Error::io(path, &e))?;
        Ok(FileEntry { path: path.to_path_buf(), bytes, sha256: Some(sha256) })
    }

    /// A file that a manifest names below `base`. A path that leads elsewhere is taken for one in the
    /// dataset, which is not there: nothing outside of it is read.
    pub fn below(base: &Path, named: &str, bytes: u64, sha256: Option<String>) -> FileEntry {
        let is_inside = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let inside: PathBuf = Path::new(named).components().filter(is_inside).collect();
        FileEntry { path: base.join(inside), bytes, sha256 }
    }

    /// How its size differs, if it does; reads nothing.
    pub fn size_difference(&self) -> Result<Option<Difference>> {
        Ok(match files::member(&self.path)?.map(|metadata| metadata.len()) {
            None => Some(Difference::Missing),
            Some(found) => (found != self.bytes).then_some(Difference::Bytes(found)),
        })
    }

    /// The first of several whose size differs; reads nothing.
    pub fn first_of_other_size(stated: &[FileEntry]) -> Result<Option<&FileEntry>> {
        files::find(stated, |entry| Ok(entry.size_difference()?.is_some()))
    }

    /// How its content differs from its hash, if it has one; reads all of it.
    pub fn verify(&self) -> Result<Option<Difference>> {
        let Some(stated) = &self.sha256 else { return Ok(None) };
        let found = FileEntry::of(&self.path)?.sha256;
        Ok(found.filter(|found| found != stated).map(Difference::Sha256))
    }
}
