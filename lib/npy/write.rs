//! Writes rows whose number is known only at the end.

use std::io::{Seek, SeekFrom, Write};

use npyz::DType;

use super::{ArrayHeader, Error};

/// Writes a `.npy` file row by row. The header has room for any number of rows and is patched in
/// place at the end, so that the file is what `numpy.save` would have written.
///
/// The bytes go to `out` at once: `out` should be buffered. Until [`Writer::finish`] the header
/// states no rows, or as many as are expected.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    start: u64,
    header: ArrayHeader,
    header_bytes: usize,
    row_bytes: usize,
    rows: u64,
}

/// A complete file.
#[derive(Debug)]
pub struct FinishedArray<W> {
    pub out: W,
    /// The right bytes for the beginning of the file, if it has others.
    pub header: Option<Vec<u8>>,
}

impl<W: Write> Writer<W> {
    /// Starts a file that will probably have `expected` rows; each row is one `dtype`, or an array
    /// of it with the shape `row_shape`.
    pub fn expecting(
        expected: u64,
        mut out: W,
        dtype: DType,
        row_shape: &[u64],
    ) -> Result<Self, Error> {
        let header = ArrayHeader::of_rows(dtype, expected, row_shape);
        let bytes = header.to_bytes()?;
        let row_bytes = header.row_bytes()?;
        out.write_all(&bytes).map_err(Error::Write)?;
        Ok(Writer { out, start: 0, header, header_bytes: bytes.len(), row_bytes, rows: 0 })
    }

    /// Writes rows given as their bytes.
    pub fn write_rows(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let rows = bytes.len().checked_div(self.row_bytes).unwrap_or(0);
        if rows * self.row_bytes != bytes.len() {
            return Err(Error::PartialRow { bytes: bytes.len(), row: self.row_bytes });
        }
        self.out.write_all(bytes).map_err(Error::Write)?;
        self.rows += rows as u64;
        Ok(())
    }

    /// Returns the rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.header_bytes as u64 + self.data_bytes()
    }

    /// Returns the bytes of the rows so far.
    pub fn data_bytes(&self) -> u64 {
        self.rows * self.row_bytes as u64
    }

    /// Flushes; the result says whether the header was right.
    pub fn end(mut self) -> Result<FinishedArray<W>, Error> {
        self.out.flush().map_err(Error::Write)?;
        match self.header.shape.first_mut() {
            Some(rows) if *rows != self.rows => *rows = self.rows,
            _ => return Ok(FinishedArray { out: self.out, header: None }),
        }
        let header = self.header.to_bytes()?;
        // There is room for 20 digits: no count of rows has more.
        if header.len() != self.header_bytes {
            return Err(Error::Overflow);
        }
        Ok(FinishedArray { out: self.out, header: Some(header) })
    }
}

impl<W: Write + Seek> Writer<W> {
    /// Starts a file at the position of `out`.
    pub fn new(mut out: W, dtype: DType, row_shape: &[u64]) -> Result<Self, Error> {
        let start = out.stream_position().map_err(Error::Write)?;
        Ok(Writer { start, ..Writer::expecting(0, out, dtype, row_shape)? })
    }

    /// Puts the number of rows into the header, flushes, and returns `out`, at its end.
    pub fn finish(self) -> Result<W, Error> {
        let start = self.start;
        let FinishedArray { mut out, header } = self.end()?;
        let mut patch = |header: Vec<u8>| {
            out.seek(SeekFrom::Start(start))?;
            out.write_all(&header)?;
            out.seek(SeekFrom::End(0))?;
            out.flush()
        };
        header.map_or(Ok(()), &mut patch).map_err(Error::Write)?;
        Ok(out)
    }
}
