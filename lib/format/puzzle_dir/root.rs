//! Opening the parts of a puzzle set as they are on the disk. Each part opens or has its error;
//! that they fit together is checked elsewhere (`reader.rs` for reading, ds-check for all rules).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Array, BUILD, DATASET, IDENTIFIERS, Metadata, SPLITS};
use crate::cli::{Error, Result, shown};
use crate::format::npy::Integers;
use crate::puzzle::Split;

/// Whether a path names a puzzle set, or one of its splits.
pub fn is_puzzle_dir(path: &Path) -> bool {
    let has_dataset = |directory: &Path| directory.join(DATASET).is_file();
    has_dataset(path) || SPLITS.iter().any(|split| has_dataset(&path.join(split.name())))
}

/// A puzzle set: where its parts are.
#[derive(Debug)]
pub struct Root {
    /// As the user named it; where one split was named, the directory above it.
    pub path: PathBuf,
    /// The splits that there are, or the one that was named.
    pub splits: Vec<SplitDir>,
}

/// A split's directory.
#[derive(Debug)]
pub struct SplitDir {
    pub split: Split,
    pub directory: PathBuf,
}

impl Root {
    /// Finds the splits. A directory with a `dataset.json` is one split, and its name says which.
    pub fn open(path: &Path) -> Result<Root> {
        if !path.join(DATASET).is_file() {
            let splits = SPLITS
                .into_iter()
                .map(|split| SplitDir { split, directory: path.join(split.name()) })
                .filter(|split| split.directory.join(DATASET).is_file())
                .collect();
            return Ok(Root { path: path.to_path_buf(), splits });
        }
        // "." and ".." have no name of their own.
        let whole = fs::canonicalize(path).map_err(|e| Error::io(shown(path), &e))?;
        let name = whole.file_name().unwrap_or_default();
        let Some(split) = SPLITS.into_iter().find(|split| name == split.name()) else {
            return Err(Error::usage(format!(
                "{}: a split of a puzzle set is called train or test",
                shown(path)
            )));
        };
        let split = SplitDir { split, directory: path.to_path_buf() };
        let above = match (path.file_name(), path.parent()) {
            (Some(_), Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
            (Some(_), Some(parent)) => parent.to_path_buf(),
            _ => path.join(".."),
        };
        Ok(Root { path: above, splits: vec![split] })
    }

    /// `identifiers.json`: the name of each identifier; `None` where the file is not there.
    pub fn identifiers(&self) -> Result<Option<Vec<String>>> {
        let path = self.path.join(IDENTIFIERS);
        let Some(text) = read_if_there(&path)? else { return Ok(None) };
        let names = serde_json::from_slice(&text);
        names.map(Some).map_err(|e| Error::data(format!("{}: {e}", shown(&path))))
    }

    /// `build.json`; `None` where the file is not there.
    pub fn build(&self) -> Result<Option<Map<String, Value>>> {
        let path = self.path.join(BUILD);
        let Some(text) = read_if_there(&path)? else { return Ok(None) };
        let build = serde_json::from_slice(&text);
        build.map(Some).map_err(|e| Error::data(format!("{}: {e}", shown(&path))))
    }
}

impl SplitDir {
    pub fn metadata(&self) -> Result<Metadata> {
        Metadata::read(&self.directory.join(DATASET))
    }

    pub fn arrays(&self, set: &str) -> Result<Arrays> {
        Arrays::open(&self.directory, set)
    }
}

/// The arrays of one set of one split, of whatever shapes.
#[derive(Debug)]
pub struct Arrays {
    pub inputs: Integers,
    pub labels: Integers,
    pub puzzle_identifiers: Integers,
    pub puzzle_indices: Integers,
    pub group_indices: Integers,
}

impl Arrays {
    pub fn open(directory: &Path, set: &str) -> Result<Arrays> {
        let open = |array| open_array(directory, set, array);
        Ok(Arrays {
            inputs: open(Array::Inputs)?,
            labels: open(Array::Labels)?,
            puzzle_identifiers: open(Array::PuzzleIdentifiers)?,
            puzzle_indices: open(Array::PuzzleIndices)?,
            group_indices: open(Array::GroupIndices)?,
        })
    }
}

/// One array of a set: integers of any width and order, mapped.
pub fn open_array(directory: &Path, set: &str, array: Array) -> Result<Integers> {
    let path = array.path(directory, set);
    let file = File::open(&path).map_err(|e| Error::io(shown(&path), &e))?;
    Integers::open(&file).map_err(|error| Error::from(error).at(&*path))
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(shown(path), &error)),
    }
}
