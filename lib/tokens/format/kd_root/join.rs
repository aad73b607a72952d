//! Joins the slices of a shard, each made in a root of its own. The result (files, ids, manifest)
//! equals the shard that one run over the whole input writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::merge::{MergeInput, join, joined_source};
use super::part::first_difference;
use super::{KdPart, KdTarget, KeptTokenizer, SPLITS, ids_in_root, manifest_in_root, publish_part};
use crate::error::{Error, Result};
use crate::file_entry::FileEntry;
use crate::format::RecordCounts;
use crate::format::unchanged::InputSnapshot;
use crate::provenance::forget_slice;
use crate::provenance::{BuildRun, DatasetOrigin, InputManifest};
use crate::publish::PendingFile;

/// The parts of a shard, and where it is published.
#[derive(Debug)]
pub struct ShardJoin<'a> {
    /// The root of each part, in the order of their slices.
    pub parts: &'a [PathBuf],
    pub root: &'a Path,
    /// The shard's name, in the parts and in the root.
    pub name: &'a str,
    /// The manifest that is beside the inputs now. A new shard may have changed it since the parts were
    /// made; the caller compares its statements about the inputs of the parts.
    pub manifest: Option<&'a InputManifest>,
    /// How a script made the shard, to be recorded.
    pub made: DatasetOrigin,
    /// Whether the bytes are compared with the manifest if one part is the whole shard. (Other parts
    /// are copied, and always compared.)
    pub verify: bool,
}

impl ShardJoin<'_> {
    /// Joins the parts and publishes the shard, its manifest last, in place of an older one.
    pub fn publish(&self) -> Result<()> {
        let start = Instant::now();
        let unchanged = InputSnapshot::of_parts(self.parts)?;
        let (files, part) = unchanged.confirm(self.files())?;
        unchanged.check()?;
        let fraction = part.config.as_ref().and_then(|config| config.valid_fraction);
        let fraction = fraction.unwrap_or(0.0).to_string().parse();
        let target = KdTarget::Root {
            root: self.root.to_path_buf(),
            name: self.name.to_string(),
            valid_fraction: fraction.map_err(|e| Error::data(e).at(self.root))?,
        };
        let seconds: f64 = part.run.seconds;
        let run = BuildRun::since(start);
        let run = BuildRun { seconds: ((run.seconds + seconds) * 1000.0).round() / 1000.0, ..run };
        if let Some(kept) = self.tokenizer_of_parts(&part)? {
            kept.publish(self.root, false)?;
        }
        let mut files = files;
        let made = Some(self.made.clone());
        files.push(KdPart { run, made, ..part }.pending(&target.manifest())?);
        publish_part(&target, files, true).map(|_| ())
    }

    /// Returns the tokenizer that the parts keep: each has the same.
    fn tokenizer_of_parts(&self, part: &KdPart) -> Result<Option<KeptTokenizer>> {
        let Some(root) = self.parts.first() else { return Ok(None) };
        KeptTokenizer::of_root(root, part.tokenizer_files.as_ref())
    }

    fn files(&self) -> Result<(Vec<PendingFile>, KdPart)> {
        let parts = self.read()?;
        if let ([root], [only]) = (self.parts, parts.as_slice())
            && only.source.limits.slice.is_none()
        {
            return Ok((self.adopt(root, only)?, KdPart::clone(only)));
        }
        let mut part = self.describe(&parts)?;
        let mut files = Vec::new();
        for split in SPLITS {
            let of =
                |(root, part): (&PathBuf, &Arc<KdPart>)| MergeInput::in_root(root, part, split);
            let inputs: Result<Vec<MergeInput>> = self.parts.iter().zip(&parts).map(of).collect();
            let ids = ids_in_root(self.root, split, self.name);
            let prefix = self.root.join(split).join(self.name);
            let (written, joined) = join(&inputs?, &prefix, Some(&ids), self.root)?;
            files.extend(written);
            part.splits.insert(split.to_string(), joined.split);
            part.dtype = joined.dtype.name().to_string();
        }
        Ok((files, part))
    }

    /// Returns the files of a part that is the whole shard.
    fn adopt(&self, root: &Path, part: &KdPart) -> Result<Vec<PendingFile>> {
        let mut files = Vec::new();
        for split in part.splits.values() {
            if let Some(cause) = split.files.missing(root)? {
                return Err(Error::data(cause).at(root));
            }
            for (key, path) in &split.files.paths {
                let from = root.join(path);
                let stated = split.files.sha256.get(key);
                if self.verify && FileEntry::of(&from)?.sha256.as_ref() != stated {
                    let cause = "is not the one of its manifest (sha256)";
                    return Err(Error::data(cause).at(from.as_path()));
                }
                files.push(PendingFile::adopt(&self.root.join(path), &from)?);
            }
        }
        Ok(files)
    }

    /// Reads the manifests of the parts; they must be of one run of the pipeline.
    fn read(&self) -> Result<Vec<Arc<KdPart>>> {
        let mut parts: Vec<Arc<KdPart>> = Vec::new();
        for root in self.parts {
            let path = manifest_in_root(root, self.name);
            let part = self.whole(KdPart::read(&path)?);
            if let Some(first) = parts.first() {
                let difference = first_difference(&[
                    ("name", part.name == first.name),
                    ("build", part.git_sha == first.git_sha),
                    ("spans", part.source.spans == first.source.spans),
                    ("input", part.source.inputs == first.source.inputs),
                    ("limits of rows", part.source.limits.rows == first.source.limits.rows),
                    ("kept tokenizer", part.tokenizer_files == first.tokenizer_files),
                    ("provenance", part.provenance == first.provenance),
                ]);
                if let Some(what) = difference {
                    let cause = format!("its {what} is not that of the first part");
                    return Err(Error::data(cause).at(path.as_path()));
                }
            }
            parts.push(Arc::new(part));
        }
        Ok(parts)
    }

    /// Returns a part's manifest as if the part were of a run over the whole shard; it keeps only its slice.
    fn whole(&self, mut part: KdPart) -> KdPart {
        for entry in &mut part.provenance {
            forget_slice(entry);
            if let (Some(sha256), Some(manifest)) =
                (entry.get_mut("input_manifest_sha256"), self.manifest)
            {
                *sha256 = Value::from(manifest.sha256.as_str());
            }
        }
        if let (Some(own), Some(manifest)) = (&mut part.source.manifest, self.manifest) {
            own.sha256.clone_from(&manifest.sha256);
        }
        part
    }

    /// Returns the manifest of the shard without its splits.
    fn describe(&self, parts: &[Arc<KdPart>]) -> Result<KdPart> {
        let all = || parts.iter().map(|part| &**part);
        let none = || Error::usage(format!("{} has no parts", self.name)).at(self.root);
        let first = all().next().ok_or_else(none)?;
        let overflow = || Error::data("the records of its parts are more than 2^64").at(self.root);
        let records =
            RecordCounts::sum(all().map(|part| part.records.clone())).ok_or_else(overflow)?;
        let seconds = all().map(|part| part.run.seconds).sum();
        Ok(KdPart {
            source: joined_source(all()),
            records,
            splits: Default::default(),
            run: BuildRun { seconds, ..BuildRun::default() },
            ..first.clone()
        })
    }
}
