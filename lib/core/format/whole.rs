//! A dataset is whole if the files that its own manifests name are there. Readers go by the files that
//! they find: without one of its shards, a dataset would be a smaller good one.

use std::path::{Path, PathBuf};

use super::kd_root::KdPart;
use super::pack::PackManifest;
use super::puzzle_dir::{BUILD, PuzzleSetManifest};
use super::{json_file, pack};
use crate::error::{Error, Kind, Result};
use crate::files;

/// Where the part manifests of a root or of prefixes are, and what their paths are relative to, both
/// below the dataset's directory.
const PARTS: [(&str, &str, &str); 4] = [
    ("parts", ".json", ""),
    ("", ".part.json", ""),
    ("train", ".part.json", "train"),
    ("valid", ".part.json", "valid"),
];

/// Refuses a dataset without a file that it should have. Manifests of other programs, and what cannot
/// be understood, name nothing here: what is wrong with them is for ds-check to say.
pub fn refuse_missing(dataset: &Path) -> Result<()> {
    if !files::is_directory(dataset)? {
        return Ok(());
    }
    for (place, ending, base) in PARTS {
        for manifest in files::paths_if_there(&dataset.join(place))? {
            let name = manifest.file_name().unwrap_or_default().as_encoded_bytes();
            if name.ends_with(ending.as_bytes()) && !name.starts_with(b".") {
                let part = understood(KdPart::read(&manifest))?;
                let splits = part.iter().flat_map(|part| part.splits.values());
                let names = splits.flat_map(|split| split.files.paths.values());
                all_there(&dataset.join(base), names, &manifest)?;
            }
        }
    }
    let manifest = dataset.join(pack::MANIFEST);
    if files::is_member(&manifest)? {
        let found = understood(PackManifest::read(dataset))?;
        let names = found.iter().flat_map(|pack| &pack.files).map(|file| &file.path);
        all_there(dataset, names, &manifest)?;
    }
    let manifest = dataset.join(BUILD);
    if files::is_member(&manifest)? {
        let found = understood(json_file::read::<PuzzleSetManifest>(&manifest))?;
        let names = found.iter().flat_map(|set| &set.files).map(|file| &file.name);
        all_there(dataset, names, &manifest)?;
    }
    Ok(())
}

/// What was read, or `None` if it is no manifest of ours.
fn understood<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.kind() == Kind::Data => Ok(None),
        read => read.map(Some),
    }
}

fn all_there<'a>(
    directory: &Path,
    names: impl Iterator<Item = &'a String>,
    manifest: &Path,
) -> Result<()> {
    for name in names {
        let file: Option<PathBuf> = files::below(directory, Path::new(name));
        let is_there = file.map_or(Ok(false), |file| files::is_member(&file))?;
        if !is_there {
            let cause = format!("{name} is missing, which it names");
            return Err(Error::data(cause).at(manifest).hint("ds-check, for all that is wrong"));
        }
    }
    Ok(())
}
