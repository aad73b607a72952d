//! A file as manifests and receipts state it (path, size, SHA-256), and whether the file on the disk still is as
//! stated.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::sha256_of;
use crate::error::{At, Result};
use crate::files;

/// A file as a manifest states it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileEntry {
    pub path: PathBuf,
    pub bytes: u64,
    /// The hash in hexadecimal; some builders state none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How a file differs from its entry: what is found in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// There is no file.
    Missing,
    /// A file of this many bytes.
    Bytes(u64),
    /// A file with this hash.
    Sha256(String),
}

impl FileEntry {
    /// Makes the entry of a file; reads all of it.
    pub fn of(path: &Path) -> Result<FileEntry> {
        let content = files::open_member(path).and_then(sha256_of);
        let (bytes, sha256) = content.at(path)?;
        Ok(FileEntry { path: path.to_path_buf(), bytes, sha256: Some(sha256) })
    }

    /// Makes the entry of a file that a manifest names below `base`. A path that leads out of `base` becomes the path
    /// of a file in the dataset that does not exist, so that nothing outside is read.
    pub fn below(base: &Path, named: &str, bytes: u64, sha256: Option<String>) -> FileEntry {
        let is_inside = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let inside: PathBuf = Path::new(named).components().filter(is_inside).collect();
        FileEntry { path: base.join(inside), bytes, sha256 }
    }

    /// Returns how the file's size differs, if it does; reads nothing.
    pub fn size_difference(&self) -> Result<Option<Difference>> {
        Ok(match files::member(&self.path)?.map(|metadata| metadata.len()) {
            None => Some(Difference::Missing),
            Some(found) => (found != self.bytes).then_some(Difference::Bytes(found)),
        })
    }

    /// Returns the first entry whose file has another size; reads nothing.
    pub fn first_of_other_size(stated: &[FileEntry]) -> Result<Option<&FileEntry>> {
        files::find(stated, |entry| Ok(entry.size_difference()?.is_some()))
    }

    /// Compares the file's content with the hash, if there is one; reads all of it.
    pub fn verify(&self) -> Result<Option<Difference>> {
        let Some(stated) = &self.sha256 else { return Ok(None) };
        let found = FileEntry::of(&self.path)?.sha256;
        Ok(found.filter(|found| found != stated).map(Difference::Sha256))
    }
}
