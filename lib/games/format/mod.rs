//! The formats of games on disk, one folder each, with its page beside it.

pub mod metadata_db;
pub mod pack;
pub mod pools;
pub mod raw_games;

pub use gristmill_stream::format::*;
