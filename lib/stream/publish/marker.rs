//! The marker of a half-published dataset: `.MANIFEST.gristmill-half` beside its manifest.
//!
//! It stands while a dataset is replaced or published for the first time. Beside a manifest it has no
//! meaning. If there is no manifest, a publication of the files that it names was cut off: no reader
//! takes them, and the next run replaces them without `--overwrite`. Other files without a manifest
//! belong to another program and are not touched.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{PendingFile, directory_of, is_there, sync_directory};
use crate::error::{At, Error, Result, shown};
use crate::files::read_member;

const ENDING: &str = ".gristmill-half";

/// Returns the name of the manifest whose marker has this file name.
pub fn marked(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(ENDING)
}

/// Whether the dataset with this manifest was left half published.
pub fn half_published(manifest: &Path) -> Result<bool> {
    Ok(is_there(&path_of(manifest))? && !is_there(manifest)?)
}

/// Refuses to read a dataset that is half published, or is being published.
pub fn refuse_half_published(manifest: &Path) -> Result<()> {
    if half_published(manifest)? {
        Err(Error::unavailable("is being published, or was left half published")
            .at(manifest)
            .hint("again, or the run that writes it"))
    } else {
        Ok(())
    }
}

/// Returns the manifest to which a marker belongs.
pub fn manifest_of(marker: &Path) -> Option<PathBuf> {
    Some(directory_of(marker).join(marked(marker.file_name()?.to_str()?)?))
}

fn path_of(manifest: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(manifest.file_name().unwrap_or_default());
    name.push(ENDING);
    directory_of(manifest).join(name)
}

/// Returns the files that a marker names; none if the dataset is not half published. Paths are
/// below the target's directory.
pub(super) fn left_by(manifest: &Path, target: &Path) -> Result<Vec<PathBuf>> {
    if !half_published(manifest)? {
        return Ok(Vec::new());
    }
    let path = path_of(manifest);
    let text = match read_member(&path) {
        // (Its writer has just ended well.)
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.at(&path)?,
    };
    let names = text.split_inclusive(|&byte| byte == 0).filter_map(|name| name.strip_suffix(&[0]));
    Ok(names.map(|name| target.join(OsStr::from_bytes(name))).collect())
}

/// A marker that is complete, but not in place yet.
pub(super) struct PendingMarker(PendingFile);

/// A marker that is in place.
pub(super) struct Marker {
    path: PathBuf,
}

impl Marker {
    /// Makes a marker that names these files.
    pub fn prepare(manifest: &Path, target: &Path, files: &[&Path]) -> Result<PendingMarker> {
        let path = path_of(manifest);
        let mut text = Vec::new();
        for file in files {
            let name = file.strip_prefix(target).unwrap_or(file);
            text.extend_from_slice(name.as_os_str().as_bytes());
            text.push(0);
        }
        let mut file = PendingFile::create(&path)?;
        file.write_all(&text).map_err(|e| Error::write(shown(&path), &e))?;
        file.close()?;
        Ok(PendingMarker(file))
    }

    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

impl PendingMarker {
    /// Puts the marker in place, durably.
    pub fn put(mut self) -> Result<Marker> {
        self.0.rename()?;
        let marker = Marker { path: self.0.path().to_path_buf() };
        let synced = sync_directory(&directory_of(&marker.path));
        if synced.is_err() {
            let _ = marker.remove();
        }
        synced.map(|()| marker)
    }
}
