//! Checks the five arrays of a set: they exist, are complete, have integers and the right shapes; and both
//! indices divide them into puzzles and groups without a gap.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::dataset;
use crate::check::inventory;
use crate::check::{Check, FindingPlace, Findings, checks};
use crate::error::{Error, Result};
use crate::files;
use crate::format::puzzle_dir::{Fault, SetArray, SplitMetadata, faults};
use crate::npy::{self, AutoSerialize, Integers};

checks! {
    MISSING: Error Structure "puzzle.file.missing",
        "a file of a set that dataset.json names is missing: the loader ends";
    SURPLUS: Warning Structure "puzzle.file.surplus",
        "a file of a set that dataset.json does not name: nobody reads it";
    NPY: Error Structure "puzzle.npy",
        "not a complete .npy file of integers: pickled, cut, too long, or of another type";
    DTYPE: Warning Structure "puzzle.dtype",
        "not int32, C order, little-endian, as the contract requires: loaders cast, or read slowly";
    SHAPE: Error Structure "puzzle.shape",
        "wrong shape: inputs and labels are [N, seq_len], identifiers and indices have one axis";
    ROWS: Error Structure "puzzle.rows",
        "inputs and labels differ in their number of examples: answers belong to other questions";
    EMPTY: Warning Structure "puzzle.empty", "a set without examples: an epoch of it has no batch";
    LENGTH: Error Structure "puzzle.indices.length",
        "puzzle_indices does not have one entry more than there are puzzles: the rest is shifted";
    START: Error Structure "puzzle.indices.start",
        "an index does not start at 0: what is before is never drawn";
    ORDER: Error Structure "puzzle.indices.order",
        "an index decreases: a puzzle or group of negative size";
    END: Error Structure "puzzle.indices.end",
        "an index does not end at the number of items: the last are never drawn, or do not exist";
    EMPTY_PUZZLE: Error Structure "puzzle.indices.empty_puzzle",
        "a puzzle without examples: the loader skips it silently";
    EMPTY_GROUP: Error Structure "puzzle.indices.empty_group",
        "a group without puzzles: the loader fails in the middle of training";
    NARROW: Error Structure "puzzle.indices.narrow",
        "an index of a type too small to count the items: loaders calculate in it, and it wraps";
    IDENTIFIER: Error Content "puzzle.identifier.range",
        "a puzzle identifier outside [0, num_puzzle_identifiers): the embedding reads beyond its table";
}

/// A set whose examples can be read.
pub(super) struct ValidSet {
    pub inputs: Integers,
    pub labels: Integers,
    pub inputs_path: PathBuf,
    pub examples: u64,
}

/// Checks the arrays of a set, and adds its counts to `sums`; `None` if inputs and labels do not
/// belong together.
pub(super) fn check(
    directory: &Path,
    set: &str,
    metadata: &SplitMetadata,
    sums: &mut dataset::Sums,
    findings: &mut Findings<'_>,
) -> Result<Option<ValidSet>> {
    let path = |array: SetArray| array.path(directory, set);
    let mut open = |array: SetArray| open(&path(array), findings);
    let inputs = open(SetArray::Inputs)?;
    let labels = open(SetArray::Labels)?;
    let identifiers = open(SetArray::PuzzleIdentifiers)?;
    let puzzles = open(SetArray::PuzzleIndices)?;
    let groups = open(SetArray::GroupIndices)?;
    let (mut fits, mut are_flat) = (true, true);
    let arrays = [&inputs, &labels, &identifiers, &puzzles, &groups].map(Option::as_ref);
    faults(arrays, metadata.constants.seq_len, &mut |fault, array, entry, cause| {
        let is_side = matches!(array, SetArray::Inputs | SetArray::Labels);
        fits &= !is_side;
        are_flat &= is_side || fault != Fault::Shape;
        let path = path(array);
        let at = FindingPlace::file(&path);
        let at = entry.map_or(at, |entry| at.record("entry", entry));
        findings.add(check_of(fault), at, cause);
    });
    sums.unknown |= !are_flat || identifiers.is_none() || groups.is_none();
    if are_flat {
        if let Some(identifiers) = &identifiers {
            let path = path(SetArray::PuzzleIdentifiers);
            self::identifiers(identifiers, &path, metadata.num_puzzle_identifiers, findings);
        }
        sums.puzzles += identifiers.as_ref().map_or(0, Integers::rows);
        sums.groups += groups.as_ref().map_or(0, |groups| groups.rows().saturating_sub(1));
    }
    let examples = inputs.as_ref().map_or(0, Integers::rows);
    sums.examples += examples;
    if inputs.is_some() && examples == 0 {
        findings.add(&EMPTY, &path(SetArray::Inputs), "has no examples");
    }
    let (Some(inputs), Some(labels)) = (inputs, labels) else { return Ok(None) };
    let inputs_path = path(SetArray::Inputs);
    Ok(fits.then_some(ValidSet { inputs, labels, inputs_path, examples }))
}

fn check_of(fault: Fault) -> &'static Check {
    match fault {
        Fault::Shape => &SHAPE,
        Fault::SeqLen => &dataset::SEQ_LEN,
        Fault::Rows => &ROWS,
        Fault::Length => &LENGTH,
        Fault::Start => &START,
        Fault::Order => &ORDER,
        Fault::End => &END,
        Fault::EmptyPuzzle => &EMPTY_PUZZLE,
        Fault::EmptyGroup => &EMPTY_GROUP,
        Fault::Narrow => &NARROW,
    }
}

fn open(path: &Path, findings: &mut Findings<'_>) -> Result<Option<Integers>> {
    let file = match crate::files::open_member(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            findings.add(&MISSING, path, "is not there");
            return Ok(None);
        }
        Err(error) => return Err(Error::io(path, &error)),
    };
    match Integers::open(&file) {
        Ok(integers) => {
            let header = integers.header();
            let fortran = header.fortran_order && header.shape.len() > 1;
            if header.dtype != i32::default_dtype() || fortran {
                let order = if fortran { " in Fortran order" } else { "" };
                findings.add(
                    &DTYPE,
                    path,
                    format_args!("holds {}{order}", npy::descr(&header.dtype)),
                );
            }
            Ok(Some(integers))
        }
        Err(error @ npy::Error::Read(_)) => Err(Error::from(error).at(path)),
        Err(error) => {
            findings.add(&NPY, path, error);
            Ok(None)
        }
    }
}

fn identifiers(identifiers: &Integers, path: &Path, count: i64, findings: &mut Findings<'_>) {
    if !findings.wants(&IDENTIFIER) {
        return;
    }
    for (number, value) in (0u64..).zip(identifiers.values()) {
        if !(0..count).contains(&value) {
            let at = FindingPlace::file(path).record("puzzle", number);
            let message = format_args!("is {value}; num_puzzle_identifiers is {count}");
            findings.add(&IDENTIFIER, at, message);
        }
    }
}

/// Reports files of sets that `dataset.json` does not name.
pub(super) fn surplus(
    directory: &Path,
    sets: &[String],
    findings: &mut Findings<'_>,
) -> Result<()> {
    for path in files::paths_in(directory)? {
        let name = inventory::name_of(&path);
        let set = SetArray::ALL.into_iter().find_map(|array| array.set_of(&name));
        let is_surplus =
            |set: &&str| !set.starts_with('.') && !sets.iter().any(|known| known == set);
        if let Some(set) = set.filter(is_surplus) {
            findings.add(&SURPLUS, &path, format_args!("is of the set {set:?}"));
        }
    }
    Ok(())
}
