//! The record of puzzles, beside what records share.

pub mod puzzle;
pub mod statements;

pub use gristmill_stream::record::*;
pub use puzzle::PUZZLE;
