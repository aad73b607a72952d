//! The records of all subjects.

pub use gristmill_games::record::{GAME, game};
pub use gristmill_puzzles::record::{PUZZLE, puzzle};
pub use gristmill_tokens::record::*;
