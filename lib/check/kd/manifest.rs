//! What manifests say of a dataset against what is there: names, sizes, hashes, counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::sequences::Rules;
use super::{Place, Prefix};
use crate::check::inventory::{self, Claimed};
use crate::check::{At, Check, Context, Findings, from_json};
use crate::cli::{Error, Result, shown};
use crate::format::hex;
use crate::format::kd_root::{
    ALL, Config, MANIFEST, PART_SCHEMA, Part, ROOT_SCHEMA, Records, find_manifest, manifest_beside,
};
use crate::harmony::{Alignment, Policy, Spans};
use crate::tokenizer::{PADDED_VOCABULARY_SIZE, VOCABULARY_SHA256};

static FORM: Check = Check::error(
    "kd.manifest.form",
    "a manifest that cannot be read: nobody can say what the dataset was made of",
)
.structure();
static FOREIGN: Check = Check::warning(
    "kd.manifest.foreign",
    "a manifest.json of another program: nothing in it is compared",
)
.structure();
static FILE: Check = Check::error(
    "kd.manifest.file",
    "a file that the manifest names is not there: a part of the dataset was lost",
)
.structure();
static BYTES: Check = Check::error(
    "kd.manifest.bytes",
    "a file has another size than the manifest says: it was cut, or written again",
)
.structure();
static SHA256: Check = Check::error(
    "kd.manifest.sha256",
    "a file has another sha256 than the manifest says: a byte of it was changed",
);
static COUNTS: Check = Check::error(
    "kd.manifest.counts",
    "rows, tokens or supervised tokens are not what the manifest says",
)
.structure();
static SURPLUS: Check = Check::error(
    "kd.manifest.surplus",
    "a dataset that no manifest names: it may be unfinished, or of another run",
)
.structure()
.hint("a shard counts once its part manifest stands; take it away, or write it again");
static CONFIG: Check = Check::error(
    "kd.manifest.config",
    "config_hash is not the hash of the config, or the tokenizer is not the one of the config",
)
.structure();
static PARTS: Check = Check::error(
    "kd.manifest.parts",
    "manifest.json and the part manifests contradict one another",
)
.structure()
.hint("make manifest.json again from the parts; try: ds-manifest");
static INPUT: Check = Check::error(
    "kd.manifest.input",
    "the dataset was made from another input than the manifest given by --input-manifest",
)
.structure();

pub(super) static CHECKS: &[&Check] =
    &[&FORM, &FOREIGN, &FILE, &BYTES, &SHA256, &COUNTS, &SURPLUS, &CONFIG, &PARTS, &INPUT];

/// `manifest.json`, as far as it is compared.
#[derive(Debug, Deserialize)]
struct Root {
    schema_version: String,
    config: Config,
    config_hash: String,
    input: RootInput,
    tokenizer: Value,
    records: Records,
    splits: BTreeMap<String, RootSplit>,
    #[serde(default)]
    provenance: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct RootInput {
    manifest_sha256: Option<String>,
    #[serde(default)]
    files: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct RootSplit {
    rows: u64,
    tokens: u64,
    supervised_tokens: BTreeMap<String, u64>,
    shards: Vec<Shard>,
}

#[derive(Debug, Deserialize)]
struct Shard {
    name: String,
    rows: u64,
    tokens: u64,
    paths: BTreeMap<String, String>,
    bytes: BTreeMap<String, u64>,
    sha256: BTreeMap<String, String>,
}

/// What one manifest says of the shard of a split.
#[derive(Debug)]
struct Claim {
    manifest: PathBuf,
    /// The shard's prefix.
    prefix: PathBuf,
    rows: u64,
    tokens: u64,
    /// Of the tokens; a root's manifest has none.
    dtype: Option<String>,
    /// By span id; a root's manifest has them for whole splits only.
    supervised: Option<BTreeMap<String, u64>>,
    files: Vec<Claimed>,
}

/// The manifests of a dataset.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    claims: Vec<Claim>,
    root: Option<(PathBuf, Root)>,
    parts: Vec<(PathBuf, Part)>,
    /// Whether there are manifests at all (not, whether they can be read).
    pub any: bool,
    /// Whether one of them cannot be read: then it is not known what they leave out.
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
    pub fn read(place: &Place, findings: &mut Findings<'_>) -> Result<Manifests> {
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
            let found = match (beside.is_file(), place.is_root || place.prefixes.len() > 1) {
                (true, _) => Some((beside, ALL.to_string())),
                (false, true) => None,
                (false, false) => find_manifest(&prefix.path),
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
        if !path.is_file() {
            return Ok(());
        }
        let root: Root = match parsed(&path)? {
            Ok(root) => root,
            Err(cause) if inventory::is_foreign(&path, &["gristmill", "config_hash"])? => {
                findings.add(&FOREIGN, At::file(&path), || cause);
                return Ok(());
            }
            Err(cause) => {
                self.any = true;
                self.unread = true;
                findings.add(&FORM, At::file(&path), || cause);
                return Ok(());
            }
        };
        self.any = true;
        if root.schema_version != ROOT_SCHEMA {
            let version = &root.schema_version;
            findings.add(&FORM, At::file(&path), || format!("is {version:?}, not {ROOT_SCHEMA:?}"));
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
                    files: claimed(base, &shard.paths, &shard.bytes, &shard.sha256),
                });
            }
        }
        self.root = Some((path, root));
        Ok(())
    }

    /// A part manifest; of all its splits, or of the one named.
    fn read_part(
        &mut self,
        path: &Path,
        base: &Path,
        only: Option<&str>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        self.any = true;
        let part: Part = match parsed(path)? {
            Ok(part) => part,
            Err(cause) => {
                self.unread = true;
                findings.add(&FORM, At::file(path), || cause);
                return Ok(());
            }
        };
        if part.schema_version != PART_SCHEMA {
            let version = &part.schema_version;
            findings.add(&FORM, At::file(path), || format!("is {version:?}, not {PART_SCHEMA:?}"));
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
                files: claimed(base, &split.paths, &split.bytes, &split.sha256),
            });
        }
        self.parts.push((path.to_path_buf(), part));
        Ok(())
    }

    /// What the manifests say of how the sequences of a prefix were made; where they say no policy,
    /// it is the one that the user has said.
    pub fn rules(&self, prefix: &Path, said: Option<Policy>) -> Rules {
        let names_it = |path: &Path| {
            self.claims.iter().any(|claim| claim.prefix == prefix && claim.manifest == path)
        };
        let part = self.parts.iter().find(|(path, _)| names_it(path)).map(|(_, part)| part);
        let config = part.and_then(|part| part.config.as_ref());
        let config = config.or(self.root.as_ref().map(|(_, root)| &root.config));
        let Some(config) = config else { return Rules::assumed(said) };
        let named = part.and_then(|part| part.source.policy.as_deref()).and_then(Policy::from_name);
        let has_tools = config.roles_preserved.iter().any(|role| role == "tool");
        let policy = named.or(has_tools.then_some(Policy::Chat)).or(said);
        let contract = config.assistant_channels == ["analysis", "final"];
        let spans = match part.and_then(|part| part.source.spans.as_ref()) {
            Some(spans) => Some(Spans::from_json(spans)),
            None => contract.then(|| Spans::synth_kd_v1(&[])),
        };
        Rules { policy, spans, alignment: Alignment::Label }
    }

    /// Whether the vocabulary is the one whose tokens are known here.
    pub fn is_harmony(&self) -> bool {
        let tokenizer = |part: &Part| part.source.tokenizer.clone();
        self.parts.iter().all(|(_, part)| {
            tokenizer(part).is_some_and(|tokenizer| tokenizer["type"] == "o200k_harmony")
        })
    }

    /// The fraction of the valid split, where one is told.
    pub fn valid_fraction(&self) -> Option<f64> {
        let of_part = |(_, part): &(PathBuf, Part)| part.config.as_ref()?.valid_fraction;
        let of_root = self.root.as_ref().and_then(|(_, root)| root.config.valid_fraction);
        of_root.or_else(|| self.parts.first().and_then(of_part))
    }

    /// Compares what the manifests say with the disk, with one another, and with what was seen.
    pub fn compare(
        &self,
        seen: &[(&Prefix, Seen)],
        context: &mut Context<'_>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        self.configs(findings);
        self.input(context, findings)?;
        self.files(context, findings)?;
        for claim in &self.claims {
            let found = seen.iter().find(|(prefix, _)| prefix.path == claim.prefix);
            if let Some((_, seen)) = found {
                claim.compare(seen, findings);
            }
        }
        if self.any && !self.unread {
            for (prefix, _) in seen {
                if !self.claims.iter().any(|claim| claim.prefix == prefix.path) {
                    findings.add(&SURPLUS, At::file(&prefix.path), || {
                        "no manifest names it".to_string()
                    });
                }
            }
        }
        self.records(findings);
        self.sums(seen, findings);
        self.parts(findings);
        Ok(())
    }

    fn configs(&self, findings: &mut Findings<'_>) {
        let mut check = |path: &Path, config: &Config, hash: &str, tokenizer: &Value| {
            let fraction = config.valid_fraction.map(|fraction| fraction.to_string().parse());
            let computed = match fraction.transpose() {
                Ok(fraction) => config.sha256(fraction.as_ref()),
                Err(_) => "none: valid_fraction is not from 0 to 1".to_string(),
            };
            if computed != hash {
                findings.add(&CONFIG, At::file(path), || {
                    format!("config_hash is {hash}; that of the config is {computed}")
                });
            }
            let ours = [
                ("model_sha256", Value::from(VOCABULARY_SHA256)),
                ("vocab_size", Value::from(PADDED_VOCABULARY_SIZE)),
            ];
            for (name, expected) in ours {
                if tokenizer["type"] == "o200k_harmony" && tokenizer[name] != expected {
                    findings.add(&CONFIG, At::file(path), || {
                        format!("tokenizer.{name} is {}, not {expected}", tokenizer[name])
                    });
                }
            }
        };
        if let Some((path, root)) = &self.root {
            check(path, &root.config, &root.config_hash, &root.tokenizer);
        }
        for (path, part) in &self.parts {
            if let (Some(config), Some(hash)) = (&part.config, &part.config_hash) {
                check(path, config, hash, part.source.tokenizer.as_ref().unwrap_or(&Value::Null));
            }
        }
        for (path, part) in &self.parts {
            if part.config.is_some() != part.config_hash.is_some() {
                findings.add(&CONFIG, At::file(path), || {
                    "of config and config_hash only one is there".to_string()
                });
            }
            if let Some(cause) = part.config.as_ref().and_then(|config| contradiction(config, part))
            {
                findings.add(&CONFIG, At::file(path), || cause);
            }
        }
    }

    fn input(&self, context: &Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
        let Some(given) = &context.options.input_manifest else { return Ok(()) };
        let bytes = fs::read(given).map_err(|e| Error::io(shown(given), &e))?;
        let hash = hex(&Sha256::digest(&bytes));
        let mut told: Vec<(&Path, Option<String>)> = Vec::new();
        if let Some((path, root)) = &self.root {
            told.push((path, root.input.manifest_sha256.clone()));
        }
        for (path, part) in &self.parts {
            let sha256 = part.source.manifest.as_ref().and_then(|m| m["sha256"].as_str());
            told.push((path, sha256.map(str::to_string)));
        }
        for (path, sha256) in told.into_iter().filter(|(_, sha256)| sha256.as_ref() != Some(&hash))
        {
            let sha256 = sha256.unwrap_or_else(|| "none".to_string());
            findings.add(&INPUT, At::file(path), || {
                format!("names the input manifest {sha256}; {} has {hash}", shown(given))
            });
        }
        Ok(())
    }

    fn files(&self, context: &mut Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
        let checks = inventory::Checks { missing: &FILE, bytes: &BYTES, sha256: &SHA256 };
        let claims = self.claims.iter().flat_map(|claim| &claim.files);
        inventory::compare(claims, &checks, context, findings)
    }

    /// Whether a part is a concatenation: then what was read went to other splits too.
    fn has_concatenation(&self) -> bool {
        self.parts.iter().any(|(_, part)| part.splits.contains_key(ALL))
    }

    /// The records of each part.
    fn records(&self, findings: &mut Findings<'_>) {
        for (path, part) in &self.parts {
            let Records { read, written, rejected } = part.records;
            let rows = part.splits.values().map(|split| split.rows).sum();
            let whole = part.splits.contains_key(ALL);
            let sum = records_differ(read, written, rejected, whole);
            let sums = [("written", written, Some(rows)), ("read", read, sum)];
            for (what, told, sum) in sums {
                if let Some(sum) = sum.filter(|sum| *sum != told) {
                    findings.add(&COUNTS, At::file(path), || {
                        format!("records.{what} is {told}, not {sum}")
                    });
                }
            }
        }
    }

    /// The sums of the root's manifest.
    fn sums(&self, seen: &[(&Prefix, Seen)], findings: &mut Findings<'_>) {
        let Some((path, root)) = &self.root else { return };
        let mut causes = Vec::new();
        let mut differ = |what: String, told: u64, sum: u64| {
            if told != sum {
                causes.push(format!("{what} is {told}, not {sum}"));
            }
        };
        let mut rows = 0;
        for (name, split) in &root.splits {
            let shards = &split.shards;
            differ(format!("{name}.rows"), split.rows, shards.iter().map(|shard| shard.rows).sum());
            let tokens = shards.iter().map(|shard| shard.tokens).sum();
            differ(format!("{name}.tokens"), split.tokens, tokens);
            rows += split.rows;
        }
        differ("records.written".to_string(), root.records.written, rows);
        let Records { read, written, rejected } = root.records;
        if let Some(sum) = records_differ(read, written, rejected, self.has_concatenation()) {
            differ("records.read".to_string(), read, sum);
        }
        for (name, split) in &root.splits {
            let of_split = || seen.iter().filter(|(prefix, _)| prefix.split == Some(name.as_str()));
            if of_split().count() == split.shards.len()
                && of_split().all(|(_, s)| s.spans.is_some())
            {
                let mut spans = [0; 256];
                for found in of_split().filter_map(|(_, seen)| seen.spans.as_ref()) {
                    spans.iter_mut().zip(found).for_each(|(sum, count)| *sum += count);
                }
                let differing = spans_differ(&split.supervised_tokens, &spans);
                causes.extend(differing.into_iter().map(|cause| format!("{name}: {cause}")));
            }
        }
        for cause in causes {
            findings.add(&COUNTS, At::file(path), || cause);
        }
    }

    /// The root's manifest and those of the parts.
    fn parts(&self, findings: &mut Findings<'_>) {
        let Some((root_path, root)) = &self.root else { return };
        for (path, part) in &self.parts {
            let source = &part.source;
            let sha256 = source.manifest.as_ref().and_then(|manifest| manifest["sha256"].as_str());
            let chain = |of: &&Value| of["part"] == part.name.as_str();
            let chain = root.provenance.iter().find(chain).map(|chain| &chain["filters"]);
            let same = [
                ("config", part.config_hash.as_ref().is_none_or(|h| *h == root.config_hash)),
                ("tokenizer", source.tokenizer.as_ref().is_none_or(|t| *t == root.tokenizer)),
                ("input's manifest", sha256 == root.input.manifest_sha256.as_deref()),
                ("input", source.inputs.iter().all(|input| root.input.files.contains(input))),
                ("provenance", chain.and_then(Value::as_array) == Some(&part.provenance)),
            ];
            for (what, _) in same.iter().filter(|(_, same)| !same) {
                findings.add(&PARTS, At::file(path), || format!("its {what} is not the root's"));
            }
        }
        let inputs: usize = {
            let all = self.parts.iter().flat_map(|(_, part)| &part.source.inputs);
            all.map(Value::to_string).collect::<BTreeSet<_>>().len()
        };
        if !self.parts.is_empty() && !self.unread && root.input.files.len() > inputs {
            findings.add(&PARTS, At::file(root_path), || {
                format!("{} inputs; its parts have {inputs}", root.input.files.len())
            });
        }
        if self.unread {
            return;
        }
        let mut by_prefix: BTreeMap<&Path, Vec<&Claim>> = BTreeMap::new();
        for claim in &self.claims {
            by_prefix.entry(&claim.prefix).or_default().push(claim);
        }
        for (prefix, claims) in by_prefix {
            let of_root = claims.iter().find(|claim| claim.manifest == *root_path);
            let of_part = claims.iter().find(|claim| claim.manifest != *root_path);
            let cause = match (of_root, of_part) {
                (None, _) => Some("is not in manifest.json"),
                (_, None) if !self.parts.is_empty() => Some("has no part manifest"),
                (Some(a), Some(b)) if (a.rows, a.tokens) != (b.rows, b.tokens) => {
                    Some("has other counts in its part manifest")
                }
                (Some(a), Some(b)) if !same_files(&a.files, &b.files) => {
                    Some("has other files in its part manifest")
                }
                _ => None,
            };
            if let Some(cause) = cause {
                findings.add(&PARTS, At::file(prefix), || cause.to_string());
            }
        }
        let sum = |count: fn(&Records) -> u64| -> u64 {
            self.parts.iter().map(|(_, part)| count(&part.records)).sum()
        };
        let of_parts = Records {
            read: sum(|records| records.read),
            written: sum(|records| records.written),
            rejected: sum(|records| records.rejected),
        };
        if !self.parts.is_empty() && of_parts != root.records {
            findings.add(&PARTS, At::file(root_path), || {
                format!("its records are {:?}, those of its parts {of_parts:?}", root.records)
            });
        }
    }
}

impl Claim {
    fn compare(&self, seen: &Seen, findings: &mut Findings<'_>) {
        let at = At::file(&self.manifest);
        let name = self.prefix.file_name().unwrap_or_default().to_string_lossy();
        for (what, told, found) in
            [("rows", self.rows, seen.rows), ("tokens", self.tokens, seen.tokens)]
        {
            if told != found {
                findings.add(&COUNTS, at, || format!("{name} has {found} {what}, not {told}"));
            }
        }
        if let Some(told) = self.dtype.as_deref().filter(|told| *told != seen.dtype) {
            findings.add(&COUNTS, at, || format!("{name} holds {}, not {told}", seen.dtype));
        }
        if let (Some(told), Some(spans)) = (&self.supervised, &seen.spans) {
            for cause in spans_differ(told, spans) {
                findings.add(&COUNTS, at, || format!("{name}: {cause}"));
            }
        }
    }
}

/// Where the policy and spans of a part are not of its config.
fn contradiction(config: &Config, part: &Part) -> Option<String> {
    let policy = part.source.policy.as_deref();
    if !matches!(policy, Some("synth-kd-v1" | "chat")) {
        let policy = policy.unwrap_or("missing");
        return Some(format!("source.policy is {policy}, none that is known"));
    }
    let spans = part.source.spans.as_ref()?;
    let mut channels = config.assistant_channels.iter();
    let channel = channels.find(|channel| spans[channel.as_str()].is_null())?;
    Some(format!("source.spans has no {channel:?}, which the config supervises"))
}

/// What should have been read, where it was not.
fn records_differ(read: u64, written: u64, rejected: u64, at_least: bool) -> Option<u64> {
    let sum = written.saturating_add(rejected);
    let good = if at_least { read >= sum } else { read == sum };
    (!good).then_some(sum)
}

/// Where supervised tokens by span id are not those told.
fn spans_differ(told: &BTreeMap<String, u64>, spans: &[u64; 256]) -> Vec<String> {
    let ids = (1..=255u8).map(|id| (id.to_string(), spans[usize::from(id)]));
    let counts = ids.map(|(id, found)| (told.get(&id).copied().unwrap_or(0), found, id));
    counts
        .filter(|(told, found, _)| told != found)
        .map(|(told, found, id)| format!("{found} tokens of span {id}, not {told}"))
        .collect()
}

fn same_files(a: &[Claimed], b: &[Claimed]) -> bool {
    let sorted = |files: &[Claimed]| files.iter().cloned().collect::<BTreeSet<_>>();
    sorted(a) == sorted(b)
}

fn claimed(
    base: &Path,
    paths: &BTreeMap<String, String>,
    bytes: &BTreeMap<String, u64>,
    sha256: &BTreeMap<String, String>,
) -> Vec<Claimed> {
    let of = |(key, path): (&String, &String)| Claimed {
        path: base.join(path),
        bytes: bytes.get(key).copied().unwrap_or(0),
        sha256: sha256.get(key).cloned().unwrap_or_default(),
    };
    paths.iter().map(of).collect()
}

/// A JSON file, or why it is none of this form.
fn parsed<T: serde::de::DeserializeOwned>(path: &Path) -> Result<std::result::Result<T, String>> {
    let text = fs::read(path).map_err(|e| Error::io(shown(path), &e))?;
    Ok(from_json(&text).map_err(|error| error.to_string()))
}

/// The files of a directory whose names end so, in their order; none where there is no directory.
fn json_files(directory: &Path, suffix: &str) -> Result<Vec<PathBuf>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory).map_err(|e| Error::io(shown(directory), &e))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(suffix) && !name.starts_with('.'))
        .collect();
    names.sort();
    Ok(names.into_iter().map(|name| directory.join(name)).collect())
}
