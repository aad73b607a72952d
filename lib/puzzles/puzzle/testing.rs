//! A folder for a test's input files, removed after the test.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub struct Folder(TempDir);

impl Folder {
    pub fn with(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(TempDir::new().unwrap());
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, file: &str) -> PathBuf {
        self.path().join(file)
    }

    /// Returns a message without the folder's own path.
    pub fn strip(&self, message: impl ToString) -> String {
        message.to_string().replace(&self.path().display().to_string(), "ROOT")
    }
}
