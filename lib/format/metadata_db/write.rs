//! Writing: rows in any order, the last one of a key wins; memory is constant.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::{DatabaseCause, DatabaseError, RunRow};

/// Rows written in one transaction.
const BATCH: u32 = 20_000;

const SCHEMA: &str = "
    CREATE TABLE runs (id INTEGER PRIMARY KEY, seed BIGINT, steps INT, max_score INT, \
                       highest_tile INT);
    CREATE TABLE session (meta_key TEXT PRIMARY KEY, meta_value TEXT);";

const PUT_RUN: &str = "
    INSERT INTO runs (id, seed, steps, max_score, highest_tile) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (id) DO UPDATE SET seed = excluded.seed, steps = excluded.steps,
        max_score = excluded.max_score, highest_tile = excluded.highest_tile";

const PUT_SESSION: &str = "
    INSERT INTO session (meta_key, meta_value) VALUES (?1, ?2)
    ON CONFLICT (meta_key) DO UPDATE SET meta_value = excluded.meta_value";

/// Writes a new database, in one file. It must not be published before [`DatabaseWriter::finish`].
///
/// The same calls give the same bytes.
#[derive(Debug)]
pub struct DatabaseWriter {
    connection: Connection,
    path: PathBuf,
    /// Rows since the transaction began; none is open at 0.
    pending: u32,
}

impl DatabaseWriter {
    /// Creates the database at `path`, where no file may exist.
    pub fn create(path: &Path) -> Result<DatabaseWriter, DatabaseError> {
        // SQLite would open what is there, also a file of no bytes.
        match path.try_exists() {
            Ok(false) => {}
            Ok(true) => return Err(DatabaseError::new(path, DatabaseCause::Exists)),
            Err(error) => return Err(DatabaseError::new(path, DatabaseCause::Io(error))),
        }
        let named = |error| DatabaseError::sqlite(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(named)?;
        connection.pragma_update(None, "page_size", 4096).map_err(named)?;
        // Nothing is rolled back: a database that fails is removed. And SQLite forces nothing to
        // the disk (it hides errors of that when the mode of its journal changes): who publishes
        // the file does.
        connection.pragma_update(None, "journal_mode", "OFF").map_err(named)?;
        connection.pragma_update(None, "synchronous", "OFF").map_err(named)?;
        connection.execute_batch(SCHEMA).map_err(named)?;
        Ok(DatabaseWriter { connection, path: path.to_owned(), pending: 0 })
    }

    /// Writes a run, in place of one of the same id.
    pub fn put_run(&mut self, run: &RunRow) -> Result<(), DatabaseError> {
        let id = self.signed("id", Some(run.id))?;
        let seed = run.seed.map(|seed| seed as i64);
        let steps = self.signed("steps", run.steps)?;
        let max_score = self.signed("max_score", run.max_score)?;
        let highest_tile = self.signed("highest_tile", run.highest_tile)?;
        self.put(PUT_RUN, params![id, seed, steps, max_score, highest_tile])
    }

    /// Writes a key of the session, in place of the same key.
    pub fn put_session<'a>(
        &mut self,
        key: &str,
        value: impl Into<Option<&'a str>>,
    ) -> Result<(), DatabaseError> {
        self.put(PUT_SESSION, params![key, value.into()])
    }

    /// Commits and closes the database. Its bytes are written, but not forced to the disk.
    pub fn finish(mut self) -> Result<(), DatabaseError> {
        self.commit()?;
        let DatabaseWriter { connection, path, .. } = self;
        connection.close().map_err(|(_, error)| DatabaseError::sqlite(&path, error))
    }

    fn signed(
        &self,
        column: &'static str,
        value: Option<u64>,
    ) -> Result<Option<i64>, DatabaseError> {
        value.map(i64::try_from).transpose().map_err(|_| {
            let value = value.unwrap_or_default();
            DatabaseError::new(&self.path, DatabaseCause::Large { column, value })
        })
    }

    fn put(&mut self, sql: &str, values: impl rusqlite::Params) -> Result<(), DatabaseError> {
        let named = |error| DatabaseError::sqlite(&self.path, error);
        if self.pending == 0 {
            self.connection.execute_batch("BEGIN").map_err(named)?;
        }
        let mut statement = self.connection.prepare_cached(sql).map_err(named)?;
        statement.execute(values).map_err(named)?;
        drop(statement);
        self.pending += 1;
        if self.pending == BATCH { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        if self.pending > 0 {
            self.pending = 0;
            let committed = self.connection.execute_batch("COMMIT");
            committed.map_err(|error| DatabaseError::sqlite(&self.path, error))?;
        }
        Ok(())
    }
}
