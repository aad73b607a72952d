//! Finds the games under folders and pairs their files.
//!
//! The order is that of the sidecars' paths relative to their root, compared component by
//! component as bytes, roots in the order given. Symbolic links are followed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Cause, Defect, Error};

const META: &[u8] = b".meta.json";
const META_GZ: &[u8] = b".meta.json.gz";
const STEPS: &[u8] = b".jsonl.gz";

/// A game's place in the listing and its two files, which may not both be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameFile {
    /// Position in the full listing of all roots; bad games count.
    pub run_id: u64,
    /// The sidecar; where only a steps file was found, the sidecar that it should have.
    meta: PathBuf,
    /// Bytes of `meta` before the part that is relative to the root.
    root_length: usize,
    pairing: Pairing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// The sidecar's path relative to its root: the same wherever the root stands.
    pub fn name(&self) -> &Path {
        let relative = self.meta.as_os_str().as_bytes().get(self.root_length..);
        Path::new(std::ffi::OsStr::from_bytes(relative.unwrap_or_default()))
    }

    pub fn steps(&self) -> PathBuf {
        let meta = self.meta.as_os_str().as_bytes();
        let stem = meta.strip_suffix(META_GZ).or(meta.strip_suffix(META)).unwrap_or(meta);
        path_of([stem, STEPS].concat())
    }

    /// The error of a game that has not exactly one sidecar and one steps file.
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

/// Lists the games under `roots`. Games whose files do not pair are listed too, their error
/// is that of [`GameFile::check`]. A root without games is an error.
pub fn list<P: AsRef<Path>>(roots: &[P]) -> Result<Vec<GameFile>, Error> {
    let mut games = Vec::new();
    for root in roots {
        let root = root.as_ref();
        let before = games.len();
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
        let mut walk = Walk { games: &mut games, root_length, ancestors: Vec::new() };
        walk.folder(root)?;
        if games.len() == before {
            return Err(Error::new(root, None, Cause::NoGames));
        }
    }
    Ok(games)
}

struct Walk<'a> {
    games: &'a mut Vec<GameFile>,
    root_length: usize,
    /// Device, inode and path of the folders that are being walked.
    ancestors: Vec<(u64, u64, PathBuf)>,
}

/// Something of a folder that has a place in the order, under the name that gives the place.
struct Entry {
    name: Vec<u8>,
    /// `None` for a folder.
    pairing: Option<Pairing>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path) -> Result<(), Error> {
        let metadata = fs::metadata(folder).map_err(|error| Error::io(folder, error))?;
        let (device, inode) = (metadata.dev(), metadata.ino());
        let again = self.ancestors.iter().find(|(d, i, _)| (*d, *i) == (device, inode));
        if let Some((_, _, ancestor)) = again {
            return Err(Error::new(folder, None, Cause::Cycle(ancestor.clone())));
        }
        self.ancestors.push((device, inode, folder.to_owned()));
        for entry in entries(folder).map_err(|error| Error::io(folder, error))? {
            let path = folder.join(path_of(entry.name));
            match entry.pairing {
                None => self.folder(&path)?,
                Some(pairing) => self.games.push(GameFile {
                    run_id: self.games.len() as u64,
                    meta: path,
                    root_length: self.root_length,
                    pairing,
                }),
            }
        }
        self.ancestors.pop();
        Ok(())
    }
}

/// The folders and games of one folder, in order.
fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut files: Vec<Vec<u8>> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file_type = entry.file_type()?;
        let is_folder = if file_type.is_symlink() {
            // A link that leads nowhere is kept as a file: reading it will name it.
            fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_dir())
        } else {
            file_type.is_dir()
        };
        let name = entry.file_name().into_vec();
        if is_folder {
            entries.push(Entry { name, pairing: None });
        } else if [META, META_GZ, STEPS].iter().any(|ending| name.ends_with(ending)) {
            files.push(name);
        }
    }
    files.sort_unstable();
    let there = |stem: &[u8], ending: &[u8]| files.binary_search(&[stem, ending].concat()).is_ok();
    for name in &files {
        let entry = if let Some(stem) = name.strip_suffix(META) {
            let pairing = match (there(stem, META_GZ), there(stem, STEPS)) {
                (true, _) => Pairing::BothMetas,
                (false, true) => Pairing::Good,
                (false, false) => Pairing::NoSteps,
            };
            Entry { name: name.clone(), pairing: Some(pairing) }
        } else if let Some(stem) = name.strip_suffix(META_GZ) {
            if there(stem, META) {
                continue; // listed under the other name
            }
            let good = there(stem, STEPS);
            let pairing = if good { Pairing::Good } else { Pairing::NoSteps };
            Entry { name: name.clone(), pairing: Some(pairing) }
        } else {
            let stem = name.strip_suffix(STEPS).unwrap_or(name);
            if there(stem, META) || there(stem, META_GZ) {
                continue;
            }
            Entry { name: [stem, META].concat(), pairing: Some(Pairing::NoMeta) }
        };
        entries.push(entry);
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}
