//! Reads without write permission, and leaves no files.

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};

use super::{DatabaseCause, DatabaseError, RunRow, journals, last_system_error};

/// Reads a database. Older pools may lack the table `session`, or columns of `runs`.
#[derive(Debug)]
pub struct DatabaseReader {
    connection: Connection,
    path: PathBuf,
    /// The columns of `runs`, with `NULL` for those that are not there.
    run_columns: String,
    missing: Vec<&'static str>,
    has_session: bool,
}

const COLUMNS: [&str; 5] = ["id", "seed", "steps", "max_score", "highest_tile"];

impl DatabaseReader {
    /// Opens `path` for reading only.
    pub fn open(path: &Path) -> Result<DatabaseReader, DatabaseError> {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(DatabaseError::new(path, DatabaseCause::Missing)),
            Err(error) => return Err(DatabaseError::new(path, DatabaseCause::Io(error))),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let plain = Connection::open_with_flags(path, flags)
            .map_err(|error| DatabaseError::sqlite(path, error))
            .and_then(|connection| DatabaseReader::over(connection, path));
        match plain {
            // A database left in WAL mode cannot be opened where SQLite may not create its
            // files. With no log beside it nothing is missing, so it is read as it is.
            Err(DatabaseError { cause: DatabaseCause::Sqlite(_), .. })
                if journals(path)?.is_empty() =>
            {
                let uri = immutable_uri(path);
                let connection =
                    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
                        .map_err(|error| DatabaseError::sqlite(path, error))?;
                DatabaseReader::over(connection, path)
            }
            other => other,
        }
    }

    pub(super) fn over(
        connection: Connection,
        path: &Path,
    ) -> Result<DatabaseReader, DatabaseError> {
        let named = |error| DatabaseError::of_connection(path, error, &connection);
        let has = |table: &str, column: &str| -> Result<bool, DatabaseError> {
            let sql = "SELECT 1 FROM pragma_table_info(?1) WHERE lower(name) = ?2";
            let found = connection.query_row(sql, [table, column], |_| Ok(()));
            Ok(found.optional().map_err(named)?.is_some())
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
        let run_columns = run_columns.join(", ");
        Ok(DatabaseReader { connection, path: path.to_owned(), run_columns, missing, has_session })
    }

    /// The columns that `runs` does not have.
    pub fn missing_columns(&self) -> &[&'static str] {
        &self.missing
    }

    /// Whether there is a `session` table.
    pub fn has_session(&self) -> bool {
        self.has_session
    }

    /// The first defect that SQLite finds in the file itself.
    pub fn damage(&self) -> Result<Option<String>, DatabaseError> {
        let sql = "PRAGMA quick_check(1)";
        let found: String =
            self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.sqlite(e))?;
        // A page that the system cannot read is in the list too.
        match last_system_error(&self.connection).filter(|_| found != "ok") {
            Some(error) => Err(DatabaseError::new(&self.path, DatabaseCause::Io(error))),
            None => Ok((found != "ok").then_some(found)),
        }
    }

    /// Rows of `runs`.
    pub fn run_count(&self) -> Result<u64, DatabaseError> {
        let count = self.connection.query_row("SELECT count(*) FROM runs", [], |row| row.get(0));
        count.map(|count: i64| count as u64).map_err(|error| self.sqlite(error))
    }

    /// Calls `f` with every run, by ascending id, in constant memory. The inner error is from `f`,
    /// and ends the reading.
    pub fn runs<E>(
        &self,
        mut f: impl FnMut(RunRow) -> Result<(), E>,
    ) -> Result<Result<(), E>, DatabaseError> {
        let sql = format!("SELECT {} FROM runs ORDER BY id", self.run_columns);
        let mut statement = self.connection.prepare(&sql).map_err(|e| self.sqlite(e))?;
        let mut rows = statement.query([]).map_err(|e| self.sqlite(e))?;
        while let Some(row) = rows.next().map_err(|e| self.sqlite(e))? {
            if let Err(error) = f(self.run_of(row)?) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// The run of this id.
    pub fn run(&self, id: u64) -> Result<Option<RunRow>, DatabaseError> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        let sql = format!("SELECT {} FROM runs WHERE id = ?1", self.run_columns);
        let mut statement = self.connection.prepare_cached(&sql).map_err(|e| self.sqlite(e))?;
        let mut rows = statement.query([id]).map_err(|e| self.sqlite(e))?;
        let row = rows.next().map_err(|e| self.sqlite(e))?;
        row.map(|row| self.run_of(row)).transpose()
    }

    /// The session's value of this key.
    pub fn session(&self, key: &str) -> Result<Option<String>, DatabaseError> {
        if !self.has_session {
            return Ok(None);
        }
        let sql = "SELECT meta_value FROM session WHERE meta_key = ?1";
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| self.sqlite(e))?;
        let mut rows = statement.query([key]).map_err(|e| self.sqlite(e))?;
        match rows.next().map_err(|e| self.sqlite(e))? {
            Some(row) => self.text(row, 0, key, "meta_value"),
            None => Ok(None),
        }
    }

    /// Calls `f` with every key of the session that is not null, and its value, by ascending
    /// bytes of the key; errors as in [`DatabaseReader::runs`].
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
            // A column of type TEXT turns numbers into text, so these are of other schemas.
            ValueRef::Integer(value) => Ok(Some(value.to_string())),
            _ => Err(wrong()),
        }
    }

    fn value(&self, table: &'static str, row: String, column: &'static str) -> DatabaseError {
        DatabaseError::new(&self.path, DatabaseCause::Value { table, row, column })
    }
}

/// The URI under which SQLite reads a file without looking for others beside it.
pub(super) fn immutable_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(byte as char);
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri + "?immutable=1"
}
