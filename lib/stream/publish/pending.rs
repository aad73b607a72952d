//! A file that is being written.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory_of;
use super::staging::Staging;
use crate::error::{Error, Result, shown};
use crate::files;
use crate::inputs;
use crate::signals;

/// A file that is being written, invisible under its final name until it is published. If it is
/// dropped before, it leaves nothing.
#[derive(Debug)]
pub struct PendingFile {
    /// `None` if a library writes it by name, or if it is closed.
    file: Option<File>,
    path: PathBuf,
    name: OsString,
    temporary: PathBuf,
    staging: Arc<Staging>,
    is_published: bool,
}

impl PendingFile {
    /// Creates the file in the staging of its directory, which is created if it is missing.
    pub fn create(path: &Path) -> Result<PendingFile> {
        let mut pending = PendingFile::reserve(path)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = signals::undisturbed(|| options.open(&pending.temporary));
        pending.file = Some(file.map_err(|error| Error::write(shown(path), &error))?);
        Ok(pending)
    }

    /// Reserves a name ([`PendingFile::temporary`]) for a library that creates its file itself. Files that the
    /// library leaves beside it are removed with the staging.
    pub fn reserve(path: &Path) -> Result<PendingFile> {
        refuse_target(path)?;
        let name = path.file_name().map(OsString::from);
        let name = name.ok_or_else(|| Error::usage("not a file name").at(shown(path)))?;
        let staging = Staging::of(&directory_of(path))?;
        if !staging.claim(&name) {
            return Err(Error::usage("is written twice in this run").at(shown(path)));
        }
        let (path, temporary) = (path.to_path_buf(), staging.path(&name));
        Ok(PendingFile { file: None, path, name, temporary, staging, is_published: false })
    }

    /// Takes a complete file of another name by linking to it. The file is copied instead if the file system
    /// has no links, or if the file is a link itself or has further names.
    pub fn adopt(path: &Path, from: &Path) -> Result<PendingFile> {
        let pending = PendingFile::reserve(path)?;
        let to = &pending.temporary;
        // The target of a link may belong to others, and so may a file with further names.
        let is_own =
            || fs::symlink_metadata(from).map(|found| found.is_file() && found.nlink() == 1);
        let copy = || fs::copy(from, to).map(|_| ());
        let adopt = || {
            if is_own()? { fs::hard_link(from, to).or_else(|_| copy()) } else { copy() }
        };
        signals::undisturbed(adopt).map_err(|error| Error::write(shown(path), &error))?;
        Ok(pending)
    }

    /// Returns the final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path at which it is written.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Copies bytes of another file to the end of this one, in the kernel. Returns how many were copied; the
    /// caller must write the rest, since not every file system can copy them.
    pub fn copy_from(&mut self, from: &File, at: u64, bytes: usize) -> io::Result<usize> {
        let file = self.open_file()?;
        copy_range(from, at, file, bytes)
    }

    /// Appends zeros that take no space.
    pub fn extend(&mut self, bytes: u64) -> io::Result<()> {
        let file = self.open_file()?;
        let end = file.stream_position()? + bytes;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end)).map(|_| ())
    }

    /// Syncs the bytes to the disk and closes the file, so that any number of files may wait to be
    /// published.
    pub fn close(&mut self) -> Result<()> {
        self.sync()?;
        self.file = None;
        Ok(())
    }

    /// Syncs the bytes to the disk: a name must never appear whose bytes may be lost.
    pub(super) fn sync(&self) -> Result<()> {
        let synced = match &self.file {
            Some(file) => file.sync_all(),
            None => File::open(&self.temporary).and_then(|file| file.sync_all()),
        };
        synced.map_err(|e| Error::write(shown(&self.path), &e))
    }

    /// Gives the file the permissions of the file that it replaces.
    pub(super) fn permit(&self) -> Result<()> {
        let failed = |error: io::Error| Error::write(shown(&self.path), &error);
        let Some(replaced) = files::metadata(&self.path)? else { return Ok(()) };
        let own = fs::metadata(&self.temporary).map_err(failed)?.permissions();
        if own == replaced.permissions() {
            return Ok(());
        }
        fs::set_permissions(&self.temporary, replaced.permissions()).map_err(failed)
    }

    /// Gives the file its final name.
    pub(super) fn rename(&mut self) -> Result<()> {
        fs::rename(&self.temporary, &self.path).map_err(|e| Error::write(shown(&self.path), &e))?;
        self.is_published = true;
        Ok(())
    }

    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Returns the open file once more, for another thread; both share its position.
    pub fn handle(&mut self) -> io::Result<File> {
        self.open_file()?.try_clone()
    }

    fn open_file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }
}

/// Copies a range of a file to the position of another, as far as the kernel can.
#[cfg(target_os = "linux")]
fn copy_range(from: &File, at: u64, to: &File, bytes: usize) -> io::Result<usize> {
    use rustix::io::Errno;

    let (mut position, end) = (at, at + bytes as u64);
    while position < end {
        let left = (end - position) as usize;
        match rustix::fs::copy_file_range(from, Some(&mut position), to, None, left) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(error.into()),
            // One of the file systems cannot do it; the caller writes the bytes instead.
            Err(_) => break,
        }
    }
    Ok((position - at) as usize)
}

#[cfg(not(target_os = "linux"))]
fn copy_range(_: &File, _: u64, _: &File, _: usize) -> io::Result<usize> {
    Ok(0)
}

/// Refuses a target that is an input, or that is inside one.
pub(super) fn refuse_target(path: &Path) -> Result<()> {
    refuse_irregular(path)?;
    inputs::refuse_target(path)
}

/// Refuses a device or a pipe, which a rename would replace by a file, and a directory, which it cannot
/// replace.
fn refuse_irregular(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::usage("is not a regular file").at(shown(path)))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::write(shown(path), &error))
        }
        _ => Ok(()),
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open_file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open_file()?.flush()
    }
}

impl Read for PendingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.open_file()?.read(buffer)
    }
}

impl Seek for PendingFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.open_file()?.seek(to)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = fs::remove_file(&self.temporary);
        }
        self.staging.release(&self.name);
    }
}
