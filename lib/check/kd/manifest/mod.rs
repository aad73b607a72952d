//! The manifests of a dataset: reads them, and what they say of how it was made. `compare.rs`
//! compares the rest.

pub(super) mod compare;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::PrefixSet;
use super::sequences::SequenceRules;
use crate::check::inventory::{self, Claimed};
use crate::check::{Findings, checks};
use crate::error::Result;
use crate::files;
use crate::format::json_file;
use crate::format::kd_root::{
    ALL, KdFiles, KdPart, KdRootManifest, MANIFEST, find_manifest, manifest_beside,
};
use crate::harmony::{Alignment, Policy, Spans};

checks! {
    FORM: Error Structure "kd.manifest.form",
        "a manifest that cannot be read: what the dataset was made from is not known";
    FOREIGN: Warning Structure "kd.manifest.foreign",
        "a manifest.json of another program: nothing in it is compared";
}

/// What one manifest says of the shard of a split.
#[derive(Debug)]
struct Claim {
    manifest: PathBuf,
    /// The shard's prefix.
    prefix: PathBuf,
    rows: u64,
    tokens: u64,
    /// That of the tokens; a root's manifest has none.
    dtype: Option<String>,
    /// By span id; a root's manifest has them for whole splits only.
    supervised: Option<BTreeMap<String, u64>>,
    files: Vec<Claimed>,
}

/// The manifests of a dataset.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    claims: Vec<Claim>,
    root: Option<(PathBuf, KdRootManifest)>,
    parts: Vec<(PathBuf, KdPart)>,
    /// Whether there are any manifests, readable or not.
    pub any: bool,
    /// Whether one of them cannot be read: then what they leave out is not known.
    unread: bool,
}

/// What was seen of one prefix.
pub(super) struct Seen {
    pub rows: u64,
    pub tokens: u64,
    pub dtype: &'static str,
    /// Positions by span id, where the contents were read.
    pub spans: Option<[u64; 256]>,
}

impl Manifests {
    /// Reads all manifests of a place.
    pub fn read(place: &PrefixSet, findings: &mut Findings<'_>) -> Result<Manifests> {
        let mut manifests = Manifests::default();
        if place.is_root {
            manifests.read_root(&place.base, findings)?;
            for path in json_files(&place.base.join("parts"), ".json")? {
                manifests.read_part(&path, &place.base, None, findings)?;
            }
        }
        let mut named = BTreeSet::new();
        for prefix in &place.prefixes {
            let beside = manifest_beside(&prefix.path);
            let found =
                match (files::is_member(&beside)?, place.is_root || place.prefixes.len() > 1) {
                    (true, _) => Some((beside, ALL.to_string())),
                    (false, true) => None,
                    (false, false) => find_manifest(&prefix.path)?,
                };
            let Some((path, split)) = found else { continue };
            let directory = match split == ALL {
                true => path.parent().map(Path::to_path_buf),
                false => path.parent().and_then(Path::parent).map(Path::to_path_buf),
            };
            if named.insert(path.clone()) {
                let directory = directory.unwrap_or_default();
                manifests.read_part(&path, &directory, Some(&split), findings)?;
            }
        }
        Ok(manifests)
    }

    fn read_root(&mut self, base: &Path, findings: &mut Findings<'_>) -> Result<()> {
        let path = base.join(MANIFEST);
        if !files::is_member(&path)? {
            return Ok(());
        }
        let root = inventory::readable(json_file::read(&path), &path, findings, || {
            if inventory::is_foreign(&path, &["gristmill", "config_hash"])? {
                return Ok(&FOREIGN);
            }
            (self.any, self.unread) = (true, true);
            Ok(&FORM)
        })?;
        let Some(root): Option<KdRootManifest> = root else { return Ok(()) };
        self.any = true;
        if let Some(cause) = root.other_schema() {
            findings.add(&FORM, &path, cause);
        }
        for (name, split) in &root.splits {
            for shard in &split.shards {
                self.claims.push(Claim {
                    manifest: path.clone(),
                    prefix: base.join(name).join(&shard.name),
                    rows: shard.rows,
                    tokens: shard.tokens,
                    dtype: None,
                    supervised: None,
                    files: match root.is_published() {
                        true => claimed_by_name(&base.join(name), &shard.files),
                        false => claimed(base, &shard.files),
                    },
                });
            }
        }
        if !root.is_published() {
            self.without_hashes(&path, findings);
        }
        self.root = Some((path, root));
        Ok(())
    }

    /// Reads a part manifest: all its splits, or the one named.
    fn read_part(
        &mut self,
        path: &Path,
        base: &Path,
        only: Option<&str>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        self.any = true;
        let part = inventory::readable(json_file::read(path), path, findings, || Ok(&FORM))?;
        self.unread |= part.is_none();
        let Some(part): Option<KdPart> = part else { return Ok(()) };
        if let Some(cause) = part.other_schema() {
            findings.add(&FORM, path, cause);
        }
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        for (name, split) in
            part.splits.iter().filter(|(name, split)| wanted(name) && split.rows > 0)
        {
            let directory = if name == ALL { base.to_path_buf() } else { base.join(name) };
            self.claims.push(Claim {
                manifest: path.to_path_buf(),
                prefix: directory.join(&part.name),
                rows: split.rows,
                tokens: split.tokens,
                dtype: Some(part.dtype.clone()),
                supervised: Some(split.supervised_tokens.clone()),
                files: claimed(base, &split.files),
            });
        }
        self.without_hashes(path, findings);
        self.parts.push((path.to_path_buf(), part));
        Ok(())
    }

    /// Our manifests state the hash of every file.
    fn without_hashes(&self, manifest: &Path, findings: &mut Findings<'_>) {
        let claims = self.claims.iter().filter(|claim| claim.manifest == manifest);
        let mut bare = claims.flat_map(|claim| &claim.files).filter(|file| file.sha256.is_none());
        if let Some(file) = bare.next() {
            let name = inventory::name_of(&file.path);
            findings.add(&FORM, manifest, format_args!("has no sha256 of {name}"));
        }
    }

    /// What the manifests say of how the sequences of a prefix were made. Without a policy in them
    /// it is the user's.
    pub fn rules(&self, prefix: &Path, said: Option<Policy>) -> SequenceRules {
        let names_it = |path: &Path| {
            self.claims.iter().any(|claim| claim.prefix == prefix && claim.manifest == path)
        };
        let part = self.parts.iter().find(|(path, _)| names_it(path)).map(|(_, part)| part);
        let config = part.and_then(|part| part.config.as_ref());
        let config = config.or(self.root.as_ref().map(|(_, root)| &root.config));
        let Some(config) = config else { return SequenceRules::assumed(said) };
        let named = part.and_then(|part| part.source.policy.as_deref()).and_then(Policy::from_name);
        let has_tools = config.roles_preserved.iter().flatten().any(|role| role == "tool");
        // Where the manifest says that it is not known, what any policy accepts is right.
        let is_unknown = part.is_some_and(|part| part.source.policy.is_none());
        let policy = named.or(has_tools.then_some(Policy::Chat)).or(said);
        let policy = policy.or(is_unknown.then_some(Policy::Chat));
        let contract =
            config.assistant_channels.as_ref().is_some_and(|names| *names == ["analysis", "final"]);
        let spans = match part.and_then(|part| part.source.spans.as_ref()) {
            Some(spans) => Some(Spans::from_json(spans)),
            None => contract.then(|| Spans::synth_kd_v1(&[])),
        };
        SequenceRules { policy, spans, alignment: Alignment::Label }
    }

    /// Whether the vocabulary is the one whose tokens are known here.
    pub fn is_harmony(&self) -> bool {
        let mut tokenizers = self.parts.iter().map(|(_, part)| part.source.tokenizer.as_ref());
        tokenizers.all(|known| known.is_some_and(|known| known["type"] == "o200k_harmony"))
    }

    /// Whether there are files of which no manifest states a hash.
    pub fn lacks_hashes(&self) -> bool {
        self.claims.iter().flat_map(|claim| &claim.files).any(|file| file.sha256.is_none())
    }

    /// The fraction of the valid split, if one is stated.
    pub fn valid_fraction(&self) -> Option<f64> {
        let of_part = |(_, part): &(PathBuf, KdPart)| part.config.as_ref()?.valid_fraction;
        let of_root = self.root.as_ref().and_then(|(_, root)| root.config.valid_fraction);
        of_root.or_else(|| self.parts.first().and_then(of_part))
    }
}

/// The files of a split in a directory, whatever directories the manifest has before their names.
fn claimed_by_name(directory: &Path, files: &KdFiles) -> Vec<Claimed> {
    let mut all = claimed(directory, files);
    for file in &mut all {
        file.path = directory.join(file.path.file_name().unwrap_or_default());
    }
    all
}

fn claimed(base: &Path, files: &KdFiles) -> Vec<Claimed> {
    let of = |(key, path): (&String, &String)| Claimed {
        path: inventory::below(base, path),
        bytes: files.bytes.get(key).copied().unwrap_or(0),
        sha256: files.sha256.get(key).cloned(),
    };
    files.paths.iter().map(of).collect()
}

/// The files of a directory with this ending, by name; none if there is no directory.
fn json_files(directory: &Path, suffix: &str) -> Result<Vec<PathBuf>> {
    let mut paths = files::paths_if_there(directory)?;
    paths.retain(|path| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.ends_with(suffix) && !name.starts_with('.'))
    });
    Ok(paths)
}
