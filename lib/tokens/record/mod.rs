//! The records of token sequences, beside what records share.

pub mod ids;
pub mod pairs;
pub mod statements;
pub mod tokens;

pub use gristmill_chats::record::*;
pub use pairs::PAIR;
pub use tokens::TOKENS;
