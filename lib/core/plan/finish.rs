//! The last step: all parts are there and are what the plan says, and become one.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use serde_json::Value;

use super::state::{State, states};
use super::summary::Summary;
use super::{Plan, PlanSource, Product, Task, TaskList, packs, sets};
use crate::batch::input_manifest;
use crate::cli;
use crate::error::{Error, Result};
use crate::files;
use crate::format::json_file;
use crate::format::kd_root::{KdRootManifest, MANIFEST, ROOT_SCHEMA, RootSettings, ShardJoin};
use crate::format::pack::{self, PackManifest};
use crate::format::synth_shards::{
    self, ConversationJoin, ConversationPart, SynthManifest, SynthSource,
};
use crate::ordered::{Flow, ordered_map};
use crate::provenance::BuildRun;
use crate::publish::TargetLock;
use crate::wording::exactly;

/// How many tasks that are not done an error names.
const SHOWN: usize = 20;
/// How the files begin that a task leaves beside its part for what it rejects.
const REJECTS: &str = "rejects";

/// The parts of a plan in their order; fails, and names them, if some are not done.
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
    /// The task list; none: all tasks of the plan.
    pub list: Option<PathBuf>,
    pub jobs: NonZeroUsize,
    /// The plan was made on this machine: what the root holds already needs no parts.
    pub here: bool,
    /// What the root holds already is joined again.
    pub again: bool,
    /// Where the rejects of all tasks are collected.
    pub rejects: Option<PathBuf>,
    /// When all of it began; `None`: with this.
    pub since: Option<SystemTime>,
}

/// The sources that are to be joined, and where.
struct Joining<'a> {
    plan: &'a Plan,
    root: &'a Path,
    sources: Vec<&'a PlanSource>,
    options: &'a Finish,
    start: Instant,
}

impl Finish {
    /// Joins the parts into the root. Returns what to say of it.
    pub fn run(&self, plan: &Plan, root: &Path) -> Result<String> {
        let start = Instant::now();
        plan.check_build()?;
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
        // All parts are looked at before the first is joined.
        super::parts::check(plan, &sources, root)?;
        let joining = Joining { plan, root, sources, options: self, start };
        let summary = match plan.product {
            Product::KdRoot => Summary::from(&joining.shards()?),
            Product::Conversations => Summary::from(&joining.conversations()?),
            Product::Pack => Summary::from(&joining.pack(&parts)?),
            Product::Puzzles => joining.sets()?,
        };
        // What a `finish` that was killed has left is a second copy of the data.
        crate::publish::sweep_below(root);
        if plan.product == Product::Pack {
            packs::remove_merged(root)?;
        }
        let took = match self.since {
            Some(since) => SystemTime::now().duration_since(since).unwrap_or_default(),
            None => start.elapsed(),
        };
        Ok(summary.told(root, took))
    }
}

impl Joining<'_> {
    /// Joins the parts of every shard, several side by side, and writes the root's manifest.
    fn shards(&self) -> Result<KdRootManifest> {
        let Joining { plan, root, .. } = self;
        plan.check_input_manifest()?;
        self.each(|source| source.join(plan, root, !self.options.here))?;
        let settings = RootSettings {
            dataset_dir: Some(plan.input.clone()),
            glob: plan.recorded.glob.clone(),
            rows: plan.limits.rows,
            rows_per_shard: plan.limits.rows_per_source,
            tokens: plan.limits.tokens,
            shards: plan.sources.iter().map(|source| source.name.clone()).collect(),
        };
        let lock = TargetLock::take(root)?;
        let manifest = KdRootManifest::collect(root, &settings, BuildRun::since(self.start))?;
        manifest.publish(root, &lock)?;
        Ok(manifest)
    }

    /// Joins the parts of conversations.
    fn conversations(&self) -> Result<SynthManifest> {
        let Joining { plan, root, .. } = self;
        self.each(|source| source.join_conversations(plan, root, !self.options.here))?;
        let lock = TargetLock::take(root)?;
        let source = SynthSource::new(&plan.recorded);
        let mut manifest = SynthManifest::collect(root, source, BuildRun::since(self.start))?;
        let made = |source: &PlanSource| (source.name.clone(), source.made(plan));
        manifest.made = plan.sources.iter().map(made).collect();
        manifest.publish(root, &lock)?;
        Ok(manifest)
    }

    /// Joins the parts of a pack.
    fn pack(&self, parts: &[PathBuf]) -> Result<PackManifest> {
        match self.sources.first() {
            Some(source) => {
                let how = (source.made(self.plan), !self.options.here);
                packs::join(self.plan, self.root, parts, how)
            }
            None => PackManifest::read(self.root),
        }
    }

    /// Publishes each puzzle set in its folder; says of all what is there.
    fn sets(&self) -> Result<Summary> {
        let Joining { plan, root, options, .. } = self;
        self.each(|source| source.publish_set(plan, root, !options.here))?;
        sets::summary(plan, root)
    }

    fn each(&self, join: impl Fn(&PlanSource) -> Result<()> + Sync) -> Result<()> {
        let sources = self.sources.iter().copied().map(Ok);
        let join = &join;
        let joined = |joined: Result<()>| joined.map(|()| Flow::Continue);
        ordered_map(self.options.jobs, sources, || |source| join(source), joined)
    }
}

/// The files of rejects of the tasks that are there, in the order of the plan.
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

/// Whether a root without a plan is whole: its parts were deleted after it was joined and checked.
pub fn is_finished(root: &Path) -> Result<bool> {
    let manifest: Option<Value> = json_file::if_there(&root.join(MANIFEST), json_file::read)?;
    let schema = manifest.as_ref().and_then(|manifest| manifest.get("schema_version")?.as_str());
    Ok([ROOT_SCHEMA, synth_shards::SCHEMA, pack::SCHEMA].map(Some).contains(&schema))
}

impl Plan {
    /// The manifest beside the sources is still that of the plan.
    fn check_input_manifest(&self) -> Result<()> {
        let Some(planned) = &self.input_manifest else { return Ok(()) };
        let paths: Vec<PathBuf> =
            self.sources.iter().map(|source| self.directory.join(&source.path)).collect();
        let now = input_manifest(&paths, false)?;
        if now["sha256"] == planned.sha256.as_str() {
            Ok(())
        } else {
            Err(Error::data("has changed since the plan was made")
                .at(self.directory.join(&planned.path).as_path())
                .hint("plan again, which keeps what is done"))
        }
    }
}

impl PlanSource {
    fn parts(&self, plan: &Plan, root: &Path) -> Vec<PathBuf> {
        self.tasks(plan).map(|task| task.part(root)).collect()
    }

    fn join_conversations(&self, plan: &Plan, root: &Path, verify: bool) -> Result<()> {
        if verify {
            self.tasks(plan).try_for_each(|task| task.check_content(root))?;
        }
        let part = |task: Task<'_>| ConversationPart {
            path: task.manifest(root),
            slice: task.slice_text(),
        };
        let parts: Vec<ConversationPart> = self.tasks(plan).map(part).collect();
        let target = root.join(synth_shards::file_name(&self.name));
        let group_rows = plan.option("--row-group-rows").map(str::parse).transpose();
        let group_rows = group_rows.map_err(|e| Error::usage(format!("--row-group-rows: {e}")))?;
        let group_rows = group_rows.unwrap_or(synth_shards::GROUP_ROWS);
        ConversationJoin { parts: &parts, target: &target, group_rows }.publish()
    }

    fn join(&self, plan: &Plan, root: &Path, verify: bool) -> Result<()> {
        let (parts, manifest) = (self.parts(plan, root), plan.input_manifest.as_ref());
        let made = self.made(plan);
        ShardJoin { parts: &parts, root, name: &self.name, manifest, made, verify }.publish()
    }
}
