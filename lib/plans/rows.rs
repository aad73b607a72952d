//! Sources of rows: Parquet files, and shards of raw rows.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::recipe::{SourceState, Weight};
use crate::cli::{FileForms, Slice};
use crate::error::{Error, Result, shown};
use crate::format::parquet::{self, ParquetFile};
use crate::known_files::{KnownFile, KnownFiles};
use crate::raw_files::{raw_files, shard_of};
use crate::stream::Extent;
use gristmill_chats::chat::SESSIONS;

/// Looks at a Parquet file, or at a shard of the raw rows in files and below folders.
pub(super) fn look(
    _name: &str,
    paths: &[PathBuf],
    shard: Option<Slice>,
    known: &mut KnownFiles,
) -> Result<SourceState> {
    let Some(path) = paths.first().map(PathBuf::as_path) else { return Ok(SourceState::default()) };
    match shard {
        Some(shard) => raw_shard(paths, shard, known),
        None => {
            let (identity, weights) =
                rows(path)?.ok_or_else(|| Error::usage("is not a Parquet file").at(path))?;
            Ok(SourceState { identity, weights: Some(weights), ..SourceState::default() })
        }
    }
}

/// Returns a Parquet file's identity and row groups; `None` for any other file.
fn rows(path: &Path) -> Result<Option<(Value, Vec<Weight>)>> {
    let Some(identity) = parquet::describe(path)? else { return Ok(None) };
    let file = ParquetFile::of_member(path)?;
    let weight = |(units, bytes)| Weight { units, bytes };
    Ok(Some((identity, file.row_group_sizes().map(weight).collect())))
}

/// Returns the files of a shard, divided as the filters divide them, and what they have that can be divided.
fn raw_shard(paths: &[PathBuf], shard: Slice, known: &mut KnownFiles) -> Result<SourceState> {
    let all = raw_files(paths)?;
    let (own, cut) = shard_of(&all, shard)?;
    let (mut identity, mut weights) = (Vec::new(), Vec::new());
    let (mut lines, mut whole) = (0, None);
    for path in own {
        if let Some((file, groups)) = rows(path)? {
            identity.push(file);
            weights.extend(groups);
            continue;
        }
        let KnownFile { bytes, sha256, .. } = known.of(path)?;
        let name = path.file_name().map(|name| shown(Path::new(name)));
        identity.push(json!({"name": name, "bytes": bytes, "sha256": sha256}));
        weights.push(Weight { units: bytes, bytes });
        lines += 1;
        match Extent::of(path, true, FileForms(SESSIONS)) {
            Ok(Extent::Lines(_)) => {}
            Ok(_) => {
                let cause = "an Arrow stream is not divided into tasks";
                whole = whole.or(Some(Error::usage(cause).at(path.as_path())));
            }
            Err(error) if cut.is_some() => return Err(error),
            Err(error) => whole = whole.or(Some(error)),
        }
    }
    if (1..own.len()).contains(&lines) {
        let cause = "Parquet and other files cannot be cut together";
        whole = whole.or(Some(Error::usage(cause)));
    }
    if let Some(cut) = cut {
        // Other shards have these files, too.
        identity.push(json!({"shard": cut.to_string()}));
        let units = weights.iter().map(|weight| weight.units).sum();
        weights = within(&weights, cut.of(units));
    }
    let identity = Value::from(identity);
    let weights = whole.is_none().then_some(weights);
    Ok(SourceState { identity, weights, are_bytes: lines > 0, whole })
}

/// Returns the weights of some units.
fn within(weights: &[Weight], range: std::ops::Range<u64>) -> Vec<Weight> {
    let mut start = 0;
    let mut inside = Vec::new();
    for Weight { units, bytes } in weights {
        let own = |at: u64| at.clamp(start, start + units) - start;
        let taken = own(range.end) - own(range.start);
        if taken > 0 {
            let share = u128::from(*bytes) * u128::from(taken) / u128::from(*units);
            inside.push(Weight { units: taken, bytes: share as u64 });
        }
        start += units;
    }
    inside
}
