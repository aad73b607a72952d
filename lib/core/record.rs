//! The records of all subjects.

#[cfg(feature = "games")]
pub use gristmill_games::record::{GAME, game};
#[cfg(feature = "puzzles")]
pub use gristmill_puzzles::record::{PUZZLE, puzzle};
pub use gristmill_tokens::record::*;
