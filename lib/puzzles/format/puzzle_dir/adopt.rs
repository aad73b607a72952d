//! A puzzle set that is complete elsewhere, under another name too.

use std::path::Path;

use super::writer::PuzzleTarget;
use super::{BUILD, PuzzleSetManifest};
use crate::error::Result;
use crate::format::json_file;
use crate::format::stated::refuse_others;
use crate::publish::{PendingFile, publish};

/// Publishes the files of a set in another directory, with this manifest, in place of an older set.
/// `verify`: the bytes are compared with the manifest.
pub fn adopt(
    part: &Path,
    directory: &Path,
    manifest: &PuzzleSetManifest,
    verify: bool,
) -> Result<()> {
    if verify {
        refuse_others(&manifest.stated(part))?;
    }
    let adopted = manifest
        .files
        .iter()
        .map(|file| PendingFile::adopt(&directory.join(&file.name), &part.join(&file.name)));
    let mut files = adopted.collect::<Result<Vec<_>>>()?;
    files.push(json_file::pending(&directory.join(BUILD), manifest)?);
    publish(&PuzzleTarget(directory), files, true).map(|_| ())
}
