//! The filters between chats and masked tokens: functions from batch to batch, for the
//! [`Runner`](gristmill_stream::runner::Runner).

mod chat_tok;
mod chat_tok_args;
mod decode;
mod render;
mod span_mask;
mod vocabulary;

pub use chat_tok::{ChatTok, ChatTokSettings, Worker};
pub use chat_tok_args::{ModelArgs, UnseenReasoning};
pub use decode::decode;
pub use gristmill_chats::stage::*;
pub use render::{Budget, render};
pub use span_mask::MaskRules;
pub use vocabulary::describe_tokenizer;
