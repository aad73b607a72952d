//! The filters between chats and masked tokens: functions from batch to batch, for the
//! [`Runner`](gristmill_stream::runner::Runner).

mod chat_tok;
mod chat_tok_args;
mod decode;
mod harmony_renderer;
mod lengths;
mod pairs;
mod render;
mod sequences;
mod span_mask;
mod spelled;
mod template_pairs;
mod template_renderer;
mod template_turns;
mod token_header;

pub use chat_tok::{ChatTok, ChatTokWorker, Renderer, Rendering};
pub use chat_tok_args::{ModelArgs, OpenModel};
pub use decode::decode;
pub use gristmill_chats::stage::*;
pub use lengths::{LengthArgs, LengthLimit};
pub use render::{Budget, render};
pub use sequences::Sequences;
pub use span_mask::MaskRules;
pub use spelled::SpelledControl;
pub use token_header::TokensOf;
