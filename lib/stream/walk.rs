//! Walks folders, with one policy for order, links and loops. Entries are sorted by the bytes of their names; the
//! files of a folder come at the folder's place; links are followed. A folder that cannot be listed, or a loop of
//! links, is an error.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::error::Error;
use crate::files::FileId;

/// Why a walk ended.
#[derive(Debug)]
pub enum WalkError {
    Io(PathBuf, io::Error),
    /// A link that leads back to a folder that contains it.
    Cycle {
        link: PathBuf,
        ancestor: PathBuf,
    },
}

impl From<WalkError> for Error {
    fn from(error: WalkError) -> Error {
        match error {
            WalkError::Io(path, error) => Error::io(path.as_path(), &error),
            WalkError::Cycle { link, .. } => Error::data("is a cycle").at(link.as_path()),
        }
    }
}

/// Returns the files below `root`. Entries whose names are not `wanted` are left out, with everything in them. A
/// broken link counts as a file, so that the error of opening it names it.
pub fn files(
    root: &Path,
    wanted: fn(&OsStr) -> bool,
) -> impl Iterator<Item = Result<PathBuf, WalkError>> {
    let walk = WalkDir::new(root).min_depth(1).follow_links(true).sort_by_file_name();
    let entries = walk.into_iter().filter_entry(move |entry| wanted(entry.file_name()));
    let mut visits = HashMap::new();
    // An error of listing a folder does not name the folder; it comes right after it.
    let mut last = root.to_path_buf();
    entries.filter_map(move |entry| match entry {
        Ok(entry) if is_endless(&entry, &mut visits) => {
            let cause = format!("more than {MOST_VISITS} ways lead to this folder");
            let error = io::Error::new(ErrorKind::InvalidInput, cause);
            Some(Err(WalkError::Io(entry.into_path(), error)))
        }
        Ok(entry) if entry.file_type().is_dir() => {
            last = entry.into_path();
            None
        }
        Ok(entry) => Some(Ok(entry.into_path())),
        Err(error) => {
            let path = error.path().unwrap_or(&last).to_path_buf();
            let is_wanted = path == root || path.file_name().is_some_and(wanted);
            is_wanted.then(|| dead_link(path, error))
        }
    })
}

/// The most ways to one folder. (A chain of n folders with two links each to the next has 2^n ways.)
const MOST_VISITS: u32 = 1000;

/// Whether the entry is a folder that was walked too often.
fn is_endless(entry: &DirEntry, visits: &mut HashMap<FileId, u32>) -> bool {
    // A folder without readable metadata becomes an error when it is listed.
    let is_folder = entry.file_type().is_dir();
    let Some(found) = is_folder.then(|| entry.metadata().ok()).flatten() else { return false };
    let count = visits.entry(FileId::of(&found)).or_default();
    *count += 1;
    *count > MOST_VISITS
}

/// Returns the error at `path`, or `path` if it is a broken link.
fn dead_link(path: PathBuf, error: walkdir::Error) -> Result<PathBuf, WalkError> {
    if let Some(ancestor) = error.loop_ancestor() {
        return Err(WalkError::Cycle { ancestor: ancestor.to_path_buf(), link: path });
    }
    let error = error.into_io_error().unwrap_or_else(|| ErrorKind::Other.into());
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory if path.is_symlink() => Ok(path),
        _ => Err(WalkError::Io(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn listed(root: &Path) -> Result<Vec<String>, WalkError> {
        let wanted = |name: &OsStr| !name.as_encoded_bytes().starts_with(b".");
        let relative = |path: PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        // (Without an end there would be 2^30 files.)
        files(root, wanted).take(100_000).map(|path| path.map(relative)).collect()
    }

    #[test]
    fn files_come_in_order_and_links_are_followed_but_not_in_a_circle() {
        let folder = tempfile::tempdir().unwrap();
        let (root, at) = (folder.path(), |name: &str| folder.path().join(name));
        for name in ["b/z", "b/a", "b.x", "Z", ".hidden/x", ".y"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        symlink("b", at("c")).unwrap();
        symlink("nowhere", at("a")).unwrap();
        symlink("nowhere", at(".a")).unwrap();
        symlink("..", at(".hidden/up")).unwrap();
        assert_eq!(listed(root).unwrap(), ["Z", "a", "b/a", "b/z", "b.x", "c/a", "c/z"]);
        symlink("..", at("b/up")).unwrap();
        let Err(WalkError::Cycle { link, ancestor }) = listed(root) else { panic!("no cycle") };
        assert_eq!((link, ancestor.as_path()), (at("b/up"), root));
        std::fs::remove_file(at("b/up")).unwrap();
        symlink("itself", at("itself")).unwrap();
        assert!(matches!(listed(root), Err(WalkError::Io(path, _)) if path == at("itself")));
        assert!(matches!(listed(&at("none")), Err(WalkError::Io(path, _)) if path == at("none")));
    }

    #[test]
    fn a_folder_that_links_reach_without_end_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for i in 0..30 {
            let level = folder.path().join(i.to_string());
            std::fs::create_dir(&level).unwrap();
            for name in ["x", "y"] {
                symlink(format!("../{}", i + 1), level.join(name)).unwrap();
            }
        }
        std::fs::create_dir(folder.path().join("30")).unwrap();
        std::fs::write(folder.path().join("30/file"), "").unwrap();
        assert_eq!(listed(&folder.path().join("25")).unwrap().len(), 32);
        assert!(matches!(listed(&folder.path().join("0")), Err(WalkError::Io(..))));
    }
}
