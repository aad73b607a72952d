//! Why a conversation was refused.

use std::borrow::Cow;
use std::fmt;

use super::Policy;
use crate::json;

/// The cause in one line, with the number of its message, from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{cause}", message.map(|index| format!("message {index}: ")).unwrap_or_default())]
pub struct RenderError {
    /// The message with the error, if it is in one message.
    pub message: Option<usize>,
    /// The cause alone.
    pub cause: Cow<'static, str>,
}

impl RenderError {
    pub(super) fn new(cause: impl Into<Cow<'static, str>>) -> Self {
        RenderError { message: None, cause: cause.into() }
    }

    /// Makes the error for a conversation that one policy refuses and another accepts.
    pub(super) fn of_policy(cause: impl fmt::Display) -> Self {
        RenderError::new(format!("{cause}; try: --policy {}", Policy::Chat.name()))
    }

    /// Returns the same error with the message's index, unless it has one.
    pub(super) fn in_message(mut self, index: usize) -> Self {
        self.message.get_or_insert(index);
        self
    }

    /// Returns the same error with the index of the message's part.
    pub(super) fn within(mut self, place: impl fmt::Display) -> Self {
        self.cause = format!("{place}: {}", self.cause).into();
        self
    }
}

impl From<json::Error> for RenderError {
    fn from(error: json::Error) -> Self {
        RenderError::new(error.to_string())
    }
}
