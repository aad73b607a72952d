//! Reads datasets. The counts of an `.idx` are trusted only after they were compared with its
//! length, and only buffers are in memory.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{HEADER_BYTES, MAGIC, MmidxDtype, VERSION};
use crate::error::{At, Error, Result};
use crate::files::open_member;
use crate::wording::exactly;

/// Why a file is not an `.idx`, or not a complete one.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("{0}")]
    Io(io::Error),
    #[error("ends within its header")]
    Cut,
    #[error("is not a Megatron index (MMIDIDX)")]
    Magic,
    #[error("has version {0}; 1 is known")]
    Version(u64),
    #[error("has the unknown dtype code {0}")]
    Dtype(u8),
    /// The length of the file does not fit its counts.
    #[error("has {}; its counts need {expected}", exactly(*.found, "byte"))]
    Length { found: u64, expected: u64 },
    /// The counts are larger than any file.
    #[error("has impossible counts")]
    Counts,
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> IndexError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => IndexError::Cut,
            _ => IndexError::Io(error),
        }
    }
}

/// The caller adds the place: the path of the `.idx`.
impl From<IndexError> for Error {
    fn from(error: IndexError) -> Error {
        match error {
            IndexError::Io(error) => Error::reading(&error),
            other => Error::data(other),
        }
    }
}

/// An open `.idx` whose length fits its counts.
#[derive(Debug)]
pub struct MmidxIndex {
    file: File,
    pub dtype: MmidxDtype,
    /// Number of sequences.
    pub sequences: u64,
    /// Number of document indices: documents + 1.
    pub document_indices: u64,
    /// Whether one i8 mode for each sequence follows the document indices (multimodal).
    pub has_modes: bool,
}

impl MmidxIndex {
    pub fn open(path: &Path) -> std::result::Result<MmidxIndex, IndexError> {
        let file = open_member(path)?;
        let found = file.metadata()?.len();
        let mut header = [0u8; HEADER_BYTES as usize];
        file.read_exact_at(&mut header, 0)?;
        let (magic, rest) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(IndexError::Magic);
        }
        let u64_at = |at: usize| {
            let mut bytes = [0u8; 8];
            bytes.copy_from_slice(&rest[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let version = u64_at(0);
        if version != VERSION {
            return Err(IndexError::Version(version));
        }
        let dtype = MmidxDtype::from_code(rest[8]).ok_or(IndexError::Dtype(rest[8]))?;
        let (sequences, document_indices) = (u64_at(9), u64_at(17));
        // In u128 the sum of counts of 64 bits cannot overflow.
        let expected = u128::from(HEADER_BYTES)
            + u128::from(sequences) * 12
            + u128::from(document_indices) * 8;
        let with_modes = expected + u128::from(sequences);
        let has_modes = sequences > 0 && u128::from(found) == with_modes;
        let expected = u64::try_from(expected).map_err(|_| IndexError::Counts)?;
        if found != expected && !has_modes {
            return Err(IndexError::Length { found, expected });
        }
        Ok(MmidxIndex { file, dtype, sequences, document_indices, has_modes })
    }

    /// Replaces the content of `out` by up to `count` lengths, from the sequence `first` on.
    pub fn read_lengths(&self, first: u64, count: usize, out: &mut Vec<i32>) -> io::Result<()> {
        let count = (count as u64).min(self.sequences.saturating_sub(first));
        block(&self.file, HEADER_BYTES + 4 * first, count, out, i32::from_le_bytes)
    }

    /// Replaces the content of `out` by up to `count` byte offsets, from the sequence `first` on.
    pub fn read_offsets(&self, first: u64, count: usize, out: &mut Vec<i64>) -> io::Result<()> {
        let start = HEADER_BYTES + 4 * self.sequences + 8 * first;
        let count = (count as u64).min(self.sequences.saturating_sub(first));
        block(&self.file, start, count, out, i64::from_le_bytes)
    }

    /// Replaces the content of `out` by up to `count` document indices, from number `first` on.
    pub fn read_documents(&self, first: u64, count: usize, out: &mut Vec<i64>) -> io::Result<()> {
        let start = HEADER_BYTES + 12 * self.sequences + 8 * first;
        let count = (count as u64).min(self.document_indices.saturating_sub(first));
        block(&self.file, start, count, out, i64::from_le_bytes)
    }
}

/// Reads `count` values of N bytes at once, from a position in a file.
fn block<const N: usize, T>(
    file: &File,
    start: u64,
    count: u64,
    out: &mut Vec<T>,
    value: fn([u8; N]) -> T,
) -> io::Result<()> {
    let mut bytes = vec![0u8; count as usize * N];
    file.read_exact_at(&mut bytes, start)?;
    out.clear();
    out.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| value(*bytes)));
    Ok(())
}

/// A reader with its own position: several can read one file.
struct PositionedFile<'a> {
    file: &'a File,
    at: u64,
}

impl Read for PositionedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// One dataset: its index and its values.
#[derive(Debug)]
pub struct MmidxDataset {
    pub index: MmidxIndex,
    bin: File,
    bin_bytes: u64,
    idx_path: PathBuf,
    bin_path: PathBuf,
}

impl MmidxDataset {
    /// Opens `PREFIX.idx` and `PREFIX.bin`.
    pub fn open(prefix: &Path) -> Result<MmidxDataset> {
        let idx_path = super::with_suffix(prefix, ".idx");
        let bin_path = super::with_suffix(prefix, ".bin");
        let index =
            MmidxIndex::open(&idx_path).map_err(|e| Error::from(e).at(idx_path.as_path()))?;
        let bin = open_member(&bin_path).at(&bin_path)?;
        let bin_bytes = bin.metadata().at(&bin_path)?.len();
        Ok(MmidxDataset { index, bin, bin_bytes, idx_path, bin_path })
    }

    /// Whether the last sequence ends where the `.bin` does.
    pub(super) fn fills_bin(&self) -> Result<bool> {
        let last = self.index.sequences.saturating_sub(1)..self.index.sequences;
        let length = self.lengths_of(last.clone()).next().transpose()?.unwrap_or(0);
        let offset = self.offsets_of(last).next().transpose()?.unwrap_or(0);
        let bytes = i64::from(length) * self.index.dtype.size() as i64;
        let end = offset.checked_add(bytes).and_then(|end| u64::try_from(end).ok());
        Ok(end == Some(self.bin_bytes))
    }

    /// Returns the length of each sequence, in values.
    pub fn lengths(&self) -> impl Iterator<Item = Result<i32>> + '_ {
        self.lengths_of(0..self.index.sequences)
    }

    /// Returns the lengths of some sequences.
    pub fn lengths_of(&self, rows: Range<u64>) -> impl Iterator<Item = Result<i32>> + '_ {
        self.values(HEADER_BYTES + 4 * rows.start, self.count(&rows), i32::from_le_bytes)
    }

    /// Returns the byte offsets of some sequences.
    pub fn offsets_of(&self, rows: Range<u64>) -> impl Iterator<Item = Result<i64>> + '_ {
        let start = HEADER_BYTES + 4 * self.index.sequences + 8 * rows.start;
        self.values(start, self.count(&rows), i64::from_le_bytes)
    }

    /// Returns how many of these sequences exist.
    fn count(&self, rows: &Range<u64>) -> u64 {
        rows.end.min(self.index.sequences).saturating_sub(rows.start)
    }

    /// Returns the document indices: the first sequence of each document, and at the end the number
    /// of sequences.
    pub fn documents(&self) -> impl Iterator<Item = Result<i64>> + '_ {
        let start = HEADER_BYTES + 12 * self.index.sequences;
        self.values(start, self.index.document_indices, i64::from_le_bytes)
    }

    /// Returns `count` values of N bytes from a position in the index.
    fn values<'a, const N: usize, T: 'a>(
        &'a self,
        start: u64,
        count: u64,
        value: fn([u8; N]) -> T,
    ) -> impl Iterator<Item = Result<T>> + 'a {
        let file = PositionedFile { file: &self.index.file, at: start };
        // Often only a single value is asked for.
        let capacity = count.saturating_mul(N as u64).min(1 << 18) as usize;
        let mut reader = BufReader::with_capacity(capacity, file);
        (0..count).map(move |_| {
            let mut bytes = [0u8; N];
            reader.read_exact(&mut bytes).at(&self.idx_path)?;
            Ok(value(bytes))
        })
    }

    pub fn idx_path(&self) -> &Path {
        &self.idx_path
    }

    pub fn bin_path(&self) -> &Path {
        &self.bin_path
    }

    pub fn bin_bytes(&self) -> u64 {
        self.bin_bytes
    }

    pub fn bin(&self) -> &File {
        &self.bin
    }

    /// Appends the bytes of a sequence. An offset or length outside the file is bad data.
    pub fn read_sequence(&self, offset: i64, length: i32, into: &mut Vec<u8>) -> Result<()> {
        let bytes = u64::try_from(length).ok().map(|n| n * self.index.dtype.size() as u64);
        let offset_u64 = u64::try_from(offset).ok();
        let inside = offset_u64.zip(bytes).filter(|(offset, bytes)| {
            offset.checked_add(*bytes).is_some_and(|end| end <= self.bin_bytes)
        });
        let Some((offset, bytes)) = inside else {
            let cause = format!(
                "a sequence of {length} at byte {offset} is not in the .bin of {}",
                exactly(self.bin_bytes, "byte"),
                length = exactly(length, "value")
            );
            return Err(Error::data(cause).at(self.idx_path()));
        };
        let start = into.len();
        into.resize(start + bytes as usize, 0);
        let read = self.bin.read_exact_at(&mut into[start..], offset);
        read.at(&self.bin_path)
    }
}
