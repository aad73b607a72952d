//! The files of a dataset: what is in a directory, and whether the files on the disk have the names,
//! sizes and hashes of a manifest.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::{Check, CheckContext, CheckedChunk, Findings};
use crate::error::{At, Kind, Result};
use crate::file_entry::{Difference, FileEntry};
use crate::files;
use crate::publish::{is_being_written, is_temporary, manifest_of};
use crate::wording::exactly;

/// Returns the last part of a path as text.
pub fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

pub fn read(path: &Path) -> Result<Vec<u8>> {
    files::read_member(path).at(path)
}

/// Reports the temporary files of a writer in a directory.
pub fn temporaries(paths: &[PathBuf], check: &'static Check, findings: &mut Findings<'_>) {
    for path in paths.iter().filter(|path| is_temporary(&name_of(path))) {
        let is_running = is_being_written(path);
        let cause = if is_running { "is of a writer that is running" } else { "was left behind" };
        findings.add(check, path, cause);
    }
    for manifest in paths.iter().filter_map(|path| manifest_of(path)) {
        if !paths.contains(&manifest) {
            findings.add(check, &manifest, "is half published; run its writer again");
        }
    }
}

/// A family's checks of the files that its manifests state.
pub struct FileChecks {
    pub missing: &'static Check,
    pub bytes: &'static Check,
    pub sha256: &'static Check,
}

/// Whether a manifest that cannot be read as ours is another program's: it is JSON and has none of two
/// words that ours always has. (One changed byte cannot remove both.)
pub fn is_foreign(path: &Path, ours: &[&str; 2]) -> Result<bool> {
    let text = read(path)?;
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok();
    Ok(is_json && !ours.iter().any(|word| memmem::find(&text, word.as_bytes()).is_some()))
}

/// Returns what was read from a file. If its content is bad, adds a finding of `check` and returns
/// `None`. A file that cannot be read at all is an error.
pub fn readable<T>(
    read: Result<T>,
    path: &Path,
    findings: &mut Findings<'_>,
    check: impl FnOnce() -> Result<&'static Check>,
) -> Result<Option<T>> {
    match read {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == Kind::Data => {
            findings.add(check()?, path, error.without_place());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Compares files with what manifests claim. A claim that several manifests make is compared once.
pub fn compare<'c>(
    claims: impl IntoIterator<Item = &'c FileEntry>,
    checks: &FileChecks,
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let mut hashed = Vec::new();
    for file in claims.into_iter().collect::<BTreeSet<_>>() {
        match file.size_difference()? {
            None => hashed.extend(file.sha256.is_some().then_some(file)),
            Some(Difference::Bytes(found)) => {
                let message = format_args!("has {}, not {}", exactly(found, "byte"), file.bytes);
                findings.add(checks.bytes, &file.path, message);
            }
            Some(_) => findings.add(checks.missing, &file.path, "is not there"),
        }
    }
    if !findings.wants(checks.sha256) {
        return Ok(());
    }
    // The largest first: as the last one it would be hashed by one thread alone.
    hashed.sort_by_key(|file| Reverse(file.bytes));
    let check = |file: &FileEntry, findings: &mut Findings<'_>| {
        if let (Some(Difference::Sha256(hash)), Some(stated)) = (file.verify()?, &file.sha256) {
            let message = format_args!("has sha256 {hash}, not {stated}");
            findings.add(checks.sha256, &file.path, message);
        }
        Ok(CheckedChunk { records: 0, bytes: file.bytes, summary: () })
    };
    context.check_chunks(hashed.into_iter().map(Ok), || check, findings, |_, _| Ok(()))
}
