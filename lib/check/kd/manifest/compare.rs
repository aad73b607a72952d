//! What manifests say against the disk, against one another, and against what was seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Claim, Manifests, Seen};
use crate::check::inventory::{self, Claimed};
use crate::check::kd::Prefix;
use crate::check::{CheckContext, Findings, checks};
use crate::error::{Result, shown};
use crate::format::hex;
use crate::format::kd_root::{ALL, Config, Part, Records};
use crate::tokenizer::{PADDED_VOCABULARY_SIZE, VOCABULARY_SHA256};

checks! {
    FILE: Error Structure "kd.manifest.file",
        "a file that the manifest names is not there: a part of the dataset was lost";
    BYTES: Error Structure "kd.manifest.bytes",
        "a file has another size than the manifest says: it was cut, or written again";
    SHA256: Error Content "kd.manifest.sha256",
        "a file has another sha256 than the manifest says: a byte of it was changed";
    COUNTS: Error Structure "kd.manifest.counts",
        "rows, tokens or supervised tokens are not what the manifest says";
    SURPLUS: Error Structure "kd.manifest.surplus",
        "a dataset that no manifest names: it may be unfinished, or of another run",
        hint "a shard counts once its part manifest stands; take it away, or write it again";
    CONFIG: Error Structure "kd.manifest.config",
        "config_hash is not the hash of the config, or the tokenizer is not the one of the config";
    PARTS: Error Structure "kd.manifest.parts",
        "manifest.json and the part manifests contradict one another",
        hint "make manifest.json again from the parts; try: ds-manifest";
    INPUT: Error Structure "kd.manifest.input",
        "the dataset was made from another input than the manifest given by --input-manifest";
}

impl Manifests {
    /// Compares what the manifests say with the disk, with one another, and with what was seen.
    pub fn compare(
        &self,
        seen: &[(&Prefix, Seen)],
        context: &mut CheckContext<'_>,
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
        let mut check = |path: &Path, config: &Config, hash: &str, tokenizer: &Value| {
            let fraction = config.valid_fraction.map(|fraction| fraction.to_string().parse());
            let computed = match fraction.transpose() {
                Ok(fraction) => config.sha256(fraction.as_ref()),
                Err(_) => "none: valid_fraction is not from 0 to 1".to_string(),
            };
            if computed != hash {
                findings.add(
                    &CONFIG,
                    path,
                    format_args!("config_hash is {hash}; that of the config is {computed}"),
                );
            }
            let ours = [
                ("model_sha256", Value::from(VOCABULARY_SHA256)),
                ("vocab_size", Value::from(PADDED_VOCABULARY_SIZE)),
            ];
            for (name, expected) in ours {
                if tokenizer["type"] == "o200k_harmony" && tokenizer[name] != expected {
                    findings.add(
                        &CONFIG,
                        path,
                        format_args!("tokenizer.{name} is {}, not {expected}", tokenizer[name]),
                    );
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
                findings.add(&CONFIG, path, "of config and config_hash only one is there");
            }
            if let Some(cause) = part.config.as_ref().and_then(|config| contradiction(config, part))
            {
                findings.add(&CONFIG, path, cause);
            }
        }
    }

    fn input(&self, context: &CheckContext<'_>, findings: &mut Findings<'_>) -> Result<()> {
        let Some(given) = &context.options.input_manifest else { return Ok(()) };
        let bytes = inventory::read(given)?;
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
                    findings.add(
                        &COUNTS,
                        path,
                        format_args!("records.{what} is {told}, not {sum}"),
                    );
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
            findings.add(&COUNTS, path, cause);
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
                findings.add(&PARTS, path, format_args!("its {what} is not the root's"));
            }
        }
        let inputs: usize = {
            let all = self.parts.iter().flat_map(|(_, part)| &part.source.inputs);
            all.map(Value::to_string).collect::<BTreeSet<_>>().len()
        };
        if !self.parts.is_empty() && !self.unread && root.input.files.len() > inputs {
            findings.add(
                &PARTS,
                root_path,
                format_args!("{} inputs; its parts have {inputs}", root.input.files.len()),
            );
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
                findings.add(&PARTS, prefix, cause);
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
            findings.add(
                &PARTS,
                root_path,
                format_args!("its records are {:?}, those of its parts {of_parts:?}", root.records),
            );
        }
    }
}

impl Claim {
    fn compare(&self, seen: &Seen, findings: &mut Findings<'_>) {
        let at = &self.manifest;
        let name = self.prefix.file_name().unwrap_or_default().to_string_lossy();
        for (what, told, found) in
            [("rows", self.rows, seen.rows), ("tokens", self.tokens, seen.tokens)]
        {
            if told != found {
                findings.add(&COUNTS, at, format_args!("{name} has {found} {what}, not {told}"));
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
