//! Shards in a root that do not belong to the dataset that is built in it. With `--overwrite` they are
//! removed; without, the build is refused before the first new file gets its name.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::listing::root_manifest;
use super::manifest::UNEXPECTED;
use super::place::is_file_name;
use super::{KdListing, KdPart, KdTarget, SPLITS, ValidFraction, part_sink};
use crate::error::{Error, Result};
use crate::files;
use crate::format::whole::understood;
use crate::publish::{TargetLock, marked, withdraw};

/// The shards and concatenations of a root that a build does not make.
#[derive(Debug)]
pub struct Surplus<'a> {
    root: &'a Path,
    targets: Vec<KdTarget>,
}

impl Surplus<'_> {
    /// Returns what the root holds besides these shards. Fails if a file belongs to no shard in a manifest,
    /// since it is not known what that file is.
    pub fn of<'a>(root: &'a Path, shards: &HashSet<&str>) -> Result<Surplus<'a>> {
        let mut names = named_in(&root.join("parts"), ".json")?;
        let manifest = understood(root_manifest(root))?.flatten();
        let splits = manifest.iter().flat_map(|manifest| manifest.splits.values());
        names.extend(splits.flat_map(|split| &split.shards).map(|shard| shard.name.clone()));
        // (A manifest may name anything. Files that are not below the root belong to no shard of
        // the root.)
        names.retain(|name| is_file_name(name) && !shards.contains(name.as_str()));
        let of_shard = |name: &String| KdTarget::Root {
            root: root.to_path_buf(),
            name: name.clone(),
            valid_fraction: ValidFraction::NONE,
        };
        let mut targets: Vec<KdTarget> = names.iter().map(of_shard).collect();
        let mut joined = HashSet::new();
        for split in SPLITS {
            let directory = root.join(split);
            for name in named_in(&directory, ".part.json")? {
                let prefix = directory.join(&name);
                if shards.contains(name.as_str()) {
                    let cause = "has the name of a shard that is built here";
                    let error =
                        Error::data(cause).at(KdTarget::Prefix(prefix).manifest().as_path());
                    return Err(error.hint("another root, or remove it"));
                }
                joined.insert(prefix);
            }
        }
        targets.extend(joined.iter().cloned().map(KdTarget::Prefix));
        for target in &targets {
            let path = target.manifest();
            if files::is_member(&path)? {
                KdPart::read(&path)?;
            }
        }
        if let Some(listing) = KdListing::of(root)? {
            listing.refuse_stray()?;
            let all = listing.prefixes.iter().filter(|prefix| {
                let name = prefix.path.file_name().unwrap_or_default().to_string_lossy();
                shards.contains(&*name) || names.contains(&*name)
            });
            joined.extend(all.map(|prefix| prefix.path.clone()));
            listing.refuse_unknown(&joined, "no part manifest names it")?;
        }
        targets.sort_by_key(KdTarget::manifest);
        Ok(Surplus { root, targets })
    }

    /// Fails if there are any.
    pub fn refuse(&self, hint: &str) -> Result<()> {
        match self.targets.first() {
            Some(target) => Err(Error::data(UNEXPECTED).at(target.manifest().as_path()).hint(hint)),
            None => Ok(()),
        }
    }

    /// Whether all of them are shards of these names.
    pub(super) fn is_all(&self, is_named: &dyn Fn(&str) -> bool) -> bool {
        self.targets.iter().all(|target| match target {
            KdTarget::Root { name, .. } => is_named(name),
            KdTarget::Prefix(_) => false,
        })
    }

    /// Removes them, and the manifest of the root with them.
    pub fn withdraw(&self, lock: &TargetLock) -> Result<()> {
        for target in &self.targets {
            part_sink::clean_up_withdrawn(&withdraw(target, lock)?);
        }
        if !self.targets.is_empty() {
            let folders = super::FORMAT.folders.iter().filter(|folder| !folder.is_empty());
            for folder in folders.copied().chain(["ids"]) {
                // Folders that are not empty stay.
                let _ = std::fs::remove_dir(self.root.join(folder));
            }
        }
        Ok(())
    }
}

/// Returns the names of the parts whose manifests are, or were to be, in a directory.
fn named_in(directory: &Path, ending: &str) -> Result<BTreeSet<String>> {
    let paths: Vec<PathBuf> = files::paths_if_there(directory)?;
    let names = paths.iter().filter_map(|path| path.file_name()?.to_str());
    let names =
        names.filter_map(|name| marked(name).or(Some(name).filter(|n| !n.starts_with('.'))));
    Ok(names.filter_map(|name| name.strip_suffix(ending)).map(str::to_string).collect())
}
