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
    message: String,
}

impl Error {
    /// A malformed input; `place` is a file, `file:line`, or a file and its task.
    pub fn data(place: impl fmt::Display, cause: impl fmt::Display) -> Error {
        Error { kind: ErrorKind::Data, message: format!("{place}: {cause}") }
    }

    pub fn option(cause: impl fmt::Display) -> Error {
        Error { kind: ErrorKind::Option, message: cause.to_string() }
    }

    pub fn io(path: &Path, cause: &io::Error) -> Error {
        Error { kind: ErrorKind::Io(cause.kind()), message: format!("{}: {cause}", path.display()) }
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
