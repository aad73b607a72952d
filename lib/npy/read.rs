//! Reading rows of a mapped file.

use std::fs::File;
use std::io::Seek;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;

use super::{ArrayHeader, Error};
use gristmill_stream::signals::heed_lost_pages;

/// The most bytes that one page fault maps: the largest page.
const FAULT_AROUND: usize = 2 << 20;

/// A file mapped to memory, for rows in any order. With [`MappedArray::release`] a check of a pack of
/// 259 MB takes 13 MiB of memory, without it 258 MiB; the processor time is the same (`ds-check pack_20`
/// of tools/bench.sh, 2026-11-22).
#[derive(Debug)]
pub struct MappedArray {
    map: Arc<Mmap>,
    header: ArrayHeader,
    data: usize,
    row_bytes: usize,
    rows: u64,
}

impl MappedArray {
    /// Maps a file after checking its length. Nobody may shorten the file while it is mapped: reading
    /// the lost part ends the process with an error line. Published datasets are renamed into place and
    /// never written again.
    pub fn open(file: &File) -> Result<Self, Error> {
        let mapped = MappedArray::open_in_any_order(file)?;
        if mapped.header.fortran_order && mapped.header.shape.len() > 1 {
            return Err(Error::FortranOrder);
        }
        Ok(mapped)
    }

    /// Maps a file as [`MappedArray::open`] does, in C or Fortran order; in Fortran order a "row"
    /// is not a row of the array.
    pub(super) fn open_in_any_order(file: &File) -> Result<Self, Error> {
        let mut start = file;
        start.rewind()?;
        let (header, header_bytes) = ArrayHeader::read(&mut start)?;
        let (rows, row_bytes) = (header.rows()?, header.row_bytes()?);
        heed_lost_pages()?;
        // SAFETY: the map is only read, and only as bytes, for which any content is valid. The
        // condition stated above is that the file is not changed meanwhile.
        let map = Arc::new(unsafe { Mmap::map(file)? });
        header.check_length(header_bytes, map.len() as u64)?;
        let data = usize::try_from(header_bytes).map_err(|_| Error::Overflow)?;
        Ok(MappedArray { map, header, data, row_bytes, rows })
    }

    pub fn header(&self) -> &ArrayHeader {
        &self.header
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Returns all rows as bytes.
    pub fn data(&self) -> &[u8] {
        self.map.get(self.data..).unwrap_or_default()
    }

    /// Releases the memory of rows that were read and will hardly be read again: reading a whole
    /// file then takes no more memory than its current part. This is only a hint.
    pub fn release(&self, rows: Range<u64>) {
        let end = self.place(rows.end);
        // A page fault also maps the pages around it, and so pages before it that were released.
        let start = self.place(rows.start).saturating_sub(FAULT_AROUND);
        if start < end {
            // SAFETY: the map is of a file, shared and only read: a released page is read
            // from the file again, with the same bytes (see `open`).
            let _ = unsafe {
                let advice = memmap2::UncheckedAdvice::DontNeed;
                self.map.unchecked_advise_range(advice, start, end - start)
            };
        }
    }

    /// Returns the bytes of some rows; none past the end.
    pub fn part(&self, rows: Range<u64>) -> &[u8] {
        self.map.get(self.place(rows.start)..self.place(rows.end)).unwrap_or_default()
    }

    /// Returns the bytes of some rows, none past the end; they keep the file mapped.
    pub fn share(&self, rows: Range<u64>) -> Bytes {
        Bytes::from_owner(SharedMap(self.map.clone())).slice_ref(self.part(rows))
    }

    /// Returns the offset of a row in the file, or of the end of the last row.
    fn place(&self, row: u64) -> usize {
        let row = usize::try_from(row.min(self.rows)).unwrap_or(usize::MAX);
        row.saturating_mul(self.row_bytes).saturating_add(self.data).min(self.map.len())
    }

    /// Returns the bytes of one row; `None` past the end.
    #[inline]
    pub fn row(&self, index: u64) -> Option<&[u8]> {
        if index >= self.rows {
            return None;
        }
        let start = usize::try_from(index).ok()?.checked_mul(self.row_bytes)?;
        self.data().get(start..start.checked_add(self.row_bytes)?)
    }
}

/// Keeps a file mapped while some of its bytes are used.
struct SharedMap(Arc<Mmap>);

impl AsRef<[u8]> for SharedMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
