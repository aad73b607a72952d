//! Megatron datasets: triples of tokens, loss mask and span ids, alone, in a directory, or in the
//! root of a KD dataset; and single datasets of tokens.
//!
//! | file | checks |
//! |---|---|
//! | `frames.rs` | `.idx` and `.bin`: headers, lengths, pointers, documents; the three of a triple together |
//! | `sequences.rs` | the tokens and masks of one sequence |
//! | `contents.rs` | every sequence of a prefix, on all threads |
//! | `caches.rs` | Megatron's index caches beside the data |
//! | `ids.rs` | the ids of the sequences |
//! | `manifest/mod.rs`, `manifest/compare.rs` | manifests, compared with the disk |
//! | `root.rs` | a root as a whole: splits, repeated sequences, leftover files |

mod caches;
mod contents;
mod frames;
mod ids;
mod manifest;
mod root;
pub(super) mod sequences;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Check, CheckContext, Family, Outcome};
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::kd_root::{SPLITS, prefix_of};
use crate::format::mmidx::PrefixLayout;

pub struct MegatronFamily;

impl Family for MegatronFamily {
    fn checks(&self) -> Vec<&'static Check> {
        let manifest = [manifest::CHECKS, manifest::compare::CHECKS].concat();
        let root = [root::CHECKS, caches::CHECKS].concat();
        [frames::CHECKS, sequences::CHECKS, ids::CHECKS, &manifest, &root].concat()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        Ok(PrefixSet::of(path)?.is_some())
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let Some(set) = PrefixSet::of(path)? else {
            return Err(Error::usage("no Megatron dataset is there").at(shown(path)));
        };
        root::check(path, &set, context)
    }
}

/// One prefix: a dataset or three.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    pub path: PathBuf,
    pub layout: PrefixLayout,
    /// The split that it belongs to.
    pub split: Option<&'static str>,
}

/// The prefixes that a path names.
#[derive(Debug)]
pub(super) struct PrefixSet {
    /// The directory that paths in manifests are relative to.
    pub base: PathBuf,
    pub is_root: bool,
    pub prefixes: Vec<Prefix>,
}

impl PrefixSet {
    /// Opens a root, a directory of prefixes, or one prefix; `None` if it is not one of these.
    fn of(path: &Path) -> Result<Option<PrefixSet>> {
        if !files::is_directory(path)? {
            let path = prefix_of(path)?;
            let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
            let prefix =
                PrefixLayout::found(&path)?.map(|layout| Prefix { path, layout, split: None });
            return Ok(prefix.map(|p| PrefixSet { base, is_root: false, prefixes: vec![p] }));
        }
        let mut prefixes = Vec::new();
        let mut is_root = files::is_directory(&path.join("parts"))?;
        for split in SPLITS {
            let of_split = prefixes_in(&path.join(split), Some(split))?;
            is_root |= !of_split.is_empty();
            prefixes.extend(of_split);
        }
        prefixes.extend(prefixes_in(path, None)?);
        let is_any = is_root || !prefixes.is_empty();
        Ok(is_any.then(|| PrefixSet { base: path.to_path_buf(), is_root, prefixes }))
    }
}

/// The prefixes in a directory, by name. A prefix counts even if only one of its files exists.
fn prefixes_in(directory: &Path, split: Option<&'static str>) -> Result<Vec<Prefix>> {
    let paths = files::paths_if_there(directory)?;
    let names: Vec<&str> =
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
            None if names.contains(&format!("{stem}.idx").as_str()) => singles.insert(stem),
            None => false,
        };
    }
    let prefix = |layout| move |name: &str| Prefix { path: directory.join(name), layout, split };
    let triples = triples.into_iter().map(prefix(PrefixLayout::Triple));
    Ok(triples.chain(singles.into_iter().map(prefix(PrefixLayout::Single))).collect())
}
