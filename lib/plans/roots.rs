//! Roots of Megatron datasets as a product of plans.

use std::path::{Path, PathBuf};

use super::finish::JoinJob;
use super::recipe::Recipe;
use super::summary::Summary;
use super::{Plan, PlanSource, Task, parts, rows};
use crate::batch::input_manifest;
use crate::error::{Error, Result};
use crate::files;
use crate::format::json_file;
use crate::format::kd_root::{
    FORMAT, KdFiles, KdPart, KdRootManifest, KeptTokenizer, RootSettings, ShardJoin, Surplus,
    are_one_tokenizer, configs_agree, manifest_in_root, remove_other_tokenizer,
};
use crate::provenance::{Build, BuildRun, DatasetOrigin};
use crate::publish::TargetLock;

pub(super) const RECIPE: Recipe = Recipe {
    refuse: |directory| FORMAT.refuse_others(directory),
    unit: "rows",
    sources: "shards",
    look: rows::look,
    manifest: manifest_in_root,
    is_one_file: false,
    is_apart: false,
    has_input_manifest: true,
    made,
    makes_again: true,
    is_kept,
    check,
    read: |task| {
        let hashed = task.source.shard.map(|_| "--hash-inputs".to_string());
        task.inputs_of_rows().into_iter().chain(hashed).collect()
    },
    write: |part, name| ["--root", part, "--shard", name].map(str::to_string).to_vec(),
    join,
    sweep: |_| Ok(()),
};

fn made(source: &PlanSource, root: &Path) -> Result<Option<DatasetOrigin>> {
    let part = json_file::if_there(&manifest_in_root(root, &source.name), KdPart::read)?;
    Ok(part.and_then(|part| part.made))
}

fn is_kept(source: &PlanSource, plan: &Plan, root: &Path) -> Result<bool> {
    let path = manifest_in_root(root, &source.name);
    let Some(part) = json_file::if_there(&path, KdPart::read)? else { return Ok(false) };
    let manifest = plan.input_manifest.as_ref().map(|manifest| manifest.sha256.as_str());
    if part.made.as_ref() != Some(&source.made(plan)) || part.source.manifest_sha256() != manifest {
        return Ok(false);
    }
    let splits = part.splits.values().map(|split| &split.files);
    let files: Vec<&KdFiles> = splits.chain(&part.tokenizer_files).collect();
    Ok(files::find(&files, |files| Ok(files.missing(root)?.is_some()))?.is_none())
}

/// Checks that the parts have the options of the plan, are of its slices, and belong to one
/// dataset.
fn check(tasks: &[Task<'_>], root: &Path) -> Result<()> {
    let mut first: Option<KdPart> = None;
    parts::each(tasks, root, |task, path| {
        let part = KdPart::read(path)?;
        let differs = task.shard_differs(&part);
        Ok(differs.or_else(|| other_dataset(first.get_or_insert_with(|| part.clone()), &part)))
    })
}

/// Returns why two parts do not belong to one dataset, if so.
fn other_dataset(first: &KdPart, part: &KdPart) -> Option<String> {
    let same = [
        ("spans", part.source.spans == first.source.spans),
        ("id field", part.source.id_field == first.source.id_field),
        ("config", configs_agree(part, first)),
        ("dtype", part.dtype == first.dtype),
        ("policy", part.source.policy == first.source.policy),
        ("tokenizer", are_one_tokenizer(&part.source.tokenizer, &first.source.tokenizer)),
        ("kept tokenizer", part.tokenizer_files == first.tokenizer_files),
    ];
    let (what, _) = same.iter().find(|(_, is_same)| !is_same)?;
    Some(format!("its {what} is not that of the first part"))
}

impl Task<'_> {
    /// Returns why the part of a shard does not belong to this task, if so.
    fn shard_differs(&self, part: &KdPart) -> Option<String> {
        let Task { plan, source: planned, .. } = self;
        let KdPart { source, run, provenance, .. } = part;
        let (limits, build) = (&source.limits, Build::of(run));
        let cause = match () {
            _ if !planned.is_of(source.known_inputs()) => "is of another input",
            _ if limits.slice != self.slice_text() => "is another slice",
            _ if limits.rows != planned.rows => "has another limit of rows",
            _ if limits.tokens != planned.tokens => "has another limit of tokens",
            _ if build != plan.build => {
                return Some(format!("was made by {build}, the plan by {}", plan.build));
            }
            // NDJSON has no header: its chain begins with the last filter.
            _ => return self.other_options(provenance, provenance.len() < 2),
        };
        Some(cause.to_string())
    }
}

/// Joins the parts of every shard, several at the same time, and writes the root's manifest.
fn join(job: &JoinJob<'_>, _: &[PathBuf]) -> Result<Summary> {
    let JoinJob { plan, root, options, start, .. } = job;
    check_input_manifest(plan)?;
    let surplus = Surplus::of(root, &plan.sources.iter().map(|source| &*source.name).collect())?;
    if !options.again {
        surplus.refuse(job.hint_for_surplus())?;
    }
    keep_tokenizer(root, job)?;
    job.each(|source| {
        let parts: Vec<PathBuf> = source.tasks(plan).map(|task| task.part(root)).collect();
        let (manifest, made) = (plan.input_manifest.as_ref(), source.made(plan));
        let (name, verify) = (source.name.as_str(), !options.here);
        ShardJoin { parts: &parts, root, name, manifest, made, verify }.publish()
    })?;
    let settings = RootSettings {
        dataset_dir: Some(plan.input.clone()),
        glob: plan.recorded.glob.clone(),
        rows: plan.limits.rows,
        rows_per_shard: plan.limits.rows_per_source,
        tokens: plan.limits.tokens,
        shards: plan.sources.iter().map(|source| source.name.clone()).collect(),
    };
    let lock = TargetLock::take(root)?;
    surplus.withdraw(&lock)?;
    let manifest = KdRootManifest::collect(root, &settings, BuildRun::since(*start))?;
    manifest.publish(root, &lock)?;
    Ok(Summary::from(&manifest))
}

/// Publishes the one tokenizer of all parts, in place of whatever the root kept.
fn keep_tokenizer(root: &Path, job: &JoinJob<'_>) -> Result<()> {
    let Some(task) = job.sources.iter().find_map(|source| source.tasks(job.plan).next()) else {
        return Ok(());
    };
    let part = KdPart::read(&task.manifest(root))?;
    let kept = KeptTokenizer::of_root(&task.part(root), part.tokenizer_files.as_ref())?;
    let is_joined = |name: &str| job.sources.iter().any(|source| source.name == name);
    remove_other_tokenizer(root, kept.as_ref(), &|name| job.options.again || is_joined(name))?;
    // (Shards are joined side by side, and find it there.)
    kept.map_or(Ok(()), |kept| kept.publish(root, false))
}

/// Checks that the manifest beside the sources is the one of the plan.
fn check_input_manifest(plan: &Plan) -> Result<()> {
    let Some(planned) = &plan.input_manifest else { return Ok(()) };
    let paths: Vec<PathBuf> =
        plan.sources.iter().map(|source| plan.directory.join(&source.path)).collect();
    let now = input_manifest(&paths, false)?;
    if now.is_some_and(|now| now.sha256 == planned.sha256) {
        Ok(())
    } else {
        Err(Error::data("has changed since the plan was made")
            .at(plan.directory.join(&planned.path).as_path())
            .hint("plan again, which keeps what is done"))
    }
}
