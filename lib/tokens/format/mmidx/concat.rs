//! Concatenates datasets: `.bin` bytes are copied, lengths are put one after another, offsets and
//! document indices are renumbered. It streams: only buffers are in memory.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::faults::check_layout;
use super::writer::header;
use super::{MmidxDataset, MmidxDtype};
use crate::digest::hex;
use crate::error::{Error, Result, shown};
use crate::format::hashed_file::{FinishedFile, HashedFile};

/// The counts of one dataset that was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendedDataset {
    pub sequences: u64,
    pub bin_bytes: u64,
    /// sha256 (hex) of its `.bin`.
    pub bin_sha256: String,
}

/// Datasets of one dtype that are concatenated. Each is opened when it is needed, so there may be
/// more than can be open at the same time.
pub struct Concatenation {
    prefixes: Vec<PathBuf>,
    dtype: MmidxDtype,
    sequences: u64,
    documents: u64,
}

impl Concatenation {
    /// Checks that the datasets can be concatenated: they have one dtype and no modes (every
    /// sequence would need one), and every `.bin` is exactly what its `.idx` describes.
    pub fn new(prefixes: Vec<PathBuf>) -> Result<Option<Concatenation>> {
        let mut all: Option<Concatenation> = None;
        for prefix in &prefixes {
            let part = MmidxDataset::open(prefix)?;
            let bad = |cause: String| Err(Error::data(cause).at(part.idx_path()));
            let dtype = part.index.dtype;
            let prefixes = Vec::new();
            let sum =
                all.get_or_insert(Concatenation { prefixes, dtype, sequences: 0, documents: 0 });
            if dtype != sum.dtype {
                let (other, dtype) = (dtype.name(), sum.dtype.name());
                return bad(format!("is {other}, the first dataset is {dtype}"));
            }
            if part.index.has_modes {
                return bad("has multimodal modes; such datasets are not concatenated".into());
            }
            check_layout(&part)?;
            sum.sequences += part.index.sequences;
            sum.documents += part.index.document_indices.saturating_sub(1);
        }
        Ok(all.map(|sum| Concatenation { prefixes, ..sum }))
    }

    /// Returns the bytes of one value.
    pub fn value_bytes(&self) -> u64 {
        self.dtype.size() as u64
    }

    /// Writes the `.bin`; returns the counts of each part. `look` is called with all bytes.
    pub fn write_bin(
        &self,
        path: &Path,
        mut look: impl FnMut(&[u8]),
    ) -> Result<(FinishedFile, Vec<AppendedDataset>)> {
        let mut out = HashedFile::create(path)?;
        let mut appended = Vec::new();
        for prefix in &self.prefixes {
            let part = MmidxDataset::open(prefix)?;
            let mut hash = Sha256::new();
            out.append(part.bin(), part.bin_bytes(), &shown(part.bin_path()), |bytes| {
                hash.update(bytes);
                look(bytes);
            })?;
            appended.push(AppendedDataset {
                sequences: part.index.sequences,
                bin_bytes: part.bin_bytes(),
                bin_sha256: hex(&hash.finalize()),
            });
        }
        Ok((out.finish()?, appended))
    }

    /// Writes the `.idx`.
    pub fn write_idx(&self, path: &Path) -> Result<FinishedFile> {
        let mut out = HashedFile::create(path)?;
        out.write(&header(self.dtype, self.sequences, self.documents + 1))?;
        self.each_part(|part| {
            part.lengths().try_for_each(|length| out.write(&length?.to_le_bytes()))
        })?;
        let mut offset = 0i64;
        self.each_part(|part| {
            part.lengths().try_for_each(|length| {
                out.write(&offset.to_le_bytes())?;
                offset += i64::from(length?) * self.dtype.size() as i64;
                Ok(())
            })
        })?;
        out.write(&0i64.to_le_bytes())?;
        let mut before = 0i64;
        self.each_part(|part| {
            let mut documents = part.documents();
            // The first index is 0: each part continues where the one before it ends.
            documents.next().transpose()?;
            documents.try_for_each(|document| out.write(&(before + document?).to_le_bytes()))?;
            before += part.index.sequences as i64;
            Ok(())
        })?;
        out.finish()
    }

    fn each_part(&self, mut each: impl FnMut(&MmidxDataset) -> Result<()>) -> Result<()> {
        self.prefixes.iter().try_for_each(|prefix| each(&MmidxDataset::open(prefix)?))
    }
}
