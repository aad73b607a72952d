//! Refuses what a publication that did not end has left, under every path that leads to it: the dataset's
//! directory, a folder or a file below it, a prefix, a link.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::directory_of;
use super::marker::{left_by, manifest_of, refuse_half_published};
use crate::error::{Kind, Result};
use crate::files;

/// How far above a file its dataset's directory may be: `ids/train/shard_00.parquet`.
const ABOVE: usize = 3;

/// The publications that have not ended, as far as directories were looked at.
#[derive(Debug)]
pub struct Unfinished {
    /// The folders of datasets in which manifests and files stand.
    folders: Vec<&'static str>,
    /// Manifests and files, by the dataset's directory.
    found: BTreeMap<PathBuf, Vec<(PathBuf, Vec<PathBuf>)>>,
}

impl Unfinished {
    pub fn in_folders(folders: impl IntoIterator<Item = &'static str>) -> Unfinished {
        Unfinished { folders: folders.into_iter().collect(), found: BTreeMap::new() }
    }

    /// Refuses a path (a file, a folder, or a prefix of the files `members`) that is a file of such a publication, or
    /// above one. `is_of_datasets`: its own folder may be the dataset's directory.
    pub fn refuse(&mut self, path: &Path, members: &[PathBuf], is_of_datasets: bool) -> Result<()> {
        let Some(own) = resolved(path)? else { return Ok(()) };
        let mut read = vec![own.clone()];
        for member in members {
            read.extend(files::resolved(member)?);
        }
        for at in &read {
            for (manifest, left) in self.around(at, is_of_datasets)? {
                if left.iter().any(|file| file.starts_with(&own) || read.contains(file)) {
                    refuse_half_published(manifest)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the publications in the directories to which a path may belong.
    fn around(
        &mut self,
        path: &Path,
        is_of_datasets: bool,
    ) -> Result<impl Iterator<Item = &(PathBuf, Vec<PathBuf>)>> {
        let mut directories = Vec::new();
        for (depth, directory) in path.ancestors().skip(1).take(ABOVE).enumerate() {
            let below =
                path.strip_prefix(directory).ok().and_then(|below| below.components().next());
            let below = below.map(Component::as_os_str);
            let mut folders = self.folders.iter().map(Path::new);
            if depth == 0 && is_of_datasets || folders.any(|folder| folder.iter().next() == below) {
                if !self.found.contains_key(directory) {
                    self.found.insert(directory.to_path_buf(), self.found_in(directory)?);
                }
                directories.push(directory.to_path_buf());
            }
        }
        Ok(directories.into_iter().filter_map(|directory| self.found.get(&directory)).flatten())
    }

    /// Returns the manifests and files of the publications in a directory that have not ended.
    fn found_in(&self, directory: &Path) -> Result<Vec<(PathBuf, Vec<PathBuf>)>> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let paths = match files::paths_if_there(&directory.join(folder)) {
                // (Who may not list a directory, as of homes, may read the files whose names he knows.)
                Err(error) if folder.is_empty() && error.kind() == Kind::Usage => continue,
                paths => paths?,
            };
            for manifest in paths.iter().filter_map(|path| manifest_of(path)) {
                let left = left_by(&manifest, directory)?;
                found.extend((!left.is_empty()).then_some((manifest, left)));
            }
        }
        Ok(found)
    }
}

/// Returns a path without links; a prefix, which need not exist, keeps its name. `None` if nothing is there.
fn resolved(path: &Path) -> Result<Option<PathBuf>> {
    match (files::resolved(path)?, path.file_name()) {
        (None, Some(name)) => Ok(files::resolved(&directory_of(path))?.map(|at| at.join(name))),
        (whole, _) => Ok(whole),
    }
}
