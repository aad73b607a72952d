//! What pipelines make of which sources.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cli::Slice;
use crate::dataset::{raw_files, shard_of};
use crate::digest::hex;
use crate::error::{Error, Result, shown};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::kd_root::manifest_in_root;
use crate::format::parquet::{self, ParquetFile, read_error};
use crate::format::puzzle_dir::BUILD;
use crate::format::raw_games;
use crate::format::synth_shards;
use crate::{puzzle, walk};

/// What a pipeline makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// A root of Megatron datasets, of Parquet shards or of raw rows: a task is some rows of one shard
    KdRoot,
    /// A folder of conversations, of raw rows: a task is some rows of one shard
    Conversations,
    /// A pack, of folders of raw games: a task is some games of one
    Pack,
    /// Puzzle sets in folders of their own, one for each source, whose name is its domain: a task is
    /// all of one
    Puzzles,
}

/// Units of a source that are together, and their decoded bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    pub units: u64,
    pub bytes: u64,
}

/// A source as it is now.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// What tells it from another, or from itself after a change: of a file an object, of a shard of
    /// raw rows a list of its files.
    pub identity: Value,
    /// Its rows or games in order; `None` if they are not counted (NDJSON): such a source is one task.
    pub weights: Option<Vec<Weight>>,
}

impl Product {
    /// Looks at a source: a file or folder, a shard of the raw rows below a folder, or all inputs of
    /// the puzzle domain of that name.
    pub(super) fn look(self, name: &str, paths: &[PathBuf], shard: Option<Slice>) -> Result<Look> {
        let Some(path) = paths.first().map(PathBuf::as_path) else { return Ok(Look::default()) };
        match (self, shard) {
            (Product::Puzzles, _) => puzzles(name, paths),
            (Product::Pack, _) => games(path),
            (_, Some(shard)) => raw_shard(path, shard),
            (_, None) => {
                let (identity, weights) =
                    rows(path)?.ok_or_else(|| Error::usage("is not a Parquet file").at(path))?;
                Ok(Look { identity, weights: Some(weights) })
            }
        }
    }

    /// What its sources have, in the plural.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Product::KdRoot | Product::Conversations => "rows",
            Product::Pack => "games",
            Product::Puzzles => "groups",
        }
    }

    /// What its sources become, in the plural.
    pub(super) fn sources(self) -> &'static str {
        match self {
            Product::KdRoot | Product::Conversations | Product::Pack => "shards",
            Product::Puzzles => "sets",
        }
    }

    /// The manifest of a part; of conversations it is in the footer of their file.
    pub fn manifest(self, part: &Path, name: &str) -> PathBuf {
        match self {
            Product::KdRoot => manifest_in_root(part, name),
            Product::Conversations => part.join(synth_shards::file_name(name)),
            Product::Pack => part.join("manifest.json"),
            Product::Puzzles => part.join(BUILD),
        }
    }
}

/// A Parquet file, with its row groups; `None` if it is none.
fn rows(path: &Path) -> Result<Option<(Value, Vec<Weight>)>> {
    let Some(identity) = parquet::describe(path)? else { return Ok(None) };
    let file = files::open_member(path).map_err(|e| Error::io(path, &e))?;
    let file = ParquetFile::open(file).map_err(|e| read_error(&e).at(path))?;
    let weight = |(units, bytes)| Weight { units, bytes };
    Ok(Some((identity, file.row_group_sizes().map(weight).collect())))
}

/// The files of a shard, as synth-harmony divides them.
fn raw_shard(folder: &Path, shard: Slice) -> Result<Look> {
    let all = raw_files(&[folder.to_path_buf()])?;
    let (mut identity, mut weights) = (Vec::new(), Some(Vec::new()));
    for path in shard_of(&all, shard) {
        match rows(path)? {
            Some((file, groups)) => {
                identity.push(file);
                weights.iter_mut().for_each(|weights| weights.extend_from_slice(&groups));
            }
            None => {
                identity.push(uncounted(path)?);
                weights = None;
            }
        }
    }
    Ok(Look { identity: Value::from(identity), weights })
}

/// A file whose rows only reading counts: known by its content, not by when it was written.
fn uncounted(path: &Path) -> Result<Value> {
    let FileEntry { bytes, sha256, .. } = FileEntry::of(path)?;
    let name = path.file_name().map(|name| shown(Path::new(name)));
    Ok(json!({"name": name, "bytes": bytes, "sha256": sha256}))
}

/// The games of a folder: their names and sizes.
fn games(path: &Path) -> Result<Look> {
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
    Ok(Look { identity, weights: Some(weights) })
}

/// The inputs of a puzzle domain: their names, sizes, and when they were changed. A domain whose games
/// the filter plays has a number of states in place of a path.
fn puzzles(name: &str, paths: &[PathBuf]) -> Result<Look> {
    if puzzle::domain(name).is_some_and(|domain| !domain.reads_inputs()) {
        let number = paths.first().and_then(|path| path.file_name()).unwrap_or_default();
        return Ok(Look { identity: json!({"states": number.to_string_lossy()}), weights: None });
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
    Ok(Look { identity, weights: None })
}
