//! `metadata.db` of a pack: a row of `runs` for each game; the other fields of the game's sidecar under
//! `run.<id>` in `session`; and the keys of the pools from which the games come.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::DATABASE;
use crate::error::{Error, Result, shown};
use crate::format::metadata_db::{
    DatabaseCause, DatabaseError, DatabaseWriter, RunRow, run_key, run_of_key,
};
use crate::game2048::Game;
use crate::publish::PendingFile;
use crate::record::game::LEFT_OUT;

pub(super) struct PackDatabase {
    writer: DatabaseWriter,
    file: PendingFile,
    directory: PathBuf,
    /// The pools' own keys as they were written.
    session: BTreeMap<String, Option<String>>,
    pools: u64,
}

impl PackDatabase {
    pub(super) fn create(directory: &Path) -> Result<PackDatabase> {
        let file = PendingFile::reserve(&directory.join(DATABASE))?;
        let created = DatabaseWriter::create(file.temporary());
        Ok(PackDatabase {
            writer: created.map_err(|cause| error(directory, cause))?,
            file,
            directory: directory.to_path_buf(),
            session: BTreeMap::new(),
            pools: 0,
        })
    }

    /// Writes a game that has `steps` rows as run `id`.
    pub(super) fn put_run(&mut self, id: u64, game: &Game, steps: u64) -> Result<()> {
        let run = RunRow {
            id,
            seed: game.known_seed(),
            steps: Some(steps),
            max_score: game.score,
            highest_tile: game.max_tile,
        };
        self.writer.put_run(&run).map_err(|cause| error(&self.directory, cause))?;
        match sidecar(game, steps) {
            Some(text) => self.put(&run_key(id), Some(&text)),
            None => Ok(()),
        }
    }

    /// Writes a pool's own keys; returns what the pool's reader left out. If a key exists already with
    /// another value, the new value is kept under the number of its pool.
    pub(super) fn put_pool(&mut self, session: &str) -> Result<Vec<String>> {
        let pool = self.pools;
        self.pools += 1;
        let mut keys: Map<String, Value> = serde_json::from_str(session)
            .map_err(|error| Error::data(format!("session is not an object: {error}")))?;
        let left_out = match keys.shift_remove(LEFT_OUT) {
            Some(Value::Array(names)) => names,
            other => other.into_iter().collect(),
        };
        let text = |value: Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        for (mut key, value) in keys {
            let value = text(value);
            // A merged pack may have such keys itself: then the number is put before them again.
            while run_of_key(&key).is_some()
                || self.session.get(&key).is_some_and(|present| *present != value)
            {
                key = format!("{pool}.{key}");
            }
            self.put(&key, value.as_deref())?;
            self.session.insert(key, value);
        }
        Ok(left_out.into_iter().filter_map(text).collect())
    }

    /// Returns the file, complete but not published.
    pub(super) fn finish(self) -> Result<PendingFile> {
        self.writer.finish().map_err(|cause| error(&self.directory, cause))?;
        Ok(self.file)
    }

    fn put(&mut self, key: &str, value: Option<&str>) -> Result<()> {
        let put = self.writer.put_session(key, value);
        put.map_err(|cause| error(&self.directory, cause))
    }
}

/// Returns the sidecar's fields that have no column in `runs`, as a JSON object; `None` if there
/// are none.
fn sidecar(game: &Game, steps: u64) -> Option<String> {
    let mut text = String::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&format!("\"{name}\":{value}"));
        }
    };
    put("depth", game.depth.map(Value::from));
    put("max_rank", game.max_rank.map(Value::from));
    put("seconds", game.seconds.map(Value::from));
    // `runs.steps` counts rows: if steps were filtered out, the game's own number is kept here.
    put("num_moves", game.num_moves.filter(|&moves| moves != steps).map(Value::from));
    // The other fields stay as they were written.
    let rest = game.meta.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let rest = rest.map(str::trim).filter(|rest| !rest.is_empty());
    if let Some(rest) = rest {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(rest);
    }
    if text.is_empty() {
        return None;
    }
    text.push('}');
    Some(text)
}

/// Returns the error for writing the database, under its final name.
fn error(directory: &Path, error: DatabaseError) -> Error {
    let path = directory.join(DATABASE);
    let error = match error.cause {
        DatabaseCause::Io(error) => return Error::write(shown(&path), &error),
        DatabaseCause::Large { column, value } => {
            Error::data(format!("{column} is too large for SQLite: {value}"))
        }
        cause => Error::unavailable(cause),
    };
    error.at(path.as_path())
}
