//! Which file may become a file of rejects, or of progress: a new file, or the one of an earlier run. Never an input
//! or output of the run, nor any other file that somebody may need.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use crate::error::{At, Error, Result, shown};
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

/// A file that an option names, which holds nothing else.
pub(super) struct OwnFile {
    option: &'static str,
    /// What it holds.
    what: &'static str,
    /// What else would happen to it.
    harm: &'static str,
    /// The beginning of its first line, and a text that it contains.
    signs: (&'static [u8], &'static [u8]),
}

pub(super) const REJECTS: OwnFile = OwnFile {
    option: "--rejects",
    what: "rejects",
    harm: "so it is not replaced",
    signs: (b"{\"source\":\"", b"\"reason\":\""),
};
pub(super) const PROGRESS: OwnFile = OwnFile {
    option: "--progress-to",
    what: "progress",
    harm: "so nothing is appended to it",
    signs: (b"{\"tool\":\"", b"\"unit\":\""),
};
/// How many bytes are searched for these signs: only the names of source and record come before
/// them.
const HEAD: u64 = 1 << 16;

impl OwnFile {
    /// Refuses a file that may not become this one.
    pub fn check(&self, path: &Path) -> Result<()> {
        let OwnFile { option, what, harm, signs: (begin, inside) } = self;
        if ["/dev/stderr", "/dev/stdout"].iter().any(|stream| path.as_os_str() == *stream) {
            return Err(Error::usage(format!("{option} needs its own file")));
        }
        let other = || format!("{option} with another name");
        if is_of_datasets(path) {
            let cause = format!("is the name of a dataset's file, not a name for {what}");
            return Err(Error::usage(cause).at(shown(path)).hint(other()));
        }
        let Some(found) = files::metadata(path)?.filter(Metadata::is_file) else { return Ok(()) };
        inputs::refuse_target(path)?;
        if FileId::of_stream(std::io::stdout()) == Some(FileId::of(&found)) {
            return Err(Error::usage("is the output of this run").at(shown(path)));
        }
        let mut head = Vec::new();
        let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
        read.at(path)?;
        let is_own = head.starts_with(begin) && memchr::memmem::find(&head, inside).is_some();
        if head.is_empty() || is_own {
            Ok(())
        } else {
            let cause = format!("is no file of {what}, {harm}");
            Err(Error::usage(cause).at(shown(path)).hint(other()))
        }
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
