//! The turns of a chat, and which turns each record made from it has.

use std::ops::Range;

use super::TrainOn;
use super::left_out::LeftOutCounts;
use super::whole::{Chat, Message};

/// The name under which messages after the last turn of a chat are counted.
const AFTER_THE_LAST: &str = "messages after the last turn";

/// The name under which turns without a record of their own are counted.
const UNTRAINED_TURN: &str = "turns that are not trained on";

/// The parts of a chat that one record has.
pub struct Part {
    /// The record ends before this message.
    pub end: usize,
    /// The turn of the record, if each turn has a record of its own.
    pub own: Range<usize>,
    /// Messages that may be trained on.
    pub trained: Range<usize>,
    /// The last message of the chat that ends a turn.
    pub last_answer: Option<usize>,
}

/// Returns the parts of a chat: one, or, if it is split, one for each turn that is trained on.
pub fn parts(
    chat: &Chat<'_>,
    is_split: bool,
    train: Option<TrainOn>,
    left_out: &mut LeftOutCounts,
) -> Vec<Part> {
    let (all, turns) = (chat.messages.len(), turns(chat));
    let last_answer = chat.messages.iter().rposition(Message::is_answer);
    let first_trained = first_trained(chat, train);
    let may_train = |messages: Range<usize>| {
        let mut messages = chat.messages[messages].iter();
        messages.any(|message| message.is_assistant() && message.is_trained)
    };
    // (A chat in which nothing is trained on is one record, too.)
    if !is_split || !may_train(first_trained.min(all)..all) {
        let (own, trained) = (0..all, first_trained..all);
        return vec![Part { end: all, own, trained, last_answer }];
    }
    let end = turns.last().map_or(0, |turn| turn.end);
    left_out.count(AFTER_THE_LAST, end < all);
    let parts = turns.iter().filter(|turn| turn.end > first_trained).map(|turn| Part {
        end: turn.end,
        own: turn.clone(),
        trained: turn.start.max(first_trained)..turn.end,
        last_answer,
    });
    let mut parts: Vec<Part> = parts.collect();
    parts.retain(|part| {
        let is_trained = may_train(part.trained.clone());
        left_out.count(UNTRAINED_TURN, !is_trained);
        is_trained
    });
    parts
}

/// Returns the first message of a chat that may be trained on.
pub fn first_trained(chat: &Chat<'_>, train: Option<TrainOn>) -> usize {
    match (train, chat.completion) {
        (Some(TrainOn::All), _) | (None, None) => 0,
        (_, Some(completion)) => completion,
        (Some(TrainOn::Completion), None) => turns(chat).last().map_or(0, |turn| turn.start),
    }
}

/// Returns the turns of the assistant: each ends with an answer, the last one perhaps with calls.
pub fn turns(chat: &Chat<'_>) -> Vec<Range<usize>> {
    let mut turns = Vec::new();
    let mut start = 0;
    for (place, message) in chat.messages.iter().enumerate() {
        if message.is_answer() {
            turns.push(start..place + 1);
            start = place + 1;
        }
    }
    let last_call = chat.messages.iter().rposition(Message::is_assistant);
    if let Some(place) = last_call.filter(|place| *place >= start) {
        turns.push(start..place + 1);
    }
    turns
}
