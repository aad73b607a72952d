//! The kinds of all records.

pub use gristmill_chats::kinds::*;
pub use gristmill_games::kind as game;
pub use gristmill_games::kind::GameKind;
pub use gristmill_puzzles::kind as puzzle;
pub use gristmill_puzzles::kind::PuzzleKind;
pub use gristmill_tokens::kind as tokens;
pub use gristmill_tokens::kind::TokensKind;
