//! Writing datasets: the `.bin` files as the values come, the `.idx` files at the end.
//!
//! All datasets of a split share one list of lengths, so that they cannot differ and memory holds
//! 4 bytes a sequence, whatever the number of datasets.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};

use super::{HEADER_BYTES, MAGIC, MmidxDtype, PrefixLayout, VERSION, with_suffix};
use crate::cli::PendingFile;
use crate::digest::hex;
use crate::error::{Error, Result, shown};

/// Small values are gathered in a buffer of this size; longer ones go straight to the file.
const BUFFER: usize = 1 << 17;
/// The most that is written and hashed at a time, and how many such blocks may wait to be hashed.
const BLOCK: usize = 1 << 20;
const QUEUE: usize = 4;
/// What `stat` counts blocks in.
const BLOCK_OF_STAT: u64 = 512;

/// A file that is hashed as it is written.
#[derive(Debug)]
pub struct HashedFile {
    out: BufWriter<Hashing>,
}

/// Hashes on a thread of its own: sha2 hashes 1.8 GB/s, and so writing does not wait (520 MB
/// of triples: 0.62 s, with the hashes in line 0.82 s; 0.63 and 0.62 s of CPU).
#[derive(Debug)]
struct Hashing {
    file: PendingFile,
    bytes: u64,
    blocks: SyncSender<Vec<u8>>,
    thread: JoinHandle<Sha256>,
}

impl HashedFile {
    pub fn create(path: &Path) -> Result<HashedFile> {
        let file = PendingFile::create(path)?;
        let (blocks, received) = sync_channel::<Vec<u8>>(QUEUE);
        let hash = || received.into_iter().fold(Sha256::new(), Sha256::chain_update);
        let thread = thread::Builder::new().spawn(hash);
        let thread = thread.map_err(|e| Error::io(shown(path), &e))?;
        let hashing = Hashing { file, bytes: 0, blocks, thread };
        Ok(HashedFile { out: BufWriter::with_capacity(BUFFER, hashing) })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.out.write_all(bytes);
        written.map_err(|e| Error::write(shown(self.out.get_ref().file.path()), &e))
    }

    /// Appends the first bytes of a file; the system copies them itself where it can, and holes stay
    /// holes. `look` sees all of them; `name` is the file's, for errors.
    pub(super) fn append(
        &mut self,
        from: &File,
        bytes: u64,
        name: &str,
        mut look: impl FnMut(&[u8]),
    ) -> Result<()> {
        let path = shown(self.out.get_ref().file.path());
        let failed = |e: io::Error| Error::write(&*path, &e);
        self.out.flush().map_err(failed)?;
        let out = self.out.get_mut();
        let blocks = from.metadata().map_err(|e| Error::io(name, &e))?.blocks();
        let is_sparse = blocks.saturating_mul(BLOCK_OF_STAT) < bytes;
        let mut at = 0;
        while at < bytes {
            let mut block = vec![0; (bytes - at).min(BLOCK as u64) as usize];
            let is_hole = is_sparse && is_hole(from, at, block.len() as u64);
            if !is_hole {
                from.read_exact_at(&mut block, at).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        Error::data("became shorter while it was read").at(name)
                    }
                    _ => Error::io(name, &error),
                })?;
            }
            look(&block);
            let copied = match is_hole {
                true => out.file.extend(block.len() as u64).map(|()| block.len()),
                false => out.file.copy_from(from, at, block.len()),
            };
            let rest = copied.map(|copied| &block[copied..]);
            rest.and_then(|rest| out.file.write_all(rest)).map_err(failed)?;
            at += block.len() as u64;
            out.bytes += block.len() as u64;
            out.blocks.send(block).map_err(|_| failed(ended()))?;
        }
        Ok(())
    }

    /// Completes it; nothing is published.
    pub fn finish(self) -> Result<FinishedFile> {
        let path = shown(self.out.get_ref().file.path());
        let hashing = self.out.into_inner().map_err(|e| Error::write(&*path, e.error()))?;
        let Hashing { file, bytes, blocks, thread } = hashing;
        drop(blocks);
        let hash = thread.join().map_err(|_| Error::write(path, &ended()))?;
        Ok(FinishedFile { sha256: hex(&hash.finalize()), bytes, file })
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(&bytes[..bytes.len().min(BLOCK)])?;
        self.blocks.send(bytes[..written].to_vec()).map_err(|_| ended())?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether a range of a file is a hole as a whole. (This moves the file's position.)
fn is_hole(file: &File, at: u64, bytes: u64) -> bool {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => data >= at + bytes,
        Err(error) => error == rustix::io::Errno::NXIO,
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that hashes has ended")
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
    /// sequence after another, as little-endian bytes.
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
