//! Finds what the model said in the text of a chat: for each turn of the assistant, the bytes that the model
//! would have generated in that place. Only the template is needed for that.
//!
//! - **Texts.** The texts of a message (content, reasoning, names and arguments of calls) are found by
//!   difference: the chat is rendered again with marks around the texts, inside of their outer spaces. If
//!   the rendering without the marks equals the text, one rendering with marks in all messages is enough.
//!   Otherwise each kind of text is changed alone; the difference then lies between an equal head and an
//!   equal tail. A call's name counts at its first place, since many templates show it again before the
//!   call's result.
//! - **Begin.** A range begins where the generation prompt ends. The chat before the turn is rendered with
//!   `add_generation_prompt`; if the whole text begins with that rendering, its end is the place. If not (some
//!   templates show earlier turns in another way), the text after the message before the turn is compared
//!   with the same part of that rendering. The range begins where the two differ, but not within a tag, and
//!   some of the prompt must stand before that place. If the end of the prompt follows there without the
//!   middle of the prompt, the range begins after it.
//! - **End.** A range ends with the first stop token after the texts, before the texts of the next message. If
//!   there is none, it ends with the texts.
//! - **Channels.** The range of the first kind of text begins with the turn's range. The last one goes up to
//!   the stop token, which is `Final`. Bytes between two texts belong to the text before them if that is
//!   reasoning or a call; after content they belong to the next text.
//! - **Other roles.** A message of another role ends with its first stop token, or with its texts. Bytes before
//!   the texts of a message belong to it; a generation prompt belongs to the assistant.

mod difference;
mod find;
mod mark;
mod segments;

use std::ops::Range;

use crate::chat::Chat;
use crate::error::Error;
use crate::template::Template;

/// Who says a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Role {
    System,
    User,
    Tool,
    Assistant,
}

/// The kind of a part of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Reasoning and its marks.
    Analysis,
    /// Calls and their marks.
    Commentary,
    /// The content, and the stop token.
    Final,
}

/// A part of a text. The segments of a text are in order, and leave no gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The bytes of the text.
    pub range: Range<usize>,
    /// The role that says it; a generation prompt belongs to the assistant.
    pub role: Role,
    /// The kind of text that the model said; none for text that it was given.
    pub channel: Option<Channel>,
    /// The message that it belongs to.
    pub message: usize,
}

/// A turn of the assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The place of its message.
    pub message: usize,
    /// The bytes that the model said, from the end of the generation prompt to the end of the stop token.
    pub said: Range<usize>,
    /// Whether a stop token ends it.
    pub has_stop: bool,
    /// Whether the whole generation prompt stands before it, or only the beginning of the prompt.
    pub is_prompt_whole: bool,
}

/// A text of a chat that the rendering does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnseenText {
    /// The content of a message.
    Content(usize),
    /// The reasoning of a message.
    Reasoning(usize),
    /// The name or the arguments of one of the calls of a message.
    Call(usize),
    /// The tools of the chat.
    Tools,
}

/// The text of a chat, and what the model said in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTurns {
    /// The whole text, without a generation prompt at its end.
    pub text: String,
    /// The wanted turns, in order.
    pub turns: Vec<Turn>,
    /// The whole text in segments.
    pub segments: Vec<Segment>,
    /// The texts of the chat that are not shown.
    pub unseen: Vec<UnseenText>,
}

/// Finds what the model said in the text of a chat.
#[derive(Debug, Clone)]
pub struct Finder {
    template: Template,
    stops: Vec<String>,
    trusts_generation: bool,
}

impl Finder {
    /// A finder for a template; `stops` are the texts that end a turn.
    pub fn new(template: Template, stops: Vec<String>) -> Finder {
        let stops = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
        Finder { template, stops, trusts_generation: false }
    }

    /// Sets whether ranges of `{% generation %}` are taken if they differ from the ranges found.
    pub fn trust_generation(&mut self, trusts: bool) {
        self.trusts_generation = trusts;
    }

    /// The template.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Renders a chat and finds its turns; `wanted` chooses turns by the places of their messages. It is an error if a
    /// wanted turn cannot be found. (To train each turn as it was generated, call this with [`Chat::until`] for each
    /// place of [`Chat::turns`], and take the last turn.)
    pub fn find(&self, chat: &Chat, wanted: impl Fn(usize) -> bool) -> Result<FoundTurns, Error> {
        find::find(self, chat, &wanted)
    }
}

impl Chat {
    /// The places of the assistant's messages.
    pub fn turns(&self) -> Vec<usize> {
        let roles = self.messages().iter().enumerate();
        roles.filter(|(_, of)| role_of(of) == Role::Assistant).map(|(place, _)| place).collect()
    }

    /// The chat up to a message, and with it.
    pub fn until(&self, message: usize) -> Chat {
        self.first(message + 1)
    }
}

/// The role of a message; unknown roles count as user.
pub(crate) fn role_of(message: &crate::Value) -> Role {
    match message.get("role").and_then(crate::Value::as_text) {
        Some("system" | "developer") => Role::System,
        Some("assistant" | "model") => Role::Assistant,
        Some("tool" | "function" | "ipython") => Role::Tool,
        _ => Role::User,
    }
}

/// A turn and its parts.
struct LocatedTurn {
    turn: Turn,
    /// The parts of the turn's bytes, in order.
    parts: Vec<(Channel, Range<usize>)>,
}

/// The first stop token in a part of a text.
fn stop(text: &str, stops: &[String], within: Range<usize>) -> Option<Range<usize>> {
    let around = &text[within.clone()];
    let stops = stops.iter().filter_map(|stop| Some((around.find(stop)?, stop.len())));
    // (If two stop tokens begin at one place, the longer one is taken.)
    let (at, length) = stops.min_by_key(|(at, length)| (*at, usize::MAX - length))?;
    Some(within.start + at..within.start + at + length)
}
