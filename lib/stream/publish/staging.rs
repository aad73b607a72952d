//! Staging directories: outputs are written in `DIR/.gristmill-tmp.RANDOM/`, below their final
//! directory, so that they are on the same file system.
//!
//! A staging belongs to the process that holds a lock (`flock`) on the file in it. (In containers and on
//! shared disks, neither a process id nor a host's name shows whether the owner lives.) If the lock can be
//! taken, a killed process left the staging, and the next run there removes it. If a file system has no
//! locks, nothing is removed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use super::cannot;
use crate::error::{Error, Result, shown};
use crate::files::{self, FileId};
use crate::signals;

/// The prefix of the names of stagings.
const MARK: &str = ".gristmill-tmp.";
/// The file in a staging that its owner has locked.
const LOCK: &str = ".gristmill-lock";
/// How often a staging is made again if another process removes it, or its directory, meanwhile.
const ATTEMPTS: u32 = 100;

/// The stagings of this process, by their directories.
static STAGINGS: Mutex<Vec<(FileId, Weak<Staging>)>> = Mutex::new(Vec::new());

/// A staging of this process; it is removed when no file is pending in it.
#[derive(Debug)]
pub(super) struct Staging {
    directory: PathBuf,
    /// `None` once it is given up, which comes last.
    lock: Option<File>,
    /// The names that this run writes here.
    claimed: Mutex<BTreeSet<OsString>>,
}

/// Whether a file name is the name of a staging.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.contains(MARK)
}

impl Staging {
    /// Returns the staging for the files of a directory, which is created if it is missing.
    pub fn of(directory: &Path) -> Result<Arc<Staging>> {
        let failed = |error: io::Error| Error::write(shown(directory), &error);
        let mut stagings = lock(&STAGINGS);
        if let Some(staging) = find(&stagings, directory) {
            return Ok(staging);
        }
        signals::clean_up_when_told_to_stop(remove).map_err(|e| Error::write("signals", &e))?;
        stagings.retain(|(_, staging)| staging.strong_count() > 0);
        let mut attempt = 0;
        let staging = loop {
            attempt += 1;
            match Staging::create(directory) {
                Ok(Some(staging)) => break Arc::new(staging),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                Err(error) if attempt == ATTEMPTS => return Err(failed(error)),
                Ok(None) if attempt == ATTEMPTS => {
                    return Err(Error::unavailable("temporary files vanish").at(directory));
                }
                _ => {}
            }
        };
        let identity = identity(directory).map_err(failed)?;
        stagings.push((identity, Arc::downgrade(&staging)));
        Ok(staging)
    }

    /// Makes the directory and a staging in it; `None` if another process took the staging for an abandoned
    /// one.
    fn create(directory: &Path) -> io::Result<Option<Staging>> {
        signals::remember_directories(missing_directories(directory));
        files::make_directories(directory)?;
        sweep(directory);
        let random = RandomState::new().build_hasher().finish();
        let path = directory.join(format!("{MARK}{random:016x}"));
        let lock = signals::staged(&path, || {
            fs::create_dir(&path)?;
            open_lock(&path, true)
        });
        let lock = lock.inspect_err(|_| {
            let _ = fs::remove_dir(&path);
            signals::forget(&path);
        })?;
        // From here on it is removed when it is dropped.
        let staging = Staging { directory: path, lock: Some(lock), claimed: Mutex::default() };
        let Some(lock) = &staging.lock else { return Ok(None) };
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) if !cannot_lock(&error) => return Err(error),
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let is_there = files::is_at(lock, &staging.directory.join(LOCK));
        Ok(is_there.then_some(staging))
    }

    /// Returns the path at which the file of this name is written.
    pub fn path(&self, name: &OsStr) -> PathBuf {
        self.directory.join(name)
    }

    /// Takes a name for a file of this run; returns `false` if the run has it already.
    pub fn claim(&self, name: &OsStr) -> bool {
        lock(&self.claimed).insert(name.to_os_string())
    }

    /// Gives a name back.
    pub fn release(&self, name: &OsStr) {
        lock(&self.claimed).remove(name);
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        remove_files(&self.directory, false);
        // On FUSE and NFS, a file that is open when its name is removed gets another name: the
        // directory would stay. A process that takes the lock now removes the same files.
        drop(self.lock.take());
        remove(&self.directory);
        signals::forget(&self.directory);
        signals::remove_empty_directories();
    }
}

/// Whether this run writes, or has just written, a file of this name.
pub(super) fn is_claimed(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let staging = find(&lock(&STAGINGS), &super::directory_of(path));
    staging.is_some_and(|staging| lock(&staging.claimed).contains(name))
}

fn find(stagings: &[(FileId, Weak<Staging>)], directory: &Path) -> Option<Arc<Staging>> {
    let identity = identity(directory).ok()?;
    stagings.iter().filter(|(of, _)| *of == identity).find_map(|(_, staging)| staging.upgrade())
}

fn identity(directory: &Path) -> io::Result<FileId> {
    fs::metadata(directory).map(|found| FileId::of(&found))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the lock of a staging, writable because NFS locks nothing else.
fn open_lock(staging: &Path, create: bool) -> io::Result<File> {
    let create = if create { OFlags::CREATE | OFlags::EXCL } else { OFlags::empty() };
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | create;
    let folder = open_folder(staging)?;
    Ok(openat(&folder, LOCK, flags, Mode::from_raw_mode(0o666)).map(File::from)?)
}

/// Opens the staging itself, never a target of a link in its place.
fn open_folder(staging: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(staging, flags, Mode::empty())?)
}

/// Whether the writer of a staging, which has locked it, still runs.
pub fn is_being_written(path: &Path) -> bool {
    let lock = open_lock(path, false);
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether a file system has no locks.
pub(super) fn cannot_lock(error: &io::Error) -> bool {
    cannot(error) || error.raw_os_error() == Some(libc::ENOLCK)
}

/// Returns the directories that `create_dir_all` would make. (One that cannot be looked up is not ours to remove.)
fn missing_directories(directory: &Path) -> Vec<PathBuf> {
    let is_missing = |path: &Path| matches!(files::exists(path), Ok(false));
    directory
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && is_missing(path))
        .map(Path::to_path_buf)
        .collect()
}

/// Removes the stagings in a directory that nobody owns. If one cannot be removed, it stays: this
/// is no reason to fail.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let is_staging = entry.file_name().as_encoded_bytes().starts_with(MARK.as_bytes());
        if !is_staging || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let lock = match open_lock(&entry.path(), false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => open_lost(&entry.path()),
            opened => opened,
        };
        // A staging that was removed while this waited has no name any more.
        if let Ok(lock) = lock
            && lock.try_lock().is_ok()
            && files::is_at(&lock, &entry.path().join(LOCK))
        {
            // Its name is removed before the lock is free, since its maker may be about to take the lock.
            remove_files(&entry.path(), true);
            drop(lock);
            remove(&entry.path());
        }
    }
}

/// Removes the stagings that nobody owns in a dataset's folder and in the folders below it, where
/// its parts and splits are: a writer sweeps only its own folder.
pub fn sweep_below(root: &Path) {
    let is_plain = |name: &OsStr| !name.as_encoded_bytes().starts_with(b".") && name != "tasks";
    let walk = walkdir::WalkDir::new(root).max_depth(2).into_iter();
    let walk = walk.filter_entry(|entry| entry.depth() == 0 || is_plain(entry.file_name()));
    let folders = walk.flatten().filter(|entry| entry.file_type().is_dir());
    folders.for_each(|folder| sweep(folder.path()));
}

/// Takes a staging that has no lock, because its owner ended before making the lock or after removing it.
/// If the maker is only about to make the lock, the staging is empty and is removed; the maker then fails
/// and begins again.
fn open_lost(staging: &Path) -> io::Result<File> {
    fs::remove_dir(staging).or_else(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => Ok(()),
        _ => Err(error),
    })?;
    open_lock(staging, true)
}

/// Removes a staging, its lock last. SQLite may make a journal in it meanwhile, in a thread that a
/// signal has not stopped yet.
fn remove(staging: &Path) {
    for _ in 0..ATTEMPTS {
        remove_files(staging, true);
        match fs::remove_dir(staging) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => return,
        }
    }
}

/// Removes the files in a staging, its lock last or not at all: by handle, so that nothing else can
/// take its place meanwhile.
fn remove_files(staging: &Path, with_lock: bool) {
    let Ok(folder) = open_folder(staging) else { return };
    let entries = rustix::fs::Dir::read_from(&folder).into_iter().flatten();
    for entry in entries.flatten().filter(|entry| entry.file_name().to_bytes() != LOCK.as_bytes()) {
        let _ = unlinkat(&folder, entry.file_name(), AtFlags::empty());
    }
    if with_lock {
        let _ = unlinkat(&folder, LOCK, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writers of one directory sweep it while others make their stagings in it.
    #[test]
    fn a_staging_that_is_being_made_is_not_swept() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5000 {
                        let Ok(Some(staging)) = Staging::create(dir.path()) else { continue };
                        File::create(staging.path(OsStr::new("a"))).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
