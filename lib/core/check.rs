//! The checks of all subjects.

#[cfg(feature = "games")]
pub use gristmill_games::check::{GameGate, PoolFamily, check_game};
#[cfg(feature = "puzzles")]
pub use gristmill_puzzles::check::{DomainExample, DomainSaid, PuzzleGate, PuzzleSetFamily};
pub use gristmill_rows::check::*;
