//! Reads without write permission, and leaves no files.

use std::ffi::c_int;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};

use super::{DatabaseCause, DatabaseError, RunRow, journals, last_system_error};
use crate::files::open_member;

/// Reads a database. Older pools may lack the table `session`, or columns of `runs`.
#[derive(Debug)]
pub struct DatabaseReader {
    connection: Connection,
    path: PathBuf,
    limit: StepLimit,
    /// The columns of `runs`, with `NULL` for missing ones.
    run_columns: String,
    missing: Vec<&'static str>,
    has_session: bool,
    /// Whether something else has the name `session`.
    has_other_session: bool,
}

const COLUMNS: [&str; 5] = ["id", "seed", "steps", "max_score", "highest_tile"];

impl DatabaseReader {
    /// Opens `path` for reading only. SQLite is told that nobody changes the file, so it neither locks
    /// the file nor makes files beside it, even in WAL mode.
    pub fn open(path: &Path) -> Result<DatabaseReader, DatabaseError> {
        let failed = |error| DatabaseError::new(path, DatabaseCause::Io(error));
        let file = match open_member(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(DatabaseError::new(path, DatabaseCause::Missing));
            }
            Err(error) => return Err(failed(error)),
        };
        let bytes = file.metadata().map_err(failed)?.len();
        for journal in journals(path)? {
            let holds = holds_changes(&journal);
            if holds.map_err(|error| DatabaseError::new(&journal, DatabaseCause::Io(error)))? {
                return Err(DatabaseError::new(path, DatabaseCause::Journal(journal)));
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(immutable_uri(path), flags)
            .map_err(|error| DatabaseError::sqlite(path, error))?;
        DatabaseReader::over(connection, path, bytes)
    }

    fn over(
        mut connection: Connection,
        path: &Path,
        bytes: u64,
    ) -> Result<DatabaseReader, DatabaseError> {
        let limit = StepLimit::of(&mut connection, bytes);
        let limit = limit.map_err(|error| DatabaseError::sqlite(path, error))?;
        let named = |error| DatabaseError::of_connection(path, error, &connection);
        // A view may be any query, even an endless one.
        let is_table = |name: &str| -> Result<bool, DatabaseError> {
            let sql = "SELECT 1 FROM sqlite_schema WHERE lower(name) = ?1 AND type = 'table'";
            let found = connection.query_row(sql, [name], |_| Ok(()));
            Ok(found.optional().map_err(named)?.is_some())
        };
        let has = |table: &str, column: &str| -> Result<bool, DatabaseError> {
            let sql = "SELECT 1 FROM pragma_table_info(?1) WHERE lower(name) = ?2";
            let found = connection.query_row(sql, [table, column], |_| Ok(()));
            Ok(is_table(table)? && found.optional().map_err(named)?.is_some())
        };
        if !has("runs", "id")? {
            return Err(DatabaseError::new(path, DatabaseCause::NoRuns));
        }
        let (mut run_columns, mut missing) = (Vec::new(), Vec::new());
        for column in COLUMNS {
            if has("runs", column)? {
                run_columns.push(column);
            } else {
                run_columns.push("NULL");
                missing.push(column);
            }
        }
        let has_session = has("session", "meta_key")? && has("session", "meta_value")?;
        let named_session = "SELECT 1 FROM sqlite_schema WHERE lower(name) = 'session'";
        let named_session = connection.query_row(named_session, [], |_| Ok(()));
        let is_named = named_session.optional().map_err(named)?.is_some();
        let has_other_session = is_named && !has_session;
        let run_columns = run_columns.join(", ");
        let path = path.to_owned();
        Ok(DatabaseReader {
            connection,
            path,
            limit,
            run_columns,
            missing,
            has_session,
            has_other_session,
        })
    }

    /// Returns the columns that `runs` lacks.
    pub fn missing_columns(&self) -> &[&'static str] {
        &self.missing
    }

    /// Whether there is a `session` that is not a table of keys.
    pub fn has_other_session(&self) -> bool {
        self.has_other_session
    }

    /// Returns the first defect that SQLite finds in the file itself.
    pub fn damage(&self) -> Result<Option<String>, DatabaseError> {
        self.limit.begin();
        let sql = "PRAGMA quick_check(1)";
        let found: String =
            self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.sqlite(e))?;
        // A page that the system cannot read is reported as a defect too.
        match last_system_error(&self.connection).filter(|_| found != "ok") {
            Some(error) => Err(DatabaseError::new(&self.path, DatabaseCause::Io(error))),
            None => Ok((found != "ok").then_some(found)),
        }
    }

    /// Returns the number of rows of `runs`.
    pub fn run_count(&self) -> Result<u64, DatabaseError> {
        self.limit.begin();
        let count = self.connection.query_row("SELECT count(*) FROM runs", [], |row| row.get(0));
        count.map(|count: i64| count as u64).map_err(|error| self.sqlite(error))
    }

    /// Calls `f` with every run, by ascending id, in constant memory. An error of `f` is the inner
    /// error, and ends the reading.
    pub fn runs<E>(
        &self,
        mut f: impl FnMut(RunRow) -> Result<(), E>,
    ) -> Result<Result<(), E>, DatabaseError> {
        let sql = format!("SELECT {} FROM runs ORDER BY id", self.run_columns);
        let mut statement = self.connection.prepare(&sql).map_err(|e| self.sqlite(e))?;
        self.limit.begin();
        let mut rows = statement.query([]).map_err(|e| self.sqlite(e))?;
        while let Some(row) = rows.next().map_err(|e| self.sqlite(e))? {
            if let Err(error) = f(self.run_of(row)?) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Returns the run with this id.
    pub fn run(&self, id: u64) -> Result<Option<RunRow>, DatabaseError> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        let sql = format!("SELECT {} FROM runs WHERE id = ?1", self.run_columns);
        let mut statement = self.connection.prepare_cached(&sql).map_err(|e| self.sqlite(e))?;
        self.limit.begin();
        let mut rows = statement.query([id]).map_err(|e| self.sqlite(e))?;
        let row = rows.next().map_err(|e| self.sqlite(e))?;
        row.map(|row| self.run_of(row)).transpose()
    }

    /// Returns the session's value of this key.
    pub fn session(&self, key: &str) -> Result<Option<String>, DatabaseError> {
        if !self.has_session {
            return Ok(None);
        }
        let sql = "SELECT meta_value FROM session WHERE meta_key = ?1";
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| self.sqlite(e))?;
        self.limit.begin();
        let mut rows = statement.query([key]).map_err(|e| self.sqlite(e))?;
        match rows.next().map_err(|e| self.sqlite(e))? {
            Some(row) => self.text(row, 0, key, "meta_value"),
            None => Ok(None),
        }
    }

    /// Calls `f` with every key of the session that is not null, and its value, ordered by the
    /// bytes of the key; errors are as in [`DatabaseReader::runs`].
    pub fn session_keys<E>(
        &self,
        mut f: impl FnMut(&str, Option<&str>) -> Result<(), E>,
    ) -> Result<Result<(), E>, DatabaseError> {
        if !self.has_session {
            return Ok(Ok(()));
        }
        let sql = "SELECT meta_key, meta_value FROM session WHERE meta_key IS NOT NULL \
                   ORDER BY meta_key COLLATE BINARY";
        let mut statement = self.connection.prepare(sql).map_err(|e| self.sqlite(e))?;
        self.limit.begin();
        let mut rows = statement.query([]).map_err(|e| self.sqlite(e))?;
        while let Some(row) = rows.next().map_err(|e| self.sqlite(e))? {
            let key = self.text(row, 0, "?", "meta_key")?.unwrap_or_default();
            let value = self.text(row, 1, &key, "meta_value")?;
            if let Err(error) = f(&key, value.as_deref()) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn sqlite(&self, error: rusqlite::Error) -> DatabaseError {
        DatabaseError::of_connection(&self.path, error, &self.connection)
    }

    fn run_of(&self, row: &Row<'_>) -> Result<RunRow, DatabaseError> {
        let integer = |index: usize| -> Result<Option<i64>, DatabaseError> {
            match row.get_ref(index).map_err(|e| self.sqlite(e))? {
                ValueRef::Null => Ok(None),
                ValueRef::Integer(value) => Ok(Some(value)),
                _ => {
                    let id: i64 = row.get(0).unwrap_or_default();
                    Err(self.value("runs", id.to_string(), COLUMNS[index]))
                }
            }
        };
        let id = integer(0)?.unwrap_or_default();
        let unsigned = |index: usize| -> Result<Option<u64>, DatabaseError> {
            let wrong = |_| self.value("runs", id.to_string(), COLUMNS[index]);
            integer(index)?.map(u64::try_from).transpose().map_err(wrong)
        };
        Ok(RunRow {
            id: unsigned(0)?.unwrap_or_default(),
            seed: integer(1)?.map(|seed| seed as u64),
            steps: unsigned(2)?,
            max_score: unsigned(3)?,
            highest_tile: unsigned(4)?,
        })
    }

    fn text(
        &self,
        row: &Row<'_>,
        index: usize,
        key: &str,
        column: &'static str,
    ) -> Result<Option<String>, DatabaseError> {
        let wrong = || self.value("session", format!("\"{key}\""), column);
        match row.get_ref(index).map_err(|e| self.sqlite(e))? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => {
                Ok(Some(std::str::from_utf8(text).map_err(|_| wrong())?.to_owned()))
            }
            // A column of type TEXT turns numbers into text, so a number here comes from another
            // schema.
            ValueRef::Integer(value) => Ok(Some(value.to_string())),
            _ => Err(wrong()),
        }
    }

    fn value(&self, table: &'static str, row: String, column: &'static str) -> DatabaseError {
        DatabaseError::new(&self.path, DatabaseCause::Value { table, row, column })
    }
}

/// Ends a query that takes more SQLite steps than any query on a file of this size needs: a damaged
/// or hostile schema can ask for endless ones.
#[derive(Debug)]
struct StepLimit(Arc<AtomicU64>);

/// Steps between two looks at the limit.
const STEPS: c_int = 1000;
/// A query may take this many steps, and more for each byte: a row takes at least six bytes, and at
/// most a few steps for each of its columns and indices.
const LEAST_STEPS: u64 = 1_000_000;
const STEPS_OF_BYTE: u64 = 16;

impl StepLimit {
    fn of(connection: &mut Connection, bytes: u64) -> rusqlite::Result<StepLimit> {
        let steps = bytes.saturating_mul(STEPS_OF_BYTE).saturating_add(LEAST_STEPS);
        let most = steps / STEPS as u64;
        let taken = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&taken);
        let is_over = move || counter.fetch_add(1, Ordering::Relaxed) >= most;
        connection.progress_handler(STEPS, Some(is_over))?;
        Ok(StepLimit(taken))
    }

    /// Starts the count of the next query.
    fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Whether a file beside a database holds changes that are not in it: a WAL log has frames after
/// its header of 32 bytes, and a journal that must be rolled back does not begin with 0.
fn holds_changes(journal: &Path) -> io::Result<bool> {
    const LOG_HEADER: u64 = 32;
    let name = journal.as_os_str().as_encoded_bytes();
    if name.ends_with(b"-shm") {
        return Ok(false);
    }
    let mut file = open_member(journal)?;
    if name.ends_with(b"-wal") {
        return Ok(file.metadata()?.len() > LOG_HEADER);
    }
    let mut first = [0];
    Ok(file.read(&mut first)? > 0 && first != [0])
}

/// Returns the URI under which SQLite reads a file without looking for others beside it.
fn immutable_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    // In a path that begins with two slashes the first part would be taken for a host.
    let mut uri = if path.is_absolute() { "file://" } else { "file:" }.to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(byte as char);
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri + "?mode=ro&immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_without_end_is_ended() {
        let mut connection = Connection::open_in_memory().unwrap();
        let limit = StepLimit::of(&mut connection, 4096).unwrap();
        let count = |end: &str| -> Result<i64, String> {
            limit.begin();
            let sql = format!(
                "WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id FROM n {end}) \
                 SELECT count(*) FROM n"
            );
            let count = connection.query_row(&sql, [], |row| row.get(0));
            count.map_err(|error| DatabaseError::sqlite(Path::new("DB"), error).to_string())
        };
        let ended = Err("DB: a query takes far more steps than its size explains".to_string());
        for _ in 0..50 {
            assert_eq!(count("LIMIT 9999"), Ok(9999));
        }
        assert_eq!(count(""), ended);
        assert_eq!(count("LIMIT 9999"), Ok(9999));
    }
}
