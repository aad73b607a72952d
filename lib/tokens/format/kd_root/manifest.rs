//! The root's manifest: made from the part manifests alone, written last of all.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::part::{
    KdConfig, KdFiles, KdPart, KdSplit, SourceLimits, agree_if_known, best_known, configs_agree,
    first_difference,
};
use super::{ALL, KdListing, MANIFEST, ROOT_SCHEMA, SPLITS};
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::whole::understood;
use crate::format::{RecordCounts, json_file};
use crate::provenance::{BuildRun, InputManifest, git_sha};
use crate::publish::{TargetLock, manifest_of, publish_file_locked, refuse_half_published};
use crate::wording::exactly;

/// The cause for a shard that is not one of the expected ones.
pub(super) const UNEXPECTED: &str = "is not one of the shards expected";

/// `ROOT/manifest.json`. Fields with a default are not in the manifests of published builders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KdRootManifest {
    pub schema_version: String,
    pub git_sha: Option<String>,
    pub config: KdConfig,
    /// `None` if a part of the config is unknown.
    #[serde(deserialize_with = "json_file::stated")]
    pub config_hash: Option<String>,
    pub input: KdRootInput,
    #[serde(default)]
    pub renderer: KdRenderer,
    /// The type, path, hash and padded size of the vocabulary.
    pub tokenizer: Value,
    /// The files in `ROOT/tokenizer/`, by their names there; absent if it keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_files: Option<KdFiles>,
    #[serde(default)]
    pub limits: SourceLimits,
    /// `None` in the manifests of published builders, which do not count supervised tokens either.
    #[serde(default)]
    pub records: Option<RecordCounts>,
    /// The splits by name.
    pub splits: BTreeMap<String, KdRootSplit>,
    #[serde(default)]
    pub provenance: Vec<KdChain>,
    #[serde(default)]
    pub run: BuildRun,
}

/// The inputs of all parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KdRootInput {
    pub dataset_dir: Option<String>,
    pub manifest_path: Option<String>,
    pub manifest_sha256: Option<String>,
    pub glob: Option<String>,
    /// Files as the sources of the parts state them, each once; `None` if the files of a part are
    /// not known.
    #[serde(default)]
    pub files: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KdRenderer {
    pub library: String,
    pub version: String,
    pub auto_drop_analysis: bool,
    pub roles_preserved: Option<Vec<String>>,
}

/// A split of the root: the sum of its shards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KdRootSplit {
    pub rows: u64,
    pub tokens: u64,
    /// Supervised tokens by span id ("1" analysis, "2" final).
    #[serde(default)]
    pub supervised_tokens: BTreeMap<String, u64>,
    pub shards: Vec<KdShard>,
}

/// One shard of a split of the root.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KdShard {
    pub name: String,
    pub rows: u64,
    pub tokens: u64,
    #[serde(flatten)]
    pub files: KdFiles,
}

/// The filters that made a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KdChain {
    pub part: String,
    pub filters: Vec<Value>,
}

/// What the command line states about the whole dataset; the parts do not have it.
#[derive(Debug, Default)]
pub struct RootSettings {
    /// The directory of the inputs as the user names it.
    pub dataset_dir: Option<PathBuf>,
    pub glob: Option<String>,
    /// The limit of the whole build; the limits of parts are shares of it.
    pub rows: Option<u64>,
    /// The limit of each shard.
    pub rows_per_shard: Option<u64>,
    pub tokens: Option<u64>,
    /// The shards that must exist; if empty, any.
    pub shards: Vec<String>,
}

/// A part, and the path of its manifest.
pub(super) struct FoundPart {
    pub path: PathBuf,
    pub part: KdPart,
}

impl KdRootManifest {
    /// Collects the parts of a root, and compares them with one another and with the disk (names
    /// and sizes; ds-check compares the bytes).
    pub fn collect(root: &Path, settings: &RootSettings, run: BuildRun) -> Result<KdRootManifest> {
        let parts = find_parts(root)?;
        let Some(first) = parts.first() else {
            let error = Error::usage("no part manifest in parts/");
            return Err(error.at(root).hint("mmidx-write --root"));
        };
        check_complete(root, settings, &parts)?;
        check_claims(root, &parts)?;
        let best = best_known(parts.iter().map(|found| &found.part)).unwrap_or(&first.part);
        let first = parts.iter().find(|found| std::ptr::eq(&found.part, best)).unwrap_or(first);
        let source = &first.part.source;
        let Some(config) = KdConfig::of_all(parts.iter().map(|found| &found.part)) else {
            return Err(Error::data("tokens without masks").at(first.path.as_path()));
        };
        parts.iter().try_for_each(|found| check_same(found, first))?;
        // Without a plan, a limit that all parts share is the limit of each shard; the limit of a single
        // part is the limit of the whole build.
        let shared = common(&parts, |limits| limits.rows);
        let (rows, rows_per_shard) = match (settings.rows, settings.rows_per_shard) {
            (None, None) if parts.len() == 1 => (shared, None),
            (None, None) => (None, shared),
            stated => stated,
        };
        let limits = SourceLimits {
            rows,
            rows_per_shard,
            tokens: settings.tokens.or(common(&parts, |limits| limits.tokens)),
            slice: common(&parts, |limits| limits.slice.clone()),
            shard: None,
        };
        let renderer = KdRenderer {
            library: "gristmill".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            auto_drop_analysis: false,
            roles_preserved: config.roles_preserved.clone(),
        };
        let records = RecordCounts::sum(parts.iter().map(|found| found.part.records.clone()));
        let overflow = || Error::data("the records of its parts are more than 2^64").at(root);
        Ok(KdRootManifest {
            schema_version: ROOT_SCHEMA.to_string(),
            git_sha: git_sha(),
            config_hash: config.known_sha256()?,
            config,
            input: input(settings, source.manifest.as_ref(), &parts),
            renderer,
            tokenizer_files: stated_tokenizer_files(root, &parts)?,
            tokenizer: source.tokenizer.clone().unwrap_or(Value::Null),
            limits,
            records: Some(records.ok_or_else(overflow)?),
            splits: splits(root, &parts)?,
            provenance: chains(&parts),
            run: of_build(run, &parts),
        })
    }

    /// Whether another builder wrote it: then its paths are relative to the directory in which that
    /// one ran.
    pub fn is_published(&self) -> bool {
        self.records.is_none()
    }

    /// Returns the cause if the schema is not the known one.
    pub fn other_schema(&self) -> Option<String> {
        json_file::other_schema(&self.schema_version, ROOT_SCHEMA)
    }

    /// Writes `ROOT/manifest.json`; `lock` is the lock under which the parts were collected.
    pub fn publish(&self, root: &Path, lock: &TargetLock) -> Result<()> {
        let path = root.join(MANIFEST);
        publish_file_locked(json_file::pending(&path, self)?, lock)
    }

    /// Returns a warning if no row went to valid although half a row or more was to be expected.
    pub fn nothing_in_valid(&self) -> Option<String> {
        let rows = |split: &str| self.splits.get(split).map_or(0, |split| split.rows);
        let fraction = self.config.valid_fraction?;
        let is_odd = rows("valid") == 0 && fraction * rows("train") as f64 >= 0.5;
        let all = rows("train");
        is_odd.then(|| {
            format!(
                "valid has no rows: none of {all} is in its share of {fraction}",
                all = exactly(all, "id")
            )
        })
    }

    /// Returns rows, tokens and supervised tokens of each split, one line each.
    pub fn summary(&self) -> String {
        let line = |(name, split): (&String, &KdRootSplit)| {
            let of = |span: &str| split.supervised_tokens.get(span).copied().unwrap_or(0);
            let others = split
                .supervised_tokens
                .iter()
                .filter(|(span, count)| **count > 0 && !["1", "2"].contains(&span.as_str()));
            let others: String =
                others.map(|(span, count)| format!(", {count} in span {span}")).collect();
            format!(
                "{name:5} {}, {}, {} in analysis, {} in final{others}\n",
                exactly(split.rows, "row"),
                exactly(split.tokens, "token"),
                of("1"),
                of("2")
            )
        };
        self.splits.iter().map(line).collect()
    }
}

impl KdRootSplit {
    /// Adds a split; `None` where a sum does not fit its number.
    fn add(&mut self, name: &str, split: &KdSplit) -> Option<()> {
        self.rows = self.rows.checked_add(split.rows)?;
        self.tokens = self.tokens.checked_add(split.tokens)?;
        for (span, count) in &split.supervised_tokens {
            let sum = self.supervised_tokens.entry(span.clone()).or_default();
            *sum = sum.checked_add(*count)?;
        }
        if split.rows > 0 {
            let KdSplit { rows, tokens, files, .. } = split.clone();
            self.shards.push(KdShard { name: name.to_string(), rows, tokens, files });
        }
        Some(())
    }
}

/// Whether a `manifest.json` is the manifest of a root.
pub(super) fn is_root_manifest(path: &Path) -> Result<bool> {
    let manifest: Option<Value> =
        understood(json_file::if_there(path, json_file::read_all))?.flatten();
    let schema = manifest.as_ref().and_then(|manifest| manifest.get("schema_version"));
    Ok(schema.is_some_and(|schema| schema == ROOT_SCHEMA))
}

/// Returns the part manifests of a root, by name, of shards and of concatenations.
pub(super) fn find_parts(root: &Path) -> Result<Vec<FoundPart>> {
    let mut parts = Vec::new();
    for (directory, suffix, split) in [
        ("parts", ".json", None),
        ("train", ".part.json", Some("train")),
        ("valid", ".part.json", Some("valid")),
    ] {
        let directory = root.join(directory);
        let is_part = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            name.ends_with(suffix.as_bytes()) && !name.starts_with(b".")
        };
        let paths = files::paths_if_there(&directory)?;
        for manifest in paths.iter().filter_map(|path| manifest_of(path)) {
            refuse_half_published(&manifest)?;
        }
        for path in paths.into_iter().filter(is_part) {
            let mut part = KdPart::read(&path)?;
            // A concatenation has one split; its paths are relative to its own directory.
            if let Some(split) = split
                && let Some(mut all) = part.splits.remove(ALL)
            {
                all.files.paths.values_mut().for_each(|path| *path = format!("{split}/{path}"));
                part.splits.insert(split.to_string(), all);
            }
            parts.push(FoundPart { path, part });
        }
    }
    Ok(parts)
}

/// Checks that the parts are exactly the expected ones.
fn check_complete(root: &Path, settings: &RootSettings, parts: &[FoundPart]) -> Result<()> {
    let expected = &settings.shards;
    if expected.is_empty() {
        return Ok(());
    }
    let named: HashSet<&str> = parts.iter().map(|found| &*found.part.name).collect();
    if let Some(missing) = expected.iter().find(|name| !named.contains(name.as_str())) {
        return Err(Error::data(format!("the part {missing} is missing")).at(root));
    }
    let expected: HashSet<&str> = expected.iter().map(String::as_str).collect();
    match parts.iter().find(|found| !expected.contains(&*found.part.name)) {
        Some(other) => {
            Err(Error::data(UNEXPECTED).at(other.path.as_path()).hint("another root, or remove it"))
        }
        None => Ok(()),
    }
}

/// Checks that each dataset of the root belongs to one part.
fn check_claims(root: &Path, parts: &[FoundPart]) -> Result<()> {
    let mut claimed = HashSet::new();
    for FoundPart { path, part } in parts {
        for (split, _) in part.splits.iter().filter(|(_, split)| split.rows > 0) {
            if !claimed.insert(root.join(split).join(&part.name)) {
                let cause = format!("another part has {split}/{} too", part.name);
                return Err(Error::data(cause).at(path.as_path()));
            }
        }
    }
    let Some(listing) = KdListing::of(root)? else { return Ok(()) };
    listing.refuse_stray()?;
    listing.refuse_unknown(&claimed, "no part manifest names it")
}

/// Checks that a part was made in the same way as the first.
fn check_same(found: &FoundPart, first: &FoundPart) -> Result<()> {
    let (part, other) = (&found.part, &first.part);
    let difference = first_difference(&[
        ("config", configs_agree(part, other)),
        ("kept tokenizer", agree_if_known(&part.tokenizer_files, &other.tokenizer_files)),
        ("input manifest", part.source.manifest_sha256() == other.source.manifest_sha256()),
    ]);
    match part.source.difference(&other.source).or(difference) {
        Some(what) => {
            let cause = format!("its {what} is not that of {}", shown(&first.path));
            Err(Error::data(cause).at(found.path.as_path()))
        }
        None => Ok(()),
    }
}

/// Returns the files of the tokenizer that the parts state, which must be there.
fn stated_tokenizer_files(root: &Path, parts: &[FoundPart]) -> Result<Option<KdFiles>> {
    let stated = parts.iter().find_map(|found| Some((found, found.part.tokenizer_files.clone()?)));
    let Some((FoundPart { path, .. }, files)) = stated else { return Ok(None) };
    match files.missing(root)? {
        Some(cause) => Err(Error::data(cause).at(path.as_path())),
        None => Ok(Some(files)),
    }
}

/// Returns both splits, with the shards whose files exist as their manifests state.
fn splits(root: &Path, parts: &[FoundPart]) -> Result<BTreeMap<String, KdRootSplit>> {
    let mut splits: BTreeMap<String, KdRootSplit> =
        SPLITS.map(|name| (name.to_string(), KdRootSplit::default())).into();
    for FoundPart { path, part } in parts {
        for (name, split) in &part.splits {
            let sums = splits.get_mut(name).ok_or_else(|| format!("has a split {name:?}"));
            let missing = split.files.missing(root)?;
            let added = sums.and_then(|sums| {
                if let Some(cause) = missing {
                    return Err(cause);
                }
                sums.add(&part.name, split)
                    .ok_or_else(|| format!("with it {name} has more than 2^64 rows or tokens"))
            });
            added.map_err(|cause| Error::data(cause).at(path.as_path()))?;
        }
    }
    Ok(splits)
}

fn input(
    settings: &RootSettings,
    manifest: Option<&InputManifest>,
    parts: &[FoundPart],
) -> KdRootInput {
    KdRootInput {
        dataset_dir: settings.dataset_dir.as_deref().map(shown),
        manifest_path: manifest.map(|manifest| manifest.path.clone()),
        manifest_sha256: manifest.map(|manifest| manifest.sha256.clone()),
        glob: settings.glob.clone(),
        files: union_of_known(parts.iter().map(|found| &found.part.source.inputs)),
    }
}

/// Returns the run of a whole build: its time is the time of the parts and of this step together.
fn of_build(run: BuildRun, parts: &[FoundPart]) -> BuildRun {
    let seconds: f64 = parts.iter().map(|found| found.part.run.seconds).sum();
    BuildRun { seconds: ((run.seconds + seconds) * 1000.0).round() / 1000.0, ..run }
}

/// Returns the values of all lists, each once, in the order in which they come.
pub(super) fn union<'a, T: Clone + Eq + Hash + 'a>(
    lists: impl Iterator<Item = &'a Vec<T>>,
) -> Vec<T> {
    let mut seen = HashSet::new();
    lists.flatten().filter(|value| seen.insert(*value)).cloned().collect()
}

/// Returns the values of all lists, each once ([`union`]); `None` if one of the lists is unknown.
pub(super) fn union_of_known<'a, T: Clone + Eq + Hash + 'a>(
    lists: impl Iterator<Item = &'a Option<Vec<T>>>,
) -> Option<Vec<T>> {
    let lists: Option<Vec<&Vec<T>>> = lists.map(Option::as_ref).collect();
    lists.map(|lists| union(lists.into_iter()))
}

/// Returns a limit that all parts share.
fn common<T: PartialEq>(
    parts: &[FoundPart],
    limit: impl Fn(&SourceLimits) -> Option<T>,
) -> Option<T> {
    let mut limits = parts.iter().map(|found| limit(&found.part.source.limits));
    let first = limits.next()??;
    limits.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Returns the provenance chain of each part.
fn chains(parts: &[FoundPart]) -> Vec<KdChain> {
    let chain = |FoundPart { part, .. }: &FoundPart| KdChain {
        part: part.name.clone(),
        filters: part.provenance.clone(),
    };
    parts.iter().map(chain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Makes a part with one split without files.
    fn part(name: &str, rows: u64) -> FoundPart {
        let split = json!({
            "rows": rows, "tokens": rows, "supervised_tokens": {"1": rows},
            "paths": {}, "bytes": {}, "sha256": {},
        });
        let part = json!({
            "schema_version": "gristmill_part_v1", "name": name, "dtype": "int32",
            "config": null, "config_hash": null,
            "source": {
                "inputs": [], "manifest": null, "policy": null, "limits": {},
                "tokenizer": null, "spans": null,
            },
            "records": {"read": rows, "written": rows, "rejected": 0},
            "splits": {"train": split}, "provenance": [],
            "run": {"created_unix_s": 0, "host": "", "seconds": 0.0},
        });
        let part = serde_json::from_value(part).unwrap();
        FoundPart { path: PathBuf::from(format!("{name}.json")), part }
    }

    #[test]
    fn sums_that_no_number_holds_name_the_part() {
        let root = Path::new("root");
        let sums = splits(root, &[part("a", u64::MAX - 1), part("b", 1)]).unwrap();
        let KdRootSplit { rows, tokens, supervised_tokens, shards } = &sums["train"];
        assert_eq!((*rows, *tokens, supervised_tokens["1"]), (u64::MAX, u64::MAX, u64::MAX));
        assert_eq!((shards.len(), sums["valid"].shards.len()), (2, 0));
        let error = splits(root, &[part("a", u64::MAX), part("b", 1)]).unwrap_err();
        assert_eq!(error.to_string(), "b.json: with it train has more than 2^64 rows or tokens");
        assert_eq!(
            RecordCounts::sum([u64::MAX, 1].map(|n| part("a", n).part.records).into_iter()),
            None
        );
    }
}
