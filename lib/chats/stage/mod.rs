//! The filters that make conversations: functions from batch to batch, for the
//! [`Runner`](gristmill_stream::runner::Runner).

mod chat;
mod chat_args;
mod chat_ids;
mod conversions;
mod synth;
mod synth_args;

pub use chat::{ChatHarmony, raw_json, true_reason};
pub use chat_args::{ChatArgs, ChatReadArgs};
pub use chat_ids::ChatIds;
pub use conversions::{ConversationOutputArgs, SourceArgs};
pub use gristmill_stream::stage::*;
pub use synth::{ReasoningEffort, Reference, SynthHarmony, SynthSettings};
pub use synth_args::SynthArgs;
