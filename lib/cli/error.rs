//! The one error type of everything that touches files and streams, and the exit codes.
//!
//! Domain modules have error types of their own (they know no files); they become an
//! [`Error`] where the place is known.

use std::fmt;
use std::io;
use std::path::Path;

/// What an error means for whoever runs the command; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The data is bad: trying again is pointless.
    Data,
    /// The command line is wrong, or an input is missing.
    Usage,
    /// The job could not be done now (I/O error, disk full, the producer died): a scheduler
    /// may try again.
    Unavailable,
}

impl Kind {
    /// The exit codes of every filter, in this one table.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Data => 1,
            Kind::Usage => 2,
            Kind::Unavailable => 75,
        }
    }
}

/// One line for the user: the place, the cause last. The tool's name is put before it by
/// [`crate::cli::main`].
#[derive(Debug, Clone)]
pub struct Error {
    pub kind: Kind,
    message: String,
    truncation: bool,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn data(message: impl fmt::Display) -> Error {
        Error { kind: Kind::Data, message: message.to_string(), truncation: false }
    }

    pub fn usage(message: impl fmt::Display) -> Error {
        Error { kind: Kind::Usage, message: message.to_string(), truncation: false }
    }

    pub fn unavailable(message: impl fmt::Display) -> Error {
        Error { kind: Kind::Unavailable, message: message.to_string(), truncation: false }
    }

    /// An I/O error at a place. A file that is missing or may not be opened is a usage error, a
    /// decoder's complaint about the bytes is bad data, all else may be tried again.
    pub fn io(place: impl fmt::Display, error: &io::Error) -> Error {
        let kind = match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory => Kind::Usage,
            io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof => Kind::Data,
            io::ErrorKind::Other if error.raw_os_error().is_none() => Kind::Data,
            _ => Kind::Unavailable,
        };
        Error { kind, message: format!("{place}: {}", os_cause(error)), truncation: false }
    }

    /// An I/O error while writing an output: nothing is wrong with the data.
    pub fn write(place: impl fmt::Display, error: &io::Error) -> Error {
        let kind = match error.kind() {
            // The directory of an output cannot be made where a file stands.
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory => Kind::Usage,
            _ => Kind::Unavailable,
        };
        Error { kind, message: format!("{place}: {}", os_cause(error)), truncation: false }
    }

    /// The same error with a place put before its message.
    pub fn at(self, place: impl fmt::Display) -> Error {
        Error { message: format!("{place}: {}", self.message), ..self }
    }

    /// The same error, of an input that ends too early.
    pub fn truncation(self) -> Error {
        Error { truncation: true, ..self }
    }

    /// Whether an input ended too early.
    pub fn is_truncation(&self) -> bool {
        self.truncation
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One error is one line, whatever a library put into its text.
        let mut lines = self.message.lines().map(str::trim).filter(|line| !line.is_empty());
        f.write_str(lines.next().unwrap_or(""))?;
        lines.try_for_each(|line| write!(f, " {line}"))
    }
}

impl std::error::Error for Error {}

/// Arrow refuses what does not fit together: columns of different lengths, batches past 2^31.
impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Error {
        Error::data(error)
    }
}

/// The system's own words, without Rust's "(os error 28)".
fn os_cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

/// A path as it stands in messages.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
