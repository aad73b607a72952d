//! `metadata.db` of a pack or pool: a SQLite file with one row a run, and what else is
//! known of the session that made them.
//!
//! ```sql
//! runs(id INTEGER PRIMARY KEY, seed BIGINT, steps INT, max_score INT, highest_tile INT)
//! session(meta_key TEXT PRIMARY KEY, meta_value TEXT)
//! ```
//!
//! A seed of 2^63 or more is stored as the same 64 bits, negative. Nothing here knows about
//! rows of steps or chooses what goes into `session`.

mod read;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};

pub use read::Reader;
pub use write::Writer;

/// One row of `runs`. In a pool of others any column but `id` may be null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
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
#[derive(Debug)]
pub struct Error {
    pub path: PathBuf,
    pub cause: Cause,
}

#[derive(Debug)]
pub enum Cause {
    /// The output is there already.
    Exists,
    /// There is no such file.
    Missing,
    /// The file is no SQLite database.
    NotADatabase,
    /// The database has no table `runs` with a column `id`.
    NoRuns,
    /// A value is not what its column holds; `row` names the row by its key.
    Value {
        table: &'static str,
        row: String,
        column: &'static str,
    },
    /// A number does not fit SQLite's signed 64 bits.
    Large {
        column: &'static str,
        value: u64,
    },
    Sqlite(rusqlite::Error),
    Io(std::io::Error),
}

impl Error {
    fn new(path: &Path, cause: Cause) -> Error {
        Error { path: path.to_owned(), cause }
    }

    fn sqlite(path: &Path, error: rusqlite::Error) -> Error {
        let cause = match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                Cause::NotADatabase
            }
            _ => Cause::Sqlite(error),
        };
        Error::new(path, cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Exists => f.write_str("the file exists"),
            Cause::Missing => f.write_str("no such file"),
            Cause::NotADatabase => f.write_str("not a sound SQLite database"),
            Cause::NoRuns => f.write_str("no table `runs` with a column `id`"),
            Cause::Value { table, row, column } => {
                write!(f, "`{table}` row {row}: `{column}` has a value of the wrong type")
            }
            Cause::Large { column, value } => {
                write!(f, "`{column}` is too large for SQLite: {value}")
            }
            Cause::Sqlite(error) => error.fmt(f),
            Cause::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Sqlite(error) => Some(error),
            Cause::Io(error) => Some(error),
            _ => None,
        }
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
