//! The root's manifest: made from the part manifests alone, written last of all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::part::{Config, Limits, Part, Run, Split, pending_json};
use super::{ALL, MANIFEST, ROOT_SCHEMA, SPLITS};
use crate::cli::{Error, Result, publish, shown};

/// `ROOT/manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RootManifest {
    schema_version: &'static str,
    git_sha: Option<String>,
    config: Config,
    config_hash: String,
    input: Value,
    renderer: Value,
    tokenizer: Value,
    limits: Limits,
    records: Value,
    splits: BTreeMap<&'static str, RootSplit>,
    provenance: Vec<Value>,
    run: Run,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct RootSplit {
    rows: u64,
    tokens: u64,
    supervised_tokens: BTreeMap<String, u64>,
    shards: Vec<Value>,
}

/// What the command line says of the whole, which no part knows.
#[derive(Debug, Default)]
pub struct Whole {
    /// Directory of the inputs, as the user names it.
    pub dataset_dir: Option<PathBuf>,
    pub glob: Option<String>,
    /// Limits of the whole build; those of the parts are shares of it.
    pub rows: Option<u64>,
    pub tokens: Option<u64>,
    /// The shards that must be there; empty: whichever are.
    pub shards: Vec<String>,
}

/// A part and where its manifest stands.
struct Found {
    path: PathBuf,
    part: Part,
}

impl RootManifest {
    /// Collects the parts of a root and checks them against one another and against the disk
    /// (names and sizes; the bytes themselves are ds-check's business).
    pub fn collect(root: &Path, whole: &Whole, run: Run) -> Result<RootManifest> {
        let parts = find_parts(root)?;
        let Some(first) = parts.first() else {
            return Err(Error::usage(format!(
                "{}: no part manifest in parts/; try: mmidx-write --root",
                shown(root)
            )));
        };
        check_complete(root, whole, &parts)?;
        let (Some(config), Some(config_hash)) =
            (first.part.config.clone(), first.part.config_hash.clone())
        else {
            return Err(Error::data(format!("{}: tokens without masks", shown(&first.path))));
        };
        for Found { path, part } in &parts {
            let same = [
                ("config", part.config_hash == first.part.config_hash),
                ("policy", part.source.policy == first.part.source.policy),
                ("tokenizer", part.source.tokenizer == first.part.source.tokenizer),
                ("input manifest", manifest_hash(part) == manifest_hash(&first.part)),
            ];
            if let Some((what, _)) = same.iter().find(|(_, same)| !same) {
                return Err(Error::data(format!(
                    "{}: its {what} is not that of {}",
                    shown(path),
                    shown(&first.path)
                )));
            }
        }
        let mut splits: BTreeMap<&'static str, RootSplit> = BTreeMap::new();
        let mut records = (0, 0, 0);
        for Found { path, part } in &parts {
            let counts = part.records;
            records =
                (records.0 + counts.read, records.1 + counts.written, records.2 + counts.rejected);
            for (name, split) in &part.splits {
                let Some(split_name) = SPLITS.into_iter().find(|known| known == name) else {
                    return Err(Error::data(format!("{}: has a split {name:?}", shown(path))));
                };
                if let Some(cause) = split.missing(root) {
                    return Err(Error::data(format!("{}: {cause}", shown(path))));
                }
                splits.entry(split_name).or_default().add(&part.name, split);
            }
        }
        for name in SPLITS {
            splits.entry(name).or_default();
        }
        let source = &first.part.source;
        Ok(RootManifest {
            schema_version: ROOT_SCHEMA,
            git_sha: super::git_sha(),
            input: input(whole, source.manifest.as_ref(), &parts),
            renderer: json!({
                "library": "gristmill",
                "version": env!("CARGO_PKG_VERSION"),
                "auto_drop_analysis": false,
                "roles_preserved": config.roles_preserved,
            }),
            tokenizer: source.tokenizer.clone().unwrap_or(Value::Null),
            limits: Limits {
                rows: whole.rows.or(common(&parts, |limits| limits.rows)),
                tokens: whole.tokens.or(common(&parts, |limits| limits.tokens)),
                slice: common(&parts, |limits| limits.slice.clone()),
            },
            records: json!({"read": records.0, "written": records.1, "rejected": records.2}),
            splits,
            provenance: chains(&parts),
            config,
            config_hash,
            run,
        })
    }

    /// Writes `ROOT/manifest.json`.
    pub fn publish(&self, root: &Path) -> Result<()> {
        publish(vec![pending_json(&root.join(MANIFEST), self)?])
    }

    /// Rows, tokens and supervised tokens of each split, one line each.
    pub fn summary(&self) -> String {
        let line = |(name, split): (&&str, &RootSplit)| {
            let of = |span: &str| split.supervised_tokens.get(span).copied().unwrap_or(0);
            format!(
                "{name:5} {} rows, {} tokens, {} in analysis, {} in final\n",
                split.rows,
                split.tokens,
                of("1"),
                of("2")
            )
        };
        self.splits.iter().map(line).collect()
    }
}

impl RootSplit {
    fn add(&mut self, name: &str, split: &Split) {
        self.rows += split.rows;
        self.tokens += split.tokens;
        for (span, count) in &split.supervised_tokens {
            *self.supervised_tokens.entry(span.clone()).or_default() += count;
        }
        if split.rows > 0 {
            self.shards.push(json!({
                "name": name,
                "rows": split.rows,
                "tokens": split.tokens,
                "paths": split.paths,
                "bytes": split.bytes,
                "sha256": split.sha256,
            }));
        }
    }
}

/// The part manifests of a root, by name: those of shards, and those of concatenations.
fn find_parts(root: &Path) -> Result<Vec<Found>> {
    let mut parts = Vec::new();
    for (directory, suffix, split) in [
        ("parts", ".json", None),
        ("train", ".part.json", Some("train")),
        ("valid", ".part.json", Some("valid")),
    ] {
        let directory = root.join(directory);
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(suffix) && !name.starts_with('.'))
            .collect();
        names.sort();
        for name in names {
            let path = directory.join(name);
            let mut part = Part::read(&path)?;
            if let Some(split) = split {
                // A concatenation is of one split; its paths are relative to its own directory.
                if let Some(mut all) = part.splits.remove(ALL) {
                    for path in all.paths.values_mut() {
                        *path = format!("{split}/{path}");
                    }
                    part.splits.insert(split.to_string(), all);
                }
            }
            parts.push(Found { path, part });
        }
    }
    Ok(parts)
}

/// The parts are exactly those expected.
fn check_complete(root: &Path, whole: &Whole, parts: &[Found]) -> Result<()> {
    if whole.shards.is_empty() {
        return Ok(());
    }
    let named = |name: &str| parts.iter().any(|found| found.part.name == name);
    if let Some(missing) = whole.shards.iter().find(|name| !named(name)) {
        return Err(Error::data(format!("{}: the part {missing} is missing", shown(root))));
    }
    match parts.iter().find(|found| !whole.shards.contains(&found.part.name)) {
        Some(other) => Err(Error::data(format!(
            "{}: is none of the shards expected; try: another root, or take it away",
            shown(&other.path)
        ))),
        None => Ok(()),
    }
}

fn manifest_hash(part: &Part) -> Option<&Value> {
    part.source.manifest.as_ref().and_then(|manifest| manifest.get("sha256"))
}

fn input(whole: &Whole, manifest: Option<&Value>, parts: &[Found]) -> Value {
    let of = |key: &str| manifest.and_then(|m| m.get(key)).cloned().unwrap_or(Value::Null);
    let mut inputs: Vec<Value> = Vec::new();
    for input in parts.iter().flat_map(|found| &found.part.source.inputs) {
        if !inputs.contains(input) {
            inputs.push(input.clone());
        }
    }
    let mut object = Map::new();
    let dataset_dir = whole.dataset_dir.as_deref().map(shown);
    object.insert("dataset_dir".into(), json!(dataset_dir));
    object.insert("manifest_path".into(), of("path"));
    object.insert("manifest_sha256".into(), of("sha256"));
    object.insert("glob".into(), json!(whole.glob));
    object.insert("files".into(), Value::Array(inputs));
    Value::Object(object)
}

/// A limit that all parts share.
fn common<T: PartialEq>(parts: &[Found], limit: impl Fn(&Limits) -> Option<T>) -> Option<T> {
    let mut limits = parts.iter().map(|found| limit(&found.part.source.limits));
    let first = limits.next()??;
    limits.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// The chain of the filters, one for each different one among the parts.
fn chains(parts: &[Found]) -> Vec<Value> {
    let mut chains: Vec<Value> = Vec::new();
    for found in parts {
        let chain = json!({"part": found.part.name, "filters": found.part.provenance});
        if !chains.contains(&chain) {
            chains.push(chain);
        }
    }
    chains
}
