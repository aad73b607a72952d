//! Whether two datasets or streams hold the same records, and if not, where they differ: the work of
//! `ds-diff`.
//!
//! | file | what |
//! |---|---|
//! | `parts.rs` | records as they are compared: in parts, which `lib/chats/kinds` has of each type |
//! | `side.rs` | one of the two inputs, record by record |
//! | `waiting.rs` | records of one side whose partner has not come yet |
//! | `moved.rs` | how many records have moved, of very many |
//! | `compare.rs` | both sides, aligned: by ids where both have them, else by what they hold |
//! | `report.rs` | what was found, as text and JSON |
//!
//! Almost all records follow one another in the same order on both sides, and are compared in place.
//! Other records wait for their partner. With ids they wait to the end (beyond `waiting::WINDOW` records
//! only their hashes wait, on disk); without ids only within that window.

mod compare;
mod moved;
mod parts;
mod report;
mod side;
mod waiting;

pub use compare::{DiffOptions, DiffResult, compare, compare_within};
pub use parts::{
    ComparedRows, DiffKind, DiffRecord, DiffView, KINDS, PARTS, SideBatch, first_different, hash,
    in_a_line, pair, plain_json, shown_texts,
};
