//! What can go wrong in the puzzle domains, with its place. The library decides no exit code;
//! [`Error::kind`] says what an error means, and the filter's table does the rest.

use std::fmt;
use std::io;
use std::path::Path;

/// What an error means for whoever started the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An input is malformed: trying again is pointless.
    Data,
    /// An option makes no sense, or an input is missing.
    Option,
    /// An input could not be read; the [`io::ErrorKind`] says whether trying again helps.
    Io(io::ErrorKind),
}

/// One line: the place (file, line or task), then the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    /// File, or file and task; none for an option.
    place: Option<String>,
    line: Option<u64>,
    cause: String,
}

impl Error {
    /// A malformed input; `place` is a file, or a file and its task.
    pub fn data(place: impl fmt::Display, cause: impl fmt::Display) -> Error {
        let (place, cause) = (Some(place.to_string()), cause.to_string());
        Error { kind: ErrorKind::Data, place, line: None, cause }
    }

    /// A malformed line of a file.
    pub fn line(path: &Path, line: u64, cause: impl fmt::Display) -> Error {
        Error { line: Some(line), ..Error::data(path.display(), cause) }
    }

    pub fn option(cause: impl fmt::Display) -> Error {
        Error { kind: ErrorKind::Option, place: None, line: None, cause: cause.to_string() }
    }

    pub fn io(path: &Path, cause: &io::Error) -> Error {
        // Without Rust's "(os error 2)".
        let text = cause.to_string();
        let text = text.split(" (os error ").next().unwrap_or_default();
        Error { kind: ErrorKind::Io(cause.kind()), ..Error::data(path.display(), text) }
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file, without the line.
    pub fn place(&self) -> &str {
        self.place.as_deref().unwrap_or_default()
    }

    pub fn line_number(&self) -> Option<u64> {
        self.line
    }

    /// What is wrong, without the place.
    pub fn cause(&self) -> &str {
        &self.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            f.write_str(place)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Error {}
