//! Whether two datasets or streams hold the same records, and if not, where: what `ds-diff` says.
//!
//! | file | what |
//! |---|---|
//! | `parts.rs` | records as they are compared: in parts, which `lib/core/kinds` has of each type |
//! | `side.rs` | one of the two inputs, record by record |
//! | `waiting.rs` | records of one side whose partner has not come yet |
//! | `moved.rs` | how many records have moved, of very many |
//! | `compare.rs` | both sides, aligned: by ids where both have them, else by what they hold |
//! | `report.rs` | what was found, as text and JSON |
//!
//! Records that follow one another equally on both sides, almost all, are compared where they lie.
//! Where they do not, records wait for their partner: with an id however long (beyond
//! `waiting::WINDOW` of them only their hashes, on disk), else within that window.

mod compare;
mod moved;
mod parts;
mod report;
mod side;
#[cfg(test)]
mod tests;
mod waiting;

pub use compare::{DiffOptions, DiffResult, compare};
pub(crate) use parts::{
    DiffRecord, DiffView, PARTS, first_different, hash, in_a_line, pair, plain_json, shown_texts,
};
