//! The lock on a target while it is changed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::staging::cannot_lock;
use crate::error::{Error, Result, shown};
use crate::files;

/// The file that is locked if directories cannot be locked.
const LOCK: &str = ".gristmill-lock";
/// How long a run waits for the lock. Publishing takes moments, so a longer wait means that another
/// program holds it.
const PATIENCE: Duration = Duration::from_secs(600);

/// A lock on a directory: nobody else publishes there while it lives. It is a `flock` on the directory
/// itself. If the file system locks only writable files (NFS), it is on the file `.gristmill-lock` in the
/// directory, which is removed afterwards. If the file system has no locks, nothing is locked, and two
/// runs must not write to one place.
#[derive(Debug)]
pub struct TargetLock {
    _directory: Option<File>,
    file: Option<(PathBuf, File)>,
}

impl TargetLock {
    /// Waits for the lock.
    pub fn take(directory: &Path) -> Result<TargetLock> {
        TargetLock::taken_within(directory, PATIENCE)?.ok_or_else(|| {
            Error::unavailable("another program has locked it for ten minutes").at(directory)
        })
    }

    /// Returns the lock; `None` if somebody else has it.
    pub fn take_if_free(directory: &Path) -> Result<Option<TargetLock>> {
        TargetLock::taken_within(directory, Duration::ZERO)
    }

    fn taken_within(directory: &Path, patience: Duration) -> Result<Option<TargetLock>> {
        let failed = |error: &io::Error| Error::write(shown(directory), error);
        let end = Instant::now() + patience;
        // (Opening a FIFO would wait for a writer.)
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NONBLOCK);
        let handle = options.open(directory).map_err(|e| failed(&e))?;
        match wait(&handle, end) {
            Ok(true) => return Ok(Some(TargetLock { _directory: Some(handle), file: None })),
            Ok(false) => return Ok(None),
            Err(error) if !cannot_lock(&error) => return Err(failed(&error)),
            Err(_) => {}
        }
        let path = directory.join(LOCK);
        loop {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
            let file = options.open(&path).map_err(|e| failed(&e))?;
            match wait(&file, end) {
                // The owner of the lock before may have removed it.
                Ok(true) if files::is_at(&file, &path) => {
                    return Ok(Some(TargetLock { _directory: None, file: Some((path, file)) }));
                }
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) if !cannot_lock(&error) => return Err(failed(&error)),
                Err(_) => {
                    let _ = fs::remove_file(&path);
                    return Ok(Some(TargetLock { _directory: None, file: None }));
                }
            }
        }
    }
}

impl Drop for TargetLock {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.file {
            let _ = fs::remove_file(path);
        }
    }
}

/// Takes a lock, if that is possible before `end`. (It asks again and again: a wait in the kernel
/// would have no end.)
fn wait(file: &File, end: Instant) -> io::Result<bool> {
    let mut pause = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(error);
            }
            Err(_) if Instant::now() >= end => return Ok(false),
            Err(_) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
