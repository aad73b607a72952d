//! The `manifest.json` in a folder of Parquet shards (`synth_harmony_v1`): which shards must be there,
//! with their rows and bytes. Its paths are relative to the place where the set was made, so only the
//! name of a shard counts, and nothing outside the folder is read.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{ParquetFile, files_in};
use crate::error::{At, Error, Result};
use crate::files;
use crate::format::json_file;
use crate::wording::exactly;

pub use crate::format::MANIFEST;

/// How many differences an error names.
const SHOWN: usize = 10;

/// The facts that the manifest states about a shard.
#[derive(Debug, Deserialize)]
pub struct StatedShard {
    pub path: String,
    pub bytes: u64,
    pub rows: u64,
}

impl StatedShard {
    /// Returns the shard's name; `None` if the path has none.
    pub fn name(&self) -> Option<&OsStr> {
        Path::new(&self.path).file_name()
    }

    /// Returns how a file differs from what is stated, if it does.
    fn difference(&self, file: &Path) -> Result<Option<String>> {
        if !files::is_member(file)? {
            return Ok(Some("is missing".to_string()));
        }
        let opened = files::open_member(file).at(file)?;
        let bytes = opened.metadata().at(file)?.len();
        if bytes != self.bytes {
            return Ok(Some(format!(
                "has {bytes}, not {}",
                self.bytes,
                bytes = exactly(bytes, "byte")
            )));
        }
        let parquet = ParquetFile::open(opened).at(file)?;
        let rows = parquet.rows();
        Ok((rows != self.rows)
            .then(|| format!("has {rows}, not {}", self.rows, rows = exactly(rows, "row"))))
    }
}

/// Compares inputs with the manifests beside them. A directory must have exactly the shards that its
/// manifest names; a single file must have the stated rows and bytes. A file without a manifest, or not
/// named in it, is not compared.
pub fn compare_inputs(paths: &[impl AsRef<Path>]) -> Result<()> {
    // The manifest of the file before: it is often the same one.
    let mut last: Option<(PathBuf, Vec<StatedShard>)> = None;
    for path in paths.iter().map(AsRef::as_ref).filter(|path| path.as_os_str() != "-") {
        let is_directory = files::is_directory(path)?;
        let directory = if is_directory { path } else { path.parent().unwrap_or(Path::new("")) };
        let shards = match last.take().filter(|(of, _)| of == directory) {
            Some((_, shards)) => shards,
            None => stated(directory)?,
        };
        let named = |shard: &&StatedShard| is_directory || shard.name() == path.file_name();
        let others = if is_directory && !shards.is_empty() {
            unnamed(directory, &shards)?
        } else {
            Vec::new()
        };
        compare(directory, shards.iter().filter(named), others)?;
        last = Some((directory.to_path_buf(), shards));
    }
    Ok(())
}

/// Returns the shards that the manifest of a directory names.
fn stated(directory: &Path) -> Result<Vec<StatedShard>> {
    let path = directory.join(MANIFEST);
    if !files::is_member(&path)? {
        return Ok(Vec::new());
    }
    let mut manifest: Value = json_file::read(&path)?;
    match manifest.pointer_mut("/storage/shards").map(Value::take) {
        None => Ok(Vec::new()),
        Some(shards) => serde_json::from_value(shards)
            .map_err(|e| Error::data(format!("storage.shards: {e}")).at(path.as_path())),
    }
}

/// Returns a cause for each shard of a directory that its manifest does not name.
fn unnamed(directory: &Path, shards: &[StatedShard]) -> Result<Vec<String>> {
    let named: HashSet<&OsStr> = shards.iter().filter_map(StatedShard::name).collect();
    let names =
        files_in(directory)?.into_iter().filter_map(|path| Some(path.file_name()?.to_owned()));
    let others = names.filter(|name| !named.contains(&**name));
    Ok(others.map(|name| format!("{} is not named", name.to_string_lossy())).collect())
}

fn compare<'a>(
    directory: &Path,
    shards: impl Iterator<Item = &'a StatedShard>,
    mut causes: Vec<String>,
) -> Result<()> {
    for shard in shards {
        let name = shard.name().map(|name| name.to_string_lossy());
        let difference = match &name {
            Some(name) => shard.difference(&directory.join(&**name))?,
            None => Some("is no name of a file".to_string()),
        };
        let name = name.unwrap_or(shard.path.as_str().into());
        causes.extend(difference.map(|difference| format!("{name} {difference}")));
    }
    if causes.is_empty() {
        return Ok(());
    }
    let more = causes.len().saturating_sub(SHOWN);
    causes.truncate(SHOWN);
    if more > 0 {
        causes.push(format!("and {more} more differ"));
    }
    let cause = format!("the inputs are not those that it names: {}", causes.join(", "));
    Err(Error::data(cause).at(directory.join(MANIFEST).as_path()).hint("the shards again"))
}
