//! The tokenizer that a root keeps: the files of its model's folder, byte for byte, in `ROOT/tokenizer/`. So texts
//! can be shown and checked without the model's own folder.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::part::find_manifest;
use super::place::PlaceInRoot;
use super::{KdFiles, KdPart, KdTarget, Surplus};
use crate::batch::Header;
use crate::error::{At, Error, Kind, Result, shown};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::hashed_file::HashedFile;
use crate::format::json_file;
use crate::format::whole::understood;
use crate::model::{OF_ROOT, TokenizerName, locate, stated_files};
use crate::publish::{
    PendingFile, StandingFiles, Target, TargetLock, half_published, prepare, publish,
    publish_prepared, withdraw,
};
use crate::record::statements;

/// The folder of a root in which its tokenizer is.
pub const TOKENIZER: &str = OF_ROOT;
/// The file that is published last of it.
const LAST: &str = "tokenizer.json";
/// The folder of further chat templates.
pub(super) const TEMPLATES: &str = "tokenizer/additional_chat_templates";

/// Files that a root is to keep.
#[derive(Debug, Clone)]
pub struct KeptTokenizer {
    /// The names below `ROOT/tokenizer`, and the files that have these bytes; `tokenizer.json` is the last.
    files: Vec<(String, FileEntry)>,
}

impl KeptTokenizer {
    /// Finds the files of the tokenizer that a header states: in the folder that the user names, or else in the
    /// folder that the stream names. `None` for o200k, which is part of this program.
    pub fn of_header(
        header: &Header,
        model: Option<&Path>,
        template: Option<&Path>,
    ) -> Result<Option<KeptTokenizer>> {
        let stated = header.parameters.value(&statements::TOKENIZER);
        if TokenizerName::of(stated) != Some(TokenizerName::HuggingFace) {
            return Ok(None);
        }
        let Some(location) = locate(header, model, template) else {
            let cause =
                "a root keeps the tokenizer of its tokens, but it is not known where that is";
            return Err(Error::usage(cause).hint("--model DIR"));
        };
        // (Where they change from now on, `publish` refuses them.)
        Ok(Some(KeptTokenizer { files: stated_files(&location, stated)? }))
    }

    /// Returns the files that a root keeps as its part states them; `None` if it keeps none. They must be there, with
    /// the stated sizes; [`KeptTokenizer::publish`] compares their bytes.
    pub fn of_root(root: &Path, stated: Option<&KdFiles>) -> Result<Option<KeptTokenizer>> {
        let Some(stated) = stated else { return Ok(None) };
        if let Some(cause) = stated.missing(root)? {
            return Err(Error::data(cause).at(root));
        }
        let names = stated.paths.keys().cloned();
        let mut files: Vec<(String, FileEntry)> = names.zip(stated.stated(root)).collect();
        files.sort_by_key(|(name, _)| name == LAST);
        Ok(Some(KeptTokenizer { files }))
    }

    /// Returns the files as manifests of a root state them, by their names below `ROOT/tokenizer`.
    pub fn stated(&self) -> KdFiles {
        let path = |(name, _): &(String, FileEntry)| (name.clone(), format!("{TOKENIZER}/{name}"));
        let bytes = |(name, entry): &(String, FileEntry)| (name.clone(), entry.bytes);
        let sha256 =
            |(name, entry): &(String, FileEntry)| Some((name.clone(), entry.sha256.clone()?));
        KdFiles {
            paths: self.files.iter().map(path).collect(),
            bytes: self.files.iter().map(bytes).collect(),
            sha256: self.files.iter().filter_map(sha256).collect(),
        }
    }

    /// Refuses a root that keeps another tokenizer.
    pub fn refuse_other(&self, root: &Path) -> Result<()> {
        // (Files without the last one may be of a publication that was cut off.)
        if half_published(&TokenizerFolder(root).manifest())? {
            return Ok(());
        }
        let own: BTreeMap<&str, &FileEntry> =
            self.files.iter().map(|(name, entry)| (name.as_str(), entry)).collect();
        for path in kept_files(root)? {
            let name = path.strip_prefix(root.join(TOKENIZER)).unwrap_or(&path).to_string_lossy();
            let found = FileEntry::of(&path)?.sha256.unwrap_or_default();
            let cause = match own.get(&*name).and_then(|entry| entry.sha256.as_ref()) {
                Some(sha256) if *sha256 == found => continue,
                Some(sha256) => format!("is of another model: its sha256 is {found}, not {sha256}"),
                None => "is of another model, which has such a file".to_string(),
            };
            return Err(Error::usage(cause).at(path.as_path()).hint("another root"));
        }
        Ok(())
    }

    /// Publishes the files in a root. Files that are there already stay as they are. Another tokenizer is replaced if
    /// `overwrite`; otherwise it stays and is an error.
    pub fn publish(&self, root: &Path, overwrite: bool) -> Result<()> {
        let Some((files, is_other)) = self.pending(root, overwrite)? else { return Ok(()) };
        publish(&TokenizerFolder(root), files, is_other).map(drop).map_err(|error| {
            match error.kind() {
                // If another writer was first, its files are compared.
                Kind::Usage => self.refuse_other(root).err().unwrap_or(error),
                _ => error,
            }
        })
    }

    /// Does the same under the lock of the root.
    pub fn publish_locked(&self, root: &Path, overwrite: bool, lock: &TargetLock) -> Result<()> {
        let Some((files, is_other)) = self.pending(root, overwrite)? else { return Ok(()) };
        prepare(&files)?;
        publish_prepared(&TokenizerFolder(root), files, is_other, lock).map(drop)
    }

    /// Returns the files that are to be published, and whether another tokenizer stands there; `None` if they are there
    /// already.
    fn pending(&self, root: &Path, overwrite: bool) -> Result<Option<(Vec<PendingFile>, bool)>> {
        let is_other = match self.refuse_other(root) {
            Err(error) if overwrite && error.kind() == Kind::Usage => true,
            refused => refused.map(|()| false)?,
        };
        let is_whole = kept_files(root)?.len() == self.files.len()
            && !half_published(&TokenizerFolder(root).manifest())?;
        if is_whole && !is_other {
            return Ok(None);
        }
        let mut pending = Vec::new();
        for (name, entry) in &self.files {
            let from = files::open_member(&entry.path).at(&*entry.path)?;
            let mut file = HashedFile::create(&root.join(TOKENIZER).join(name))?;
            file.append(&from, entry.bytes, &shown(&entry.path), |_| {})?;
            let file = file.finish()?;
            if Some(&file.sha256) != entry.sha256.as_ref() {
                return Err(files::changed(&entry.path));
            }
            pending.push(file.file);
        }
        Ok(Some((pending, is_other)))
    }
}

/// Keeps the tokenizer of prefixes that are joined to one prefix in a root, if their own roots keep one. `part` is the
/// part manifest of the joined prefix.
pub fn publish_tokenizer_of_parts(
    prefixes: &[PathBuf],
    target: &KdTarget,
    part: &mut KdPart,
) -> Result<()> {
    let Some(root) = target.above() else { return Ok(()) };
    for prefix in prefixes {
        let Some((manifest, _)) = find_manifest(prefix)? else { continue };
        let Some(place) = PlaceInRoot::of(prefix)? else { continue };
        let stated = KdPart::read(&manifest)?.tokenizer_files;
        let Some(kept) = KeptTokenizer::of_root(&place.root, stated.as_ref())? else { continue };
        kept.publish(&root, false)?;
        part.tokenizer_files = stated;
    }
    Ok(())
}

/// Refuses a root that keeps another tokenizer than this one (`None` is o200k), unless all that it holds is replaced.
/// (Without the lock, what another writer is publishing would look like files that no manifest names.)
pub fn refuse_another(
    root: &Path,
    own: Option<&KeptTokenizer>,
    is_replaced: &dyn Fn(&str) -> bool,
    _: &TargetLock,
) -> Result<()> {
    replaceable_shards(root, own, is_replaced).map(|_| ())
}

/// Removes from a root any other tokenizer than this one (`None` is o200k), and all shards of that other tokenizer.
/// Fails, and removes nothing, if one of these shards may not be replaced.
pub fn remove_other_tokenizer(
    root: &Path,
    own: Option<&KeptTokenizer>,
    is_replaced: &dyn Fn(&str) -> bool,
) -> Result<()> {
    if !files::is_directory(root)? {
        return Ok(());
    }
    let lock = TargetLock::take(root)?;
    let Some(old) = replaceable_shards(root, own, is_replaced)? else { return Ok(()) };
    old.withdraw(&lock)?;
    remove_kept(root, &lock)
}

/// Removes the tokenizer that a root keeps.
pub fn remove_kept(root: &Path, lock: &TargetLock) -> Result<()> {
    withdraw(&TokenizerFolder(root), lock)?;
    // (A folder with something else in it stays.)
    [TEMPLATES, TOKENIZER].iter().for_each(|folder| drop(fs::remove_dir(root.join(folder))));
    Ok(())
}

/// Returns the shards of a root that are of another tokenizer, if the root keeps one.
fn replaceable_shards<'a>(
    root: &'a Path,
    own: Option<&KeptTokenizer>,
    is_replaced: &dyn Fn(&str) -> bool,
) -> Result<Option<Surplus<'a>>> {
    let refused = match own {
        Some(own) => own.refuse_other(root).and_then(|()| refuse_o200k(root)),
        None => refuse_kept(root),
    };
    match refused {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == Kind::Usage => match Surplus::of(root, &HashSet::new()) {
            Ok(old) if old.is_all(is_replaced) => Ok(Some(old)),
            Err(other) if other.kind() == Kind::Unavailable => Err(other),
            // (What no manifest names is of another program, and is not replaced.)
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Refuses tokens of o200k in a root that keeps the tokenizer of a model.
fn refuse_kept(root: &Path) -> Result<()> {
    match kept_files(root)?.into_iter().next_back() {
        Some(path) => Err(Error::usage("is of another tokenizer, but these are tokens of o200k")
            .at(path.as_path())
            .hint("another root")),
        None => Ok(()),
    }
}

/// Refuses tokens of a model in a root of o200k, which keeps no tokenizer.
fn refuse_o200k(root: &Path) -> Result<()> {
    for path in files::paths_if_there(&root.join("parts"))? {
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let part: Option<KdPart> = understood(json_file::if_there(&path, KdPart::read))?.flatten();
        let stated = part.as_ref().and_then(|part| part.source.tokenizer.as_ref());
        match TokenizerName::of(stated) {
            None => {}
            Some(TokenizerName::O200k) => {
                let cause = "has tokens of o200k, but these are of another tokenizer";
                return Err(Error::usage(cause).at(path.as_path()).hint("another root"));
            }
            // (All parts of a root are of one tokenizer.)
            Some(_) => break,
        }
    }
    Ok(())
}

/// Returns the folder of the tokenizer that a root keeps; `None` if it keeps none.
pub fn tokenizer_of_root(root: &Path) -> Result<Option<PathBuf>> {
    let folder = root.join(TOKENIZER);
    Ok(files::is_member(&folder.join(LAST))?.then_some(folder))
}

/// Returns the folder of the tokenizer that the root of a prefix keeps.
pub fn tokenizer_beside(prefix: &Path) -> Result<Option<PathBuf>> {
    PlaceInRoot::of(prefix)?.map_or(Ok(None), |place| tokenizer_of_root(&place.root))
}

/// Returns the files that a root keeps, by name.
pub fn kept_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    for folder in [TOKENIZER, TEMPLATES] {
        for path in files::paths_if_there(&root.join(folder))? {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            if !name.starts_with(b".") && !files::is_directory(&path)? {
                kept.push(path);
            }
        }
    }
    kept.sort();
    Ok(kept)
}

/// `ROOT/tokenizer/`, where a tokenizer is published: the root, which is locked.
struct TokenizerFolder<'a>(&'a Path);

impl Target for TokenizerFolder<'_> {
    fn directory(&self) -> PathBuf {
        self.0.to_path_buf()
    }

    fn manifest(&self) -> PathBuf {
        self.0.join(TOKENIZER).join(LAST)
    }

    fn standing(&self) -> Result<StandingFiles> {
        Ok(StandingFiles { files: kept_files(self.0)?, dependents: Vec::new() })
    }
}
