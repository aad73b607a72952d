//! What can be wrong with the arrays of a set. The reader refuses a set for the first fault, ds-check reports all.

use std::fmt::Arguments;

use super::SetArray;
use crate::npy::{self, Integers, Scalar, TypeChar};
use crate::wording::exactly;

/// The rule that an array breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Shape,
    SeqLen,
    /// Inputs and labels differ in their number.
    Rows,
    /// An index has not one entry more than there are puzzles.
    Length,
    Start,
    Order,
    End,
    EmptyPuzzle,
    EmptyGroup,
    /// Loaders that calculate in the type of an index get wrong numbers. (Here it is read in 64 bits.)
    Narrow,
}

/// Takes a fault with its array, its entry there, if it is of one, and the cause.
pub type Report<'r> = dyn FnMut(Fault, SetArray, Option<u64>, Arguments<'_>) + 'r;

/// Reports all faults of the arrays of a set, in the order of [`SetArray::ALL`]; an array that cannot be read is `None`.
pub fn faults(arrays: [Option<&Integers>; 5], seq_len: i64, report: &mut Report<'_>) {
    let [inputs, labels, identifiers, puzzles, groups] = arrays;
    for (array, side) in [(SetArray::Inputs, inputs), (SetArray::Labels, labels)] {
        match side.map(Integers::shape) {
            Some(&[_, length]) if i64::try_from(length) != Ok(seq_len) => {
                let length = exactly(length, "token");
                let cause = format_args!("its rows have {length}; seq_len is {seq_len}");
                report(Fault::SeqLen, array, None, cause);
            }
            None | Some([_, _]) => {}
            Some(shape) => {
                report(Fault::Shape, array, None, format_args!("has the shape {shape:?}"))
            }
        }
    }
    let examples = inputs.map(Integers::rows);
    if let (Some(examples), Some(answers)) = (examples, labels.map(Integers::rows))
        && examples != answers
    {
        let answers = exactly(answers, "example");
        let cause = format_args!("has {answers}, the inputs {examples}");
        report(Fault::Rows, SetArray::Labels, None, cause);
    }
    let mut are_flat = true;
    for (array, shape) in SetArray::ALL.into_iter().zip(arrays).skip(2) {
        if let Some(shape) = shape.map(Integers::shape).filter(|shape| shape.len() != 1) {
            are_flat = false;
            report(Fault::Shape, array, None, format_args!("has the shape {shape:?}"));
        }
    }
    if !are_flat {
        return;
    }
    let count = identifiers.map(Integers::rows);
    if let Some(puzzles) = puzzles {
        let array = SetArray::PuzzleIndices;
        if let Some(count) = count.filter(|count| puzzles.rows() != count + 1) {
            let (rows, puzzles) = (exactly(puzzles.rows(), "row"), exactly(count, "puzzle"));
            report(Fault::Length, array, None, format_args!("has {rows} for {puzzles}"));
        }
        index(puzzles, array, examples, ("examples", Fault::EmptyPuzzle), report);
    }
    if let Some(groups) = groups {
        index(groups, SetArray::GroupIndices, count, ("puzzles", Fault::EmptyGroup), report);
    }
}

/// Reports the faults of an index of starts, whose last value is the end; equal starts are the fault `empty`.
fn index(
    index: &Integers,
    array: SetArray,
    count: Option<u64>,
    (what, empty): (&str, Fault),
    report: &mut Report<'_>,
) {
    let dtype = &index.header().dtype;
    // A loader adds an offset in a puzzle, or the size of a batch, to a start.
    let largest = largest(dtype);
    let is_narrow = |count: u64| count.saturating_mul(2) > largest || largest <= 255;
    if let Some(count) = count.filter(|count| is_narrow(*count)) {
        let dtype = npy::descr(dtype);
        let cause = format_args!("holds {dtype}, not enough for {count} {what}");
        report(Fault::Narrow, array, None, cause);
    }
    let mut before: Option<i64> = None;
    for (number, value) in (0u64..).zip(index.values()) {
        match before {
            None if value != 0 => {
                let cause = format_args!("starts at {value}, not 0");
                report(Fault::Start, array, None, cause);
            }
            Some(before) if value == before => {
                let cause = format_args!("{before} is there twice, so it has no {what}");
                report(empty, array, Some(number - 1), cause);
            }
            Some(before) if value < before => {
                let cause = format_args!("{value} comes after {before}");
                report(Fault::Order, array, Some(number), cause);
            }
            _ => {}
        }
        before = Some(value);
    }
    match (before, count) {
        (None, _) => {
            let cause = format_args!("is empty, without the number of {what}");
            report(Fault::End, array, None, cause);
        }
        (Some(end), Some(count)) if u64::try_from(end) != Ok(count) => {
            let cause = format_args!("ends at {end}, not at the number of {what}, {count}");
            report(Fault::End, array, None, cause);
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
