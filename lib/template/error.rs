//! Why a template is not read, or a chat not rendered.

/// What went wrong, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The template is no template.
    #[error("template line {line}: {cause}")]
    Syntax {
        /// From 1.
        line: usize,
        /// In jinja2's words where there are some.
        cause: String,
    },
    /// The template called `raise_exception`; these are its words.
    #[error("the template refuses the chat: {0}")]
    Raised(String),
    /// An operation that Python refuses.
    #[error("template line {line}: {cause}")]
    Runtime {
        /// From 1.
        line: usize,
        /// In Python's words where there are some.
        cause: String,
    },
    /// What jinja2 has and this crate does not, or what would differ from run to run.
    #[error("template line {line}: {cause}")]
    Unsupported {
        /// From 1.
        line: usize,
        /// What it is.
        cause: String,
    },
    /// The rendering took more steps, made more text or went deeper than a chat template needs.
    #[error("template line {line}: {cause}")]
    Limit {
        /// From 1.
        line: usize,
        /// Which limit.
        cause: &'static str,
    },
    /// A turn of the assistant is not found in the text.
    #[error("message {message}: {cause}")]
    Turn {
        /// The place of its message.
        message: usize,
        /// Why.
        cause: String,
    },
    /// The chat is not one that transformers takes.
    #[error("{0}")]
    Chat(String),
}

/// A result whose error is small to move.
pub(crate) type Result<T> = std::result::Result<T, Box<Error>>;

/// An error without its place, which the renderer adds.
pub(crate) fn fault<T>(cause: impl Into<String>) -> Result<T> {
    Err(Box::new(Error::Runtime { line: 0, cause: cause.into() }))
}

/// As [`fault`], of what is not there.
pub(crate) fn unsupported<T>(cause: impl Into<String>) -> Result<T> {
    Err(Box::new(Error::Unsupported { line: 0, cause: cause.into() }))
}

pub(crate) fn limit<T>(cause: &'static str) -> Result<T> {
    Err(Box::new(Error::Limit { line: 0, cause }))
}

impl Error {
    /// The same error at a line, unless it has one.
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
