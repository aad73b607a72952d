//! The records of all subjects.

#[cfg(feature = "games")]
pub use gristmill_games::record::{GAME, game};
#[cfg(feature = "puzzles")]
pub use gristmill_puzzles::record::{PUZZLE, puzzle};
pub use gristmill_rows::record::*;

/// What headers state of them.
pub mod statements {
    #[cfg(feature = "games")]
    pub use gristmill_games::record::statements::*;
    #[cfg(feature = "puzzles")]
    pub use gristmill_puzzles::record::statements::*;
    pub use gristmill_tokens::record::statements::*;

    /// The statements of all crates, for the table in SPEC.md.
    pub static STATEMENTS: &[&[[&str; 3]]] = &[
        crate::batch::STATEMENTS,
        gristmill_chats::record::statements::STATEMENTS,
        gristmill_tokens::record::statements::STATEMENTS,
        #[cfg(feature = "games")]
        gristmill_games::record::statements::STATEMENTS,
        #[cfg(feature = "puzzles")]
        gristmill_puzzles::record::statements::STATEMENTS,
    ];
}
