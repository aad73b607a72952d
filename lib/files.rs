//! Questions about paths, whose answer may be an error: what cannot be asked (an I/O error, a
//! directory without permission) is never "nothing there".

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// What a path names, through links; `None` if there is nothing.
pub fn metadata(path: &Path) -> Result<Option<Metadata>> {
    answer(path, fs::metadata(path))
}

/// What a path names, and a link is a link; `None` if there is nothing.
pub fn link_metadata(path: &Path) -> Result<Option<Metadata>> {
    answer(path, fs::symlink_metadata(path))
}

fn answer(path: &Path, found: io::Result<Metadata>) -> Result<Option<Metadata>> {
    match found {
        Ok(metadata) => Ok(Some(metadata)),
        // A prefix is no file, and `file/x` is nothing.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io(path, &error)),
    }
}

/// Whether there is anything.
pub fn exists(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some())
}

pub fn is_file(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_file()))
}

pub fn is_directory(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_dir()))
}

/// What is in a directory, by name.
pub fn paths_in(directory: &Path) -> Result<Vec<PathBuf>> {
    list(directory).map_err(|error| Error::io(directory, &error))
}

/// The same; nothing if there is no such directory.
pub fn paths_if_there(directory: &Path) -> Result<Vec<PathBuf>> {
    match list(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        other => other.map_err(|error| Error::io(directory, &error)),
    }
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

/// The first of several paths that is as asked for.
pub fn find<'a, T>(
    paths: impl IntoIterator<Item = &'a T>,
    is: impl Fn(&T) -> Result<bool>,
) -> Result<Option<&'a T>> {
    for path in paths {
        if is(path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", at("dead")).unwrap();
        std::os::unix::fs::symlink("itself", at("itself")).unwrap();
        for (name, there, file) in [("file", true, true), ("none", false, false), ("", true, false)]
        {
            assert_eq!((exists(&at(name)).unwrap(), is_file(&at(name)).unwrap()), (there, file));
            assert_eq!(is_directory(&at(name)).unwrap(), name.is_empty());
        }
        assert!(!exists(&at("dead")).unwrap() && !exists(&at("file/below")).unwrap());
        assert!(exists(&at("itself")).is_err());
        assert_eq!(paths_in(directory.path()).unwrap().len(), 3);
        assert!(paths_in(&at("none")).is_err() && paths_in(&at("file")).is_err());
        assert!(paths_if_there(&at("none")).unwrap().is_empty());
        assert!(paths_if_there(&at("file")).unwrap().is_empty());
    }
}
