//! The formats of rows on disk, one folder each, with its page beside it.

pub mod foreign_rows;
pub mod forms;
pub mod pair_rows;
mod runs;
pub mod token_rows;

pub use gristmill_tokens::format::*;
