//! Raw Macroxue self-play logs: folders of games, each a metadata sidecar
//! (`X.meta.json` or `X.meta.json.gz`) and its steps (`X.jsonl.gz`).
//!
//! [`list`] finds the games in their defined order, a [`Decoder`] turns one into a
//! [`Game`](crate::game2048::Game). Nothing here numbers, packs or writes.

mod decode;
mod defect;
mod fast;
mod inflate;
mod meta;
mod step;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::{RejectedContent, Rejection};
use crate::error::{self, Place, Position, shown};

pub use decode::Decoder;
pub use defect::Defect;
pub use walk::{GameFile, list};

/// Which branches of a step count as legal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Legality {
    /// Branches that the board can move and that have a value. Values of other branches are
    /// dropped.
    #[default]
    Board,
    /// Branches that have a value: the older rule.
    Values,
}

impl Legality {
    /// Returns its name in headers and manifests.
    pub fn name(self) -> &'static str {
        match self {
            Legality::Board => "board",
            Legality::Values => "values",
        }
    }
}

/// An error with its place.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_error())]
pub struct Error {
    pub path: PathBuf,
    /// The line of the file, from 1, if there is one.
    pub line: Option<u64>,
    pub cause: Cause,
}

/// The cause of an error, which decides what can be done about it.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    #[error("no such folder")]
    Missing,
    #[error("not a folder")]
    NotAFolder,
    #[error("no games")]
    NoGames,
    /// A folder contains itself through a symbolic link to this ancestor.
    #[error("the link leads back to {}, a folder that it stands in", .0.display())]
    Cycle(PathBuf),
    /// The game is bad. It can be skipped, and the run can go on.
    #[error(transparent)]
    Bad(Defect),
    /// Reading failed; the data may be good.
    #[error(transparent)]
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

    /// Returns the defect, if the error is a bad game.
    pub fn defect(&self) -> Option<&Defect> {
        match &self.cause {
            Cause::Bad(defect) => Some(defect),
            _ => None,
        }
    }
}

impl Error {
    /// Returns file and line, if there is a line.
    fn place(&self) -> Place {
        let position = self.line.map_or(Position::Whole, Position::Line);
        Place { source: shown(&self.path).into(), position }
    }

    fn to_error(&self) -> error::Error {
        let (cause, place) = (&self.cause, self.place());
        match cause {
            Cause::Io(cause) => error::Error::io(place, cause),
            Cause::Missing | Cause::NotAFolder => error::Error::usage(cause).at(place),
            Cause::Cycle(_) | Cause::Bad(_) => error::Error::data(cause).at(place),
            Cause::NoGames => error::Error::data(format!("no games under {place}")),
        }
    }
}

/// An error that is not the fault of a game ends the run.
impl From<Error> for error::Error {
    fn from(error: Error) -> error::Error {
        error.to_error()
    }
}

/// Returns a rejection of a bad game with its file and line; any other error ends the run.
pub fn rejection(file: &GameFile, error: Error) -> error::Result<Rejection> {
    let Some(defect) = error.defect() else { return Err(error.into()) };
    let input = json!({"run_id": file.run_id, "source": shown(file.name())}).to_string();
    let (place, reason) = (error.place(), defect.to_string());
    Ok(Rejection { place, id: None, reason, input: RejectedContent::json(move || input) })
}
