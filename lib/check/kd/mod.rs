//! Megatron datasets: triples of tokens, loss mask and span ids, alone, in a directory, or in the
//! root of a KD dataset; and single datasets of tokens.
//!
//! | file | checks |
//! |---|---|
//! | `frames.rs` | `.idx` and `.bin`: headers, lengths, pointers, documents; the three of a triple together |
//! | `sequences.rs` | the tokens and masks of one sequence |
//! | `contents.rs` | every sequence of a prefix, on all threads |
//! | `manifest.rs`, `manifest/compare.rs` | manifests, and what they say against the disk |
//! | `root.rs` | a root as a whole: splits, repeated sequences, what lies around |

mod contents;
mod frames;
mod manifest;
mod root;
pub(super) mod sequences;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::inventory;
use super::{Check, Context, Family, Outcome};
use crate::cli::{Error, Result, shown};
use crate::format::kd_root::{SPLITS, prefix_of};
use crate::format::mmidx::Layout;

pub(super) struct Megatron;

impl Family for Megatron {
    fn checks(&self) -> Vec<&'static Check> {
        [&[frames::CHECKS, sequences::CHECKS][..], &manifest::CHECKS, &[root::CHECKS]]
            .concat()
            .concat()
    }

    fn knows(&self, path: &Path) -> bool {
        match path.is_dir() {
            true => Place::of(path).is_ok_and(|place| place.is_some()),
            false => Layout::found(&prefix_of(path)).is_some(),
        }
    }

    fn check(&self, path: &Path, context: &mut Context<'_>) -> Result<Outcome> {
        let place = match path.is_dir() {
            true => Place::of(path)?,
            false => Place::at_prefix(&prefix_of(path)),
        };
        let place = place.ok_or_else(|| {
            Error::usage(format!("{}: no Megatron dataset is there", shown(path)))
        })?;
        root::check(path, &place, context)
    }
}

/// One prefix: a dataset or three.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    pub path: PathBuf,
    pub layout: Layout,
    /// The split that it is of.
    pub split: Option<&'static str>,
}

/// What a path names.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory that manifests speak of.
    pub base: PathBuf,
    pub is_root: bool,
    pub prefixes: Vec<Prefix>,
}

impl Place {
    /// What a directory holds: a root, or prefixes; `None` where it is neither.
    fn of(directory: &Path) -> Result<Option<Place>> {
        let mut prefixes = Vec::new();
        let mut is_root = directory.join("parts").is_dir();
        for split in SPLITS {
            let of_split = prefixes_in(&directory.join(split), Some(split))?;
            is_root |= !of_split.is_empty();
            prefixes.extend(of_split);
        }
        prefixes.extend(prefixes_in(directory, None)?);
        let place = Place { base: directory.to_path_buf(), is_root, prefixes };
        Ok((is_root || !place.prefixes.is_empty()).then_some(place))
    }

    fn at_prefix(prefix: &Path) -> Option<Place> {
        let layout = Layout::found(prefix)?;
        let base = prefix.parent().map(Path::to_path_buf).unwrap_or_default();
        let prefixes = vec![Prefix { path: prefix.to_path_buf(), layout, split: None }];
        Some(Place { base, is_root: false, prefixes })
    }
}

/// The prefixes in a directory, by name. A prefix counts even if but one of its files is there.
fn prefixes_in(directory: &Path, split: Option<&'static str>) -> Result<Vec<Prefix>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let paths = inventory::paths_in(directory)?;
    let names: Vec<&str> =
        paths.iter().filter_map(|path| path.file_name().and_then(OsStr::to_str)).collect();
    let stems = names
        .iter()
        .filter(|name| !name.starts_with('.'))
        .filter_map(|name| name.strip_suffix(".idx").or_else(|| name.strip_suffix(".bin")));
    let mut triples = BTreeSet::new();
    let mut singles = BTreeSet::new();
    for stem in stems {
        let members = Layout::Triple.members();
        match members.iter().find_map(|(suffix, ..)| stem.strip_suffix(suffix)) {
            Some(prefix) => triples.insert(prefix),
            // Any program may name a file .bin.
            None if names.contains(&format!("{stem}.idx").as_str()) => singles.insert(stem),
            None => false,
        };
    }
    let prefix = |layout| move |name: &str| Prefix { path: directory.join(name), layout, split };
    let triples = triples.into_iter().map(prefix(Layout::Triple));
    Ok(triples.chain(singles.into_iter().map(prefix(Layout::Single))).collect())
}
