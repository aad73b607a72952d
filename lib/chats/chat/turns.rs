//! The turns of a chat, which of them are trained on, and which turns each record made from it has.

use std::ops::Range;

use super::left_out::LeftOutCounts;
use super::whole::{Chat, Message};

/// What is trained on of a chat, and the records that it becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turns {
    /// Whether a chat becomes one record, in which answers stand as they do in the history; otherwise the fewest
    /// records in which each stands as the model generates it.
    pub is_one: bool,
    pub trained: TrainOn,
}

/// Which messages of the assistant are trained on, among the messages that may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrainOn {
    /// All; of a prompt with a completion, the completion.
    #[default]
    ByShape,
    /// All, also those in prompts.
    Prompts,
    /// The last turn.
    Completion,
    /// The last message.
    Last,
}

/// The names that users give.
const NAMES: [(&str, Turns); 6] = [
    ("fit", Turns { is_one: false, trained: TrainOn::ByShape }),
    ("all", Turns { is_one: true, trained: TrainOn::ByShape }),
    ("last", Turns { is_one: false, trained: TrainOn::Last }),
    ("completion", Turns { is_one: false, trained: TrainOn::Completion }),
    ("fit,prompts", Turns { is_one: false, trained: TrainOn::Prompts }),
    ("all,prompts", Turns { is_one: true, trained: TrainOn::Prompts }),
];

impl Turns {
    pub fn names() -> [&'static str; 6] {
        NAMES.map(|(name, _)| name)
    }

    /// Returns the turns that a user names. (split is the name of earlier versions.)
    pub fn named(name: &str) -> Option<Turns> {
        let name = if name == "split" { "fit" } else { name };
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, turns)| *turns)
    }

    /// Returns the name of the turns, as a header states it. (Old options together give some that have none.)
    pub fn name(self) -> String {
        let name = |turns| NAMES.iter().find(|(_, of)| *of == turns).map_or("", |(name, _)| name);
        match name(self) {
            "" => format!("all,{}", name(Turns { is_one: false, ..self })),
            name => name.to_string(),
        }
    }
}

/// The name under which messages after the last turn of a chat are counted.
const AFTER_THE_LAST: &str = "messages after the last turn";

/// The name under which turns without a record of their own are counted.
const UNTRAINED_TURN: &str = "turns that are not trained on";

/// The parts of a chat that one record has.
pub struct Part {
    /// The turn of the record, which ends it; the whole chat, if that becomes one record.
    pub own: Range<usize>,
    /// The last message of the chat that ends a turn.
    pub last_answer: Option<usize>,
}

/// Returns the parts of a chat: one, or one for each turn that is trained on.
pub fn parts(chat: &Chat<'_>, is_one: bool, left_out: &mut LeftOutCounts) -> Vec<Part> {
    let (all, turns) = (chat.messages.len(), turns(&chat.messages));
    let last_answer = chat.messages.iter().rposition(Message::is_answer);
    let is_trained =
        |messages: Range<usize>| chat.messages[messages].iter().any(|message| message.is_trained);
    // (A chat in which nothing is trained on is one record, too.)
    if is_one || !is_trained(0..all) {
        return vec![Part { own: 0..all, last_answer }];
    }
    let end = turns.last().map_or(0, |turn| turn.end);
    left_out.count(AFTER_THE_LAST, end < all);
    let own = turns.into_iter().filter(|turn| turn.end > chat.first_trained).filter(|turn| {
        let is_trained = is_trained(turn.clone());
        left_out.count(UNTRAINED_TURN, !is_trained);
        is_trained
    });
    own.map(|own| Part { own, last_answer }).collect()
}

/// Returns the first message that may be trained on; the shape may say how many messages the completion has.
pub fn first_trained(
    messages: &[Message<'_>],
    completion: Option<usize>,
    trained: TrainOn,
) -> usize {
    match (trained, completion) {
        (TrainOn::Prompts, _) | (TrainOn::ByShape, None) => 0,
        (TrainOn::Last, _) => messages.iter().rposition(Message::is_assistant).unwrap_or(0),
        (_, Some(first)) => first,
        (TrainOn::Completion, None) => turns(messages).last().map_or(0, |turn| turn.start),
    }
}

/// Returns the turns of the assistant: each ends with an answer, the last one perhaps with calls.
fn turns(messages: &[Message<'_>]) -> Vec<Range<usize>> {
    let mut turns = Vec::new();
    let mut start = 0;
    for (place, message) in messages.iter().enumerate() {
        if message.is_answer() {
            turns.push(start..place + 1);
            start = place + 1;
        }
    }
    let last_call = messages.iter().rposition(Message::is_assistant);
    if let Some(place) = last_call.filter(|place| *place >= start) {
        turns.push(start..place + 1);
    }
    turns
}
