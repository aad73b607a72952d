//! Checks the files of a pool: which exist, whether they can be read, and their headers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::check::inventory;
use crate::check::{CheckContext, Findings, checks};
use crate::error::{At, Error, Result, shown};
use crate::files;
use crate::format::checked_sum;
use crate::format::pack::{self, MANIFEST as MANIFEST_FILE, PackLayout, PackManifest};
use crate::format::pools::{Valuations, step_files};
use crate::format::raw_games::Legality;
use crate::game2048::{RowLayout, aligned_step_row, packed_step_row, selfplay_row};
use crate::npy::{AutoSerialize, DType, Error as NpyError, MappedArray, descr};
use crate::wording::exactly;

checks! {
    BOTH: Error Structure "pool.files.both",
        "steps.npy beside steps-*.npy: trainers read the shards and ignore the other, or read both",
        hint "remove what is left of an older pack";
    GAP: Error Structure "pool.shard.gap",
        "the shards are not numbered one after another: one was lost, or is from another pack";
    NPY: Error Structure "pool.shard.npy",
        "a shard that is not a complete .npy file: a broken header, or too few or too many rows";
    DTYPE: Error Structure "pool.shard.dtype",
        "the rows have a type that no pool has, or not the type of the first shard";
    EMBEDDINGS: Error Structure "pool.embeddings",
        "embeddings that are not float32 [rows, D], one row for each step";
    VALUATIONS: Error Structure "pool.valuations.form",
        "valuation_types.json does not map names and ids one to one: rows get the wrong valuation";
    DIALECT: Warning Structure "pool.valuations.dialect",
        "valuation_types.json is not name to id, or names others than search, tuple10, tuple11",
        hint "some readers silently fall back to search 0, tuple10 1, tuple11 2";
    NO_VALUATIONS: Warning Structure "pool.valuations.missing",
        "a pack without valuation_types.json: what its ids mean is not known",
        hint "write the file: {\"search\": 0, ...}, as the packer of the rows numbered them";
    MANIFEST: Error Structure "pool.manifest.form", "a manifest.json that cannot be read";
    FOREIGN: Warning Structure "pool.manifest.foreign",
        "a manifest.json of another program: nothing in it is compared";
    FILE: Error Structure "pool.manifest.file", "a file that the manifest names is not there";
    BYTES: Error Structure "pool.manifest.bytes", "a file does not have the size in the manifest";
    SHA256: Error Content "pool.manifest.sha256",
        "a file does not have the sha256 in the manifest: a byte of it was changed";
    COUNTS: Error Structure "pool.manifest.counts",
        "rows, runs or their layout are not what the manifest says";
    SURPLUS: Error Structure "pool.manifest.surplus",
        "a shard that the manifest does not name: it is read with the others";
    TEMPORARY: Warning Structure "pool.temporary",
        "a temporary file of a writer that is running, or was killed";
}

/// How many unusual valuations a message names.
const NAMES_SHOWN: usize = 10;

/// The contents of the directory of a pool.
pub(super) struct PoolFiles {
    /// The rows of all shards; `None` if they cannot be read.
    pub rows: Option<PoolShards>,
    pub valuations: Option<Valuations>,
    /// Whether the pack states that its `ev_legal` was taken from the boards.
    pub legal_by_board: bool,
    pub notes: Vec<String>,
    /// The number of runs; set once the database was read.
    pub runs: u64,
    shards: Vec<PathBuf>,
    manifest: Option<(PathBuf, PackManifest)>,
}

/// The shards of a pool; all have one type.
pub(super) struct PoolShards {
    pub dtype: DType,
    pub shards: Vec<(PathBuf, MappedArray)>,
}

impl PoolShards {
    /// Returns the bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.shards.first().map_or(0, |(_, mapped)| mapped.row_bytes())
    }

    /// Returns the number of rows in all shards.
    pub fn count(&self) -> u64 {
        self.shards.iter().map(|(_, mapped)| mapped.rows()).sum()
    }

    /// Returns the layout of the rows, if it is one of Macroxue.
    pub fn layout(&self) -> Option<RowLayout> {
        RowLayout::of(&self.dtype)
    }
}

pub(super) fn check(directory: &Path, findings: &mut Findings<'_>) -> Result<PoolFiles> {
    let (whole, mut shards) = step_files(directory)?;
    let single = directory.join(pack::STEPS);
    if whole && !shards.is_empty() {
        findings.add(&BOTH, &single, format_args!("is beside {}", exactly(shards.len(), "shard")));
    } else if whole {
        shards.push(single);
    } else {
        gaps(&shards, findings);
    }
    let rows = open(&shards, findings)?;
    let paths = files::paths_in(directory)?;
    inventory::temporaries(&paths, &TEMPORARY, findings);
    if let Some(rows) = &rows {
        embeddings(directory, &paths, rows, findings)?;
    }
    let is_pack = rows.as_ref().is_some_and(|rows| rows.layout().is_some());
    let valuations = valuations(directory, is_pack, findings)?;
    let manifest = manifest(directory, findings)?;
    let legality = manifest.as_ref().and_then(|(_, manifest)| manifest.legality);
    let mut notes = Vec::new();
    if manifest.is_none() {
        notes.push("no manifest: hashes and counts cannot be compared".to_string());
    }
    Ok(PoolFiles {
        legal_by_board: legality == Some(Legality::Board),
        rows,
        valuations,
        notes,
        runs: 0,
        shards,
        manifest,
    })
}

/// Checks that shards are numbered 0, 1, 2, ... or 1, 2, 3, ...
fn gaps(shards: &[PathBuf], findings: &mut Findings<'_>) {
    let number = |path: &PathBuf| -> Option<u64> {
        path.file_name()?.to_str()?.strip_prefix("steps-")?.strip_suffix(".npy")?.parse().ok()
    };
    let mut next = shards.first().and_then(number).filter(|first| *first <= 1).unwrap_or(0);
    for shard in shards {
        match number(shard) {
            Some(found) if found == next => next += 1,
            found => {
                findings.add(&GAP, shard, format_args!("number {next} was expected"));
                next = found.map_or(next + 1, |found| found + 1);
            }
        }
    }
}

fn open(shards: &[PathBuf], findings: &mut Findings<'_>) -> Result<Option<PoolShards>> {
    let mut opened: Vec<(PathBuf, MappedArray)> = Vec::new();
    let mut valid = true;
    for shard in shards {
        let file = crate::files::open_member(shard).at(shard)?;
        let mapped =
            MappedArray::open(&file).map_err(|error| Error::from(error).at(shard.as_path()));
        let Some(mapped) = inventory::readable(mapped, shard, findings, || Ok(&NPY))? else {
            valid = false;
            continue;
        };
        let (shape, dtype) = (&mapped.header().shape, &mapped.header().dtype);
        let other = opened.first().filter(|(_, first)| first.header().dtype != *dtype);
        if shape.len() != 1 {
            findings.add(&DTYPE, shard, format_args!("has the shape {shape:?}, not rows"));
            valid = false;
        } else if let Some((first, other)) = other {
            let (first, other, dtype) = (shown(first), descr(&other.header().dtype), descr(dtype));
            let message = format_args!("its rows are {dtype}; in {first} they are {other}");
            findings.add(&DTYPE, shard, message);
            valid = false;
        }
        opened.push((shard.clone(), mapped));
    }
    let Some((first, mapped)) = opened.first() else { return Ok(None) };
    let dtype = mapped.header().dtype.clone();
    let known = [aligned_step_row(), packed_step_row(), selfplay_row()].contains(&dtype);
    if valid && !known && !crate::format::pools::is_readable(&dtype) {
        findings.add(
            &DTYPE,
            first,
            format_args!("rows of {} are not steps of games", descr(&dtype)),
        );
        valid = false;
    }
    Ok(valid.then_some(PoolShards { dtype, shards: opened }))
}

/// Checks that there are embeddings for the steps, shard by shard and row by row.
fn embeddings(
    directory: &Path,
    paths: &[PathBuf],
    rows: &PoolShards,
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
        let (found, wanted) = (files.len(), rows.shards.len());
        let wanted = exactly(wanted, "shard");
        let message = format_args!("{found} embeddings-*.npy for {wanted} of steps");
        findings.add(&EMBEDDINGS, directory, message);
    }
    let mut width = None;
    for (path, (_, steps)) in files.iter().zip(&rows.shards) {
        let file = crate::files::open_member(path).at(*path)?;
        let cause = match MappedArray::open(&file) {
            Err(NpyError::Read(error)) => return Err(Error::io(path.as_path(), &error)),
            Err(error) => Some(error.to_string()),
            Ok(mapped) => match mapped.header().shape.as_slice() {
                [found, _] if *found != steps.rows() => {
                    Some(format!("has {}, its steps {}", exactly(*found, "row"), steps.rows()))
                }
                [_, columns] if *width.get_or_insert(*columns) != *columns => {
                    let first = width.unwrap_or_default();
                    Some(format!("has {}, the first has {first}", exactly(*columns, "column")))
                }
                [_, _] if mapped.header().dtype != f32::default_dtype() => {
                    Some(format!("holds {}, not float32", descr(&mapped.header().dtype)))
                }
                [_, _] => None,
                other => Some(format!("has the shape {other:?}, not [rows, D]")),
            },
        };
        if let Some(cause) = cause {
            findings.add(&EMBEDDINGS, path, cause);
        }
    }
    Ok(())
}

fn valuations(
    directory: &Path,
    is_pack: bool,
    findings: &mut Findings<'_>,
) -> Result<Option<Valuations>> {
    let path = directory.join(pack::VALUATION_TYPES);
    if !files::is_member(&path)? {
        if is_pack {
            findings.add(&NO_VALUATIONS, directory, "has none");
        }
        return Ok(None);
    }
    let valuations = Valuations::of_pool(directory);
    let valuations = inventory::readable(valuations, &path, findings, || Ok(&VALUATIONS))?;
    let Some(valuations) = valuations else { return Ok(None) };
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (id, name) in valuations.names() {
        if let Some(other) = by_name.insert(name, *id) {
            findings.add(&VALUATIONS, &path, format_args!("{name:?} has the ids {other} and {id}"));
        }
    }
    let text = inventory::read(&path)?;
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let by_name = value.as_object().is_some_and(|members| members.values().all(Value::is_u64));
    if !by_name {
        findings.add(&DIALECT, &path, "is not an object of name to id");
    }
    for (id, name) in [(0, "search"), (1, "tuple10"), (2, "tuple11")] {
        let other = valuations.names().iter().find(|(other, n)| n == name && *other != id);
        if let Some((other, _)) = other {
            findings.add(&DIALECT, &path, format_args!("{name} is {other}, usually {id}"));
        }
    }
    let known = crate::game2048::KNOWN_VALUATIONS;
    let others = valuations.names().iter().map(|(_, name)| name.as_str());
    let others: Vec<&str> = others.filter(|name| !known.contains(name)).collect();
    if let [shown @ .., more] = &others[..others.len().min(NAMES_SHOWN + 1)] {
        let names = match others.len() - shown.len() {
            1 => [shown, &[*more]].concat().join(", "),
            more => format!("{} and {more} others", shown.join(", ")),
        };
        findings.add(&DIALECT, &path, format_args!("also names {names}"));
    }
    Ok(Some(valuations))
}

fn manifest(
    directory: &Path,
    findings: &mut Findings<'_>,
) -> Result<Option<(PathBuf, PackManifest)>> {
    let path = directory.join(MANIFEST_FILE);
    if !files::is_member(&path)? {
        return Ok(None);
    }
    let manifest = inventory::readable(PackManifest::read(directory), &path, findings, || {
        let foreign = inventory::is_foreign(&path, &["gristmill_pack", "\"lost\""])?;
        Ok(if foreign { &FOREIGN } else { &MANIFEST })
    })?;
    Ok(manifest.map(|manifest| (path, manifest)))
}

impl PoolFiles {
    /// Compares the manifest with the files, and with the rows and runs that were counted.
    pub fn compare(
        &self,
        rows: u64,
        context: &mut CheckContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Result<()> {
        let Some((path, manifest)) = &self.manifest else { return Ok(()) };
        let directory = path.parent().unwrap_or(Path::new("."));
        let claims = manifest.stated(directory);
        let checks = inventory::FileChecks { missing: &FILE, bytes: &BYTES, sha256: &SHA256 };
        inventory::compare(claims.iter(), &checks, context, findings)?;
        for shard in self.shards.iter().filter(|shard| !claims.iter().any(|c| c.path == **shard)) {
            findings.add(&SURPLUS, shard, "is not in manifest.json");
        }
        if self.rows.is_none() {
            return Ok(());
        }
        let of_files = checked_sum(manifest.files.iter().filter_map(|file| file.rows));
        let counts = [
            ("rows", Some(manifest.rows), rows),
            ("runs", Some(manifest.runs), self.runs),
            ("the sum of the files' rows", of_files, rows),
            ("records.written", Some(manifest.records.written), self.runs),
        ];
        for (what, told, found) in
            counts.into_iter().filter(|(_, told, found)| *told != Some(*found))
        {
            let told = told.map_or("more than 2^64".to_string(), |told| told.to_string());
            findings.add(&COUNTS, path, format_args!("{what} is {told}, not {found}"));
        }
        if let Some(cause) = manifest.records.wrong_read() {
            findings.add(&COUNTS, path, cause);
        }
        let layout = match self.rows.as_ref().map(|rows| &rows.dtype) {
            Some(dtype) if *dtype == selfplay_row() => PackLayout::SelfplayV1,
            Some(dtype) if *dtype == packed_step_row() => PackLayout::MacroxuePacked,
            _ => PackLayout::Macroxue,
        };
        let layout = layout.name();
        if manifest.layout != layout {
            let message = format_args!("layout is {:?}, its rows are {layout}", manifest.layout);
            findings.add(&COUNTS, path, message);
        }
        Ok(())
    }
}
