//! Part manifests: what a sink knows of what it wrote. A part counts once its manifest stands;
//! merges and the root's manifest are made from these alone.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ValidFraction;
use crate::cli::{Error, PendingFile, Result, host, shown};
use crate::format::hex;
use crate::format::mmidx::with_suffix;
use sha2::{Digest, Sha256};

pub const PART_SCHEMA: &str = "gristmill_part_v1";

/// The manifest of one part: a shard, or a slice of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub schema_version: String,
    /// The part's name: `shard_00`.
    pub name: String,
    pub git_sha: Option<String>,
    /// `None` where the sequences are tokens alone.
    pub config: Option<Config>,
    pub config_hash: Option<String>,
    /// The type of the token values, as NumPy names it.
    pub dtype: String,
    pub source: Source,
    pub records: Records,
    /// By the split's name; `all` where there is no split.
    pub splits: BTreeMap<String, Split>,
    pub provenance: Vec<Value>,
    /// What changes from run to run, and nothing else does.
    pub run: Run,
}

/// Decides the bytes: two parts of one dataset must agree on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    pub assistant_channels: Vec<String>,
    pub eod_token_id: i32,
    pub hash: String,
    pub loss_mask_alignment: String,
    pub roles_preserved: Vec<String>,
    /// `None` where there is no split.
    pub valid_fraction: Option<f64>,
}

impl Config {
    /// The config of the contract (seeds/synth-kd-pipeline.md), for the default policy.
    pub fn synth_kd_v1(valid_fraction: Option<&ValidFraction>) -> Config {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Config {
            assistant_channels: list(&["analysis", "final"]),
            eod_token_id: crate::tokenizer::EOD,
            hash: "blake2b-8".to_string(),
            loss_mask_alignment: "labels_shifted_with_pad".to_string(),
            roles_preserved: list(&["system", "developer", "user", "assistant"]),
            valid_fraction: valid_fraction.map(ValidFraction::as_f64),
        }
    }

    /// sha256 (hex) of the config as JSON with sorted keys, no spaces, ASCII, and the fraction as
    /// Python's `repr` prints it.
    pub fn sha256(&self, valid_fraction: Option<&ValidFraction>) -> String {
        let fraction = valid_fraction.map_or("null".to_string(), ValidFraction::repr);
        let quoted = |names: &[String]| Value::from(names.to_vec()).to_string();
        let text = format!(
            "{{\"assistant_channels\":{},\"eod_token_id\":{},\"hash\":{},\
             \"loss_mask_alignment\":{},\"roles_preserved\":{},\"valid_fraction\":{fraction}}}",
            quoted(&self.assistant_channels),
            self.eod_token_id,
            Value::from(self.hash.as_str()),
            Value::from(self.loss_mask_alignment.as_str()),
            quoted(&self.roles_preserved),
        );
        hex(&Sha256::digest(text.as_bytes()))
    }
}

/// Where the records came from and how they were made: from the stream's header, or as asserted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Name, size, rows and footer hash of each input file.
    pub inputs: Vec<Value>,
    /// `{"path", "sha256"}` of the manifest beside the inputs, where there is one.
    pub manifest: Option<Value>,
    pub policy: Option<String>,
    pub limits: Limits,
    /// Type, path, hash and padded size of the vocabulary.
    pub tokenizer: Option<Value>,
    /// The span id of each supervised channel, where span-mask told it.
    #[serde(default)]
    pub spans: Option<Value>,
}

/// Which part of its inputs a part holds; null is no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub rows: Option<u64>,
    pub tokens: Option<u64>,
    pub slice: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    pub read: u64,
    pub written: u64,
    pub rejected: u64,
}

/// One split of a part; without rows it has no files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Split {
    pub rows: u64,
    pub tokens: u64,
    /// Supervised tokens by span id ("1" analysis, "2" final).
    pub supervised_tokens: BTreeMap<String, u64>,
    /// Relative to the directory that the manifest describes: ROOT, or that of the prefix.
    pub paths: BTreeMap<String, String>,
    pub bytes: BTreeMap<String, u64>,
    pub sha256: BTreeMap<String, String>,
}

impl Split {
    /// The first file that is not there with the size it had, as a cause.
    pub fn missing(&self, root: &Path) -> Option<String> {
        self.paths.iter().find_map(|(key, path)| {
            let expected = self.bytes.get(key).copied().unwrap_or(0);
            match fs::metadata(root.join(path)) {
                Ok(metadata) if metadata.len() == expected => None,
                Ok(metadata) => {
                    Some(format!("{path} has {} bytes, not {expected}", metadata.len()))
                }
                Err(_) => Some(format!("{path} is missing")),
            }
        })
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub created_unix_s: u64,
    pub host: String,
    pub seconds: f64,
}

impl Run {
    /// The run that began at `start` and ends now.
    pub fn since(start: std::time::Instant) -> Run {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Run {
            created_unix_s: now.map_or(0, |elapsed| elapsed.as_secs()),
            host: host(),
            seconds: (start.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
        }
    }
}

impl Part {
    pub fn read(path: &Path) -> Result<Part> {
        let text = fs::read(path).map_err(|e| Error::io(shown(path), &e))?;
        let part: Part = serde_json::from_slice(&text)
            .map_err(|e| Error::data(format!("{}: no part manifest: {e}", shown(path))))?;
        if part.schema_version != PART_SCHEMA {
            let version = &part.schema_version;
            return Err(Error::data(format!(
                "{}: is {version:?}, not {PART_SCHEMA:?}",
                shown(path)
            )));
        }
        Ok(part)
    }

    /// What keeps this part from being the finished result of a run with these settings; `None`
    /// where it is just that and its files stand.
    pub fn differs(&self, root: &Path, config_hash: &str, source: &Source) -> Option<String> {
        let hash = |value: &Option<Value>, key: &str| {
            value.as_ref().and_then(|value| value.get(key)).cloned()
        };
        let same = [
            ("its config", self.config_hash.as_deref() == Some(config_hash)),
            ("its policy", self.source.policy == source.policy),
            ("its limits", self.source.limits == source.limits),
            ("its input", self.source.inputs == source.inputs),
            (
                "its input manifest",
                hash(&self.source.manifest, "sha256") == hash(&source.manifest, "sha256"),
            ),
            (
                "its tokenizer",
                hash(&self.source.tokenizer, "model_sha256")
                    == hash(&source.tokenizer, "model_sha256"),
            ),
        ];
        if let Some((what, _)) = same.iter().find(|(_, same)| !same) {
            return Some(format!("{what} differs"));
        }
        self.splits.values().find_map(|split| split.missing(root))
    }

    /// The manifest as a file that is complete but not published.
    pub fn pending(&self, path: &Path) -> Result<PendingFile> {
        pending_json(path, self)
    }
}

/// Any manifest as indented JSON in a file that is not published yet.
pub(super) fn pending_json(path: &Path, value: &impl Serialize) -> Result<PendingFile> {
    let mut file = PendingFile::create(path)?;
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|e| Error::data(format!("{}: {e}", shown(path))))?;
    text.push(b'\n');
    file.write_all(&text).map_err(|e| Error::write(shown(path), &e))?;
    Ok(file)
}

/// Where the part manifest of a prefix is written that belongs to no root.
pub fn manifest_beside(prefix: &Path) -> PathBuf {
    with_suffix(prefix, ".part.json")
}

/// Where the part manifest of a root's shard is written.
pub fn manifest_in_root(root: &Path, name: &str) -> PathBuf {
    root.join("parts").join(format!("{name}.json"))
}

/// The manifest of a prefix, and which of its splits the prefix is: beside the prefix, or in the
/// `parts` of the root that it lies in.
pub fn find_manifest(prefix: &Path) -> Option<(PathBuf, String)> {
    let beside = manifest_beside(prefix);
    if beside.is_file() {
        return Some((beside, super::ALL.to_string()));
    }
    let split = prefix.parent()?.file_name()?.to_str()?.to_string();
    let root = prefix.parent()?.parent()?;
    let name = prefix.file_name()?.to_str()?;
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    let in_root = manifest_in_root(root, name);
    (super::SPLITS.contains(&split.as_str()) && in_root.is_file()).then_some((in_root, split))
}
