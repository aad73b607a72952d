//! Paths that hold no records: which filter reads them, or which dataset they are a part of.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::is_dataset;
use crate::chat::filter_of;
use crate::cli::is_of_manifests;
use crate::error::{At, Error, Kind, Result, shown};
use crate::files;
use crate::publish::directory_of;
use crate::stream::open_bytes;
use crate::walk;
use crate::way_on::{self, shown_word};

/// Folders of raw data: the endings of their files, and the filter that reads them.
const RAW: [(&[&str], &str); 5] = [
    (&META, "mx-decode DIR"),
    (
        &[".csv", ".csv.gz", ".csv.zst"],
        "puzzle-encode sudoku --train DIR/train.csv --test DIR/test.csv",
    ),
    (&[".arrow"], "DIR/*"),
    (&[".json"], "puzzle-encode arc DIR"),
    (&[".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz", ".ndjson.zst", ".jsonl.zst"], "DIR/*"),
];
/// The sidecars of raw games.
const META: [&str; 2] = [".meta.json", ".meta.json.gz"];
/// The steps of raw games.
const STEPS: &str = ".jsonl.gz";
/// A folder is for a kind of files if one file in this many is of that kind.
const SHARE: usize = 4;
/// How many files of a folder are looked at.
const LOOKED_AT: usize = 1000;
/// How many bytes of a first line are looked at.
const FIRST_LINE: u64 = 1 << 20;

/// Returns the command that reads a folder of raw data, and hands records to the running filter.
pub(super) fn way_to_read(folder: &Path) -> Result<Option<String>> {
    let found = walk::files(folder, |_| true).take(LOOKED_AT).map(|file| file.map_err(Error::from));
    // A file that cannot be opened gets its own error when it is read.
    let found = found.filter(|file| !file.as_ref().is_err_and(|e| e.kind() != Kind::Unavailable));
    let found = found.collect::<Result<Vec<PathBuf>>>()?;
    let mut tasks = HashSet::new();
    for path in found.iter().filter(|path| ending_of(path, &[".json"]).is_some()) {
        if is_arc_task(path)? {
            tasks.insert(path);
        }
    }
    let way = RAW.iter().find_map(|(endings, way)| {
        let is_raw = |path: &&PathBuf| {
            ending_of(path, endings).is_some() && (!way.contains(" arc ") || tasks.contains(path))
        };
        let raw: Vec<&PathBuf> = found.iter().filter(is_raw).collect();
        // A few files among many others do not decide what a folder is for.
        let ending = raw.first().and_then(|path| ending_of(path, endings));
        let ending = ending.filter(|_| raw.len() * SHARE >= found.len())?;
        // Files of records need no other filter.
        let name = shown(folder);
        if endings.contains(&".jsonl") && raw.first().is_some_and(|path| begins_with_chat(path)) {
            return Some(way_on::behind(&format!("chat-harmony {}", shown_word(&name)), &name));
        }
        let way = way.replace("DIR", &shown_word(&name));
        Some(if way.ends_with('*') {
            format!("{way}{ending}")
        } else {
            way_on::behind(&way, &name)
        })
    });
    Ok(way)
}

/// Whether the first line of a file is a chat. (A file that cannot be read gets its own error when it is
/// read.)
fn begins_with_chat(path: &Path) -> bool {
    let mut line = Vec::new();
    let read = open_bytes(path)
        .and_then(|bytes| BufReader::new(bytes).take(FIRST_LINE).read_until(b'\n', &mut line));
    read.is_ok() && str::from_utf8(&line).is_ok_and(|line| filter_of(line).is_some())
}

/// Refuses a file that belongs to a dataset or to a raw game.
pub(super) fn refuse_part(path: &Path) -> Result<()> {
    let folder = directory_of(path);
    if !files::is_file(path)? {
        return Ok(());
    }
    if is_of_manifests(path) {
        let above = folder.ancestors().take(2).filter(|above| !above.as_os_str().is_empty());
        for dataset in above {
            if is_dataset(dataset)? {
                let error = Error::usage("describes a dataset and holds no records").at(path);
                return Err(error.hint(shown(dataset)));
            }
        }
    }
    let before = |endings: &[&str]| {
        let ending = ending_of(path, endings)?;
        path.to_str()?.strip_suffix(ending).map(str::to_string)
    };
    let others = match (before(&META), before(&[STEPS])) {
        (Some(stem), _) => vec![stem + STEPS],
        (_, Some(stem)) => META.iter().map(|ending| format!("{stem}{ending}")).collect(),
        _ => return Ok(()),
    };
    match files::find(&others, |other| files::is_file(Path::new(other)))? {
        Some(_) => Err(Error::usage("is a file of a raw game").at(path).hint(way_on::behind(
            &format!("mx-decode {}", shown_word(&shown(&folder))),
            &shown(path),
        ))),
        None => Ok(()),
    }
}

/// Returns the ending of a path.
fn ending_of<'a>(path: &Path, endings: &[&'a str]) -> Option<&'a str> {
    let path = path.to_str()?;
    endings.iter().find(|ending| path.ends_with(**ending)).copied()
}

fn is_arc_task(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let read = files::open_member(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    match read.at(path) {
        Err(error) if error.kind() == Kind::Unavailable => Err(error),
        read => Ok(read.is_ok() && memchr::memmem::find(&head, b"\"input\"").is_some()),
    }
}
