//! The kinds of all records.

pub use gristmill_chats::kinds::*;
#[cfg(feature = "games")]
pub use gristmill_games::kind as game;
#[cfg(feature = "games")]
pub use gristmill_games::kind::GameKind;
#[cfg(feature = "puzzles")]
pub use gristmill_puzzles::kind as puzzle;
#[cfg(feature = "puzzles")]
pub use gristmill_puzzles::kind::PuzzleKind;
pub use gristmill_tokens::kind as tokens;
pub use gristmill_tokens::kind::{PairKind, TokensKind};
