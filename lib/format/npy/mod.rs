//! NumPy's `.npy` files: headers read and written, rows written, mapped and streamed.
//!
//! Headers are those of `numpy.save`, byte for byte (npyz writes other text, and refuses the
//! padding fields of aligned structures). Rows are bytes here; what they mean is their
//! reader's concern. Pickled arrays are refused.
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

mod dtype;
mod header;
mod integers;
mod parse;
mod read;
mod write;

use std::fmt;
use std::io;

pub use dtype::{
    ByteOrder, Dtype, Field, FieldAt, Scalar, aligned_step_row, packed_step_row, selfplay_row,
};
pub use header::Header;
pub use integers::Integers;
pub use read::{Mapped, Rows};
pub use write::Writer;

/// Why a `.npy` file could not be read or written.
#[derive(Debug)]
pub enum Error {
    /// The file does not start with NumPy's magic bytes.
    Magic,
    /// A format version that is not 1.0, 2.0 or 3.0.
    Version(u8, u8),
    /// The file ends inside its header.
    CutHeader,
    /// The header is longer than any header of an array that is read here.
    LongHeader(usize),
    /// The header is no dictionary of the three keys; the offset is one of its bytes.
    Header {
        offset: usize,
        expected: &'static str,
    },
    /// The type is none that is read here.
    Type(String),
    /// The elements are pickled Python objects.
    Pickled,
    /// The shape has more bytes than can be counted.
    Overflow,
    /// The file has fewer bytes than its header says.
    Cut {
        length: u64,
        expected: u64,
    },
    /// The file has more bytes than its header says.
    Surplus {
        length: u64,
        expected: u64,
    },
    /// The elements are in Fortran order, which only matters with two axes and more.
    FortranOrder,
    /// The elements are of this type, where integers are wanted.
    NoIntegers(String),
    /// The array has no axis, so no rows.
    NoRows,
    /// The type's text does not fit a header of version 1.0.
    DescrTooLong,
    /// The bytes to write are no whole rows, or of other rows than announced.
    PartialRow {
        bytes: usize,
        row: usize,
    },
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Magic => f.write_str("not a .npy file: it does not start with \\x93NUMPY"),
            Error::Version(major, minor) => {
                write!(f, ".npy format version {major}.{minor} is not known")
            }
            Error::CutHeader => f.write_str("the file ends inside its .npy header"),
            Error::LongHeader(length) => write!(f, "a .npy header of {length} bytes"),
            Error::Header { offset, expected } => {
                write!(f, "broken .npy header: {expected} expected at byte {offset}")
            }
            Error::Type(descr) => write!(f, "the .npy type {descr} is not known"),
            Error::Pickled => f.write_str("the .npy file holds pickled objects"),
            Error::Overflow => f.write_str("the .npy header gives an impossible shape"),
            Error::Cut { length, expected } => {
                write!(f, "the .npy file is cut: {length} bytes, its header needs {expected}")
            }
            Error::Surplus { length, expected } => {
                write!(f, "the .npy file is too long: {length} bytes, its header needs {expected}")
            }
            Error::FortranOrder => f.write_str("the .npy array is in Fortran order"),
            Error::NoIntegers(descr) => {
                write!(f, "the .npy array is of {descr}, not of integers")
            }
            Error::NoRows => f.write_str("the .npy array is a single value, no rows"),
            Error::DescrTooLong => {
                f.write_str("the type does not fit a .npy header of version 1.0")
            }
            Error::PartialRow { bytes, row } => {
                write!(f, "{bytes} bytes are no whole rows of {row}")
            }
            Error::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

#[cfg(test)]
mod tests;
