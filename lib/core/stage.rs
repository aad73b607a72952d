//! The stages of all subjects.

pub use gristmill_rows::stage::*;
