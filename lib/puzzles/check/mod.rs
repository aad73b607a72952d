//! The checks of puzzle sets.

mod puzzle;

pub use gristmill_stream::check::*;
pub use puzzle::{DomainExample, DomainSaid, PuzzleGate, PuzzleSetFamily};
