//! NumPy's `.npy` files: headers read and written, rows written and mapped.
//!
//! The types come from the crate `npyz`. Headers are read here (`literal.rs` says why) and written here, byte for
//! byte as `numpy.save` does (npyz writes other text), so that the number of rows can be patched at the end. Files
//! are mapped here. Rows are bytes; their readers know what they mean. Pickled arrays are refused.
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

mod dtype;
mod header;
mod integers;
mod literal;
mod read;
mod write;

use gristmill_stream::wording::exactly;
use std::io;

pub use dtype::{Scalar, descr, elements, field, is_padding};
pub use header::ArrayHeader;
pub use integers::Integers;
pub use npyz::{AutoSerialize, DType, Field, TypeChar};
pub use read::MappedArray;
pub use write::{FinishedArray, Writer};

/// Why a `.npy` file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("not a .npy file: it does not start with \\x93NUMPY")]
    Magic,
    /// The format version is not 1.0, 2.0 or 3.0.
    #[error(".npy format version {0}.{1} is not known")]
    Version(u8, u8),
    #[error("the file ends inside its .npy header")]
    CutHeader,
    /// The header is longer than the header of any array that is read here.
    #[error("a .npy header of {0} bytes")]
    LongHeader(usize),
    /// The header is not a literal of a dictionary; the offset is in bytes of the header.
    #[error("broken .npy header: {expected} expected at byte {offset}")]
    Syntax { offset: usize, expected: &'static str },
    /// The dictionary is not a header.
    #[error("broken .npy header: {0}")]
    Header(String),
    /// This type is not read here.
    #[error("the .npy type '{0}' is not known")]
    Type(String),
    #[error("the .npy file holds pickled objects")]
    Pickled,
    /// The shape has more bytes than can be counted.
    #[error("the .npy header gives an impossible shape")]
    Overflow,
    #[error("the .npy file is cut: {}, its header needs {expected}", exactly(*.length, "byte"))]
    Cut { length: u64, expected: u64 },
    #[error("the .npy file is too long: {}, its header needs {expected}", exactly(*.length, "byte"))]
    Surplus { length: u64, expected: u64 },
    /// Fortran order matters only with two axes or more.
    #[error("the .npy array is in Fortran order")]
    FortranOrder,
    #[error("the .npy array is of {0}, not of integers")]
    NoIntegers(String),
    /// The array has no axis.
    #[error("the .npy array is a single value, no rows")]
    NoRows,
    #[error("the type does not fit a .npy header of version 1.0")]
    DescrTooLong,
    #[error("{}, which is not in whole rows of {row}", exactly(*bytes, "byte"))]
    PartialRow { bytes: usize, row: usize },
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error(transparent)]
    Write(io::Error),
}

/// The caller, who knows the file, adds the place.
impl From<Error> for gristmill_stream::error::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Read(error) => Self::reading(&error),
            Error::Write(error) => Self::writing(&error),
            other => Self::data(other),
        }
    }
}

#[cfg(test)]
mod tests;
