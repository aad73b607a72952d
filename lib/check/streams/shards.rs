//! A directory of Parquet shards (`synth_harmony`): every record, and the manifest beside them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{Summary, records};
use crate::check::inventory;
use crate::check::{At, Check, Context, Family, Findings, Outcome};
use crate::cli::{Error, Result, shown};
use crate::format::parquet::ParquetFile;

static MANIFEST: Check = Check::error(
    "shards.manifest.missing",
    "no manifest.json beside the shards: the KD dataset must record it, and cannot",
)
.structure();
static FORM: Check = Check::error(
    "shards.manifest.form",
    "a manifest.json that cannot be read, or is of another schema",
)
.structure();
static FILE: Check =
    Check::error("shards.manifest.file", "a shard that the manifest names is not there")
        .structure();
static SURPLUS: Check =
    Check::error("shards.manifest.surplus", "a shard that the manifest does not name").structure();
static COUNTS: Check = Check::error(
    "shards.manifest.counts",
    "rows, row groups or bytes of a shard are not what the manifest says: cut, or another file",
)
.structure();

pub(in crate::check) struct Shards;

const SCHEMA: &str = "synth_harmony_v1";

/// `manifest.json` of schema `synth_harmony_v1`, as far as it is compared.
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
    path: String,
    bytes: u64,
    rows: u64,
    row_groups: u64,
}

impl Family for Shards {
    fn checks(&self) -> Vec<&'static Check> {
        vec![&MANIFEST, &FORM, &FILE, &SURPLUS, &COUNTS]
    }

    fn knows(&self, path: &Path) -> bool {
        path.is_dir() && parquet_files(path).is_ok_and(|files| !files.is_empty())
    }

    fn check(&self, path: &Path, context: &mut Context<'_>) -> Result<Outcome> {
        let files = parquet_files(path)?;
        let mut findings = context.findings();
        manifest(path, &files, &mut findings)?;
        let mut summary = Summary::default();
        for file in &files {
            records(file, &mut summary, context, &mut findings)?;
        }
        summary.repeated_ids(&files, &mut findings)?;
        let bytes = files.iter().filter_map(|file| fs::metadata(file).ok());
        Ok(Outcome {
            path: path.to_path_buf(),
            what: format!("directory of {} Parquet shards", files.len()),
            records: ("records", summary.records),
            bytes: bytes.map(|metadata| metadata.len()).sum(),
            notes: summary.notes(),
            kinds: findings.into_kinds(),
        })
    }
}

fn parquet_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = inventory::paths_in(directory)?;
    files.retain(|path| {
        let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
        is_parquet && !inventory::name_of(path).starts_with('.')
    });
    Ok(files)
}

/// A manifest, or why it is none of the schema that is known here.
fn parsed(text: &[u8]) -> std::result::Result<Manifest, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let schema = &value["schema_version"];
    if schema != SCHEMA {
        return Err(format!("its schema_version is {schema}, not {SCHEMA:?}"));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn manifest(directory: &Path, files: &[PathBuf], findings: &mut Findings<'_>) -> Result<()> {
    let path = directory.join("manifest.json");
    if !path.is_file() {
        findings.add(&MANIFEST, At::file(directory), || "has no manifest.json".to_string());
        return Ok(());
    }
    let text = fs::read(&path).map_err(|e| Error::io(shown(&path), &e))?;
    let storage = match parsed(&text) {
        Ok(manifest) => manifest.storage,
        Err(cause) => {
            findings.add(&FORM, At::file(&path), || cause);
            return Ok(());
        }
    };
    let mut named = BTreeSet::new();
    let (mut rows, mut bytes) = (0, 0);
    for shard in &storage.shards {
        // Paths are relative to where the set was made; the name is what stays.
        let name = Path::new(&shard.path).file_name().unwrap_or_default();
        let file = directory.join(name);
        named.insert(file.clone());
        rows += shard.rows;
        bytes += shard.bytes;
        if !file.is_file() {
            findings.add(&FILE, At::file(&file), || "is not there".to_string());
            continue;
        }
        // One that cannot be opened is told when its records are read.
        let Some(parquet) = File::open(&file).ok().and_then(|file| ParquetFile::open(file).ok())
        else {
            continue;
        };
        let found = [
            ("bytes", shard.bytes, parquet.bytes().ok()),
            ("rows", shard.rows, Some(parquet.rows())),
            ("row groups", shard.row_groups, Some(parquet.row_groups())),
        ];
        for (what, told, found) in found {
            if let Some(found) = found.filter(|found| *found != told) {
                findings.add(&COUNTS, At::file(&file), || {
                    format!("has {found} {what}; the manifest says {told}")
                });
            }
        }
    }
    for (what, told, sum) in
        [("total_rows", storage.total_rows, rows), ("total_bytes", storage.total_bytes, bytes)]
    {
        if told != sum {
            findings.add(&COUNTS, At::file(&path), || {
                format!("{what} is {told}; its shards have {sum}")
            });
        }
    }
    for file in files.iter().filter(|file| !named.contains(*file)) {
        findings.add(&SURPLUS, At::file(file), || "is not in manifest.json".to_string());
    }
    Ok(())
}
