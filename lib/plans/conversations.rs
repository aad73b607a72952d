//! Folders of conversations as a product of plans.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::finish::JoinJob;
use super::recipe::Recipe;
use super::summary::Summary;
use super::{Plan, PlanSource, Task, parts, rows};
use crate::batch::Header;
use crate::error::{At, Error, Result};
use crate::files;
use crate::format::json_file;
use crate::format::kd_root::MANIFEST;
use crate::format::parquet::ParquetFile;
use crate::format::synth_shards::{
    self, ConversationJoin, ConversationPart, SynthManifest, SynthSource,
};
use crate::provenance::{BuildRun, DatasetOrigin};
use crate::publish::TargetLock;

pub(super) const RECIPE: Recipe = Recipe {
    refuse: |directory| synth_shards::FORMAT.refuse_others(directory),
    unit: "rows",
    sources: "shards",
    look: rows::look,
    // The manifest is in the footer of the file.
    manifest: |part, name| part.join(synth_shards::file_name(name)),
    is_one_file: true,
    is_apart: false,
    has_input_manifest: false,
    made,
    makes_again: true,
    is_kept,
    check,
    read: |task| task.inputs_of_rows(),
    write: |part, name| vec!["-o".to_string(), format!("{part}/{}", synth_shards::file_name(name))],
    join,
    sweep: |_| Ok(()),
};

fn made(source: &PlanSource, root: &Path) -> Result<Option<DatasetOrigin>> {
    let manifest: Option<Value> = json_file::if_there(&root.join(MANIFEST), json_file::read_all)?;
    let made = manifest.and_then(|manifest| manifest["made"].get(&source.name).cloned());
    Ok(made.and_then(|made| serde_json::from_value(made).ok()))
}

/// Whether the folder's manifest says that the shard was made as the plan would make it.
fn is_kept(source: &PlanSource, plan: &Plan, root: &Path) -> Result<bool> {
    let manifest: Option<Value> = json_file::if_there(&root.join(MANIFEST), json_file::read_all)?;
    let Some(manifest) = manifest else { return Ok(false) };
    if made(source, root)? != Some(source.made(plan)) {
        return Ok(false);
    }
    let name = synth_shards::file_name(&source.name);
    let is_it = |shard: &&Value| {
        let path = shard["path"].as_str().map(Path::new);
        path.and_then(Path::file_name).is_some_and(|own| own == name.as_str())
    };
    let shards = manifest["storage"]["shards"].as_array();
    let stated = shards.and_then(|shards| shards.iter().find(is_it)?["bytes"].as_u64());
    let found = files::size(&root.join(&name))?;
    Ok(found.is_some() && found == stated)
}

/// Checks that the parts were made with the options of the plan.
fn check(tasks: &[Task<'_>], root: &Path) -> Result<()> {
    parts::each(tasks, root, |task, path| Ok(task.other_options(&chain_of_file(path)?, false)))
}

fn chain_of_file(path: &Path) -> Result<Vec<Value>> {
    Ok(Header::of(ParquetFile::of_member(path)?.schema()).at(path)?.provenance)
}

/// Joins the parts of every shard, and writes the folder's manifest.
fn join(job: &JoinJob<'_>, _: &[PathBuf]) -> Result<Summary> {
    let JoinJob { plan, root, options, start, .. } = job;
    let names = plan.sources.iter().map(|source| synth_shards::file_name(&source.name)).collect();
    let recorded = SynthSource::new(&plan.recorded);
    synth_shards::refuse_surplus(root, &recorded, &names)?;
    job.each(|source| join_shard(source, plan, root, !options.here))?;
    let lock = TargetLock::take(root)?;
    let mut manifest = SynthManifest::collect(root, recorded, BuildRun::since(*start))?;
    let made = |source: &PlanSource| (source.name.clone(), source.made(plan));
    manifest.made = plan.sources.iter().map(made).collect();
    manifest.publish(root, &lock)?;
    Ok(Summary::from(&manifest))
}

fn join_shard(source: &PlanSource, plan: &Plan, root: &Path, verify: bool) -> Result<()> {
    if verify {
        source.tasks(plan).try_for_each(|task| task.check_content(root))?;
    }
    let part =
        |task: Task<'_>| ConversationPart { path: task.manifest(root), slice: task.slice_text() };
    let parts: Vec<ConversationPart> = source.tasks(plan).map(part).collect();
    let target = root.join(synth_shards::file_name(&source.name));
    let group_rows = plan.option("--row-group-rows").map(str::parse).transpose();
    let group_rows = group_rows.map_err(|e| Error::usage(format!("--row-group-rows: {e}")))?;
    let group_rows = group_rows.unwrap_or(synth_shards::GROUP_ROWS);
    ConversationJoin { parts: &parts, target: &target, group_rows }.publish()
}
