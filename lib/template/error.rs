//! Errors of templates and renderings.

use crate::turns::UnseenText;

/// An error; its text has one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The template cannot be parsed.
    #[error("template line {line}: {}", one_line(.cause))]
    Syntax {
        /// From 1.
        line: usize,
        /// In jinja2's words where there are some.
        cause: String,
    },
    /// The template called `raise_exception`; these are its words.
    #[error("the template refuses the chat: {}", one_line(.0))]
    Raised(String),
    /// An operation that Python refuses.
    #[error("template line {line}: {}", one_line(.cause))]
    Runtime {
        /// From 1.
        line: usize,
        /// In Python's words where there are some.
        cause: String,
    },
    /// The template uses something that this crate does not support, or that differs from run to run.
    #[error("template line {line}: {}", one_line(.cause))]
    Unsupported {
        /// From 1.
        line: usize,
        /// What the template uses.
        cause: String,
    },
    /// The template or its rendering exceeds a limit.
    #[error("template line {line}: {cause}")]
    Limit {
        /// From 1.
        line: usize,
        /// Which limit.
        cause: &'static str,
    },
    /// A turn of the assistant is not found in the text.
    #[error("message {message}: {}", one_line(.cause))]
    Turn {
        /// The place of its message.
        message: usize,
        /// Why.
        cause: String,
    },
    /// `{% generation %}` names another range than the one that is found.
    #[error("message {message}: {}", one_line(.cause))]
    Generation {
        /// The place of its message.
        message: usize,
        /// Both ranges.
        cause: String,
    },
    /// The template does not show a text, so that a turn is not found.
    #[error("the template does not show a text of the chat")]
    Unseen(UnseenText),
    /// The text of another message stands within a turn.
    #[error(
        "message {message}: the template prints a text of message {other} within this turn, where the model would generate it"
    )]
    Within {
        /// The place of the turn's message.
        message: usize,
        /// The place of the other message.
        other: usize,
    },
    /// The chat is not valid in transformers.
    #[error("{}", one_line(.0))]
    Chat(String),
}

/// Maximum number of characters of a cause that an error shows.
const MOST_SHOWN: usize = 2000;

/// Escapes what ends a line, and other control characters: texts of a template are in its errors.
fn one_line(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
    let mut out = String::new();
    for (place, c) in text.chars().enumerate() {
        if place == MOST_SHOWN {
            out.push('…');
            break;
        }
        match is_plain(c) {
            true => out.push(c),
            false => out.extend(c.escape_default()),
        }
    }
    out
}

/// A result whose error is small to move.
pub(crate) type Result<T> = std::result::Result<T, Box<Error>>;

/// A [`Error::Runtime`] without its line, which the renderer adds.
pub(crate) fn fault<T>(cause: impl Into<String>) -> Result<T> {
    Err(Box::new(Error::Runtime { line: 0, cause: cause.into() }))
}

/// As [`fault`], an [`Error::Unsupported`].
pub(crate) fn unsupported<T>(cause: impl Into<String>) -> Result<T> {
    Err(Box::new(Error::Unsupported { line: 0, cause: cause.into() }))
}

/// Refuses a part of Jinja or Python that no chat template uses as far as we know (`used.txt`).
pub(crate) fn unused<T>(what: &str) -> Result<T> {
    unsupported(format!(
        "{what} is not supported, since no chat template that we know uses it; tell us"
    ))
}

pub(crate) fn limit<T>(cause: &'static str) -> Result<T> {
    Err(Box::new(Error::Limit { line: 0, cause }))
}

impl Error {
    /// Sets the line of an error that has none.
    pub(crate) fn at(mut self: Box<Self>, here: usize) -> Box<Self> {
        if let Error::Runtime { line, .. }
        | Error::Unsupported { line, .. }
        | Error::Limit { line, .. } = &mut *self
            && *line == 0
        {
            *line = here;
        }
        self
    }
}
