//! Sources of rows: Parquet files, and shards of raw rows.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::recipe::{SourceState, Weight, uncounted};
use crate::cli::Slice;
use crate::dataset::{raw_files, shard_of};
use crate::error::{Error, Result};
use crate::files;
use crate::format::parquet::{self, ParquetFile, read_error};

/// Looks at a Parquet file, or at a shard of the raw rows in files and below folders.
pub(super) fn look(_name: &str, paths: &[PathBuf], shard: Option<Slice>) -> Result<SourceState> {
    let Some(path) = paths.first().map(PathBuf::as_path) else { return Ok(SourceState::default()) };
    match shard {
        Some(shard) => raw_shard(paths, shard),
        None => {
            let (identity, weights) =
                rows(path)?.ok_or_else(|| Error::usage("is not a Parquet file").at(path))?;
            Ok(SourceState { identity, weights: Some(weights) })
        }
    }
}

/// Returns a Parquet file's identity and row groups; `None` for any other file.
fn rows(path: &Path) -> Result<Option<(Value, Vec<Weight>)>> {
    let Some(identity) = parquet::describe(path)? else { return Ok(None) };
    let file = files::open_member(path).map_err(|e| Error::io(path, &e))?;
    let file = ParquetFile::open(file).map_err(|e| read_error(&e).at(path))?;
    let weight = |(units, bytes)| Weight { units, bytes };
    Ok(Some((identity, file.row_group_sizes().map(weight).collect())))
}

/// Returns the files of a shard, divided as synth-harmony divides them.
fn raw_shard(paths: &[PathBuf], shard: Slice) -> Result<SourceState> {
    let all = raw_files(paths)?;
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
    Ok(SourceState { identity: Value::from(identity), weights })
}
