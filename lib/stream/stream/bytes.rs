//! The bytes of an input, and the errors of bytes that cannot be read or end too early.

use std::io::{self, Read};

use crate::error::{Error, Place};
use crate::way_on;

/// A stream of bytes.
pub type Bytes = Box<dyn Read + Send>;

/// Returns the error of reading an input. A stdin that ends too early means that its producer died,
/// and another try may help; a file that ends too early is broken.
pub fn read_error(name: &str, is_piped: bool, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return cut(name, is_piped, "the compressed data ends too early");
    }
    // (zstd's own error, which has no kind: a window above 128 MiB.)
    if error.to_string().contains("requires too much memory for decoding") {
        let way = way_on::through("zstd -dc --long=31", name);
        return Error::data("its zstd window is larger than 128 MiB").at(name).hint(way);
    }
    Error::io(name, error)
}

/// Returns the error of an input that was cut short.
pub fn cut(place: impl Into<Place>, is_piped: bool, cause: &str) -> Error {
    let error = if is_piped {
        Error::unavailable(format!("{cause} (the program before this one died?)"))
    } else {
        Error::data(format!("{cause}; the file is truncated"))
    };
    error.at(place).truncation()
}
