//! Token sequences: how they are counted, shown, compared and checked.

mod check;
mod diff;
mod stat;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::tokens::Tokens;
use crate::record::{RecordKind, RecordType, TOKENS};

/// Token sequences.
pub struct TokensKind;

impl RecordKind for TokensKind {
    const RECORD: &'static RecordType = &TOKENS;

    type Rows<'a> = Tokens<'a>;

    fn rows(batch: &RecordBatch) -> Result<Tokens<'_>, ArrowError> {
        Tokens::of(batch)
    }

    fn id<'r>(rows: &'r Tokens<'_>, row: usize) -> Option<&'r str> {
        rows.id(row)
    }
}
