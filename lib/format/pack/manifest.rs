//! `manifest.json` of a pack: what was written, and where it came from. It is published last, and
//! says nothing that differs from run to run.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use serde::Serialize;
use serde_json::Value;

use crate::cli::{Error, PendingFile, Result, shown};
use crate::format::sha256;

pub const MANIFEST: &str = "manifest.json";
pub const SCHEMA: &str = "gristmill_pack_v1";

#[derive(Debug, Serialize)]
pub(super) struct Manifest {
    pub schema_version: &'static str,
    pub layout: &'static str,
    pub runs: u64,
    pub rows: u64,
    /// `board` or `values`, as mx-decode was told; null where nothing says.
    pub legality: Option<String>,
    pub records: Records,
    /// What `--lossy` has let go.
    pub lost: Vec<String>,
    /// In the order in which they were published.
    pub files: Vec<Described>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Vec<Value>>,
}

/// Games that came into the pipeline, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Records {
    pub read: u64,
    pub written: u64,
    pub rejected: u64,
}

/// A file of the pack.
#[derive(Debug, Serialize)]
pub(super) struct Described {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    bytes: u64,
    sha256: String,
}

/// A complete file that is being hashed, on a thread of its own: it can be forced to the disk, and
/// the next can be written, meanwhile. It is read once more for that: the number of rows stands at
/// its beginning, and is known when all of them are written.
pub(super) struct Hashing {
    path: PathBuf,
    rows: Option<u64>,
    thread: JoinHandle<io::Result<(u64, String)>>,
}

impl Hashing {
    pub(super) fn start(file: &PendingFile, rows: Option<u64>) -> Result<Hashing> {
        let (path, temporary) = (file.path().to_path_buf(), file.temporary().to_path_buf());
        let thread = thread::Builder::new().spawn(move || {
            let mut content = File::open(temporary)?;
            Ok((content.metadata()?.len(), sha256(&mut content)?))
        });
        let thread = thread.map_err(|e| Error::io(shown(&path), &e))?;
        Ok(Hashing { path, rows, thread })
    }

    pub(super) fn finish(self) -> Result<Described> {
        let ended = |_| Err(io::Error::other("the thread that hashes has ended"));
        let hashed = self.thread.join().unwrap_or_else(ended);
        let (bytes, sha256) = hashed.map_err(|e| Error::write(shown(&self.path), &e))?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Described { path: name, rows: self.rows, bytes, sha256 })
    }
}

impl Manifest {
    /// The manifest as a file that is complete but not published.
    pub(super) fn pending(&self, directory: &Path) -> Result<PendingFile> {
        let path = directory.join(MANIFEST);
        let mut file = PendingFile::create(&path)?;
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|e| Error::data(format!("{}: {e}", shown(&path))))?;
        text.push(b'\n');
        file.write_all(&text).map_err(|e| Error::write(shown(&path), &e))?;
        Ok(file)
    }
}
