//! What can go wrong in the puzzle domains, with its place.

use std::fmt;
use std::io;
use std::path::Path;

use crate::error::{self, Place};

/// An error in one line: the place (file, line or task), then the cause.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// An input is malformed: trying again is pointless.
    #[error("{place}: {cause}")]
    Data { place: Place, cause: String },
    /// An argument makes no sense, or an input is missing.
    #[error("{0}")]
    Usage(String),
    /// An input could not be read, or the rejected inputs could not be written.
    #[error(transparent)]
    Outside(#[from] error::Error),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes the error of a malformed input; `place` is a file, or a file and its task.
    pub fn data(place: impl fmt::Display, cause: impl fmt::Display) -> Error {
        Error::Data { place: place.to_string().into(), cause: cause.to_string() }
    }

    /// Makes the error of a malformed line of a file.
    pub fn line(path: &Path, line: u64, cause: impl fmt::Display) -> Error {
        let place = Place::line(error::shown(path), line);
        Error::Data { place, cause: cause.to_string() }
    }

    pub fn io(path: &Path, cause: &io::Error) -> Error {
        Error::Outside(error::Error::io(path, cause))
    }
}

impl From<Error> for error::Error {
    fn from(error: Error) -> error::Error {
        match error {
            Error::Data { place, cause } => error::Error::data(cause).at(place),
            Error::Usage(cause) => error::Error::usage(cause),
            Error::Outside(error) => error,
        }
    }
}

/// Arguments that clap accepted are not the ones that the domain declares: a bug.
impl From<clap::Error> for Error {
    fn from(error: clap::Error) -> Error {
        Error::Usage(error.to_string())
    }
}
