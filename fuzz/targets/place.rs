//! Where the bytes of an input are files: a directory in memory, which all inputs of a thread use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// After each file of an input that is several.
const SEPARATOR: &[u8] = b"\n=====\n";
/// A directory in memory, where there is one.
const MEMORY: &str = "/dev/shm";

pub struct Place {
    directory: TempDir,
    /// The files that are there, with what is in them: most inputs change one of several.
    there: BTreeMap<PathBuf, Vec<u8>>,
}

impl Place {
    pub fn new() -> Place {
        let directory = match Path::new(MEMORY).is_dir() && std::env::var_os("TMPDIR").is_none() {
            true => TempDir::new_in(MEMORY),
            false => TempDir::new(),
        };
        Place { directory: directory.expect("a directory"), there: BTreeMap::new() }
    }

    /// The bytes as a file of this name.
    pub fn file(&mut self, name: &str, bytes: &[u8]) -> PathBuf {
        // What was read of an input before is nothing to this one.
        gristmill::inputs::settle();
        let path = self.directory.path().join(name);
        let there = self.there.entry(path.clone()).or_insert_with(|| {
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            Vec::new()
        });
        // One that is new is written even if it is empty.
        if there != bytes || bytes.is_empty() {
            fs::write(&path, bytes).expect("a file");
            there.clear();
            there.extend_from_slice(bytes);
        }
        path
    }

    /// The bytes as several files in `directory`, which has nothing else; an empty one is not there.
    pub fn files(&mut self, directory: &str, names: &[&str], bytes: &[u8]) -> PathBuf {
        for (name, piece) in names.iter().zip(pieces(bytes).chain(std::iter::repeat(&[][..]))) {
            let name = format!("{directory}/{name}");
            match piece {
                [] => self.remove(&name),
                piece => drop(self.file(&name, piece)),
            }
        }
        self.directory(directory)
    }

    fn remove(&mut self, name: &str) {
        let path = self.directory.path().join(name);
        if self.there.remove(&path).is_some() {
            fs::remove_file(&path).expect("a file");
        }
    }

    /// The directory of this name.
    pub fn directory(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// What is between the separators.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memmem::find(text, SEPARATOR);
        rest = end.map(|end| &text[end + SEPARATOR.len()..]);
        Some(end.map_or(text, |end| &text[..end]))
    })
}
