//! The format of puzzle sets on disk, with its page beside it.

pub mod puzzle_dir;

pub use gristmill_stream::format::*;
