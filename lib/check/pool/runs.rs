//! The rows of each run against what `metadata.db` says of it, and the database by itself.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::steps::Step;
use crate::check::{At, Check, Findings, Level};
use crate::cli::{Error, Result, shown};
use crate::format::metadata_db::{self, Cause, journals, run_of_key};

pub(super) static DATABASE: Check = Check::error(
    "pool.database.form",
    "metadata.db is not there, is damaged, or has not its tables: runs cannot be selected",
)
.structure();
static JOURNAL: Check = Check::error(
    "pool.database.journal",
    "metadata.db does not stand alone: a reader that may not write here cannot open it",
)
.structure()
.hint("in WAL mode alone, a warning; try: sqlite3 metadata.db 'PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE'");
static SESSION: Check = Check::warning(
    "pool.session",
    "a run.<id> of session that is no JSON object, or of a run that is not there",
)
.structure();
static UNKNOWN: Check = Check::error(
    "pool.run.unknown",
    "rows of a run that metadata.db does not know: no query finds them",
);
static SPLIT: Check = Check::error(
    "pool.run.split",
    "the rows of a run do not stand together: loaders take the first of them for all",
);
static IDS: Check = Check::error(
    "pool.run.ids",
    "the runs of a pack are not numbered 0, 1, 2, ...: runs were lost, or merged by hand",
);
static STEPS: Check = Check::error(
    "pool.run.steps",
    "runs.steps is not the number of the run's rows: epochs are too long or too short",
);
static RUN_SEED: Check =
    Check::error("pool.run.seed", "the rows have not the low 32 bits of the run's seed");
static HIGHEST: Check = Check::error(
    "pool.run.highest_tile",
    "highest_tile is not the largest tile after the run's last move",
);
static SCORE: Check = Check::warning(
    "pool.run.score",
    "max_score is not the sum of the run's merged tiles (of games that begin with two tiles)",
);

pub(super) static CHECKS: &[&Check] =
    &[&DATABASE, &JOURNAL, &SESSION, &UNKNOWN, &SPLIT, &IDS, &STEPS, &RUN_SEED, &HIGHEST, &SCORE];

/// The steps of a run, as far as they are needed when all were seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub id: u64,
    pub steps: u64,
    pub first: Step,
    pub last: Step,
    /// The sum of all merged tiles.
    pub gained: u64,
    /// Whether the steps run on by their numbers, all boards and moves known. (Whether they begin
    /// at 0 is the first step's.)
    unbroken: bool,
}

impl Run {
    /// A run of one step.
    pub fn begin(id: u64, step: &Step) -> Run {
        let mut run = Run { id, steps: 1, first: *step, last: *step, gained: 0, unbroken: true };
        run.gain(step);
        run
    }

    /// The same run with one more step.
    #[inline]
    pub fn push(&mut self, step: &Step) {
        self.unbroken &= u64::from(step.step_index) == u64::from(self.last.step_index) + 1;
        self.steps += 1;
        self.last = *step;
        self.gain(step);
    }

    #[inline]
    fn gain(&mut self, step: &Step) {
        match step.slide.filter(|_| step.exact) {
            Some(slide) => self.gained += u64::from(slide.gained),
            None => self.unbroken = false,
        }
    }

    /// The same run with the steps that come behind, which began as a run of their own.
    pub fn join(&mut self, later: &Run) {
        let follows = u64::from(later.first.step_index) == u64::from(self.last.step_index) + 1;
        self.unbroken &= follows && later.unbroken;
        self.steps += later.steps;
        self.gained += later.gained;
        self.last = later.last;
    }
}

/// What is said of a run beside its rows.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Told {
    pub seed: Option<u64>,
    pub steps: Option<u64>,
    pub score: Option<u64>,
    pub highest_tile: Option<u64>,
}

impl Told {
    /// Compares it with the run's steps; `None`: it has none. `level` is how bad it is that some
    /// are not there, which a sampled pool leaves out on purpose.
    pub fn compare(
        &self,
        run: Option<&Run>,
        level: Level,
        at: At<'_>,
        findings: &mut Findings<'_>,
    ) {
        let steps = run.map_or(0, |run| run.steps);
        if let Some(told) = self.steps.filter(|told| *told != steps) {
            findings
                .add_as(&STEPS, level, at, || format!("{told} steps are told, {steps} are there"));
        }
        let Some(run) = run else { return };
        if let (Some(seed), Some(rows)) = (self.seed, run.first.seed)
            && seed as u32 != rows as u32
        {
            findings
                .add(&RUN_SEED, at, || format!("the seed {seed} is told, its steps have {rows}"));
        }
        // What a truncated run would have ended with, nobody can say.
        if self.steps.is_some_and(|told| told != steps) {
            return;
        }
        if let (Some(told), Some(slide)) = (self.highest_tile, run.last.slide)
            && run.last.exact
        {
            let highest = 1u64 << slide.cells.iter().fold(0, |max, &cell| max.max(cell));
            // The new tile may be the largest on a nearly empty board.
            if told != highest && !(highest < 4 && told == 4) {
                findings.add(&HIGHEST, at, || format!("{told} is told, {highest} is there"));
            }
        }
        let tiles = run.first.board.cells().iter().filter(|&&cell| cell > 0).count();
        let whole = run.unbroken && run.first.step_index == 0 && tiles == 2;
        if let Some(told) = self.score.filter(|told| whole && *told != run.gained) {
            findings.add(&SCORE, at, || format!("{told} is told, {} were merged", run.gained));
        }
    }
}

/// `metadata.db`, and which runs have been seen.
pub(super) struct Runs {
    path: PathBuf,
    database: Option<metadata_db::Reader>,
    /// Rows of a pack stand together and its runs are numbered; other pools are freer.
    is_pack: bool,
    seen: HashSet<u64>,
}

impl Runs {
    /// Opens the database, and checks it by itself.
    pub fn open(
        directory: &Path,
        is_pack: bool,
        required: bool,
        findings: &mut Findings<'_>,
    ) -> Result<Runs> {
        let path = directory.join("metadata.db");
        let mut bad = |cause: String| findings.add(&DATABASE, At::file(&path), || cause);
        let database = match metadata_db::Reader::open(&path) {
            Ok(database) => Some(database),
            Err(metadata_db::Error { cause: Cause::Missing, .. }) => {
                if required {
                    bad("is not there".to_string());
                }
                None
            }
            Err(metadata_db::Error { cause: Cause::Io(error), .. }) => {
                return Err(Error::io(shown(&path), &error));
            }
            Err(error) => {
                bad(error.cause.to_string());
                None
            }
        };
        if let Some(database) = &database {
            if !database.has_session() && required {
                bad("has no table session".to_string());
            }
            for column in database.missing_columns().iter().filter(|_| is_pack) {
                bad(format!("runs has no column {column}"));
            }
            match database.damage() {
                Ok(None) => {}
                Ok(Some(damage)) => bad(damage),
                Err(error) => bad(error.cause.to_string()),
            }
        }
        for journal in journals(&path) {
            findings.add(&JOURNAL, At::file(&journal), || "was left over".to_string());
        }
        if path.is_file() && is_in_wal_mode(&path) {
            let cause = "is in WAL mode: to read it a file must be made beside it";
            findings.add_as(&JOURNAL, Level::Warning, At::file(&path), || cause.to_string());
        }
        Ok(Runs { path, database, is_pack, seen: HashSet::new() })
    }

    /// Takes a run whose rows have all been seen.
    pub fn close(&mut self, run: &Run, at: At<'_>, findings: &mut Findings<'_>) {
        let count = self.seen.len() as u64;
        if !self.seen.insert(run.id) {
            findings.add(&SPLIT, at, || format!("run {} was ended before", run.id));
            return;
        }
        if self.is_pack && run.id != count && self.empty_between(count, run.id) {
            findings.add(&IDS, at, || format!("run {} comes where {count} should", run.id));
        }
        let Some(database) = &self.database else { return };
        match database.run(run.id) {
            Ok(Some(known)) => told(&known).compare(Some(run), self.level(), at, findings),
            Ok(None) => findings.add(&UNKNOWN, at, || format!("run {} is not in runs", run.id)),
            Err(error) => {
                findings.add(&DATABASE, At::file(&self.path), || error.cause.to_string());
            }
        }
    }

    /// Takes a run whose rows cannot be read: it is there.
    pub fn pass(&mut self, id: u64) {
        self.seen.insert(id);
    }

    fn level(&self) -> Level {
        if self.is_pack { Level::Error } else { Level::Warning }
    }

    /// Whether run `id` cannot come when `count` runs with rows came before: those between may
    /// be games without steps.
    fn empty_between(&self, count: u64, id: u64) -> bool {
        id < count
            || (0..id).any(|id| {
                let steps = self.database.as_ref().and_then(|db| db.run(id).ok().flatten());
                !self.seen.contains(&id) && steps.is_none_or(|run| run.steps != Some(0))
            })
    }

    /// The same where no rows were looked at.
    pub fn finish_unseen(&self, findings: &mut Findings<'_>) -> u64 {
        let Some(database) = &self.database else { return 0 };
        let mut known = HashSet::new();
        let listed = database.runs(|run| {
            known.insert(run.id);
            Ok::<_, ()>(())
        });
        self.session(database, &known, listed.err(), findings);
        known.len() as u64
    }

    /// What the session says of runs.
    fn session(
        &self,
        database: &metadata_db::Reader,
        known: &HashSet<u64>,
        unlisted: Option<metadata_db::Error>,
        findings: &mut Findings<'_>,
    ) {
        let at = At::file(&self.path);
        let keys = database.session_keys(|key, value| {
            let Some(id) = run_of_key(key) else { return Ok(()) };
            let object =
                value.map(serde_json::from_str::<serde_json::Map<String, serde_json::Value>>);
            if !known.contains(&id) {
                findings.add(&SESSION, at, || format!("{key}: there is no such run"));
            } else if !matches!(object, Some(Ok(_))) {
                findings.add(&SESSION, at, || format!("{key}: is no JSON object"));
            }
            Ok::<_, ()>(())
        });
        for error in [unlisted, keys.err()].into_iter().flatten() {
            findings.add(&DATABASE, at, || error.cause.to_string());
        }
    }

    /// The runs that have no rows, and the session; gives the number of runs.
    pub fn finish(self, findings: &mut Findings<'_>) -> u64 {
        let Some(database) = &self.database else { return self.seen.len() as u64 };
        let at = At::file(&self.path);
        let mut next = 0u64;
        let mut count = 0;
        let mut known = HashSet::new();
        let listed = database.runs(|run| {
            count += 1;
            known.insert(run.id);
            if !self.seen.contains(&run.id) {
                told(&run).compare(None, self.level(), at.record("run", run.id), findings);
            }
            if self.is_pack && run.id != next {
                findings
                    .add(&IDS, at.record("run", run.id), || format!("comes where {next} should"));
            }
            next = run.id.saturating_add(1);
            Ok::<_, ()>(())
        });
        self.session(database, &known, listed.err(), findings);
        count
    }
}

fn told(run: &metadata_db::Run) -> Told {
    Told { seed: run.seed, steps: run.steps, score: run.max_score, highest_tile: run.highest_tile }
}

/// Bytes 18 and 19 of a database are its file format versions: 2 stands for write-ahead logging
/// (sqlite.org/fileformat.html, 1.3.3).
fn is_in_wal_mode(path: &Path) -> bool {
    let mut header = [0u8; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header[18..20].contains(&2)
}
