//! Whether the files that a manifest names are there.

use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};
use crate::files;

/// Returns the manifest, or `None` if it is not one of ours.
pub fn understood<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.kind() == Kind::Data => Ok(None),
        read => read.map(Some),
    }
}

/// Refuses a dataset that lacks one of the files that its manifest names.
pub fn all_there<'a>(
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
