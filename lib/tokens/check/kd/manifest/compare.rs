//! Compares manifests with the disk, with one another, and with what was read.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use super::{Claim, Manifests, SeenPrefix};
use crate::batch::manifest_sha256;
use crate::check::inventory;
use crate::check::{CheckContext, Findings, checks};
use crate::error::{Result, shown};
use crate::file_entry::FileEntry;
use crate::format::kd_root::{
    ALL, KdChain, KdConfig, KdPart, KdPrefix, KdRootSplit, agree_if_known, are_one_tokenizer,
};
use crate::format::{RecordCounts, checked_sum};
use crate::harmony::Policy;
use crate::model::o200k;
use crate::wording::exactly;

checks! {
    FILE: Error Structure "kd.manifest.file",
        "a file that the manifest names is not there: a part of the dataset was lost";
    BYTES: Error Structure "kd.manifest.bytes",
        "a file does not have the size in the manifest: it was cut, or written again";
    SHA256: Error Content "kd.manifest.sha256",
        "a file does not have the sha256 in the manifest: a byte of it was changed";
    COUNTS: Error Structure "kd.manifest.counts",
        "rows, tokens or supervised tokens are not what the manifest says";
    SURPLUS: Error Structure "kd.manifest.surplus",
        "a dataset that no manifest names: it may be unfinished, or from another run",
        hint "a shard counts once its part manifest exists; remove it, or write it again";
    CONFIG: Error Structure "kd.manifest.config",
        "config_hash is not the hash of the config, or the tokenizer is not the one of the config";
    pub(super) PARTS: Error Structure "kd.manifest.parts",
        "manifest.json and the part manifests contradict one another",
        hint "make manifest.json again from the parts; try: ds-manifest";
    INPUT: Error Structure "kd.manifest.input",
        "the dataset was not made from the input of the manifest given by --input-manifest";
}

impl Manifests {
    /// Compares the manifests with the disk, with one another, and with the contents that were
    /// read.
    pub fn compare(
        &self,
        seen: &[(&KdPrefix, SeenPrefix)],
        context: &mut CheckContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        self.configs(findings);
        self.input(context, findings)?;
        self.files(context, findings)?;
        let by_prefix: HashMap<&Path, &SeenPrefix> =
            seen.iter().map(|(prefix, seen)| (&*prefix.path, seen)).collect();
        let mut claimed = HashSet::new();
        for claim in &self.claims {
            claimed.insert(&*claim.prefix);
            if let Some(seen) = by_prefix.get(&*claim.prefix) {
                claim.compare(seen, findings);
            }
        }
        if self.any && !self.unread {
            for (prefix, _) in seen {
                if !claimed.contains(&*prefix.path) {
                    findings.add(&SURPLUS, &prefix.path, "no manifest names it");
                }
            }
        }
        self.records(findings);
        self.sums(seen, findings);
        self.parts(findings);
        Ok(())
    }

    fn configs(&self, findings: &mut Findings<'_>) {
        if let Some((path, root)) = &self.root {
            config(path, &root.config, root.config_hash.as_deref(), &root.tokenizer, findings);
        }
        for (path, part) in &self.parts {
            if let Some(of_part) = &part.config {
                let tokenizer = part.source.tokenizer.as_ref().unwrap_or(&Value::Null);
                config(path, of_part, part.config_hash.as_deref(), tokenizer, findings);
            }
        }
        for (path, part) in &self.parts {
            if part.config.is_none() && part.config_hash.is_some() {
                findings.add(&CONFIG, path, "has only one of config and config_hash");
            }
            if let Some(cause) = part.config.as_ref().and_then(|config| contradiction(config, part))
            {
                findings.add(&CONFIG, path, cause);
            }
        }
    }

    fn input(&self, context: &CheckContext<'_>, findings: &mut Findings<'_>) -> Result<()> {
        let Some(given) = &context.options.input_manifest else { return Ok(()) };
        let hash = manifest_sha256(given)?;
        let of_root =
            self.root.iter().map(|(path, root)| (path, root.input.manifest_sha256.as_deref()));
        let of_parts = self.parts.iter().map(|(path, part)| (path, part.source.manifest_sha256()));
        for (path, sha256) in of_root.chain(of_parts).filter(|(_, told)| *told != Some(&hash)) {
            let sha256 = sha256.unwrap_or("none");
            findings.add(
                &INPUT,
                path,
                format_args!("names the input manifest {sha256}; {} has {hash}", shown(given)),
            );
        }
        Ok(())
    }

    fn files(&self, context: &mut CheckContext<'_>, findings: &mut Findings<'_>) -> Result<()> {
        let checks = inventory::FileChecks { missing: &FILE, bytes: &BYTES, sha256: &SHA256 };
        let claims =
            self.claims.iter().flat_map(|claim| &claim.files).chain(self.tokenizer_files());
        inventory::compare(claims, &checks, context, findings)
    }

    /// Whether a part is a concatenation: then some of the records that were read went to other
    /// splits.
    fn has_concatenation(&self) -> bool {
        self.parts.iter().any(|(_, part)| part.splits.contains_key(ALL))
    }

    /// Checks the records of each part.
    fn records(&self, findings: &mut Findings<'_>) {
        for (path, part) in &self.parts {
            if let Some(cause) = inputs_differ(part) {
                findings.add(&COUNTS, path, cause);
            }
            let rows = checked_sum(part.splits.values().map(|split| split.rows));
            let whole = part.splits.contains_key(ALL);
            let causes = [
                sum_differs("records.written", part.records.written, rows),
                read_differs(&part.records, whole),
            ];
            for cause in causes.into_iter().flatten() {
                findings.add(&COUNTS, path, cause);
            }
        }
    }

    /// Checks the sums of the root's manifest.
    fn sums(&self, seen: &[(&KdPrefix, SeenPrefix)], findings: &mut Findings<'_>) {
        let Some((path, root)) = &self.root else { return };
        let mut causes = Vec::new();
        for (name, KdRootSplit { rows, tokens, shards, .. }) in &root.splits {
            let of_shards = checked_sum(shards.iter().map(|shard| shard.rows));
            causes.extend(sum_differs(&format!("{name}.rows"), *rows, of_shards));
            let of_shards = checked_sum(shards.iter().map(|shard| shard.tokens));
            causes.extend(sum_differs(&format!("{name}.tokens"), *tokens, of_shards));
        }
        let rows = checked_sum(root.splits.values().map(|split| split.rows));
        if let Some(records) = &root.records {
            causes.extend(sum_differs("records.written", records.written, rows));
            causes.extend(read_differs(records, self.has_concatenation()));
        }
        for (name, split) in root.splits.iter().filter(|_| !root.is_published()) {
            let of_split = seen.iter().filter(|(prefix, _)| prefix.split == Some(name.as_str()));
            let counted: Option<Vec<_>> = of_split.map(|(_, seen)| seen.spans.as_ref()).collect();
            let Some(counted) = counted.filter(|all| all.len() == split.shards.len()) else {
                continue;
            };
            let mut spans = [0; 256];
            for found in counted {
                spans.iter_mut().zip(found).for_each(|(sum, count)| *sum += count);
            }
            let differing = spans_differ(&split.supervised_tokens, &spans);
            causes.extend(differing.into_iter().map(|cause| format!("{name}: {cause}")));
        }
        for cause in causes {
            findings.add(&COUNTS, path, cause);
        }
    }

    /// Compares the root's manifest with the manifests of the parts.
    fn parts(&self, findings: &mut Findings<'_>) {
        let Some((root_path, root)) = &self.root else { return };
        let manifest = root.input.manifest_sha256.as_deref();
        let chains: HashMap<&str, &KdChain> =
            root.provenance.iter().map(|chain| (&*chain.part, chain)).collect();
        let files: Option<HashSet<&Value>> =
            root.input.files.as_ref().map(|files| files.iter().collect());
        for (path, part) in &self.parts {
            let source = &part.source;
            let chain = chains.get(&*part.name);
            let same = [
                (
                    "config",
                    part.config.as_ref().is_none_or(|c| !c.contradicts(&root.config))
                        && agree_if_known(&part.config_hash, &root.config_hash),
                ),
                (
                    "tokenizer",
                    source.tokenizer.is_none()
                        || are_one_tokenizer(&source.tokenizer, &Some(root.tokenizer.clone())),
                ),
                ("kept tokenizer", agree_if_known(&part.tokenizer_files, &root.tokenizer_files)),
                ("input's manifest", source.manifest_sha256() == manifest),
                (
                    "input",
                    source
                        .known_inputs()
                        .iter()
                        .all(|input| files.as_ref().is_none_or(|files| files.contains(input))),
                ),
                ("provenance", chain.is_some_and(|chain| chain.filters == part.provenance)),
            ];
            for (what, _) in same.iter().filter(|(_, same)| !same) {
                findings.add(&PARTS, path, format_args!("its {what} is not the root's"));
            }
        }
        if self.unread {
            return;
        }
        let is_known = self.parts.iter().all(|(_, part)| part.source.inputs.is_some());
        let inputs = self.parts.iter().flat_map(|(_, part)| part.source.known_inputs());
        let inputs = inputs.map(Value::to_string).collect::<BTreeSet<_>>().len();
        let of_root = root.input.files.as_ref().map_or(0, Vec::len);
        if !self.parts.is_empty() && is_known && of_root > inputs {
            findings.add(
                &PARTS,
                root_path,
                format_args!("{}; its parts have {inputs}", exactly(of_root, "input")),
            );
        }
        if root.is_published() && !self.parts.is_empty() {
            findings.add(&PARTS, root_path, "has no records, its parts have");
        }
        self.shards(root_path, findings);
        let of_parts = RecordCounts::sum(self.parts.iter().map(|(_, part)| part.records.clone()));
        if let Some(records) = root.records.as_ref().filter(|_| !self.parts.is_empty())
            && of_parts.as_ref().is_none_or(|sum| sum.contradicts(records))
        {
            let sum = of_parts.map_or("more than 2^64".to_string(), |sum| sum.to_string());
            findings.add(
                &PARTS,
                root_path,
                format_args!("its records are {records}, those of its parts {sum}"),
            );
        }
    }

    /// Compares what the root's manifest and the part manifests state about each prefix.
    fn shards(&self, root_path: &Path, findings: &mut Findings<'_>) {
        let mut by_prefix: BTreeMap<&Path, Vec<&Claim>> = BTreeMap::new();
        for claim in &self.claims {
            by_prefix.entry(&claim.prefix).or_default().push(claim);
        }
        for (prefix, claims) in by_prefix {
            let of_root = claims.iter().find(|claim| claim.manifest == root_path);
            let of_part = claims.iter().find(|claim| claim.manifest != root_path);
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
                findings.add(&PARTS, prefix, cause);
            }
        }
    }
}

impl Claim {
    fn compare(&self, seen: &SeenPrefix, findings: &mut Findings<'_>) {
        let at = &self.manifest;
        let name = self.prefix.file_name().unwrap_or_default().to_string_lossy();
        for (what, told, found) in
            [("row", self.rows, seen.rows), ("token", self.tokens, seen.tokens)]
        {
            if told != found {
                findings.add(
                    &COUNTS,
                    at,
                    format_args!("{name} has {}, not {told}", exactly(found, what)),
                );
            }
        }
        if let Some(told) = self.dtype.as_deref().filter(|told| *told != seen.dtype) {
            findings.add(&COUNTS, at, format_args!("{name} holds {}, not {told}", seen.dtype));
        }
        if let (Some(told), Some(spans)) = (&self.supervised, &seen.spans) {
            for cause in spans_differ(told, spans) {
                findings.add(&COUNTS, at, format_args!("{name}: {cause}"));
            }
        }
    }
}

/// Returns the cause if the policy or spans of a part do not agree with its config.
fn contradiction(config: &KdConfig, part: &KdPart) -> Option<String> {
    if let Some(policy) = part.source.policy.as_deref()
        && Policy::from_name(policy).is_none()
    {
        return Some(format!("source.policy is {policy}, which is not known"));
    }
    let spans = part.source.spans.as_ref()?;
    let mut channels = config.assistant_channels.iter().flatten();
    let channel = channels.find(|channel| spans[channel.as_str()].is_null())?;
    Some(format!("source.spans has no {channel:?}, which the config supervises"))
}

/// Compares a config with its hash, and a tokenizer with the one that is known here.
fn config(
    path: &Path,
    config: &KdConfig,
    hash: Option<&str>,
    tokenizer: &Value,
    findings: &mut Findings<'_>,
) {
    let in_range = |fraction: f64| (0.0..=1.0).contains(&fraction);
    let computed = match config.sha256() {
        Ok(computed) if config.valid_fraction.is_none_or(in_range) => computed,
        _ => "none: valid_fraction is not from 0 to 1".to_string(),
    };
    match hash {
        None if config.is_known() => {
            findings.add(&CONFIG, path, "has only one of config and config_hash");
        }
        // A config with unknown values has no hash.
        None => {}
        Some(hash) if computed != hash => {
            let message = format_args!("config_hash is {hash}; the config's hash is {computed}");
            findings.add(&CONFIG, path, message);
        }
        Some(_) => {}
    }
    let ours = o200k(None);
    for name in ["model_sha256", "vocab_size"] {
        let expected = &ours[name];
        if tokenizer["type"] == ours["type"] && tokenizer[name] != *expected {
            findings.add(
                &CONFIG,
                path,
                format_args!("tokenizer.{name} is {}, not {expected}", tokenizer[name]),
            );
        }
    }
}

/// Returns the cause if a number is not the right sum; a sum of `None` is over 2^64.
fn sum_differs(what: &str, told: u64, sum: Option<u64>) -> Option<String> {
    match sum {
        Some(sum) => (told != sum).then(|| format!("{what} is {told}, not {sum}")),
        None => Some(format!("{what} is {told}; its parts are more than 2^64")),
    }
}

/// Returns the cause if the counts show that some record was read, but neither written, rejected nor
/// skipped. In a concatenation of one split, such records may be in the other splits.
fn read_differs(records: &RecordCounts, is_concatenation: bool) -> Option<String> {
    let read = records.read?;
    match records.wrong_sum()? {
        Some(sum) if is_concatenation && read >= sum => None,
        sum => sum_differs("records.read", read, sum),
    }
}

/// Returns the cause if a part read another number of rows than its inputs have. Both numbers must be
/// known, and the part must be made from these inputs directly, and from all of them.
fn inputs_differ(part: &KdPart) -> Option<String> {
    let (read, rows) = (part.records.read?, part.source.rows()?);
    let limits = &part.source.limits;
    let names = part.provenance.iter().rev().map(|entry| entry["name"].as_str());
    // A filter that reads a dataset begins the count there, and keeps the dataset's inputs.
    let is_whole = names.take(3).eq(["mmidx-write", "span-mask", "harmony-tok"].map(Some));
    let is_part = limits.slice.is_some() || limits.shard.is_some() || limits.tokens.is_some();
    let is_compared = is_whole && !is_part && !part.splits.contains_key(ALL);
    (is_compared && read != rows)
        .then(|| format!("records.read is {read}; the inputs have {}", exactly(rows, "row")))
}

/// Returns the causes if supervised tokens by span id differ from the stated ones.
fn spans_differ(told: &BTreeMap<String, u64>, spans: &[u64; 256]) -> Vec<String> {
    let ids = (1..=255u8).map(|id| (id.to_string(), spans[usize::from(id)]));
    let counts = ids.map(|(id, found)| (told.get(&id).copied().unwrap_or(0), found, id));
    counts
        .filter(|(told, found, _)| told != found)
        .map(|(told, found, id)| format!("{} of span {id}, not {told}", exactly(found, "token")))
        .collect()
}

fn same_files(a: &[FileEntry], b: &[FileEntry]) -> bool {
    let sorted = |files: &[FileEntry]| files.iter().cloned().collect::<BTreeSet<_>>();
    sorted(a) == sorted(b)
}
