//! The files of raw rows below folders, in the order in which Hugging Face `datasets` reads them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::Slice;
use crate::digest::sha256_of;
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::data_files::{ARROW, Kind, LINES, PARQUET, refuse_left_out};
use crate::format::{json_file, parquet};
use crate::walk::{self, WalkError};

use super::splits::refuse_several;

/// The kinds of files of rows: all files of a folder are of one of these.
const KINDS: [&Kind; 3] = [&PARQUET, &LINES, &ARROW];
/// The files that `save_to_disk` of Hugging Face `datasets` writes: beside the files of a set, and above
/// its splits.
const STATE: &str = "state.json";
const SPLITS: &str = "dataset_dict.json";

/// Returns the paths. A folder is replaced by the files below it without hidden ones, sorted by their
/// whole paths, as code points.
pub fn raw_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if path.as_os_str() != "-" && files::is_directory(path)? {
            let below = files_below(path)?;
            below.iter().try_for_each(|path| refuse_endless(path))?;
            all.extend(below)
        } else {
            all.push(path.clone())
        }
    }
    Ok(all)
}

/// Returns name, bytes, rows and sha256 of each file of raw rows, nothing for stdin. Rows are null if they
/// could only be counted by decoding (compressed files, Arrow).
pub fn describe_raw(paths: &[PathBuf]) -> Result<Vec<Value>> {
    paths.iter().filter(|path| path.as_os_str() != "-").map(|path| describe(path)).collect()
}

fn describe(path: &Path) -> Result<Value> {
    let bad = |error: io::Error| Error::io(path, &error);
    let mut lines =
        LineCount { file: files::open_member(path).map_err(bad)?, lines: 0, is_open: false };
    let (bytes, sha256) = sha256_of(&mut lines).map_err(bad)?;
    if let Some(mut described) = parquet::describe(path)? {
        described["sha256"] = sha256.into();
        return Ok(described);
    }
    let is_plain = path.extension().is_some_and(|ending| {
        ["jsonl", "ndjson"].iter().any(|known| ending.eq_ignore_ascii_case(known))
    });
    let rows = is_plain.then(|| lines.lines + u64::from(lines.is_open));
    let name = path.file_name().map(|name| shown(Path::new(name)));
    Ok(json!({"name": name, "bytes": bytes, "rows": rows, "sha256": sha256}))
}

/// Counts the lines that are not blank while they are read.
struct LineCount {
    file: File,
    lines: u64,
    /// Whether the current line is not blank.
    is_open: bool,
}

impl Read for LineCount {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        for part in buffer[..read].split_inclusive(|&byte| byte == b'\n') {
            self.is_open |= !part.trim_ascii().is_empty();
            if part.ends_with(b"\n") {
                self.lines += u64::from(std::mem::take(&mut self.is_open));
            }
        }
        Ok(read)
    }
}

/// Refuses files that are not regular: reading a FIFO in a folder would wait without end.
fn refuse_endless(path: &Path) -> Result<()> {
    match files::metadata(path)? {
        Some(found) if !found.is_file() && !found.is_dir() => {
            Err(Error::usage("is no regular file").at(path).hint("< FILE, to read it from stdin"))
        }
        _ => Ok(()),
    }
}

/// Returns a contiguous part of the files. All N parts have the same number of files, except that the first
/// ones may have one more.
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
    if files::is_member(&folder.join(SPLITS))? {
        let cause = "has several splits (save_to_disk), but only one is for training";
        return Err(Error::usage(cause).at(folder).hint(shown(&folder.join("train"))));
    }
    if let Some(files) = saved_files(folder)? {
        return Ok(files);
    }
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
        let mut files: Vec<PathBuf> = found.iter().filter(|path| kind.has(path)).cloned().collect();
        if !files.is_empty() {
            refuse_left_out(folder, &found, kind)?;
            refuse_several(folder, &files)?;
            files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
            return Ok(files);
        }
    }
    let endings = KINDS.map(|kind| kind.endings).concat();
    let cause = format!("is a folder without files of rows (*{})", endings.join(", *"));
    Err(Error::usage(cause).at(folder))
}

/// Returns the files of a set that `save_to_disk` has written. They are below its folder; other files
/// beside them are caches.
fn saved_files(folder: &Path) -> Result<Option<Vec<PathBuf>>> {
    let path = folder.join(STATE);
    let state: Option<Value> = json_file::if_there(&path, json_file::read)?;
    let Some(Value::Array(files)) = state.map(|mut state| state["_data_files"].take()) else {
        return Ok(None);
    };
    let wrong = |got: &str| {
        let cause = format!("_data_files: expected names of files below the folder, got {got}");
        Error::data(cause).at(path.as_path()).hint("name the FILEs")
    };
    let (mut seen, mut paths) = (HashSet::new(), Vec::new());
    for file in &files {
        let named = &file["filename"];
        let below = named.as_str().filter(|name| !name.is_empty());
        let below = below.and_then(|name| files::below(folder, Path::new(name)));
        let below = below.ok_or_else(|| wrong(&named.to_string()))?;
        if !seen.insert(below.clone()) {
            return Err(wrong(&format!("{named} twice")));
        }
        paths.push(below);
    }
    if paths.is_empty() { Err(wrong("none")) } else { Ok(Some(paths)) }
}
