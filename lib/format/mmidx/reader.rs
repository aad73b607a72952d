//! Reading datasets. Nothing an `.idx` claims is believed before its length has been compared
//! with it, and nothing is held but buffers.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Dtype, HEADER_BYTES, MAGIC, VERSION};
use crate::cli::{Error, Result, shown};

/// Why an `.idx` is none, or not a whole one.
#[derive(Debug)]
pub enum IndexError {
    Io(io::Error),
    Magic,
    Version(u64),
    Dtype(u8),
    /// The file's length is not what its counts say.
    Length {
        found: u64,
        expected: u64,
    },
    /// The counts are beyond any file.
    Counts,
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "ends within its header")
            }
            IndexError::Io(error) => write!(f, "{error}"),
            IndexError::Magic => write!(f, "is no Megatron index (MMIDIDX)"),
            IndexError::Version(version) => write!(f, "has version {version}; 1 is known"),
            IndexError::Dtype(code) => write!(f, "has the unknown dtype code {code}"),
            IndexError::Length { found, expected } => {
                write!(f, "has {found} bytes; its counts ask for {expected}")
            }
            IndexError::Counts => write!(f, "has impossible counts"),
        }
    }
}

/// An opened `.idx` whose length is what its counts say.
#[derive(Debug)]
pub struct Index {
    file: File,
    pub dtype: Dtype,
    /// Number of sequences.
    pub sequences: u64,
    /// Number of document indices: documents + 1.
    pub document_indices: u64,
    /// Whether one i8 mode for each sequence stands behind the document indices (multimodal).
    pub has_modes: bool,
}

impl Index {
    pub fn open(path: &Path) -> std::result::Result<Index, IndexError> {
        let file = File::open(path).map_err(IndexError::Io)?;
        let found = file.metadata().map_err(IndexError::Io)?.len();
        let mut header = [0u8; HEADER_BYTES as usize];
        file.read_exact_at(&mut header, 0).map_err(IndexError::Io)?;
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
        let dtype = Dtype::from_code(rest[8]).ok_or(IndexError::Dtype(rest[8]))?;
        let (sequences, document_indices) = (u64_at(9), u64_at(17));
        // u128: no count that fits a u64 can overflow the sum.
        let expected = u128::from(HEADER_BYTES)
            + u128::from(sequences) * 12
            + u128::from(document_indices) * 8;
        let expected = u64::try_from(expected).map_err(|_| IndexError::Counts)?;
        let has_modes = sequences > 0 && found == expected + sequences;
        if found != expected && !has_modes {
            return Err(IndexError::Length { found, expected });
        }
        Ok(Index { file, dtype, sequences, document_indices, has_modes })
    }

    /// The length of each sequence, in values.
    pub fn lengths(&self) -> impl Iterator<Item = io::Result<i32>> + '_ {
        self.lengths_from(0)
    }

    /// The lengths from the sequence `first` on.
    pub fn lengths_from(&self, first: u64) -> impl Iterator<Item = io::Result<i32>> + '_ {
        let start = HEADER_BYTES + 4 * first;
        values(&self.file, start, self.sequences.saturating_sub(first))
            .map(|v| v.map(i32::from_le_bytes))
    }

    /// The byte offset of each sequence, from the sequence `first` on.
    pub fn offsets_from(&self, first: u64) -> impl Iterator<Item = io::Result<i64>> + '_ {
        let start = HEADER_BYTES + 4 * self.sequences + 8 * first;
        values(&self.file, start, self.sequences.saturating_sub(first))
            .map(|v| v.map(i64::from_le_bytes))
    }

    /// The document indices: the first sequence of each document, then the number of sequences.
    pub fn documents(&self) -> impl Iterator<Item = io::Result<i64>> + '_ {
        let start = HEADER_BYTES + 12 * self.sequences;
        values(&self.file, start, self.document_indices).map(|v| v.map(i64::from_le_bytes))
    }
}

impl Index {
    /// Up to `count` lengths from the sequence `first` on, in place of what `out` holds.
    pub fn read_lengths(&self, first: u64, count: usize, out: &mut Vec<i32>) -> io::Result<()> {
        let count = (count as u64).min(self.sequences.saturating_sub(first));
        block(&self.file, HEADER_BYTES + 4 * first, count, out, i32::from_le_bytes)
    }

    /// The same of byte offsets.
    pub fn read_offsets(&self, first: u64, count: usize, out: &mut Vec<i64>) -> io::Result<()> {
        let start = HEADER_BYTES + 4 * self.sequences + 8 * first;
        let count = (count as u64).min(self.sequences.saturating_sub(first));
        block(&self.file, start, count, out, i64::from_le_bytes)
    }

    /// The same of document indices.
    pub fn read_documents(&self, first: u64, count: usize, out: &mut Vec<i64>) -> io::Result<()> {
        let start = HEADER_BYTES + 12 * self.sequences + 8 * first;
        let count = (count as u64).min(self.document_indices.saturating_sub(first));
        block(&self.file, start, count, out, i64::from_le_bytes)
    }
}

/// `count` values of N bytes from a place in a file, at once.
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

/// `count` values of N bytes from a place in a file.
fn values<const N: usize>(
    file: &File,
    start: u64,
    count: u64,
) -> impl Iterator<Item = io::Result<[u8; N]>> + '_ {
    let mut reader = BufReader::with_capacity(1 << 18, Positioned { file, at: start });
    (0..count).map(move |_| {
        let mut value = [0u8; N];
        reader.read_exact(&mut value)?;
        Ok(value)
    })
}

/// Reads from a place of its own, so that several can read one file.
struct Positioned<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// One dataset: its index and its values.
#[derive(Debug)]
pub struct Dataset {
    pub index: Index,
    bin: File,
    bin_bytes: u64,
    idx_path: PathBuf,
    bin_path: PathBuf,
}

impl Dataset {
    /// Opens `PREFIX.idx` and `PREFIX.bin`.
    pub fn open(prefix: &Path) -> Result<Dataset> {
        let idx_path = super::with_suffix(prefix, ".idx");
        let bin_path = super::with_suffix(prefix, ".bin");
        let index = Index::open(&idx_path).map_err(|error| match error {
            IndexError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Error::io(shown(&idx_path), &error)
            }
            other => Error::data(format!("{}: {other}", shown(&idx_path))),
        })?;
        let bin = File::open(&bin_path).map_err(|e| Error::io(shown(&bin_path), &e))?;
        let bin_bytes = bin.metadata().map_err(|e| Error::io(shown(&bin_path), &e))?.len();
        Ok(Dataset { index, bin, bin_bytes, idx_path, bin_path })
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

    /// Appends the bytes of a sequence. An offset or length that leaves the file is bad data.
    pub fn read_sequence(&self, offset: i64, length: i32, into: &mut Vec<u8>) -> Result<()> {
        let bytes = u64::try_from(length).ok().map(|n| n * self.index.dtype.size() as u64);
        let offset_u64 = u64::try_from(offset).ok();
        let inside = offset_u64.zip(bytes).filter(|(offset, bytes)| {
            offset.checked_add(*bytes).is_some_and(|end| end <= self.bin_bytes)
        });
        let Some((offset, bytes)) = inside else {
            return Err(Error::data(format!(
                "{}: a sequence of {length} values at byte {offset} is not in the .bin of {} bytes",
                shown(&self.idx_path),
                self.bin_bytes
            )));
        };
        let start = into.len();
        into.resize(start + bytes as usize, 0);
        let read = self.bin.read_exact_at(&mut into[start..], offset);
        read.map_err(|e| Error::io(shown(&self.bin_path), &e))
    }

    /// An I/O error of reading the index.
    pub fn index_error(&self, error: io::Error) -> Error {
        Error::io(shown(&self.idx_path), &error)
    }
}
