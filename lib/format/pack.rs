//! Writing a Macroxue pack: `steps.npy` (or `steps-00000.npy`, ...), `valuation_types.json` and
//! `metadata.db` in one directory, all of them or none.
//!
//! Rows of a game stand together and runs are numbered 0, 1, 2, ... as they come; nothing is
//! recomputed. Reading packs is no concern of this module.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::metadata_db::{self, Run, run_key, run_of_key};
use super::npy;
use crate::cli::{Error, PendingFile, Result, publish, remove_if_there, shown};
use crate::game2048::{ALIGNED_ROW, Game, KNOWN_VALUATIONS, StepRow};

const DATABASE: &str = "metadata.db";
const VALUATION_TYPES: &str = "valuation_types.json";
const STEPS: &str = "steps.npy";
/// Rows of a self-play v1 pool that lie along its steps.
const EMBEDDINGS: &str = "embeddings";
/// SQLite writes beside a database while it is open.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];
/// Readers sort the shards by name, which is their order as long as all numbers have five digits.
const MAX_SHARDS: u64 = 100_000;
/// The most valuation names of a pack.
const MAX_NAMES: usize = 255;

/// Writes one pack. Dropped before [`Pack::finish`], it leaves nothing.
pub struct Pack {
    directory: PathBuf,
    shard_rows: Option<u64>,
    shard: Option<npy::Writer<BufWriter<PendingFile>>>,
    /// Shards that are full.
    shards: Vec<PendingFile>,
    database: metadata_db::Writer,
    database_file: PendingFile,
    /// Valuation names by their numbers.
    names: Vec<String>,
    /// The pools' own keys as they were written.
    session: BTreeMap<String, String>,
    pools: u64,
    runs: u64,
    rows: u64,
    /// The rows of the game that [`Pack::prepare`] has accepted.
    game_rows: Vec<u8>,
    game_names: Vec<String>,
}

impl Pack {
    /// Begins a pack in `directory`, with `shard_rows` rows in each file but the last, or in one
    /// file. What stands there is refused unless it may be overwritten.
    pub fn create(directory: &Path, shard_rows: Option<u64>, overwrite: bool) -> Result<Pack> {
        for path in present(directory)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(EMBEDDINGS) {
                return Err(Error::usage(format!(
                    "{}: belongs to the rows of another pool; try: remove it first",
                    shown(&path)
                )));
            }
            if !overwrite {
                return Err(Error::usage(format!(
                    "{}: exists already; try: --overwrite",
                    shown(&path)
                )));
            }
        }
        let database_file = PendingFile::reserve(&directory.join(DATABASE), &JOURNALS)?;
        let created = metadata_db::Writer::create(database_file.temporary());
        let mut pack = Pack {
            directory: directory.to_path_buf(),
            shard_rows,
            shard: None,
            shards: Vec::new(),
            database: created.map_err(|error| database_error(directory, error))?,
            database_file,
            names: KNOWN_VALUATIONS.map(str::to_string).to_vec(),
            session: BTreeMap::new(),
            pools: 0,
            runs: 0,
            rows: 0,
            game_rows: Vec::new(),
            game_names: Vec::new(),
        };
        pack.begin_shard()?;
        Ok(pack)
    }

    /// Makes the rows of a game, to be written by [`Pack::push`]; the cause where it has a step
    /// that is no row. The outer error is of the pack as a whole.
    pub fn prepare(&mut self, game: &Game) -> Result<Result<(), String>> {
        let run_id = u32::try_from(self.runs)
            .map_err(|_| Error::data("more runs than a row's run_id can number"))?;
        self.game_names.clear();
        let mut ids = Vec::with_capacity(game.valuation_names.len());
        for name in &game.valuation_names {
            let mut names = self.names.iter().chain(&self.game_names);
            let known = names.position(|known| known == name);
            let id = known.unwrap_or(self.names.len() + self.game_names.len());
            if known.is_none() {
                self.game_names.push(name.clone());
            }
            if id >= MAX_NAMES {
                return Err(Error::data(format!(
                    "{name:?} is one valuation name more than the {MAX_NAMES} of a pack"
                )));
            }
            ids.push(id as u8);
        }
        self.game_rows.clear();
        self.game_rows.reserve(game.steps.len() * ALIGNED_ROW);
        for position in 0..game.steps.len() {
            match StepRow::of_step(game, position, run_id, &ids) {
                Ok(row) => self.game_rows.extend_from_slice(&row.to_aligned()),
                Err(cause) => return Ok(Err(cause.to_string())),
            }
        }
        Ok(Ok(()))
    }

    /// Writes the game that [`Pack::prepare`] has just accepted.
    pub fn push(&mut self, game: &Game) -> Result<()> {
        self.names.append(&mut self.game_names);
        let rows = std::mem::take(&mut self.game_rows);
        let mut left = &rows[..];
        while !left.is_empty() {
            let written = self.shard.as_ref().map_or(0, npy::Writer::rows);
            let room = self.shard_rows.map_or(u64::MAX, |most| most.saturating_sub(written));
            if room == 0 {
                self.end_shard()?;
                self.begin_shard()?;
                continue;
            }
            let most = usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(ALIGNED_ROW);
            let (now, later) = left.split_at(most.min(left.len()));
            if let Some(shard) = &mut self.shard {
                shard.write_rows(now).map_err(|error| row_error(&self.directory, error))?;
            }
            left = later;
        }
        let id = self.runs;
        let steps = (rows.len() / ALIGNED_ROW) as u64;
        self.game_rows = rows;
        self.rows += steps;
        self.runs += 1;
        let run = Run {
            id,
            seed: game.seed.or_else(|| game.steps.seed.get(0)),
            steps: Some(steps),
            max_score: game.score,
            highest_tile: game.max_tile,
        };
        self.database.put_run(&run).map_err(|error| database_error(&self.directory, error))?;
        if let Some(text) = sidecar(game, steps) {
            self.put_session(&run_key(id), &text)?;
        }
        match &game.session {
            Some(session) => self.put_pool(session),
            None => Ok(()),
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Valuation names that readers of packs do not know by themselves.
    pub fn new_names(&self) -> &[String] {
        self.names.get(KNOWN_VALUATIONS.len()..).unwrap_or_default()
    }

    /// Publishes everything, the rows first and the database last. What an earlier pack has left
    /// in the directory goes before.
    pub fn finish(mut self) -> Result<()> {
        self.end_shard()?;
        let mut ids = Map::new();
        for (id, name) in self.names.iter().enumerate() {
            ids.insert(name.clone(), json!(id));
        }
        let path = self.directory.join(VALUATION_TYPES);
        let mut names = PendingFile::create(&path)?;
        let text = format!("{:#}\n", Value::Object(ids));
        names.write_all(text.as_bytes()).map_err(|e| Error::write(shown(&path), &e))?;
        self.database.finish().map_err(|error| database_error(&self.directory, error))?;
        let mut files = self.shards;
        files.push(names);
        files.push(self.database_file);
        // The index goes first and comes back last: rows without it are no pack.
        let mut gone = present(&self.directory)?;
        gone.sort_by_key(|path| !path.ends_with(DATABASE));
        gone.iter().try_for_each(|path| remove_if_there(path))?;
        publish(files)
    }

    fn begin_shard(&mut self) -> Result<()> {
        let number = self.shards.len() as u64;
        let name = match self.shard_rows {
            Some(_) if number >= MAX_SHARDS => {
                return Err(Error::usage(format!(
                    "more than {MAX_SHARDS} shards; try: a larger --shard-rows"
                )));
            }
            Some(_) => format!("steps-{number:05}.npy"),
            None => STEPS.to_string(),
        };
        let file = PendingFile::create(&self.directory.join(name))?;
        let out = BufWriter::with_capacity(1 << 20, file);
        let shard = npy::Writer::new(out, npy::aligned_step_row(), &[]);
        self.shard = Some(shard.map_err(|error| row_error(&self.directory, error))?);
        Ok(())
    }

    fn end_shard(&mut self) -> Result<()> {
        let Some(shard) = self.shard.take() else { return Ok(()) };
        let out = shard.finish().map_err(|error| row_error(&self.directory, error))?;
        let file = out.into_inner();
        let mut file = file.map_err(|e| Error::write(shown(&self.directory), e.error()))?;
        file.close()?;
        self.shards.push(file);
        Ok(())
    }

    /// A pool's own keys. One that stands already with another value is kept under the number of
    /// its pool.
    fn put_pool(&mut self, session: &str) -> Result<()> {
        let pool = self.pools;
        self.pools += 1;
        let keys: Map<String, Value> = serde_json::from_str(session)
            .map_err(|error| Error::data(format!("session is no object: {error}")))?;
        for (key, value) in keys {
            let value = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let free = run_of_key(&key).is_none()
                && self.session.get(&key).is_none_or(|present| *present == value);
            let key = if free { key } else { format!("{pool}.{key}") };
            self.put_session(&key, &value)?;
            self.session.insert(key, value);
        }
        Ok(())
    }

    fn put_session(&mut self, key: &str, value: &str) -> Result<()> {
        let put = self.database.put_session(key, value);
        put.map_err(|error| database_error(&self.directory, error))
    }
}

/// The sidecar's fields that `runs` has no column for, as a JSON object; `None` if there are none.
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
    // `runs.steps` counts rows: where steps were filtered out, the game's own number stays here.
    put("num_moves", game.num_moves.filter(|&moves| moves != steps).map(Value::from));
    // The rest stays as it was written.
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

/// The files of a pack or pool that stand in a directory, sorted.
fn present(directory: &Path) -> Result<Vec<PathBuf>> {
    let io = |error: std::io::Error| Error::write(shown(directory), &error);
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_rows =
            name == STEPS || name.starts_with("steps-") || name.starts_with("embeddings-");
        let is_database = name
            .strip_prefix(DATABASE)
            .is_some_and(|ending| ending.is_empty() || JOURNALS.contains(&ending));
        if is_rows && name.ends_with(".npy") || is_database || name == VALUATION_TYPES {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn row_error(directory: &Path, error: npy::Error) -> Error {
    match error {
        npy::Error::Io(error) => Error::write(shown(directory), &error),
        other => Error::data(format!("{}: {other}", shown(directory))),
    }
}

/// An error of the database under its final name.
fn database_error(directory: &Path, error: metadata_db::Error) -> Error {
    let path = shown(&directory.join(DATABASE));
    match error.cause {
        metadata_db::Cause::Io(error) => Error::write(path, &error),
        metadata_db::Cause::Large { column, value } => {
            Error::data(format!("{path}: {column} is too large for SQLite: {value}"))
        }
        metadata_db::Cause::Sqlite(error) => Error::unavailable(format!("{path}: {error}")),
        cause => Error::unavailable(metadata_db::Error { path: directory.join(DATABASE), cause }),
    }
}
