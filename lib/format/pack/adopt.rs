//! A pack that is complete elsewhere, under another name too.

use std::path::Path;

use super::{PackManifest, PackTarget};
use crate::cli::{PendingFile, publish};
use crate::digest::sha256_of;
use crate::error::{Error, Result};
use crate::files::open_member;

/// Publishes the files of a pack in another directory, in place of what stands there, with this
/// manifest. `verify`: the bytes are compared with it.
pub fn adopt(part: &Path, directory: &Path, manifest: &PackManifest, verify: bool) -> Result<()> {
    let mut files = Vec::new();
    for file in &manifest.files {
        let from = part.join(&file.path);
        let bad = |e: std::io::Error| Error::io(from.as_path(), &e);
        let same = match verify {
            true => open_member(&from).and_then(sha256_of).map_err(bad)?.1 == file.sha256,
            false => true,
        };
        if !same {
            let cause = "is not the one of its manifest (sha256)";
            return Err(Error::data(cause).at(from.as_path()));
        }
        files.push(PendingFile::adopt(&directory.join(&file.path), &from)?);
    }
    files.push(manifest.pending(directory)?);
    publish(&PackTarget(directory), files, true).map(|_| ())
}
