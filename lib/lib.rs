//! The library of gristmill's filters.

pub mod harmony;
pub mod json;
pub mod tokenizer;
