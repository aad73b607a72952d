//! The one way in which outputs get their names.
//!
//! All bytes reach the disk first. Then, under a lock on the target, it is looked again what stands
//! there, and a marker is put. Only then is something changed: the manifest is withdrawn, then the
//! indexes, the files get their names, old files that the new dataset does not have are removed,
//! and the manifest is written last. A failure before that leaves what stood there; one in the
//! middle leaves files without a manifest, which the marker names, and which the next run replaces.
//! Signals wait until the manifest is written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::marker::{self, Marker};
use super::pending::refuse_target;
use super::{PendingFile, TargetLock, directory_of, remove_if_there, staging, sync_directory};
use crate::error::{At, Error, Result, shown};
use crate::files::{self, read_member};
use crate::inputs;
use crate::signals;

/// The files that stand where a dataset is to be published.
#[derive(Debug, Default)]
pub struct StandingFiles {
    /// The files of a dataset, with its manifest: without `--overwrite` they stay.
    pub files: Vec<PathBuf>,
    /// Files that were made from the dataset's files, or that describe them together with others. They are
    /// withdrawn first.
    pub dependents: Vec<PathBuf>,
}

/// The place where a dataset is published.
pub trait Target {
    /// Returns the directory that is locked meanwhile; all files are below it.
    fn directory(&self) -> PathBuf;

    /// Returns the file that makes the dataset complete.
    fn manifest(&self) -> PathBuf;

    /// Returns the files that stand there. Fails if a dataset of another kind does.
    fn standing(&self) -> Result<StandingFiles>;

    /// Whether other programs find the dataset by this file: it is withdrawn with the manifest.
    fn is_index(&self, _path: &Path) -> bool {
        false
    }
}

/// Refuses a target with existing files, unless it may be overwritten or is half published. It is
/// called before the work; [`publish`] looks again.
pub fn refuse_existing(target: &impl Target, overwrite: bool) -> Result<()> {
    inputs::refuse_target(&target.manifest())?;
    let standing = target.standing()?;
    refuse_linked(target, standing.files.iter().map(PathBuf::as_path))?;
    standing.files.iter().try_for_each(|path| inputs::refuse_target(path))?;
    match conflict(target, &standing, overwrite)? {
        Some(path) => Err(exists(&path)),
        None => Ok(()),
    }
}

/// Publishes a dataset; its manifest is the last of the files. Returns the dependents that were
/// withdrawn.
pub fn publish(
    target: &impl Target,
    files: Vec<PendingFile>,
    overwrite: bool,
) -> Result<Vec<PathBuf>> {
    prepare(&files)?;
    let lock = TargetLock::take(&target.directory())?;
    publish_prepared(target, files, overwrite, &lock)
}

/// Publishes files that are prepared, under a lock under which more is changed.
pub fn publish_prepared(
    target: &impl Target,
    mut files: Vec<PendingFile>,
    overwrite: bool,
    lock: &TargetLock,
) -> Result<Vec<PathBuf>> {
    change(target, &mut files, overwrite, lock)
}

/// Removes a dataset that is replaced by another one, which is published under the same lock. Returns the
/// dependents that were withdrawn.
pub fn withdraw(target: &impl Target, lock: &TargetLock) -> Result<Vec<PathBuf>> {
    change(target, &mut [], true, lock)
}

/// Syncs all bytes to the disk, which may take long: it is done before a lock is taken.
pub fn prepare(files: &[PendingFile]) -> Result<()> {
    start_writing(files)?;
    files.iter().try_for_each(|file| {
        refuse_target(file.path())?;
        file.permit()?;
        file.sync()
    })
}

/// Looks at the files that stand there, and replaces them.
pub(super) fn change(
    target: &impl Target,
    files: &mut [PendingFile],
    overwrite: bool,
    _: &TargetLock,
) -> Result<Vec<PathBuf>> {
    let standing = target.standing()?;
    let standing_files = standing.files.iter().map(PathBuf::as_path);
    refuse_linked(target, files.iter().map(PendingFile::path).chain(standing_files))?;
    let new: BTreeSet<PathBuf> = files.iter().map(|file| file.path().to_path_buf()).collect();
    let other = |path: &&PathBuf| !new.contains(*path) && staging::is_claimed(path);
    if let Some(path) = standing.files.iter().find(other) {
        return Err(Error::usage("is another output of this run").at(shown(path)));
    }
    if let Some(path) = conflict(target, &standing, overwrite)? {
        // If two copies of one run publish, the later one has nothing to do.
        return if is_same(files, &standing.files)? { Ok(Vec::new()) } else { Err(exists(&path)) };
    }
    let gone: Vec<PathBuf> =
        standing.files.iter().filter(|path| !new.contains(*path)).cloned().collect();
    let dependents = standing.dependents.clone();
    gone.iter().chain(&dependents).try_for_each(|path| inputs::refuse_target(path))?;
    match files {
        // A rename replaces a single file at once.
        [file] if gone.is_empty() && dependents.is_empty() => rename_one(file, &standing)?,
        _ => Change { target, files, standing, gone, changed: false }.run()?,
    }
    inputs::settle();
    Ok(dependents)
}

/// Refuses a folder of the dataset that is a link: it leads to files that may belong to others too.
fn refuse_linked<'p>(target: &impl Target, files: impl Iterator<Item = &'p Path>) -> Result<()> {
    let base = target.directory();
    let base = base.as_path();
    let folders =
        |file: &'p Path| file.ancestors().skip(1).take_while(move |folder| *folder != base);
    let below = files.filter(|file| file.starts_with(base)).flat_map(folders);
    for folder in below.collect::<BTreeSet<&Path>>() {
        if files::link_metadata(folder)?.is_some_and(|found| found.is_symlink()) {
            let cause = "is a link: nothing is written or removed through it";
            return Err(Error::usage(cause).at(folder));
        }
    }
    Ok(())
}

/// Returns the first file that stands there and may not be replaced.
fn conflict(
    target: &impl Target,
    standing: &StandingFiles,
    overwrite: bool,
) -> Result<Option<PathBuf>> {
    if overwrite || standing.files.is_empty() {
        return Ok(None);
    }
    let half = marker::left_by(&target.manifest(), &target.directory())?;
    Ok(standing.files.iter().find(|path| !half.contains(path)).cloned())
}

fn exists(path: &Path) -> Error {
    Error::usage("exists already").at(shown(path)).hint("--overwrite")
}

fn rename_one(file: &mut PendingFile, standing: &StandingFiles) -> Result<()> {
    let _held = signals::hold();
    file.rename()?;
    let synced = sync_directory(&directory_of(file.path()));
    if synced.is_err() && standing.files.is_empty() {
        let _ = fs::remove_file(file.path());
    }
    synced
}

/// A dataset that is being replaced.
struct Change<'a, T> {
    target: &'a T,
    files: &'a mut [PendingFile],
    standing: StandingFiles,
    /// Files that the new dataset does not have.
    gone: Vec<PathBuf>,
    /// Whether the old dataset is no longer complete.
    changed: bool,
}

impl<T: Target> Change<'_, T> {
    fn run(mut self) -> Result<()> {
        let manifest = self.target.manifest();
        let named: BTreeSet<&Path> = (self.standing.files.iter().map(PathBuf::as_path))
            .chain(self.files.iter().map(PendingFile::path))
            .filter(|path| *path != manifest)
            .collect();
        let named: Vec<&Path> = named.into_iter().collect();
        let marker = Marker::prepare(&manifest, &self.target.directory(), &named)?;
        let _held = signals::hold();
        let marker = marker.put()?;
        let done =
            self.withdraw(&manifest).and_then(|()| self.replace()).and_then(|()| self.complete());
        // Beside a manifest the marker means nothing, so it does no harm if it stays.
        if done.is_ok() || !self.changed {
            let _ = marker.remove();
        }
        done
    }

    /// Removes the files that mark the dataset as complete.
    fn withdraw(&mut self, manifest: &Path) -> Result<()> {
        let StandingFiles { files, dependents } = &self.standing;
        dependents.iter().try_for_each(|path| remove_if_there(path))?;
        let (manifests, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
            files.iter().partition(|path| *path == manifest);
        let indexes: Vec<&PathBuf> =
            others.into_iter().filter(|path| self.target.is_index(path)).collect();
        for path in manifests.iter().chain(&indexes) {
            remove_if_there(path)?;
            self.changed = true;
        }
        let removed = dependents.iter().chain(manifests).chain(indexes);
        sync_directories(removed.map(PathBuf::as_path))
    }

    /// Gives the files their names, all except the manifest.
    fn replace(&mut self) -> Result<()> {
        // (Without new files, the old ones are removed.)
        let (_, data) = self.files.split_last_mut().unzip();
        let data = data.unwrap_or_default();
        for file in data.iter_mut() {
            file.rename()?;
            self.changed = true;
        }
        self.gone.iter().try_for_each(|path| remove_if_there(path))?;
        sync_directories(data.iter().map(|file| file.path()).chain(self.gone.iter().map(|p| &**p)))
    }

    /// Writes the manifest.
    fn complete(&mut self) -> Result<()> {
        let Some(manifest) = self.files.last_mut() else { return Ok(()) };
        self.changed = true;
        manifest.rename()?;
        let synced = sync_directory(&directory_of(manifest.path()));
        if synced.is_err() {
            let _ = fs::remove_file(manifest.path());
        }
        synced
    }
}

/// Makes the names of files durable.
fn sync_directories<'p>(files: impl Iterator<Item = &'p Path>) -> Result<()> {
    let directories: BTreeSet<PathBuf> = files.map(directory_of).collect();
    directories.iter().try_for_each(|directory| sync_directory(directory))
}

/// Whether the existing files equal these files. The `run` of a manifest, which says when it was made, is
/// not compared.
fn is_same(files: &[PendingFile], standing: &[PathBuf]) -> Result<bool> {
    let names: BTreeSet<&Path> = files.iter().map(PendingFile::path).collect();
    if names != standing.iter().map(PathBuf::as_path).collect() {
        return Ok(false);
    }
    let Some((manifest, data)) = files.split_last() else { return Ok(true) };
    for file in data {
        if !same_bytes(file.temporary(), file.path())? {
            return Ok(false);
        }
    }
    let [new, old] = [manifest.temporary(), manifest.path()];
    if same_bytes(new, old)? {
        return Ok(true);
    }
    let [new, old] = [without_run(new)?, without_run(old)?];
    Ok(new.is_some() && new == old)
}

fn without_run(path: &Path) -> Result<Option<Value>> {
    if path.extension().is_none_or(|ending| ending != "json") {
        return Ok(None);
    }
    let text = read_member(path).at(path)?;
    let mut manifest = serde_json::from_slice::<Value>(&text).ok();
    if let Some(fields) = manifest.as_mut().and_then(Value::as_object_mut) {
        fields.remove("run");
    }
    Ok(manifest)
}

fn same_bytes(a: &Path, b: &Path) -> Result<bool> {
    let failed = |error: io::Error| Error::io(shown(b), &error);
    let (a, b) = (File::open(a).map_err(failed)?, File::open(b).map_err(failed)?);
    if a.metadata().map_err(failed)?.len() != b.metadata().map_err(failed)?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (BufReader::with_capacity(BLOCK, a), b);
    let (mut left, mut right) = (vec![0; BLOCK], Vec::with_capacity(BLOCK));
    loop {
        right.clear();
        b.by_ref().take(BLOCK as u64).read_to_end(&mut right).map_err(failed)?;
        let left = &mut left[..right.len()];
        a.read_exact(left).map_err(failed)?;
        if left != right {
            return Ok(false);
        }
        if right.is_empty() {
            return Ok(true);
        }
    }
}

/// How many bytes of a file are compared at a time.
const BLOCK: usize = 1 << 18;

/// Starts writing the bytes of all files before waiting for the first: a journal then takes them
/// together, and not each with its own commit. (13 small files on ext4: 6.8 ms and 8.2 ms, median
/// of 40 interleaved runs of `mmidx-write --root` on 100 records, 2026-11-22; their syncs alone,
/// without a journal: 0.9 and 2.6 ms, 2026-11-26.)
#[cfg(target_os = "linux")]
fn start_writing(files: &[PendingFile]) -> Result<()> {
    use std::os::fd::AsRawFd;

    for pending in files {
        let Some(file) = pending.file() else { continue };
        // SAFETY: a call on a descriptor that `file` keeps open; it touches no memory of ours.
        let answer =
            unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
        let error = io::Error::last_os_error();
        let lost =
            [libc::EIO, libc::ENOSPC, libc::EDQUOT].map(Some).contains(&error.raw_os_error());
        // If a file system does not know the call, the sync does everything.
        if answer != 0 && lost {
            return Err(Error::write(shown(pending.path()), &error));
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn start_writing(_: &[PendingFile]) -> Result<()> {
    Ok(())
}
