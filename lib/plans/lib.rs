//! Plans: a pipeline over a large input, divided into tasks. A task makes a slice of one source into a
//! directory of its own, on any machine, however often it is run. Engines (GNU parallel, Slurm) get
//! shell lines. Receipts, never an engine's log, say what is done.
//!
//! The files of a plan are described in `FORMAT.md`.

// The crates below, by the names that their modules have in all of them.
use gristmill_puzzles::puzzle;
use gristmill_stream::{
    batch, chain, cli, digest, error, failure, file_entry, files, known_files, ordered, program,
    provenance, publish, raw_files, signals, stream, visible, walk, wording,
};

/// The formats of all products.
mod format {
    pub use gristmill_games::format::{pack, raw_games};
    pub use gristmill_puzzles::format::puzzle_dir;
    pub use gristmill_tokens::format::*;
}

mod args;
mod closing;
mod conversations;
mod cuts;
mod finish;
mod jobs;
mod kept;
mod list;
mod make;
mod merge;
mod model;
mod options;
mod packs;
mod parts;
mod pipeline;
mod products;
mod progress;
mod recipe;
mod roots;
mod row_files;
mod rows;
mod run;
mod sets;
mod state;
mod status;
mod summary;
mod supervise;
mod warnings;
mod work;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use args::{Asked, FindFilter, ProductArgs, filters_of};
pub use finish::{Finish, is_finished, parts, unfinished};
pub use jobs::{BuildJob, FinishJob};
pub use list::{TaskList, line};
pub use make::{PlanRequest, Sizing, make};
pub use merge::MergeArgs;
pub use options::{PassedOption, given, of_filters, with_options_of};
pub use pipeline::Pipeline;
pub use products::Product;
pub use row_files::{RowFiles, RowForm};
pub use run::{RunOptions, run};
pub use state::{State, states};
pub use status::Status;
pub use summary::summary_of_pack;
pub use supervise::{end_with_parent, folder_for_stdin, supervise};
pub use work::Work;

use crate::cli::Slice;
use crate::digest::sha256_hex;
use crate::error::{Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::format::json_file;
use crate::format::synth_shards::RecordedInput;
use crate::known_files::KnownFiles;
use crate::provenance::{Build, InputManifest};

pub const SCHEMA: &str = "gristmill_plan_v2";
/// The folder of the plan and the parts, in the root that is to be made.
const TASKS: &str = "tasks";
const PLAN: &str = "plan.json";
/// What a task makes, in its folder.
const PART: &str = "part";

/// `ROOT/tasks/plan.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub schema_version: String,
    /// A hash of everything that decides the bytes except the sources, so that it stays the same when a
    /// source is added.
    pub id: String,
    pub product: Product,
    /// The filters of each task, with the words that all tasks give them.
    pub pipeline: Pipeline,
    /// The options of the build, as manifests record them.
    pub options: Vec<String>,
    /// The directory in which the plan was made. Tasks run there, so that a relative input is found
    /// and recorded as it was named.
    pub directory: PathBuf,
    pub input: PathBuf,
    /// The other facts of the input that a manifest records.
    pub recorded: RecordedInput,
    /// The number of shards into which the files of raw rows are divided.
    pub raw_shards: Option<u64>,
    pub root: PathBuf,
    /// Threads of a task, if stated; not part of the plan's id.
    pub threads: Option<NonZeroUsize>,
    /// The program that made the plan; only the same build makes its tasks.
    pub build: Build,
    pub limits: PlanLimits,
    /// The files of the model that the options name; none if they name no model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<FileEntry>,
    pub sizing: Sizing,
    /// The decoded bytes of a task of about equal size.
    pub task_bytes: u64,
    /// The manifest beside the sources.
    pub input_manifest: Option<InputManifest>,
    pub sources: Vec<PlanSource>,
    /// What was found when the sources were read whole.
    #[serde(default, skip_serializing_if = "KnownFiles::is_empty")]
    pub files: KnownFiles,
    /// Why sources were not divided, for the user.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// What the root has that is made again, for the user.
    #[serde(skip)]
    pub replaced: Option<String>,
}

/// Limits of the whole build; `None` means no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanLimits {
    pub rows: Option<u64>,
    pub rows_per_source: Option<u64>,
    pub tokens: Option<u64>,
}

/// A source (a shard, a folder of games), and where it is cut into tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSource {
    pub name: String,
    /// The path, relative to the plan's directory.
    pub path: PathBuf,
    /// Its other inputs, if it has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<PathBuf>,
    /// The slice of the files below `path`, for a shard of raw rows.
    pub shard: Option<Slice>,
    /// What the source was when it was planned: name, size, rows, footer hash.
    pub identity: Value,
    /// Whether its rows or games are counted beforehand. (The rows of NDJSON are not: it is cut at bytes.)
    pub is_counted: bool,
    /// Its share of the limit of rows.
    pub rows: Option<u64>,
    pub tokens: Option<u64>,
    /// Task I has the rows (or the lines that begin in the bytes) from `cuts[I]` to `cuts[I + 1]`.
    pub cuts: Vec<u64>,
}

/// One task of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    pub plan: &'a Plan,
    pub source: &'a PlanSource,
    pub index: usize,
}

/// Returns the number of processors.
pub fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

impl Plan {
    /// Reads the plan of a root.
    pub fn read(root: &Path) -> Result<Plan> {
        Plan::find(root)?.ok_or_else(|| {
            Error::usage("has no plan (tasks/plan.json)").at(root).hint("ds-plan plan")
        })
    }

    /// Reads the plan of a root; `None` if the root has no plan.
    pub fn find(root: &Path) -> Result<Option<Plan>> {
        let path = plan_path(root);
        let plan: Option<Plan> = json_file::if_there(&path, json_file::read)?;
        match plan {
            Some(plan) if plan.schema_version != SCHEMA => {
                let cause = format!("is {:?}, not {SCHEMA:?}", plan.schema_version);
                Err(Error::data(cause).at(path.as_path()))
            }
            Some(plan) => match plan.outside() {
                Some(cause) => Err(Error::data(cause).at(path.as_path())),
                None => Ok(Some(plan)),
            },
            None => Ok(None),
        }
    }

    /// Fails if the pipeline has a program that is no filter beside this program: a plan may come from anybody.
    pub(crate) fn refuse_foreign(&self) -> Result<()> {
        let Some(name) = self.pipeline.foreign()? else { return Ok(()) };
        let cause = format!("pipeline: {name:?} is none of gristmill's filters");
        let error = Error::usage(cause).at(plan_path(&self.root).as_path());
        Err(error.hint("the lines of the task list"))
    }

    /// Returns the reason if this plan has no pipeline, or would write outside its root.
    fn outside(&self) -> Option<String> {
        let is_below =
            |name: &str| !name.is_empty() && files::below(Path::new(""), Path::new(name)).is_some();
        if self.pipeline.0.is_empty() || self.pipeline.0.iter().any(Vec::is_empty) {
            return Some("pipeline: lacks a filter".to_string());
        }
        let source = self.sources.iter().find(|source| !is_below(&source.name))?;
        Some(format!("sources: {:?} is no name below the root", source.name))
    }

    /// Fails unless this build made the plan.
    pub fn check_build(&self) -> Result<()> {
        let own = Build::own();
        if self.build == own {
            return Ok(());
        }
        let cause = format!("the plan was made by {}, this is {own}", self.build);
        Err(Error::usage(cause).at(self.root.as_path()).hint("plan again with --overwrite"))
    }

    fn make_id(&self) -> String {
        let Plan { product, pipeline, options, directory, input, root, build, limits, .. } = self;
        let (raw_shards, recorded, model) = (self.raw_shards, &self.recorded, &self.model);
        let all =
            json!([SCHEMA, product, pipeline, options, directory, input, root, build, limits]);
        let all = json!([all, raw_shards, recorded, model]);
        sha256_hex(all.to_string().as_bytes())[..12].to_string()
    }

    /// Returns the value of an option.
    pub fn option(&self, flag: &str) -> Option<&str> {
        let at = self.options.iter().position(|option| option == flag)?;
        self.options.get(at + 1).map(String::as_str)
    }

    /// Returns where datasets are made: the root, or folders in it.
    pub(crate) fn targets(&self, root: &Path) -> Vec<PathBuf> {
        let mut targets: Vec<PathBuf> =
            self.sources.iter().map(|source| source.target(self, root)).collect();
        targets.dedup();
        targets
    }

    /// Returns all tasks, ordered by source and slice.
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

    /// Returns all inputs of the source.
    fn paths(&self, plan: &Plan) -> Vec<PathBuf> {
        let own = std::iter::once(&self.path).chain(&self.further);
        own.map(|path| plan.directory.join(path)).collect()
    }

    /// Whether the source has changed since the plan was made.
    pub fn is_changed(&self, plan: &Plan) -> Result<bool> {
        let (paths, mut known) = (self.paths(plan), plan.files.clone());
        let now = (plan.product.recipe().look)(&self.name, &paths, self.shard, &mut known)?;
        Ok(now.identity != self.identity)
    }

    /// Fails if the source has changed since the plan was made.
    pub fn check(&self, plan: &Plan) -> Result<()> {
        if !self.is_changed(plan)? {
            return Ok(());
        }
        let path = plan.directory.join(&self.path);
        let shard = self.shard.map_or(String::new(), |shard| format!(", shard {shard},"));
        let cause = format!("is not what it was when the plan was made{shard}");
        Err(Error::data(cause.trim_end_matches(',')).at(path.as_path()).hint("plan again"))
    }

    /// Whether these inputs are the files of this source; only what both state is compared. (For raw rows a manifest
    /// states more than the plan, but no number of rows if a record becomes several.)
    fn is_of(&self, inputs: &[Value]) -> bool {
        let own = self.inputs();
        let is_same = |(own, input): (&Value, &Value)| {
            let fields = own.as_object().into_iter().flatten();
            let is_same = |(name, value): (&String, &Value)| match input.get(name) {
                Some(Value::Null) => name == "rows",
                found => found == Some(value),
            };
            fields.into_iter().all(is_same)
        };
        own.len() == inputs.len() && own.iter().zip(inputs).all(is_same)
    }

    /// Returns the source's files of rows as manifests name them.
    fn inputs(&self) -> Vec<Value> {
        let all = match &self.identity {
            Value::Array(files) => files.as_slice(),
            one => std::slice::from_ref(one),
        };
        let is_file =
            |file: &&Value| ["footer_sha256", "sha256"].iter().any(|name| file.get(name).is_some());
        all.iter().filter(is_file).cloned().collect()
    }
}

impl Task<'_> {
    /// `shard_00.part-00003-of-00124`.
    pub fn name(&self) -> String {
        format!("{}.part-{:05}-of-{:05}", self.source.name, self.index, self.source.count())
    }

    /// Returns which rows or games of the source the task reads; `None` if it is the only task and reads all
    /// of them.
    pub fn slice(&self) -> Option<Slice> {
        let at = |index: usize| self.source.cuts.get(index).copied().unwrap_or(0);
        let is_whole = self.source.count() == 1;
        let part = || match self.source.is_counted {
            true => Slice::Range { start: at(self.index), end: at(self.index + 1) },
            false => Slice::Part { index: self.index as u64, count: self.source.count() as u64 },
        };
        (!is_whole).then(part)
    }

    /// Returns its inputs as the plan names them.
    fn inputs(&self) -> Vec<String> {
        let paths = std::iter::once(&self.source.path).chain(&self.source.further);
        paths.map(|path| shown(path)).collect()
    }

    /// Returns its inputs, and which shard of them it is.
    fn inputs_of_rows(&self) -> Vec<String> {
        let shard = self.source.shard.map(String::from);
        let shard = shard.into_iter().flat_map(|shard| ["--shard".to_string(), shard]);
        self.inputs().into_iter().chain(shard).collect()
    }

    /// Returns the number of its rows or games, if they are counted.
    fn units(&self) -> Option<u64> {
        let cut = |index: usize| self.source.cuts.get(index).copied();
        let units = cut(self.index + 1)?.checked_sub(cut(self.index)?);
        units.filter(|_| self.source.is_counted)
    }

    /// Returns the file to which its filters append their progress.
    fn progress(&self, root: &Path) -> PathBuf {
        self.directory(root).join("progress")
    }

    fn slice_text(&self) -> Option<String> {
        self.slice().map(|slice| slice.to_string())
    }

    /// Returns the folder of all files that the task leaves.
    fn directory(&self, root: &Path) -> PathBuf {
        root.join(TASKS).join(self.name())
    }

    /// Returns the path of the part, which the pipeline makes.
    pub fn part(&self, root: &Path) -> PathBuf {
        self.directory(root).join(PART)
    }

    /// Returns the path of the file that makes the part complete.
    fn manifest(&self, root: &Path) -> PathBuf {
        (self.plan.product.recipe().manifest)(&self.part(root), &self.source.name)
    }
}

fn plan_path(root: &Path) -> PathBuf {
    root.join(TASKS).join(PLAN)
}
