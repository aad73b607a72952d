//! The record of games, beside what records share.

pub mod game;
pub mod statements;

pub use game::GAME;
pub use gristmill_stream::record::*;
