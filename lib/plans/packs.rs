//! Packs as a product of plans. npy-pack merges the parts; the manifest is then changed to what one run over
//! all games writes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::closing::run_filter;
use super::finish::JoinJob;
use super::recipe::{Recipe, SourceState, Weight};
use super::summary::Summary;
use super::{Plan, PlanSource, TASKS, Task, parts};
use crate::cli::Slice;
use crate::digest::hex;
use crate::error::{Error, Result};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::MANIFEST;
use crate::format::RecordCounts;
use crate::format::pack::{self, PackManifest};
use crate::format::raw_games;
use crate::known_files::KnownFiles;
use crate::provenance::DatasetOrigin;
use crate::provenance::forget_slice;

/// The options of npy-pack that decide how the merged pack is written.
const OF_WHOLE: [&str; 2] = ["--shard-rows", "--layout"];
const LOSSY: &str = "--lossy";
/// The folder of the merged pack, until it is in the root.
const JOINED: &str = "joining";
/// The prefix of the folders of packs that are merged of some of the parts.
const STEP: &str = "joining-";

pub(super) const RECIPE: Recipe = Recipe {
    refuse: pack::refuse_foreign,
    unit: "games",
    sources: "shards",
    look,
    manifest: |part, _| part.join(MANIFEST),
    is_one_file: false,
    is_apart: false,
    has_input_manifest: false,
    made,
    makes_again: false,
    is_kept,
    check,
    read: |task| task.inputs(),
    write: |part, _| ["-o", part].map(str::to_string).to_vec(),
    join,
    sweep: remove_merged,
};

/// Returns the games of a folder: their names and sizes.
fn look(
    _name: &str,
    paths: &[PathBuf],
    _: Option<Slice>,
    _: &mut KnownFiles,
) -> Result<SourceState> {
    let Some(path) = paths.first().map(PathBuf::as_path) else { return Ok(SourceState::default()) };
    let listed = raw_games::list(&[path])?;
    let (mut hash, mut weights, mut sum) = (Sha256::new(), Vec::new(), 0u64);
    for game in &listed {
        let size = |path: &Path| Ok(files::metadata(path)?.map_or(0, |metadata| metadata.len()));
        let (meta, steps): (Result<u64>, Result<u64>) = (size(game.meta()), size(&game.steps()));
        let bytes = meta?.saturating_add(steps?);
        hash.update(format!("{:?} {bytes}\n", game.name()));
        sum = sum.saturating_add(bytes);
        weights.push(Weight { units: 1, bytes });
    }
    let listing = hex(&hash.finalize());
    let identity = json!({"games": listed.len(), "bytes": sum, "listing_sha256": listing});
    Ok(SourceState { identity, weights: Some(weights), ..SourceState::default() })
}

fn made(_: &PlanSource, root: &Path) -> Result<Option<DatasetOrigin>> {
    if !files::is_file(&root.join(MANIFEST))? {
        return Ok(None);
    }
    Ok(PackManifest::read(root)?.made)
}

fn is_kept(source: &PlanSource, plan: &Plan, root: &Path) -> Result<bool> {
    if made(source, root)? != Some(source.made(plan)) {
        return Ok(false);
    }
    let manifest = PackManifest::read(root)?;
    Ok(FileEntry::first_of_other_size(&manifest.stated(root))?.is_none())
}

/// Checks that the parts were made with the options of the plan.
fn check(tasks: &[Task<'_>], root: &Path) -> Result<()> {
    parts::each(tasks, root, |task, _| {
        let chain = PackManifest::read(&task.part(root))?.provenance;
        Ok(task.other_options(&chain.unwrap_or_default(), false))
    })
}

fn join(job: &JoinJob<'_>, parts: &[PathBuf]) -> Result<Summary> {
    let manifest = match job.sources.first() {
        Some(source) => merged(job, source, parts)?,
        None => PackManifest::read(job.root)?,
    };
    Ok(Summary::from(&manifest))
}

/// Merges the parts into the root, in place of an older pack.
fn merged(job: &JoinJob<'_>, source: &PlanSource, parts: &[PathBuf]) -> Result<PackManifest> {
    let JoinJob { plan, root, options, .. } = job;
    let PackFacts { provenance, lost, records } = facts_of(parts)?;
    let adopt = |from: &Path, verify: bool| {
        let made = Some(source.made(plan));
        let whole = PackManifest { provenance, lost, records, made, ..PackManifest::read(from)? };
        pack::adopt(from, root, &whole, verify).map(|()| whole)
    };
    if let [only] = parts {
        return adopt(only, !options.here);
    }
    // The merge is made beside the parts, so that the root only ever has the final manifest.
    let merged = root.join(TASKS).join(JOINED);
    merge_in_steps(plan, root, &merged, parts)?;
    adopt(&merged, false)
}

/// Removes merged packs that this `finish` has moved into the root, or that an earlier one could not
/// remove.
fn remove_merged(root: &Path) -> Result<()> {
    for path in files::paths_if_there(&root.join(TASKS))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == JOINED || name.starts_with(STEP) {
            files::remove_all(&path)?;
        }
    }
    Ok(())
}

/// Merges the parts. If there are more than may be open at once, it first merges groups of them.
fn merge_in_steps(plan: &Plan, root: &Path, to: &Path, parts: &[PathBuf]) -> Result<()> {
    let most = open_at_once();
    if parts.len() <= most {
        return merge(plan, to, parts);
    }
    let mut merged = Vec::new();
    for (number, some) in parts.chunks(most).enumerate() {
        // The folder's name has the step too: the packs of one step are the inputs of the next.
        let to = root.join(TASKS).join(format!("{STEP}{}-{number:05}", parts.len()));
        merge(plan, &to, some)?;
        merged.push(to);
    }
    merge_in_steps(plan, root, to, &merged)?;
    merged.iter().try_for_each(|path| files::remove_all(path))
}

/// Returns how many packs npy-pack can have open: each needs a file or two, and the output needs
/// some.
fn open_at_once() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let limit = setrlimit(Resource::Nofile, raised).map_or(limit, |()| raised);
    let files =
        limit.current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    (files.saturating_sub(64) / 2).clamp(8, 4096)
}

fn merge(plan: &Plan, to: &Path, parts: &[PathBuf]) -> Result<()> {
    let mut words: Vec<OsString> = parts.iter().map(OsString::from).collect();
    words.extend(["-o".into(), to.into()]);
    words.extend(["--overwrite", "--quiet", "--progress", "never"].map(OsString::from));
    for flag in OF_WHOLE {
        words.extend(plan.option(flag).iter().flat_map(|value| [flag.into(), value.into()]));
    }
    words.extend(plan.options.iter().filter(|option| *option == LOSSY).map(OsString::from));
    run_filter("npy-pack", words)
}

/// The facts that the merged pack states, from the parts.
struct PackFacts {
    /// The provenance of all parts without their slices.
    provenance: Option<Vec<Value>>,
    /// What any part has lost, each once.
    lost: Vec<String>,
    /// The sum of the counts of the parts.
    records: RecordCounts,
}

fn facts_of(parts: &[PathBuf]) -> Result<PackFacts> {
    let mut all_records = Vec::new();
    let mut first: Option<Option<Vec<Value>>> = None;
    let mut all_lost = Vec::new();
    for part in parts {
        let PackManifest { provenance: mut chain, lost, records, .. } = PackManifest::read(part)?;
        all_records.push(records);
        chain.iter_mut().flatten().for_each(forget_slice);
        if *first.get_or_insert_with(|| chain.clone()) != chain {
            let cause = "its provenance is not that of the first part";
            return Err(Error::data(cause).at(part.as_path()));
        }
        for name in lost {
            if !all_lost.contains(&name) {
                all_lost.push(name);
            }
        }
    }
    let records = RecordCounts::sum(all_records.into_iter())
        .ok_or_else(|| Error::data("the records of the parts are more than 2^64"))?;
    Ok(PackFacts { provenance: first.flatten(), lost: all_lost, records })
}
