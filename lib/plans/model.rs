//! The model that the options of a plan name: its files are part of the plan's identity.

use std::path::{Path, PathBuf};

use super::Plan;
use crate::error::{Error, Result};
use crate::file_entry::FileEntry;
use gristmill_chats::model::{GPT_OSS, model_files};

/// The options of a script that name a model's folder, and a template in place of the folder's.
const MODEL: &str = "--model";
const TEMPLATE: &str = "--template";

impl Plan {
    /// Returns the files of the model as they are now, with their paths from the plan's directory; none if the options
    /// name no model, or the one that is built in.
    pub(super) fn model_now(&self) -> Result<Vec<FileEntry>> {
        let model = self.option(MODEL).filter(|model| *model != GPT_OSS);
        let Some(model) = model else { return Ok(Vec::new()) };
        let mut paths = model_files(&self.directory.join(model))?;
        paths.extend(self.option(TEMPLATE).map(|template| self.directory.join(template)));
        let entry = |path: PathBuf| {
            let entry = FileEntry::of(&path)?;
            let path = path.strip_prefix(&self.directory).map_or(path.clone(), Path::to_path_buf);
            Ok(FileEntry { path, ..entry })
        };
        paths.into_iter().map(entry).collect()
    }

    /// Returns the first file of the model that has changed since the plan was made.
    pub(super) fn changed_model_file(&self) -> Result<Option<PathBuf>> {
        let now = self.model_now()?;
        let changed = now.iter().find(|file| !self.model.contains(file));
        let removed = || self.model.iter().find(|file| !now.contains(file));
        Ok(changed.or_else(removed).map(|file| file.path.clone()))
    }

    /// Fails if the model has changed since the plan was made.
    pub(super) fn check_model(&self) -> Result<()> {
        let Some(file) = self.changed_model_file()? else { return Ok(()) };
        let cause = "is not what it was when the plan was made";
        Err(Error::data(cause)
            .at(self.directory.join(file).as_path())
            .hint("plan again with --overwrite"))
    }
}
