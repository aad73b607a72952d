//! Files that a manifest names, with their sizes and hashes, against the disk.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::{At, Check, Context, Findings};
use crate::cli::{Error, Flow, Result, ordered_map, shown};
use crate::format::sha256;

/// What a manifest says of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claimed {
    pub path: PathBuf,
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// A family's checks of what its manifests say of files.
pub(super) struct Checks {
    pub missing: &'static Check,
    pub bytes: &'static Check,
    pub sha256: &'static Check,
}

/// Whether a manifest that cannot be read as ours is another program's: JSON without any of the
/// words that ours has. (One changed byte makes none of ours so.)
pub(super) fn is_foreign(path: &Path, ours: &[&str; 2]) -> Result<bool> {
    let text = fs::read(path).map_err(|e| Error::io(shown(path), &e))?;
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok();
    Ok(is_json && !ours.iter().any(|word| memmem::find(&text, word.as_bytes()).is_some()))
}

/// Compares files with what is said of them; each claim once, however many manifests make it.
pub(super) fn compare<'c>(
    claims: impl Iterator<Item = &'c Claimed>,
    checks: &Checks,
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let mut hashed = Vec::new();
    for file in claims.collect::<BTreeSet<_>>() {
        match fs::metadata(&file.path) {
            Err(_) => {
                findings.add(checks.missing, At::file(&file.path), || "is not there".to_string());
            }
            Ok(metadata) if metadata.len() != file.bytes => {
                findings.add(checks.bytes, At::file(&file.path), || {
                    format!("has {} bytes, not {}", metadata.len(), file.bytes)
                });
            }
            Ok(_) => hashed.push(file),
        }
    }
    if !findings.wants(checks.sha256) {
        return Ok(());
    }
    let progress = &mut *context.progress;
    ordered_map(
        context.jobs,
        hashed.into_iter().map(Ok),
        || {
            |file: &'c Claimed| {
                (file, File::open(&file.path).and_then(|mut file| sha256(&mut file)))
            }
        },
        |(file, hash)| {
            let hash = hash.map_err(|e| Error::io(shown(&file.path), &e))?;
            if hash != file.sha256 {
                findings.add(checks.sha256, At::file(&file.path), || {
                    format!("has sha256 {hash}, not {}", file.sha256)
                });
            }
            progress.add(0, file.bytes);
            Ok(Flow::Continue)
        },
    )
}
