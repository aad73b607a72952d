//! Datasets beside each other: a mask or span has the sequences and documents of its tokens. Readers refuse the first
//! difference, ds-check reports all.

use std::fmt::Arguments;
use std::io;
use std::ops::Range;

use super::{MmidxDataset, MmidxIndex};
use crate::error::{At, Error, Result};
use crate::wording::exactly;

/// How many entries of an index are read at a time.
const BLOCK: usize = 1 << 16;

/// In what two datasets differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    Count,
    Length,
    Documents,
}

/// Takes a difference, the number of its sequence, if it is of one, and the cause.
pub type Report<'r> = dyn FnMut(Difference, Option<u64>, Arguments<'_>) + 'r;

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
        report(Difference::Count, None, cause);
        return Ok(());
    }
    other_lengths(tokens, other, &(0..tokens.sequences), report)?;
    let [wanted, found] = [tokens, other].map(|index| index.document_indices);
    if wanted != found {
        let found = exactly(found, "document index");
        let cause = format_args!("has {found}, the tokens have {wanted}");
        report(Difference::Documents, None, cause);
        return Ok(());
    }
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    for first in (0..tokens.document_indices).step_by(BLOCK) {
        tokens.read_documents(first, BLOCK, &mut wanted)?;
        other.read_documents(first, BLOCK, &mut found)?;
        let mut pairs = (first..).zip(wanted.iter().zip(&found));
        if let Some((number, (x, y))) = pairs.find(|(_, (x, y))| x != y) {
            let cause = format_args!("document index {number} is {y}, in the tokens {x}");
            report(Difference::Documents, None, cause);
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
            report(Difference::Length, Some(row), cause);
        }
    }
    Ok(())
}

/// Refuses datasets that are not aligned with the first of them.
pub fn check_aligned(datasets: &[MmidxDataset]) -> Result<()> {
    refuse_first(datasets, differences)
}

/// Refuses datasets in which these sequences do not have the length that they have in the first.
pub fn check_lengths(datasets: &[MmidxDataset], rows: &Range<u64>) -> Result<()> {
    refuse_first(datasets, |tokens, other, report| match other.sequences < rows.end {
        true => differences(tokens, other, report),
        false => other_lengths(tokens, other, rows, report),
    })
}

fn refuse_first(
    datasets: &[MmidxDataset],
    differ: impl Fn(&MmidxIndex, &MmidxIndex, &mut Report<'_>) -> io::Result<()>,
) -> Result<()> {
    let Some((tokens, others)) = datasets.split_first() else { return Ok(()) };
    for other in others {
        let mut first = None;
        let report = &mut |_, row: Option<u64>, cause: Arguments<'_>| {
            let row = || row.map_or(String::new(), |row| format!("sequence {row} "));
            first.get_or_insert_with(|| format!("{}{cause}", row()));
        };
        differ(&tokens.index, &other.index, report).at(other.idx_path())?;
        if let Some(cause) = first {
            return Err(Error::data(cause).at(other.idx_path()));
        }
    }
    Ok(())
}
