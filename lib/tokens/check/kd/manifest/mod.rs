//! Reads the manifests of a dataset, and what they state about how it was made. `compare.rs` compares
//! the rest.

pub(super) mod compare;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use gristmill_models::Tokenizer;
use serde_json::Value;

use super::sequences::SequenceRules;
use crate::check::inventory;
use crate::check::{Findings, checks};
use crate::error::{Result, shown};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::json_file;
use crate::format::kd_root::{ALL, KdListing, KdPart, KdRootManifest, MANIFEST};
use crate::harmony::{Policy, Spans};
use crate::model::Vocabulary;
use compare::PARTS;

checks! {
    FORM: Error Structure "kd.manifest.form",
        "a manifest that cannot be read: what the dataset was made from is not known";
    FOREIGN: Warning Structure "kd.manifest.foreign",
        "a manifest.json of another program: nothing in it is compared";
}

/// The facts that one manifest states about the shard of a split.
#[derive(Debug)]
struct Claim {
    manifest: PathBuf,
    /// The shard's prefix.
    prefix: PathBuf,
    rows: u64,
    tokens: u64,
    /// The dtype of the tokens; a root's manifest has none.
    dtype: Option<String>,
    /// Supervised tokens by span id; a root's manifest has them for whole splits only.
    supervised: Option<BTreeMap<String, u64>>,
    files: Vec<FileEntry>,
}

/// The manifests of a dataset.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    claims: Vec<Claim>,
    /// The files of the tokenizer that a root keeps, as its manifests state them.
    kept: Vec<FileEntry>,
    root: Option<(PathBuf, KdRootManifest)>,
    parts: Vec<(PathBuf, KdPart)>,
    /// The number of its part by a prefix.
    part_of: HashMap<PathBuf, usize>,
    /// Whether there are any manifests, readable or not.
    pub any: bool,
    /// Whether the root has a manifest of its own, readable or not.
    pub has_root: bool,
    /// Whether one of them cannot be read: then it is not known what they leave out.
    unread: bool,
}

/// The contents of one prefix as they were read.
pub(super) struct SeenPrefix {
    pub rows: u64,
    pub tokens: u64,
    pub dtype: &'static str,
    /// Positions by span id, if the contents were read.
    pub spans: Option<[u64; 256]>,
}

impl Manifests {
    /// Reads all manifests of a place.
    pub fn read(place: &KdListing, findings: &mut Findings<'_>) -> Result<Manifests> {
        let mut manifests = Manifests::default();
        if place.is_root {
            manifests.read_root(&place.base, findings)?;
        }
        for (path, split) in place.part_manifests()? {
            let above = path.parent().unwrap_or(Path::new(""));
            let base = match split.as_deref() {
                None => place.base.as_path(),
                Some(ALL) => above,
                Some(_) => above.parent().unwrap_or(Path::new("")),
            };
            manifests.read_part(&path, base, split.as_deref(), findings)?;
            if place.is_root
                && let Some((_, part)) = manifests.parts.last()
            {
                let kept = part.tokenizer_files.iter().flat_map(|files| files.stated(&place.base));
                manifests.kept.extend(kept);
            }
        }
        Ok(manifests)
    }

    fn read_root(&mut self, base: &Path, findings: &mut Findings<'_>) -> Result<()> {
        let path = base.join(MANIFEST);
        if !files::is_member(&path)? {
            return Ok(());
        }
        self.has_root = true;
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
                    files: if root.is_published() {
                        shard.files.stated_by_name(&base.join(name))
                    } else {
                        shard.files.stated(base)
                    },
                });
            }
        }
        if !root.is_published() {
            without_hashes(&self.claims, &path, findings);
        }
        self.kept.extend(root.tokenizer_files.iter().flat_map(|files| files.stated(base)));
        self.root = Some((path, root));
        Ok(())
    }

    /// Reads a part manifest: all its splits, or only `only`.
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
        if let Some(cause) = part.misnamed(path) {
            findings.add(&FORM, path, cause);
            return Ok(());
        }
        if let Some(cause) = part.foreign_file() {
            findings.add(&FORM, path, cause);
        }
        let before = self.claims.len();
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        for (name, split) in
            part.splits.iter().filter(|(name, split)| wanted(name) && split.rows > 0)
        {
            let directory = if name == ALL { base.to_path_buf() } else { base.join(name) };
            let prefix = directory.join(&part.name);
            if let Some(other) = self.part_of.insert(prefix.clone(), self.parts.len()) {
                let other = self.parts.get(other).map_or(path, |(path, _)| path);
                findings.add(&PARTS, path, format_args!("has the files of {} too", shown(other)));
            }
            self.claims.push(Claim {
                manifest: path.to_path_buf(),
                prefix,
                rows: split.rows,
                tokens: split.tokens,
                dtype: Some(part.dtype.clone()),
                supervised: Some(split.supervised_tokens.clone()),
                files: split.files.stated(base),
            });
        }
        without_hashes(&self.claims[before..], path, findings);
        self.parts.push((path.to_path_buf(), part));
        Ok(())
    }

    /// Returns how the sequences of a prefix were made, by the manifests. If these state no policy, the
    /// user's policy holds. `tokenizer` is theirs, if it is not o200k and at hand.
    pub fn rules(
        &self,
        prefix: &Path,
        said: Option<Policy>,
        tokenizer: Option<Tokenizer>,
    ) -> SequenceRules {
        let part = self.part_of.get(prefix).and_then(|&number| self.parts.get(number));
        let part = part.map(|(_, part)| part);
        let config = part.and_then(|part| part.config.as_ref());
        let config = config.or(self.root.as_ref().map(|(_, root)| &root.config));
        let stated = part.and_then(|part| part.source.tokenizer.as_ref());
        let stated = stated.or(self.root.as_ref().map(|(_, root)| &root.tokenizer));
        let vocabulary = Vocabulary::of(stated);
        let tokenizer = tokenizer.filter(|_| !vocabulary.is_o200k());
        let assumed = SequenceRules { vocabulary, tokenizer, ..SequenceRules::assumed(said) };
        let Some(config) = config else { return assumed };
        let named = part.and_then(|part| part.source.policy.as_deref()).and_then(Policy::from_name);
        let has_tools = config.roles_preserved.iter().flatten().any(|role| role == "tool");
        // If the manifest states that the policy is unknown, everything that some policy accepts is
        // right.
        let is_unknown = part.is_some_and(|part| part.source.policy.is_none());
        let policy = named.or(has_tools.then_some(Policy::Chat)).or(said);
        let policy = policy.or(is_unknown.then_some(Policy::Chat));
        let contract =
            config.assistant_channels.as_ref().is_some_and(|names| *names == ["analysis", "final"]);
        let spans = match part.and_then(|part| part.source.spans.as_ref()) {
            Some(spans) => Some(Spans::from_json(spans)),
            None => contract.then(|| Spans::synth_kd_v1(&[])),
        };
        let is_weighted = part.is_some_and(KdPart::has_weights);
        let end = config.eod_token_id.filter(|_| !vocabulary.is_o200k());
        let may_have_end = end.is_some();
        SequenceRules { policy, spans, is_weighted, end, may_have_end, ..assumed }
    }

    /// Returns the stated tokenizer, if it is not o200k, and the manifest that states it.
    pub fn other_tokenizer(&self) -> Option<(&Path, &Value)> {
        let of_parts = self.parts.iter().map(|(path, part)| (path, part.source.tokenizer.as_ref()));
        let of_root = self.root.iter().map(|(path, root)| (path, Some(&root.tokenizer)));
        let mut all = of_parts.chain(of_root).filter_map(|(path, stated)| Some((&**path, stated?)));
        all.find(|(_, stated)| !Vocabulary::of(Some(stated)).is_o200k())
    }

    /// Returns the files of the tokenizer that the manifests state; none if the tokenizer is not kept.
    pub fn tokenizer_files(&self) -> impl Iterator<Item = &FileEntry> {
        self.kept.iter()
    }

    /// Whether the vocabulary is o200k, whose tokens are known here.
    pub fn is_harmony(&self) -> bool {
        let mut tokenizers = self.parts.iter().map(|(_, part)| part.source.tokenizer.as_ref());
        tokenizers.all(|known| known.is_some_and(|known| known["type"] == "o200k_harmony"))
    }

    /// Whether there are files whose hash no manifest states.
    pub fn lacks_hashes(&self) -> bool {
        self.claims.iter().flat_map(|claim| &claim.files).any(|file| file.sha256.is_none())
    }

    /// Returns the fraction of the valid split, if one is stated.
    pub fn valid_fraction(&self) -> Option<f64> {
        let of_part = |(_, part): &(PathBuf, KdPart)| part.config.as_ref()?.valid_fraction;
        let of_root = self.root.as_ref().and_then(|(_, root)| root.config.valid_fraction);
        of_root.or_else(|| self.parts.first().and_then(of_part))
    }
}

/// Reports files without a hash: our manifests state the hash of every file.
fn without_hashes(claims: &[Claim], manifest: &Path, findings: &mut Findings<'_>) {
    let mut bare =
        claims.iter().flat_map(|claim| &claim.files).filter(|file| file.sha256.is_none());
    if let Some(file) = bare.next() {
        let name = inventory::name_of(&file.path);
        findings.add(&FORM, manifest, format_args!("has no sha256 of {name}"));
    }
}
