//! What can be wrong with a dataset: its index, alone and against its `.bin`, and beside the tokens of its triple. Readers
//! refuse the first fault, ds-check reports all.

use std::fmt::Arguments;
use std::io;
use std::ops::Range;

use super::{MmidxDataset, MmidxIndex};
use crate::error::{At, Error, Result};
use crate::wording::exactly;

/// How many entries of an index are read at a time.
const BLOCK: usize = 1 << 16;

/// The rule that a dataset breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Length,
    /// A sequence does not begin where the one before it ends.
    Pointer,
    /// The `.bin` does not have the bytes that the lengths need.
    Bytes,
    Documents,
    /// The number, the lengths and the documents of its sequences are not those of the tokens.
    OtherCount,
    OtherLength,
    OtherDocuments,
}

/// Takes a fault, the number of its sequence, if it is of one, and the cause.
pub type Report<'r> = dyn FnMut(Fault, Option<u64>, Arguments<'_>) + 'r;

/// Reports the faults of a dataset in which each sequence has at least so many values; returns the sum of all lengths.
pub fn layout_faults(
    dataset: &MmidxDataset,
    least: i32,
    report: &mut Report<'_>,
) -> io::Result<u64> {
    let index = &dataset.index;
    let size = index.dtype.size() as i64;
    let (mut lengths, mut offsets) = (Vec::new(), Vec::new());
    let mut sum = 0u64;
    // The offset at which the next sequence must begin: the end of the one before it.
    let mut next = 0i64;
    for first in (0..index.sequences).step_by(BLOCK) {
        index.read_lengths(first, BLOCK, &mut lengths)?;
        index.read_offsets(first, BLOCK, &mut offsets)?;
        for ((sequence, &length), &offset) in (first..).zip(&lengths).zip(&offsets) {
            if length < least {
                report(Fault::Length, Some(sequence), format_args!("its length is {length}"));
            }
            if offset != next {
                let cause = format_args!("begins at byte {offset}, not {next}");
                report(Fault::Pointer, Some(sequence), cause);
            }
            next = offset.saturating_add(i64::from(length) * size);
            sum = sum.saturating_add(u64::try_from(length).unwrap_or(0));
        }
    }
    let expected = u128::from(sum) * size as u128;
    let found = dataset.bin_bytes();
    if u128::from(found) != expected {
        let found = exactly(found, "byte");
        report(Fault::Bytes, None, format_args!("has {found}; its lengths need {expected}"));
    }
    document_faults(index, &mut |cause| report(Fault::Documents, None, cause))?;
    Ok(sum)
}

fn document_faults(index: &MmidxIndex, bad: &mut dyn FnMut(Arguments<'_>)) -> io::Result<()> {
    if index.document_indices == 0 {
        bad(format_args!("has none; the first is 0 and the last the number of sequences"));
        return Ok(());
    }
    let mut documents = Vec::new();
    let mut before = 0i64;
    for first in (0..index.document_indices).step_by(BLOCK) {
        index.read_documents(first, BLOCK, &mut documents)?;
        for (number, &document) in (first..).zip(&documents) {
            if number == 0 && document != 0 {
                bad(format_args!("the first is {document}, not 0"));
            } else if document < before {
                bad(format_args!("number {number} is {document}, after {before}"));
            }
            before = document;
        }
    }
    let sequences = index.sequences;
    if u64::try_from(before).ok() != Some(sequences) {
        bad(format_args!("the last is {before}, not the number of sequences {sequences}"));
    }
    Ok(())
}

/// Reports how the sequences and documents of a mask or span differ from those of its tokens; of documents only the
/// first.
pub fn differences(
    tokens: &MmidxIndex,
    other: &MmidxIndex,
    report: &mut Report<'_>,
) -> io::Result<()> {
    if tokens.sequences != other.sequences {
        let sequences = exactly(other.sequences, "sequence");
        let cause = format_args!("has {sequences}, the tokens have {}", tokens.sequences);
        report(Fault::OtherCount, None, cause);
        return Ok(());
    }
    other_lengths(tokens, other, &(0..tokens.sequences), report)?;
    let [wanted, found] = [tokens, other].map(|index| index.document_indices);
    if wanted != found {
        let found = exactly(found, "document index");
        let cause = format_args!("has {found}, the tokens have {wanted}");
        report(Fault::OtherDocuments, None, cause);
        return Ok(());
    }
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    for first in (0..tokens.document_indices).step_by(BLOCK) {
        tokens.read_documents(first, BLOCK, &mut wanted)?;
        other.read_documents(first, BLOCK, &mut found)?;
        let mut pairs = (first..).zip(wanted.iter().zip(&found));
        if let Some((number, (x, y))) = pairs.find(|(_, (x, y))| x != y) {
            let cause = format_args!("document index {number} is {y}, in the tokens {x}");
            report(Fault::OtherDocuments, None, cause);
            return Ok(());
        }
    }
    Ok(())
}

fn other_lengths(
    tokens: &MmidxIndex,
    other: &MmidxIndex,
    rows: &Range<u64>,
    report: &mut Report<'_>,
) -> io::Result<()> {
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    for first in rows.clone().step_by(BLOCK) {
        let count = BLOCK.min((rows.end - first) as usize);
        tokens.read_lengths(first, count, &mut wanted)?;
        other.read_lengths(first, count, &mut found)?;
        for ((row, x), y) in (first..).zip(&wanted).zip(&found).filter(|((_, x), y)| x != y) {
            let cause = format_args!("has {}, its tokens are {x}", exactly(*y, "value"));
            report(Fault::OtherLength, Some(row), cause);
        }
    }
    Ok(())
}

/// Refuses a dataset whose bytes and numbers do not match.
pub fn check_layout(dataset: &MmidxDataset) -> Result<()> {
    refuse_first(dataset, |report| layout_faults(dataset, 0, report).map(drop))
}

/// Refuses datasets that are not aligned with the first of them.
pub fn check_aligned(datasets: &[MmidxDataset]) -> Result<()> {
    let Some((tokens, others)) = datasets.split_first() else { return Ok(()) };
    others.iter().try_for_each(|other| {
        refuse_first(other, |report| differences(&tokens.index, &other.index, report))
    })
}

/// Refuses datasets in which these sequences do not have the length that they have in the first.
pub fn check_lengths(datasets: &[MmidxDataset], rows: &Range<u64>) -> Result<()> {
    let Some((tokens, others)) = datasets.split_first() else { return Ok(()) };
    others.iter().try_for_each(|other| {
        refuse_first(other, |report| match other.index.sequences < rows.end {
            true => differences(&tokens.index, &other.index, report),
            false => other_lengths(&tokens.index, &other.index, rows, report),
        })
    })
}

fn refuse_first(
    dataset: &MmidxDataset,
    find: impl FnOnce(&mut Report<'_>) -> io::Result<()>,
) -> Result<()> {
    let mut first = Ok(());
    let report = &mut |fault, sequence: Option<u64>, cause: Arguments<'_>| {
        if first.is_ok() {
            let path = if fault == Fault::Bytes { dataset.bin_path() } else { dataset.idx_path() };
            let cause = match (fault, sequence) {
                (Fault::Documents, _) => format!("document indices: {cause}"),
                (_, Some(sequence)) => format!("sequence {sequence} {cause}"),
                (_, None) => cause.to_string(),
            };
            first = Err(Error::data(cause).at(path));
        }
    };
    find(report).at(dataset.idx_path())?;
    first
}
