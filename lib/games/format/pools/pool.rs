//! One pool: its rows, what its `metadata.db` states about their runs, and the games made from both.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::columns::Columns;
use super::index::{Gather, Rows, Run, are_there, count};
use super::members::Members;
use super::origin::PoolOrigin;
use super::valuations::Valuations;
use super::{row_files, sidecar, stated};
use crate::batch::DroppedRecords;
use crate::error::{At, Error, Kind, Result, shown};
use crate::files;
use crate::format::metadata_db::{
    DatabaseCause, DatabaseError, DatabaseReader, run_key, run_of_key,
};
use crate::format::pack::{DATABASE, LARGE_TILES, PackManifest};
use crate::format::raw_games::Legality;
use crate::game2048::{CopyError, Game, GameForm, RowLayout, StepRows, StoredGame};
use crate::record::game::LEFT_OUT;
use crate::wording::exactly;

/// The name under which features of rows are listed as left out.
const EMBEDDINGS: &str = "embeddings-*.npy";

/// A pool that is open for reading.
#[derive(Debug)]
pub struct Pool {
    directory: PathBuf,
    name: Arc<str>,
    rows: Rows,
    columns: Columns,
    /// The layout of the rows, if it is one of a Macroxue pack.
    layout: Option<RowLayout>,
    runs: Vec<Run>,
    /// Whether `runs` were counted in the rows; otherwise `metadata.db` states them.
    counted: bool,
    database: Option<DatabaseReader>,
    valuations: Valuations,
    gather: Gather,
    left_out: Vec<String>,
    origin: PoolOrigin,
    /// The rows that were returned without decoding, to be copied.
    given: Range<u64>,
    /// How many scattered rows were read since their memory was released.
    scattered: usize,
}

/// The most scattered rows in memory; each may take a page of its own.
const SCATTERED: usize = 1 << 12;

impl Pool {
    /// Opens a pool and counts the rows of its runs. Nobody may shorten its files meanwhile (see
    /// [`MappedArray`](crate::npy::MappedArray)).
    pub fn open(directory: &Path) -> Result<Pool> {
        let mut pool = Pool::open_stated(directory)?;
        pool.count()?;
        Ok(pool)
    }

    /// Opens a pool. Its rows are not counted if `metadata.db` states as many as there are, so that single
    /// games can be read without looking at the others.
    pub fn open_stated(directory: &Path) -> Result<Pool> {
        let files = row_files(directory)?;
        if files.is_empty() {
            let cause = "no files of rows (steps.npy or steps-*.npy)";
            return Err(Error::usage(cause).at(directory));
        }
        let (rows, dtype) = Rows::open(&files)?;
        let named = || files.first().map(|file| shown(file)).unwrap_or_default();
        let columns = Columns::of(&dtype).map_err(|what| Error::data(what).at(named()))?;
        let path = directory.join(DATABASE);
        let database = match DatabaseReader::open(&path) {
            Ok(database) => Some(database),
            Err(DatabaseError { cause: DatabaseCause::Missing, .. }) if columns.is_legacy() => None,
            Err(error) => return Err(error.into()),
        };
        let known = known_runs(database.as_ref())?;
        let (runs, counted) = match (columns.run_id, stated_runs(&rows, &known)) {
            (Some(_), Some(runs)) => (runs, false),
            (Some(run_id), None) => (with_empty(count(&rows, run_id)?, known), true),
            (None, _) => {
                let runs = cut(&rows, database.is_some(), &known);
                (runs.at(directory)?, true)
            }
        };
        let valuations = Valuations::of_pool(directory)?;
        let gather = Gather::default();
        let mut left_out = columns.unread.clone();
        left_out.extend(has_embeddings(directory)?.then(|| EMBEDDINGS.to_string()));
        let origin = PoolOrigin::of_pool(directory)?;
        left_out.extend(origin.lacks_large_tiles().then(|| LARGE_TILES.to_string()));
        let directory = directory.to_path_buf();
        Ok(Pool {
            name: shown(&directory).into(),
            directory,
            rows,
            columns,
            layout: RowLayout::of(&dtype),
            runs,
            counted,
            database,
            valuations,
            gather,
            left_out,
            origin,
            given: 0..0,
            scattered: 0,
        })
    }

    /// Counts the rows of the runs, if this was not done.
    pub fn count(&mut self) -> Result<()> {
        if let (false, Some(run_id)) = (self.counted, self.columns.run_id)
            && !are_there(&self.rows, run_id, &self.runs)
        {
            let known = known_runs(self.database.as_ref())?;
            self.runs = with_empty(count(&self.rows, run_id)?, known);
        }
        self.counted = true;
        Ok(())
    }

    /// Whether the rows at a run's stated place are its own, and the rows around them are not.
    fn is_there(&self, run: &Run) -> bool {
        let (Some(id), Some(range)) = (self.columns.run_id, run.range()) else { return true };
        let is_own = |row: u64| id.unsigned(self.rows.row(row)) == Some(run.id);
        let after = Some(range.end).filter(|row| *row < self.rows.len());
        let around = [range.start.checked_sub(1), after];
        range.clone().all(is_own) && !around.into_iter().flatten().any(is_own)
    }

    /// Returns the directory as messages show it.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether its rows cannot express a tile over 2^15 and have 2^15 in its place, or were made from
    /// such rows.
    pub fn loses_large_tiles(&self) -> bool {
        self.columns.loses_large_tiles() || self.origin.lacks_large_tiles()
    }

    /// Returns the number of games, including games without rows.
    pub fn games(&self) -> u64 {
        self.runs.len() as u64
    }

    /// Whether its rows have the layout of a pack.
    pub fn is_pack(&self) -> bool {
        self.layout.is_some()
    }

    /// Returns the rows of all games.
    pub fn steps(&self) -> u64 {
        self.rows.len()
    }

    /// Returns what the pool has and games do not: fields of its rows, `embeddings-*.npy`.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns how `ev_legal` was decided, if the pool states it.
    pub fn legality(&self) -> Option<Legality> {
        self.origin.legality
    }

    /// Returns the chain of the filters that made the pool, as far as it states it.
    pub fn provenance(&self) -> &[Value] {
        &self.origin.provenance
    }

    /// Returns the directory.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns its manifest, if it has one of ours.
    pub(super) fn manifest(&self) -> Option<&PackManifest> {
        self.origin.manifest.as_ref()
    }

    /// Returns what was dropped when it was made.
    pub(super) fn dropped(&self) -> DroppedRecords {
        self.origin.dropped()
    }

    /// Returns the layout of its rows.
    pub fn encoding(&self) -> String {
        format!("rows of {} bytes", self.rows.row_bytes())
    }

    /// Returns a line about what is left out.
    pub fn note(&self) -> Option<String> {
        let names = self.left_out.join(", ");
        let place = shown(&self.directory);
        (!names.is_empty())
            .then(|| format!("{place}: left out, games have no place for it: {names}"))
    }

    /// Reads the game at a position among the runs by ascending id (fastest in order); replaces the
    /// content of `game`.
    pub fn read(&mut self, position: u64, game: &mut Game) -> Result<()> {
        game.clear();
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        self.prove(position)?;
        self.describe(position, game)?;
        self.fill_steps(position, game)
    }

    /// Reads the same game in one of the forms. If `is_trusting`, rows are assumed to be at their stated
    /// places; the caller, who copies them, notices if they are not. If the rows of all games are found,
    /// the pool is as stated. (An invalid row counts as not found; reading it again tells what is wrong.)
    /// It is an error if a run of a pack differs from what `metadata.db` states about it.
    pub fn read_stored(
        &mut self,
        position: u64,
        form: GameForm,
        is_trusting: bool,
    ) -> Result<StoredGame, CopyError> {
        let mut game = Game::default();
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        if !is_trusting {
            self.prove(position)?;
        }
        self.describe(position, &mut game)?;
        let rows = match form {
            GameForm::Rows { .. } => self.rows_of(position, &game),
            GameForm::Columns => None,
        };
        let rows = rows.filter(|rows| is_trusting || rows.are_valid());
        match rows {
            Some(_) => {}
            None if is_trusting && self.runs[position].rows > 0 => {
                return Err(CopyError::misplaced(game.run_id).at(shown(&self.directory)));
            }
            None => self.fill_steps(position, &mut game)?,
        }
        let stored = StoredGame { game, rows };
        match self.compare(&stored) {
            Err(error) if is_trusting && error.kind() == Kind::Data => {
                Err(CopyError::misplaced(stored.game.run_id).at(shown(&self.directory)))
            }
            compared => Ok(compared.map(|()| stored)?),
        }
    }

    /// Compares a run of a pack with what `metadata.db` states about it.
    fn compare(&self, stored: &StoredGame) -> Result<()> {
        let (Some(_), Some(database)) = (self.layout, &self.database) else { return Ok(()) };
        let id = stored.game.run_id;
        let run = database.run(id)?;
        match stated::contradiction(run.as_ref(), stored, self.manifest().is_some()) {
            Some(cause) => Err(Error::data(format!("run {id}: {cause}"))
                .at(shown(&self.directory.join(DATABASE)))
                .hint(stated::WAY_ON)),
            None => Ok(()),
        }
    }

    /// Releases the memory of rows that were returned without decoding. The caller has copied them by now.
    pub fn release_given(&mut self) {
        self.rows.release(std::mem::take(&mut self.given));
    }

    /// Counts the rows if the run at a position is not at its stated place.
    fn prove(&mut self, position: usize) -> Result<()> {
        match self.runs.get(position) {
            Some(run) if !self.counted && !self.is_there(run) => self.count(),
            _ => Ok(()),
        }
    }

    /// Reads all of a game except its steps.
    fn describe(&self, position: usize, game: &mut Game) -> Result<()> {
        let Some(run) = self.runs.get(position).copied() else {
            return Err(Error::data(format!("no game {position}")).at(shown(&self.directory)));
        };
        game.run_id = run.id;
        self.fill_sidecar(game)?;
        if position == 0 {
            game.session = Some(self.session()?);
        }
        Ok(())
    }

    /// Returns the rows of a run without decoding, if they are adjacent rows of a pack; the caller
    /// copies them later. (For a run that states no seed, the seed of its first row would be taken.)
    fn rows_of(&mut self, position: usize, game: &Game) -> Option<StepRows> {
        let run = self.runs[position];
        let (layout, range, _) = (self.layout?, run.range()?, game.seed?);
        self.given = if self.given.is_empty() {
            range.clone()
        } else {
            self.given.start.min(range.start)..self.given.end.max(range.end)
        };
        Some(StepRows {
            run_id: run.id.try_into().ok()?,
            is_packed: layout == RowLayout::Packed,
            parts: self.rows.shared(range),
            names: self.valuations.of_rows(),
        })
    }

    fn fill_sidecar(&self, game: &mut Game) -> Result<()> {
        let Some(database) = &self.database else { return Ok(()) };
        if let Some(run) = database.run(game.run_id)? {
            game.seed = run.seed;
            game.score = run.max_score;
            game.max_tile = run.highest_tile;
            game.num_moves = run.steps;
        }
        let key = run_key(game.run_id);
        if let Some(text) = database.session(&key)? {
            sidecar::fill(game, &text).map_err(|error| {
                let path = self.directory.join(DATABASE);
                Error::data(format!("session {key}: {error}")).at(shown(&path))
            })?;
        }
        Ok(())
    }

    /// Returns the text of a JSON object with the pool's own keys, the keys of runs that do not exist, and
    /// one more key that names what is left out. It is written key by key, since there may be millions.
    fn session(&self) -> Result<String> {
        let mut own = Members::default();
        if let Some(database) = &self.database {
            let runs: HashSet<u64> = self.runs.iter().map(|run| run.id).collect();
            let all = database.session_keys(|key, value| {
                let is_left_out = key == LEFT_OUT && !self.left_out.is_empty();
                if run_of_key(key).is_none_or(|run| !runs.contains(&run)) && !is_left_out {
                    own.push(key, &value.map_or(Value::Null, Value::from));
                }
                Ok::<_, Error>(())
            });
            all??;
        }
        if !self.left_out.is_empty() {
            own.push(LEFT_OUT, &Value::from(self.left_out.clone()));
        }
        Ok(own.end())
    }

    fn fill_steps(&mut self, position: usize, game: &mut Game) -> Result<()> {
        let run = self.runs[position];
        if let (Some(layout), Some(range)) = (self.layout, run.range()) {
            game.steps.reserve(run.rows as usize);
            let name_of = |game: &mut Game, id: u8| self.valuation(game, id.into()).ok().flatten();
            let mut parts = self.rows.parts(range.clone());
            if parts.all(|rows| layout.append(rows, game, name_of).is_some()) {
                self.rows.release(range);
                return Ok(());
            }
            // Reading row by row finds what is wrong.
            game.steps.clear();
            game.valuation_names.clear();
        }
        self.fill_row_by_row(position, game)
    }

    /// Reads the steps of a run whose rows may be anywhere and of any type.
    fn fill_row_by_row(&mut self, position: usize, game: &mut Game) -> Result<()> {
        let run = self.runs[position];
        let mut numbers = match self.columns.run_id {
            Some(id) => self.gather.rows_of(&self.rows, id, &self.runs, position),
            None => run.all(),
        };
        if let Some(step) = self.columns.step {
            let step_of = |number: &u64| step.unsigned(self.rows.row(*number));
            if !numbers.is_sorted_by_key(step_of) {
                numbers.sort_by_cached_key(step_of);
            }
        }
        let count = numbers.len();
        game.steps.reserve(count);
        let mut last: Option<(u64, Option<u16>)> = None;
        for (index, number) in numbers.into_iter().enumerate() {
            let bad = |what: String| Error::data(what).at(self.rows.place(number));
            let row = self.columns.read(self.rows.row(number)).map_err(bad)?;
            let mut step = row.step;
            if self.columns.step.is_none() {
                step.step_index = u32::try_from(index)
                    .map_err(|_| bad("a run of more than 2^32 rows".to_string()))?;
            }
            // The row has the low half of the seed; the run has all of it.
            step.seed = match (step.seed, game.seed) {
                (Some(low), Some(seed)) if row.seed_is_low && low == seed & 0xffff_ffff => {
                    Some(seed)
                }
                (stored, _) => stored,
            };
            step.valuation_type = match (row.valuation_type, last) {
                (None, _) => None,
                (Some(id), Some((known, name))) if id == known => name,
                (Some(id), _) => {
                    let name = self.valuation(game, id).map_err(bad)?;
                    last = Some((id, name));
                    name
                }
            };
            game.steps.push(step);
        }
        match run.range() {
            Some(range) => self.rows.release(range),
            None => {
                self.scattered += count;
                if self.scattered > SCATTERED {
                    self.rows.release(0..self.rows.len());
                    self.scattered = 0;
                }
            }
        }
        Ok(())
    }

    /// Returns the game's index of the name of a pool's id; null without a lookup file.
    fn valuation(&self, game: &mut Game, id: u64) -> Result<Option<u16>, String> {
        match self.valuations.name(id) {
            Some(name) => match game.valuation_index(name) {
                Some(index) => Ok(Some(index)),
                None => Err("more than 65,536 valuation names in one game".to_string()),
            },
            None if self.valuations.stored => {
                Err(format!("valuation_type {id} is not in valuation_types.json"))
            }
            None => Ok(None),
        }
    }
}

/// Returns the runs that `metadata.db` states: their ids, ascending, and numbers of rows.
fn known_runs(database: Option<&DatabaseReader>) -> Result<Vec<(u64, Option<u64>)>> {
    let mut known = Vec::new();
    if let Some(database) = database {
        let all = database.runs(|run| {
            known.push((run.id, run.steps));
            Ok::<_, Error>(())
        });
        all??;
    }
    Ok(known)
}

/// Returns the runs if their rows are adjacent and in the order of their ids, as sinks write them;
/// `None` if there are not as many rows.
fn stated_runs(rows: &Rows, known: &[(u64, Option<u64>)]) -> Option<Vec<Run>> {
    let mut first = 0u64;
    let mut runs = Vec::with_capacity(known.len());
    for &(id, steps) in known {
        let steps = steps?;
        runs.push(if steps == 0 { Run::empty(id) } else { Run::together(id, first, steps) });
        first = first.checked_add(steps)?;
    }
    (first == rows.len()).then_some(runs)
}

/// Whether there are rows of features for the rows of steps.
fn has_embeddings(directory: &Path) -> Result<bool> {
    Ok(files::paths_in(directory)?.iter().any(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(b"embeddings-") && name.ends_with(b".npy")
    }))
}

/// Adds the runs that have no rows; both lists are by ascending id.
fn with_empty(mut runs: Vec<Run>, known: Vec<(u64, Option<u64>)>) -> Vec<Run> {
    let there = runs.len();
    for (id, _) in known {
        if runs[..there].binary_search_by_key(&id, |run| run.id).is_err() {
            runs.push(Run::empty(id));
        }
    }
    runs.sort_unstable_by_key(|run| run.id);
    runs
}

/// Cuts rows without a `run_id` into runs: as `metadata.db` counts them, one after another by
/// ascending id; without a database, all rows are of run 0.
fn cut(rows: &Rows, database: bool, known: &[(u64, Option<u64>)]) -> Result<Vec<Run>> {
    if !database {
        return Ok(vec![Run::together(0, 0, rows.len())]);
    }
    let mut first = 0u64;
    let mut runs = Vec::new();
    for &(id, steps) in known {
        let steps = steps.unwrap_or(0);
        runs.push(Run::together(id, first, steps));
        first = first.saturating_add(steps);
    }
    if first != rows.len() {
        return Err(Error::data(format!(
            "the rows have no run_id, and metadata.db counts {first} for {}",
            exactly(rows.len(), "row"),
            first = exactly(first, "step")
        )));
    }
    Ok(runs)
}
