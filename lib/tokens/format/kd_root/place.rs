//! Finds the place of a prefix in a root, however its path is written: in the folder `train`, `shard_00` and
//! `./shard_00` mean `../train/shard_00`, and the root is the folder above.

use std::path::{Path, PathBuf};

use super::SPLITS;
use crate::error::Result;
use crate::files;

/// The place of a prefix in the splits of a root.
#[derive(Debug)]
pub(super) struct PlaceInRoot {
    pub root: PathBuf,
    pub split: &'static str,
    pub name: String,
}

impl PlaceInRoot {
    /// `None` if the folder of the prefix does not have the name of a split.
    pub fn of(prefix: &Path) -> Result<Option<PlaceInRoot>> {
        Ok(PlaceInRoot::of_named(&named(prefix)?))
    }

    fn of_named(prefix: &Path) -> Option<PlaceInRoot> {
        let folder = prefix.parent()?;
        let split = folder.file_name()?;
        let split = SPLITS.into_iter().find(|name| split == *name)?;
        let name = prefix.file_name()?.to_str()?.to_string();
        Some(PlaceInRoot { root: folder.parent()?.to_path_buf(), split, name })
    }
}

/// Returns the path of a prefix or folder with the name of its split, even if it was written
/// without it.
pub(super) fn named(path: &Path) -> Result<PathBuf> {
    let whole = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => with_name(folder)?.map(|folder| folder.join(name)),
        _ => with_name(path)?,
    };
    Ok(whole.unwrap_or_else(|| path.to_path_buf()))
}

/// Adds the name to a folder that is written without one (`.`, `..`, nothing), if it is the name of a
/// split.
fn with_name(folder: &Path) -> Result<Option<PathBuf>> {
    if folder.file_name().is_some() {
        return Ok(None);
    }
    let is_here = folder.as_os_str().is_empty() || folder == Path::new(".");
    let folder = if is_here { Path::new("") } else { folder };
    let resolved = files::resolved(if is_here { Path::new(".") } else { folder })?;
    let name = resolved.as_deref().and_then(Path::file_name);
    let name = name.filter(|name| SPLITS.iter().any(|split| name == split));
    Ok(name.map(|name| folder.join("..").join(name)))
}

/// Whether a shard may have this name.
pub(super) fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_with_a_named_folder_is_as_it_is() {
        let place = |path: &str| {
            PlaceInRoot::of(Path::new(path)).unwrap().map(|p| (p.root, p.split, p.name))
        };
        let at = |root: &str| Some((PathBuf::from(root), "train", "a".to_string()));
        assert_eq!(place("r/train/a"), at("r"));
        assert_eq!(place("./train/a"), at("."));
        assert_eq!(place("train/a"), at(""));
        assert_eq!(place("/train/a"), at("/"));
        assert_eq!([place("a"), place("x/a"), place("/a"), place("")], [None, None, None, None]);
        assert_eq!(named(Path::new("x/a")).unwrap(), Path::new("x/a"));
    }
}
