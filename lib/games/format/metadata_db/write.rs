//! Writing: rows in any order, the last one of a key wins; memory is constant.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::{DatabaseCause, DatabaseError, RunRow};

/// How many rows are written in one transaction.
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

/// The offset of the versions for writing and for reading: 1 means a file alone, 2 a file with a
/// log beside it.
const VERSIONS: u64 = 18;
/// The offsets of the number of changes (big-endian), and of its copy that belongs to
/// `sqlite_version`.
const CHANGES: [u64; 2] = [24, 92];
/// The number of changes in a database that was written in WAL mode, which counts no transactions.
const CHANGES_OF_WAL: u32 = 3;

/// Checks that the file has no log, and sets its number of changes to a constant.
fn seal(file: File) -> io::Result<()> {
    let mut versions = [0; 2];
    file.read_exact_at(&mut versions, VERSIONS)?;
    if versions != [1, 1] {
        return Err(io::Error::other("is not one file alone"));
    }
    let changes = CHANGES_OF_WAL.to_be_bytes();
    CHANGES.into_iter().try_for_each(|at| file.write_all_at(&changes, at))
}

/// Writes a new database. It must not be published before [`DatabaseWriter::finish`]: until then
/// rows may be in files beside it.
///
/// The same calls give the same bytes.
#[derive(Debug)]
pub struct DatabaseWriter {
    connection: Connection,
    path: PathBuf,
    /// Rows in the open transaction; at 0 none is open.
    pending: u32,
}

impl DatabaseWriter {
    /// Creates the database at `path`, where no file may exist.
    pub fn create(path: &Path) -> Result<DatabaseWriter, DatabaseError> {
        // SQLite would open an existing file, even an empty one, and create one that only the owner
        // can write.
        File::create_new(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => DatabaseError::new(path, DatabaseCause::Exists),
            _ => DatabaseError::new(path, DatabaseCause::Io(error)),
        })?;
        let named = |error| DatabaseError::sqlite(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(named)?;
        connection.pragma_update(None, "page_size", 4096).map_err(named)?;
        // No journal is needed: nobody else opens the file before it is published, a run that fails
        // drops it, and the publisher syncs the bytes to the disk. (WAL mode is no choice: if a sync
        // fails while SQLite leaves it, SQLite forgets the failure and the file stays in that mode.)
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(named)?;
        connection.pragma_update(None, "journal_mode", "OFF").map_err(named)?;
        connection.pragma_update(None, "synchronous", "OFF").map_err(named)?;
        connection.pragma_update(None, "temp_store", "MEMORY").map_err(named)?;
        connection.execute_batch(SCHEMA).map_err(named)?;
        Ok(DatabaseWriter { connection, path: path.to_owned(), pending: 0 })
    }

    /// Writes a run, in place of one with the same id.
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

    /// Commits and closes: all data is in the one file, and a reader needs neither write permission
    /// nor a file beside it. The bytes are not synced to the disk.
    pub fn finish(mut self) -> Result<(), DatabaseError> {
        self.commit()?;
        let DatabaseWriter { connection, path, .. } = self;
        let named = |error| DatabaseError::sqlite(&path, error);
        connection.close().map_err(|(_, error)| named(error))?;
        let failed = |error| DatabaseError::new(&path, DatabaseCause::Io(error));
        let mut options = File::options();
        options.read(true).write(true).open(&path).and_then(seal).map_err(failed)
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
