//! How records of each type are counted, shown, compared and checked: a folder for each type, with a file for each of
//! these modules. Each module has a trait for the view of a type's rows; the code here implements these traits, and is
//! called only through them.
//!
//! | file | implements | so that records are |
//! |---|---|---|
//! | `stat.rs` | `stat::StatView`, [`stat::Numbers`](crate::stat::Numbers) | counted, in text and on a page |
//! | `view.rs` | `view::RecordView` | shown, in a terminal and on a page |
//! | `diff.rs` | `diff::DiffView` | compared |
//! | `check.rs` | `check::CheckView` | checked in streams and files |
//!
//! A type without a folder is counted and compared as columns, and shown as fields.

mod conversation;
mod game;
mod puzzle;
mod tokens;

pub use conversation::ConversationKind;
pub use game::GameKind;
pub use puzzle::PuzzleKind;
pub use tokens::TokensKind;
