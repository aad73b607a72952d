//! The record of games, beside what records share.

pub mod game;

pub use game::GAME;
pub use gristmill_stream::record::*;
