//! Appends the bytes of another file; the system copies them itself if it can.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

use super::block::BLOCK;
use super::{HashedFile, hasher};
use crate::error::{At, Error, Result, shown};

/// The size of the blocks that `stat` counts.
const BLOCK_OF_STAT: u64 = 512;

impl HashedFile {
    /// Appends the first `bytes` of a file; holes stay holes. `look` is called with all of them;
    /// `name` is the name of the file in errors.
    pub fn append(
        &mut self,
        from: &File,
        bytes: u64,
        name: &str,
        mut look: impl FnMut(&[u8]),
    ) -> Result<()> {
        let path = shown(self.file.path());
        let failed = |e: io::Error| Error::write(&*path, &e);
        self.settle().and_then(|()| self.hash_settled()).map_err(failed)?;
        let blocks = from.metadata().at(name)?.blocks();
        let is_sparse = blocks.saturating_mul(BLOCK_OF_STAT) < bytes;
        let mut at = 0;
        while at < bytes {
            let length = (bytes - at).min(BLOCK as u64);
            let block = self.filling.resize(length as usize);
            let is_hole = is_sparse && is_hole(from, at, length);
            match is_hole {
                true => block.fill(0),
                false => from.read_exact_at(block, at).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        Error::data("became shorter while it was read").at(name)
                    }
                    _ => Error::io(name, &error),
                })?,
            }
            look(block);
            let copied = if is_hole {
                self.file.extend(length).map(|()| block.len())
            } else {
                self.file.copy_from(from, at, block.len())
            };
            let rest = copied.map(|copied| &block[copied..]);
            rest.and_then(|rest| self.file.write_all(rest)).map_err(failed)?;
            at += length;
            self.bytes += length;
            self.hash_settled().map_err(failed)?;
        }
        Ok(())
    }

    /// Hashes the block that is in the file already.
    fn hash_settled(&mut self) -> io::Result<()> {
        if self.filling.bytes().is_empty() {
            return Ok(());
        }
        let empty = self.empty_block()?;
        let settled = std::mem::replace(&mut self.filling, empty);
        let sent = hasher(&mut self.hasher, self.is_hashed)?.blocks.send(settled);
        sent.or_else(|_| self.failure())
    }
}

/// Whether a range of a file is one hole. (This moves the file's position.)
fn is_hole(file: &File, at: u64, bytes: u64) -> bool {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => data >= at + bytes,
        Err(error) => error == rustix::io::Errno::NXIO,
    }
}
