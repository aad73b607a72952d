//! Harmony conversations: from the JSON of their messages to tokens, and back.
//!
//! The reference is the official Python package `openai-harmony` 0.0.8 with `auto_drop_analysis` off, as
//! the SYNTH pipeline ran it. Conversations that it accepts are rendered to the same tokens; those that it
//! refuses are refused. Masks and splits are not made here.

mod content;
mod decode;
mod error;
mod field;
mod header;
mod memo;
mod message;
mod number;
mod render;
mod segment;
mod spans;
mod text_spans;
mod tools;
mod typescript;
mod unrendered;
mod value;

use crate::batch::Header;
use crate::record::statements::POLICY;

pub use content::{OF_PARTS, is_of_parts};
pub use decode::{DecodedConversation, DecodedMessage, decode};
pub use error::RenderError;
pub use header::why_no_word;
pub use header::{StructureError, places_from, segments_of};
pub use render::{RenderOutput, Renderer};
pub use segment::{Channel, Segment, Segments};
pub use spans::{Alignment, ChannelSpan, Spans, is_unsupervised, loss_mask, unsupervised};
pub use text_spans::{control_places, places_of, spans_of, text_spans};
pub use typescript::why_no_property;
pub use unrendered::IgnoredFields;

/// Which conversations are rendered; the rendering itself is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Policy {
    /// Accepts the roles system, developer, user and assistant. Every assistant message must be in
    /// channel `analysis` or `final`, there must be at least one, and a developer may have no
    /// function tools beside a system message that names channels.
    SynthKdV1,
    /// Accepts all that the official renderer accepts.
    Chat,
}

impl Policy {
    /// Returns its name on command lines and in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Policy::SynthKdV1 => "synth-kd-v1",
            Policy::Chat => "chat",
        }
    }

    /// Returns the policy with this name.
    pub fn from_name(name: &str) -> Option<Policy> {
        [Policy::SynthKdV1, Policy::Chat].into_iter().find(|policy| policy.name() == name)
    }

    /// Returns the policy that a header states, if it is known.
    pub fn of_header(header: &Header) -> Option<Policy> {
        header.get(&POLICY).and_then(|name| Policy::from_name(&name))
    }
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

impl Role {
    /// Returns the role's name in JSON and in the header (a tool's header has the tool's name
    /// instead).
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }

    /// Returns the role with this name.
    pub fn from_name(name: &str) -> Option<Role> {
        [Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool]
            .into_iter()
            .find(|role| role.as_str() == name)
    }
}

#[cfg(test)]
mod tests;
