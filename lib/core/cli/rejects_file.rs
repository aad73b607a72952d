//! Which file may become a file of rejects: a new file, or the rejects of an earlier run. Never an input or
//! output of the run, nor any other file that somebody may need.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result, shown};
use crate::files::{self, FileId};
use crate::inputs;

/// The names of JSON files and databases of datasets, and the endings of their other files.
const NAMES: [&str; 7] = [
    "manifest.json",
    "metadata.json",
    "build.json",
    "dataset.json",
    "identifiers.json",
    "valuation_types.json",
    "metadata.db",
];
const ENDINGS: [&str; 5] = ["idx", "bin", "npy", "parquet", "arrows"];

/// The beginning of the first line of a file of rejects, and a text that it contains.
const SIGNS: (&[u8], &[u8]) = (b"{\"source\":\"", b"\"reason\":\"");
/// How many bytes are searched for these signs: only the names of source and record come before
/// them.
const HEAD: u64 = 1 << 16;

/// Refuses a file that may not be replaced.
pub(super) fn check(path: &Path) -> Result<()> {
    if ["/dev/stderr", "/dev/stdout"].iter().any(|stream| path.as_os_str() == *stream) {
        return Err(Error::usage("--rejects needs its own file"));
    }
    if is_of_datasets(path) {
        let cause = "is the name of a dataset's file, not a name for rejects";
        return Err(Error::usage(cause).at(shown(path)).hint("--rejects with another name"));
    }
    let Some(found) = files::metadata(path)?.filter(Metadata::is_file) else { return Ok(()) };
    inputs::refuse_target(path)?;
    if FileId::of_stream(std::io::stdout()) == Some(FileId::of(&found)) {
        return Err(Error::usage("is the output of this run").at(shown(path)));
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.map_err(|e| Error::io(shown(path), &e))?;
    let (begin, inside) = SIGNS;
    let is_rejects = head.starts_with(begin) && memchr::memmem::find(&head, inside).is_some();
    if head.is_empty() || is_rejects {
        Ok(())
    } else {
        Err(Error::usage("is no file of rejects, so it is not replaced")
            .at(shown(path))
            .hint("--rejects with another name"))
    }
}

/// Whether files of datasets have such a name. Some of them are made only at the end of a run, when
/// the rejects are published.
fn is_of_datasets(path: &Path) -> bool {
    is_of_manifests(path) || ENDINGS.contains(&text(path.extension()).as_str())
}

/// Whether files that describe datasets have such a name.
pub fn is_of_manifests(path: &Path) -> bool {
    let (name, directory) = (text(path.file_name()), text(path.parent().and_then(Path::file_name)));
    NAMES.contains(&name.as_str())
        || name.ends_with(".part.json")
        || directory == "parts" && name.ends_with(".json")
}

fn text(name: Option<&OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}
