//! The last step: all parts are there and are what the plan says, and become one.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::state::{State, states};
use super::{Plan, PlanSource, Product, TaskList, packs};
use crate::batch::input_manifest;
use crate::cli::{Flow, TargetLock, ordered_map};
use crate::error::{Error, Result};
use crate::format::kd_root::{
    BuildRun, KdPart, KdRootManifest, MANIFEST, ROOT_SCHEMA, RootSettings, ShardJoin,
    manifest_in_root,
};
use crate::format::{json_file, pack};

/// How many tasks that are not done an error names.
const SHOWN: usize = 20;

/// The parts of a plan in their order; fails, and names them, if some are not done.
pub fn parts(
    plan: &Plan,
    root: &Path,
    list: Option<&Path>,
    jobs: NonZeroUsize,
) -> Result<Vec<PathBuf>> {
    plan.check_build()?;
    if let Some(list) = list {
        TaskList::read(list, plan)?.check_whole(list, plan)?;
    }
    let states = states(plan, root, jobs)?;
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
    let cause = format!("{} of {} tasks are not done: {named}", open.len(), states.len());
    Err(Error::data(cause).at(root))
}

/// Joins the parts into the root. Returns what to say of it.
pub fn finish(plan: &Plan, root: &Path, list: Option<&Path>, jobs: NonZeroUsize) -> Result<String> {
    let start = Instant::now();
    let parts = parts(plan, root, list, jobs)?;
    match plan.product {
        Product::KdRoot => Ok(join_shards(plan, root, jobs, start)?.summary()),
        Product::Pack => {
            let made = packs::join(plan, root, &parts)?;
            Ok(format!("{} games, {} rows\n", made.runs, made.rows))
        }
    }
}

/// Joins the parts of every shard, several side by side, and writes the root's manifest.
fn join_shards(
    plan: &Plan,
    root: &Path,
    jobs: NonZeroUsize,
    start: Instant,
) -> Result<KdRootManifest> {
    plan.check_input_manifest()?;
    // All parts are looked at before the first is joined.
    plan.sources.iter().try_for_each(|source| source.check_parts(plan, root))?;
    let sources = plan.sources.iter().map(Ok);
    let join = || |source: &PlanSource| source.join(plan, root);
    ordered_map(jobs, sources, join, |joined: Result<()>| joined.map(|()| Flow::Continue))?;
    let settings = RootSettings {
        dataset_dir: Some(plan.input.clone()),
        glob: plan.glob.clone(),
        rows: plan.limits.rows,
        tokens: plan.limits.tokens,
        shards: plan.sources.iter().map(|source| source.name.clone()).collect(),
    };
    let lock = TargetLock::take(root)?;
    let manifest = KdRootManifest::collect(root, &settings, BuildRun::since(start))?;
    manifest.publish(root, &lock)?;
    Ok(manifest)
}

/// Whether a root without a plan is whole: its parts were deleted after it was joined and checked.
pub fn is_finished(root: &Path) -> Result<bool> {
    let manifest: Option<Value> = json_file::if_there(&root.join(MANIFEST), json_file::read)?;
    let schema = manifest.as_ref().and_then(|manifest| manifest.get("schema_version")?.as_str());
    Ok([ROOT_SCHEMA, pack::SCHEMA].map(Some).contains(&schema))
}

impl Plan {
    /// The manifest beside the sources is still that of the plan.
    fn check_input_manifest(&self) -> Result<()> {
        let Some(planned) = &self.input_manifest else { return Ok(()) };
        let paths: Vec<PathBuf> =
            self.sources.iter().map(|source| self.directory.join(&source.path)).collect();
        let now = input_manifest(&paths, false)?;
        match now["sha256"] == planned.sha256.as_str() {
            true => Ok(()),
            false => Err(Error::data("has changed since the plan was made")
                .at(self.directory.join(&planned.path).as_path())
                .hint("plan again, which keeps what is done")),
        }
    }
}

impl PlanSource {
    fn parts(&self, plan: &Plan, root: &Path) -> Vec<PathBuf> {
        self.tasks(plan).map(|task| task.part(root)).collect()
    }

    /// The manifests of the parts say that they are those of the plan.
    fn check_parts(&self, plan: &Plan, root: &Path) -> Result<()> {
        for task in self.tasks(plan) {
            let path = manifest_in_root(&task.part(root), &self.name);
            let KdPart { source, .. } = KdPart::read(&path)?;
            let cause = match () {
                _ if source.inputs != [self.identity.clone()] => "is of another input",
                _ if source.limits.slice != Some(task.slice().to_string()) => "is another slice",
                _ if source.limits.rows != self.rows => "has another limit of rows",
                _ => continue,
            };
            return Err(Error::data(cause).at(path.as_path()));
        }
        Ok(())
    }

    fn join(&self, plan: &Plan, root: &Path) -> Result<()> {
        let (parts, manifest) = (self.parts(plan, root), plan.input_manifest.as_ref());
        ShardJoin { parts: &parts, root, name: &self.name, manifest }.publish()
    }
}
