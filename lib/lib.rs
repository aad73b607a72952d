//! The library of gristmill's filters.

pub mod cli;
pub mod format;
pub mod harmony;
pub mod json;
pub mod record;
pub mod stream;
pub mod tokenizer;
