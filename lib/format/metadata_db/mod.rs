//! `metadata.db` of a pack or pool: a SQLite file with one row a run, and what else is
//! known of the session that made them.
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

use std::path::{Path, PathBuf};

pub use read::DatabaseReader;
pub use write::DatabaseWriter;

use crate::error::Error;

/// One row of `runs`. In a pool of another program any column but `id` may be null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRow {
    pub id: u64,
    pub seed: Option<u64>,
    /// Rows of this run in the pool.
    pub steps: Option<u64>,
    pub max_score: Option<u64>,
    /// The largest tile itself, not its exponent.
    pub highest_tile: Option<u64>,
}

/// The key of `session` under which a run's sidecar is kept.
pub fn run_key(id: u64) -> String {
    format!("run.{id}")
}

/// The run that a key of `session` belongs to; `None` for the pool's own keys.
pub fn run_of_key(key: &str) -> Option<u64> {
    let digits = key.strip_prefix("run.")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}

/// What went wrong with which database.
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
    /// A value is not what its column holds; `row` names the row by its key.
    #[error("`{table}` row {row}: `{column}` has a value of the wrong type")]
    Value { table: &'static str, row: String, column: &'static str },
    /// A number does not fit SQLite's signed 64 bits.
    #[error("`{column}` is too large for SQLite: {value}")]
    Large { column: &'static str, value: u64 },
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    #[error("{0}")]
    Io(std::io::Error),
}

/// An error of reading.
impl From<DatabaseError> for Error {
    fn from(DatabaseError { path, cause }: DatabaseError) -> Error {
        let error = match cause {
            DatabaseCause::Io(error) => Error::reading(&error),
            DatabaseCause::Missing => Error::usage(cause),
            _ => Error::data(cause),
        };
        error.at(path.as_path())
    }
}

impl DatabaseError {
    fn new(path: &Path, cause: DatabaseCause) -> DatabaseError {
        DatabaseError { path: path.to_owned(), cause }
    }

    fn sqlite(path: &Path, error: rusqlite::Error) -> DatabaseError {
        let cause = match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                DatabaseCause::NotADatabase
            }
            _ => DatabaseCause::Sqlite(error),
        };
        DatabaseError::new(path, cause)
    }
}

/// The files that SQLite may leave beside a database that was not closed properly.
pub fn journals(path: &Path) -> Vec<PathBuf> {
    let beside = ["-wal", "-shm", "-journal"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    beside.into_iter().filter(|path| path.exists()).collect()
}

#[cfg(test)]
mod tests;
