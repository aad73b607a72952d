//! The filters that make conversations: functions from batch to batch, for the
//! [`Runner`](gristmill_stream::runner::Runner).

mod chat;
mod chat_args;
mod chat_ids;
mod chats;
mod conversions;
mod synth;
mod synth_args;

pub use chat::{ChatHarmony, WITHOUT_THINKING};
pub use chat_args::{ChatArgs, OldChatArgs};
pub use chats::{Chats, FromChats};
pub use conversions::{ConversationOutputArgs, SourceArgs};
pub use gristmill_stream::stage::*;
pub use synth::{ReasoningEffort, Reference, SynthHarmony, SynthSettings};
pub use synth_args::SynthArgs;
