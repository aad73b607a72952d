//! `metadata.db` of a pack or pool: a SQLite file with one row for each run, and with what else is
//! known about the session that made the runs.
//!
//! ```sql
//! runs(id INTEGER PRIMARY KEY, seed BIGINT, steps INT, max_score INT, highest_tile INT)
//! session(meta_key TEXT PRIMARY KEY, meta_value TEXT)
//! ```
//!
//! A seed of 2^63 or more is stored as the same 64 bits, negative. This module does not
//! know rows of steps, and does not choose what goes into `session`.

mod read;
mod write;

use std::ffi::c_int;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ffi};

pub use read::DatabaseReader;
pub use write::DatabaseWriter;

use crate::error::Error;

/// One row of `runs`. In another program's pool any column except `id` may be null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRow {
    pub id: u64,
    pub seed: Option<u64>,
    /// How many rows of the pool belong to this run.
    pub steps: Option<u64>,
    pub max_score: Option<u64>,
    /// The largest tile itself, not its exponent.
    pub highest_tile: Option<u64>,
}

/// Returns the key of `session` under which a run's sidecar is kept.
pub fn run_key(id: u64) -> String {
    format!("run.{id}")
}

/// Returns the run to which a key of `session` belongs; `None` for the pool's own keys.
pub fn run_of_key(key: &str) -> Option<u64> {
    let digits = key.strip_prefix("run.")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}

/// An error of a database, with its path.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", .path.display())]
pub struct DatabaseError {
    pub path: PathBuf,
    #[source]
    pub cause: DatabaseCause,
}

#[derive(Debug, thiserror::Error)]
pub enum DatabaseCause {
    #[error("the file exists")]
    Exists,
    #[error("no such file")]
    Missing,
    #[error("not a valid SQLite database")]
    NotADatabase,
    #[error("no table `runs` with a column `id`")]
    NoRuns,
    /// A value has the wrong type for its column; `row` names the row by its key.
    #[error("`{table}` row {row}: `{column}` has a value of the wrong type")]
    Value { table: &'static str, row: String, column: &'static str },
    /// A number does not fit SQLite's signed 64 bits.
    #[error("`{column}` is too large for SQLite: {value}")]
    Large { column: &'static str, value: u64 },
    /// This file beside the database holds changes that are not in it.
    #[error("is not complete: the rest of it is in {}", .0.display())]
    Journal(PathBuf),
    #[error("a query takes far more steps than its size explains")]
    Endless,
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    #[error("{0}")]
    Io(std::io::Error),
}

/// An error in reading.
impl From<DatabaseError> for Error {
    fn from(DatabaseError { path, cause }: DatabaseError) -> Error {
        let error = match cause {
            DatabaseCause::Io(error) => Error::reading(&error),
            DatabaseCause::Missing => Error::usage(cause),
            DatabaseCause::Sqlite(ref error) if is_unavailable(error) => Error::unavailable(cause),
            _ => Error::data(cause),
        };
        error.at(path.as_path())
    }
}

impl DatabaseError {
    fn new(path: &Path, cause: DatabaseCause) -> DatabaseError {
        DatabaseError { path: path.to_owned(), cause }
    }

    /// Returns this error if it is about the data. Fails with it if the database just cannot be read now.
    pub fn or_unavailable(self) -> Result<DatabaseError, Error> {
        match &self.cause {
            DatabaseCause::Io(_) => Err(self.into()),
            DatabaseCause::Sqlite(error) if is_unavailable(error) => Err(self.into()),
            _ => Ok(self),
        }
    }

    fn sqlite(path: &Path, error: rusqlite::Error) -> DatabaseError {
        let cause = match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                DatabaseCause::NotADatabase
            }
            Some(rusqlite::ErrorCode::OperationInterrupted) => DatabaseCause::Endless,
            _ => DatabaseCause::Sqlite(error),
        };
        DatabaseError::new(path, cause)
    }

    /// Returns the error of a call on an open database. SQLite calls a file damaged if reading it fails
    /// (EIO); the system's error tells the two cases apart.
    fn of_connection(
        path: &Path,
        error: rusqlite::Error,
        connection: &Connection,
    ) -> DatabaseError {
        let error = DatabaseError::sqlite(path, error);
        match (&error.cause, last_system_error(connection)) {
            (DatabaseCause::NotADatabase, Some(system)) => {
                DatabaseError::new(path, DatabaseCause::Io(system))
            }
            _ => error,
        }
    }
}

/// Returns the system error of the last failed call on the database file.
fn last_system_error(connection: &Connection) -> Option<io::Error> {
    let mut number: c_int = 0;
    // SAFETY: the connection is open, a null name means "main", and this request only writes one
    // int to the pointer.
    let answer = unsafe {
        let (main, request) = (std::ptr::null(), ffi::SQLITE_FCNTL_LAST_ERRNO);
        ffi::sqlite3_file_control(connection.handle(), main, request, (&raw mut number).cast())
    };
    (answer == ffi::SQLITE_OK && number != 0).then(|| io::Error::from_raw_os_error(number))
}

/// Whether an SQLite error says nothing about the data.
fn is_unavailable(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, FileLockingProtocolFailed, OutOfMemory,
        SystemIoFailure,
    };
    let codes = [
        CannotOpen,
        DatabaseBusy,
        DatabaseLocked,
        DiskFull,
        FileLockingProtocolFailed,
        OutOfMemory,
        SystemIoFailure,
    ];
    error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
}

/// Returns the files that SQLite may leave beside a database that was not closed properly.
pub fn journals(path: &Path) -> Result<Vec<PathBuf>, DatabaseError> {
    let beside = ["-wal", "-shm", "-journal"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    let mut there = Vec::new();
    for path in beside {
        match path.try_exists() {
            Ok(true) => there.push(path),
            Ok(false) => {}
            Err(error) => return Err(DatabaseError::new(&path, DatabaseCause::Io(error))),
        }
    }
    Ok(there)
}

#[cfg(test)]
mod tests;
