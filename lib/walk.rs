//! Walking folders, with one policy for order, links and loops: entries are sorted by the bytes of
//! their names, the files in a folder come at the folder's place, links are followed, a folder that
//! is reached in several ways is walked where the order meets it first, and a folder that cannot be
//! listed is an error.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

/// What ends a walk.
#[derive(Debug)]
pub enum WalkError {
    Io(PathBuf, io::Error),
    /// A link that leads back to a folder that contains it.
    Cycle {
        link: PathBuf,
        ancestor: PathBuf,
    },
}

/// The files below `root`. Entries whose names are not `wanted` are left out, with everything in
/// them. A broken link counts as a file: the error of opening it will name it.
pub fn files(
    root: &Path,
    wanted: fn(&OsStr) -> bool,
) -> impl Iterator<Item = Result<PathBuf, WalkError>> {
    let walk = WalkDir::new(root).min_depth(1).follow_links(true).sort_by_file_name();
    let mut walked = HashSet::new();
    let entries = walk
        .into_iter()
        .filter_entry(move |entry| wanted(entry.file_name()) && is_new(entry, &mut walked));
    entries.filter_map(move |entry| match entry {
        Ok(entry) => (!entry.file_type().is_dir()).then(|| Ok(entry.into_path())),
        Err(error) => {
            let path = error.path().unwrap_or(root).to_path_buf();
            let is_wanted = path == root || path.file_name().is_some_and(wanted);
            is_wanted.then(|| dead_link(path, error))
        }
    })
}

/// Whether the entry is a file, or a folder that was not walked before: links that meet again would
/// make a file many, and n of them after one another 2^n.
fn is_new(entry: &DirEntry, walked: &mut HashSet<(u64, u64)>) -> bool {
    // A folder that cannot be looked at is an error when it is listed.
    if !entry.file_type().is_dir() {
        return true;
    }
    match entry.metadata() {
        Ok(found) => walked.insert((found.dev(), found.ino())),
        Err(_) => true,
    }
}

/// The error at `path`, unless `path` is a broken link.
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
        files(root, wanted).map(|path| path.map(relative)).collect()
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
        assert_eq!(listed(root).unwrap(), ["Z", "a", "b/a", "b/z", "b.x"]);
        symlink("..", at("b/up")).unwrap();
        let Err(WalkError::Cycle { link, ancestor }) = listed(root) else { panic!("no cycle") };
        assert_eq!((link, ancestor.as_path()), (at("b/up"), root));
        std::fs::remove_file(at("b/up")).unwrap();
        symlink("itself", at("itself")).unwrap();
        assert!(matches!(listed(root), Err(WalkError::Io(path, _)) if path == at("itself")));
        assert!(matches!(listed(&at("none")), Err(WalkError::Io(path, _)) if path == at("none")));
    }

    #[test]
    fn a_folder_that_many_links_reach_is_walked_once() {
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
        assert_eq!(listed(&folder.path().join("20")).unwrap(), ["x/x/x/x/x/x/x/x/x/x/file"]);
        assert_eq!(listed(folder.path()).unwrap().len(), 1);
    }
}
