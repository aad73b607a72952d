//! Plans: a pipeline over a large input as tasks, each a slice of one source, made by itself into a
//! directory of its own, wherever and however often it is run. What engines (GNU parallel, Slurm)
//! get are lines of shell; what is done is known from receipts, never from an engine's log.
//!
//! The files of a plan are described in `FORMAT.md`.

mod cuts;
mod finish;
mod list;
mod make;
mod packs;
mod products;
mod run;
mod state;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use finish::{finish, is_finished, parts};
pub use list::{TaskList, line};
pub use make::{PlanRequest, Sizing, make};
pub use products::Product;
pub use run::run;
pub use state::{State, states};

use crate::cli::Slice;
use crate::digest::sha256_hex;
use crate::error::{Error, Result};
use crate::format::json_file;
use crate::format::kd_root::InputManifest;

pub const SCHEMA: &str = "gristmill_plan_v1";
/// Where plans and parts are, in the root that is to be made.
const TASKS: &str = "tasks";
const PLAN: &str = "plan.json";

/// `ROOT/tasks/plan.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub schema_version: String,
    /// A hash of all that decides the bytes but the sources, so that it stays when one is added.
    pub id: String,
    pub product: Product,
    /// The script that makes a task, and its options.
    pub script: String,
    pub options: Vec<String>,
    /// Where the plan was made. Tasks run there, so that a relative input is found and recorded as
    /// it was named.
    pub directory: PathBuf,
    pub input: PathBuf,
    pub glob: Option<String>,
    pub root: PathBuf,
    pub build: Build,
    pub limits: PlanLimits,
    pub sizing: Sizing,
    /// What a task of about equal size has, decoded.
    pub task_bytes: u64,
    /// The manifest beside the sources.
    pub input_manifest: Option<InputManifest>,
    pub sources: Vec<PlanSource>,
}

/// The program that made the plan; only the same one makes its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub version: String,
    pub git_sha: Option<String>,
    pub git_dirty: Option<bool>,
}

/// Limits of the whole build; null is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanLimits {
    pub rows: Option<u64>,
    pub rows_per_source: Option<u64>,
    pub tokens: Option<u64>,
}

/// A source (a shard, a folder of games), and where it is cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSource {
    pub name: String,
    /// As seen from the plan's directory.
    pub path: PathBuf,
    /// What it was: name, size, rows, footer hash.
    pub identity: Value,
    /// Its share of the limits.
    pub rows: Option<u64>,
    pub tokens: Option<u64>,
    /// Its task I is the rows from `cuts[I]` to `cuts[I + 1]`.
    pub cuts: Vec<u64>,
}

/// One task of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    pub plan: &'a Plan,
    pub source: &'a PlanSource,
    pub index: usize,
}

impl Build {
    pub fn own() -> Build {
        let run = crate::format::kd_root::BuildRun::since(std::time::Instant::now());
        Build { version: run.version, git_sha: run.git_sha, git_dirty: run.git_dirty }
    }
}

impl std::fmt::Display for Build {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sha = self.git_sha.as_deref().map_or("", |sha| sha.get(..12).unwrap_or(sha));
        let dirty = if self.git_dirty == Some(true) { ", changed" } else { "" };
        write!(f, "gristmill {} ({sha}{dirty})", self.version)
    }
}

impl Plan {
    /// The plan of a root.
    pub fn read(root: &Path) -> Result<Plan> {
        Plan::find(root)?.ok_or_else(|| {
            Error::usage("has no plan (tasks/plan.json)").at(root).hint("SCRIPT plan INPUT ROOT")
        })
    }

    /// The same; `None` if it has none.
    pub fn find(root: &Path) -> Result<Option<Plan>> {
        let path = plan_path(root);
        let plan: Option<Plan> = json_file::if_there(&path, json_file::read)?;
        match plan {
            Some(plan) if plan.schema_version != SCHEMA => {
                let cause = format!("is {:?}, not {SCHEMA:?}", plan.schema_version);
                Err(Error::data(cause).at(path.as_path()))
            }
            plan => Ok(plan),
        }
    }

    /// Fails unless this program made the plan.
    pub fn check_build(&self) -> Result<()> {
        let own = Build::own();
        if self.build == own {
            return Ok(());
        }
        let cause = format!("the plan was made by {}, this is {own}", self.build);
        Err(Error::usage(cause).at(self.root.as_path()).hint("plan again with --overwrite"))
    }

    fn make_id(&self) -> String {
        let Plan { product, script, options, directory, input, root, build, limits, .. } = self;
        let all = json!([SCHEMA, product, script, options, directory, input, root, build, limits]);
        sha256_hex(all.to_string().as_bytes())[..12].to_string()
    }

    /// All tasks, by source and slice.
    pub fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        self.sources.iter().flat_map(|source| source.tasks(self))
    }
}

impl PlanSource {
    pub fn tasks<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = Task<'a>> {
        (0..self.count()).map(move |index| Task { plan, source: self, index })
    }

    fn count(&self) -> usize {
        self.cuts.len().saturating_sub(1)
    }

    /// Fails if the source is not what it was when the plan was made.
    pub fn check(&self, plan: &Plan) -> Result<()> {
        let path = plan.directory.join(&self.path);
        match plan.product.identity(&path)? == self.identity {
            true => Ok(()),
            false => Err(Error::data("is not what it was when the plan was made")
                .at(path.as_path())
                .hint("plan again")),
        }
    }
}

impl Task<'_> {
    /// `shard_00.part-00003-of-00124`.
    pub fn name(&self) -> String {
        format!("{}.part-{:05}-of-{:05}", self.source.name, self.index, self.source.count())
    }

    pub fn slice(&self) -> Slice {
        let at = |index: usize| self.source.cuts.get(index).copied().unwrap_or(0);
        Slice::Range { start: at(self.index), end: at(self.index + 1) }
    }

    /// All that the task leaves is here.
    fn directory(&self, root: &Path) -> PathBuf {
        root.join(TASKS).join(self.name())
    }

    /// What the pipeline makes.
    pub fn part(&self, root: &Path) -> PathBuf {
        self.directory(root).join("part")
    }

    /// The file that makes the part whole.
    fn manifest(&self, root: &Path) -> PathBuf {
        self.plan.product.manifest(&self.part(root), &self.source.name)
    }
}

fn plan_path(root: &Path) -> PathBuf {
    root.join(TASKS).join(PLAN)
}
