//! Datasets on disk: their files, and all of them together. An input is then the files in the order
//! of a list, with separators between them.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;

use gristmill::check::{self, BytesRead, CheckContext, CheckOptions, Outcome, Selection};
use gristmill::cli::{Progress, When};
use gristmill::dataset;
use gristmill::error::{Error, Result};
use gristmill::format::metadata_db::DatabaseReader;
use gristmill::format::mmidx::MmidxIndex;
use gristmill::format::npy::{ArrayHeader, Integers, MappedArray};
use gristmill::format::parquet::compare_inputs;
use gristmill::plan::{Plan, TaskList};
use gristmill::stream::Request;

use super::place::Place;
use super::records::copy;
use super::{input, one_line};

/// More values than a small file has.
const MOST_VALUES: usize = 1 << 16;

const TRIPLE: [&str; 8] = [
    "p_tokens.idx",
    "p_tokens.bin",
    "p_lossmask.idx",
    "p_lossmask.bin",
    "p_span.idx",
    "p_span.bin",
    "p_ids.parquet",
    "p.part.json",
];

const KD_ROOT: [&str; 16] = [
    "manifest.json",
    "parts/shard_00.json",
    "train/shard_00_tokens.idx",
    "train/shard_00_tokens.bin",
    "train/shard_00_lossmask.idx",
    "train/shard_00_lossmask.bin",
    "train/shard_00_span.idx",
    "train/shard_00_span.bin",
    "ids/train/shard_00.parquet",
    "valid/shard_00_tokens.idx",
    "valid/shard_00_tokens.bin",
    "valid/shard_00_lossmask.idx",
    "valid/shard_00_lossmask.bin",
    "valid/shard_00_span.idx",
    "valid/shard_00_span.bin",
    "ids/valid/shard_00.parquet",
];

const POOL: [&str; 5] =
    ["steps.npy", "metadata.db", "valuation_types.json", "manifest.json", "steps-000001.npy"];

const PUZZLE_SET: [&str; 10] = [
    "train/dataset.json",
    "identifiers.json",
    "build.json",
    "train/all__inputs.npy",
    "train/all__labels.npy",
    "train/all__puzzle_identifiers.npy",
    "train/all__puzzle_indices.npy",
    "train/all__group_indices.npy",
    "test/dataset.json",
    "test/all__inputs.npy",
];

const SHARDS: [&str; 3] = ["manifest.json", "a.parquet", "b.parquet"];

pub fn idx(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let path = place.file("in.idx", bytes);
    let failed = |error: std::io::Error| Error::io(path.as_path(), &error);
    let index = MmidxIndex::open(&path).map_err(Error::data)?;
    let (mut lengths, mut values) = (Vec::new(), Vec::new());
    index.read_lengths(0, MOST_VALUES, &mut lengths).map_err(failed)?;
    index.read_offsets(0, MOST_VALUES, &mut values).map_err(failed)?;
    index.read_documents(0, MOST_VALUES, &mut values).map_err(failed)
}

pub fn npy(place: &mut Place, bytes: &[u8]) -> Result<()> {
    ArrayHeader::read(&mut &bytes[..]).map_err(Error::data)?;
    let path = place.file("in.npy", bytes);
    let file = File::open(&path).map_err(|error| Error::io(path.as_path(), &error))?;
    if let Ok(rows) = MappedArray::open(&file) {
        let last = rows.rows().saturating_sub(1);
        std::hint::black_box((rows.row(0), rows.row(last), rows.row(last + 1)));
    }
    let integers = Integers::open(&file).map_err(Error::data)?;
    let sum = integers.values().take(MOST_VALUES).fold(0, i64::wrapping_add);
    std::hint::black_box(sum);
    let mut row = Vec::new();
    if integers.rows() > 0 && integers.row_len() <= MOST_VALUES {
        integers.read_row(0, &mut row);
    }
    Ok(())
}

/// A plan and a list of its tasks.
pub fn plan(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let root = place.files("plan", &["tasks/plan.json", "list"], bytes);
    let plan = Plan::read(&root)?;
    for task in plan.tasks().take(MOST_VALUES) {
        one_line(&format!("{:?} {:?}", task.name(), task.slice()));
    }
    let list = TaskList::read(&root.join("list"), &plan)?;
    list.check_whole(&root.join("list"), &plan).and(plan.check_build())
}

pub fn triple(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let directory = place.files("triple", &TRIPLE, bytes);
    both(&directory.join("p"))
}

pub fn kd_root(place: &mut Place, bytes: &[u8]) -> Result<()> {
    both(&place.files("root", &KD_ROOT, bytes))
}

pub fn pool(place: &mut Place, bytes: &[u8]) -> Result<()> {
    both(&place.files("pool", &POOL, bytes))
}

/// A database, without the rows of its pool.
pub fn database(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let reader = DatabaseReader::open(&place.file("metadata.db", bytes))?;
    let damage = reader.damage().map(drop);
    let count = reader.run_count().map(drop);
    let runs = reader.runs(|run| reader.run(run.id).map(drop)).and_then(|run| run);
    let session = reader.session_keys(|key, _| reader.session(key).map(drop)).and_then(|key| key);
    Ok(damage.and(count).and(runs).and(session)?)
}

pub fn puzzle_set(place: &mut Place, bytes: &[u8]) -> Result<()> {
    both(&place.files("set", &PUZZLE_SET, bytes))
}

pub fn shards(place: &mut Place, bytes: &[u8]) -> Result<()> {
    let directory = place.files("shards", &SHARDS, bytes);
    let compared = compare_inputs(std::slice::from_ref(&directory));
    both(&directory).and(compared)
}

/// Reads and checks it.
fn both(path: &Path) -> Result<()> {
    let whole = input(path.to_path_buf());
    let read = copy(|| dataset::open(&whole, Request::Any), &mut Ok);
    check(path).and(read)
}

/// What ds-check does; its findings are lines.
pub fn check(path: &Path) -> Result<()> {
    thread_local! {
        static SELECTION: Selection = {
            Selection::new(check::catalogue(), Vec::new(), Vec::new(), false).expect("all checks")
        };
    }
    SELECTION.with(|selection| {
        let mut context = CheckContext {
            selection,
            options: &CheckOptions::default(),
            jobs: NonZeroUsize::MIN,
            max_findings: 20,
            progress: &mut Progress::new("fuzz", When::Never, ("records", None), true),
            read: BytesRead::default(),
        };
        let Outcome { groups, notes, what, .. } = dataset::check(path, &mut context)?;
        one_line(&what);
        notes.iter().for_each(|note| one_line(note));
        for finding in groups.iter().flat_map(|group| &group.first) {
            one_line(&finding.message);
        }
        Ok(())
    })
}
