//! The files of raw rows below folders, in the order in which Hugging Face `datasets` reads them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{FileForms, Slice};
use crate::error::{Error, Kind as ErrorKind, Result, shown};
use crate::files;
use crate::format::data_files::{ARROW, Kind, LINES, PARQUET, refuse_left_out};
use crate::format::{json_file, parquet};
use crate::stream::Extent;
use crate::walk::{self, WalkError};

use crate::known_files::{KnownFile, KnownFiles};
use crate::splits::refuse_several;

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
pub fn describe_raw(paths: &[PathBuf], known: &mut KnownFiles) -> Result<Vec<Value>> {
    paths.iter().filter(|path| path.as_os_str() != "-").map(|path| describe(path, known)).collect()
}

fn describe(path: &Path, known: &mut KnownFiles) -> Result<Value> {
    let KnownFile { bytes, lines, sha256, .. } = known.of(path)?;
    if let Some(mut described) = parquet::describe(path)? {
        described["sha256"] = sha256.into();
        return Ok(described);
    }
    let is_plain = path.extension().is_some_and(|ending| {
        ["jsonl", "ndjson"].iter().any(|known| ending.eq_ignore_ascii_case(known))
    });
    let rows = is_plain.then_some(lines);
    let name = path.file_name().map(|name| shown(Path::new(name)));
    Ok(json!({"name": name, "bytes": bytes, "rows": rows, "sha256": sha256}))
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
/// ones may have one more. If there are fewer files of lines than parts, returns all files, with the part of them that
/// is meant: they are cut as by `--slice`. (Parquet files and Arrow streams stay whole, and the last parts have none.)
pub fn shard_of(files: &[PathBuf], shard: Slice) -> Result<(&[PathBuf], Option<Slice>)> {
    let all = files.len() as u64;
    let range = match shard {
        Slice::Part { count, .. }
            if (1..count).contains(&all)
                && files::find(files, |path| Ok(!is_of_lines(path)?))?.is_none() =>
        {
            return Ok((files, Some(shard)));
        }
        Slice::Part { index, count } => {
            let (each, more) = (all / count.max(1), all % count.max(1));
            let start = |index: u64| index * each + index.min(more);
            start(index)..start(index + 1)
        }
        range => range.of(all),
    };
    Ok((files.get(range.start as usize..range.end as usize).unwrap_or_default(), None))
}

/// Whether a file is cut at lines, or refuses to be cut.
fn is_of_lines(path: &Path) -> Result<bool> {
    match Extent::of(path, true, FileForms::default()) {
        Ok(extent) => Ok(matches!(extent, Extent::Lines(_))),
        Err(error) if error.kind() == ErrorKind::Unavailable => Err(error),
        Err(error) => Ok(error.kind() == ErrorKind::Usage),
    }
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
