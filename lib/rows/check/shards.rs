//! Checks a directory of Parquet shards (`synth_harmony`): every record, and the manifest beside them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::check::streams::{StreamSummary, records};
use crate::check::{Check, CheckContext, Family, Findings, Outcome, checks};
use crate::check::{if_ids, inventory, rows};
use crate::error::{Kind, Result};
use crate::file_entry::FileEntry;
use crate::files;
use crate::format::kd_root::IdsFile;
use crate::format::parquet::{ParquetFile, StatedShard, all_files_in};
use crate::format::synth_shards;
use crate::record::ROW;
use crate::wording::{counted, of_plural};

checks! {
    MANIFEST: Error Structure "shards.manifest.missing",
        "no manifest.json beside the shards: the KD dataset cannot record it, as it must";
    FORM: Error Structure "shards.manifest.form",
        "a manifest.json that cannot be read, or is of another schema";
    FILE: Error Structure "shards.manifest.file", "a shard that the manifest names is not there";
    SURPLUS: Error Structure "shards.manifest.surplus", "a shard that the manifest does not name";
    COUNTS: Error Structure "shards.manifest.counts",
        "rows, row groups or bytes of a shard are not what the manifest says: cut, or another file";
    SHA256: Error Structure "shards.manifest.sha256",
        "a shard whose sha256 is not the one in the manifest";
}

pub struct ParquetShardsFamily;

const SCHEMA: &str = "synth_harmony_v1";
const MANIFEST_FILE: &str = "manifest.json";

/// The fields of a `manifest.json` of schema `synth_harmony_v1` that are compared.
#[derive(Deserialize)]
struct Manifest {
    storage: Storage,
}

#[derive(Deserialize)]
struct Storage {
    total_rows: u64,
    total_bytes: u64,
    shards: Vec<Shard>,
}

#[derive(Deserialize)]
struct Shard {
    #[serde(flatten)]
    stated: StatedShard,
    row_groups: u64,
    /// The hash in hexadecimal; the published manifests have none.
    sha256: Option<String>,
}

impl Family for ParquetShardsFamily {
    fn checks(&self) -> Vec<&'static Check> {
        CHECKS.to_vec()
    }

    fn knows(&self, path: &Path) -> Result<bool> {
        (synth_shards::FORMAT.knows)(path)
    }

    fn check(&self, path: &Path, context: &mut CheckContext<'_>) -> Result<Outcome> {
        let mut findings = context.findings();
        // Files that are not shards need no manifest of shards.
        let (mut files, mut ours, mut rows) = (Vec::new(), 0, 0);
        for file in all_files_in(path)? {
            if let Some(checked) = rows::if_rows(&file, context, &mut findings)? {
                (ours, rows) = (ours + 1, rows + checked.rows);
            } else {
                files.push(file);
            }
        }
        let are_other = |file: &PathBuf| Ok(IdsFile::if_ids(file)?.is_some() || are_rows(file)?);
        let is_other = ours > 0 || files::find(&files, are_other)?.is_some();
        if !is_other || files::is_member(&path.join(MANIFEST_FILE))? {
            manifest(path, &files, context, &mut findings)?;
        }
        let mut summary = StreamSummary::default();
        for file in &files {
            if !if_ids(file, &mut summary, context, &mut findings)? {
                records(file, &mut summary, context, &mut findings)?;
            }
        }
        summary.repeated(&files, &mut findings)?;
        let (what, records) = match (files.len(), ours) {
            (0, _) => (format!("directory of {}", counted(ours, "rows file")), ("rows", rows)),
            (all, 0) => {
                (format!("directory of {all} Parquet shards"), ("records", summary.records))
            }
            (all, _) => (
                format!("directory of {all} Parquet shards, and {}", counted(ours, "rows file")),
                ("records", summary.records),
            ),
        };
        Ok(Outcome {
            path: path.to_path_buf(),
            what,
            records,
            notes: summary.notes(),
            groups: findings.into_groups(),
            ..Outcome::default()
        })
    }
}

/// Whether a file has rows of another tool.
fn are_rows(file: &Path) -> Result<bool> {
    match ParquetFile::of_member(file) {
        Ok(file) => Ok(ROW.is_known_by(|name| file.schema().column_with_name(name).is_some())),
        // (A damaged file is reported when its records are read.)
        Err(error) if error.kind() == Kind::Data => Ok(false),
        Err(error) => Err(error),
    }
}

/// Parses a manifest; the error says why it does not have the schema that is known here.
fn parse_manifest(text: &[u8]) -> std::result::Result<Manifest, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let schema = &value["schema_version"];
    if schema != SCHEMA {
        return Err(format!("its schema_version is {schema}, not {SCHEMA:?}"));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn manifest(
    directory: &Path,
    files: &[PathBuf],
    context: &mut CheckContext<'_>,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let path = directory.join(MANIFEST_FILE);
    if !files::is_member(&path)? {
        findings.add(&MANIFEST, directory, "has no manifest.json");
        return Ok(());
    }
    let text = inventory::read(&path)?;
    let storage = match parse_manifest(&text) {
        Ok(manifest) => manifest.storage,
        Err(cause) => {
            findings.add(&FORM, &path, cause);
            return Ok(());
        }
    };
    let mut named = BTreeSet::new();
    let mut same_size = Vec::new();
    let (mut rows, mut bytes) = (0u64, 0u64);
    for shard in &storage.shards {
        // Paths are relative to where the set was made; only the name stays the same.
        let name = shard.stated.name().unwrap_or_default();
        let file = directory.join(name);
        named.insert(file.clone());
        rows = rows.saturating_add(shard.stated.rows);
        bytes = bytes.saturating_add(shard.stated.bytes);
        if !files::is_member(&file)? {
            findings.add(&FILE, &file, "is not there");
            continue;
        }
        if shard.compare(&file, findings)? {
            let (bytes, sha256) = (shard.stated.bytes, shard.sha256.clone());
            same_size.push(FileEntry { path: file, bytes, sha256 });
        }
    }
    let checks = inventory::FileChecks { missing: &FILE, bytes: &COUNTS, sha256: &SHA256 };
    inventory::compare(&same_size, &checks, context, findings)?;
    let sums =
        [("total_rows", storage.total_rows, rows), ("total_bytes", storage.total_bytes, bytes)];
    for (what, stated, sum) in sums.into_iter().filter(|(_, stated, sum)| stated != sum) {
        findings.add(&COUNTS, &path, format_args!("{what} is {stated}; its shards have {sum}"));
    }
    for file in files.iter().filter(|file| !named.contains(*file)) {
        findings.add(&SURPLUS, file, "is not in manifest.json");
    }
    Ok(())
}

impl Shard {
    /// Whether the file has the stated size; other differences are reported.
    fn compare(&self, file: &Path, findings: &mut Findings<'_>) -> Result<bool> {
        let parquet = match ParquetFile::of_member(file) {
            Ok(parquet) => parquet,
            // A damaged file is reported when its records are read.
            Err(error) if error.kind() == Kind::Data => return Ok(false),
            Err(error) => return Err(error),
        };
        let counts = [
            ("bytes", self.stated.bytes, parquet.bytes()),
            ("rows", self.stated.rows, parquet.rows()),
            ("row groups", self.row_groups, parquet.row_groups()),
        ];
        for (what, stated, found) in counts.into_iter().filter(|(_, stated, found)| stated != found)
        {
            let what = of_plural(found, what);
            let message = format_args!("has {found} {what}; the manifest says {stated}");
            findings.add(&COUNTS, file, message);
        }
        Ok(parquet.bytes() == self.stated.bytes)
    }
}
