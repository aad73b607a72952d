//! Finds what the model says in the text of a chat: for each turn of the assistant, the bytes that it would have
//! generated in that place. Only the template is needed for that. R(i) is the rendering of the chat up to and with
//! message i, and G(i) the rendering of the chat before it with a generation prompt.
//!
//! - **Begin.** The model begins where G(i) ends, if R(i) begins with G(i); or with the G(i) that another value of a switch
//!   of the template gives (`enable_thinking`). If the prompt ends in marks that no rendering prints, the range
//!   begins before them, where a token begins. If what comes before the prompt is printed otherwise, or the prompt differs in
//!   white space, the range begins after the words of the prompt (`begin.rs`).
//! - **End.** The model ends with the first stop token behind the message's own texts; without one, with the special
//!   token at the end of R(i), or else with R(i). Own texts behind a stop token are an error.
//! - **Records.** P(i) is R(i) up to that end. A message may be trained on in R(k) if R(k) begins with P(i). The records
//!   are the R(i) of those messages that no later record holds; a message is trained on in the first record
//!   that holds it (`records.rs`). No smaller set has every message as the model generates it.
//! - **One record.** If one record is wanted, messages that it does not hold so are found by their texts.
//! - **Texts.** The texts of messages (content, reasoning, names and arguments of calls) are found by difference:
//!   the chat is rendered again with marks around the texts, inside of their outer spaces. If the rendering
//!   without the marks equals the text, one rendering with marks in all messages is enough. Otherwise each kind of text
//!   is changed alone; the difference then lies between an equal head and an equal tail. A call's name
//!   counts at its first place, since many templates show it again before the call's result. A range that holds a
//!   text of another message is an error.
//! - **Channels.** The range of the first kind of text begins with the turn's range. The last one goes up to
//!   the stop token, which is `Final`. Bytes between two texts belong to the text before them if that is
//!   reasoning or a call; after content they belong to the next text.
//! - **Other roles.** A message of another role ends with its first stop token, or with its texts. Bytes before
//!   the texts of a message belong to it; a generation prompt belongs to the assistant.

mod begin;
mod channels;
mod difference;
mod find;
mod generation;
mod mark;
mod printed;
mod records;
mod segments;
mod texts;

use std::ops::Range;

use memchr::memmem;

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
    /// How the generation prompt stands before it.
    pub prompt: Prompt,
}

/// How a generation prompt stands before a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// As the template prints it.
    Whole,
    /// As the template prints it with another value of a switch.
    Switched,
    /// Without its end, which no turn is printed with.
    Without(String),
    /// In its words, behind a text that is printed otherwise if an answer follows, or with other white space.
    InWords,
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

/// The text of a record, and what the model said in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTurns {
    /// The whole text, without a generation prompt at its end.
    pub text: String,
    /// The turns that are trained on in this record, in order.
    pub turns: Vec<Turn>,
    /// The whole text in segments.
    pub segments: Vec<Segment>,
    /// The texts of the chat that are not shown.
    pub unseen: Vec<UnseenText>,
    /// The number of turns that stand otherwise than the model generates them.
    pub otherwise: usize,
}

/// An answer, and what the model is given before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAnswer {
    /// The chat before the answer, with the generation prompt behind which the model would have given it.
    pub prompt: String,
    /// The text of the chat with the answer, which is its only turn.
    pub found: FoundTurns,
}

/// How many records a chat becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Records {
    /// As few as hold every turn as the model generates it.
    #[default]
    Fewest,
    /// One, in which turns stand as they stand in the whole text.
    One,
}

/// What happens if `{% generation %}` names another range than the one that is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrustGeneration {
    /// The chat is refused.
    #[default]
    Unsaid,
    /// The template's range is taken.
    Yes,
    /// The range that is found is taken.
    No,
}

/// Finds what the model said in the text of a chat.
#[derive(Debug, Clone)]
pub struct Finder {
    template: Template,
    /// With other values of the switches that the template reads.
    switched: Vec<Template>,
    /// Searches for the texts that end a turn.
    stops: Vec<memmem::Finder<'static>>,
    /// The texts of tokens that no text has.
    specials: Vec<String>,
    trust: TrustGeneration,
}

impl Finder {
    /// A finder for a template; `stops` are the texts that end a turn.
    pub fn new(template: Template, stops: Vec<String>) -> Finder {
        let stops = stops.iter().filter(|stop| !stop.is_empty());
        let stops = stops.map(|stop| memmem::Finder::new(stop).into_owned()).collect();
        let (switched, specials) = (Vec::new(), Vec::new());
        Finder { template, switched, stops, specials, trust: TrustGeneration::default() }
    }

    /// Names the special tokens of the model.
    pub fn set_specials(&mut self, specials: Vec<String>) {
        self.specials = specials.into_iter().filter(|token| !token.is_empty()).collect();
    }

    /// Adds the template with another value of a switch, which supplies another generation prompt.
    pub fn add_switched(&mut self, template: Template) {
        self.switched.push(template);
    }

    /// Sets what happens if `{% generation %}` names another range.
    pub fn trust_generation(&mut self, trust: TrustGeneration) {
        self.trust = trust;
    }

    /// The template.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Renders a chat and finds its turns; `wanted` chooses turns by the places of their messages. It is an error if a
    /// wanted turn cannot be found.
    pub fn find(
        &self,
        chat: &Chat,
        records: Records,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<FoundTurns>, Error> {
        find::find(self, chat, records, &wanted)
    }

    /// Renders two chats, and finds the last message of each as the model generates it; an error if it cannot be found.
    /// What comes before is rendered once if it is the same.
    pub fn answers(&self, chats: [&Chat; 2]) -> [Result<FoundAnswer, Error>; 2] {
        find::answers(self, chats)
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

    /// The first stop token in a part of a rendering of the chat.
    fn stop(
        &self,
        text: &str,
        stops: &[memmem::Finder],
        within: Range<usize>,
    ) -> Option<Range<usize>> {
        let around = text[within.clone()].as_bytes();
        let is_text = |at: usize| {
            self.text_mark().is_some_and(|mark| text[..within.start + at].ends_with(mark))
        };
        let first = |stop: &memmem::Finder| match self.text_mark() {
            None => stop.find(around),
            Some(_) => stop.find_iter(around).find(|at| !is_text(*at)),
        };
        let stops = stops.iter().filter_map(|stop| Some((first(stop)?, stop.needle().len())));
        // (If two stop tokens begin at one place, the longer one is taken.)
        let (at, length) = stops.min_by_key(|(at, length)| (*at, usize::MAX - length))?;
        Some(within.start + at..within.start + at + length)
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

/// The turn of a message in a text, and its parts.
#[derive(Debug)]
struct LocatedTurn {
    turn: Turn,
    /// The parts of the turn's bytes, in order.
    parts: Vec<(Channel, Range<usize>)>,
}
