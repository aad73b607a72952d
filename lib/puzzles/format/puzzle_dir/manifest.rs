//! `build.json`: what made a puzzle set, and its files. It is published last.

use std::io::Seek;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::digest::sha256_of;
use crate::error::{Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::format::{RecordCounts, json_file};
use crate::provenance::{BuildRun, DatasetOrigin};
use crate::publish::PendingFile;

/// `build.json` as we write it. The file of another builder may be any object: readers pass it on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PuzzleSetManifest {
    /// Null if not known.
    #[serde(deserialize_with = "json_file::stated")]
    pub domain: Option<String>,
    /// The source of the records: the fields of a single source (`seed`, `parameters`, `inputs`),
    /// or `builds`, a list of such objects if there were several.
    #[serde(flatten)]
    pub source: Map<String, Value>,
    /// Examples of the whole pipeline; a puzzle that was dropped counts as one. Absent in sets of
    /// version 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordCounts>,
    /// The files in the order in which they were published.
    pub files: Vec<PuzzleSetFile>,
    /// When, where and by which program the set was made (another builder's value may be anything).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Value>,
    /// How a script made the set, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<DatasetOrigin>,
}

/// The fields about the set, not about the source of its records.
pub(super) const OF_SET: [&str; 4] = ["files", "records", "run", "made"];

/// A file of the set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PuzzleSetFile {
    /// The name relative to the root.
    pub name: String,
    pub bytes: u64,
    /// The hash in hexadecimal.
    pub sha256: String,
}

impl PuzzleSetManifest {
    pub(super) fn new(
        domain: Option<String>,
        mut builds: Vec<Map<String, Value>>,
        records: RecordCounts,
        files: Vec<PuzzleSetFile>,
        run: &BuildRun,
    ) -> PuzzleSetManifest {
        let source = match builds.len() {
            0 => Map::new(),
            1 => {
                let mut build = builds.remove(0);
                build.retain(|key, _| key != "domain" && !OF_SET.contains(&key.as_str()));
                build
            }
            _ => Map::from_iter([("builds".to_string(), json!(builds))]),
        };
        let (records, run) = (Some(records), serde_json::to_value(run).ok());
        PuzzleSetManifest { domain, source, records, files, run, made: None }
    }
}

impl PuzzleSetManifest {
    /// Returns a member of the source that we do not write.
    pub fn unknown_member(&self) -> Option<&str> {
        let mut names = self.source.keys().map(String::as_str);
        names.find(|name| !["seed", "parameters", "inputs", "builds"].contains(name))
    }

    /// Returns its files, below a root.
    pub fn stated(&self, root: &Path) -> Vec<FileEntry> {
        let of = |file: &PuzzleSetFile| {
            FileEntry::below(root, &file.name, file.bytes, Some(file.sha256.clone()))
        };
        self.files.iter().map(of).collect()
    }
}

impl PuzzleSetFile {
    /// Describes a complete file by its name below the root.
    pub(super) fn describe(name: String, file: &mut PendingFile) -> Result<PuzzleSetFile> {
        let content = file.rewind().and_then(|()| sha256_of(&mut *file));
        let (bytes, sha256) = content.map_err(|e| Error::write(shown(file.path()), &e))?;
        Ok(PuzzleSetFile { name, bytes, sha256 })
    }
}
