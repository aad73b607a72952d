//! The checks of all subjects.

pub use gristmill_games::check::{GameGate, PoolFamily, check_game};
pub use gristmill_puzzles::check::{DomainExample, DomainSaid, PuzzleGate, PuzzleSetFamily};
pub use gristmill_tokens::check::*;
