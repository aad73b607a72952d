//! The files of a pool: which there are, whether they can be read, and what frames their rows.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::check::inventory::{self, Claimed};
use crate::check::{At, Check, Context, Findings, from_json};
use crate::cli::{Error, Result, shown};
use crate::format::npy::{
    AutoSerialize, DType, Mapped, aligned_step_row, descr, packed_step_row, selfplay_row,
};
use crate::format::pack;
use crate::format::pools::{Valuations, step_files};

static BOTH: Check = Check::error(
    "pool.files.both",
    "steps.npy beside steps-*.npy: trainers read the shards and forget the other, or read both",
)
.structure()
.hint("take away what is left of an older pack");
static GAP: Check = Check::error(
    "pool.shard.gap",
    "the shards are not numbered one after another: one was lost, or is of another pack",
)
.structure();
static NPY: Check = Check::error(
    "pool.shard.npy",
    "a shard that is no whole .npy file: its header is broken, or rows are missing or too many",
)
.structure();
static DTYPE: Check = Check::error(
    "pool.shard.dtype",
    "the rows are of a type that no pool has, or not of that of the first shard",
)
.structure();
static EMBEDDINGS: Check = Check::error(
    "pool.embeddings",
    "embeddings that are not float32 [rows, D], row by row beside the steps",
)
.structure();
static VALUATIONS: Check = Check::error(
    "pool.valuations.form",
    "valuation_types.json is no bijection of names and ids: rows get the wrong valuation",
)
.structure();
static DIALECT: Check = Check::warning(
    "pool.valuations.dialect",
    "valuation_types.json is not name to id, or has a name beyond search, tuple10 and tuple11",
)
.structure()
.hint("some readers fall back to search 0, tuple10 1, tuple11 2 without a word");
static NO_VALUATIONS: Check = Check::warning(
    "pool.valuations.missing",
    "a pack without valuation_types.json: readers guess what its ids mean",
)
.structure();
static MANIFEST: Check =
    Check::error("pool.manifest.form", "a manifest.json that cannot be read").structure();
static FOREIGN: Check = Check::warning(
    "pool.manifest.foreign",
    "a manifest.json of another program: nothing in it is compared",
)
.structure();
static FILE: Check =
    Check::error("pool.manifest.file", "a file that the manifest names is not there").structure();
static BYTES: Check =
    Check::error("pool.manifest.bytes", "a file has another size than the manifest says")
        .structure();
static SHA256: Check = Check::error(
    "pool.manifest.sha256",
    "a file has another sha256 than the manifest says: a byte of it was changed",
);
static COUNTS: Check = Check::error(
    "pool.manifest.counts",
    "rows, runs or their layout are not what the manifest says",
)
.structure();
static SURPLUS: Check = Check::error(
    "pool.manifest.surplus",
    "a shard that the manifest does not name: it is read with the others",
)
.structure();
static TEMPORARY: Check =
    Check::warning("pool.temporary", "a temporary file of a writer that is running, or was killed")
        .structure();

pub(super) static CHECKS: &[&Check] = &[
    &BOTH,
    &GAP,
    &NPY,
    &DTYPE,
    &EMBEDDINGS,
    &VALUATIONS,
    &DIALECT,
    &NO_VALUATIONS,
    &MANIFEST,
    &FOREIGN,
    &FILE,
    &BYTES,
    &SHA256,
    &COUNTS,
    &SURPLUS,
    &TEMPORARY,
];

/// What was found in the directory of a pool.
pub(super) struct Files {
    /// The rows of all shards; `None` where they cannot be read.
    pub rows: Option<Rows>,
    pub valuations: Option<Valuations>,
    /// Whether the pack says that its `ev_legal` was taken from the boards.
    pub legal_by_board: bool,
    pub notes: Vec<String>,
    pub bytes: u64,
    /// Set when the database was read.
    pub runs: u64,
    shards: Vec<PathBuf>,
    manifest: Option<(PathBuf, Manifest)>,
}

/// The shards of a pool, which are of one type.
pub(super) struct Rows {
    pub dtype: DType,
    pub shards: Vec<(PathBuf, Mapped)>,
}

impl Rows {
    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.shards.first().map_or(0, |(_, mapped)| mapped.row_bytes())
    }
}

/// `manifest.json` of a pack (see format/pack/FORMAT.md). What is only told, nobody can compare.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema_version: String,
    layout: String,
    runs: u64,
    rows: u64,
    legality: Option<Legality>,
    records: Records,
    #[serde(rename = "lost")]
    _lost: Vec<String>,
    files: Vec<Described>,
    #[serde(rename = "provenance")]
    _provenance: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Legality {
    Board,
    Values,
}

#[derive(Debug, Deserialize)]
struct Records {
    read: u64,
    written: u64,
    rejected: u64,
}

#[derive(Debug, Deserialize)]
struct Described {
    path: String,
    rows: Option<u64>,
    bytes: u64,
    sha256: String,
}

pub(super) fn check(directory: &Path, findings: &mut Findings<'_>) -> Result<Files> {
    let (whole, mut shards) = step_files(directory)?;
    let single = directory.join("steps.npy");
    if whole && !shards.is_empty() {
        findings.add(&BOTH, At::file(&single), || format!("stands beside {} shards", shards.len()));
    } else if whole {
        shards.push(single);
    } else {
        gaps(&shards, findings);
    }
    let rows = open(&shards, findings)?;
    let paths = inventory::paths_in(directory)?;
    inventory::temporaries(&paths, &TEMPORARY, findings);
    if let Some(rows) = &rows {
        embeddings(directory, &paths, rows, findings)?;
    }
    let is_pack = rows
        .as_ref()
        .is_some_and(|rows| rows.dtype == aligned_step_row() || rows.dtype == packed_step_row());
    let valuations = valuations(directory, is_pack, findings)?;
    let manifest = manifest(directory, findings)?;
    let legality = manifest.as_ref().and_then(|(_, manifest)| manifest.legality);
    let mut notes = Vec::new();
    if manifest.is_none() {
        notes.push("no manifest: hashes and counts cannot be compared".to_string());
    }
    let sizes = paths.iter().filter_map(|path| fs::metadata(path).ok());
    Ok(Files {
        legal_by_board: legality == Some(Legality::Board),
        bytes: sizes.filter(|metadata| metadata.is_file()).map(|metadata| metadata.len()).sum(),
        rows,
        valuations,
        notes,
        runs: 0,
        shards,
        manifest,
    })
}

/// Shards count 0, 1, 2, ... or 1, 2, 3, ...
fn gaps(shards: &[PathBuf], findings: &mut Findings<'_>) {
    let number = |path: &PathBuf| -> Option<u64> {
        path.file_name()?.to_str()?.strip_prefix("steps-")?.strip_suffix(".npy")?.parse().ok()
    };
    let mut next = shards.first().and_then(number).filter(|first| *first <= 1).unwrap_or(0);
    for shard in shards {
        match number(shard) {
            Some(found) if found == next => next += 1,
            found => {
                findings.add(&GAP, At::file(shard), || format!("number {next} was to come here"));
                next = found.map_or(next + 1, |found| found + 1);
            }
        }
    }
}

fn open(shards: &[PathBuf], findings: &mut Findings<'_>) -> Result<Option<Rows>> {
    let mut opened: Vec<(PathBuf, Mapped)> = Vec::new();
    let mut sound = true;
    for shard in shards {
        let file = File::open(shard).map_err(|e| Error::io(shown(shard), &e))?;
        let mapped = match Mapped::open(&file) {
            Ok(mapped) => mapped,
            Err(error) => {
                findings.add(&NPY, At::file(shard), || error.to_string());
                sound = false;
                continue;
            }
        };
        let dtype = &mapped.header().dtype;
        if mapped.header().shape.len() != 1 {
            findings.add(&DTYPE, At::file(shard), || {
                format!("has the shape {:?}; rows are wanted", mapped.header().shape)
            });
            sound = false;
        } else if let Some((first, other)) = opened.first()
            && other.header().dtype != *dtype
        {
            findings.add(&DTYPE, At::file(shard), || {
                format!(
                    "its rows are {}; those of {} are {}",
                    descr(dtype),
                    shown(first),
                    descr(&other.header().dtype)
                )
            });
            sound = false;
        }
        opened.push((shard.clone(), mapped));
    }
    let Some((first, mapped)) = opened.first() else { return Ok(None) };
    let dtype = mapped.header().dtype.clone();
    let known = [aligned_step_row(), packed_step_row(), selfplay_row()].contains(&dtype);
    if sound && !known && !crate::format::pools::is_readable(&dtype) {
        findings.add(&DTYPE, At::file(first), || {
            format!("rows of {} are no steps of games", descr(&dtype))
        });
        sound = false;
    }
    Ok(sound.then_some(Rows { dtype, shards: opened }))
}

/// Embeddings stand beside the steps, shard by shard and row by row.
fn embeddings(
    directory: &Path,
    paths: &[PathBuf],
    rows: &Rows,
    findings: &mut Findings<'_>,
) -> Result<()> {
    let is_one = |path: &&PathBuf| {
        let name = inventory::name_of(path);
        name.starts_with("embeddings-") && name.ends_with(".npy")
    };
    let files: Vec<&PathBuf> = paths.iter().filter(is_one).collect();
    if files.is_empty() {
        return Ok(());
    }
    if files.len() != rows.shards.len() {
        findings.add(&EMBEDDINGS, At::file(directory), || {
            format!("{} embeddings-*.npy for {} shards of steps", files.len(), rows.shards.len())
        });
    }
    let mut width = None;
    for (path, (_, steps)) in files.iter().zip(&rows.shards) {
        let file = File::open(path).map_err(|e| Error::io(shown(path), &e))?;
        let cause = match Mapped::open(&file) {
            Err(error) => Some(error.to_string()),
            Ok(mapped) => match mapped.header().shape.as_slice() {
                [found, _] if *found != steps.rows() => {
                    Some(format!("has {found} rows, its steps {}", steps.rows()))
                }
                [_, columns] if *width.get_or_insert(*columns) != *columns => {
                    Some(format!("has {columns} columns, the first has {width:?}"))
                }
                [_, _] if mapped.header().dtype != f32::default_dtype() => {
                    Some(format!("holds {}, not float32", descr(&mapped.header().dtype)))
                }
                [_, _] => None,
                other => Some(format!("has the shape {other:?}, not [rows, D]")),
            },
        };
        if let Some(cause) = cause {
            findings.add(&EMBEDDINGS, At::file(path), || cause);
        }
    }
    Ok(())
}

fn valuations(
    directory: &Path,
    is_pack: bool,
    findings: &mut Findings<'_>,
) -> Result<Option<Valuations>> {
    let path = directory.join("valuation_types.json");
    if !path.exists() {
        if is_pack {
            findings.add(&NO_VALUATIONS, At::file(directory), || "has none".to_string());
        }
        return Ok(Some(Valuations::of_pool(directory)?));
    }
    let valuations = match Valuations::of_pool(directory) {
        Ok(valuations) => valuations,
        Err(error) if error.kind() == crate::cli::Kind::Data => {
            let text = error.to_string();
            let cause = text.strip_prefix(&format!("{}: ", shown(&path))).unwrap_or(&text);
            findings.add(&VALUATIONS, At::file(&path), || cause.to_string());
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (id, name) in valuations.names() {
        if let Some(other) = by_name.insert(name, *id) {
            findings.add(&VALUATIONS, At::file(&path), || {
                format!("{name:?} has the ids {other} and {id}")
            });
        }
    }
    let text = fs::read(&path).map_err(|e| Error::io(shown(&path), &e))?;
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let by_name = value.as_object().is_some_and(|members| members.values().all(Value::is_u64));
    if !by_name {
        findings.add(&DIALECT, At::file(&path), || "is not an object of name to id".to_string());
    }
    for (id, name) in [(0, "search"), (1, "tuple10"), (2, "tuple11")] {
        if let Some((other, _)) =
            valuations.names().iter().find(|(other, n)| n == name && *other != id)
        {
            findings.add(&DIALECT, At::file(&path), || format!("{name} is {other}, usually {id}"));
        }
    }
    let known = crate::game2048::KNOWN_VALUATIONS;
    let others = valuations.names().iter().map(|(_, name)| name.as_str());
    let others: Vec<&str> = others.filter(|name| !known.contains(name)).collect();
    if !others.is_empty() {
        findings.add(&DIALECT, At::file(&path), || format!("also names {}", others.join(", ")));
    }
    Ok(Some(valuations))
}

fn manifest(directory: &Path, findings: &mut Findings<'_>) -> Result<Option<(PathBuf, Manifest)>> {
    let path = directory.join(pack::MANIFEST);
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read(&path).map_err(|e| Error::io(shown(&path), &e))?;
    let cause = match from_json::<Manifest>(&text) {
        Ok(manifest) if manifest.schema_version == pack::SCHEMA => {
            return Ok(Some((path, manifest)));
        }
        Ok(manifest) => format!("is {:?}, not {:?}", manifest.schema_version, pack::SCHEMA),
        Err(error) => error.to_string(),
    };
    let foreign = inventory::is_foreign(&path, &["gristmill_pack", "\"lost\""])?;
    findings.add(if foreign { &FOREIGN } else { &MANIFEST }, At::file(&path), || cause);
    Ok(None)
}

impl Files {
    /// Compares the manifest with the files, and with the rows and runs that were counted.
    pub fn compare(
        &self,
        rows: u64,
        context: &mut Context<'_>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        let Some((path, manifest)) = &self.manifest else { return Ok(()) };
        let directory = path.parent().unwrap_or(Path::new("."));
        let claim = |file: &Described| Claimed {
            path: directory.join(&file.path),
            bytes: file.bytes,
            sha256: file.sha256.clone(),
        };
        let claims: Vec<Claimed> = manifest.files.iter().map(claim).collect();
        let checks = inventory::Checks { missing: &FILE, bytes: &BYTES, sha256: &SHA256 };
        inventory::compare(claims.iter(), &checks, context, findings)?;
        for shard in self.shards.iter().filter(|shard| !claims.iter().any(|c| c.path == **shard)) {
            findings.add(&SURPLUS, At::file(shard), || "is not in manifest.json".to_string());
        }
        if self.rows.is_none() {
            return Ok(());
        }
        let mut differ = |what: &str, told: u64, found: u64| {
            if told != found {
                findings.add(&COUNTS, At::file(path), || format!("{what} is {told}, not {found}"));
            }
        };
        differ("rows", manifest.rows, rows);
        differ("runs", manifest.runs, self.runs);
        let told = manifest.files.iter().filter_map(|file| file.rows).sum();
        differ("the sum of the files' rows", told, rows);
        let Records { read, written, rejected } = manifest.records;
        differ("records.written", written, self.runs);
        differ("records.read", read, written.saturating_add(rejected));
        let is_v1 = self.rows.as_ref().is_some_and(|rows| rows.dtype == selfplay_row());
        let layout = if is_v1 { "selfplay-v1" } else { "macroxue" };
        if manifest.layout != layout {
            findings.add(&COUNTS, At::file(path), || {
                format!("layout is {:?}, its rows are {layout}", manifest.layout)
            });
        }
        Ok(())
    }
}
