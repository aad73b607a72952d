//! The library of gristmill's filters.

pub mod format;
pub mod game2048;
pub mod json;
