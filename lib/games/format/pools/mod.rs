//! Pools of game steps, read back into games: Macroxue packs (rows of 48 or 46 bytes), self-play
//! v1, and legacy pools with the fields that they have. FORMAT.md beside this file describes them.
//!
//! A pool is a directory with `steps.npy` or shards `steps-*.npy`, read in the order of their
//! names. Rows of a run may be anywhere; they are read by ascending step, runs by ascending id.
//! Boards are read as exponents; what a pool does not have is null. Nothing here writes.

mod columns;
mod index;
mod macroxue;
mod members;
mod origin;
mod pool;
mod reader;
mod sidecar;
mod stated;
mod valuations;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::pack::{self, DATABASE, PackManifest, STEPS};
use crate::format::whole::{all_there, understood};
use crate::format::{Format, Opener};
use crate::npy::DType;

pub use pool::Pool;
pub use reader::PoolReader;
pub use valuations::Valuations;

/// Pools of games, packs among them.
pub const FORMAT: Format = Format {
    name: pack::FORMAT_NAME,
    owner: "a pool of games",
    signs: "steps.npy or steps-*.npy",
    folders: &[""],
    endings: &["npy", "db", "json"],
    is_sign: |_, name| name == DATABASE || name == STEPS || is_shard(name.as_bytes()),
    schema: Some(crate::format::pack::SCHEMA),
    // A pool without its rows is still a pool.
    knows: |path| {
        let has_database = || files::is_member(&path.join(DATABASE));
        Ok(is_pool(path)? || (files::is_directory(path)? && has_database()?))
    },
    open: Opener::Records(|paths, slice| Ok(Box::new(PoolReader::open(paths, slice)?))),
    stated: PackManifest::stated_in,
    members: |_| Vec::new(),
    beside: |_| Ok(Vec::new()),
    refuse_missing: |path| {
        let manifest = path.join(pack::MANIFEST);
        if !files::is_directory(path)? || !files::is_member(&manifest)? {
            return Ok(());
        }
        let found = understood(PackManifest::read(path))?;
        let names = found.iter().flat_map(|pack| &pack.files).map(|file| &file.path);
        all_there(path, names, &manifest)
    },
};

/// Whether a file is a shard of rows, by its name.
fn is_shard(name: &[u8]) -> bool {
    name.starts_with(b"steps-") && name.ends_with(b".npy")
}

/// Whether a path is a pool: a directory that holds rows of steps.
pub fn is_pool(path: &Path) -> Result<bool> {
    if !files::is_directory(path)? {
        return Ok(false);
    }
    let (whole, shards) = step_files(path)?;
    Ok(whole || !shards.is_empty())
}

/// Whether rows of this type can be read as steps.
pub fn is_readable(dtype: &DType) -> bool {
    columns::Columns::of(dtype).is_ok()
}

/// Returns whether there is a `steps.npy`, and the shards `steps-*.npy` by name.
pub fn step_files(directory: &Path) -> Result<(bool, Vec<PathBuf>)> {
    let mut shards = files::paths_in(directory)?;
    shards.retain(|path| is_shard(path.file_name().unwrap_or_default().as_encoded_bytes()));
    Ok((files::is_member(&directory.join(STEPS))?, shards))
}

/// Returns the files of a pool's rows, in order.
fn row_files(directory: &Path) -> Result<Vec<PathBuf>> {
    match step_files(directory)? {
        (false, shards) => Ok(shards),
        (true, shards) if shards.is_empty() => Ok(vec![directory.join(STEPS)]),
        (true, _) => {
            Err(Error::data("both steps.npy and steps-*.npy, but only one can be the pool")
                .at(shown(directory)))
        }
    }
}
