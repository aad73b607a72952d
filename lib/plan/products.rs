//! What pipelines make of which sources.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::error::{Error, Result};
use crate::files;
use crate::format::kd_root::manifest_in_root;
use crate::format::parquet::{self, ParquetFile, read_error};
use crate::format::raw_games;

/// What a pipeline makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// A root of Megatron datasets, of Parquet shards: a task is some rows of one
    KdRoot,
    /// A pack, of folders of raw games: a task is some games of one
    Pack,
}

/// Units of a source that are together, and their decoded bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    pub units: u64,
    pub bytes: u64,
}

impl Product {
    /// What tells a source from another, or from itself after a change.
    pub fn identity(self, path: &Path) -> Result<Value> {
        match self {
            Product::KdRoot => parquet::describe(path)?
                .ok_or_else(|| Error::usage("is not a Parquet file").at(path)),
            Product::Pack => games(path).map(|(identity, _)| identity),
        }
    }

    /// The same, with its rows or games in order.
    pub fn look(self, path: &Path) -> Result<(Value, Vec<Weight>)> {
        match self {
            Product::KdRoot => {
                let file = files::open_member(path).map_err(|e| Error::io(path, &e))?;
                let file = ParquetFile::open(file).map_err(|e| read_error(&e).at(path))?;
                let weight = |(units, bytes)| Weight { units, bytes };
                let weights = file.row_group_sizes().map(weight).collect();
                Ok((self.identity(path)?, weights))
            }
            Product::Pack => games(path),
        }
    }

    /// The manifest of a part.
    pub fn manifest(self, part: &Path, name: &str) -> PathBuf {
        match self {
            Product::KdRoot => manifest_in_root(part, name),
            Product::Pack => part.join("manifest.json"),
        }
    }
}

/// The games of a folder: their names and sizes.
fn games(path: &Path) -> Result<(Value, Vec<Weight>)> {
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
    Ok((json!({"games": listed.len(), "bytes": sum, "listing_sha256": listing}), weights))
}
