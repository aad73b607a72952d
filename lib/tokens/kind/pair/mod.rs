//! Pairs of answers: how they are counted, shown, compared and checked.

mod check;
mod diff;
mod stat;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::pairs::Pairs;
use crate::record::{PAIR, RecordKind, RecordType};

/// Pairs of answers.
pub struct PairKind;

impl RecordKind for PairKind {
    const RECORD: &'static RecordType = &PAIR;

    type Rows<'a> = Pairs<'a>;

    fn rows(batch: &RecordBatch) -> Result<Pairs<'_>, ArrowError> {
        Pairs::of(batch)
    }

    fn id<'r>(rows: &'r Pairs<'_>, row: usize) -> Option<&'r str> {
        rows.id(row)
    }
}
