//! Arrays of integers, whatever their width, byte order and memory order, as one typed view of
//! the mapped file.

use std::fs::File;

use super::{ByteOrder, Dtype, Error, Header, Mapped, Scalar};

/// A mapped array of integers. Nothing is copied; a value is converted when it is asked for.
#[derive(Debug)]
pub struct Integers {
    mapped: Mapped,
    scalar: Scalar,
    /// Elements of one index of the first axis.
    row_len: usize,
    /// Elements from one row to the next, and from one element of a row to the next.
    strides: (usize, usize),
}

impl Integers {
    /// Maps a file after checking its length; see [`Mapped::open`]. Elements that are no integers
    /// are refused, and Fortran order with more than two axes, which nobody writes.
    pub fn open(file: &File) -> Result<Integers, Error> {
        let mapped = Mapped::open_in_any_order(file)?;
        let header = mapped.header();
        let scalar = match header.dtype {
            Dtype::Scalar(scalar)
                if matches!(scalar.kind, b'i' | b'u') && matches!(scalar.size, 1 | 2 | 4 | 8) =>
            {
                scalar
            }
            _ => return Err(Error::NoIntegers(header.dtype.to_string())),
        };
        let row_len = mapped.row_bytes() / scalar.size;
        let rows = usize::try_from(mapped.rows()).map_err(|_| Error::Overflow)?;
        let strides = match (header.fortran_order, header.shape.len()) {
            (false, _) | (true, 1) => (row_len, 1),
            (true, 2) => (1, rows),
            (true, _) => return Err(Error::FortranOrder),
        };
        Ok(Integers { mapped, scalar, row_len, strides })
    }

    pub fn header(&self) -> &Header {
        self.mapped.header()
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[u64] {
        &self.header().shape
    }

    /// Length of the first axis.
    pub fn rows(&self) -> u64 {
        self.mapped.rows()
    }

    /// Elements of one index of the first axis: 1 where there is no other.
    pub fn row_len(&self) -> usize {
        self.row_len
    }

    /// One element; `None` past an end. Values above 2^63 - 1 are wider than any index or token,
    /// and come as 2^63 - 1.
    pub fn get(&self, row: u64, column: usize) -> Option<i64> {
        if row >= self.rows() || column >= self.row_len {
            return None;
        }
        let element = usize::try_from(row).ok()? * self.strides.0 + column * self.strides.1;
        let start = element * self.scalar.size;
        let bytes = self.mapped.data().get(start..start + self.scalar.size)?;
        Some(integer(self.scalar, bytes))
    }

    /// The elements of one row; none past the end.
    pub fn row(&self, row: u64) -> impl Iterator<Item = i64> + '_ {
        (0..self.row_len).map_while(move |column| self.get(row, column))
    }

    /// One row in place of what `out` holds; none past the end. Values that are no i32 become the
    /// nearest one.
    pub fn read_row(&self, row: u64, out: &mut Vec<i32>) {
        out.clear();
        let little = self.scalar.order != ByteOrder::Big;
        let size = self.scalar.size;
        let start = usize::try_from(row).unwrap_or(usize::MAX).saturating_mul(self.row_len * size);
        let bytes = self.mapped.data().get(start..).and_then(|b| b.get(..self.row_len * size));
        match (bytes, self.scalar.kind, size) {
            // The usual ones, each in one pass.
            (Some(bytes), b'i', 4) if little && self.strides.1 == 1 => {
                out.extend(bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)));
            }
            (Some(bytes), b'u', 1) if self.strides.1 == 1 => {
                out.extend(bytes.iter().map(|&byte| i32::from(byte)));
            }
            _ => out.extend(
                self.row(row)
                    .map(|value| value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32),
            ),
        }
    }

    /// Lets go of the memory behind some rows, see [`Mapped::release`].
    pub fn release(&self, rows: std::ops::Range<u64>) {
        // In Fortran order rows lie everywhere.
        if !self.header().fortran_order {
            self.mapped.release(rows);
        }
    }

    /// The first elements of all rows: an array of one axis.
    pub fn values(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.rows()).map_while(|row| self.get(row, 0))
    }
}

fn integer(scalar: Scalar, bytes: &[u8]) -> i64 {
    let mut wide = [0; 8];
    let size = bytes.len().min(8);
    if scalar.order == ByteOrder::Big {
        for (to, from) in wide.iter_mut().zip(bytes.iter().rev()) {
            *to = *from;
        }
    } else {
        wide[..size].copy_from_slice(&bytes[..size]);
    }
    let value = u64::from_le_bytes(wide);
    if scalar.kind == b'u' {
        return i64::try_from(value).unwrap_or(i64::MAX);
    }
    // Sign extension: shifted to the top and back.
    let shift = 64 - 8 * size as u32;
    ((value << shift) as i64) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_order_and_sign() {
        let value =
            |order, kind, bytes: &[u8]| integer(Scalar { order, kind, size: bytes.len() }, bytes);
        use ByteOrder::{Big, Little, None};
        assert_eq!(value(None, b'i', &[0xff]), -1);
        assert_eq!(value(None, b'u', &[0xff]), 255);
        assert_eq!(value(Little, b'i', &[0x9c, 0xff]), -100);
        assert_eq!(value(Big, b'i', &[0xff, 0x9c]), -100);
        assert_eq!(value(Big, b'u', &[1, 2, 3, 4]), 0x0102_0304);
        assert_eq!(value(Little, b'i', &[1, 0, 0, 0, 0, 0, 0, 0x80]), i64::MIN + 1);
        assert_eq!(value(Little, b'u', &[0xff; 8]), i64::MAX);
    }
}
