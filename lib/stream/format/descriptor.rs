//! What a format of datasets is, in one place: readers, writers, checks and plans ask the same table
//! ([`FORMATS`](super::FORMATS)). Each entry stands in the folder of its format.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::whole::understood;
use super::{FORMATS, json_file};
use crate::batch::RecordSource;
use crate::cli::Slice;
use crate::error::{Error, Result};
use crate::file_entry::FileEntry;
use crate::files;

/// The manifest of a dataset, in most formats.
pub const MANIFEST: &str = "manifest.json";

/// A format of datasets on disk.
pub struct Format {
    /// The name, in the plural, for messages.
    pub name: &'static str,
    /// What a directory of this format belongs to, for messages.
    pub owner: &'static str,
    /// The files by which a directory of this format is known; the error names them if no format is
    /// recognised.
    pub signs: &'static str,
    /// The folders of its files, relative to its directory; `""` is the directory itself.
    pub folders: &'static [&'static str],
    /// The endings of its files, without the dot.
    pub endings: &'static [&'static str],
    /// Whether readers (ours and others) recognise the format of the directory by a file of this name
    /// in one of the folders: then no other format is written there.
    pub is_sign: fn(folder: &str, name: &str) -> bool,
    /// The `schema_version` of this format in a `manifest.json`; a directory is known by it too.
    pub schema: Option<&'static str>,
    /// Whether a path is a dataset of this format, also a damaged one.
    pub knows: fn(&Path) -> Result<bool>,
    /// How the format is read as records.
    pub open: Opener,
    /// Returns the files of a dataset as its manifests state them; none where nothing is stated.
    pub stated: fn(&Path) -> Result<Vec<FileEntry>>,
    /// Returns the files that a dataset may have which is no directory, but the beginning of their names.
    pub members: fn(&Path) -> Vec<PathBuf>,
    /// Returns files that are read with the dataset at a path, or with a directory of its parts, and are in none of its
    /// folders. Fails if one of them is half published.
    pub beside: fn(&Path) -> Result<Vec<PathBuf>>,
    /// Refuses a dataset that lacks a file which its own manifests name. Readers use the files that
    /// they find, so a dataset without one of its shards would look like a good, smaller dataset.
    /// Manifests of other programs, and manifests that cannot be read, are not asked; ds-check reports
    /// what is wrong with them.
    pub refuse_missing: fn(&Path) -> Result<()>,
}

/// Opens datasets of a format together, or a slice of them.
pub type OpenRecords = fn(&[PathBuf], Option<Slice>) -> Result<Box<dyn RecordSource>>;

/// Returns the files with the records of a directory.
pub type FindFiles = fn(&Path) -> Result<Vec<PathBuf>>;

/// How a format is opened.
pub enum Opener {
    /// The format's own reader reads all datasets together, or a slice of them.
    Records(OpenRecords),
    /// Returns the files of a directory, which are read one by one.
    Files(FindFiles),
}

impl Format {
    /// Refuses a place that holds a dataset of another format in one of its folders.
    pub fn refuse_others(&self, place: &Path) -> Result<()> {
        let mut folders = self.folders.iter().map(|folder| place.join(folder));
        folders.try_for_each(|folder| refuse_other_formats(&folder, self.name))
    }

    /// Returns a file that shows that a directory is of this format.
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

/// Refuses a directory that holds a dataset of another format than the one named `own`, before something is
/// written there.
pub fn refuse_other_formats(directory: &Path, own: &str) -> Result<()> {
    let manifest = directory.join(MANIFEST);
    let schema = schema_of(&manifest)?;
    for format in FORMATS.iter().filter(|format| format.name != own) {
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

/// Returns the `schema_version` that a manifest states.
fn schema_of(manifest: &Path) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct SchemaVersion {
        schema_version: Option<String>,
    }
    let stated: Option<SchemaVersion> =
        understood(json_file::if_there(manifest, json_file::read_all))?.flatten();
    Ok(stated.and_then(|stated| stated.schema_version))
}
