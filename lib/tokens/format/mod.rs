//! The formats of token sequences on disk, one folder each, with its page beside it.

pub mod foreign_rows;
pub mod forms;
pub mod kd_root;
pub mod mmidx;
pub mod pair_rows;
mod sequence_records;
pub mod token_rows;

pub use gristmill_chats::format::*;
