//! Merging packs of games into one. Everything is checked, and only then, if it is wanted, the inputs are deleted.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::num::NonZeroUsize;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};

use super::closing::{ClosingCheck, run_filter};
use super::summary_of_pack;
use crate::cli::{self, OnErrorArgs, When};
use crate::error::{At, Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::files::{self, FileId};
use crate::format::kd_root::MANIFEST;
use crate::format::pack::PackOptions;
use crate::program;

/// What ds-check looks at in inputs that stay: that nothing is missing or changed. (The values of the rows are checked
/// in the output.)
const OF_STATED: [&str; 2] = ["--only", "pool.files,pool.shard,pool.manifest"];

/// The files of a pack in the order in which they are deleted; besides, its `steps-*.npy`.
const FILES: [&str; 7] = [
    MANIFEST,
    "metadata.db",
    "metadata.db-wal",
    "metadata.db-shm",
    "metadata.db-journal",
    "valuation_types.json",
    "steps.npy",
];

const HELP: &str = "\
Examples:
  scripts/merge-packs.sh --output merged d6 d7
  scripts/merge-packs.sh --output merged --left d6 --right d7 --delete-inputs
  ds-plan merge --output merged d6 d7 --shard-rows 10000000

In: packs. Each IN must be what its own manifest says.
Out: a pack with the games of every IN in that order.
Exit codes: 0 done, 1 bad data (if OUT fails ds-check, it and the inputs are kept),
2 usage, a missing input or an overlap, 75 temporary failure, try again.";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct MergeArgs {
    /// Packs, in the order in which their games are numbered
    #[arg(value_name = "IN", conflicts_with_all = ["left", "right"])]
    #[arg(required_unless_present = "left")]
    inputs: Vec<PathBuf>,

    /// The merged pack; it must not overlap with any IN
    #[arg(short, long, value_name = "OUT", allow_hyphen_values = true)]
    #[arg(value_parser = cli::on_disk().map(named))]
    output: PathBuf,

    /// The first of two packs
    #[arg(long, value_name = "IN", requires = "right", value_parser = cli::on_disk().map(named))]
    left: Option<PathBuf>,

    /// The second of two packs
    #[arg(long, value_name = "IN", requires = "left", value_parser = cli::on_disk().map(named))]
    right: Option<PathBuf>,

    #[command(flatten)]
    pack: PackOptions,

    /// Threads of the checks [default: all processors]
    #[arg(short, long, value_name = "N", visible_alias = "workers", help_heading = "Checks")]
    jobs: Option<NonZeroUsize>,

    /// Replace the pack in OUT
    #[arg(long)]
    overwrite: bool,

    /// Delete the files of every IN (at least two) once every IN and OUT have passed ds-check, if they are
    /// still the files that were read
    #[arg(long, conflicts_with = "no_check")]
    delete_inputs: bool,

    /// Do not run ds-check, neither on the INs nor on OUT
    #[arg(long, help_heading = "Checks")]
    no_check: bool,

    /// Print only errors, and what ds-check finds
    #[arg(short, long, help_heading = "Messages")]
    quiet: bool,

    /// Show progress
    #[arg(long, value_enum, default_value = "auto", value_name = "auto|always|never")]
    #[arg(hide_possible_values = true, help_heading = "Messages")]
    progress: When,

    #[command(flatten, next_help_heading = "Bad games")]
    on_error: OnErrorArgs,
}

/// Returns a path that no filter takes for an option, although its name begins with a dash.
fn named(path: PathBuf) -> PathBuf {
    match path.as_os_str().as_encoded_bytes().first() {
        Some(b'-') => Path::new(".").join(path),
        _ => path,
    }
}

impl MergeArgs {
    fn inputs(&self) -> Vec<PathBuf> {
        self.left.iter().chain(&self.right).chain(&self.inputs).cloned().collect()
    }

    fn jobs(&self) -> NonZeroUsize {
        self.jobs.unwrap_or_else(super::processors)
    }

    /// Merges the packs.
    pub fn run(&self) -> Result<()> {
        let (began, inputs) = (SystemTime::now(), self.inputs());
        self.refuse_overlaps(&inputs)?;
        for filter in ["npy-pack"].into_iter().chain((!self.no_check).then_some("ds-check")) {
            program::installed_filter(filter)?;
        }
        let before = inputs.iter().map(|input| Identity::of(input)).collect::<Result<Vec<_>>>()?;
        let check = ClosingCheck::new(self.jobs(), self.progress, self.quiet);
        let (rules, cause) = match self.delete_inputs {
            // What is to be deleted passes every rule first.
            true => (&[][..], "has not passed ds-check; nothing was merged"),
            false => (&OF_STATED[..], "is not what its manifest says; nothing was merged"),
        };
        for input in inputs.iter().filter(|_| !self.no_check) {
            check.run(std::slice::from_ref(input), rules, cause)?;
        }
        run_filter("npy-pack", self.words(&inputs))?;
        if !self.no_check {
            let cause = "has not passed ds-check; the inputs are kept";
            check.run(std::slice::from_ref(&self.output), &[], cause)?;
        }
        if !self.quiet {
            cli::print_text(&summary_of_pack(&self.output, Some(began))?)?;
        }
        if self.delete_inputs { delete(&inputs, &before) } else { Ok(()) }
    }

    /// Returns the words of npy-pack.
    fn words(&self, inputs: &[PathBuf]) -> Vec<OsString> {
        let mut words: Vec<OsString> = inputs.iter().map(OsString::from).collect();
        words.extend(["--output".into(), self.output.clone().into()]);
        let rejects = self.on_error.rejects.as_ref();
        words.extend(rejects.into_iter().flat_map(|path| ["--rejects".into(), path.into()]));
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [flag.into(), value.into()]));
        };
        add("--shard-rows", self.pack.shard_rows.map(|rows| rows.to_string()));
        add("--layout", self.pack.layout.map(|layout| layout.name().to_string()));
        add("--on-error", name_of(self.on_error.on_error));
        add("--progress", name_of(self.progress));
        for (flag, is_given) in [
            ("--lossy", self.pack.lossy),
            ("--no-provenance", self.pack.no_provenance),
            ("--overwrite", self.overwrite),
            ("--quiet", self.quiet),
        ] {
            words.extend(is_given.then(|| flag.into()));
        }
        words
    }

    /// A merge into one of its own inputs would destroy it, and an input that is deleted twice was read twice.
    fn refuse_overlaps(&self, inputs: &[PathBuf]) -> Result<()> {
        if let ([only], true) = (inputs, self.delete_inputs) {
            let cause =
                format!("--delete-inputs with one input alone; is {} the output?", shown(only));
            return Err(Error::usage(cause));
        }
        for (number, input) in inputs.iter().enumerate() {
            if !files::is_directory(input)? {
                return Err(Error::usage("no such folder").at(input.as_path()));
            }
            for other in inputs.iter().skip(number + 1).filter(|_| self.delete_inputs) {
                if files::is_same(input, other)? {
                    let cause = format!("{} and {} are one folder", shown(input), shown(other));
                    return Err(Error::usage(cause));
                }
            }
            let overlap = format!("{} and {} overlap", shown(&self.output), shown(input));
            if lies_in(&self.output, input)? || lies_in(input, &self.output)? {
                return Err(Error::usage(overlap));
            }
            if files::is_directory(&self.output)? {
                let own = regular_files(&self.output)?;
                if regular_files(input)?.iter().any(|file| own.contains(file)) {
                    return Err(Error::usage(overlap + ": a file of one is a file of the other"));
                }
            }
        }
        Ok(())
    }
}

fn name_of(value: impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|value| value.get_name().to_string())
}

/// Whether a path, which need not exist, is a directory or lies in it, also through links and mounts.
fn lies_in(path: &Path, directory: &Path) -> Result<bool> {
    let whole = resolved(path)?;
    Ok(files::find(&whole.ancestors().collect::<Vec<_>>(), |above| {
        files::is_same(above, directory)
    })?
    .is_some())
}

/// The most links that a path may lead through.
const MOST_LINKS: usize = 40;

/// Returns a path without links and dots, as far as it exists; what does not exist is taken as it is named.
fn resolved(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).at(path)?;
    let parts = |path: &Path| {
        let parts = path.components().map(|part| part.as_os_str().to_owned());
        parts.rev().map(PathBuf::from).collect::<Vec<_>>()
    };
    let (mut left, mut whole, mut links) = (parts(&absolute), PathBuf::new(), 0);
    while let Some(part) = left.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => {
                whole.pop();
                continue;
            }
            Some(Component::CurDir) | None => continue,
            Some(_) => {}
        }
        let next = whole.join(&part);
        if files::link_metadata(&next)?.is_some_and(|found| found.is_symlink()) {
            links += 1;
            if links > MOST_LINKS {
                return Err(std::io::Error::from_raw_os_error(libc::ELOOP)).at(path);
            }
            left.extend(parts(&fs::read_link(&next).at(path)?));
        } else {
            whole = next;
        }
    }
    Ok(whole)
}

/// Returns the regular files of a folder, also those behind links.
fn regular_files(directory: &Path) -> Result<Vec<FileId>> {
    let mut found = Vec::new();
    for path in files::paths_in(directory)? {
        let metadata = files::metadata(&path)?.filter(|metadata| metadata.is_file());
        found.extend(metadata.map(|metadata| FileId::of(&metadata)));
    }
    Ok(found)
}

/// The files of a pack. It tells whether they are still the same later.
#[derive(PartialEq)]
struct Identity {
    /// Names, identities, sizes and times.
    files: Vec<(PathBuf, FileId, u64, (i64, i64))>,
    manifest: Option<String>,
}

impl Identity {
    fn of(directory: &Path) -> Result<Identity> {
        let mut found = Vec::new();
        for path in files::paths_in(directory)? {
            let Some(metadata) = files::link_metadata(&path)?.filter(|found| !found.is_dir())
            else {
                continue;
            };
            let time = (metadata.mtime(), metadata.mtime_nsec());
            found.push((path, FileId::of(&metadata), metadata.len(), time));
        }
        let manifest = directory.join(MANIFEST);
        let manifest = files::is_file(&manifest)?.then(|| FileEntry::of(&manifest)).transpose()?;
        Ok(Identity { files: found, manifest: manifest.and_then(|entry| entry.sha256) })
    }
}

/// Deletes packs that are still what they were; all of them, or none.
fn delete(inputs: &[PathBuf], before: &[Identity]) -> Result<()> {
    let mut locks = Vec::new();
    for (input, before) in inputs.iter().zip(before) {
        locks.push(lock(input)?);
        if Identity::of(input)? != *before {
            let cause = "was changed while it was merged; the inputs are kept";
            return Err(Error::unavailable(cause).at(input.as_path()));
        }
    }
    inputs.iter().try_for_each(|input| delete_pack(input))
}

/// Locks a pack as its writers lock it.
fn lock(directory: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NONBLOCK);
    let handle = options.open(directory).at(directory)?;
    match handle.try_lock() {
        Ok(()) => Ok(handle),
        Err(TryLockError::WouldBlock) => {
            let cause = "is being written; the inputs are kept";
            Err(Error::unavailable(cause).at(directory))
        }
        Err(TryLockError::Error(error)) => {
            let cause = format!("cannot be locked ({error}); the inputs are kept");
            Err(Error::unavailable(cause).at(directory))
        }
    }
}

/// Deletes the files of a pack, the manifest first: without it nobody takes the rest for a whole pack. Other files
/// stay, and the folder with them.
fn delete_pack(directory: &Path) -> Result<()> {
    let is_steps = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("steps-") && name.ends_with(".npy")
    };
    let steps: Vec<PathBuf> = files::paths_in(directory)?.into_iter().filter(is_steps).collect();
    for path in FILES.map(|name| directory.join(name)).into_iter().chain(steps) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::write(path.as_path(), &error));
            }
            _ => {}
        }
    }
    // (A folder that is not empty cannot be removed.)
    let is_link = files::link_metadata(directory)?.is_some_and(|found| found.is_symlink());
    let folder = files::resolved(directory)?;
    let is_removed = folder.is_some_and(|folder| fs::remove_dir(folder).is_ok());
    if is_link && is_removed {
        fs::remove_file(directory).map_err(|error| Error::write(directory, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_do_not_exist_are_resolved() {
        let place = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(place.path()).unwrap();
        fs::create_dir(place.join("a")).unwrap();
        std::os::unix::fs::symlink("a", place.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere/else", place.join("dead")).unwrap();
        std::os::unix::fs::symlink("loop", place.join("loop")).unwrap();
        for (named, whole) in [
            ("a/../link/new/./x", "a/new/x"),
            ("link/../b", "b"),
            ("dead/x", "nowhere/else/x"),
            ("none/../a", "a"),
        ] {
            assert_eq!(resolved(&place.join(named)).unwrap(), place.join(whole), "{named}");
        }
        assert_eq!(resolved(&place.join("loop/x")).unwrap_err().exit_code(), 75);
        assert!(lies_in(&place.join("link/deeper/x"), &place.join("a")).unwrap());
        assert!(!lies_in(&place.join("ab"), &place.join("a")).unwrap());
    }
}
