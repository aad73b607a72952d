//! The library of gristmill's filters.

pub mod puzzle;
