//! Puzzle sets as a product of plans: each in a folder of its own below the root.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::finish::JoinJob;
use super::recipe::{Recipe, SourceState, uncounted};
use super::summary::Summary;
use super::{Plan, PlanSource, Task};
use crate::cli::Slice;
use crate::digest::hex;
use crate::error::Result;
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::json_file;
use crate::format::puzzle_dir::{self, BUILD, PuzzleRoot, PuzzleSetManifest};
use crate::known_files::KnownFiles;
use crate::provenance::DatasetOrigin;
use crate::wording::exactly;
use crate::{puzzle, walk};

pub(super) const RECIPE: Recipe = Recipe {
    refuse: |directory| puzzle_dir::FORMAT.refuse_others(directory),
    unit: "groups",
    sources: "sets",
    look,
    manifest: |part, _| part.join(BUILD),
    is_one_file: false,
    is_apart: true,
    has_input_manifest: false,
    made,
    makes_again: false,
    is_kept,
    // Their build.json has no provenance; the receipts name the plan.
    check: |_, _| Ok(()),
    read,
    write: |part, _| ["-o", part].map(str::to_string).to_vec(),
    join,
    sweep: |_| Ok(()),
};

/// Returns the inputs of a puzzle domain: their names, sizes and hashes. A domain whose games the
/// filter plays has a number of states in place of a path.
fn look(
    name: &str,
    paths: &[PathBuf],
    _: Option<Slice>,
    _: &mut KnownFiles,
) -> Result<SourceState> {
    if puzzle::domain(name).is_some_and(|domain| !domain.reads_inputs()) {
        let number = paths.first().and_then(|path| path.file_name()).unwrap_or_default();
        return Ok(SourceState {
            identity: json!({"states": number.to_string_lossy()}),
            ..SourceState::default()
        });
    }
    let (mut hash, mut count, mut bytes) = (Sha256::new(), 0u64, 0u64);
    for path in paths {
        let all = if files::is_directory(path)? {
            walk::files(path, |_| true).collect::<Result<Vec<_>, _>>()?
        } else {
            vec![path.clone()]
        };
        let mut all: Vec<(&Path, &PathBuf)> =
            all.iter().map(|file| (file.strip_prefix(path).unwrap_or(file), file)).collect();
        all.sort();
        for (name, file) in all {
            let file = uncounted(file)?;
            hash.update(format!("{name:?} {file}\n"));
            bytes = bytes.saturating_add(file["bytes"].as_u64().unwrap_or(0));
            count += 1;
        }
    }
    let listing = hex(&hash.finalize());
    let identity = json!({"files": count, "bytes": bytes, "listing_sha256": listing});
    Ok(SourceState { identity, ..SourceState::default() })
}

/// The most augmentations of some domains.
const MOST_AUGMENTATIONS: [(&str, u64); 2] = [("maze", 7), ("domino", 6)];

/// Returns the words of a domain: which one, its inputs, and those of the plan's options that it takes.
fn read(task: &Task<'_>) -> Vec<String> {
    let (name, inputs) = (task.source.name.as_str(), task.inputs());
    let mut words = vec![name.to_string()];
    match (name, inputs.as_slice()) {
        ("sudoku" | "maze", [train, test]) => {
            words.extend(["--train", train, "--test", test].map(str::to_string));
        }
        ("domino", [states]) => words.extend(["--num-games".to_string(), states.clone()]),
        _ => words.extend(inputs),
    }
    let number = |flag: &str| task.plan.option(flag).and_then(|value| value.parse::<u64>().ok());
    let most = MOST_AUGMENTATIONS.iter().find(|(domain, _)| *domain == name);
    let augmentations = number("--num-aug").unwrap_or(0);
    let augmentations = most.map_or(augmentations, |(_, most)| augmentations.min(*most));
    words.extend(["--num-aug".to_string(), augmentations.to_string()]);
    let taken: &[&str] = match name {
        "sudoku" => &["--subsample", "--min-difficulty", "--seed", "--on-error"],
        "domino" => &["--seed"],
        _ => &["--seed", "--on-error"],
    };
    for flag in taken {
        let value = task.plan.option(flag);
        words.extend(value.iter().flat_map(|value| [flag.to_string(), value.to_string()]));
    }
    let is_unique = name == "sudoku" && task.plan.options.iter().any(|word| word == "--unique");
    words.extend(is_unique.then(|| "--unique".to_string()));
    words
}

fn manifest(set: &Path) -> Result<Option<PuzzleSetManifest>> {
    json_file::if_there(&set.join(BUILD), json_file::read)
}

fn made(source: &PlanSource, root: &Path) -> Result<Option<DatasetOrigin>> {
    Ok(manifest(&root.join(&source.name))?.and_then(|manifest| manifest.made))
}

/// Whether the set exists and was made as the plan would make it.
fn is_kept(source: &PlanSource, plan: &Plan, root: &Path) -> Result<bool> {
    let set = root.join(&source.name);
    let Some(manifest) = manifest(&set)? else { return Ok(false) };
    if manifest.made.as_ref() != Some(&source.made(plan)) {
        return Ok(false);
    }
    Ok(FileEntry::first_of_other_size(&manifest.stated(&set))?.is_none())
}

/// Publishes each set in its folder; returns a summary of all sets.
fn join(job: &JoinJob<'_>, _: &[PathBuf]) -> Result<Summary> {
    let JoinJob { plan, root, options, .. } = job;
    job.each(|source| publish(source, plan, root, !options.here))?;
    summary(plan, root)
}

/// Publishes the set, in place of an older one.
fn publish(source: &PlanSource, plan: &Plan, root: &Path, verify: bool) -> Result<()> {
    for task in source.tasks(plan) {
        let part: PuzzleSetManifest = json_file::read(&task.manifest(root))?;
        let manifest = PuzzleSetManifest { made: Some(source.made(plan)), ..part };
        puzzle_dir::adopt(&task.part(root), &root.join(&source.name), &manifest, verify)?;
    }
    Ok(())
}

/// Summarizes the sets of a plan.
fn summary(plan: &Plan, root: &Path) -> Result<Summary> {
    let (mut made, mut groups, mut bytes) = (String::new(), 0, 0);
    for source in &plan.sources {
        let directory = root.join(&source.name);
        let manifest: PuzzleSetManifest = json_file::read(&directory.join(BUILD))?;
        bytes += manifest.files.iter().map(|file| file.bytes).sum::<u64>();
        let mut facts = Vec::new();
        for split in PuzzleRoot::open(&directory)?.splits {
            let metadata = split.metadata()?;
            let mut examples = 0;
            for set in &metadata.sets {
                examples += split.arrays(set)?.inputs.rows();
            }
            let of_split = metadata.total_groups.unsigned_abs();
            let (examples, groups_of) = (exactly(examples, "example"), exactly(of_split, "group"));
            facts.push(format!("{} {examples} in {groups_of}", split.split.name()));
            groups += of_split;
        }
        made += &format!("{}: {}\n", source.name, facts.join(", "));
    }
    let (lost, reasons) = (Vec::new(), Vec::new());
    Ok(Summary { made, unit: "groups", read: Some(groups), lost, reasons, bytes, note: None })
}
