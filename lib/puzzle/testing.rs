//! A folder for a test's input files, gone with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Folder(PathBuf);

impl Folder {
    pub fn with(files: &[(&str, &str)]) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gristmill-puzzle-{}-{number}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        for (file, text) in files {
            let path = folder.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// A message without the folder's own path.
    pub fn strip(&self, message: impl ToString) -> String {
        message.to_string().replace(&self.0.display().to_string(), "ROOT")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
