//! Puzzle sets that a plan has made, each in a folder of its own below the root.

use std::path::Path;

use super::summary::Summary;
use super::{Plan, PlanSource};
use crate::error::Result;
use crate::files;
use crate::format::json_file;
use crate::format::puzzle_dir::{self, BUILD, PuzzleRoot, PuzzleSetManifest};
use crate::wording::exactly;

impl PlanSource {
    /// Publishes the set, in place of an older one.
    pub(super) fn publish_set(&self, plan: &Plan, root: &Path, verify: bool) -> Result<()> {
        for task in self.tasks(plan) {
            let part: PuzzleSetManifest = json_file::read(&task.manifest(root))?;
            let manifest = PuzzleSetManifest { made: Some(self.made(plan)), ..part };
            puzzle_dir::adopt(&task.part(root), &root.join(&self.name), &manifest, verify)?;
        }
        Ok(())
    }

    /// Whether the set is there, and would be made as it is.
    pub(super) fn is_kept_set(&self, plan: &Plan, root: &Path) -> Result<bool> {
        let set = root.join(&self.name);
        let manifest: Option<PuzzleSetManifest> =
            json_file::if_there(&set.join(BUILD), json_file::read)?;
        let Some(manifest) = manifest else { return Ok(false) };
        if manifest.made.as_ref() != Some(&self.made(plan)) {
            return Ok(false);
        }
        let differs = |file: &puzzle_dir::PuzzleSetFile| -> Result<bool> {
            Ok(files::size(&set.join(&file.name))? != Some(file.bytes))
        };
        Ok(files::find(&manifest.files, differs)?.is_none())
    }
}

/// What the sets of a plan hold.
pub(super) fn summary(plan: &Plan, root: &Path) -> Result<Summary> {
    let (mut made, mut groups, mut bytes) = (String::new(), 0, 0);
    for source in &plan.sources {
        let directory = root.join(&source.name);
        let manifest: PuzzleSetManifest = json_file::read(&directory.join(BUILD))?;
        bytes += manifest.files.iter().map(|file| file.bytes).sum::<u64>();
        let mut told = Vec::new();
        for split in PuzzleRoot::open(&directory)?.splits {
            let metadata = split.metadata()?;
            let mut examples = 0;
            for set in &metadata.sets {
                examples += split.arrays(set)?.inputs.rows();
            }
            let of_split = metadata.total_groups.unsigned_abs();
            let (examples, groups_of) = (exactly(examples, "example"), exactly(of_split, "group"));
            told.push(format!("{} {examples} in {groups_of}", split.split.name()));
            groups += of_split;
        }
        made += &format!("{}: {}\n", source.name, told.join(", "));
    }
    Ok(Summary { made, unit: "groups", read: Some(groups), lost: Vec::new(), bytes })
}
