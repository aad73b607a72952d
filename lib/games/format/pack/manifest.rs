//! `manifest.json` of a pack: what was written, and where it came from. It is published last, and
//! says nothing that differs from run to run.

use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::sha256_of;
use crate::error::{Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::format::hashed_file::FinishedFile;
use crate::format::raw_games::Legality;
use crate::format::{RecordCounts, json_file};
use crate::provenance::DatasetOrigin;
use crate::publish::PendingFile;
use crate::wording::counted;

pub use crate::format::MANIFEST;

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
    /// The games of the whole pipeline.
    pub records: RecordCounts,
    /// What was lost with `--lossy`.
    pub lost: Vec<String>,
    /// The files in the order in which they were published.
    pub files: Vec<PackFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Vec<Value>>,
    /// How a script joined the pack of parts, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<DatasetOrigin>,
}

/// A file of the pack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackFile {
    /// The path relative to the pack.
    pub path: String,
    /// The number of rows, if the file holds rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    pub bytes: u64,
    /// The hash in hexadecimal.
    pub sha256: String,
}

impl PackFile {
    /// Describes a complete file without rows.
    pub(super) fn of(file: &PendingFile) -> Result<PackFile> {
        let content = File::open(file.temporary()).and_then(sha256_of);
        let (bytes, sha256) = content.map_err(|e| Error::write(shown(file.path()), &e))?;
        Ok(PackFile { path: name_of(file), rows: None, bytes, sha256 })
    }

    /// Describes a complete file of rows.
    pub(super) fn of_rows(file: &FinishedFile, rows: u64) -> PackFile {
        let FinishedFile { file, bytes, sha256 } = file;
        let (path, sha256) = (name_of(file), sha256.clone());
        PackFile { path, rows: Some(rows), bytes: *bytes, sha256 }
    }
}

fn name_of(file: &PendingFile) -> String {
    file.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl PackManifest {
    /// Describes the pack in words.
    pub fn summary(&self) -> String {
        format!("{}, {}", counted(self.runs, "game"), counted(self.rows, "row"))
    }

    /// Reads the manifest of a pack.
    pub fn read(directory: &Path) -> Result<PackManifest> {
        let path = directory.join(MANIFEST);
        let manifest: PackManifest = json_file::read(&path)?;
        match json_file::other_schema(&manifest.schema_version, SCHEMA) {
            Some(cause) => Err(Error::data(cause).at(path.as_path())),
            None => Ok(manifest),
        }
    }

    /// Returns its files in a directory.
    pub fn stated(&self, directory: &Path) -> Vec<FileEntry> {
        let of = |file: &PackFile| {
            FileEntry::below(directory, &file.path, file.bytes, Some(file.sha256.clone()))
        };
        self.files.iter().map(of).collect()
    }

    /// Returns the files of a pool as its manifest states them; none without a manifest of ours.
    pub fn stated_in(directory: &Path) -> Result<Vec<FileEntry>> {
        let is_ours = |manifest: &Value| manifest["schema_version"] == SCHEMA;
        let path = directory.join(MANIFEST);
        match json_file::if_there(&path, json_file::read::<Value>)?.filter(is_ours) {
            Some(_) => Ok(PackManifest::read(directory)?.stated(directory)),
            None => Ok(Vec::new()),
        }
    }

    /// Writes the manifest to a file that is complete but not published.
    pub(super) fn pending(&self, directory: &Path) -> Result<PendingFile> {
        json_file::pending(&directory.join(MANIFEST), self)
    }
}
