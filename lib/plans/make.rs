//! Making a plan, and adding new sources to one.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cuts::{apportion, bytes_of, cut};
use super::pipeline::Pipeline;
use super::recipe::{SourceState, Weight};
use super::{Plan, PlanLimits, PlanSource, Product, SCHEMA, TASKS, plan_path};
use crate::batch::input_manifest;
use crate::cli::Slice;
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::format::json_file;
use crate::format::synth_shards::RecordedInput;
use crate::known_files::KnownFiles;
use crate::provenance::Build;
use crate::publish::{TargetLock, directory_of, publish_file_locked};
use crate::wording::exactly;

/// The default size of a task in bytes: about a quarter of a minute of one core.
pub const TASK_BYTES: u64 = 1 << 30;

/// The request of `ds-plan make`.
#[derive(Debug)]
pub struct PlanRequest {
    pub product: Product,
    /// The pipeline of all tasks, without what differs between them.
    pub pipeline: Pipeline,
    /// The options of the build, as manifests record them.
    pub options: Vec<String>,
    pub input: PathBuf,
    pub recorded: RecordedInput,
    pub raw_shards: Option<u64>,
    pub root: PathBuf,
    pub limits: PlanLimits,
    pub sizing: Sizing,
    /// Names and paths. If there are none, the input is raw rows. `raw_shards` is the number of shards into
    /// which these rows, or the named sources, are divided.
    pub sources: Vec<(String, PathBuf)>,
    pub threads: Option<NonZeroUsize>,
    /// The plan is for this machine, with this many processors.
    pub here: Option<NonZeroUsize>,
    /// Whether a plan with other options is replaced.
    pub overwrite: bool,
    /// Whether the plan goes on with the dataset that stands in the root.
    pub resume: bool,
    /// Whether the sources were compared with the manifest beside them.
    pub compared: bool,
}

/// How the size of tasks is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizing {
    /// The number of tasks of all sources together.
    Tasks(u64),
    RowsPerTask(u64),
    BytesPerTask(u64),
}

/// A source as it is now, with the number of its units that are wanted.
struct SourceNow {
    source: PlanSource,
    weights: Option<Vec<Weight>>,
    units: u64,
    /// The bytes of files that are read whole, and why they are.
    size: u64,
    whole: Option<Error>,
}

impl SourceNow {
    fn bytes(&self) -> u128 {
        self.weights.as_deref().map_or(0, |weights| bytes_of(weights, self.units))
    }

    fn has_no_files(&self) -> bool {
        self.source.shard.is_some() && self.source.identity.as_array().is_some_and(Vec::is_empty)
    }

    /// Whether the rows would have to be counted to divide it.
    fn has_uncounted_rows(&self, sizing: Sizing) -> bool {
        let are_wanted = matches!(sizing, Sizing::RowsPerTask(_)) || self.source.rows.is_some();
        are_wanted && self.weights.is_some() && !self.source.is_counted
    }

    /// Returns why the source is one task, if it was to be more.
    fn note(&self, sizing: Sizing, task_bytes: u64, sources: usize) -> Option<String> {
        if self.has_uncounted_rows(sizing) && self.source.rows.is_none() {
            let cause = "is one task: the rows of NDJSON are not counted";
            let error = Error::usage(cause).at(self.source.path.as_path());
            return Some(error.hint("--tasks N").to_string());
        }
        let is_large = match sizing {
            Sizing::Tasks(tasks) => tasks > sources as u64,
            Sizing::BytesPerTask(_) => self.size > task_bytes,
            Sizing::RowsPerTask(_) => true,
        };
        self.whole.as_ref().filter(|_| is_large).map(Error::to_string)
    }

    /// Returns where the source is cut into tasks. `planned` is the source in the older plan, `count` how
    /// many tasks it has if it is new.
    fn cuts(&self, planned: Option<&PlanSource>, sizing: Sizing, count: u64) -> Vec<u64> {
        let units = self.units;
        match (&self.weights, planned, sizing) {
            (_, Some(planned), _) if planned.is_same(&self.source) => planned.cuts.clone(),
            // Which rows have this many tokens is known only from all rows before them.
            _ if self.source.tokens.is_some() => vec![0, units],
            (None, ..) => vec![0, units],
            _ if self.has_uncounted_rows(sizing) => vec![0, units],
            (_, _, Sizing::RowsPerTask(rows)) => even_cuts(units, rows),
            // A source that has changed keeps the names of its tasks.
            (Some(weights), Some(planned), _) => {
                cut(weights, units, (planned.count() as u64).min(units.max(1)))
            }
            (Some(weights), None, _) => cut(weights, units, count),
        }
    }
}

/// Makes the plan of a root, or adds new sources to it, and writes it. Sources that are planned
/// already keep their tasks.
pub fn make(request: &PlanRequest) -> Result<Plan> {
    let root = absolute(&request.root)?;
    let path = plan_path(&root);
    let recipe = request.product.recipe();
    // Otherwise the last step would refuse it, after all the work.
    targets(request).iter().try_for_each(|target| (recipe.refuse)(target))?;
    if !files::exists(&path)? && !request.overwrite && !request.resume && !is_free(request)? {
        return Err(Error::usage("is not empty, and has no plan")
            .at(request.root.as_path())
            .hint("--overwrite"));
    }
    let mut files = KnownFiles::default();
    let sources = sources_now(request, &mut files)?;
    let mut plan = Plan { files, ..empty(request, root)? };
    let replaces = request.overwrite || (request.resume && recipe.makes_again);
    if request.resume {
        check_resumed(request, &plan, &sources)?;
    }
    let directory = directory_of(&path);
    files::make_directories(&directory).map_err(|e| Error::write(directory.as_path(), &e))?;
    let lock = TargetLock::take(&directory)?;
    let old = find_same_plan(request, &plan, replaces)?;
    let sizing = match (request.here, &old) {
        // What was begun is continued.
        (Some(_), Some(old)) => old.sizing,
        (Some(jobs), None) => request.sizing.here(&sources, jobs),
        (None, _) => request.sizing,
    };
    if let Some(old) = old.as_ref().filter(|old| old.sizing != sizing && !replaces) {
        let cause = format!("has a plan with tasks of another size ({})", old.sizing);
        return Err(Error::usage(cause).at(request.root.as_path()).hint("--overwrite"));
    }
    let old = old.filter(|old| old.sizing == sizing);
    plan.sizing = sizing;
    plan.task_bytes =
        old.as_ref().map_or_else(|| task_bytes(&sources, sizing), |old| old.task_bytes);
    let counts = task_counts(&sources, sizing, old.as_ref(), plan.task_bytes);
    let note = |source: &SourceNow| source.note(sizing, plan.task_bytes, sources.len());
    if request.resume && recipe.makes_again {
        let sources = sources.iter().map(|source| &source.source);
        plan.replaced = replaced(sources, &plan, &request.root)?;
    }
    // (On one machine a task has all its processors.)
    plan.notes = sources.iter().filter(|_| request.here.is_none()).filter_map(note).collect();
    plan.notes.dedup();
    let empty = sources.iter().filter(|source| source.has_no_files()).count();
    if empty > 0 {
        let all = exactly(sources.len(), "shard");
        let cause = format!("{empty} of {all} have no files: Parquet and Arrow files stay whole");
        let error = Error::usage(cause).at(request.input.as_path());
        plan.notes.push(error.hint(format!("--shards {}", sources.len() - empty)).to_string());
    }
    for (mut source, count) in sources.into_iter().zip(counts) {
        let name = &source.source.name;
        let planned = old.iter().flat_map(|old| &old.sources).find(|old| old.name == *name);
        source.source.cuts = source.cuts(planned, sizing, count);
        plan.sources.push(source.source);
    }
    publish_file_locked(json_file::pending(&path, &plan)?, &lock)?;
    Ok(plan)
}

/// Returns the plan of the root if it equals this plan. Fails if it is another plan that has begun and may
/// not be replaced.
fn find_same_plan(request: &PlanRequest, plan: &Plan, replaces: bool) -> Result<Option<Plan>> {
    match Plan::find(&plan.root)? {
        // (What is to be gone on with is not another plan, begun or not.)
        Some(old)
            if old.id != plan.id
                && !replaces
                && (request.resume || old.is_begun(&request.root)?) =>
        {
            Err(other_plan(&old, plan))
        }
        old => Ok(old.filter(|old| old.id == plan.id)),
    }
}

impl PlanSource {
    /// Whether this source and the other have the same tasks.
    fn is_same(&self, other: &PlanSource) -> bool {
        let limits = |source: &PlanSource| (source.rows, source.tokens, source.shard);
        limits(self) == limits(other) && self.identity == other.identity
    }
}

/// Smallest and largest task on one machine, in bytes. A smaller task is not cut; a larger one always is,
/// since an interruption loses the whole task.
const HERE: (u64, u64) = (TASK_BYTES, 16 * TASK_BYTES);
/// The most threads that one task can use well.
const THREADS: u64 = 8;

impl Sizing {
    /// Returns the sizing for one machine: tasks are whole sources, unless a source is huge or
    /// there are too few sources for its processors.
    fn here(self, sources: &[SourceNow], jobs: NonZeroUsize) -> Sizing {
        let Sizing::BytesPerTask(_) = self else { return self };
        let sum: u128 = sources.iter().map(SourceNow::bytes).sum();
        let share = sum / u128::from((jobs.get() as u64).div_ceil(THREADS));
        Sizing::BytesPerTask(u64::try_from(share).unwrap_or(u64::MAX).clamp(HERE.0, HERE.1))
    }
}

impl std::fmt::Display for Sizing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sizing::Tasks(count) => write!(f, "--tasks {count}"),
            Sizing::RowsPerTask(rows) => write!(f, "--rows-per-task {rows}"),
            Sizing::BytesPerTask(_) => f.write_str("neither --tasks nor --rows-per-task"),
        }
    }
}

/// Returns in a line what the root has that is made again.
fn replaced<'a>(
    sources: impl Iterator<Item = &'a PlanSource>,
    plan: &Plan,
    root: &Path,
) -> Result<Option<String>> {
    let (mut count, mut first) = (0, None);
    for source in sources {
        if let Some(cause) = source.is_replaced(plan, root)? {
            count += 1;
            first.get_or_insert_with(|| format!("{} {cause}", source.name));
        }
    }
    Ok(first.map(|first| {
        let (all, root) = (exactly(count, "finished shard"), shown(root));
        format!("{root}: {all}: not kept, made again: {first}")
    }))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).at(path)?;
    // A task is one line of a list: every engine takes a line for one command.
    if absolute.as_os_str().as_encoded_bytes().contains(&b'\n') {
        let cause = "a path with a line feed in it cannot stand in a line of a task list";
        Err(Error::usage(cause).at(path).hint("another name"))
    } else {
        Ok(absolute)
    }
}

/// Returns the paths at which datasets are to be made.
fn targets(request: &PlanRequest) -> Vec<PathBuf> {
    let root = &request.root;
    if !request.product.recipe().is_apart {
        return vec![root.clone()];
    }
    request.sources.iter().map(|(name, _)| root.join(name)).collect()
}

/// Whether no dataset and no file is at these paths.
fn is_free(request: &PlanRequest) -> Result<bool> {
    let taken = |target: &PathBuf| Ok(!is_empty(target)?);
    Ok(files::find(&targets(request), taken)?.is_none())
}

/// Fails if a dataset at these paths was neither begun nor made by the plan.
fn check_resumed(request: &PlanRequest, plan: &Plan, sources: &[SourceNow]) -> Result<()> {
    let old = Plan::find(&plan.root)?.filter(|old| old.id == plan.id);
    for SourceNow { source, .. } in sources {
        let mut planned = old.iter().flat_map(|old| &old.sources);
        let is_begun = planned.any(|old| old.name == source.name && old.is_same(source));
        if !is_begun && !is_empty(&source.target(plan, &request.root))? {
            source.check_resumed(plan, &request.root)?;
        }
    }
    Ok(())
}

/// Whether a root holds nothing but tasks.
fn is_empty(root: &Path) -> Result<bool> {
    Ok(files::paths_if_there(root)?.iter().all(|path| path.ends_with(TASKS)))
}

/// Returns the plan without its sources.
fn empty(request: &PlanRequest, root: PathBuf) -> Result<Plan> {
    let paths: Vec<PathBuf> = request.sources.iter().map(|(_, path)| path.clone()).collect();
    let manifest = if request.product.recipe().has_input_manifest && request.raw_shards.is_none() {
        input_manifest(&paths, request.compared)?
    } else {
        None
    };
    let mut plan = Plan {
        schema_version: SCHEMA.to_string(),
        id: String::new(),
        product: request.product,
        pipeline: request.pipeline.clone(),
        options: request.options.clone(),
        directory: absolute(Path::new("."))?,
        input: request.input.clone(),
        recorded: request.recorded.clone(),
        raw_shards: request.raw_shards,
        root,
        threads: request.threads,
        build: Build::own(),
        limits: request.limits.clone(),
        model: Vec::new(),
        sizing: request.sizing,
        task_bytes: 0,
        input_manifest: manifest,
        sources: Vec::new(),
        files: KnownFiles::default(),
        notes: Vec::new(),
        replaced: None,
    };
    plan.model = plan.model_now()?;
    plan.id = plan.make_id();
    Ok(plan)
}

/// Returns the error for a second plan in one root.
fn other_plan(old: &Plan, new: &Plan) -> Error {
    let what = match () {
        _ if old.directory.join(&old.input) != new.directory.join(&new.input) => {
            format!("of another input, {}", old.directory.join(&old.input).display())
        }
        _ if old.build != new.build => format!("by another build, {}", old.build),
        _ if old.limits != new.limits => "with other limits".to_string(),
        _ if old.options != new.options => format!("with other options: {}", old.options.join(" ")),
        _ if old.pipeline != new.pipeline => {
            format!("with another pipeline: {}", old.pipeline.line())
        }
        _ if old.model != new.model => "of another model under the same name".to_string(),
        _ => "made elsewhere".to_string(),
    };
    let cause = format!("has a plan {what}");
    Error::usage(cause).at(new.root.as_path()).hint("another root, or --overwrite")
}

/// Returns the sources as they are now, with their shares of the limits in the order of their
/// names.
fn sources_now(request: &PlanRequest, files: &mut KnownFiles) -> Result<Vec<SourceNow>> {
    let limits = &request.limits;
    let sources = named_sources(request);
    let mut left = limits.rows;
    let tokens = limits.tokens.map(|tokens| tokens.div_ceil(sources.len().max(1) as u64));
    let mut all = Vec::new();
    for (name, paths, shard) in sources {
        let look = request.product.recipe().look;
        let SourceState { identity, weights, are_bytes, whole } =
            look(&name, &paths, shard, files)?;
        let mut paths = paths.into_iter();
        let (path, further) = (paths.next().unwrap_or_default(), paths.collect());
        let there = weights.iter().flatten().map(|weight| weight.units).sum::<u64>();
        let is_counted = weights.is_some() && !are_bytes;
        if !is_counted && left.is_some() {
            let cause = "a limit of rows of all files together: the rows of NDJSON are not counted";
            return Err(Error::usage(cause)
                .at(path.as_path())
                .hint("a limit of rows of each shard"));
        }
        let share = left.map(|left| left.min(there));
        left = left.zip(share).map(|(left, share)| left - share);
        let rows = match (share, limits.rows_per_source) {
            (Some(share), Some(most)) => Some(share.min(most)),
            (share, most) => share.or(most),
        };
        let units = there.min(rows.filter(|_| is_counted).unwrap_or(there));
        let bytes = |file: &Value| file["bytes"].as_u64().unwrap_or(0);
        let size = identity.as_array().map_or(0, |files| files.iter().map(bytes).sum());
        let cuts = Vec::new();
        let source =
            PlanSource { name, path, further, shard, identity, is_counted, rows, tokens, cuts };
        all.push(SourceNow { units, source, weights, size, whole });
    }
    Ok(all)
}

/// Returns the name and paths of each source, and which shard it is if it is a shard of raw rows.
fn named_sources(request: &PlanRequest) -> Vec<(String, Vec<PathBuf>, Option<Slice>)> {
    let Some(count) = request.raw_shards else {
        let same = request.sources.chunk_by(|(a, _), (b, _)| a == b);
        let named = same.filter_map(|same| {
            let paths = same.iter().map(|(_, path)| path.clone()).collect();
            Some((same.first()?.0.clone(), paths, None))
        });
        return named.collect();
    };
    let named: Vec<PathBuf> = request.sources.iter().map(|(_, path)| path.clone()).collect();
    let inputs = if named.is_empty() { vec![request.input.clone()] } else { named };
    let shard = |index| {
        let shard = Slice::Part { index, count };
        (format!("shard_{index:02}"), inputs.clone(), Some(shard))
    };
    (0..count).map(shard).collect()
}

/// Returns the bytes of a task if all tasks are equal.
fn task_bytes(sources: &[SourceNow], sizing: Sizing) -> u64 {
    match sizing {
        Sizing::BytesPerTask(bytes) => bytes,
        Sizing::Tasks(tasks) => {
            let sum: u128 = sources.iter().map(SourceNow::bytes).sum();
            u64::try_from(sum.div_ceil(u128::from(tasks.max(1)))).unwrap_or(u64::MAX)
        }
        Sizing::RowsPerTask(_) => 0,
    }
}

/// Returns how many tasks each source has if it is new.
fn task_counts(
    sources: &[SourceNow],
    sizing: Sizing,
    old: Option<&Plan>,
    task_bytes: u64,
) -> Vec<u64> {
    match (sizing, old) {
        (Sizing::Tasks(tasks), None) => {
            let weight = |source: &SourceNow| Weight {
                units: source.units,
                bytes: u64::try_from(source.bytes()).unwrap_or(u64::MAX),
            };
            apportion(&sources.iter().map(weight).collect::<Vec<_>>(), tasks)
        }
        _ => {
            let count = |source: &SourceNow| {
                let count = source.bytes().div_ceil(u128::from(task_bytes.max(1)));
                u64::try_from(count).unwrap_or(u64::MAX).clamp(1, source.units.max(1))
            };
            sources.iter().map(count).collect()
        }
    }
}

/// Cuts after every `step` units.
fn even_cuts(units: u64, step: u64) -> Vec<u64> {
    let starts = (0..units.div_ceil(step.max(1)).max(1)).map(|piece| piece * step);
    starts.chain([units]).collect()
}
