//! What the model said in the text of a chat: for each turn of the assistant the bytes that the model
//! would have generated in that place, found from the template alone.
//!
//! - **Texts.** The texts of a message (content, reasoning, names and arguments of calls) are found by
//!   difference: rendered again with marks around them, inside of their outer spaces. Where the text
//!   without the marks is the same, one rendering with marks in all messages does for the chat; else each
//!   kind of text is changed alone, and what differs lies between the same head and the same tail. Of a call's name
//!   the first counts: many templates show it again before the call's result.
//! - **Begin.** A range begins where the generation prompt ends: the chat before the turn, rendered with
//!   `add_generation_prompt`, if the whole text begins so. If it does not (a template that shows earlier
//!   turns otherwise), what follows the message before is compared with what follows it in that chat: the
//!   range begins where they part, but not within a tag, and some of the prompt must be before that; and
//!   after the end of the prompt, if that follows there without its middle.
//! - **End.** A range ends with the first stop token after the texts, before the texts of the next
//!   message. If there is none it ends with the texts.
//! - **Channels.** The first kind of text begins with the range and the last one goes to the stop token,
//!   which is `Final`. Between two: what follows reasoning or calls belongs to them, what follows content
//!   belongs to what comes next.
//! - **Others.** A message of another role goes to its first stop token, or to the end of its texts; what
//!   stands before the texts of a message is its own, and a generation prompt the assistant's.

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
    /// Who says it; a generation prompt is the assistant's.
    pub role: Role,
    /// The kind of what the model said; none for what it was given.
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
    /// Whether all of the generation prompt stands before it, or only a head of that.
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
pub struct Found {
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

    /// Sets whether ranges of `{% generation %}` are taken where they differ from the ranges found.
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
    pub fn find(&self, chat: &Chat, wanted: impl Fn(usize) -> bool) -> Result<Found, Error> {
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
    // (Of two stop tokens at one place, the longer.)
    let (at, length) = stops.min_by_key(|(at, length)| (*at, usize::MAX - length))?;
    Some(within.start + at..within.start + at + length)
}
