//! `manifest.json` of a pack: what was written, and where it came from. It is published last, and
//! says nothing that differs from run to run.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::PendingFile;
use crate::digest::sha256_of;
use crate::error::{Error, Result, shown};
use crate::format::raw_games::Legality;
use crate::format::{Made, RecordCounts, json_file};

pub const MANIFEST: &str = "manifest.json";
pub const SCHEMA: &str = "gristmill_pack_v1";

/// `manifest.json`, in the order of its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackManifest {
    pub schema_version: String,
    /// `macroxue`, `macroxue-packed` or `selfplay-v1`.
    pub layout: String,
    pub runs: u64,
    pub rows: u64,
    /// How `ev_legal` was decided; null if not known.
    pub legality: Option<Legality>,
    /// Games of the whole pipeline.
    pub records: RecordCounts,
    /// What was lost with `--lossy`.
    pub lost: Vec<String>,
    /// In the order in which they were published.
    pub files: Vec<PackFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Vec<Value>>,
    /// If a script joined it of parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// A file of the pack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackFile {
    /// Relative to the pack.
    pub path: String,
    /// If it holds rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// A complete file that is being hashed, on a thread of its own: it can be forced to the disk, and
/// the next can be written, meanwhile. It is read once more for that: the number of rows is at
/// its beginning, and is known only when all of them are written.
pub(super) struct Hashing {
    path: PathBuf,
    rows: Option<u64>,
    thread: JoinHandle<io::Result<(u64, String)>>,
}

impl Hashing {
    pub(super) fn start(file: &PendingFile, rows: Option<u64>) -> Result<Hashing> {
        let (path, temporary) = (file.path().to_path_buf(), file.temporary().to_path_buf());
        let hash = move || File::open(temporary).and_then(sha256_of);
        let thread = thread::Builder::new().spawn(hash).map_err(|e| Error::io(shown(&path), &e))?;
        Ok(Hashing { path, rows, thread })
    }

    pub(super) fn finish(self) -> Result<PackFile> {
        let ended = |_| Err(io::Error::other("the thread that hashes has ended"));
        let hashed = self.thread.join().unwrap_or_else(ended);
        let (bytes, sha256) = hashed.map_err(|e| Error::write(shown(&self.path), &e))?;
        let path = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(PackFile { path, rows: self.rows, bytes, sha256 })
    }
}

impl PackManifest {
    /// Reads the manifest of a pack.
    pub fn read(directory: &Path) -> Result<PackManifest> {
        let path = directory.join(MANIFEST);
        let manifest: PackManifest = json_file::read(&path)?;
        match json_file::other_schema(&manifest.schema_version, SCHEMA) {
            Some(cause) => Err(Error::data(cause).at(path.as_path())),
            None => Ok(manifest),
        }
    }

    /// The manifest as a file that is complete but not published.
    pub(super) fn pending(&self, directory: &Path) -> Result<PendingFile> {
        json_file::pending(&directory.join(MANIFEST), self)
    }
}
