//! Writing datasets: the `.bin` files as the values come, the `.idx` files at the end.
//!
//! All datasets of a split share one list of lengths, so that they cannot differ and memory holds
//! 4 bytes a sequence, whatever the number of datasets.

use std::path::{Path, PathBuf};

use super::{HEADER_BYTES, MAGIC, MmidxDtype, PrefixLayout, VERSION, with_suffix};
use crate::error::{Error, Result};
use crate::format::hashed_file::{FinishedFile, HashedFile};
use crate::wording::exactly;

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
    /// The number of values in each dataset.
    pub values: u64,
    pub datasets: Vec<DatasetFiles>,
}

/// Writes the datasets of one split side by side; each sequence is a document of its own. The first
/// sequence creates the files: a split without sequences leaves none.
pub struct SplitWriter {
    prefix: PathBuf,
    layout: PrefixLayout,
    dtype: MmidxDtype,
    bins: Vec<HashedFile>,
    lengths: Vec<i32>,
    values: u64,
}

impl SplitWriter {
    /// `dtype` is the type of the tokens.
    pub fn new(prefix: &Path, layout: PrefixLayout, dtype: MmidxDtype) -> SplitWriter {
        let prefix = prefix.to_path_buf();
        SplitWriter { prefix, layout, dtype, bins: Vec::new(), lengths: Vec::new(), values: 0 }
    }

    /// Adds sequences: their lengths and, for each dataset of the layout, the values of all of
    /// them, one sequence after another, as little-endian bytes.
    pub fn push(&mut self, lengths: impl Iterator<Item = usize>, values: &[&[u8]]) -> Result<()> {
        if self.bins.is_empty() {
            for (suffix, ..) in self.layout.members() {
                let path = with_suffix(&self.prefix, &format!("{suffix}.bin"));
                self.bins.push(HashedFile::create(&path)?);
            }
        }
        for length in lengths {
            let length_i32 = i32::try_from(length).map_err(|_| {
                let cause = format!(
                    "a sequence of {length}; an .idx holds i32",
                    length = exactly(length, "value")
                );
                Error::data(cause).at(self.prefix.as_path())
            })?;
            self.lengths.push(length_i32);
            self.values += length as u64;
        }
        self.bins.iter_mut().zip(values).try_for_each(|(bin, values)| bin.write(values))
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
            let dtype = if let [only] = dtype { *only } else { self.dtype };
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

/// Returns the fixed part of an `.idx`.
pub(super) fn header(dtype: MmidxDtype, sequences: u64, documents: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES as usize);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.push(dtype.code());
    header.extend_from_slice(&sequences.to_le_bytes());
    header.extend_from_slice(&documents.to_le_bytes());
    header
}
