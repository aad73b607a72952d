//! Compares the files of a dataset on the disk with its manifests: by name and size before anything is
//! read, by hash while the dataset is read.

use std::cmp::Reverse;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::digest::{sha256_of, sha256_of_two};
use crate::error::{Error, Result};
use crate::file_entry::{Difference, FileEntry};
use crate::files;
use crate::wording::exactly;

/// The hint for a file that has changed.
const WAY_ON: &str = "ds-check, for all that is wrong";

/// Refuses files that do not exist or have another size.
pub fn refuse_other_sizes(stated: &[FileEntry]) -> Result<()> {
    for file in stated {
        let cause = match file.size_difference()? {
            None => continue,
            Some(Difference::Bytes(found)) => {
                format!("expected {} of its manifest, got {found}", exactly(file.bytes, "byte"))
            }
            Some(_) => "is missing; its manifest names it".to_string(),
        };
        return Err(Error::data(cause).at(file.path.as_path()).hint(WAY_ON));
    }
    Ok(())
}

/// Refuses files that do not exist or have another hash.
pub fn refuse_others(stated: &[FileEntry]) -> Result<()> {
    refuse_other_sizes(stated)?;
    compare(stated, &AtomicBool::new(false))
}

/// Compares the hashes of files on a thread of its own, while the files are read.
#[derive(Debug, Default)]
pub struct Comparison {
    waiting: Vec<FileEntry>,
    running: Option<JoinHandle<Result<()>>>,
    /// Files that the end compares, because no thread could be started.
    late: Vec<FileEntry>,
    is_over: Arc<AtomicBool>,
}

impl Comparison {
    /// Prepares the comparison of files that have a hash; nothing is read before it begins.
    pub fn of(mut stated: Vec<FileEntry>) -> Comparison {
        stated.retain(|file| file.sha256.is_some());
        let mut comparison = Comparison::default();
        comparison.waiting = stated;
        comparison
    }

    /// Begins the comparison, if it has not begun. A reader that does not read all data does not
    /// begin it.
    pub fn begin(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let stated = std::mem::take(&mut self.waiting);
        let (files, is_over) = (stated.clone(), self.is_over.clone());
        match thread::Builder::new().spawn(move || compare(&files, &is_over)) {
            Ok(thread) => self.running = Some(thread),
            Err(_) => self.late = stated,
        }
    }

    /// Waits for the end, if it has begun. The error names the first file that differs.
    pub fn finish(&mut self) -> Result<()> {
        let ended = || Error::unavailable("the thread that compares hashes has ended");
        if let Some(thread) = self.running.take() {
            thread.join().map_err(|_| ended())??;
        }
        compare(&std::mem::take(&mut self.late), &self.is_over)
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn compare(stated: &[FileEntry], is_over: &AtomicBool) -> Result<()> {
    let failed = |of: &FileEntry, e: io::Error| Error::io(of.path.as_path(), &e);
    let open = |of: &FileEntry| -> Result<_> {
        let file = files::open_member(&of.path).map_err(|e| failed(of, e))?;
        Ok(CancellableReader { file, is_over })
    };
    // Two files at a time, sorted by size so that neither ends long before the other.
    let mut stated: Vec<&FileEntry> = stated.iter().collect();
    stated.sort_by_key(|file| Reverse(file.bytes));
    for some in stated.chunks(2) {
        let found: Vec<io::Result<String>> = match *some {
            [first, second] => sha256_of_two([open(first)?, open(second)?]).into(),
            [only] => vec![sha256_of(open(only)?).map(|(_, hash)| hash)],
            _ => Vec::new(),
        };
        if is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        for (of, found) in some.iter().zip(found) {
            let found = found.map_err(|e| failed(of, e))?;
            if let Some(stated) = of.sha256.as_ref().filter(|stated| **stated != found) {
                let cause = format!("expected sha256 {stated} of its manifest, got {found}");
                return Err(Error::data(cause).at(of.path.as_path()).hint(WAY_ON));
            }
        }
    }
    Ok(())
}

/// A reader that stops when nobody waits for it any more.
struct CancellableReader<'a, R> {
    file: R,
    is_over: &'a AtomicBool,
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_over.load(Ordering::Relaxed) { Ok(0) } else { self.file.read(buffer) }
    }
}
