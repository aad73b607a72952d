//! How records of each type are counted, shown, compared and checked: a folder for each type, with a file for what each
//! of the frames asks. The frames know no type: `subjects` hands the kinds down to them.
//!
//! | file | implements | so that records are |
//! |---|---|---|
//! | `stat.rs` | `stat::StatView`, [`stat::Numbers`](crate::stat::Numbers) | counted, in text and on a page |
//! | `view.rs` | `view::ViewKind`, [`view::Look`](crate::view::Look), [`view::Shown`](crate::view::Shown) | shown, in a terminal and on a page |
//! | `diff.rs` | `diff::DiffView` | compared |
//! | `check.rs` | `check::CheckKind` | checked in streams and files |
//!
//! What a type does not have here is common to all: its records are counted and compared as columns, shown as fields,
//! and checked as far as their encoding goes.

pub mod conversation;
pub mod decoded;

pub use conversation::ConversationKind;
pub use decoded::DecodedKind;
