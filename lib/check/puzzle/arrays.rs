//! The five arrays of a set: that they are there, whole, of integers, of the right shapes; and that
//! both indices cut puzzles and groups out of them without a gap.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::dataset;
use crate::check::inventory;
use crate::check::{At, Check, Findings};
use crate::cli::{Error, Result, shown};
use crate::format::npy::{self, AutoSerialize, Integers};
use crate::format::puzzle_dir::{Array, Metadata};

static MISSING: Check = Check::error(
    "puzzle.file.missing",
    "a file of a set that dataset.json names is not there: the loader ends",
)
.structure();
static SURPLUS: Check = Check::warning(
    "puzzle.file.surplus",
    "a file of a set that dataset.json does not name: nobody reads it",
)
.structure();
static NPY: Check = Check::error(
    "puzzle.npy",
    "no whole .npy file of integers: pickled, cut, too long, or of another type",
)
.structure();
static DTYPE: Check = Check::warning(
    "puzzle.dtype",
    "not int32 in C order and little-endian, as the contract has it: loaders cast, or read slowly",
)
.structure();
static SHAPE: Check = Check::error(
    "puzzle.shape",
    "inputs and labels are [N, seq_len], identifiers and indices have one axis",
)
.structure();
static ROWS: Check = Check::error(
    "puzzle.rows",
    "inputs and labels differ in their number of examples: answers belong to other questions",
)
.structure();
static EMPTY: Check =
    Check::warning("puzzle.empty", "a set without examples: an epoch of it has no batch")
        .structure();
static LENGTH: Check = Check::error(
    "puzzle.indices.length",
    "puzzle_indices has not one entry more than there are puzzles: all behind is shifted",
)
.structure();
static START: Check = Check::error(
    "puzzle.indices.start",
    "an index does not start at 0: what stands before is never drawn",
)
.structure();
static ORDER: Check =
    Check::error("puzzle.indices.order", "an index decreases: a puzzle or group of negative size")
        .structure();
static END: Check = Check::error(
    "puzzle.indices.end",
    "an index does not end at the number of what it cuts: the last are never drawn, or not there",
)
.structure();
static EMPTY_PUZZLE: Check = Check::error(
    "puzzle.indices.empty_puzzle",
    "a puzzle without examples: the loader skips it without a word",
)
.structure();
static EMPTY_GROUP: Check = Check::error(
    "puzzle.indices.empty_group",
    "a group without puzzles: the loader fails in the middle of training",
)
.structure();
static IDENTIFIER: Check = Check::error(
    "puzzle.identifier.range",
    "a puzzle identifier outside [0, num_puzzle_identifiers): the embedding reads beyond its table",
);

pub(super) static CHECKS: &[&Check] = &[
    &MISSING,
    &SURPLUS,
    &NPY,
    &DTYPE,
    &SHAPE,
    &ROWS,
    &EMPTY,
    &LENGTH,
    &START,
    &ORDER,
    &END,
    &EMPTY_PUZZLE,
    &EMPTY_GROUP,
    &IDENTIFIER,
];

/// A set whose examples can be read.
pub(super) struct Set {
    pub inputs: Integers,
    pub labels: Integers,
    pub inputs_path: PathBuf,
    pub examples: u64,
}

/// Checks the arrays of a set, adds what it holds to `sums`; `None` where inputs and labels do not
/// belong together.
pub(super) fn check(
    directory: &Path,
    set: &str,
    metadata: &Metadata,
    sums: &mut dataset::Sums,
    findings: &mut Findings<'_>,
) -> Result<Option<Set>> {
    let mut open = |array: Array| open(&array.path(directory, set), findings);
    let inputs = open(Array::Inputs)?;
    let labels = open(Array::Labels)?;
    let identifiers = open(Array::PuzzleIdentifiers)?;
    let puzzles = open(Array::PuzzleIndices)?;
    let groups = open(Array::GroupIndices)?;
    let seq_len = metadata.constants.seq_len;
    let mut fits = true;
    for (array, integers) in [(Array::Inputs, &inputs), (Array::Labels, &labels)] {
        let Some(integers) = integers else { continue };
        let path = array.path(directory, set);
        match integers.shape() {
            [_, length] if i64::try_from(*length) == Ok(seq_len) => {}
            [_, length] => {
                fits = false;
                dataset::wrong_seq_len(At::file(&path), seq_len, *length, findings);
            }
            other => {
                fits = false;
                findings.add(&SHAPE, At::file(&path), || format!("has the shape {other:?}"));
            }
        }
    }
    let flat = [
        (Array::PuzzleIdentifiers, &identifiers),
        (Array::PuzzleIndices, &puzzles),
        (Array::GroupIndices, &groups),
    ];
    let mut flat_fits = true;
    for (array, integers) in flat {
        let Some(integers) = integers else { continue };
        if integers.shape().len() != 1 {
            flat_fits = false;
            let path = array.path(directory, set);
            findings
                .add(&SHAPE, At::file(&path), || format!("has the shape {:?}", integers.shape()));
        }
    }
    sums.unknown |= !flat_fits || identifiers.is_none() || groups.is_none();
    let examples = inputs.as_ref().map(Integers::rows);
    if let (Some(inputs), Some(labels)) = (&inputs, &labels)
        && inputs.rows() != labels.rows()
    {
        fits = false;
        let path = Array::Labels.path(directory, set);
        findings.add(&ROWS, At::file(&path), || {
            format!("has {} examples, the inputs {}", labels.rows(), inputs.rows())
        });
    }
    if examples == Some(0) {
        let path = Array::Inputs.path(directory, set);
        findings.add(&EMPTY, At::file(&path), || "has no examples".to_string());
    }
    if flat_fits {
        let path = |array: Array| array.path(directory, set);
        let count = identifiers.as_ref().map(Integers::rows);
        if let (Some(puzzles), Some(count)) = (&puzzles, count)
            && puzzles.rows() != count + 1
        {
            findings.add(&LENGTH, At::file(&path(Array::PuzzleIndices)), || {
                format!("has {} entries for {count} puzzles", puzzles.rows())
            });
        }
        if let Some(puzzles) = &puzzles {
            let path = path(Array::PuzzleIndices);
            index(puzzles, &path, examples, "examples", &EMPTY_PUZZLE, findings);
        }
        if let Some(groups) = &groups {
            let path = path(Array::GroupIndices);
            index(groups, &path, count, "puzzles", &EMPTY_GROUP, findings);
        }
        if let Some(identifiers) = &identifiers {
            let path = path(Array::PuzzleIdentifiers);
            self::identifiers(identifiers, &path, metadata.num_puzzle_identifiers, findings);
        }
        sums.puzzles += count.unwrap_or(0);
        sums.groups += groups.as_ref().map_or(0, |groups| groups.rows().saturating_sub(1));
    }
    sums.examples += examples.unwrap_or(0);
    Ok(match (inputs, labels) {
        (Some(inputs), Some(labels)) if fits => Some(Set {
            examples: inputs.rows(),
            inputs,
            labels,
            inputs_path: Array::Inputs.path(directory, set),
        }),
        _ => None,
    })
}

fn open(path: &Path, findings: &mut Findings<'_>) -> Result<Option<Integers>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.add(&MISSING, At::file(path), || "is not there".to_string());
            return Ok(None);
        }
        Err(error) => return Err(Error::io(shown(path), &error)),
    };
    match Integers::open(&file) {
        Ok(integers) => {
            let header = integers.header();
            let fortran = header.fortran_order && header.shape.len() > 1;
            if header.dtype != i32::default_dtype() || fortran {
                findings.add(&DTYPE, At::file(path), || {
                    let order = if fortran { " in Fortran order" } else { "" };
                    format!("holds {}{order}", npy::descr(&header.dtype))
                });
            }
            Ok(Some(integers))
        }
        Err(error @ npy::Error::Read(_)) => Err(Error::from(error).at(path)),
        Err(error) => {
            findings.add(&NPY, At::file(path), || error.to_string());
            Ok(None)
        }
    }
}

/// An index of starts with the end behind them.
fn index(
    index: &Integers,
    path: &Path,
    cut: Option<u64>,
    what: &str,
    empty: &'static Check,
    findings: &mut Findings<'_>,
) {
    let at = At::file(path);
    let mut before: Option<i64> = None;
    for (number, value) in (0u64..).zip(index.values()) {
        match before {
            None if value != 0 => {
                findings.add(&START, at, || format!("starts at {value}, not 0"));
            }
            Some(before) if value == before => {
                findings.add(empty, at.record("entry", number - 1), || {
                    format!("{before} stands twice, so it has no {what}")
                });
            }
            Some(before) if value < before => {
                findings.add(&ORDER, at.record("entry", number), || {
                    format!("{value} comes behind {before}")
                });
            }
            _ => {}
        }
        before = Some(value);
    }
    match (before, cut) {
        (None, _) => findings.add(&END, at, || format!("is empty, without the number of {what}")),
        (Some(end), Some(count)) if u64::try_from(end) != Ok(count) => {
            findings.add(&END, at, || format!("ends at {end}; there are {count} {what}"));
        }
        _ => {}
    }
}

fn identifiers(identifiers: &Integers, path: &Path, count: i64, findings: &mut Findings<'_>) {
    if !findings.wants(&IDENTIFIER) {
        return;
    }
    for (number, value) in (0u64..).zip(identifiers.values()) {
        if !(0..count).contains(&value) {
            findings.add(&IDENTIFIER, At::file(path).record("puzzle", number), || {
                format!("is {value}; num_puzzle_identifiers is {count}")
            });
        }
    }
}

/// Files of sets that `dataset.json` does not name.
pub(super) fn surplus(
    directory: &Path,
    sets: &[String],
    findings: &mut Findings<'_>,
) -> Result<()> {
    for path in inventory::paths_in(directory)? {
        let name = inventory::name_of(&path);
        if name.starts_with('.') {
            continue;
        }
        let set = Array::ALL
            .iter()
            .find_map(|array| name.strip_suffix(&format!("__{}.npy", array.name())));
        if let Some(set) = set.filter(|set| !sets.iter().any(|known| known == set)) {
            findings.add(&SURPLUS, At::file(&path), || format!("is of the set {set:?}"));
        }
    }
    Ok(())
}
