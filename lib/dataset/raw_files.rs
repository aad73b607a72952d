//! The files of raw rows below folders, in the order in which Hugging Face `datasets` reads them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cli::Slice;
use crate::error::{Error, Result, shown};
use crate::files;
use crate::walk::{self, WalkError};

/// How files of rows end: a folder's are those of the first of these kinds that it has.
const KINDS: [&[&str]; 3] = [&[".parquet"], &[".jsonl", ".ndjson"], &[".arrows"]];
/// What may follow, but for Parquet.
const PACKED: [&str; 3] = ["", ".gz", ".zst"];

/// The paths, and in the place of a folder the files below it: hidden ones are left out, the others
/// are sorted by their whole paths, as code points.
pub fn raw_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        match path.as_os_str() != "-" && files::is_directory(path)? {
            true => all.extend(files_below(path)?),
            false => all.push(path.clone()),
        }
    }
    all.iter().filter(|path| path.as_os_str() != "-").try_for_each(|path| refuse_endless(path))?;
    Ok(all)
}

/// Refuses what is no regular file, and would be waited for without end. (A pipe of this process,
/// `/dev/fd/63`, has a writer.)
fn refuse_endless(path: &Path) -> Result<()> {
    let is_open = path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd");
    match files::metadata(path)? {
        Some(found) if !found.is_file() && !found.is_dir() && !is_open => {
            Err(Error::usage("is no regular file").at(path).hint("< FILE, to read it from stdin"))
        }
        _ => Ok(()),
    }
}

/// A contiguous part of the files. The I-th of N parts: all have as many files, but that the first may
/// have one more.
pub fn shard_of(files: &[PathBuf], shard: Slice) -> &[PathBuf] {
    let range = match shard {
        Slice::Part { index, count } => {
            let all = files.len() as u64;
            let (each, more) = (all / count.max(1), all % count.max(1));
            let start = |index: u64| index * each + index.min(more);
            start(index)..start(index + 1)
        }
        range => range.of(files.len() as u64),
    };
    files.get(range.start as usize..range.end as usize).unwrap_or_default()
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_shown = |name: &OsStr| !name.as_encoded_bytes().starts_with(b".");
    let found = walk::files(folder, is_shown).collect::<Result<Vec<PathBuf>, WalkError>>();
    let found = found.map_err(|error| match error {
        WalkError::Io(path, error) => Error::io(path.as_path(), &error),
        WalkError::Cycle { link, ancestor } => {
            let cause = format!("leads back to {}, which contains it", shown(&ancestor));
            Error::usage(cause).at(link.as_path())
        }
    })?;
    for kind in KINDS {
        let mut files: Vec<PathBuf> =
            found.iter().filter(|path| is_of(path, kind)).cloned().collect();
        if !files.is_empty() {
            files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
            return Ok(files);
        }
    }
    let endings: Vec<&str> = KINDS.concat();
    let cause = format!("is a folder without files of rows (*{})", endings.join(", *"));
    Err(Error::usage(cause).at(folder))
}

fn is_of(path: &Path, kind: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let packed: &[&str] = if kind.contains(&".parquet") { &[""] } else { &PACKED };
    kind.iter()
        .any(|ending| packed.iter().any(|packed| name.ends_with(&format!("{ending}{packed}"))))
}
