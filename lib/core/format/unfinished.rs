//! Refuses what a publication that did not end has left, under every path that leads to it: the dataset's
//! directory, a folder or a file below it, a prefix, a link. (lib/core/publish/FORMAT.md has the markers.)

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::kd_root::ids_beside;
use super::mmidx::PrefixLayout;
use super::unchanged::{folders, is_of_datasets};
use crate::error::{Kind, Result};
use crate::files;
use crate::publish::{directory_of, left_by, manifest_of, refuse_half_published};

/// How far above a file its dataset's directory may be: `ids/train/shard_00.parquet`.
const ABOVE: usize = 3;

/// The publications that have not ended, as far as directories were looked at: their manifests and files.
#[derive(Debug, Default)]
pub(super) struct Unfinished(BTreeMap<PathBuf, Vec<(PathBuf, Vec<PathBuf>)>>);

impl Unfinished {
    /// Refuses a path (a file, a folder, or a prefix of files) that is such a file, or above one.
    pub fn refuse(&mut self, path: &Path) -> Result<()> {
        let Some(own) = resolved(path)? else { return Ok(()) };
        let is_directory = files::is_directory(&own)?;
        let mut members = vec![ids_beside(path)];
        members
            .extend([PrefixLayout::Triple, PrefixLayout::Single].map(|of| of.files(path)).concat());
        let mut read = vec![own.clone()];
        for member in members.iter().filter(|_| !is_directory) {
            read.extend(files::resolved(member)?);
        }
        for at in &read {
            for (manifest, left) in self.around(at, is_directory)? {
                let is_left = |file: &PathBuf| file.starts_with(&own) || read.contains(file);
                if left.iter().any(is_left) {
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
        is_directory: bool,
    ) -> Result<impl Iterator<Item = &(PathBuf, Vec<PathBuf>)>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_file = !is_directory && is_of_datasets(&name, path);
        let folders = folders();
        let is_folder = |above: &Path| {
            let first = path.strip_prefix(above).ok().and_then(|below| below.components().next());
            let first = first.map(Component::as_os_str);
            folders.iter().any(|folder| Path::new(folder).iter().next() == first)
        };
        let above = path.ancestors().skip(1).take(ABOVE).enumerate();
        let above = above.filter(|(depth, above)| *depth == 0 && is_file || is_folder(above));
        let above: Vec<PathBuf> = above.map(|(_, above)| above.to_path_buf()).collect();
        for directory in &above {
            if !self.0.contains_key(directory) {
                let found = found_in(directory, folders.iter().copied())?;
                self.0.insert(directory.clone(), found);
            }
        }
        Ok(above.into_iter().filter_map(|directory| self.0.get(&directory)).flatten())
    }
}

/// Refuses one path, as [`Unfinished::refuse`] does.
pub fn refuse_unfinished(path: &Path) -> Result<()> {
    Unfinished::default().refuse(path)
}

/// Returns a path without links; a prefix, which need not exist, keeps its name. `None` if nothing is there.
fn resolved(path: &Path) -> Result<Option<PathBuf>> {
    match (files::resolved(path)?, path.file_name()) {
        (None, Some(name)) => Ok(files::resolved(&directory_of(path))?.map(|at| at.join(name))),
        (whole, _) => Ok(whole),
    }
}

/// Returns the manifests and files of the publications in the folders of a directory that have not ended.
fn found_in<'f>(
    directory: &Path,
    folders: impl Iterator<Item = &'f str>,
) -> Result<Vec<(PathBuf, Vec<PathBuf>)>> {
    let mut found = Vec::new();
    for folder in folders {
        let place = directory.join(folder);
        let paths = match files::paths_if_there(&place) {
            // (Who may not list a directory, as of homes, may read the files whose names he knows.)
            Err(error) if folder.is_empty() && error.kind() == Kind::Usage => continue,
            paths => paths?,
        };
        for manifest in paths.iter().filter_map(|path| manifest_of(path)) {
            let left = left_by(&manifest, directory)?;
            if !left.is_empty() {
                found.push((manifest, left));
            }
        }
    }
    Ok(found)
}
