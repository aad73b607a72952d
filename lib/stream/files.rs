//! Questions about paths. The answer may be an error: if a path cannot be looked up (an I/O error, a directory
//! without permission), the answer is never "nothing is there".

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use crate::error::{At, Error, Result};

/// Returns the metadata of a path, through links; `None` if it does not exist.
pub fn metadata(path: &Path) -> Result<Option<Metadata>> {
    answer(path, fs::metadata(path))
}

/// Returns the bytes of a path, through links; `None` if it does not exist.
pub fn size(path: &Path) -> Result<Option<u64>> {
    Ok(metadata(path)?.map(|metadata| metadata.len()))
}

/// Returns the metadata of a path without following links; `None` if it does not exist.
pub fn link_metadata(path: &Path) -> Result<Option<Metadata>> {
    answer(path, fs::symlink_metadata(path))
}

fn answer(path: &Path, found: io::Result<Metadata>) -> Result<Option<Metadata>> {
    match found {
        Ok(metadata) => Ok(Some(metadata)),
        // A prefix is not a file, and `file/x` does not exist.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io(path, &error)),
    }
}

/// Whether the path exists.
pub fn exists(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some())
}

/// Whether two paths lead to the same file or directory.
pub fn is_same(a: &Path, b: &Path) -> Result<bool> {
    let Some(a) = metadata(a)? else { return Ok(false) };
    Ok(metadata(b)?.is_some_and(|b| FileId::of(&a) == FileId::of(&b)))
}

/// Identifies a file or directory independently of its name: by its device and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub fn of(metadata: &Metadata) -> FileId {
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Returns the file behind an open descriptor; `None` if it is closed.
    pub fn of_stream(stream: impl AsFd) -> Option<FileId> {
        let found = rustix::fs::fstat(stream).ok()?;
        Some(FileId { device: found.st_dev, inode: found.st_ino })
    }
}

pub fn is_file(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_file()))
}

/// Returns the metadata of a member of a dataset, if it exists. A FIFO, a device, a directory or a broken link in
/// its place is an error, since it must not be read and the member does not count as missing.
pub fn member(path: &Path) -> Result<Option<Metadata>> {
    match metadata(path)? {
        Some(found) => {
            regular(&found).at(path)?;
            Ok(Some(found))
        }
        None if link_metadata(path)?.is_some_and(|found| found.is_symlink()) => {
            Err(Error::data("is a link to nothing").at(path))
        }
        // (A file that appeared between the two questions did not exist before.)
        None => Ok(None),
    }
}

/// Whether a member of a dataset exists.
pub fn is_member(path: &Path) -> Result<bool> {
    Ok(member(path)?.is_some())
}

pub fn is_directory(path: &Path) -> Result<bool> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_dir()))
}

/// Whether an open file is the one that has this name.
pub fn is_at(file: &File, path: &Path) -> bool {
    let found = fs::symlink_metadata(path).map(|found| FileId::of(&found));
    found.is_ok_and(|found| FileId::of_stream(file) == Some(found))
}

/// Returns a path without links and dots; `None` if it does not exist.
pub fn resolved(path: &Path) -> Result<Option<PathBuf>> {
    match fs::canonicalize(path) {
        Ok(whole) => Ok(Some(whole)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io(path, &error)),
    }
}

/// Makes a directory and its parents. (`create_dir_all` is not used: it says "File exists" if it cannot find out
/// whether the path is a directory.)
pub fn make_directories(directory: &Path) -> io::Result<()> {
    match fs::create_dir_all(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_directory = fs::metadata(directory)?.is_dir();
            if is_directory { Ok(()) } else { Err(error) }
        }
        made => made,
    }
}

/// The most bytes of a file that is read whole (manifests and other JSON).
const MOST_WHOLE: u64 = 1 << 30;

/// Opens a member of a dataset, which must be a regular file: opening a FIFO would wait for ever,
/// and a device may never end.
pub fn open_member(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

fn regular(found: &Metadata) -> io::Result<()> {
    match found {
        found if found.is_file() => Ok(()),
        found if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "is no regular file")),
    }
}

/// Reads a member of a dataset whole.
pub fn read_member(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_member(path)?.take(MOST_WHOLE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MOST_WHOLE {
        let cause = format!("has more than {MOST_WHOLE} bytes");
        return Err(io::Error::new(ErrorKind::InvalidInput, cause));
    }
    Ok(content)
}

/// Returns the path that a manifest names, if it is below the dataset's directory.
pub fn below(directory: &Path, named: &Path) -> Option<PathBuf> {
    let is_below = named.components().all(|part| matches!(part, Component::Normal(_)));
    is_below.then(|| directory.join(named))
}

/// The state of a file at one time. A writer replaces files by renaming, so a changed file has
/// another inode; a program that writes into a file changes its size or its time.
#[derive(Debug, Clone)]
pub struct FileSnapshot {
    path: PathBuf,
    identity: Identity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    file: FileId,
    bytes: u64,
    modified: (i64, i64),
}

impl FileSnapshot {
    pub fn new(path: PathBuf, metadata: &Metadata) -> FileSnapshot {
        FileSnapshot { path, identity: Identity::of(metadata) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether both are the same state of the same file.
    pub fn is_same(&self, other: &FileSnapshot) -> bool {
        self.identity == other.identity
    }

    /// Fails unless the path still names the same file, unchanged.
    pub fn check(&self) -> Result<()> {
        let found = metadata(&self.path)?.map(|metadata| Identity::of(&metadata));
        if found == Some(self.identity) { Ok(()) } else { Err(changed(&self.path)) }
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            file: FileId::of(metadata),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Returns the error for a file that has changed.
pub fn changed(path: &Path) -> Error {
    Error::unavailable("was changed while it was read").at(path)
}

/// Returns the content of a directory, by name.
pub fn paths_in(directory: &Path) -> Result<Vec<PathBuf>> {
    list(directory).at(directory)
}

/// Returns the content of a directory, by name; nothing if it does not exist.
pub fn paths_if_there(directory: &Path) -> Result<Vec<PathBuf>> {
    match list(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        other => other.at(directory),
    }
}

/// Removes a file, or a folder with all that is in it; links are removed, not followed. It is no error if nothing is
/// there. The error names the path that could not be removed.
pub fn remove_all(path: &Path) -> Result<()> {
    let Some(found) = link_metadata(path)? else { return Ok(()) };
    let removed = if found.is_dir() {
        paths_if_there(path)?.iter().try_for_each(|path| remove_all(path))?;
        std::fs::remove_dir(path)
    } else {
        std::fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|error| Error::write(path, &error)),
    }
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

/// Returns the sum of the sizes of the paths that are files, in bytes.
pub fn size_of(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<u64> {
    let mut sum = 0;
    for path in paths {
        let found = metadata(path.as_ref())?.filter(|metadata| metadata.is_file());
        sum += found.map_or(0, |metadata| metadata.len());
    }
    Ok(sum)
}

/// Returns the first path for which `is` is true.
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
        assert!(is_member(&at("file")).unwrap() && !is_member(&at("none")).unwrap());
        for (name, cause) in [("", "is a directory"), ("dead", "is a link to nothing")] {
            assert_eq!(is_member(&at(name)).unwrap_err().cause(), cause);
            assert!(open_member(&at(name)).is_err());
        }
        assert_eq!(member(Path::new("/dev/null")).unwrap_err().cause(), "is no regular file");
    }
}
