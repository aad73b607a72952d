//! The formats of token sequences on disk, one folder each, with its page beside it.

pub mod kd_root;
pub mod mmidx;
pub mod sequence_records;

pub use gristmill_chats::format::*;
