//! How large a dataset is: the one number that every filter names.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files;
use crate::format::kd_root::prefix_of;
use crate::publish::directory_of;
use crate::walk;

/// Returns the bytes of files, of all files below folders, and of the files with a prefix; `None`
/// if one of the paths is a pipe, or if there are no paths.
pub fn size_on_disk(paths: &[PathBuf]) -> Result<Option<u64>> {
    let mut sum = Some(0u64);
    for path in paths {
        sum = sum.zip(size_of(path)?).map(|(sum, more)| sum.saturating_add(more));
    }
    Ok(sum.filter(|_| !paths.is_empty()))
}

fn size_of(path: &Path) -> Result<Option<u64>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let Some(metadata) = files::metadata(path)? else {
        return files::size_of(with_prefix(path)?).map(Some);
    };
    let prefix = prefix_of(path)?;
    if prefix != path {
        return files::size_of(with_prefix(&prefix)?).map(Some);
    }
    if metadata.is_dir() {
        let found = walk::files(path, |_| true).map(|found| found.map_err(Error::from));
        return files::size_of(found.collect::<Result<Vec<_>>>()?).map(Some);
    }
    Ok(metadata.is_file().then_some(metadata.len()))
}

/// Returns the files beside a prefix whose names begin with it: `shard_00_tokens.bin`,
/// `shard_00.bin`.
fn with_prefix(prefix: &Path) -> Result<Vec<PathBuf>> {
    let Some(name) = prefix.file_name() else { return Ok(Vec::new()) };
    let mut paths = files::paths_in(&directory_of(prefix))?;
    paths.retain(|path| {
        let own = path.file_name().unwrap_or_default().as_encoded_bytes();
        let rest = own.strip_prefix(name.as_encoded_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"_") || rest.starts_with(b"."))
    });
    Ok(paths)
}
