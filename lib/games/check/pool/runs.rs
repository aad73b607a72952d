//! Checks the rows of each run against what `metadata.db` states about it, and the database by itself.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::steps::Step;
use crate::check::{FindingPlace, Findings, Severity, checks};
use crate::error::{Error, Result};
use crate::files;
use crate::format::metadata_db::{
    DatabaseCause, DatabaseError, DatabaseReader, RunRow, journals, run_of_key,
};
use crate::format::pack;
use crate::game2048::{Game, RunSummary};
use crate::json::{Kind, Reader};
use crate::wording::exactly;

checks! {
    pub(super) DATABASE: Error Structure "pool.database.form",
        "metadata.db is missing, is damaged, or lacks its tables: runs cannot be selected";
    JOURNAL: Error Structure "pool.database.journal",
        "metadata.db has a journal or is in WAL mode: readers without write access cannot open it",
        hint "in WAL mode alone, a warning; try: sqlite3 metadata.db 'PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE'";
    SESSION: Warning Structure "pool.session",
        "a run.<id> of session that is not a JSON object, or of a run that does not exist";
    UNKNOWN: Error Content "pool.run.unknown",
        "rows of a run that metadata.db does not know: no query finds them";
    SPLIT: Error Content "pool.run.split",
        "the rows of a run are not together: loaders take the first of them for all";
    IDS: Error Content "pool.run.ids",
        "the runs of a pack are not numbered 0, 1, 2, ...: runs were lost, or merged by hand";
    STEPS: Error Content "pool.run.steps",
        "runs.steps is not the number of the run's rows: epochs are too long or too short";
    pub(super) SHORTENED: Warning Content "pool.run.shortened",
        "session states other moves of the game than the run has steps: steps were left out",
        hint "how such a run began and ended is not checked; train on its steps one by one";
    RUN_SEED: Error Content "pool.run.seed",
        "the rows do not have the low 32 bits of the run's seed";
    HIGHEST: Error Content "pool.run.highest_tile",
        "highest_tile is not the largest tile after the run's last move";
    SCORE: Warning Content "pool.run.score",
        "max_score is not the sum of the run's merged tiles (of games that begin with two tiles)";
}

/// The facts of a run that are kept until all its steps were seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedRun {
    pub id: u64,
    pub first: Step,
    pub last: Step,
    played: RunSummary,
}

impl CheckedRun {
    /// Begins a run with one step.
    pub fn begin(id: u64, step: &Step) -> CheckedRun {
        let played = RunSummary::begin(step.step_index, &step.board, step.exact_slide());
        CheckedRun { id, first: *step, last: *step, played }
    }

    /// Adds a step to the run.
    #[inline]
    pub fn push(&mut self, step: &Step) {
        self.played.push(step.step_index, step.exact_slide());
        self.last = *step;
    }

    /// Appends the later steps of the run, which began as a run of their own.
    pub fn join(&mut self, later: &CheckedRun) {
        self.played.join(&later.played);
        self.last = later.last;
    }
}

/// The facts that are stated of a run outside its rows.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct RunClaims {
    pub seed: Option<u64>,
    pub steps: Option<u64>,
    pub score: Option<u64>,
    pub highest_tile: Option<u64>,
}

impl RunClaims {
    /// Compares the claims with the run's steps; `None`: the run has no steps. `severity` is the severity of
    /// missing steps, since a sampled pool leaves steps out on purpose.
    pub fn compare(
        &self,
        run: Option<&CheckedRun>,
        severity: Severity,
        at: FindingPlace<'_>,
        findings: &mut Findings<'_>,
    ) {
        let steps = run.map_or(0, |run| run.played.steps());
        if let Some(stated) = self.steps.filter(|stated| *stated != steps) {
            let message = format_args!("states {}, {steps} are there", exactly(stated, "step"));
            findings.add_as(&STEPS, severity, at, message);
        }
        let Some(run) = run else {
            let played = self.score.filter(|score| *score > 0);
            if let Some(score) = played.filter(|_| self.steps.is_none_or(|stated| stated == 0)) {
                let message = format_args!("a score of {score} is stated, no step is there");
                findings.add_as(&STEPS, severity, at, message);
            }
            return;
        };
        if let (Some(seed), Some(rows)) = (self.seed, run.first.seed)
            && seed as u32 != rows as u32
        {
            let message = format_args!("the seed {seed} is stated, its steps have {rows}");
            findings.add(&RUN_SEED, at, message);
        }
        // If the last steps are missing, it is not known how the run ended.
        if self.steps.is_some_and(|stated| stated != steps) {
            return;
        }
        let other = |stated: u64| Some((stated, run.played.other_highest(stated)?));
        if let Some((stated, highest)) = self.highest_tile.and_then(other) {
            let message = format_args!("{stated} is stated, {highest} is there");
            findings.add(&HIGHEST, at, message);
        }
        let other = |stated: u64| Some((stated, run.played.other_score(stated)?));
        if let Some((stated, gained)) = self.score.and_then(other) {
            let message = format_args!("{stated} is stated, {gained} were merged");
            findings.add(&SCORE, at, message);
        }
    }
}

impl From<&RunRow> for RunClaims {
    fn from(run: &RunRow) -> RunClaims {
        let &RunRow { seed, steps, max_score: score, highest_tile, .. } = run;
        RunClaims { seed, steps, score, highest_tile }
    }
}

impl From<&Game> for RunClaims {
    fn from(game: &Game) -> RunClaims {
        let &Game { seed, num_moves: steps, score, max_tile: highest_tile, .. } = game;
        RunClaims { seed, steps, score, highest_tile }
    }
}

/// Compares the runs with `metadata.db`.
pub(super) struct RunChecker {
    path: PathBuf,
    database: Option<DatabaseReader>,
    /// Whether the pool is a pack: there the rows of a run are adjacent, and runs are numbered.
    is_pack: bool,
    seen: HashSet<u64>,
    /// The runs from which steps were left out, with the number of moves of their games.
    shortened: HashMap<u64, u64>,
    /// All runs below this one were seen, or have no steps.
    passed: u64,
}

impl RunChecker {
    /// Opens the database, and checks it by itself.
    pub fn open(
        directory: &Path,
        is_pack: bool,
        required: bool,
        findings: &mut Findings<'_>,
    ) -> Result<RunChecker> {
        let path = directory.join(pack::DATABASE);
        let mut bad = |cause: &dyn Display| findings.add(&DATABASE, &path, cause);
        let database = match DatabaseReader::open(&path) {
            Ok(database) => Some(database),
            Err(DatabaseError { cause: DatabaseCause::Missing, .. }) => {
                if required {
                    bad(&"is not there");
                }
                None
            }
            // (A journal is reported by its own check.)
            Err(DatabaseError { cause: DatabaseCause::Journal(_), .. }) => None,
            Err(error) => {
                bad(&error.or_unavailable()?.cause);
                None
            }
        };
        if let Some(database) = &database {
            if database.has_other_session() {
                bad(&"session is no table with meta_key and meta_value");
            }
            for column in database.missing_columns().iter().filter(|_| is_pack) {
                bad(&format_args!("runs has no column {column}"));
            }
            match database.damage() {
                Ok(None) => {}
                Ok(Some(damage)) => bad(&damage),
                Err(error) => bad(&error.or_unavailable()?.cause),
            }
        }
        for journal in journals(&path)? {
            findings.add(&JOURNAL, &journal, "was left over");
        }
        if files::is_member(&path)? && is_in_wal_mode(&path)? {
            let cause = "is in WAL mode: a reader must make a file beside it";
            findings.add_as(&JOURNAL, Severity::Warning, &path, cause);
        }
        let shortened = database.as_ref().map(shortened).unwrap_or_default();
        Ok(RunChecker { path, database, is_pack, seen: HashSet::new(), shortened, passed: 0 })
    }

    /// Adds a run whose rows have all been seen.
    pub fn close(
        &mut self,
        run: &CheckedRun,
        at: FindingPlace<'_>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        let count = self.seen.len() as u64;
        if !self.seen.insert(run.id) {
            findings.add(&SPLIT, at, format_args!("run {} has ended before", run.id));
            return Ok(());
        }
        if self.is_pack && run.id != count && self.is_misplaced(count, run.id)? {
            findings.add(&IDS, at, format_args!("run {} comes where {count} should", run.id));
        }
        let Some(database) = &self.database else { return Ok(()) };
        match database.run(run.id) {
            Ok(Some(known)) => {
                let mut claims = RunClaims::from(&known);
                let there = run.played.steps();
                if let Some(moves) = self.shortened.get(&run.id).filter(|moves| **moves != there) {
                    let moves = exactly(*moves, "move");
                    findings.add(&SHORTENED, at, format_args!("{moves} stated, {there} are there"));
                    (claims.score, claims.highest_tile) = (None, None);
                }
                claims.compare(Some(run), self.severity(), at, findings);
            }
            Ok(None) => findings.add(&UNKNOWN, at, format_args!("run {} is not in runs", run.id)),
            Err(error) => findings.add(&DATABASE, &self.path, error.or_unavailable()?.cause),
        }
        Ok(())
    }

    /// Returns the runs from which steps were left out, with the number of moves of their games:
    /// the steps of such a run need not follow each other.
    pub fn shortened(&self) -> &HashMap<u64, u64> {
        &self.shortened
    }

    /// Adds a run whose rows cannot be read: the run exists.
    pub fn pass(&mut self, id: u64) {
        self.seen.insert(id);
    }

    fn severity(&self) -> Severity {
        if self.is_pack { Severity::Error } else { Severity::Warning }
    }

    /// Whether run `id` cannot follow after `count` runs with rows. (Runs in between may be games without
    /// steps.)
    fn is_misplaced(&mut self, count: u64, id: u64) -> Result<bool> {
        if id < count {
            return Ok(true);
        }
        while self.passed < id {
            let is_empty = |run: RunRow| run.steps == Some(0);
            if !self.seen.contains(&self.passed) && !self.run(self.passed)?.is_some_and(is_empty) {
                return Ok(true);
            }
            self.passed += 1;
        }
        Ok(false)
    }

    /// Returns what the database states about a run. Damage of the database is reported elsewhere.
    fn run(&self, id: u64) -> Result<Option<RunRow>> {
        let Some(database) = &self.database else { return Ok(None) };
        match database.run(id) {
            Ok(run) => Ok(run),
            Err(error) => {
                error.or_unavailable()?;
                Ok(None)
            }
        }
    }

    /// Checks what the session states about runs.
    fn session(
        &self,
        database: &DatabaseReader,
        known: &HashSet<u64>,
        unlisted: Option<DatabaseError>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        let keys = database.session_keys(|key, value| {
            let Some(id) = run_of_key(key) else { return Ok(()) };
            if !known.contains(&id) {
                findings.add(&SESSION, &self.path, format_args!("{key}: there is no such run"));
            } else if !value.is_some_and(is_object) {
                findings.add(&SESSION, &self.path, format_args!("{key}: is not a JSON object"));
            }
            Ok::<_, ()>(())
        });
        for error in [unlisted, keys.err()].into_iter().flatten() {
            findings.add(&DATABASE, &self.path, error.or_unavailable()?.cause);
        }
        Ok(())
    }

    /// Checks the runs that have no rows (if rows were read), and the session; returns the number
    /// of runs.
    pub fn finish(self, saw_rows: bool, findings: &mut Findings<'_>) -> Result<u64> {
        let Some(database) = &self.database else { return Ok(self.seen.len() as u64) };
        let (mut next, mut count) = (0u64, 0);
        let mut known = HashSet::new();
        let listed = database.runs(|run| {
            let at = FindingPlace::file(&self.path).record("run", run.id);
            count += 1;
            known.insert(run.id);
            if saw_rows && !self.seen.contains(&run.id) {
                RunClaims::from(&run).compare(None, self.severity(), at, findings);
            }
            if saw_rows && self.is_pack && run.id != next {
                findings.add(&IDS, at, format_args!("comes where {next} should"));
            }
            next = run.id.saturating_add(1);
            Ok::<_, ()>(())
        });
        self.session(database, &known, listed.err(), findings)?;
        Ok(count)
    }
}

/// Whether a text is a JSON object, as readers and writers of sidecars see it: they keep values as
/// they are written, even numbers that no float can hold.
fn is_object(text: &str) -> bool {
    let mut reader = Reader::new(text);
    let is_whole = |reader: &mut Reader<'_>| reader.skip().and_then(|()| reader.end()).is_ok();
    matches!(reader.peek(), Ok(Kind::Object)) && is_whole(&mut reader)
}

/// Returns the runs for which `session` states a number of moves; `npy-pack` writes it if it differs from
/// the number of rows. Damage of the database is reported where all of it is read.
fn shortened(database: &DatabaseReader) -> HashMap<u64, u64> {
    #[derive(serde::Deserialize)]
    struct Moves {
        num_moves: u64,
    }
    let mut shortened = HashMap::new();
    let _ = database.session_keys(|key, value| {
        let value = value.filter(|value| value.contains("\"num_moves\""));
        if let (Some(id), Some(value)) = (run_of_key(key), value)
            && let Ok(Moves { num_moves }) = serde_json::from_str(value)
        {
            shortened.insert(id, num_moves);
        }
        Ok::<_, ()>(())
    });
    shortened
}

/// Whether a database is in WAL mode: bytes 18 and 19 are its file format versions, and 2 means
/// write-ahead logging (sqlite.org/fileformat.html, 1.3.3).
fn is_in_wal_mode(path: &Path) -> Result<bool> {
    let mut header = [0u8; 20];
    match crate::files::open_member(path).and_then(|mut file| file.read_exact(&mut header)) {
        Ok(()) => Ok(header[18..20].contains(&2)),
        // The file is too short for a database, which is reported.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(Error::io(path, &error)),
    }
}
