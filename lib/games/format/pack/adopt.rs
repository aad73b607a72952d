//! A pack that is complete elsewhere, under another name too.

use std::path::Path;

use super::{PackManifest, PackTarget};
use crate::error::Result;
use crate::format::stated::refuse_others;
use crate::publish::{PendingFile, publish};

/// Publishes the files of a pack in another directory, with this manifest, in place of an older
/// pack. `verify`: the bytes are compared with the manifest.
pub fn adopt(part: &Path, directory: &Path, manifest: &PackManifest, verify: bool) -> Result<()> {
    if verify {
        refuse_others(&manifest.stated(part))?;
    }
    let adopted = manifest
        .files
        .iter()
        .map(|file| PendingFile::adopt(&directory.join(&file.path), &part.join(&file.path)));
    let mut files = adopted.collect::<Result<Vec<_>>>()?;
    files.push(manifest.pending(directory)?);
    publish(&PackTarget(directory), files, true).map(|_| ())
}
