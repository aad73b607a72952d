//! Token sequences: how they are counted, shown, compared and checked.
//!
//! | file | what |
//! |---|---|
//! | `check.rs`, `diff.rs`, `stat.rs`, `view.rs` | what the frames ask for |
//! | `sequence.rs` | tokens and masks as messages |
//! | `texts.rs` | the texts of tokens |
//! | `pair` | pairs of answers: the same for them |

mod check;
mod diff;
mod pair;
mod sequence;
mod stat;
#[cfg(test)]
mod tests;
mod texts;
mod view;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::record::tokens::Tokens;
use crate::record::{RecordKind, RecordType, TOKENS};

pub use pair::PairKind;
pub use texts::{TokenRow, TokenTexts, around};

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
