//! The last step: checks that all parts are there and as planned, and joins them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use serde::Deserialize;
use serde_json::Value;

use super::state::{State, states};
use super::{Plan, PlanSource, TaskList, plan_path};
use crate::cli;
use crate::error::{At, Error, Kind, Result, shown};
use crate::files;
use crate::format::json_file;
use crate::format::kd_root::{MANIFEST, ROOT_SCHEMA};
use crate::format::{pack, synth_shards};
use crate::ordered::{Flow, one, ordered_map};
use crate::wording::exactly;

/// How many unfinished tasks an error names.
const SHOWN: usize = 20;
/// The prefix of the files in which a task leaves what it rejects, beside its part.
pub(super) const REJECTS: &str = "rejects";

/// Returns the parts of a plan in their order; fails if some tasks are not done, and names them.
pub fn parts(
    plan: &Plan,
    root: &Path,
    list: Option<&Path>,
    jobs: NonZeroUsize,
) -> Result<Vec<PathBuf>> {
    plan.check_build()?;
    parts_of(plan, root, &plan.sources.iter().collect::<Vec<_>>(), (list, jobs))
}

fn parts_of(
    plan: &Plan,
    root: &Path,
    sources: &[&PlanSource],
    (list, jobs): (Option<&Path>, NonZeroUsize),
) -> Result<Vec<PathBuf>> {
    if let Some(list) = list {
        TaskList::read(list, plan)?.check_whole(list, plan)?;
    }
    let mut states = states(plan, root, jobs)?;
    states.retain(|(task, _)| sources.iter().any(|source| source.name == task.source.name));
    let open: Vec<String> = states
        .iter()
        .filter(|(_, state)| *state != State::Done)
        .map(|(task, state)| format!("{} ({state})", task.name()))
        .collect();
    if open.is_empty() {
        return Ok(states.iter().map(|(task, _)| task.part(root)).collect());
    }
    let mut named = open.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if open.len() > SHOWN {
        named += &format!(", and {} more", open.len() - SHOWN);
    }
    let cause = format!("not done: {} of {}: {named}", open.len(), exactly(states.len(), "task"));
    Err(Error::data(cause).at(root))
}

/// How the parts of a plan are joined.
#[derive(Debug)]
pub struct Finish {
    /// The task list; `None` means all tasks of the plan.
    pub list: Option<PathBuf>,
    pub jobs: NonZeroUsize,
    /// Whether the plan was made on this machine: then sources that the root holds already need no parts.
    pub here: bool,
    /// Whether sources that the root holds already are joined again.
    pub again: bool,
    /// The file in which the rejects of all tasks are collected.
    pub rejects: Option<PathBuf>,
    /// When the work began; `None` means that it begins with this step.
    pub since: Option<SystemTime>,
}

/// The sources that are to be joined, and the root into which they go.
pub(super) struct JoinJob<'a> {
    pub plan: &'a Plan,
    pub root: &'a Path,
    pub sources: Vec<&'a PlanSource>,
    pub options: &'a Finish,
    pub start: Instant,
}

impl Finish {
    /// Joins the parts into the root. Returns the lines to print, and a note for the user if there
    /// is one.
    pub fn run(&self, plan: &Plan, root: &Path) -> Result<(String, Option<String>)> {
        let start = Instant::now();
        plan.check_build()?;
        let refuse = plan.product.recipe().refuse;
        plan.sources.iter().try_for_each(|source| refuse(&source.target(plan, root)))?;
        let mut sources = Vec::new();
        for source in &plan.sources {
            if self.again || !source.is_kept(plan, root)? {
                sources.push(source);
            }
        }
        let needed: Vec<&PlanSource> =
            if self.here { sources.clone() } else { plan.sources.iter().collect() };
        let parts = parts_of(plan, root, &needed, (self.list.as_deref(), self.jobs))?;
        if let Some(path) = &self.rejects {
            cli::join_rejects(&rejects(plan, root)?, path)?;
        }
        // All parts are checked before the first is joined.
        super::parts::check(plan, &sources, root)?;
        let job = JoinJob { plan, root, sources, options: self, start };
        let mut summary = (plan.product.recipe().join)(&job, &parts)?;
        summary.reasons = reasons(&rejects(plan, root)?)?;
        // A `finish` that was killed has left a second copy of the data.
        crate::publish::sweep_below(root);
        (plan.product.recipe().sweep)(root)?;
        let took = match self.since {
            Some(since) => SystemTime::now().duration_since(since).unwrap_or_default(),
            None => start.elapsed(),
        };
        Ok((summary.lines(root, took), summary.note))
    }
}

impl Finish {
    /// Joins the parts, and prints what they make.
    pub fn print(&self, plan: &Plan, root: &Path, quiet: bool) -> Result<()> {
        let (made, note) = self.run(plan, root)?;
        if quiet {
            return Ok(());
        }
        cli::print_text(&made)?;
        note.iter().for_each(|line| cli::tell(&format!("ds-plan: {line}")));
        Ok(())
    }
}

impl JoinJob<'_> {
    /// Returns the hint if a root holds files that the plan does not make.
    pub fn hint_for_surplus(&self) -> &'static str {
        if self.options.here {
            "--overwrite, or another root"
        } else {
            "another root, or remove it"
        }
    }

    /// Calls `join` for every source, several at the same time.
    pub fn each(&self, join: impl Fn(&PlanSource) -> Result<()> + Sync) -> Result<()> {
        let sources = self.sources.iter().copied().map(Ok);
        let join = &join;
        let joined = |joined: Result<()>| joined.map(|()| Flow::Continue);
        ordered_map(self.options.jobs, sources, || one(join), joined)
    }
}

/// Returns the reject files of the tasks, as far as they exist, in the order of the plan.
fn rejects(plan: &Plan, root: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for task in plan.tasks() {
        all.extend(files::paths_if_there(&task.directory(root))?.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(REJECTS) && name.ends_with(".ndjson")
        }));
    }
    Ok(all)
}

/// The most reasons that are told apart.
const MOST_REASONS: usize = 10_000;
/// How many reasons the summary has, and how many characters of each.
const REASONS: (usize, usize) = (3, 120);

/// Returns for what records were rejected, the most frequent first, as far as the reject files say it.
fn reasons(paths: &[PathBuf]) -> Result<Vec<(String, u64)>> {
    #[derive(Deserialize)]
    struct Reject {
        reason: String,
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut others = 0;
    for path in paths {
        for line in BufReader::new(File::open(path).at(path)?).lines() {
            let line = line.at(path)?;
            let Ok(Reject { reason }) = serde_json::from_str(&line) else { continue };
            let reason: String = reason.chars().take(REASONS.1).collect();
            // (Each record may have its own.)
            if counts.len() < MOST_REASONS || counts.contains_key(&reason) {
                *counts.entry(reason).or_default() += 1;
            } else {
                others += 1;
            }
        }
    }
    let mut all: Vec<(String, u64)> = counts.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let further = all.split_off(all.len().min(REASONS.0));
    others += further.iter().map(|(_, count)| count).sum::<u64>();
    all.extend((others > 0).then(|| ("other reasons".to_string(), others)));
    Ok(all)
}

/// Returns how far the plan of a root is; `None` if the root has no plan, or is finished.
pub fn unfinished(root: &Path) -> Result<Option<String>> {
    if !files::is_directory(root)? || !files::exists(&plan_path(root))? {
        return Ok(None);
    }
    // (Whoever reads the dataset says what is wrong with it.)
    let plan = match is_finished(root).and_then(|is| if is { Ok(None) } else { Plan::find(root) }) {
        Err(error) if error.kind() == Kind::Data => return Ok(None),
        plan => plan?,
    };
    let Some(plan) = plan else { return Ok(None) };
    let mut done = 0;
    for task in plan.tasks() {
        done += u64::from(task.has_receipt(root)?);
    }
    let all = exactly(plan.tasks().count(), "task");
    let root = shown(root);
    Ok(Some(format!(
        "{root}: its plan is not finished ({done} of {all} done): these are its parts"
    )))
}

/// Whether a root without a plan is complete: its parts were deleted after they were joined and
/// checked.
pub fn is_finished(root: &Path) -> Result<bool> {
    let manifest: Option<Value> = json_file::if_there(&root.join(MANIFEST), json_file::read)?;
    let schema = manifest.as_ref().and_then(|manifest| manifest.get("schema_version")?.as_str());
    Ok([ROOT_SCHEMA, synth_shards::SCHEMA, pack::SCHEMA].map(Some).contains(&schema))
}
