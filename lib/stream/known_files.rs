//! What one reading of whole files of rows has found. A plan keeps it for its tasks, each of which would else read
//! all files once more: for their hashes, and for the number of its first line.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::sha256_of;
use crate::error::{At, Result};
use crate::files;

/// The newlines before every multiple of this many bytes are kept.
const STEP: u64 = 1 << 24;

/// The files that were read, by their whole paths.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnownFiles(Vec<KnownFile>);

/// What is known of a file as long as its size and its time of change stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownFile {
    path: PathBuf,
    pub bytes: u64,
    /// In seconds and nanoseconds.
    modified: (i64, i64),
    pub sha256: String,
    /// The lines that are not blank.
    pub lines: u64,
    /// How many newlines are in the first `STEP` bytes, in twice as many, and so on.
    newlines: Vec<u64>,
}

impl KnownFiles {
    /// Returns only those that have not changed since.
    pub fn unchanged(self) -> Result<KnownFiles> {
        let KnownFiles(mut all) = self;
        let mut error = None;
        all.retain(|file| file.is_unchanged().unwrap_or_else(|e| error.replace(e).is_some()));
        error.map_or(Ok(KnownFiles(all)), Err)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what is known of a file; reads it if that is not known, or does not hold any more.
    pub fn of(&mut self, path: &Path) -> Result<KnownFile> {
        let whole = std::path::absolute(path).at(path)?;
        let place = self.0.iter().position(|file| file.path == whole);
        if let Some(known) = place.and_then(|place| self.0.get(place))
            && known.is_unchanged()?
        {
            return Ok(known.clone());
        }
        let read = KnownFile::read(whole).at(path)?;
        match place.and_then(|place| self.0.get_mut(place)) {
            Some(known) => *known = read.clone(),
            None => self.0.push(read.clone()),
        }
        Ok(read)
    }

    /// Returns a place in a file before `offset`, and how many newlines are before this place.
    pub fn newlines_before(&self, path: &Path, offset: u64) -> (u64, u64) {
        let whole = std::path::absolute(path).unwrap_or_default();
        let file = self.0.iter().find(|file| file.path == whole);
        let steps = offset.saturating_sub(1) / STEP;
        let known = file.map_or(&[][..], |file| &file.newlines);
        let steps = steps.min(known.len() as u64);
        let newlines = (steps as usize).checked_sub(1).and_then(|last| known.get(last));
        (steps * STEP, newlines.copied().unwrap_or(0))
    }
}

impl KnownFile {
    fn is_unchanged(&self) -> Result<bool> {
        let found = files::metadata(&self.path)?;
        Ok(found.is_some_and(|found| {
            (found.size(), (found.mtime(), found.mtime_nsec())) == (self.bytes, self.modified)
        }))
    }

    fn read(path: PathBuf) -> io::Result<KnownFile> {
        let file = files::open_member(&path)?;
        // A change while it is read shows in the next look.
        let found = file.metadata()?;
        let modified = (found.mtime(), found.mtime_nsec());
        let mut count =
            LineCount { file, offset: 0, newlines: 0, lines: 0, is_open: false, steps: Vec::new() };
        let (bytes, sha256) = sha256_of(&mut count)?;
        let lines = count.lines + u64::from(count.is_open);
        Ok(KnownFile { path, bytes, modified, sha256, lines, newlines: count.steps })
    }
}

/// Counts newlines, and the lines that are not blank, while a file is read.
struct LineCount {
    file: File,
    offset: u64,
    newlines: u64,
    lines: u64,
    /// Whether the current line is not blank.
    is_open: bool,
    steps: Vec<u64>,
}

impl Read for LineCount {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = (STEP - self.offset % STEP).min(buffer.len() as u64);
        let read = self.file.read(&mut buffer[..most as usize])?;
        let mut rest = &buffer[..read];
        while let Some(newline) = memchr::memchr(b'\n', rest) {
            let is_filled = self.is_open || is_filled(&rest[..newline]);
            self.lines += u64::from(is_filled);
            self.is_open = false;
            self.newlines += 1;
            rest = &rest[newline + 1..];
        }
        self.is_open |= is_filled(rest);
        self.offset += read as u64;
        if read > 0 && self.offset.is_multiple_of(STEP) {
            self.steps.push(self.newlines);
        }
        Ok(read)
    }
}

fn is_filled(line: &[u8]) -> bool {
    !line.iter().all(u8::is_ascii_whitespace)
}
