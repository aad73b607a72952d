//! Checks the five arrays of a set: they exist, are complete, have integers and the right shapes; and both
//! indices divide them into puzzles and groups without a gap.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::dataset;
use crate::check::inventory;
use crate::check::{Check, FindingPlace, Findings, checks};
use crate::error::{Error, Result, shown};
use crate::files;
use crate::format::puzzle_dir::{SetArray, SplitMetadata};
use crate::npy::{self, AutoSerialize, Integers, Scalar, TypeChar};
use crate::wording::exactly;

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
    let index = IndexArrays {
        identifiers: open(SetArray::PuzzleIdentifiers)?,
        puzzles: open(SetArray::PuzzleIndices)?,
        groups: open(SetArray::GroupIndices)?,
    };
    let seq_len = metadata.constants.seq_len;
    let mut fits = true;
    for (array, integers) in [(SetArray::Inputs, &inputs), (SetArray::Labels, &labels)] {
        let Some(integers) = integers else { continue };
        match integers.shape() {
            [_, length] if i64::try_from(*length) == Ok(seq_len) => continue,
            [_, length] => {
                dataset::wrong_seq_len(
                    FindingPlace::file(&path(array)),
                    seq_len,
                    *length,
                    findings,
                );
            }
            other => findings.add(&SHAPE, &path(array), format_args!("has the shape {other:?}")),
        }
        fits = false;
    }
    let examples = inputs.as_ref().map(Integers::rows);
    index.check(path, examples, metadata, sums, findings);
    sums.examples += examples.unwrap_or(0);
    if examples == Some(0) {
        findings.add(&EMPTY, &path(SetArray::Inputs), "has no examples");
    }
    let (Some(inputs), Some(labels)) = (inputs, labels) else { return Ok(None) };
    let (examples, answers) = (inputs.rows(), labels.rows());
    if examples != answers {
        let message = format_args!("has {}, the inputs {examples}", exactly(answers, "example"));
        findings.add(&ROWS, &path(SetArray::Labels), message);
        return Ok(None);
    }
    let inputs_path = path(SetArray::Inputs);
    Ok(fits.then_some(ValidSet { inputs, labels, inputs_path, examples }))
}

/// The arrays that cut a set into puzzles and groups; `None` if one cannot be read.
struct IndexArrays {
    identifiers: Option<Integers>,
    puzzles: Option<Integers>,
    groups: Option<Integers>,
}

impl IndexArrays {
    fn check(
        &self,
        path: impl Fn(SetArray) -> PathBuf,
        examples: Option<u64>,
        metadata: &SplitMetadata,
        sums: &mut dataset::Sums,
        findings: &mut Findings<'_>,
    ) {
        let arrays = [
            (SetArray::PuzzleIdentifiers, &self.identifiers),
            (SetArray::PuzzleIndices, &self.puzzles),
            (SetArray::GroupIndices, &self.groups),
        ];
        let mut are_flat = true;
        for (array, integers) in arrays {
            let shape = integers.as_ref().map(Integers::shape);
            if let Some(shape) = shape.filter(|shape| shape.len() != 1) {
                are_flat = false;
                findings.add(&SHAPE, &path(array), format_args!("has the shape {shape:?}"));
            }
        }
        sums.unknown |= !are_flat || self.identifiers.is_none() || self.groups.is_none();
        if !are_flat {
            return;
        }
        let count = self.identifiers.as_ref().map(Integers::rows);
        if let Some(puzzles) = &self.puzzles {
            let path = path(SetArray::PuzzleIndices);
            if let Some(count) = count.filter(|count| puzzles.rows() != count + 1) {
                let (rows, puzzles) = (exactly(puzzles.rows(), "row"), exactly(count, "puzzle"));
                let message = format_args!("has {rows} for {puzzles}");
                findings.add(&LENGTH, &path, message);
            }
            index(puzzles, &path, examples, "examples", &EMPTY_PUZZLE, findings);
        }
        if let Some(groups) = &self.groups {
            index(groups, &path(SetArray::GroupIndices), count, "puzzles", &EMPTY_GROUP, findings);
        }
        if let Some(identifiers) = &self.identifiers {
            let (path, names) =
                (path(SetArray::PuzzleIdentifiers), metadata.num_puzzle_identifiers);
            self::identifiers(identifiers, &path, names, findings);
        }
        sums.puzzles += count.unwrap_or(0);
        sums.groups += self.groups.as_ref().map_or(0, |groups| groups.rows().saturating_sub(1));
    }
}

fn open(path: &Path, findings: &mut Findings<'_>) -> Result<Option<Integers>> {
    let file = match crate::files::open_member(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            findings.add(&MISSING, path, "is not there");
            return Ok(None);
        }
        Err(error) => return Err(Error::io(shown(path), &error)),
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

/// Checks an index of starts, whose last value is the end.
fn index(
    index: &Integers,
    path: &Path,
    cut: Option<u64>,
    what: &str,
    empty: &'static Check,
    findings: &mut Findings<'_>,
) {
    let at = FindingPlace::file(path);
    // A loader adds an offset in a puzzle, or the size of a batch, to a start.
    let largest = largest(&index.header().dtype);
    let is_narrow = |count: u64| count.saturating_mul(2) > largest || largest <= 255;
    if let Some(count) = cut.filter(|count| is_narrow(*count)) {
        let dtype = npy::descr(&index.header().dtype);
        findings.add(&NARROW, at, format_args!("holds {dtype}, not enough for {count} {what}"));
    }
    let mut before: Option<i64> = None;
    for (number, value) in (0u64..).zip(index.values()) {
        match before {
            None if value != 0 => {
                findings.add(&START, at, format_args!("starts at {value}, not 0"));
            }
            Some(before) if value == before => {
                let message = format_args!("{before} is there twice, so it has no {what}");
                findings.add(empty, at.record("entry", number - 1), message);
            }
            Some(before) if value < before => {
                let message = format_args!("{value} comes after {before}");
                findings.add(&ORDER, at.record("entry", number), message);
            }
            _ => {}
        }
        before = Some(value);
    }
    match (before, cut) {
        (None, _) => {
            findings.add(&END, at, format_args!("is empty, without the number of {what}"));
        }
        (Some(end), Some(count)) if u64::try_from(end) != Ok(count) => {
            findings.add(
                &END,
                at,
                format_args!("ends at {end}, not at the number of {what}, {count}"),
            );
        }
        _ => {}
    }
}

/// Returns the largest number of an integer type.
fn largest(dtype: &npy::DType) -> u64 {
    let Some(scalar) = Scalar::of(dtype) else { return u64::MAX };
    let is_signed = scalar.kind == TypeChar::Int;
    let bits = 8 * scalar.bytes.min(8) as u32 - u32::from(is_signed);
    u64::MAX >> (64 - bits.clamp(1, 64))
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
