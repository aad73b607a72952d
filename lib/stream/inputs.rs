//! The inputs of this process, with all filters of a chain together. No output may replace an input or lie in one,
//! and the inputs must not change until the results are there.
//!
//! All code that opens an input names it here. Code that publishes calls [`refuse_target`]. Reports, whose results
//! are no streams, end with [`confirm`].

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::error::{At, Error, Kind, Result, shown};
use crate::files::{self, FileId, FileSnapshot};

#[derive(Default)]
struct Inputs {
    paths: BTreeSet<PathBuf>,
    /// The files of progress, which are appended to meanwhile.
    apart: BTreeSet<PathBuf>,
    /// The files that belong together, as they were when they were first looked at.
    noted: HashMap<PathBuf, FileSnapshot>,
}

static INPUTS: LazyLock<Mutex<Inputs>> = LazyLock::new(Mutex::default);

fn inputs() -> MutexGuard<'static, Inputs> {
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that these files and folders are read. (`-` is not one.)
pub fn name<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) {
    let paths = paths.into_iter().filter(|path| path.as_os_str() != "-").cloned();
    inputs().paths.extend(paths);
}

/// Notes that no output may have the name of this file of progress.
pub fn keep_apart(path: &Path) {
    inputs().apart.insert(path.to_path_buf());
}

/// Whether this is a file of progress of this run.
pub fn is_kept_apart(path: &Path) -> bool {
    inputs().apart.contains(path)
}

/// Whether a path was named.
pub fn is_named(path: &Path) -> bool {
    inputs().paths.contains(path)
}

/// Notes that these files are read and belong together. Fails if one of them was noted before and has been
/// replaced since: what was read from it before belongs to another dataset.
pub fn note(files: &[FileSnapshot]) -> Result<()> {
    let mut inputs = inputs();
    for file in files {
        match inputs.noted.get(file.path()) {
            Some(before) if !before.is_same(file) => return Err(files::changed(file.path())),
            Some(_) => {}
            None => {
                inputs.paths.insert(file.path().to_path_buf());
                inputs.noted.insert(file.path().to_path_buf(), file.clone());
            }
        }
    }
    Ok(())
}

/// Returns the outcome of a run. Fails if inputs have changed, unless the results are out already.
pub fn confirm<T>(outcome: Result<T>) -> Result<T> {
    match outcome {
        Err(error) if error.kind() == Kind::Unavailable || error.failure().is_some() => Err(error),
        // (A file that is being replaced may be missing, too.)
        outcome => check().and(outcome),
    }
}

/// Fails unless all files are still as they were noted.
pub fn check() -> Result<()> {
    inputs().noted.values().try_for_each(FileSnapshot::check)
}

/// Notes that the results are out: changes of the inputs do not matter any more.
pub fn settle() {
    inputs().noted.clear();
}

/// Refuses to write to a path that is read or that is in a folder that is read, under any name.
pub fn refuse_target(target: &Path) -> Result<()> {
    // (Devices hold nothing that could be lost.)
    let holds_data = |found: &std::fs::Metadata| found.is_file() || found.is_dir();
    let own = files::metadata(target)?.filter(holds_data).map(|found| FileId::of(&found));
    let mut above = Vec::new();
    for folder in folders_of(target)? {
        above.extend(files::metadata(&folder)?.map(|found| FileId::of(&found)));
    }
    // (A regular file as stdin is read by a filter without named inputs.)
    if own.is_some() && own == FileId::of_stream(io::stdin()) {
        return Err(Error::usage("is the input of this run").at(target));
    }
    for path in &inputs().apart {
        if own.is_some() && own == files::metadata(path)?.map(|found| FileId::of(&found)) {
            return Err(Error::usage("is the file of --progress-to").at(target));
        }
    }
    let mut outer = None;
    for path in &inputs().paths {
        let Some(found) = files::metadata(path)?.filter(holds_data) else { continue };
        let input = FileId::of(&found);
        if own == Some(input) {
            return Err(Error::usage("is an input of this run").at(target));
        }
        if outer.is_none() && above.contains(&input) {
            outer = Some(shown(path));
        }
    }
    match outer {
        Some(folder) => {
            Err(Error::usage(format!("lies in {folder}, an input of this run")).at(target))
        }
        None => Ok(()),
    }
}

/// Returns the folders that contain a path, even if they do not exist yet, as the system resolves
/// them.
fn folders_of(target: &Path) -> Result<Vec<PathBuf>> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut folder = parent.unwrap_or(Path::new(".")).to_path_buf();
    while !files::exists(&folder)? {
        match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => folder = parent.to_path_buf(),
            _ => folder = PathBuf::from("."),
        }
    }
    let whole = std::fs::canonicalize(&folder).at(folder.as_path())?;
    Ok(whole.ancestors().map(Path::to_path_buf).collect())
}
