//! Opens the parts of a puzzle set as they are on the disk. Each part opens or has its own error.
//! Whether the parts fit together is checked elsewhere (in `reader.rs` for reading, in ds-check for all
//! rules).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{BUILD, DATASET, IDENTIFIERS, PuzzleSetManifest, SPLITS, SetArray, SplitMetadata};
use crate::batch::DroppedRecords;
use crate::error::{At, Error, Result};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::{RecordCounts, json_file};
use crate::npy::Integers;
use crate::puzzle::Split;

/// Whether a path is a puzzle set, or one of its splits.
pub fn is_puzzle_dir(path: &Path) -> Result<bool> {
    let [train, test] = SPLITS.map(|split| path.join(split.name()));
    Ok(files::find(&[path.to_path_buf(), train, test], |directory| has_dataset(directory))?
        .is_some())
}

fn has_dataset(directory: &Path) -> Result<bool> {
    files::is_member(&directory.join(DATASET))
}

/// A puzzle set and the paths of its parts.
#[derive(Debug)]
pub struct PuzzleRoot {
    /// The path as the user named it; if one split was named, the directory above it.
    pub path: PathBuf,
    /// The splits that exist, or the split that was named.
    pub splits: Vec<SplitDir>,
    /// Whether a split was named, and not the set.
    is_split: bool,
}

/// The directory of a split.
#[derive(Debug)]
pub struct SplitDir {
    pub split: Split,
    pub directory: PathBuf,
}

impl PuzzleRoot {
    /// Finds the splits. A directory with a `dataset.json` is a split, and its name says which.
    pub fn open(path: &Path) -> Result<PuzzleRoot> {
        if !has_dataset(path)? {
            let mut splits = Vec::new();
            for split in SPLITS {
                let directory = path.join(split.name());
                if has_dataset(&directory)? {
                    splits.push(SplitDir { split, directory });
                }
            }
            return Ok(PuzzleRoot { path: path.to_path_buf(), splits, is_split: false });
        }
        // "." and ".." have no name of their own.
        let whole = fs::canonicalize(path).at(path)?;
        let name = whole.file_name().unwrap_or_default();
        let Some(split) = SPLITS.into_iter().find(|split| name == split.name()) else {
            return Err(Error::usage("a split of a puzzle set is called train or test").at(path));
        };
        let split = SplitDir { split, directory: path.to_path_buf() };
        let above = match (path.file_name(), path.parent()) {
            (Some(_), Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
            (Some(_), Some(parent)) => parent.to_path_buf(),
            _ => path.join(".."),
        };
        Ok(PuzzleRoot { path: above, splits: vec![split], is_split: true })
    }

    /// Reads `identifiers.json`: the name of each identifier; `None` if there is no such file.
    pub fn identifiers(&self) -> Result<Option<Vec<String>>> {
        json_file::if_there(&self.path.join(IDENTIFIERS), json_file::read_all)
    }

    /// Returns the files of the splits as `build.json` states them; none without a `build.json` of
    /// ours.
    pub fn stated(&self) -> Result<Vec<FileEntry>> {
        let is_ours = |build: &Map<String, Value>| {
            build.get("files").and_then(Value::as_array).is_some_and(|files| !files.is_empty())
        };
        let Some(build) = self.build()?.filter(is_ours) else { return Ok(Vec::new()) };
        let Ok(build) = serde_json::from_value::<PuzzleSetManifest>(Value::Object(build)) else {
            return Ok(Vec::new());
        };
        let mut stated = build.stated(&self.path);
        if let ([only], true) = (self.splits.as_slice(), self.is_split) {
            stated.retain(|file| file.path.starts_with(self.path.join(only.split.name())));
        }
        Ok(stated)
    }

    /// Returns what was dropped when the set was made; it is not known unless a `build.json` states
    /// it.
    pub fn dropped(&self) -> Result<DroppedRecords> {
        let build = self.build()?.unwrap_or_default();
        let records = build.get("records").cloned().map(serde_json::from_value::<RecordCounts>);
        let Some(Ok(records)) = records else { return Ok(DroppedRecords::UNKNOWN) };
        let dropped = records.counts().dropped();
        Ok(if self.is_split { dropped.of_part() } else { dropped })
    }

    /// Reads `build.json`, of any builder; `None` if there is no such file.
    pub fn build(&self) -> Result<Option<Map<String, Value>>> {
        json_file::if_there(&self.path.join(BUILD), json_file::read_all)
    }
}

impl SplitDir {
    pub fn metadata(&self) -> Result<SplitMetadata> {
        json_file::read(&self.directory.join(DATASET))
    }

    pub fn arrays(&self, set: &str) -> Result<SetArrays> {
        SetArrays::open(&self.directory, set)
    }
}

/// The arrays of one set of one split, of any shapes.
#[derive(Debug)]
pub struct SetArrays {
    pub inputs: Integers,
    pub labels: Integers,
    pub puzzle_identifiers: Integers,
    pub puzzle_indices: Integers,
    pub group_indices: Integers,
}

impl SetArrays {
    pub fn open(directory: &Path, set: &str) -> Result<SetArrays> {
        let open = |array| open_array(directory, set, array);
        Ok(SetArrays {
            inputs: open(SetArray::Inputs)?,
            labels: open(SetArray::Labels)?,
            puzzle_identifiers: open(SetArray::PuzzleIdentifiers)?,
            puzzle_indices: open(SetArray::PuzzleIndices)?,
            group_indices: open(SetArray::GroupIndices)?,
        })
    }
}

/// Opens one array of a set: integers of any width and byte order, mapped.
pub fn open_array(directory: &Path, set: &str, array: SetArray) -> Result<Integers> {
    let path = array.path(directory, set);
    let file = crate::files::open_member(&path).at(&path)?;
    Integers::open(&file).map_err(|error| Error::from(error).at(&*path))
}
