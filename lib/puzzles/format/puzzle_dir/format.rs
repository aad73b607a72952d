//! Puzzle sets as a format: what they have, and how they are known and opened.

use std::path::{Path, PathBuf};

use super::{
    BUILD, DATASET, IDENTIFIERS, PuzzleReader, PuzzleRoot, PuzzleSetManifest, SPLITS, SetArray,
    is_puzzle_dir,
};
use crate::error::Result;
use crate::files;
use crate::format::json_file;
use crate::format::whole::{all_there, understood};
use crate::format::{Format, Opener};

/// Puzzle sets; a path may name one of the splits.
pub const FORMAT: Format = Format {
    name: "puzzle sets",
    owner: "a puzzle set",
    signs: "dataset.json",
    folders: &["", "train", "test"],
    endings: &["npy", "json"],
    is_sign: |_, name| name == DATASET || (name.starts_with("all__") && name.ends_with(".npy")),
    schema: None,
    knows,
    open: Opener::Records(|paths, slice| Ok(Box::new(PuzzleReader::open(paths, slice)?))),
    stated: |path| PuzzleRoot::open(path)?.stated(),
    members: |_| Vec::new(),
    // One split of a puzzle set is published with the other.
    beside: |path| {
        let is_split = |name| SPLITS.iter().any(|split| name == split.name());
        let above = path.parent().filter(|_| path.file_name().is_some_and(is_split));
        let names = [BUILD, IDENTIFIERS];
        Ok(above.into_iter().flat_map(|above| names.map(|name| above.join(name))).collect())
    },
    refuse_missing: |path| {
        let manifest = path.join(BUILD);
        if !files::is_directory(path)? || !files::is_member(&manifest)? {
            return Ok(());
        }
        let found = understood(json_file::read::<PuzzleSetManifest>(&manifest))?;
        let names = found.iter().flat_map(|set| &set.files).map(|file| &file.name);
        all_there(path, names, &manifest)
    },
};

/// A set without its `dataset.json` is still a set.
fn knows(path: &Path) -> Result<bool> {
    let has_array = |directory: &PathBuf| -> Result<bool> {
        Ok(files::paths_if_there(directory)?.iter().any(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            SetArray::ALL.into_iter().any(|array| array.set_of(&name).is_some())
        }))
    };
    let [train, test] = SPLITS.map(|split| path.join(split.name()));
    let directories = [path.to_path_buf(), train, test];
    Ok(is_puzzle_dir(path)? || files::find(&directories, has_array)?.is_some())
}
