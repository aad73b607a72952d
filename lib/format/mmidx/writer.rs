//! Writing datasets: the `.bin` files as the values come, the `.idx` files at the end.
//!
//! All datasets of a split share one list of lengths, so that they cannot differ and memory holds
//! 4 bytes a sequence, whatever the number of datasets.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{HEADER_BYTES, MAGIC, MmidxDtype, PrefixLayout, VERSION, with_suffix};
use crate::cli::PendingFile;
use crate::digest::hex;
use crate::error::{Error, Result, shown};
use crate::format::sha256::Sha256;

/// Small values are gathered in a buffer of this size; longer ones go to the file as they lie.
const BUFFER: usize = 1 << 17;

/// A file that is hashed as it is written.
pub(super) struct HashedFile {
    file: BufWriter<PendingFile>,
    hash: Sha256,
    bytes: u64,
}

impl HashedFile {
    pub(super) fn create(path: &Path) -> Result<HashedFile> {
        let file = BufWriter::with_capacity(BUFFER, PendingFile::create(path)?);
        Ok(HashedFile { file, hash: Sha256::default(), bytes: 0 })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.put(bytes)
    }

    /// Writes to files that grow side by side, the one that grows most first.
    fn write_all(files: &mut [HashedFile], bytes: &[&[u8]]) -> Result<()> {
        let hashes = files.iter_mut().map(|file| &mut file.hash);
        let mut streams: Vec<_> = hashes.zip(bytes.iter().copied()).collect();
        Sha256::update_all(&mut streams);
        files.iter_mut().zip(bytes).try_for_each(|(file, bytes)| file.put(bytes))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written.map_err(|e| Error::write(shown(self.file.get_ref().path()), &e))
    }

    pub(super) fn finish(self) -> Result<FinishedFile> {
        let path = shown(self.file.get_ref().path());
        let file = self.file.into_inner().map_err(|e| Error::write(path, e.error()))?;
        Ok(FinishedFile { sha256: hex(&self.hash.finalize()), bytes: self.bytes, file })
    }
}

/// A file that is complete but not published.
#[derive(Debug)]
pub struct FinishedFile {
    pub file: PendingFile,
    pub bytes: u64,
    /// Hexadecimal.
    pub sha256: String,
}

/// One dataset, complete but not published.
#[derive(Debug)]
pub struct DatasetFiles {
    /// Its name in manifests: `tokens`, `lossmask`, `span`.
    pub name: &'static str,
    pub bin: FinishedFile,
    pub idx: FinishedFile,
}

/// All datasets of a split, complete but not published.
#[derive(Debug)]
pub struct FinishedSplit {
    pub sequences: u64,
    /// Values in each dataset.
    pub values: u64,
    pub datasets: Vec<DatasetFiles>,
}

/// Writes the datasets of one split side by side; each sequence is a document of its own. The
/// files are created with the first sequence: a split without any leaves nothing.
pub struct SplitWriter {
    prefix: PathBuf,
    layout: PrefixLayout,
    dtype: MmidxDtype,
    bins: Vec<HashedFile>,
    lengths: Vec<i32>,
    values: u64,
}

impl SplitWriter {
    /// `dtype` is that of a single dataset's values.
    pub fn new(prefix: &Path, layout: PrefixLayout, dtype: MmidxDtype) -> SplitWriter {
        let prefix = prefix.to_path_buf();
        SplitWriter { prefix, layout, dtype, bins: Vec::new(), lengths: Vec::new(), values: 0 }
    }

    /// Adds sequences: their lengths, and for each dataset of the layout the values of all, one
    /// sequence behind another, as little-endian bytes.
    pub fn push(&mut self, lengths: impl Iterator<Item = usize>, values: &[&[u8]]) -> Result<()> {
        if self.bins.is_empty() {
            for (suffix, ..) in self.layout.members() {
                let path = with_suffix(&self.prefix, &format!("{suffix}.bin"));
                self.bins.push(HashedFile::create(&path)?);
            }
        }
        for length in lengths {
            let length_i32 = i32::try_from(length).map_err(|_| {
                let cause = format!("a sequence of {length} values; an .idx holds i32");
                Error::data(cause).at(self.prefix.as_path())
            })?;
            self.lengths.push(length_i32);
            self.values += length as u64;
        }
        HashedFile::write_all(&mut self.bins, values)
    }

    pub fn sequences(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// Writes the indexes. Nothing is published yet.
    pub fn finish(self) -> Result<FinishedSplit> {
        let sequences = self.lengths.len() as u64;
        let mut datasets = Vec::new();
        for (bin, (suffix, name, dtype)) in self.bins.into_iter().zip(self.layout.members()) {
            let path = with_suffix(&self.prefix, &format!("{suffix}.idx"));
            let mut idx = HashedFile::create(&path)?;
            let dtype = dtype.unwrap_or(self.dtype);
            idx.write(&header(dtype, sequences, sequences + 1))?;
            for length in &self.lengths {
                idx.write(&length.to_le_bytes())?;
            }
            let mut offset = 0i64;
            for &length in &self.lengths {
                idx.write(&offset.to_le_bytes())?;
                offset += i64::from(length) * dtype.size() as i64;
            }
            for document in 0..=sequences {
                idx.write(&(document as i64).to_le_bytes())?;
            }
            datasets.push(DatasetFiles { name, bin: bin.finish()?, idx: idx.finish()? });
        }
        Ok(FinishedSplit { sequences, values: self.values, datasets })
    }
}

/// The fixed part of an `.idx`.
pub(super) fn header(dtype: MmidxDtype, sequences: u64, documents: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES as usize);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.push(dtype.code());
    header.extend_from_slice(&sequences.to_le_bytes());
    header.extend_from_slice(&documents.to_le_bytes());
    header
}
