//! Raw Macroxue self-play logs: folders of games, each a metadata sidecar
//! (`X.meta.json` or `X.meta.json.gz`) and its steps (`X.jsonl.gz`).
//!
//! [`list`] finds the games in their defined order, a [`Decoder`] turns one into a
//! [`Game`](crate::game2048::Game). Nothing here numbers, packs or writes.

mod decimal;
mod decode;
mod defect;
mod fast;
mod inflate;
mod masks;
mod meta;
mod piece;
mod step;
mod walk;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use decode::Decoder;
pub use defect::Defect;
pub use walk::{GameFile, list};

/// Which branches of a step count as legal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Legality {
    /// Those that the board can move and that have a value. Values of others are dropped.
    #[default]
    Board,
    /// Those that have a value: the older rule.
    Values,
}

/// What went wrong, and where.
#[derive(Debug)]
pub struct Error {
    pub path: PathBuf,
    /// Line of the file, from 1, where there is one to name.
    pub line: Option<u64>,
    pub cause: Cause,
}

/// What went wrong, and by that what may be done about it.
#[derive(Debug)]
pub enum Cause {
    /// The input folder is not there.
    Missing,
    /// The input is no folder.
    NotAFolder,
    /// The folder holds no game.
    NoGames,
    /// A folder contains itself through a symbolic link to this ancestor.
    Cycle(PathBuf),
    /// The game is bad. It can be skipped, the run can go on.
    Bad(Defect),
    /// Reading failed; the data may be good.
    Io(io::Error),
}

impl Error {
    fn new(path: &Path, line: Option<u64>, cause: Cause) -> Error {
        Error { path: path.to_owned(), line, cause }
    }

    fn bad(path: &Path, line: Option<u64>, defect: Defect) -> Error {
        Error::new(path, line, Cause::Bad(defect))
    }

    fn io(path: &Path, error: io::Error) -> Error {
        Error::new(path, None, Cause::Io(error))
    }

    /// The defect, if the error is a bad game.
    pub fn defect(&self) -> Option<&Defect> {
        match &self.cause {
            Cause::Bad(defect) => Some(defect),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.cause {
            Cause::NoGames => return write!(f, "no games under {path}"),
            Cause::Missing => return write!(f, "{path}: no such folder"),
            _ => write!(f, "{path}:")?,
        }
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        match &self.cause {
            Cause::Bad(defect) => write!(f, " {defect}"),
            Cause::Io(error) => write!(f, " {error}"),
            Cause::Cycle(ancestor) => write!(
                f,
                " the link leads back to {}, a folder that it stands in",
                ancestor.display()
            ),
            _ => f.write_str(" not a folder"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Io(error) => Some(error),
            Cause::Bad(defect) => Some(defect),
            _ => None,
        }
    }
}
