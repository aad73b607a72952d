//! What can be done with records of each type: a folder for a type, and in it a file for each room. A room says in a
//! trait what it asks of the view of a type's rows; nothing here is called by its name.
//!
//! | file | implements | so that records are |
//! |---|---|---|
//! | `stat.rs` | [`stat::StatView`](crate::stat::Measured), [`stat::Numbers`](crate::stat::Numbers) | counted, in text and on a page |
//! | `view.rs` | `view::RecordView` | shown, in a terminal and on a page |
//! | `diff.rs` | `diff::DiffView` | compared |
//! | `check.rs` | `check::CheckView` | checked in streams and files |
//!
//! A type without a folder is counted and compared as columns, and shown as fields.

mod conversation;
mod game;
mod puzzle;
mod tokens;
