//! Making a plan, and adding new sources to one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cuts::{apportion, bytes_of, cut};
use super::products::Weight;
use super::{Build, Plan, PlanLimits, PlanSource, Product, SCHEMA, plan_path};
use crate::batch::input_manifest;
use crate::cli::{TargetLock, directory_of, publish_file_locked};
use crate::error::{Error, Result};
use crate::files;
use crate::format::json_file;

/// What a plan is made of.
#[derive(Debug)]
pub struct PlanRequest {
    pub product: Product,
    pub script: String,
    pub options: Vec<String>,
    pub input: PathBuf,
    pub glob: Option<String>,
    pub root: PathBuf,
    pub limits: PlanLimits,
    pub sizing: Sizing,
    /// Names and paths.
    pub sources: Vec<(String, PathBuf)>,
    /// Replace a plan with other options.
    pub overwrite: bool,
    /// The sources were compared with the manifest beside them.
    pub compared: bool,
}

/// How large tasks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizing {
    /// So many of all sources together.
    Tasks(u64),
    RowsPerTask(u64),
    BytesPerTask(u64),
}

/// A source as it is now.
struct Looked {
    source: PlanSource,
    weights: Vec<Weight>,
    units: u64,
}

/// Makes the plan of a root, or adds to it what is new, and writes it down. Sources that are planned
/// already keep their tasks.
pub fn make(request: &PlanRequest) -> Result<Plan> {
    let root = absolute(&request.root)?;
    let path = plan_path(&root);
    if !files::exists(&path)? && !request.overwrite && !is_empty(&root)? {
        return Err(Error::usage("is not empty, and has no plan")
            .at(request.root.as_path())
            .hint("--overwrite"));
    }
    let directory = directory_of(&path);
    std::fs::create_dir_all(&directory).map_err(|e| Error::write(directory.as_path(), &e))?;
    let lock = TargetLock::take(&directory)?;
    let old = Plan::find(&root)?;
    let mut plan = empty(request, root)?;
    let old = match old {
        Some(old) if old.id != plan.id && !request.overwrite => {
            return Err(other_plan(&old, &plan));
        }
        old => old.filter(|old| old.id == plan.id),
    };
    let sizing = request.sizing;
    if let Some(old) = old.as_ref().filter(|old| old.sizing != sizing && !request.overwrite) {
        let cause = format!("has a plan with tasks of another size ({})", old.sizing);
        return Err(Error::usage(cause).at(request.root.as_path()).hint("--overwrite"));
    }
    let old = old.filter(|old| old.sizing == sizing);
    let looked = look(request)?;
    plan.task_bytes =
        old.as_ref().map_or_else(|| task_bytes(&looked, sizing), |old| old.task_bytes);
    let counts = counts(&looked, sizing, old.as_ref(), plan.task_bytes);
    for (Looked { mut source, weights, units }, count) in looked.into_iter().zip(counts) {
        let planned = old.iter().flat_map(|old| &old.sources).find(|old| old.name == source.name);
        source.cuts = match (planned, sizing) {
            (Some(planned), _) if planned.is_same(&source) => planned.cuts.clone(),
            // About so many tokens are known only from all rows before.
            _ if source.tokens.is_some() => vec![0, units],
            (_, Sizing::RowsPerTask(rows)) => even(units, rows),
            // One that has changed keeps the names of its tasks.
            (Some(planned), _) => cut(&weights, units, (planned.count() as u64).min(units.max(1))),
            (None, _) => cut(&weights, units, count),
        };
        plan.sources.push(source);
    }
    publish_file_locked(json_file::pending(&path, &plan)?, &lock)?;
    Ok(plan)
}

impl PlanSource {
    /// Whether the tasks of this source are those of the other.
    fn is_same(&self, other: &PlanSource) -> bool {
        let limits = |source: &PlanSource| (source.rows, source.tokens);
        limits(self) == limits(other) && self.identity == other.identity
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

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::io(path, &e))
}

fn is_empty(root: &Path) -> Result<bool> {
    Ok(files::paths_if_there(root)?.is_empty())
}

/// The plan without its sources.
fn empty(request: &PlanRequest, root: PathBuf) -> Result<Plan> {
    let paths: Vec<PathBuf> = request.sources.iter().map(|(_, path)| path.clone()).collect();
    let manifest = match request.product {
        Product::KdRoot => serde_json::from_value(input_manifest(&paths, request.compared)?),
        Product::Pack => Ok(None),
    };
    let mut plan = Plan {
        schema_version: SCHEMA.to_string(),
        id: String::new(),
        product: request.product,
        script: request.script.clone(),
        options: request.options.clone(),
        directory: absolute(Path::new("."))?,
        input: request.input.clone(),
        glob: request.glob.clone(),
        root,
        build: Build::own(),
        limits: request.limits.clone(),
        sizing: request.sizing,
        task_bytes: 0,
        input_manifest: manifest.map_err(Error::data)?,
        sources: Vec::new(),
    };
    plan.id = plan.make_id();
    Ok(plan)
}

/// The error of two plans in one root.
fn other_plan(old: &Plan, new: &Plan) -> Error {
    let what = match () {
        _ if old.directory.join(&old.input) != new.directory.join(&new.input) => {
            format!("of another input, {}", old.directory.join(&old.input).display())
        }
        _ if old.build != new.build => format!("by another build, {}", old.build),
        _ if old.limits != new.limits => "with other limits".to_string(),
        _ if old.options != new.options => format!("with other options: {}", old.options.join(" ")),
        _ => "made elsewhere".to_string(),
    };
    let cause = format!("has a plan {what}");
    Error::usage(cause).at(new.root.as_path()).hint("another root, or --overwrite")
}

/// The sources as they are now, with their shares of the limits in the order of their names.
fn look(request: &PlanRequest) -> Result<Vec<Looked>> {
    let limits = &request.limits;
    let mut left = limits.rows;
    let tokens = limits.tokens.map(|tokens| tokens.div_ceil(request.sources.len().max(1) as u64));
    let mut all = Vec::new();
    for (name, path) in &request.sources {
        let (identity, weights) = request.product.look(path)?;
        let there: u64 = weights.iter().map(|weight| weight.units).sum();
        let share = left.map(|left| left.min(there));
        left = left.zip(share).map(|(left, share)| left - share);
        let rows = match (share, limits.rows_per_source) {
            (Some(share), Some(most)) => Some(share.min(most)),
            (share, most) => share.or(most),
        };
        let (name, path, cuts) = (name.clone(), path.clone(), Vec::new());
        let source = PlanSource { name, path, identity, rows, tokens, cuts };
        all.push(Looked { units: there.min(rows.unwrap_or(there)), source, weights });
    }
    Ok(all)
}

/// What a task has if all have the same.
fn task_bytes(looked: &[Looked], sizing: Sizing) -> u64 {
    match sizing {
        Sizing::BytesPerTask(bytes) => bytes,
        Sizing::Tasks(tasks) => {
            let sum: u128 =
                looked.iter().map(|looked| bytes_of(&looked.weights, looked.units)).sum();
            u64::try_from(sum.div_ceil(u128::from(tasks.max(1)))).unwrap_or(u64::MAX)
        }
        Sizing::RowsPerTask(_) => 0,
    }
}

/// How many tasks each source has if it is new.
fn counts(looked: &[Looked], sizing: Sizing, old: Option<&Plan>, task_bytes: u64) -> Vec<u64> {
    let bytes = |looked: &Looked| bytes_of(&looked.weights, looked.units);
    match (sizing, old) {
        (Sizing::Tasks(tasks), None) => {
            let weight = |looked: &Looked| Weight {
                units: looked.units,
                bytes: u64::try_from(bytes(looked)).unwrap_or(u64::MAX),
            };
            apportion(&looked.iter().map(weight).collect::<Vec<_>>(), tasks)
        }
        _ => {
            let count = |looked: &Looked| {
                let count = bytes(looked).div_ceil(u128::from(task_bytes.max(1)));
                u64::try_from(count).unwrap_or(u64::MAX).clamp(1, looked.units.max(1))
            };
            looked.iter().map(count).collect()
        }
    }
}

/// Cuts after every so many units.
fn even(units: u64, step: u64) -> Vec<u64> {
    let starts = (0..units.div_ceil(step.max(1)).max(1)).map(|piece| piece * step);
    starts.chain([units]).collect()
}
