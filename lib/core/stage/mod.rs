//! What filters do to batches: functions from batch to batch, for the
//! [`Runner`](crate::runner::Runner).

mod chat;
mod chat_args;
mod chat_ids;
mod chat_tok;
mod chat_tok_args;
mod conversions;
mod decode;
mod json_members;
mod render;
mod span_mask;
mod synth;
mod synth_args;
mod vocabulary;

pub use chat::ChatHarmony;
pub use chat_args::{ChatArgs, ChatReadArgs};
pub use chat_tok::{ChatTok, ChatTokSettings, Worker};
pub use chat_tok_args::{ModelArgs, UnseenReasoning};
pub use conversions::{ConversationOutputArgs, SourceArgs};
pub use decode::decode;
pub use json_members::check_json_members;
pub use render::{Budget, render};
pub use span_mask::MaskRules;
pub use synth::{ReasoningEffort, Reference, SynthHarmony, SynthSettings};
pub use synth_args::SynthArgs;
pub use vocabulary::describe_tokenizer;
