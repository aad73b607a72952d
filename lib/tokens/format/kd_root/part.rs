//! Part manifests: what a sink knows of what it wrote. A part counts once its manifest exists;
//! merges and the root's manifest are made from these alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::PlaceInRoot;
use super::{ALL, SPLITS, ValidFraction};
use crate::batch::{Counts, DroppedRecords};
use crate::digest::sha256_hex;
use crate::error::{Error, Kind, Result};
use crate::file_entry::{Difference, FileEntry};
use crate::files;
use crate::format::mmidx::{PrefixLayout, with_suffix};
use crate::format::{RecordCounts, json_file};
use crate::harmony::unsupervised;
use crate::json::PythonFormatter;
use crate::provenance::{BuildRun, DatasetOrigin, InputManifest};
use crate::publish::PendingFile;
use crate::wording::{counted, exactly, grouped};

pub const PART_SCHEMA: &str = "gristmill_part_v1";

/// The manifest of one part: a shard, or a slice of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KdPart {
    pub schema_version: String,
    /// The part's name: `shard_00`.
    pub name: String,
    pub git_sha: Option<String>,
    /// `None` if the sequences have tokens alone.
    #[serde(deserialize_with = "json_file::stated")]
    pub config: Option<KdConfig>,
    #[serde(deserialize_with = "json_file::stated")]
    pub config_hash: Option<String>,
    /// The type of the token values, as NumPy names it.
    pub dtype: String,
    pub source: KdSource,
    /// The files of the tokenizer that the root keeps, by their names in its folder. Paths are relative to the root.
    /// Absent if it keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_files: Option<KdFiles>,
    pub records: RecordCounts,
    /// The splits by name; the name is `all` if there is only one without a name.
    pub splits: BTreeMap<String, KdSplit>,
    pub provenance: Vec<Value>,
    /// How a script joined it of parts, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<DatasetOrigin>,
    /// The only field that changes from run to run.
    pub run: BuildRun,
}

/// The settings that decide the bytes: two parts of one dataset must have the same. The fields are
/// sorted by name, as the hash requires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KdConfig {
    /// `None` if the spans did not come with the masks (NDJSON).
    #[serde(deserialize_with = "json_file::stated")]
    pub assistant_channels: Option<Vec<String>>,
    /// `None` if it is not known.
    #[serde(deserialize_with = "json_file::stated")]
    pub eod_token_id: Option<i32>,
    pub hash: String,
    /// The field with the ids, which decide the splits; absent if it is the contract's field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_field: Option<String>,
    pub loss_mask_alignment: String,
    /// `None` if the policy did not come with the tokens.
    #[serde(deserialize_with = "json_file::stated")]
    pub roles_preserved: Option<Vec<String>>,
    /// The span id of each channel; absent if the spans are the contract's, or not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<BTreeMap<String, i64>>,
    /// `None` if there is no split.
    pub valid_fraction: Option<f64>,
}

impl KdConfig {
    /// The config of the contract (FORMAT.md), for the default policy.
    pub fn synth_kd_v1(valid_fraction: Option<&ValidFraction>) -> KdConfig {
        let list = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect());
        KdConfig {
            assistant_channels: list(&["analysis", "final"]),
            eod_token_id: Some(crate::tokenizer::EOD),
            hash: "blake2b-8".to_string(),
            id_field: None,
            loss_mask_alignment: "labels_shifted_with_pad".to_string(),
            roles_preserved: list(&["system", "developer", "user", "assistant"]),
            spans: None,
            valid_fraction: valid_fraction.map(ValidFraction::as_f64),
        }
    }

    /// Whether all of the config is known.
    pub fn is_known(&self) -> bool {
        self.assistant_channels.is_some() && self.roles_preserved.is_some()
    }

    /// Returns the hash of the config; `None` if a part of it is unknown.
    pub fn known_sha256(&self) -> Result<Option<String>> {
        self.is_known().then(|| self.sha256()).transpose()
    }

    /// Whether the two configs cannot be of one dataset. Unknown values contradict nothing. (Where the channels are not
    /// known, spans and the field of ids are not, either.)
    pub fn contradicts(&self, other: &KdConfig) -> bool {
        let of_channels = |of: &KdConfig| {
            of.assistant_channels.clone().map(|all| (all, of.spans.clone(), of.id_field.clone()))
        };
        let others = |of: &KdConfig| {
            (of.eod_token_id, of.hash.clone(), of.loss_mask_alignment.clone(), of.valid_fraction)
        };
        !agree_if_known(&of_channels(self), &of_channels(other))
            || !agree_if_known(&self.roles_preserved, &other.roles_preserved)
            || others(self) != others(other)
    }

    /// Returns the common config of both: a value is unknown if one of them lacks it.
    fn and(mut self, other: &KdConfig) -> KdConfig {
        self.assistant_channels =
            self.assistant_channels.filter(|_| other.assistant_channels.is_some());
        self.spans = self.spans.filter(|_| other.assistant_channels.is_some());
        self.roles_preserved = self.roles_preserved.filter(|_| other.roles_preserved.is_some());
        self
    }

    /// Returns the common config of parts that do not contradict one another; `None` if one has
    /// none.
    pub(super) fn of_all<'a>(mut parts: impl Iterator<Item = &'a KdPart>) -> Option<KdConfig> {
        let first = parts.next()?.config.clone()?;
        parts.try_fold(first, |all, part| Some(all.and(part.config.as_ref()?)))
    }

    /// Returns the sha256 (hex) of the config as JSON with sorted keys, no spaces, ASCII, and the
    /// fraction as Python's `repr` prints it.
    pub fn sha256(&self) -> Result<String> {
        let text = PythonFormatter::COMPACT.text(self).map_err(Error::data)?;
        Ok(sha256_hex(text.as_bytes()))
    }
}

/// Where the records came from and how they were made: from the stream's header, or from flags.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KdSource {
    /// The name, size, rows and hash of each input file; `None` if they are not known.
    #[serde(deserialize_with = "json_file::stated")]
    pub inputs: Option<Vec<Value>>,
    /// The manifest beside the inputs, if there is one.
    #[serde(deserialize_with = "json_file::stated")]
    pub manifest: Option<InputManifest>,
    /// `None` if the policy did not come with the tokens.
    #[serde(deserialize_with = "json_file::stated")]
    pub policy: Option<String>,
    pub limits: SourceLimits,
    /// Type, path, hash and padded size of the vocabulary.
    #[serde(deserialize_with = "json_file::stated")]
    pub tokenizer: Option<Value>,
    /// The span id of each supervised channel; `None` if the masks came without this information.
    #[serde(deserialize_with = "json_file::stated")]
    pub spans: Option<Value>,
    /// The field from which ids come, if the user has named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_field: Option<String>,
}

impl KdSource {
    /// Returns the first property that shows that the sequences of two parts are not of one
    /// dataset. Unknown values differ from nothing.
    pub fn difference(&self, other: &KdSource) -> Option<&'static str> {
        let are_known = self.policy.is_some() && other.policy.is_some();
        first_difference(&[
            ("policy", agree_if_known(&self.policy, &other.policy)),
            ("tokenizer", are_one_tokenizer(&self.tokenizer, &other.tokenizer)),
            ("spans", agree_if_known(&self.spans, &other.spans)),
            ("id field", !are_known || self.id_field == other.id_field),
        ])
    }
}

/// Whether two vocabularies are the same. Only their hashes are compared, not their paths, nor whether
/// they are part of the program.
pub fn are_one_tokenizer(a: &Option<Value>, b: &Option<Value>) -> bool {
    let hash = |of: &Option<Value>| of.as_ref()?.get("model_sha256")?.as_str().map(str::to_string);
    let stated = |of: &Option<Value>, name: &str| of.as_ref()?.get(name).cloned();
    let is_same = |name: &str| stated(a, name) == stated(b, name);
    a == b
        || hash(a).is_some_and(|own| Some(own) == hash(b))
            && is_same("vocab_size")
            && is_same("type")
}

impl KdPart {
    /// Returns a warning for a part with masks in which nothing is supervised.
    pub fn unsupervised(&self) -> Option<String> {
        let masked =
            self.splits.values().filter(|split| split.files.paths.contains_key("span_bin"));
        let rows = masked.clone().fold(0, |rows: u64, split| rows.saturating_add(split.rows));
        let mut supervised = masked.flat_map(|split| split.supervised_tokens.values());
        if supervised.any(|&tokens| tokens > 0) { None } else { unsupervised(rows, rows) }
    }

    /// Describes the source in one line.
    pub fn summary(&self) -> String {
        let split = |(name, split): (&String, &KdSplit)| {
            let name = if name == ALL { String::new() } else { format!("{name} ") };
            let supervised: u64 = split.supervised_tokens.values().sum();
            let (rows, tokens) = (counted(split.rows, "sequence"), counted(split.tokens, "token"));
            format!("{name}{rows}, {tokens}, {} trained on", grouped(supervised))
        };
        let splits = self.splits.iter().filter(|(_, split)| split.rows > 0).map(split);
        let splits: Vec<String> = splits.collect();
        let splits = if splits.is_empty() { "no sequences".to_string() } else { splits.join("; ") };
        format!("{}: {splits}", self.name)
    }

    /// Whether some of its messages are not trained on because of their weights: a message without a
    /// span may then be one of these.
    pub fn has_weights(&self) -> bool {
        self.splits.values().any(|split| split.untrained_messages > 0)
    }
}

impl KdSource {
    /// Returns the rows of the inputs, up to the limit; `None` if they are not known.
    pub fn rows(&self) -> Option<u64> {
        let inputs = self.inputs.as_ref().filter(|inputs| !inputs.is_empty())?;
        let mut rows = inputs.iter().map(|input| input.get("rows")?.as_u64());
        let all = rows.try_fold(0u64, |sum, rows| sum.checked_add(rows?))?;
        Some(self.limits.rows.map_or(all, |limit| limit.min(all)))
    }

    /// Returns the input files as far as they are known.
    pub fn known_inputs(&self) -> &[Value] {
        self.inputs.as_deref().unwrap_or_default()
    }

    /// Returns the hash of the input's manifest.
    pub fn manifest_sha256(&self) -> Option<&str> {
        self.manifest.as_ref().map(|manifest| manifest.sha256.as_str())
    }
}

/// Which share of its inputs a part holds; `None` (null) is no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceLimits {
    /// In a part: the limit of rows of its inputs. In a root: the limit of rows of all shards
    /// together.
    pub rows: Option<u64>,
    /// In a root: the limit of rows of each shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_shard: Option<u64>,
    pub tokens: Option<u64>,
    pub slice: Option<String>,
    /// The shard (several: `0/8, 1/8`), if its inputs were cut; `slice` is then a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

/// One split of a part; without rows it has no files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KdSplit {
    pub rows: u64,
    pub tokens: u64,
    /// Supervised tokens by span id ("1" analysis, "2" final).
    pub supervised_tokens: BTreeMap<String, u64>,
    /// Messages that are not trained on because of their weights, whatever their channels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untrained_messages: u64,
    #[serde(flatten)]
    pub files: KdFiles,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The files of one split of a part, by their names in the manifest (`tokens_bin`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KdFiles {
    /// Paths relative to the directory that the manifest describes: ROOT, or the prefix's
    /// directory.
    pub paths: BTreeMap<String, String>,
    pub bytes: BTreeMap<String, u64>,
    /// Hashes in hexadecimal. Published builders do not state them.
    #[serde(default)]
    pub sha256: BTreeMap<String, String>,
}

impl KdFiles {
    /// Returns the files below the directory that the manifest describes.
    pub fn stated(&self, base: &Path) -> Vec<FileEntry> {
        let of = |(key, path): (&String, &String)| {
            let bytes = self.bytes.get(key).copied().unwrap_or(0);
            FileEntry::below(base, path, bytes, self.sha256.get(key).cloned())
        };
        self.paths.iter().map(of).collect()
    }

    /// Returns the files with their paths changed to `directory`, whatever directories the manifest states.
    pub fn stated_by_name(&self, directory: &Path) -> Vec<FileEntry> {
        let mut all = self.stated(directory);
        for file in &mut all {
            file.path = directory.join(file.path.file_name().unwrap_or_default());
        }
        all
    }

    /// Returns the cause for the first file that does not exist with its stated size.
    pub fn missing(&self, root: &Path) -> Result<Option<String>> {
        for (key, path) in &self.paths {
            let expected = self.bytes.get(key).copied().unwrap_or(0);
            let Some(file) = files::below(root, Path::new(path)) else {
                return Ok(Some(format!("{path} is not below the root")));
            };
            let entry = FileEntry { path: file, bytes: expected, sha256: None };
            match entry.size_difference()? {
                None => {}
                Some(Difference::Bytes(found)) => {
                    let found = exactly(found, "byte");
                    return Ok(Some(format!("{path} has {found}, not {expected}")));
                }
                Some(_) => return Ok(Some(format!("{path} is missing"))),
            }
        }
        Ok(None)
    }
}

impl KdPart {
    pub fn read(path: &Path) -> Result<KdPart> {
        let part: KdPart = json_file::read(path).map_err(|error| match error.kind() {
            Kind::Data => Error::data(format!("no part manifest: {}", error.cause())).at(path),
            _ => error,
        })?;
        match part.other_schema().or_else(|| part.misnamed(path)).or_else(|| part.foreign_file()) {
            Some(cause) => Err(Error::data(cause).at(path)),
            None => Ok(part),
        }
    }

    /// Returns the cause if the name of the file at `path` belongs to another part.
    pub fn misnamed(&self, path: &Path) -> Option<String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(".part.json").or_else(|| name.strip_suffix(".json"));
        (stem != Some(&*self.name)).then(|| format!("is the manifest of the part {:?}", self.name))
    }

    /// Returns the cause if one of its files belongs to another part.
    pub fn foreign_file(&self) -> Option<String> {
        let is_own = |key: &str, file: &str| {
            if key == super::IDS {
                file == format!("{}.parquet", self.name)
                    || file == format!("{}_ids.parquet", self.name)
            } else {
                file.strip_prefix(&*self.name).is_some_and(is_member)
            }
        };
        let paths = self.splits.values().flat_map(|split| &split.files.paths);
        let foreign = paths.into_iter().find(|(key, path)| {
            let file = Path::new(path).file_name().unwrap_or_default();
            !is_own(key, &file.to_string_lossy())
        });
        foreign.map(|(_, path)| format!("names {path}, which is not a file of {:?}", self.name))
    }

    /// Returns the cause if the schema is not the known one.
    pub fn other_schema(&self) -> Option<String> {
        json_file::other_schema(&self.schema_version, PART_SCHEMA)
    }

    /// Returns the record counts of one of its splits. Rejected and skipped records are in no split: they
    /// count with `train`, or with `valid` if that has all rows. So the counts of the splits add up to
    /// those of the part, and the counts of both concatenations add up to those of all parts.
    pub fn records_of(&self, split: &str) -> RecordCounts {
        let rows = |name: &str| self.splits.get(name).map_or(0, |split| split.rows);
        let [train, valid] = SPLITS;
        let has_others = match split {
            _ if split == train => rows(train) > 0 || rows(valid) == 0,
            _ if split == valid => rows(train) == 0 && rows(valid) > 0,
            _ => true,
        };
        let written = rows(split);
        let dropped =
            if has_others { self.records.counts().dropped() } else { DroppedRecords::default() };
        RecordCounts::written(written, Counts::new(written, dropped))
    }

    /// Writes the manifest to a file that is complete but not published.
    pub fn pending(&self, path: &Path) -> Result<PendingFile> {
        json_file::pending(path, self)
    }
}

/// Whether a dataset's file may have this rest of a name after the prefix.
fn is_member(rest: &str) -> bool {
    let layouts = [PrefixLayout::Triple, PrefixLayout::Single];
    let mut members = layouts.iter().flat_map(|layout| layout.members());
    members.any(|(suffix, ..)| {
        rest.strip_prefix(suffix).is_some_and(|ending| [".bin", ".idx"].contains(&ending))
    })
}

/// Whether two values are equal, as far as both are known.
pub fn agree_if_known<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
    a.as_ref().zip(b.as_ref()).is_none_or(|(a, b)| a == b)
}

/// Whether the configs of two parts agree; parts without masks have no config.
pub fn configs_agree(a: &KdPart, b: &KdPart) -> bool {
    match (&a.config, &b.config) {
        (Some(of_a), Some(of_b)) => {
            !of_a.contradicts(of_b) && agree_if_known(&a.config_hash, &b.config_hash)
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Returns the part with which the others are compared: the first whose values are all known, or
/// else the first.
pub fn best_known<'a>(mut parts: impl Iterator<Item = &'a KdPart> + Clone) -> Option<&'a KdPart> {
    let is_known = |part: &&KdPart| part.config.as_ref().is_some_and(KdConfig::is_known);
    parts.clone().find(is_known).or_else(|| parts.next())
}

/// Returns the first property that two manifests do not share.
pub(super) fn first_difference(same: &[(&'static str, bool)]) -> Option<&'static str> {
    same.iter().find(|(_, same)| !same).map(|(what, _)| *what)
}

/// Returns the path of the part manifest of a prefix outside a root.
pub fn manifest_beside(prefix: &Path) -> PathBuf {
    with_suffix(prefix, ".part.json")
}

/// Returns the path of the part manifest of a root's shard.
pub fn manifest_in_root(root: &Path, name: &str) -> PathBuf {
    root.join("parts").join(format!("{name}.json"))
}

/// Finds the manifest of a prefix, beside the prefix or in the `parts` of its root, and which of
/// its splits the prefix is.
pub fn find_manifest(prefix: &Path) -> Result<Option<(PathBuf, String)>> {
    let beside = manifest_beside(prefix);
    if files::is_member(&beside)? {
        return Ok(Some((beside, ALL.to_string())));
    }
    let Some(PlaceInRoot { root, split, name }) = PlaceInRoot::of(prefix)? else { return Ok(None) };
    let in_root = manifest_in_root(&root, &name);
    Ok(files::is_member(&in_root)?.then(|| (in_root, split.to_string())))
}

/// Returns the paths at which the manifest of a prefix may be.
pub fn manifests_of(prefix: &Path) -> Result<Vec<PathBuf>> {
    let in_root = PlaceInRoot::of(prefix)?.map(|place| manifest_in_root(&place.root, &place.name));
    Ok([manifest_beside(prefix)].into_iter().chain(in_root).collect())
}
