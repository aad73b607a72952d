//! Folders that `datasets` of Hugging Face saves (`save_to_disk`): Arrow streams, and a `state.json` that names them in
//! order. Source: `Dataset.save_to_disk` of datasets 4.4.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Format, Opener, json_file};
use crate::error::{Error, Result, shown};
use crate::files;

pub const FORMAT: Format = Format {
    name: "folders of datasets",
    owner: "a folder that datasets has saved",
    signs: "state.json of datasets",
    folders: &[""],
    endings: &["arrow", "json"],
    // (Other writers make such folders, too.)
    is_sign: |_, _| false,
    schema: None,
    knows,
    open: Opener::Files(files_in),
    stated: |_| Ok(Vec::new()),
    members: |_| Vec::new(),
    beside: |_| Ok(Vec::new()),
    refuse_missing: |_| Ok(()),
};

const STATE: &str = "state.json";

/// What a `state.json` says of its files; other members are about views of the rows.
#[derive(Deserialize)]
struct State {
    #[serde(rename = "_data_files")]
    data_files: Vec<DataFile>,
    /// Files with the rows that are chosen, and their order: older versions saved them so.
    #[serde(rename = "_indices_data_files")]
    indices: Option<Vec<DataFile>>,
}

#[derive(Deserialize)]
struct DataFile {
    filename: String,
}

/// Whether a path is such a folder, also a damaged one.
pub fn knows(path: &Path) -> Result<bool> {
    let is_there = |name: &str| files::is_member(&path.join(name));
    Ok(files::is_directory(path)? && is_there(STATE)? && is_there("dataset_info.json")?)
}

/// Returns the files of a folder in the order of their rows.
pub fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let state = folder.join(STATE);
    let bad = |cause: String| Error::data(cause).at(state.as_path());
    let State { data_files, indices } = json_file::read(&state)?;
    if indices.is_some_and(|indices| !indices.is_empty()) {
        let cause = "has its rows in another order than its files (_indices_data_files)";
        let hint = "save it once more, with datasets 2 or newer";
        return Err(bad(cause.to_string()).hint(hint));
    }
    let mut found = Vec::new();
    for DataFile { filename } in data_files {
        let file: Option<PathBuf> = files::below(folder, Path::new(&filename));
        match file {
            Some(file) if files::is_member(&file)? => found.push(file),
            _ => {
                let hint = format!("{}/*.arrow, to read what is there", shown(folder));
                return Err(bad(format!("{filename} is missing, which it names")).hint(hint));
            }
        }
    }
    Ok(found)
}
