//! What a format of datasets is, in one place: readers, writers, checks and plans ask the same table
//! ([`FORMATS`](super::FORMATS)). Each entry stands in the folder of its format.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::kd_root::MANIFEST;
use super::whole::understood;
use super::{FORMATS, json_file};
use crate::batch::RecordSource;
use crate::cli::Slice;
use crate::error::{Error, Result};
use crate::file_entry::FileEntry;
use crate::files;

/// A format of datasets on disk.
pub struct Format {
    /// In the plural, for messages.
    pub name: &'static str,
    /// What a directory of it belongs to, for messages.
    pub owner: &'static str,
    /// What a directory of this format has: named in the error if nothing is recognised.
    pub signs: &'static str,
    /// The folders below its directory in which its files are; `""` is the directory itself.
    pub folders: &'static [&'static str],
    /// How the names of its files end, without the dot.
    pub endings: &'static [&'static str],
    /// Whether a file of this name in one of the folders tells readers, ours and others, that the directory is
    /// of this format: nothing else is written there.
    pub is_sign: fn(folder: &str, name: &str) -> bool,
    /// What `schema_version` is in the `manifest.json` of a directory of it, by which that is known too.
    pub schema: Option<&'static str>,
    /// Whether a path is, or was meant to be, a dataset of this format: a damaged one counts.
    pub knows: fn(&Path) -> Result<bool>,
    /// How it is read as records.
    pub open: Open,
    /// The files of a dataset as its manifests state them; none where nothing is stated.
    pub stated: fn(&Path) -> Result<Vec<FileEntry>>,
    /// Refuses a dataset without a file that its own manifests name. Readers go by the files that they find:
    /// without one of its shards, a dataset would be a smaller good one. Manifests of other programs, and
    /// what cannot be understood, name nothing here: what is wrong with them is for ds-check to say.
    pub refuse_missing: fn(&Path) -> Result<()>,
}

type OpenRecords = fn(&[PathBuf], Option<Slice>) -> Result<Box<dyn RecordSource>>;

/// How a format is opened.
pub enum Open {
    /// All datasets together, or a slice of them, by the format's own reader.
    Records(OpenRecords),
    /// The files of a directory, which are read one by one.
    Files(fn(&Path) -> Result<Vec<PathBuf>>),
}

impl Format {
    /// Refuses a place that holds a dataset of another format in one of its folders.
    pub(crate) fn refuse_others(&self, place: &Path) -> Result<()> {
        let mut folders = self.folders.iter().map(|folder| place.join(folder));
        folders.try_for_each(|folder| refuse_other_formats(&folder, self))
    }

    /// A file by which a directory is of this format.
    fn sign_in(&self, directory: &Path) -> Result<Option<PathBuf>> {
        for folder in self.folders {
            let is_sign = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                !name.starts_with('.') && (self.is_sign)(folder, &name)
            };
            let paths = files::paths_if_there(&directory.join(folder))?;
            if let Some(sign) = paths.into_iter().find(is_sign) {
                return Ok(Some(sign));
            }
        }
        Ok(None)
    }
}

/// Refuses a directory that holds a dataset of another format than `own`, before something is written there.
pub(super) fn refuse_other_formats(directory: &Path, own: &Format) -> Result<()> {
    let manifest = directory.join(MANIFEST);
    let schema = schema_of(&manifest)?;
    for format in FORMATS.into_iter().filter(|format| format.name != own.name) {
        let by_schema = schema.as_deref().filter(|schema| Some(*schema) == format.schema);
        let sign = match by_schema {
            Some(_) => Some(manifest.clone()),
            None => format.sign_in(directory)?,
        };
        if let Some(sign) = sign {
            let cause = format!("belongs to {}: nothing else is written there", format.owner);
            return Err(Error::usage(cause).at(sign.as_path()).hint("another directory"));
        }
    }
    Ok(())
}

/// What kind of manifest a file is, if that is stated.
fn schema_of(manifest: &Path) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct SchemaVersion {
        schema_version: Option<String>,
    }
    let stated: Option<SchemaVersion> =
        understood(json_file::if_there(manifest, json_file::read_all))?.flatten();
    Ok(stated.and_then(|stated| stated.schema_version))
}
