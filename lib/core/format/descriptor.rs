//! What a format of datasets is, in one place: readers, writers, checks and plans ask the same table
//! ([`FORMATS`](super::FORMATS)). Each entry stands in the folder of its format.

use std::path::{Path, PathBuf};

use super::FORMATS;
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
pub(crate) fn refuse_other_formats(directory: &Path, own: &Format) -> Result<()> {
    for format in FORMATS.into_iter().filter(|format| format.name != own.name) {
        if let Some(sign) = format.sign_in(directory)? {
            let cause = format!("belongs to {}: nothing else is written there", format.owner);
            return Err(Error::usage(cause).at(sign.as_path()).hint("another directory"));
        }
    }
    Ok(())
}
