//! Which datasets a path names, and whether they are as its manifests state. All code that reads, checks,
//! joins or plans a root uses this one listing of its files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::manifest::find_parts;
use super::part::{KdFiles, KdPart, KdSplit, find_manifest};
use super::place::named;
use super::{ALL, KdRootManifest, MANIFEST, ROOT_SCHEMA, SPLITS};
use crate::error::{Error, Result};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::json_file;
use crate::format::mmidx::PrefixLayout;
use crate::format::stated::refuse_other_sizes;

/// The cause for a dataset that is in a root but in none of its splits.
pub const STRAY: &str = "is in the root, but in none of its splits";

/// One prefix: it has one dataset, or three.
#[derive(Debug, Clone)]
pub struct KdPrefix {
    pub path: PathBuf,
    pub layout: PrefixLayout,
    /// The split to which the prefix belongs.
    pub split: Option<&'static str>,
}

/// The prefixes that a path names: train before valid, by name.
#[derive(Debug)]
pub struct KdListing {
    /// The directory to which paths in manifests are relative.
    pub base: PathBuf,
    pub is_root: bool,
    pub prefixes: Vec<KdPrefix>,
}

/// The facts that a manifest states about one prefix.
struct StatedPrefix {
    prefix: PathBuf,
    files: KdFiles,
    /// The directory to which the paths of the files are relative.
    base: PathBuf,
}

impl KdListing {
    /// Lists a root, a directory of prefixes, or one prefix; `None` if it is not one of these.
    pub fn of(path: &Path) -> Result<Option<KdListing>> {
        if !files::is_directory(path)? {
            let path = named(&prefix_of(path)?)?;
            let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
            let prefix =
                PrefixLayout::found(&path)?.map(|layout| KdPrefix { path, layout, split: None });
            return Ok(prefix.map(|p| KdListing { base, is_root: false, prefixes: vec![p] }));
        }
        let mut prefixes = Vec::new();
        let mut is_root = files::is_directory(&path.join("parts"))?;
        for split in SPLITS {
            let of_split = prefixes_in(&path.join(split), Some(split))?;
            is_root |= !of_split.is_empty();
            prefixes.extend(of_split);
        }
        // A folder in a root needs its name, since its prefixes are found by it; a root may have
        // any name.
        let base = if is_root { path.to_path_buf() } else { named(path)? };
        prefixes.extend(prefixes_in(&base, None)?);
        let is_any = is_root || !prefixes.is_empty();
        Ok(is_any.then_some(KdListing { base, is_root, prefixes }))
    }

    /// Returns the first prefix of a root that is in none of its splits.
    pub fn stray(&self) -> Option<&KdPrefix> {
        self.prefixes.iter().find(|prefix| self.is_root && prefix.split.is_none())
    }

    pub(super) fn refuse_stray(&self) -> Result<()> {
        match self.stray() {
            Some(prefix) => Err(Error::data(STRAY).at(prefix.path.as_path())),
            None => Ok(()),
        }
    }

    /// Refuses the first prefix that is not among `known`.
    pub(super) fn refuse_unknown(&self, known: &HashSet<PathBuf>, cause: &str) -> Result<()> {
        match self.prefixes.iter().find(|prefix| !known.contains(&prefix.path)) {
            Some(prefix) => Err(Error::data(cause).at(prefix.path.as_path())),
            None => Ok(()),
        }
    }

    /// Checks that the files are those that the manifests name, by name and size, and that a root
    /// with a manifest has no others. Datasets without manifests are accepted as they are.
    pub fn confirm(&self) -> Result<()> {
        self.refuse_stray()?;
        let (stated, is_complete) = self.all_stated()?;
        refuse_other_sizes(&files_of(&stated))?;
        refuse_other_sizes(&self.tokenizer_files()?)?;
        if is_complete {
            let known = stated.into_iter().map(|stated| stated.prefix).collect();
            self.refuse_unknown(&known, "manifest.json does not name it")?;
        }
        Ok(())
    }

    /// Returns the files as the manifests state them.
    pub fn stated(&self) -> Result<Vec<FileEntry>> {
        let (stated, _) = self.all_stated()?;
        Ok([files_of(&stated), self.tokenizer_files()?].concat())
    }

    /// Returns the files of the tokenizer that a root keeps, as its manifests state them.
    fn tokenizer_files(&self) -> Result<Vec<FileEntry>> {
        let stated = match self.is_root {
            true => match root_manifest(&self.base)? {
                Some(root) => root.tokenizer_files,
                None => find_parts(&self.base)?.into_iter().find_map(|f| f.part.tokenizer_files),
            },
            false => None,
        };
        Ok(stated.map_or(Vec::new(), |files| files.stated(&self.base)))
    }

    /// Returns the prefixes that the manifests state, and whether there may be no others.
    fn all_stated(&self) -> Result<(Vec<StatedPrefix>, bool)> {
        let manifest = if self.is_root { root_manifest(&self.base)? } else { None };
        Ok(match &manifest {
            Some(root) => (of_root(&self.base, root), true),
            None => (self.of_parts()?, false),
        })
    }

    /// Returns the paths of the part manifests: all manifests of a root, the manifests beside the
    /// prefixes of a directory, or the manifest of a single prefix. For a single prefix the value says
    /// which split of the part it is.
    pub fn part_manifests(&self) -> Result<BTreeMap<PathBuf, Option<String>>> {
        let mut manifests = BTreeMap::new();
        let mut beside = |directory: &Path, ending: &str, split: Option<&str>| -> Result<()> {
            for path in files::paths_if_there(directory)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if !name.starts_with('.') && name.ends_with(ending) {
                    manifests.insert(path, split.map(str::to_string));
                }
            }
            Ok(())
        };
        match (self.is_root, self.prefixes.as_slice()) {
            (true, _) => {
                beside(&self.base.join("parts"), ".json", None)?;
                for split in SPLITS {
                    beside(&self.base.join(split), ".part.json", Some(ALL))?;
                }
            }
            (false, [prefix]) => {
                let found = find_manifest(&prefix.path)?;
                manifests.extend(found.map(|(path, split)| (path, Some(split))));
            }
            (false, _) => beside(&self.base, ".part.json", Some(ALL))?,
        }
        Ok(manifests)
    }

    /// Returns the prefixes that part manifests state: the manifests of a root, of a directory, or of
    /// one prefix.
    fn of_parts(&self) -> Result<Vec<StatedPrefix>> {
        if self.is_root {
            let stated = |found: super::manifest::FoundPart| {
                let base = self.base.clone();
                found.part.splits.into_iter().map(move |(split, KdSplit { files, .. })| {
                    StatedPrefix {
                        prefix: base.join(split).join(&found.part.name),
                        files,
                        base: base.clone(),
                    }
                })
            };
            return Ok(find_parts(&self.base)?.into_iter().flat_map(stated).collect());
        }
        let mut stated = Vec::new();
        for (manifest, split) in self.part_manifests()? {
            let Some(split) = split else { continue };
            let part = KdPart::read(&manifest)?;
            let Some(KdSplit { files, .. }) = part.splits.get(&split).cloned() else { continue };
            let above = manifest.parent().unwrap_or(Path::new(""));
            let base = if split == ALL { above } else { above.parent().unwrap_or(Path::new("")) };
            let base = base.to_path_buf();
            stated.push(StatedPrefix { prefix: base.join(&part.name), files, base });
        }
        Ok(stated)
    }
}

fn files_of(stated: &[StatedPrefix]) -> Vec<FileEntry> {
    stated.iter().flat_map(|StatedPrefix { files, base, .. }| files.stated(base)).collect()
}

/// Returns the manifest of a root, if its schema is known here.
pub(super) fn root_manifest(root: &Path) -> Result<Option<KdRootManifest>> {
    let path = root.join(MANIFEST);
    let value: Option<Value> = json_file::if_there(&path, json_file::read)?;
    match value.as_ref().and_then(|value| value.get("schema_version")) {
        Some(schema) if schema == ROOT_SCHEMA => json_file::if_there(&path, json_file::read),
        _ => Ok(None),
    }
}

fn of_root(base: &Path, root: &KdRootManifest) -> Vec<StatedPrefix> {
    let of_split = |(split, sums): (&String, &super::KdRootSplit)| {
        let split = base.join(split);
        let stated = sums.shards.iter().map(|shard| {
            let mut files = shard.files.clone();
            // Paths of another builder's manifest are relative to the directory in which it ran.
            if root.is_published() {
                let name = |path: &String| {
                    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
                };
                files.paths.values_mut().for_each(|path| *path = name(path));
            }
            StatedPrefix {
                prefix: split.join(&shard.name),
                files,
                base: if root.is_published() { split.clone() } else { base.to_path_buf() },
            }
        });
        stated.collect::<Vec<_>>()
    };
    root.splits.iter().flat_map(of_split).collect()
}

/// Returns the prefix of a path, which may also name one of its files.
pub fn prefix_of(path: &Path) -> Result<PathBuf> {
    let text = path.to_string_lossy();
    let stem = text.strip_suffix(".idx").or_else(|| text.strip_suffix(".bin"));
    match stem {
        Some(stem) if files::is_file(path)? => {
            let members = PrefixLayout::Triple.members().iter();
            let base = members.filter_map(|(suffix, ..)| stem.strip_suffix(suffix)).next();
            Ok(PathBuf::from(base.unwrap_or(stem)))
        }
        _ => Ok(path.to_path_buf()),
    }
}

/// Returns the prefixes in a directory, by name. A prefix counts even if only one of its files
/// exists.
fn prefixes_in(directory: &Path, split: Option<&'static str>) -> Result<Vec<KdPrefix>> {
    let paths = files::paths_if_there(directory)?;
    let names: BTreeSet<&str> =
        paths.iter().filter_map(|path| path.file_name().and_then(OsStr::to_str)).collect();
    let stems = names
        .iter()
        .filter(|name| !name.starts_with('.'))
        .filter_map(|name| name.strip_suffix(".idx").or_else(|| name.strip_suffix(".bin")));
    let mut triples = BTreeSet::new();
    let mut singles = BTreeSet::new();
    for stem in stems {
        let members = PrefixLayout::Triple.members();
        match members.iter().find_map(|(suffix, ..)| stem.strip_suffix(suffix)) {
            Some(prefix) => triples.insert(prefix),
            // Any program may name a file .bin.
            None if names.contains(format!("{stem}.idx").as_str()) => singles.insert(stem),
            None => false,
        };
    }
    let prefix = |layout| move |name: &str| KdPrefix { path: directory.join(name), layout, split };
    let triples = triples.into_iter().map(prefix(PrefixLayout::Triple));
    Ok(triples.chain(singles.into_iter().map(prefix(PrefixLayout::Single))).collect())
}
