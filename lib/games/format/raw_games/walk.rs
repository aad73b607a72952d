//! Finds the games under folders and pairs their files.
//!
//! Roots are in the order given, games by the sidecars' paths relative to their root, compared
//! component by component as bytes. `crate::walk` walks the folders.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Cause, Defect, Error};
use crate::walk::{self, WalkError};

/// The endings of a game's files.
const META: &[u8] = b".meta.json";
const META_GZ: &[u8] = b".meta.json.gz";
const STEPS: &[u8] = b".jsonl.gz";

/// A game's place in the listing, and its two files. One of the two may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameFile {
    /// The position in the full listing of all roots; bad games count.
    pub run_id: u64,
    /// The sidecar; if only a steps file was found, the sidecar that it should have.
    meta: PathBuf,
    /// How many bytes of `meta` come before the part that is relative to the root.
    root_length: usize,
    pairing: Pairing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pairing {
    Good,
    NoSteps,
    NoMeta,
    BothMetas,
}

impl GameFile {
    pub fn meta(&self) -> &Path {
        &self.meta
    }

    /// Returns the sidecar's path relative to its root: it is the same wherever the root is.
    pub fn name(&self) -> &Path {
        let relative = self.meta.as_os_str().as_bytes().get(self.root_length..);
        Path::new(std::ffi::OsStr::from_bytes(relative.unwrap_or_default()))
    }

    pub fn steps(&self) -> PathBuf {
        let meta = self.meta.as_os_str().as_bytes();
        let stem = meta.strip_suffix(META_GZ).or(meta.strip_suffix(META)).unwrap_or(meta);
        path_of([stem, STEPS].concat())
    }

    /// Fails for a game that does not have exactly one sidecar and one steps file.
    pub fn check(&self) -> Result<(), Error> {
        let meta = self.meta.clone();
        match self.pairing {
            Pairing::Good => Ok(()),
            Pairing::NoSteps => {
                Err(Error::bad(&meta, None, Defect::NoSteps { missing: self.steps() }))
            }
            Pairing::NoMeta => {
                Err(Error::bad(&self.steps(), None, Defect::NoMeta { missing: meta }))
            }
            Pairing::BothMetas => {
                let mut other = meta.clone().into_os_string();
                other.push(".gz");
                Err(Error::bad(&meta, None, Defect::BothMetas { other: other.into() }))
            }
        }
    }
}

/// Lists the games under `roots`. Games whose files do not pair are listed too; [`GameFile::check`]
/// returns their error. A root without games is an error.
pub fn list<P: AsRef<Path>>(roots: &[P]) -> Result<Vec<GameFile>, Error> {
    let mut games = Vec::new();
    for root in roots {
        let root = root.as_ref();
        match fs::metadata(root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(Error::new(root, None, Cause::NotAFolder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::new(root, None, Cause::Missing));
            }
            Err(error) => return Err(Error::io(root, error)),
        }
        // `root/x` has one more byte than `root` and `x`, unless the root ends in a slash.
        let root_length = root.join("x").as_os_str().len() - 1;
        let mut listed: Vec<_> = files(root)?.into_iter().map(game).collect();
        if listed.is_empty() {
            return Err(Error::new(root, None, Cause::NoGames));
        }
        listed.sort_unstable();
        for (meta, pairing) in listed {
            games.push(GameFile { run_id: games.len() as u64, meta, root_length, pairing });
        }
    }
    Ok(games)
}

/// Which of a game's files exist.
#[derive(Default)]
struct PresentFiles {
    meta: bool,
    meta_gz: bool,
    steps: bool,
}

/// Returns the games below a folder by their paths without the endings.
fn files(root: &Path) -> Result<HashMap<Vec<u8>, PresentFiles>, Error> {
    let mut games: HashMap<Vec<u8>, PresentFiles> = HashMap::new();
    for path in walk::files(root, |_| true) {
        let path = path.map_err(|error| match error {
            WalkError::Io(path, error) => Error::io(&path, error),
            WalkError::Cycle { link, ancestor } => Error::new(&link, None, Cause::Cycle(ancestor)),
        })?;
        let path = path.as_os_str().as_bytes();
        if let Some(stem) = path.strip_suffix(META) {
            games.entry(stem.to_vec()).or_default().meta = true;
        } else if let Some(stem) = path.strip_suffix(META_GZ) {
            games.entry(stem.to_vec()).or_default().meta_gz = true;
        } else if let Some(stem) = path.strip_suffix(STEPS) {
            games.entry(stem.to_vec()).or_default().steps = true;
        }
    }
    Ok(games)
}

/// Returns the sidecar of a game, which decides its place in the order.
fn game((stem, found): (Vec<u8>, PresentFiles)) -> (PathBuf, Pairing) {
    let ending = if found.meta_gz && !found.meta { META_GZ } else { META };
    let pairing = match (found.meta, found.meta_gz, found.steps) {
        (true, true, _) => Pairing::BothMetas,
        (false, false, _) => Pairing::NoMeta,
        (_, _, true) => Pairing::Good,
        (_, _, false) => Pairing::NoSteps,
    };
    (path_of([&stem, ending].concat()), pairing)
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}
