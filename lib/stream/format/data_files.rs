//! Finds the files of rows in a folder by their endings, in any case, and files beside them that would be left out.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, shown};

/// A kind of files of rows, known by the endings of their names.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub endings: &'static [&'static str],
    /// Suffixes of compression that may follow the ending.
    packed: &'static [&'static str],
}

const PACKED: &[&str] = &["", ".gz", ".zst"];

pub const PARQUET: Kind = Kind { endings: &[".parquet"], packed: &[""] };
pub const LINES: Kind = Kind { endings: &[".jsonl", ".ndjson"], packed: PACKED };
pub const ARROW: Kind = Kind { endings: &[".arrows", ".arrow"], packed: PACKED };
/// Files that hold rows, but are not read out of folders.
const OTHERS: Kind = Kind { endings: &[".pq", ".csv", ".parquet"], packed: PACKED };
/// JSON files. They hold rows if the other files are lines; beside tables they describe the tables.
const JSON: Kind = Kind { endings: &[".json"], packed: PACKED };

/// JSON files that describe the rows beside them.
const DESCRIBING: [&str; 5] =
    ["manifest.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"];
/// The prefix of files in which filters leave what they reject, beside their output.
const REJECTS: &str = "rejects";

impl Kind {
    /// Whether a file is of this kind.
    pub fn has(&self, path: &Path) -> bool {
        let name = name_of(path);
        let is_ending = |ending: &&str, packed: &&str| {
            name.strip_suffix(packed).is_some_and(|name| name.ends_with(ending))
        };
        self.endings.iter().any(|ending| self.packed.iter().any(|packed| is_ending(ending, packed)))
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Refuses a folder that holds files of another kind beside `found`: nobody would notice that they
/// were not read.
pub fn refuse_left_out(folder: &Path, found: &[PathBuf], kind: &Kind) -> Result<()> {
    let is_of_rows = |path: &Path| {
        let name = name_of(path);
        let is_beside = DESCRIBING.contains(&name.as_str()) || name.starts_with(REJECTS);
        let is_json = *kind == LINES && JSON.has(path);
        !is_beside && (is_json || [PARQUET, LINES, ARROW, OTHERS].iter().any(|kind| kind.has(path)))
    };
    let others: Vec<&PathBuf> =
        found.iter().filter(|path| !kind.has(path) && is_of_rows(path)).collect();
    let Some(first) = others.first() else { return Ok(()) };
    let more = match others.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let endings = kind.endings.join(", *");
    let cause = format!("has rows of two kinds: *{endings}, and {}{more}", shown(first));
    Err(Error::usage(cause).at(folder).hint("name the FILEs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_another_kind_are_named() {
        let refused = |kind: &Kind, name: &str| {
            refuse_left_out(Path::new("d"), &[PathBuf::from(name)], kind).is_err()
        };
        for name in
            ["b.json", "B.JSON.GZ", "b.csv", "b.pq", "b.PARQUET", "b.parquet.gz", "b.arrow.zst"]
        {
            assert!(refused(&LINES, name), "{name}");
        }
        for name in ["b.ndjson", "B.JSONL", "b.jsonl.gz", "b.csv", "b.pq", "b.arrows"] {
            assert!(refused(&PARQUET, name), "{name}");
        }
        for name in [
            "README.md",
            "LICENSE",
            "x.txt",
            "manifest.json",
            "dataset_info.json",
            "state.json",
            "x.lock",
            "rejects.ndjson",
            "rejects-chat-harmony.ndjson",
        ] {
            assert!(!refused(&PARQUET, name) && !refused(&LINES, name), "{name}");
        }
        assert!(!refused(&LINES, "C.JSONL") && !refused(&LINES, "c.Ndjson.GZ"));
        assert!(!refused(&PARQUET, "C.PARQUET") && !refused(&PARQUET, "part-0.json"));
        assert!(PARQUET.has(Path::new("a.Parquet")) && !PARQUET.has(Path::new("a.parquet.gz")));
    }
}
