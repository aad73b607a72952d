//! What filters do to batches: functions from batch to batch, for the
//! [`Runner`](crate::runner::Runner).

mod chat;
mod chat_args;
mod chat_ids;
mod chat_tok;
mod chat_tok_args;
mod chats;
mod conversions;
mod decode;
mod harmony_renderer;
mod json_members;
mod render;
mod span_mask;
mod synth;
mod synth_args;
mod template_renderer;
mod token_header;

pub use chat::ChatHarmony;
pub use chat_args::{ChatArgs, OldChatArgs};
pub use chat_tok::{ChatTok, ChatTokWorker, Renderer, Rendering, Sequences};
pub use chat_tok_args::{ModelArgs, OpenModel};
pub use chats::Chats;
pub use conversions::{ConversationOutputArgs, SourceArgs};
pub use decode::decode;
pub use json_members::check_json_members;
pub use render::{Budget, render};
pub use span_mask::MaskRules;
pub use synth::{ReasoningEffort, Reference, SynthHarmony, SynthSettings};
pub use synth_args::SynthArgs;
pub use token_header::TokensOf;
