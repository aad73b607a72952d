//! Outputs of one file, which are replaced by one rename.

use std::path::{Path, PathBuf};

use super::publication::{change, prepare};
use super::{
    PendingFile, StandingFiles, Target, TargetLock, directory_of, is_there, publish,
    refuse_existing,
};
use crate::error::Result;

struct OneFile<'a>(&'a Path);

impl Target for OneFile<'_> {
    fn directory(&self) -> PathBuf {
        directory_of(self.0)
    }

    fn manifest(&self) -> PathBuf {
        self.0.to_path_buf()
    }

    fn standing(&self) -> Result<StandingFiles> {
        let files = if is_there(self.0)? { vec![self.manifest()] } else { Vec::new() };
        Ok(StandingFiles { files, dependents: Vec::new() })
    }
}

/// Refuses an output that exists already, unless it may be overwritten.
pub fn refuse_existing_file(path: &Path, overwrite: bool) -> Result<()> {
    refuse_existing(&OneFile(path), overwrite)
}

/// Publishes one file.
pub fn publish_file(file: PendingFile, overwrite: bool) -> Result<()> {
    let path = file.path().to_path_buf();
    publish(&OneFile(&path), vec![file], overwrite).map(|_| ())
}

/// Publishes one file in place of the file with its name, from which it was made. The caller holds the
/// lock.
pub fn publish_file_locked(file: PendingFile, lock: &TargetLock) -> Result<()> {
    let path = file.path().to_path_buf();
    let mut files = [file];
    prepare(&files)?;
    change(&OneFile(&path), &mut files, true, lock).map(|_| ())
}

/// Publishes one file in place of the file with its name. As long as `file` lives, this run writes no
/// other file of that name.
pub fn publish_kept(file: &mut PendingFile) -> Result<()> {
    let path = file.path().to_path_buf();
    let files = std::slice::from_mut(file);
    prepare(files)?;
    let lock = TargetLock::take(&directory_of(&path))?;
    change(&OneFile(&path), files, true, &lock).map(|_| ())
}
