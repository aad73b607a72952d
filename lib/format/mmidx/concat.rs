//! Concatenating datasets: the `.bin` bytes as they are, lengths one after another, offsets and
//! document indices renumbered. It streams: only buffers are in memory.

use std::io::{ErrorKind, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::writer::{FinishedFile, HashedFile, header};
use super::{MmidxDataset, MmidxDtype};
use crate::digest::hex;
use crate::error::{Error, Result, shown};

/// What one dataset contributed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    pub sequences: u64,
    pub bin_bytes: u64,
    /// sha256 (hex) of its `.bin`.
    pub bin_sha256: String,
}

/// Datasets of one dtype that become one.
pub struct Concatenation<'a> {
    parts: &'a [MmidxDataset],
    dtype: MmidxDtype,
}

impl<'a> Concatenation<'a> {
    /// Checks that the parts can be concatenated: one dtype, no modes (one would be needed for each
    /// sequence), and every `.bin` exactly what its `.idx` describes.
    pub fn new(parts: &'a [MmidxDataset]) -> Result<Option<Concatenation<'a>>> {
        let Some(first) = parts.first() else { return Ok(None) };
        let dtype = first.index.dtype;
        for part in parts {
            let bad = |cause: String| Err(Error::data(cause).at(part.idx_path()));
            if part.index.dtype != dtype {
                let (other, dtype) = (part.index.dtype.name(), dtype.name());
                return bad(format!("is {other}, the first dataset is {dtype}"));
            }
            if part.index.has_modes {
                return bad("has multimodal modes; such datasets are not concatenated".into());
            }
            check_layout(part)?;
        }
        Ok(Some(Concatenation { parts, dtype }))
    }

    /// Writes the `.bin`, and returns what each part contributed. `look` sees all bytes.
    pub fn write_bin(
        &self,
        path: &Path,
        mut look: impl FnMut(&[u8]),
    ) -> Result<(FinishedFile, Vec<Appended>)> {
        let mut out = HashedFile::create(path)?;
        let mut appended = Vec::new();
        let mut buffer = vec![0u8; 1 << 20];
        for part in self.parts {
            let mut hash = Sha256::new();
            let mut left = part.bin_bytes();
            let mut bin = part.bin();
            while left > 0 {
                let wanted = left.min(buffer.len() as u64) as usize;
                let read = match bin.read(&mut buffer[..wanted]) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    read => read,
                };
                let read = read.map_err(|e| Error::io(shown(part.bin_path()), &e))?;
                if read == 0 {
                    return Err(Error::data("became shorter while it was read").at(part.bin_path()));
                }
                hash.update(&buffer[..read]);
                look(&buffer[..read]);
                out.write(&buffer[..read])?;
                left -= read as u64;
            }
            appended.push(Appended {
                sequences: part.index.sequences,
                bin_bytes: part.bin_bytes(),
                bin_sha256: hex(&hash.finalize()),
            });
        }
        Ok((out.finish()?, appended))
    }

    /// Writes the `.idx`.
    pub fn write_idx(&self, path: &Path) -> Result<FinishedFile> {
        let sequences: u64 = self.parts.iter().map(|part| part.index.sequences).sum();
        let documents: u64 =
            self.parts.iter().map(|part| part.index.document_indices.saturating_sub(1)).sum();
        let mut out = HashedFile::create(path)?;
        out.write(&header(self.dtype, sequences, documents + 1))?;
        for part in self.parts {
            for length in part.lengths() {
                out.write(&length?.to_le_bytes())?;
            }
        }
        let mut offset = 0i64;
        for part in self.parts {
            for length in part.lengths() {
                out.write(&offset.to_le_bytes())?;
                offset += i64::from(length?) * self.dtype.size() as i64;
            }
        }
        out.write(&0i64.to_le_bytes())?;
        let mut before = 0i64;
        for part in self.parts {
            let mut documents = part.documents();
            // The first is 0: each part goes on where the one before it ends.
            documents.next().transpose()?;
            for document in documents {
                out.write(&(before + document?).to_le_bytes())?;
            }
            before += part.index.sequences as i64;
        }
        out.finish()
    }
}

/// Offsets are the running sum of the lengths, the `.bin` is exactly their end, and the document
/// indices rise from 0 to the number of sequences: only then do bytes and numbers match.
fn check_layout(part: &MmidxDataset) -> Result<()> {
    let index = &part.index;
    let bad = |cause: String| Err(Error::data(cause).at(part.idx_path()));
    let mut end = 0i64;
    for (number, (length, offset)) in
        part.lengths().zip(part.offsets_of(0..part.index.sequences)).enumerate()
    {
        let (length, offset) = (length?, offset?);
        if length < 0 || offset != end {
            return bad(format!(
                "sequence {number} of length {length} begins at byte {offset}, not {end}"
            ));
        }
        end += i64::from(length) * index.dtype.size() as i64;
    }
    if part.bin_bytes() != end as u64 {
        return bad(format!("describes {end} bytes, its .bin has {}", part.bin_bytes()));
    }
    let mut last = 0i64;
    for (number, document) in part.documents().enumerate() {
        let document = document?;
        if (number == 0 && document != 0) || document < last {
            return bad(format!("document index {number} is {document}, after {last}"));
        }
        last = document;
    }
    if index.document_indices == 0 || last as u64 != index.sequences {
        return bad(format!("the document indices end at {last}, not {}", index.sequences));
    }
    Ok(())
}
