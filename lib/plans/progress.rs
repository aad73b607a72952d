//! The progress of a plan that is made on this machine, from the reports of its tasks' filters.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Plan, Task};
use crate::cli::{Report, far, time_left};
use crate::wording::{grouped, of_plural};

/// How many bytes are read from the end of a file of reports.
const TAIL: i64 = 4096;

/// Whose progress it is.
const NAME: &str = "ds-plan";

/// The progress of a plan that is being made.
pub(super) struct PlanProgress {
    /// The name of the unit that is counted, in the plural.
    unit: &'static str,
    /// The name of what the sources become, in the plural.
    sources: &'static str,
    shards: Vec<Shard>,
    tasks: Vec<RunningTask>,
    /// Units of the tasks that were done before this run.
    before: u64,
    /// How many tasks this run has to do.
    wanted: usize,
    has_token_limit: bool,
    /// The number of all units, if it is known beforehand.
    total: Option<u64>,
    start: Instant,
}

struct Shard {
    name: String,
    /// How many tasks of the shard are not done.
    open: usize,
    /// Units of the tasks that this run has done.
    done: u64,
    start: Option<Instant>,
}

/// A task that this run has begun.
struct RunningTask {
    shard: usize,
    units: Option<u64>,
    reports: PathBuf,
    /// Units done and units made of them, as last reported.
    done: u64,
    of: Option<u64>,
    made: u64,
    inside: Option<String>,
}

impl PlanProgress {
    pub(super) fn new(plan: &Plan) -> PlanProgress {
        let shard = |name: &String| Shard { name: name.clone(), open: 0, done: 0, start: None };
        let units = |task: Task<'_>| task.units().filter(|_| plan.limits.tokens.is_none());
        PlanProgress {
            unit: plan.product.recipe().unit,
            sources: plan.product.recipe().sources,
            shards: plan.sources.iter().map(|source| shard(&source.name)).collect(),
            tasks: Vec::new(),
            before: 0,
            wanted: 0,
            has_token_limit: plan.limits.tokens.is_some(),
            total: plan.tasks().map(units).sum(),
            start: Instant::now(),
        }
    }

    /// Counts a task that was done before.
    pub(super) fn count_done(&mut self, task: &Task<'_>) {
        self.before += task.units().unwrap_or(0);
    }

    /// Counts a task that is to be done.
    pub(super) fn count_open(&mut self, task: &Task<'_>) {
        self.wanted += 1;
        let shard = self.shards.iter_mut().find(|shard| shard.name == task.source.name);
        shard.into_iter().for_each(|shard| shard.open += 1);
    }

    /// Returns a line for each shard that has no task to do.
    pub(super) fn kept_lines(&self) -> Vec<String> {
        let kept = self.shards.iter().filter(|shard| shard.open == 0);
        kept.map(|shard| format!("{NAME}: {}: kept", shard.name)).collect()
    }

    /// Notes that a task begins; returns its index.
    pub(super) fn begin(&mut self, task: &Task<'_>, root: &Path) -> usize {
        let is_it = |shard: &Shard| shard.name == task.source.name;
        let shard = self.shards.iter().position(is_it).unwrap_or(0);
        if let Some(shard) = self.shards.get_mut(shard) {
            shard.start.get_or_insert_with(Instant::now);
        }
        let (units, reports) = (task.units(), task.progress(root));
        self.tasks.push(RunningTask {
            shard,
            units,
            reports,
            done: 0,
            of: None,
            made: 0,
            inside: None,
        });
        self.tasks.len() - 1
    }

    /// Notes that a task has ended. Returns the line about its shard if the shard is now complete.
    pub(super) fn end(&mut self, number: usize, well: bool) -> Option<String> {
        let task = self.tasks.get_mut(number)?;
        task.read_reports();
        let _ = std::fs::remove_file(&task.reports);
        let index = task.shard;
        let shard = self.shards.get_mut(index).filter(|_| well)?;
        task.done = task.done.max(task.units.unwrap_or(0));
        shard.done += task.done;
        shard.open -= 1;
        if shard.open > 0 {
            return None;
        }
        let made = self.made(Some(index)).map_or(String::new(), |made| format!(", {made}"));
        let shard = self.shards.get(index)?;
        let seconds = shard.start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        let Shard { name, done, .. } = shard;
        let (unit, of) = (of_plural(*done, self.unit), self.shards_done());
        // (A filter in front reads more than a limit of tokens lets through.)
        let facts = match self.has_token_limit {
            true => made.trim_start_matches(", ").to_string(),
            false => format!("{} {unit}{made}", grouped(*done)),
        };
        Some(format!("{NAME}: {name}: {facts}, {seconds:.1} s ({of})"))
    }

    fn shards_done(&self) -> String {
        let done = self.shards.iter().filter(|shard| shard.open == 0).count();
        format!("{done} of {}", self.shards.len())
    }

    /// Returns the number of all units: as planned, or as all tasks report it.
    fn total(&self) -> Option<u64> {
        let reported = || {
            let all: Option<u64> = self.tasks.iter().map(|task| task.of).sum();
            all.filter(|_| self.tasks.len() == self.wanted)
        };
        self.total.or_else(reported)
    }

    /// Returns what was made of one shard, or of all: `1,234 tokens`.
    fn made(&self, shard: Option<usize>) -> Option<String> {
        let own = || self.tasks.iter().filter(|task| shard.is_none_or(|shard| task.shard == shard));
        let inside = own().find_map(|task| task.inside.clone())?;
        let made: u64 = own().map(|task| task.made).sum();
        Some(format!("{} {}", grouped(made), of_plural(made, &inside)))
    }

    /// Returns the line for a terminal: units done, time left, rate. (A narrow terminal cuts its
    /// end.)
    pub(super) fn line(&mut self) -> String {
        self.tasks.iter_mut().for_each(RunningTask::read_reports);
        let here: u64 = self.tasks.iter().map(|task| task.done).sum();
        let done = here + self.before;
        let rate = here as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        let total = self.total();
        let mut parts = vec![far(done, total, self.unit)];
        parts.extend(time_left(done, total, rate));
        let sources = of_plural(self.shards.len() as u64, self.sources);
        parts.push(format!("{} {sources}", self.shards_done()));
        parts.push(format!("{}/s", grouped(rate as u64)));
        parts.extend(self.made(None));
        format!("{NAME}: {}", parts.join(", "))
    }
}

impl RunningTask {
    /// Reads the last reports. One filter of a pipeline may count units and another what is in
    /// them.
    fn read_reports(&mut self) {
        let Ok(text) = tail(&self.reports) else { return };
        for report in text.lines().filter_map(|line| serde_json::from_str::<Report>(line).ok()) {
            self.done = self.done.max(report.done);
            self.of = report.of.or(self.of);
            self.made = self.made.max(report.made);
            self.inside = report.inside.or(self.inside.take());
        }
    }
}

/// Returns the last bytes of a file.
fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() > TAIL as u64 {
        file.seek(SeekFrom::End(-TAIL))?;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
