//! Megatron's index caches beside datasets: `X_tokens/cache/`. Their key is the path of the data, not
//! the content. Megatron would use them for new data under the same path, and get samples that do not
//! exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::files;
use crate::format::mmidx::{PrefixLayout, with_suffix};

/// The endings of cached files. Before them the name has 32 hexadecimal digits.
const ENDINGS: [&str; 6] = [
    "-description.txt",
    "-document_index.npy",
    "-sample_index.npy",
    "-shuffle_index.npy",
    "-dataset_index.npy",
    "-dataset_sample_index.npy",
];

/// Returns the folders in which Megatron caches files of a prefix.
fn folders(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    let members = [PrefixLayout::Triple, PrefixLayout::Single].map(PrefixLayout::members).concat();
    members.into_iter().map(|(suffix, ..)| with_suffix(prefix, suffix).join("cache"))
}

/// Returns the cached files of a prefix. Other files in these folders are not Megatron's.
pub fn caches_of(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders(prefix) {
        for path in files::paths_if_there(&folder)? {
            if files::is_directory(&path)? {
                found.extend(files::paths_in(&path)?.into_iter().filter(|path| is_cache(path)))
            } else {
                found.extend(Some(path).filter(|path| is_cache(path)))
            }
        }
    }
    Ok(found)
}

pub(super) fn is_cache(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_key = |key: &[u8]| key.iter().all(u8::is_ascii_hexdigit);
    name.as_bytes().get(..32).is_some_and(is_key)
        && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Removes the folders of cached files that are now empty, up to the folder of the dataset.
pub(super) fn remove_empty_folders(caches: &[&PathBuf]) {
    for cache in caches {
        for folder in cache.ancestors().skip(1).take(3) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}
