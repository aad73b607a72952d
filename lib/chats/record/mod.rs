//! The records of chats, beside what records share.

pub mod chat;
pub mod conversation;
pub mod decoded;
pub mod raw_synth;
pub mod segment;
pub mod statements;

pub use chat::CHAT;
pub use conversation::CONVERSATION;
pub use decoded::DECODED;
pub use gristmill_stream::record::*;
pub use raw_synth::RAW_SYNTH;
