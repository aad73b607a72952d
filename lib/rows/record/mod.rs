//! The record of rows, beside those of the tokens in them.

pub mod row;

pub use gristmill_tokens::record::*;
pub use row::ROW;
