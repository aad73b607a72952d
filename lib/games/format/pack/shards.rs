//! The files of rows: one, or shards with a fixed number of rows.

use std::path::{Path, PathBuf};

use super::manifest::PackFile;
use super::{PackLayout, STEPS};
use crate::error::{Error, Result};
use crate::format::hashed_file::HashedFile;
use crate::npy;
use crate::publish::PendingFile;

/// Writes rows into one file after another.
pub(super) struct RowShards {
    directory: PathBuf,
    layout: PackLayout,
    shard_rows: Option<u64>,
    row_bytes: usize,
    /// The expected number of all rows.
    expected: Option<u64>,
    current: Option<npy::Writer<HashedFile>>,
    /// Shards that are full.
    full: Vec<(PendingFile, PackFile)>,
    rows: u64,
}

impl RowShards {
    /// Begins the first file. Each file except the last gets `shard_rows` rows; `None`: one file
    /// gets all.
    pub(super) fn create(
        directory: &Path,
        layout: PackLayout,
        shard_rows: Option<u64>,
        expected: Option<u64>,
    ) -> Result<RowShards> {
        let mut shards = RowShards {
            directory: directory.to_path_buf(),
            layout,
            shard_rows,
            row_bytes: layout.dtype().num_bytes().unwrap_or(1).max(1),
            expected,
            current: None,
            full: Vec::new(),
            rows: 0,
        };
        shards.begin()?;
        Ok(shards)
    }

    /// Returns the rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the bytes of the rows so far.
    pub(super) fn bytes(&self) -> u64 {
        self.rows * self.row_bytes as u64
    }

    pub(super) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Writes rows given as their bytes.
    pub(super) fn write(&mut self, rows: &[u8]) -> Result<()> {
        let mut left = rows;
        while !left.is_empty() {
            let written = self.current.as_ref().map_or(0, npy::Writer::rows);
            let room = self.shard_rows.map_or(u64::MAX, |most| most.saturating_sub(written));
            if room == 0 {
                self.end()?;
                self.begin()?;
                continue;
            }
            let most = usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(self.row_bytes);
            let (now, later) = left.split_at(most.min(left.len()));
            if let Some(shard) = &mut self.current {
                shard.write_rows(now).map_err(|error| Error::from(error).at(&*self.directory))?;
            }
            self.rows += (now.len() / self.row_bytes) as u64;
            left = later;
        }
        Ok(())
    }

    /// Returns the files, complete but not published.
    pub(super) fn finish(mut self) -> Result<Vec<(PendingFile, PackFile)>> {
        self.end()?;
        Ok(self.full)
    }

    fn begin(&mut self) -> Result<()> {
        let number = self.full.len() as u64;
        let name = match self.shard_rows {
            None => STEPS.to_string(),
            Some(_) => self.layout.shard_name(number).ok_or_else(|| {
                Error::usage(format!("more than {number} shards")).hint("a larger --shard-rows")
            })?,
        };
        let left = self.expected.map(|expected| expected.saturating_sub(self.rows));
        let rows = left.into_iter().chain(self.shard_rows).min();
        let path = self.directory.join(name);
        // Without its number of rows the beginning of a file is not known yet.
        let out = match rows {
            Some(_) => HashedFile::create(&path)?,
            None => HashedFile::create_unhashed(&path)?,
        };
        let shard = npy::Writer::expecting(rows.unwrap_or(0), out, self.layout.dtype(), &[]);
        self.current = Some(shard.map_err(|error| Error::from(error).at(&*self.directory))?);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(shard) = self.current.take() else { return Ok(()) };
        let rows = shard.rows();
        let ended = shard.end().map_err(|error| Error::from(error).at(&*self.directory))?;
        let mut finished = match ended.header {
            None => ended.out.finish()?,
            Some(header) => ended.out.finish_beginning_with(&header)?,
        };
        finished.file.close()?;
        let described = PackFile::of_rows(&finished, rows);
        self.full.push((finished.file, described));
        Ok(())
    }
}
