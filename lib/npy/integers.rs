//! Arrays of integers, whatever their width, byte order and memory order, as one typed view of
//! the mapped file.

use std::fs::File;

use npyz::TypeChar;

use super::dtype::descr;
use super::{ArrayHeader, Error, MappedArray, Scalar};

/// A mapped array of integers. Nothing is copied; a value is converted when it is asked for.
#[derive(Debug)]
pub struct Integers {
    mapped: MappedArray,
    scalar: Scalar,
    /// How many elements one index of the first axis has.
    row_len: usize,
    /// The strides in elements: from one row to the next, and from one element of a row to the
    /// next.
    strides: (usize, usize),
}

impl Integers {
    /// Maps a file after checking its length; see [`MappedArray::open`]. Refuses elements that are
    /// not integers, and Fortran order with more than two axes, which nobody writes.
    pub fn open(file: &File) -> Result<Integers, Error> {
        let mapped = MappedArray::open_in_any_order(file)?;
        let header = mapped.header();
        let scalar = Scalar::of(&header.dtype).filter(Scalar::is_integer);
        let scalar = scalar.ok_or_else(|| Error::NoIntegers(descr(&header.dtype)))?;
        let row_len = mapped.row_bytes() / scalar.bytes;
        let rows = usize::try_from(mapped.rows()).map_err(|_| Error::Overflow)?;
        let strides = match (header.fortran_order, header.shape.len()) {
            (false, _) | (true, 1) => (row_len, 1),
            (true, 2) => (1, rows),
            (true, _) => return Err(Error::FortranOrder),
        };
        Ok(Integers { mapped, scalar, row_len, strides })
    }

    pub fn header(&self) -> &ArrayHeader {
        self.mapped.header()
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[u64] {
        &self.header().shape
    }

    /// Returns the length of the first axis.
    pub fn rows(&self) -> u64 {
        self.mapped.rows()
    }

    /// Returns how many elements one index of the first axis has: 1 if there is no other axis.
    pub fn row_len(&self) -> usize {
        self.row_len
    }

    /// Returns one element; `None` past an end. Values above 2^63 - 1 are larger than any index or
    /// token, and are read as 2^63 - 1.
    pub fn get(&self, row: u64, column: usize) -> Option<i64> {
        if row >= self.rows() || column >= self.row_len {
            return None;
        }
        let element = usize::try_from(row).ok()? * self.strides.0 + column * self.strides.1;
        let start = element * self.scalar.bytes;
        let bytes = self.mapped.data().get(start..start + self.scalar.bytes)?;
        Some(self.scalar.integer(bytes))
    }

    /// Returns the elements of one row; none past the end.
    pub fn row(&self, row: u64) -> impl Iterator<Item = i64> + '_ {
        (0..self.row_len).map_while(move |column| self.get(row, column))
    }

    /// Replaces the content of `out` by one row; by nothing past the end. Values that do not fit
    /// i32 become the nearest i32.
    pub fn read_row(&self, row: u64, out: &mut Vec<i32>) {
        out.clear();
        let is_little = !self.scalar.is_big_endian;
        let size = self.scalar.bytes;
        let start = usize::try_from(row).unwrap_or(usize::MAX).saturating_mul(self.row_len * size);
        let bytes = self.mapped.data().get(start..).and_then(|b| b.get(..self.row_len * size));
        match (bytes, self.scalar.kind, size) {
            // The usual types are read in one pass each.
            (Some(bytes), TypeChar::Int, 4) if is_little && self.strides.1 == 1 => {
                out.extend(bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)));
            }
            (Some(bytes), TypeChar::Uint, 1) if self.strides.1 == 1 => {
                out.extend(bytes.iter().map(|&byte| i32::from(byte)));
            }
            _ => out.extend(
                self.row(row)
                    .map(|value| value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32),
            ),
        }
    }

    /// Releases the memory of some rows, see [`MappedArray::release`].
    pub fn release(&self, rows: std::ops::Range<u64>) {
        // In Fortran order the values of a row are scattered.
        if !self.header().fortran_order {
            self.mapped.release(rows);
        }
    }

    /// Returns the first element of every row: all elements of an array of one axis.
    pub fn values(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.rows()).map_while(|row| self.get(row, 0))
    }
}
