//! Notices if the files of a dataset are changed while they are read: the records would then come from
//! two datasets.
//!
//! Writers replace files by renaming, so a changed file has another inode. New files do not matter; a
//! dataset that is being published has a marker (lib/stream/publish/FORMAT.md).

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::FORMATS;
use crate::error::Result;
use crate::files::{self, FileSnapshot};
use crate::inputs;
use crate::publish::{Unfinished, marked, refuse_half_published};

/// The files of the input, as they were when reading began.
#[derive(Debug, Default)]
pub struct InputSnapshot {
    members: Vec<FileSnapshot>,
}

/// Returns the folders in which datasets of any format have files.
fn folders() -> BTreeSet<&'static str> {
    FORMATS.iter().flat_map(|format| format.folders.iter().copied()).collect()
}

/// Whether a file of some format may have this name. (Other files in a folder are not read.)
fn is_of_datasets(name: &str, path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    let mut known = FORMATS.iter().flat_map(|format| format.endings);
    !name.starts_with('.') && known.any(|known| ending == *known)
}

/// Returns the files that a prefix may have beside one another.
fn members_of(prefix: &Path) -> Vec<PathBuf> {
    FORMATS.iter().flat_map(|format| (format.members)(prefix)).collect()
}

impl InputSnapshot {
    /// Notes the inputs of this run: the files of datasets (directories or prefixes), and files
    /// that are read alone. Fails if a dataset is half published.
    pub fn of(paths: &[PathBuf]) -> Result<InputSnapshot> {
        let noted = InputSnapshot::of_parts(paths)?;
        inputs::name(paths);
        inputs::note(&noted.members)?;
        Ok(noted)
    }

    /// Notes the files of parts that this run joins: they may become its outputs.
    pub fn of_parts(paths: &[PathBuf]) -> Result<InputSnapshot> {
        let mut noted = InputSnapshot::default();
        let mut unfinished = Unfinished::in_folders(folders());
        for path in paths.iter().filter(|path| path.as_os_str() != "-") {
            let is_directory = files::is_directory(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let members = if is_directory { Vec::new() } else { members_of(path) };
            let has_members = files::find(&members, |member| files::exists(member))?.is_some();
            let is_own = has_members || is_of_datasets(&name, path);
            unfinished.refuse(path, &members, !is_directory && is_own)?;
            if is_directory {
                noted.directory(path)?
            } else {
                // A path that is named alone may be a pipe.
                if let Some(found) = files::metadata(path)?.filter(Metadata::is_file) {
                    noted.members.push(FileSnapshot::new(path.clone(), &found));
                }
                noted.beside(path)?;
            }
        }
        Ok(noted)
    }

    fn directory(&mut self, path: &Path) -> Result<()> {
        for folder in folders().into_iter().map(|name| path.join(name)) {
            for file in files::paths_if_there(&folder)? {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                if let Some(manifest) = marked(&name) {
                    refuse_half_published(&folder.join(manifest))?;
                }
                if is_of_datasets(&name, &file) && !files::is_directory(&file)? {
                    self.note(file)?;
                }
            }
        }
        self.beside(path)
    }

    /// Notes the files that are read with a dataset and stand elsewhere.
    fn beside(&mut self, path: &Path) -> Result<()> {
        for format in FORMATS.iter() {
            (format.beside)(path)?.into_iter().try_for_each(|file| self.note(file))?;
        }
        Ok(())
    }

    /// Notes the present state of a file, if it exists.
    fn note(&mut self, path: PathBuf) -> Result<()> {
        if let Some(metadata) = files::member(&path)? {
            self.members.push(FileSnapshot::new(path, &metadata));
        }
        Ok(())
    }

    /// Checks that all files are still as they were noted.
    pub fn check(&self) -> Result<()> {
        self.members.iter().try_for_each(FileSnapshot::check)
    }

    /// Returns the result of reading. If reading failed and files were changed meanwhile, the change is
    /// the error.
    pub fn confirm<T>(&self, read: Result<T>) -> Result<T> {
        match read {
            Err(error) => self.check().and(Err(error)),
            read => read,
        }
    }
}
