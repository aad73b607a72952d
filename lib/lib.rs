//! The library of gristmill's filters.
