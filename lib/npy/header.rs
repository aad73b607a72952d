//! The header of a `.npy` file: what it says, and its bytes.

use std::io::Read;

use npyz::DType;

use super::dtype::descr;
use super::{Error, literal};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The bytes of magic, version and the length field in version 1.0.
const PREFIX: usize = 10;
/// The data starts at a multiple of this.
const ALIGNMENT: usize = 64;
/// NumPy leaves room for a first axis of this many digits, so that it can grow in place.
const GROWTH_DIGITS: usize = 21;
/// The longest header that is read: the longest that version 1.0 can have. NumPy itself stops at
/// 10,000 characters.
const MAX_HEADER: usize = (1 << 16) - 1;

/// The header of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayHeader {
    pub dtype: DType,
    pub fortran_order: bool,
    /// Lengths of the axes; the first counts rows.
    pub shape: Vec<u64>,
}

impl ArrayHeader {
    /// Makes the header of `rows` rows; each row is one `dtype`, or an array of it with the shape
    /// `row_shape`.
    pub fn of_rows(dtype: DType, rows: u64, row_shape: &[u64]) -> ArrayHeader {
        let shape = [&[rows], row_shape].concat();
        ArrayHeader { dtype, fortran_order: false, shape }
    }

    /// Returns the bytes that `numpy.save` writes before the data. Their number is the same for
    /// every first axis of up to 20 digits.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let order = if self.fortran_order { "True" } else { "False" };
        let descr = descr(&self.dtype);
        let lengths: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let comma = if lengths.len() == 1 { "," } else { "" };
        let mut text = format!(
            "{{'descr': {descr}, 'fortran_order': {order}, 'shape': ({}{comma}), }}",
            lengths.join(", ")
        );
        let growing = if self.fortran_order { lengths.last() } else { lengths.first() };
        if let Some(length) = growing {
            text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(length.len())));
        }
        // Padding is never empty: if the text ends at the boundary, it is a whole block.
        let padding = ALIGNMENT - (PREFIX + text.len() + 1) % ALIGNMENT;
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        let length = u16::try_from(text.len()).map_err(|_| Error::DescrTooLong)?;
        if !text.is_ascii() {
            return Err(Error::DescrTooLong);
        }
        let mut bytes = Vec::with_capacity(PREFIX + text.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[1, 0]);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        Ok(bytes)
    }

    /// Reads a header of version 1.0, 2.0 or 3.0; returns it and its length in bytes. The reader is
    /// then at the first byte of data.
    pub fn read(reader: &mut impl Read) -> Result<(ArrayHeader, u64), Error> {
        let mut start = [0; 8];
        fill(reader, &mut start)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(Error::Magic);
        }
        let mut bytes = [0; 4];
        let prefix = match *version {
            [1, 0] => PREFIX,
            [2 | 3, 0] => PREFIX + 2,
            [major, minor, ..] => return Err(Error::Version(major, minor)),
            _ => return Err(Error::CutHeader),
        };
        fill(reader, &mut bytes[..prefix - start.len()])?;
        let length = u32::from_le_bytes(bytes) as usize;
        if length > MAX_HEADER {
            return Err(Error::LongHeader(length));
        }
        let mut text = vec![0; length];
        fill(reader, &mut text)?;
        // Versions 1.0 and 2.0 are Latin-1, 3.0 is UTF-8; only names of fields can differ.
        let text = match version {
            [3, _] => String::from_utf8(text)
                .map_err(|_| Error::Syntax { offset: prefix, expected: "UTF-8" })?,
            _ => text.into_iter().map(char::from).collect(),
        };
        Ok((literal::parse(&text)?, (prefix + length) as u64))
    }

    /// Returns the bytes of one element.
    pub fn item_bytes(&self) -> Result<usize, Error> {
        self.dtype.num_bytes().ok_or(Error::Overflow)
    }

    /// Returns the number of rows: the length of the first axis.
    pub fn rows(&self) -> Result<u64, Error> {
        self.shape.first().copied().ok_or(Error::NoRows)
    }

    /// Returns the bytes of one row: of all elements at one index of the first axis.
    pub fn row_bytes(&self) -> Result<usize, Error> {
        let rest = self.shape.get(1..).ok_or(Error::NoRows)?;
        let bytes = rest
            .iter()
            .try_fold(self.item_bytes()? as u64, |bytes, &length| bytes.checked_mul(length));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(Error::Overflow)
    }

    /// Returns the bytes of all elements.
    pub fn data_bytes(&self) -> Result<u64, Error> {
        let bytes = self
            .shape
            .iter()
            .try_fold(self.item_bytes()? as u64, |bytes, &length| bytes.checked_mul(length));
        bytes.filter(|&bytes| bytes <= i64::MAX as u64).ok_or(Error::Overflow)
    }

    /// Checks that a file of `length` bytes holds this header, which has `header_bytes`, and its
    /// data, and nothing else.
    pub fn check_length(&self, header_bytes: u64, length: u64) -> Result<(), Error> {
        let expected = self.data_bytes()?.checked_add(header_bytes).ok_or(Error::Overflow)?;
        match length.cmp(&expected) {
            std::cmp::Ordering::Less => Err(Error::Cut { length, expected }),
            std::cmp::Ordering::Greater => Err(Error::Surplus { length, expected }),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }
}

fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::CutHeader,
        _ => Error::Read(error),
    })
}
